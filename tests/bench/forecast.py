"""The forecast of many branches against git's own merge-tree: a process a pair, and one for the pairs that meet."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

from gitprun.git.repo import find_repository
from gitprun.landing.forecast import forecast as look_ahead
from gitprun.landing.forecast_branches import Asked
from gitprun.ledger.events import History
from tests.bench.cases import Row, call, environment, make_repository, medians, scratch

OWN_FILES = 5
SHARED_PERCENT = 5
ONE_EACH = 'while read -r one other; do git merge-tree --write-tree "$one" "$other" >/dev/null || [ $? -eq 1 ]; done'


def measure(quick: bool) -> list[Row]:
    """Measure ``git prun forecast`` on branches of which 5 % of the pairs share a path, every second in conflict."""
    files, count, rounds = (3_000, 30, 3) if quick else (30_000, 100, 5)
    with scratch() as folder:
        env = environment(folder)
        make_repository(folder / "r", files, env)
        met = make_branches(folder / "r", files, count, env)
        pairs = list(combinations(range(count), 2))
        every, some = (b"".join(f"b{one} b{other}\n".encode() for one, other in rows) for rows in (pairs, met))

        repository = find_repository(folder / "r")

        def program(_: int) -> float:
            argv = [sys.executable, "-m", "gitprun", "forecast", "--all-branches", "--json"]
            return feed(argv, folder / "r", env, b"", f'"compared": {len(met)},')

        def inside(_: int) -> float:
            began = time.perf_counter()
            seen = look_ahead(repository, History(), Asked(every=True))
            took = time.perf_counter() - began
            if len(seen.meetings) != len(met):
                raise RuntimeError(f"{len(seen.meetings)} pairs met, not {len(met)}")
            return took

        def together(_: int) -> float:
            forget_merges(folder / "r")
            return feed(["git", "merge-tree", "--write-tree", "-z", "--stdin"], folder / "r", env, some)

        started, seen, batch = medians(rounds, program, inside, together)
        forget_merges(folder / "r")
        alone = feed(["sh", "-c", ONE_EACH], folder / "r", env, every)
    work = f"forecast, {count} branches, {files} files"
    return [
        Row(f"{work}: against a process a pair", seen, alone, 0.1 if quick else 0.02),
        Row(f"{work}: the same, start included", started, alone, 0.5 if quick else 0.05),
        Row(f"{work}: against --stdin on the pairs that meet", seen, batch, 2.0),
    ]


def forget_merges(path: Path) -> None:
    """Remove what earlier merges wrote: each is to be made as if for the first time (the branches are packed)."""
    for folder in (path / ".git" / "objects").glob("[0-9a-f][0-9a-f]"):
        shutil.rmtree(folder)


def make_branches(path: Path, files: int, count: int, env: dict[str, str]) -> list[tuple[int, int]]:
    """Make branches b0, b1, ... and give the pairs that share a path, spread evenly over all."""
    pairs = list(combinations(range(count), 2))
    wanted = len(pairs) * SHARED_PERCENT // 100
    met = [pairs[number * len(pairs) // wanted] for number in range(wanted)]
    edits: list[dict[int, str]] = [{} for _ in range(count)]
    for side in range(count):
        for number in range(OWN_FILES):
            edits[side][side * OWN_FILES + number] = text(side * OWN_FILES + number, 3, side)
    for number, (one, other) in enumerate(met):
        at = count * OWN_FILES + number
        edits[one][at] = text(at, 2, one)
        edits[other][at] = text(at, 2 if number % 2 else 17, other)
    stream = []
    for side, changed in enumerate(edits):
        stream.append(
            f"commit refs/heads/b{side}\ncommitter B <b@example.test> 1700000000 +0000\ndata 1\nx\nfrom main^0\n"
        )
        for at, content in changed.items():
            stream.append(f"M 100644 inline d{at // 2500}/e{at // 50}/f{at}.txt\ndata {len(content)}\n{content}\n")
    assert max(edits[-1]) < files
    feed(["git", "fast-import", "--quiet"], path, env, "".join(stream).encode())
    call(["git", "repack", "-adq"], path, env)
    return met


def text(at: int, line: int, side: int) -> str:
    """Write the content of a file with one line changed."""
    lines = [f"file {at}\n"] * 20
    lines[line] = f"file {at} by {side}\n"
    return "".join(lines)


def feed(argv: list[str], cwd: Path, env: dict[str, str], given: bytes, expect: str = "") -> float:
    """Run a program on some input and give its seconds; exit code 1 (conflicts) is fine."""
    began = time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, env=env, input=given, capture_output=True, check=False)
    took = time.perf_counter() - began
    if done.returncode not in (0, 1) or expect not in done.stdout.decode("utf-8", "replace"):
        raise RuntimeError(f"{argv}: {done.returncode}\n{done.stdout[-2000:]!r}\n{done.stderr.decode()}")
    return took
