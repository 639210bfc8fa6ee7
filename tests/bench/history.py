"""Replay the two-parent merges of a repository: how many would be told, checked once more, or held.

``python -m tests.bench history REPO [--check COMMAND] [--most N] [--beside]``: the first parent is the target. What is
held of the trust surface is counted twice: where nothing the repository brings is installed, and where all of it is.
Files that both sides changed are judged one by one: conflicts against what people made of them, and git's clean texts.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pygit2

from gitprun.capture.portable import describe_names
from gitprun.git.repo import find_repository
from gitprun.git.trees import TreeChange, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.conflicts_committed import find_markers
from gitprun.landing.deletions import describe_deletions, find_cuts
from gitprun.landing.installed import Checkouts, read_live
from gitprun.landing.settings import MergeSettings
from gitprun.landing.squashed import Fork, find_holder
from gitprun.landing.surface import RUNNERS, Touch
from gitprun.landing.surface import describe as describe_touches
from gitprun.landing.temporary_objects import TemporaryObjects, aside
from gitprun.landing.touched import find_touches
from gitprun.model.names import Oid
from gitprun.model.plan import MAX_DELETED
from gitprun.verify.gate_changes import describe
from gitprun.verify.put_back import put_back, read_gate_changes
from tests.bench.backwards import KINDS, Backwards
from tests.bench.merged_files import MadeMerge, MergedFile, judge_files, show_beside, tabulate_files

# What else is looked at: two that hold a branch, one that calls it settled, and a note.
KNOWN = ("in by another name", "markers", "cut", "names")


def replay(arguments: Sequence[str]) -> int:
    """Print a line for every merge that would not land as it is, and the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench history")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--check", action="append", default=[], help="the commands that judge it (default: detected)")
    parser.add_argument("--most", type=int, default=5000)
    parser.add_argument("--quiet", action="store_true", help="only the counts")
    parser.add_argument("--beside", action="store_true", help="show differing texts: ours, and what people made")
    parser.add_argument("--files", action="store_true", help="only judge the files that both sides changed")
    given = parser.parse_args(arguments)
    with aside(find_repository(given.repository)) as room:
        if not given.files:
            _replay(room, given)
        files = _judge_files(room, given)
    if given.beside:
        for one in files:
            if one.outcome in ("order", "other", "called"):
                print("\n".join(show_beside(one)))
    print("\n".join(tabulate_files(files)))
    return 0


def _judge_files(room: TemporaryObjects, given: argparse.Namespace) -> list[MergedFile]:
    trees, found = Trees(room.repo), list[MergedFile]()
    for commit, target, branch in _merges(given.repository, given.most):
        found += judge_files(room.git, trees, MadeMerge(target=target, branch=branch, commit=commit))
    return found


def _replay(room: TemporaryObjects, given: argparse.Namespace) -> None:
    """Print what a landing would say of each merge, and how often."""
    counts, kinds, reasons = Counter[str](), Counter[str](), Counter[str]()
    begun = time.perf_counter()
    repo, trees = cast("pygit2.Repository", room.repo), Trees(room.repo)
    looked = Backwards(room.git, trees)
    for commit, target, branch in _merges(given.repository, given.most):
        counts["merges"] += 1
        base = repo.merge_base(pygit2.Oid(hex=target), pygit2.Oid(hex=branch))
        if base is None:
            continue
        told = read_gate_changes(trees, tree_of(repo, str(base)), tree_of(repo, branch), given.check)
        old, new = tree_of(repo, target), tree_of(repo, commit)
        changes = read_gate_changes(trees, old, new, given.check)
        again = put_back(trees, old, new, changes) if changes else None
        step = trees.compare(old, new)
        deletes = describe_deletions(trees, old, step, MAX_DELETED)
        touches = [_touches(trees, old, step, installed=installed) for installed in (False, True)]
        bare, full = ([one for one in found if one.grade == "held"] for found in touches)
        counts.update(told=bool(told), again=again is not None, held=bool(deletes))
        counts.update(trust=bool(bare), installed=bool(full), named=any(one.grade == "named" for one in touches[0]))
        reasons.update({one.what for one in full})
        back = looked.at(target, branch, commit)
        counts.update(dict.fromkeys(back, 1))
        kinds.update({change.kind for change in told})
        known = _known(room, trees, Oid(str(base)), target, branch, new)
        counts.update(known.keys())
        said = [describe(told), deletes, describe_touches(full)]
        said += [f"{kind}: {what}" for kind, what in (back | known).items()]
        if any(said) and not given.quiet:
            print(commit[:10], "; ".join(filter(None, said)))
    _print_counts(counts, kinds, reasons, time.perf_counter() - begun)


def _print_counts(counts: Counter[str], kinds: Counter[str], reasons: Counter[str], seconds: float) -> None:
    by_kind = ", ".join(f"{kind} {many}" for kind, many in kinds.most_common())
    print(
        f"{counts['merges']} merges in {seconds:.0f} s: {counts['told']} told, {counts['again']} checked once more,"
        f" {counts['held']} held for what they delete; {by_kind}"
    )
    share = 100 / max(1, counts["merges"])
    print(
        f"trust: {counts['trust']} held ({counts['trust'] * share:.2f} %), {counts['installed']} if all it brings were"
        f" installed ({counts['installed'] * share:.2f} %), {counts['named']} named; "
        + ", ".join(f"{reason} {many}" for reason, many in reasons.most_common(6))
    )
    print(", ".join(f"{kind} {counts[kind]} ({counts[kind] * share:.2f} %)" for kind in (*KINDS, *KNOWN)))


def _known(room: TemporaryObjects, trees: Trees, base: Oid, target: Oid, branch: Oid, merged: Oid) -> dict[str, str]:
    """Say what else of a merge would be held or told, by the names of KNOWN."""
    before, tip = tree_of(trees.repo, target), tree_of(trees.repo, branch)
    brought = trees.compare(tree_of(trees.repo, base), tip)
    step = trees.compare(before, merged)
    fork = Fork(base, target, branch)
    holder = find_holder(room.git, lambda: room.git, trees, fork, brought) if step else None
    marked = find_markers(room.git, trees, branch, brought, merged)
    found = {
        "in by another name": f"in since {holder.commit[:10]}" if holder else "",
        "markers": "; ".join(map(str, marked)),
        "cut": "; ".join(words for _, words in find_cuts(trees, step, (), {})),
        "names": "; ".join(describe_names(trees, before, merged, step)),
    }
    return {name: said for name, said in found.items() if said}


def _touches(trees: Trees, tree: Oid, step: Sequence[TreeChange], *, installed: bool) -> tuple[Touch, ...]:
    """Find what a merge touches, with no hook and no driver here, or with all that a repository may bring."""
    with tempfile.TemporaryDirectory() as name:
        hooks = Path(name) / "hooks"
        settings = MergeSettings()
        if installed:
            hooks.mkdir()
            # Each runner is known by its name, and pre-commit by how it is called.
            (hooks / "pre-commit").write_text("".join(f"{runner} run\n" for runner, _, _ in RUNNERS))
            settings = MergeSettings(hooks=".githooks", rows=(("filter.lfs.clean", "git-lfs"), ("merge.x.driver", "x")))
        places = Checkouts(common=Path(name), tops=(), hooks=hooks)
        return find_touches(trees, step, read_live(trees, tree, places, settings))


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
