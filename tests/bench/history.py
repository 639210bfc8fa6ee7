"""Replay the two-parent merges of a repository: how many would be told, checked once more, or held.

``python -m tests.bench history REPO [--check COMMAND] [--most N]``: the first parent is the target.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from gitprun.git.command import Git
from gitprun.git.trees import read_bases, tree_of
from gitprun.git.walk import Trees
from gitprun.merge.deletions import describe_deletions
from gitprun.merge.lost import find_lost
from gitprun.merge.older import Back, find_taken_back
from gitprun.merge.past import Past
from gitprun.merge.reverts import Asking, find_reverted
from gitprun.names import Oid
from gitprun.plan import MAX_DELETED
from gitprun.verify.gate_changes import describe
from gitprun.verify.put_back import put_back, read_gate_changes

KINDS = ("taken back", "with its first base", "inner merge", "reverted", "shown")
_NAME = re.compile(r"(?:Merge branch '|from [\w.-]+/)([\w./-]+)")


def replay(arguments: Sequence[str]) -> int:
    """Print a line for every merge that would not land as it is, and the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench history")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--check", action="append", default=[], help="the commands that judge it (default: detected)")
    parser.add_argument("--most", type=int, default=5000)
    parser.add_argument("--quiet", action="store_true", help="only the counts")
    given = parser.parse_args(arguments)
    repo = pygit2.Repository(str(given.repository))
    trees, counts, kinds = Trees(repo), Counter[str](), Counter[str]()
    looked = Backwards(Git(cwd=given.repository), trees)
    begun = time.perf_counter()
    for commit, target, branch in _merges(given.repository, given.most):
        counts["merges"] += 1
        base = repo.merge_base(pygit2.Oid(hex=target), pygit2.Oid(hex=branch))
        if base is None:
            continue
        told = read_gate_changes(trees, tree_of(repo, str(base)), tree_of(repo, branch), given.check)
        old, new = tree_of(repo, target), tree_of(repo, commit)
        changes = read_gate_changes(trees, old, new, given.check)
        again = put_back(trees, old, new, changes) if changes else None
        deletes = describe_deletions(trees, old, trees.compare(old, new), MAX_DELETED)
        back = looked.at(target, branch, commit)
        counts.update(dict.fromkeys(back, 1))
        counts.update(told=bool(told), again=again is not None, held=bool(deletes))
        kinds.update({change.kind for change in told})
        said = [describe(told), deletes, *(f"{kind}: {what}" for kind, what in back.items())]
        if any(said) and not given.quiet:
            print(commit[:10], "; ".join(filter(None, said)))
    seconds = time.perf_counter() - begun
    by_kind = ", ".join(f"{kind} {many}" for kind, many in kinds.most_common())
    print(
        f"{counts['merges']} merges in {seconds:.0f} s: {counts['told']} told, {counts['again']} checked once more,"
        f" {counts['held']} held for what they delete; {by_kind}"
    )
    shares = (f"{kind} {counts[kind]} ({100 * counts[kind] / max(counts['merges'], 1):.2f} %)" for kind in KINDS)
    print(", ".join(shares))
    return 0


@dataclass(frozen=True, slots=True)
class Backwards:
    """Asks of each merge what a landing asks about work of others: lost in merges of its own, or taken back."""

    git: Git
    trees: Trees
    past: Past = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "past", Past(self.git, self.trees))

    def at(self, target: Oid, tip: Oid, merge: Oid) -> dict[str, str]:
        """Tell by kind what was found, in words."""
        bases = read_bases(self.git, self.trees.repo, target, tip)
        if not bases or tip in bases:
            return {}
        tree = tree_of(self.trees.repo, tip)
        back = find_taken_back(self.past, Back(target=target, bases=bases, tip=tip, tree=tree))
        lost = find_lost(self.git, self.trees, bases=(*bases, target), tip=tip, last=tree)
        # The commit before the first of its own stands for the one a reflog would name.
        first = self.git.run("rev-list", "--first-parent", "--parents", tip, f"^{target}").text.split("\n")[-1].split()
        known = Back(target=target, bases=bases, tip=tip, tree=tree, first=first[-1] if len(first) > 1 else "")
        since = find_taken_back(self.past, known)
        own = self.git.run("rev-list", "--parents", tip, f"^{target}").text.split("\n")
        new, parents = {row.split()[0] for row in own}, {one for row in own for one in row.split()[1:]}
        places = tuple(Oid(one) for one in parents - new)
        name = _NAME.search(self.past.message(merge))
        asking = Asking(name=name[1] if name else "", tip=tip, target=target, ref="", places=places)
        found = {
            "taken back": "; ".join(map(str, back.suspects)),
            "with its first base": "; ".join(map(str, since.suspects)) if not back.suspects else "",
            "inner merge": "; ".join(map(str, lost.suspects)),
            "reverted": str(find_reverted(self.past, asking) or ""),
            "shown": "; ".join((*lost.told, *filter(None, (back.told,)))),
        }
        return {kind: what for kind, what in found.items() if what}


def _merges(repository: Path, most: int) -> Iterator[tuple[Oid, Oid, Oid]]:
    words = [
        "git",
        "-C",
        str(repository),
        "rev-list",
        "--first-parent",
        "--merges",
        "--parents",
        f"--max-count={most}",
        "HEAD",
    ]
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        commit, *parents = line.split()
        if len(parents) == 2:
            yield Oid(commit), Oid(parents[0]), Oid(parents[1])
