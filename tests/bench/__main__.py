"""Measure ratios side by side: ``python -m tests.bench [--quick]`` prints one table.

``history REPO`` replays the merges of a repository, ``difference REPO`` asks compilers of them, and ``ase`` replays
those of a benchmark whose results were tested.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench import ase, cases, history, landing, merge_file  # noqa: E402
from tests.bench.cases import Row  # noqa: E402
from tests.bench.difference import replay_difference  # noqa: E402
from tests.bench.suites import print_suites  # noqa: E402

CASES = {**cases.CASES, "land": landing.land, "growth": landing.growth, "merge-file": merge_file.measure}
REPLAYS = {"history": history.replay, "difference": replay_difference, "ase": ase.replay}


def main() -> int:
    """Run the cases and print their table; the exit code only tells whether they ran."""
    if sys.argv[1:2] and sys.argv[1] in REPLAYS:
        return REPLAYS[sys.argv[1]](sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--quick", action="store_true", help="small repositories, few rounds")
    parser.add_argument("--suites", action="append", type=Path, default=[], metavar="FOLDER", help="more merge cases")
    parser.add_argument("names", nargs="*", help=f"cases to run: suites, {', '.join(CASES)}")
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.names or ("suites", *CASES):
        if name == "suites":
            print_suites(options.suites)
        else:
            rows += CASES[name](options.quick)
    if not rows:
        return 0
    print(f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    print(f"{'work':<58} {'git prun':>10} {'against':>10} {'ratio':>6} {'at most':>8}")
    for row in rows:
        over = "" if row.ratio <= row.most else "  <- over"
        ours, other = f"{row.ours * 1000:.0f} ms", f"{row.other * 1000:.0f} ms"
        print(f"{row.work:<58} {ours:>10} {other:>10} {row.ratio:>6.2f} {row.most:>8.2f}{over}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
