"""Landing many branches against a loop of ``git merge --no-ff -X ours``, and one landing in a growing repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.bench.cases import Row, call, make_repository, medians, scratch
from tests.bench.cases import environment as neutral

PER_BRANCH = 5
LOOP = """set -e
for n in $(seq 0 $(($1 - 1))); do git merge -q --no-ff -X ours -m "merge b$n" "b$n"; done
"""


def land(quick: bool) -> list[Row]:
    """Land disjoint branches of 5 files each, checkout brought after, nothing verified."""
    if quick:
        return _land(2_000, ((20, 2.0),), rounds=1)
    small = _land(12_000, ((20, 0.18), (100, 0.10)), rounds=3)
    return small + _land(80_000, ((20, 0.06), (100, 0.04)), rounds=1)


def _land(files: int, sizes: tuple[tuple[int, float], ...], rounds: int) -> list[Row]:
    rows = []
    with scratch() as folder:
        env = neutral(folder)
        ours, loop = folder / "ours", folder / "loop"
        make_repository(ours, files, env)
        make_branches(ours, files, max(count for count, _ in sizes), env)
        shutil.copytree(ours, loop, symlinks=True)
        for count, most in sizes:
            names = [f"b{n}" for n in range(count)]
            land_all = [sys.executable, "-m", "gitprun", "merge", "--no-verify", *names]
            ways = (
                lambda _: _anew(ours, env) + call(land_all, ours, env),  # noqa: B023
                lambda _: _anew(loop, env) + call(["sh", "-c", LOOP, "sh", str(count)], loop, env),  # noqa: B023
            )
            taken, other = medians(rounds, *ways)
            rows.append(Row(f"land {count} branches, {files} files, not verified", taken, other, most))
    return rows


def growth(quick: bool) -> list[Row]:
    """Land one branch in a repository with nothing checked out, and in one ten times as large."""
    small, large = (500, 5_000) if quick else (8_000, 80_000)
    with scratch() as folder:
        env = neutral(folder)
        for files in (small, large):
            place = folder / f"r{files}"
            make_repository(place, files, env)
            make_branches(place, files, 1, env)
            call(["git", "checkout", "-q", "--detach"], place, env)
            call(["git", "clone", "-q", "--bare", str(place), str(folder / f"bare{files}")], folder, env)

        def one(files: int) -> float:
            place = folder / f"bare{files}"
            call(["git", "update-ref", "refs/heads/main", "refs/heads/start"], place, env)
            shutil.rmtree(place / "prun", ignore_errors=True)
            return call([sys.executable, "-m", "gitprun", "merge", "--no-verify", "--into", "main", "b0"], place, env)

        before, after = medians(2 if quick else 9, lambda _: one(small), lambda _: one(large))
    return [Row(f"land 1 branch, no checkout, {large} files, against {small} files", after, before, 1.5)]


def make_branches(place: Path, files: int, count: int, env: dict[str, str]) -> None:
    """Make branches b0, b1, ... that change 5 files each, none the same; ``start`` stays where main is."""
    call(["git", "branch", "start"], place, env)
    lines = []
    for branch in range(count):
        lines += [
            f"commit refs/heads/b{branch}",
            "committer Bench <bench@example.test> 1700000000 +0000",
            "data <<END",
            f"work {branch}",
            "END",
            "from refs/heads/start^0",
        ]
        for each in range(PER_BRANCH):
            at = (branch * PER_BRANCH + each) * 61 % files
            lines += [f"M 644 inline d{at // 2500}/e{at // 50}/f{at}.txt", "data <<END"]
            lines += [f"file {at}"] * 19 + [f"changed by b{branch}", "END"]
    feed = "\n".join(lines).encode() + b"\n"
    subprocess.run(["git", "fast-import", "--quiet"], cwd=place, env=env, input=feed, check=True)


def _anew(place: Path, env: dict[str, str]) -> float:
    """Put a repository back to where it began; takes no time."""
    call(["git", "reset", "-q", "--hard", "start"], place, env)
    shutil.rmtree(place / ".git" / "prun", ignore_errors=True)
    return 0.0
