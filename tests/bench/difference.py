"""Replay merges that git makes clean: what compilers and linters say of the merged tree, and of neither parent.

``python -m tests.bench difference REPO [--most N] [--language NAME]``: merges of any branch, the latest first, of which
both sides changed files of one language. Tools run as they are, without walls: of repositories that are trusted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gitprun.model.units import Exit
from gitprun.verify.difference import Said, ToolQuestion, ask, find_questions, new_messages, read_layout


def replay_difference(arguments: Sequence[str]) -> int:
    """Print every merge with messages of its own, and how many there are."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench difference")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--most", type=int, default=20, help="so many merges are asked about")
    parser.add_argument("--files", type=int, default=1000, help="merges of more are passed over")
    parser.add_argument("--seconds", type=float, default=3600.0, help="no further merge is begun after so long")
    parser.add_argument("--language", default="", help="one alone")
    given = parser.parse_args(arguments)
    counts, begun = Counter[str](), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        replayed = _Replayed(given.repository, Path(name))
        for commit, main, unit in _merges(given.repository):
            done = counts["asked"] + counts["not checked"]
            if done >= given.most or time.perf_counter() - begun > given.seconds:
                break
            _count(replayed, (commit, main, unit), given, counts)
    seconds = time.perf_counter() - begun
    said = ", ".join(f"{what} {many}" for what, many in sorted(counts.items()))
    print(f"{given.repository}: {said} in {seconds:.0f} s", flush=True)
    return 0


class _Replayed:
    """A repository and one folder that shows its trees one after the other."""

    def __init__(self, repository: Path, room: Path) -> None:
        self.repository, self.top, self.index = repository, room / "tree", room / "index"
        self.top.mkdir()

    def git(self, *words: str, ok: tuple[int, ...] = (0,)) -> str:
        env = {**os.environ, "GIT_INDEX_FILE": str(self.index), "GIT_DIR": str(self.repository)}
        done = subprocess.run(["git", *words], capture_output=True, env=env, cwd=self.top, check=False)
        if done.returncode not in ok:
            raise RuntimeError(done.stderr.decode())
        return done.stdout.decode("utf-8", "surrogateescape")

    def changed(self, old: str, new: str) -> list[str]:
        return self.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new).split("\0")[:-1]

    def ask(self, tree: str, question: ToolQuestion) -> Said:
        self.git("read-tree", tree)
        shutil.rmtree(self.top)
        self.top.mkdir()
        # A copy of a repository may lack its largest files, which no compiler asks for.
        self.git(f"--work-tree={self.top}", "checkout-index", "-a", "-f", "-q", ok=(0, 1, 128))
        return ask(question, read_layout(self.top), self._start)

    def _start(self, command: str) -> tuple[Exit, bytes]:
        words = ["bash", "-o", "pipefail", "-c", command]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.top, check=False)
        return Exit(code=done.returncode, signal=None, reason="exited", seconds=0.0), done.stdout


def _count(replayed: _Replayed, merge: tuple[str, str, str], given: argparse.Namespace, counts: Counter[str]) -> None:
    commit, main, unit = merge
    base = replayed.git("merge-base", main, unit, ok=(0, 1)).strip()
    if not base or base in (main, unit):
        return
    by_main, by_unit = replayed.changed(base, main), replayed.changed(base, unit)
    questions, _ = find_questions(by_main, by_unit, os.environ)
    wanted = [one for one in questions if given.language in ("", one.tool.language)]
    wanted = [one for one in wanted if len(one.files) <= given.files]
    if not wanted:
        return
    merged = replayed.git("merge-tree", "--write-tree", main, unit, ok=(0, 1)).split("\n")
    if len(merged) > 2:
        counts["in conflict"] += 1
        return
    kept = not replayed.changed(merged[0], commit)
    for question in wanted:
        trees = {"merged": merged[0], "main": main, "unit": unit, "base": base}
        _one(replayed, question, trees, counts, f"{commit[:12]} {'kept' if kept else 'changed by hand'}")


def _one(
    replayed: _Replayed, question: ToolQuestion, trees: Mapping[str, str], counts: Counter[str], told: str
) -> None:
    said: dict[str, Said] = {}
    for name in ("merged", "main", "unit"):
        said[name] = replayed.ask(trees[name], question)
        if not said[name].why and not said[name].messages and name == "merged":
            counts["asked"] += 1
            return
    why = next((f"{name}: {one.why}" for name, one in said.items() if one.why), "")
    if why:
        counts["not checked"] += 1
        print(f"{told}: not checked: {why}", flush=True)
        return
    counts["asked"] += 1
    base: list[Said] = []

    def of_base() -> Sequence[object]:
        base.append(replayed.ask(trees["base"], question))
        return base[0].messages

    three = (said[name].messages for name in ("merged", "main", "unit"))
    found = new_messages(*three, of_base)  # type: ignore[arg-type]
    if base:
        counts["base asked"] += 1
    if not found:
        return
    parents = {one.key for name in ("main", "unit") for one in said[name].messages}
    fresh = [one for one in found if one.key not in parents]
    counts["called"] += 1
    counts["called for what no parent has"] += bool(fresh)
    for one in found:
        kind = "new" if one in fresh else "once more"
        print(f"{told}: {question.tool.name}: {kind}: {one.path}: {one.text}", flush=True)


def _merges(repository: Path) -> Iterator[tuple[str, str, str]]:
    words = ["git", "-C", str(repository), "rev-list", "--all", "--merges", "--parents", "--date-order"]
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        commit, *parents = line.split()
        if len(parents) == 2:
            yield commit, parents[0], parents[1]
