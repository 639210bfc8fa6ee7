"""``git prun merge-file`` on a registry both sides added to, against ``git merge-file``: each a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.bench.cases import Row, environment, medians, scratch

# So much more than git's own a file may take, in seconds.
MORE = 0.2
ENTRIES = 998


def registry(*more: str) -> str:
    """Write a module of about 2,000 lines that registers two lines an entry."""
    rows = [f"  entry{number}: {{\n    all: ['entry{number}'] as const }},\n" for number in range(ENTRIES)]
    return "export const queryKeys = {\n" + "".join(rows) + "".join(more) + "} as const;\n"


def measure(quick: bool) -> list[Row]:
    """Merge three versions of which git leaves a conflict; ours has to settle it."""
    with scratch() as folder:
        env = environment(folder)
        texts = {
            "ours": registry("  invoices: {\n    all: ['invoices'] as const },\n"),
            "base": registry(),
            "theirs": registry("  refunds: {\n    all: ['refunds'] as const },\n"),
        }
        for name, text in texts.items():
            (folder / name).write_text(text)

        def timed(argv: list[str], code: int) -> float:
            began = time.perf_counter()
            done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, check=False)
            took = time.perf_counter() - began
            if done.returncode != code:
                raise RuntimeError(f"{argv}: {done.returncode}\n{done.stderr.decode()}")
            return took

        files = ["-p", "ours", "base", "theirs"]
        prun = [sys.executable, "-m", "gitprun", "merge-file", "--path", str(Path("src", "query-keys.ts")), *files]
        ours, other = medians(
            5 if quick else 21,
            lambda _: timed(prun, 0),
            lambda _: timed(["git", "merge-file", *files], 1),
        )
    return [Row("merge-file, 2,000-line TypeScript registry, git's + 200 ms", ours, other + MORE, 1.0)]
