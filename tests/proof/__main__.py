"""Try what is promised: ``python -m tests.proof [--size quick|ci|full] [TRIAL ...]`` prints one table with counts."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.conftest import IDENTITY, SEALED  # noqa: E402
from tests.proof.trials import TRIALS  # noqa: E402


def main() -> int:
    """Run the trials and print their table; exit code 1 if one does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof")
    parser.add_argument("--size", choices=("quick", "ci", "full"), default="ci")
    parser.add_argument("names", nargs="*", metavar="TRIAL", help=f"trials to run: {', '.join(TRIALS)}")
    options = parser.parse_args()
    print(f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    print("| trial | must | found | holds |\n|---|---|---|---|", flush=True)
    bad = 0
    for name in options.names or TRIALS:
        with tempfile.TemporaryDirectory(prefix="prun-proof-", ignore_cleanup_errors=True) as folder:
            _seal(Path(folder) / "home")
            row = TRIALS[name](Path(folder) / "trial", options.size)
        bad += bool(row.faults)
        print(f"| {row.trial} | {row.must} | {row.found} | {'no' if row.faults else 'yes'} |", flush=True)
        for fault in row.faults:
            print(f"{name}: {fault}", file=sys.stderr, flush=True)
    return 1 if bad else 0


def _seal(home: Path) -> None:
    """Let nothing of this machine's settings in."""
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("GIT_", "PRUN_", "XDG_", "CODEX_"))]:
        del os.environ[name]
    os.environ.update({**SEALED, **IDENTITY, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")})


if __name__ == "__main__":
    sys.exit(main())
