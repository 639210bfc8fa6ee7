"""The gates of merges people make with git itself: what is about to be committed, and what its message says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import open_repository
from gitprun.git.repo import Repository
from gitprun.git.trees import TreeMerge, read_bases, tree_of
from gitprun.git.walk import Trees
from gitprun.judging.drivers import find_attributes
from gitprun.judging.judge import Judge
from gitprun.judging.judged import Judged, Means, Sides
from gitprun.landing.conflicts_committed import find_jj_conflict, find_markers
from gitprun.landing.guard import list_paths, read_local_changes
from gitprun.landing.plan import Candidate, say_verdict
from gitprun.landing.settings import read_merge_settings
from gitprun.ledger.events import History
from gitprun.ledger.lookup import probe_unit
from gitprun.model.findings import describe_suspects
from gitprun.model.globs import matches
from gitprun.model.names import Oid, parse_oid, unit_branch

# 40 digits for SHA-1, 64 for SHA-256.
_HEAD = re.compile(r"GITHEAD_([0-9a-f]{40,64})")
# With the blank behind them: a line of "=======" underlines a heading in many a message.
_MARKS = ("<<<<<<< ", "||||||| ", ">>>>>>> ")
# prun's own message; only that one promises what it brings.
_SHIPS = re.compile(r"merge: ship (\S+)")
# The comment git leaves for the editor; where none is started it would stay.
_LEFTOVER = re.compile(r"^# Conflicts:\n(?:#(?:\t.*)?\n)*", re.MULTILINE)


def merged_heads(environment: Mapping[str, str]) -> dict[str, str]:
    """Read off the environment what ``git merge`` is merging: commits with the names they were given by."""
    found = ((_HEAD.fullmatch(key), name) for key, name in environment.items())
    return {match[1]: name for match, name in found if match}


def refuse_merge(
    repository: Repository, history: History, heads: Mapping[str, str], note: Callable[[str], None]
) -> str:
    """Return in words why the merge in the index should not be committed; empty if nothing speaks against it."""
    git = repository.git
    # A bare repository commits no index.
    if repository.top is None:
        return ""
    # What is committed is the index: with other files in the folder nobody has seen it as it will be.
    unstaged = read_local_changes(repository.top).unstaged
    if unstaged:
        return f"{repository.top} has changes that are not committed: {list_paths(unstaged)}"
    # No renames: the fence of a unit names paths, old ones as well as new ones.
    changed = git.run("diff-index", "--cached", "-z", "--name-only", "--no-renames", "HEAD").fields
    # In the order of what they cost: the ledger, then the changed paths, at last the files themselves.
    unproved = next(_unproved(history, heads), "")
    if unproved:
        return unproved
    owned = next(_owned(history, heads, [os.fsdecode(path) for path in changed]), "")
    if owned:
        return owned
    for unit, name in heads.items():
        suspect = next(_suspects(repository, unit, name, note), "")
        if suspect:
            return suspect
    return ""


def _unproved(history: History, heads: Mapping[str, str]) -> Iterator[str]:
    """Name the units whose very work is merged although it is not proved; where nothing says what would, that is fine.

    Who mended it by a commit on top merges something else.
    """
    for run in history.runs.values():
        for known in run.units.values():
            if known.commit in heads and known.verdict not in ("pass", "absent"):
                yield f"unit {known.run}/{known.id} is not proved: {say_verdict(known.verdict)}"


def _owned(history: History, heads: Mapping[str, str], changed: Sequence[str]) -> Iterator[str]:
    """Name the paths that units still at work have been given."""
    for run in history.runs.values():
        for known in run.units.values():
            fence = known.fence
            # The ledger may say "running" of a unit whose program was killed; that one owns nothing any more.
            if not fence or not known.live or not probe_unit(run, known).live:
                continue
            # Its own work, merged by hand: nobody is in its way but itself.
            if unit_branch(known.run, known.id) in heads.values() or known.commit in heads:
                continue
            for path in changed:
                if any(matches(pattern, path) for pattern in fence):
                    yield f"unit {known.run}/{known.id} is still at work on {list_paths([os.fsencode(path)])}"


def _suspects(repository: Repository, unit: str, name: str, note: Callable[[str], None]) -> Iterator[str]:
    """Judge the merge in the index as a landing would judge it, and what the branch does as a whole.

    Git made it, or its user: so what is there is looked at, and nothing is put in its place. ``note`` hears what could
    not be looked at, and what else is worth a word.
    """
    git, repo = repository.git, open_repository(repository.git_dir)
    trees, head, tip = Trees(repo), parse_oid(git.run("rev-parse", "HEAD").text), parse_oid(unit)
    bases = read_bases(git, repo, head, tip)
    if not bases:
        # Unrelated histories: git asked for leave to merge these.
        return
    merged = parse_oid(git.run("write-tree").text)
    jj = find_jj_conflict(trees, Candidate(branch=name, tip=tip), tree_of(repo, head))
    if jj is not None:
        yield f"{name}: {jj.reason}"
    judged = _judge_index(repository, trees, (bases[0], head, tip), merged)
    for said in (*judged.notes, *(f"{one.paths}: not checked: {one.reason}" for one in judged.unchecked)):
        note(said)
    of_paths: dict[str, list[str]] = {}
    for suspect in judged.suspects:
        of_paths.setdefault(suspect.path, []).append(suspect.reason)
    yield from (f"git merged {path}, but look at it: {'; '.join(faults)}" for path, faults in of_paths.items())
    yield from _branch_faults(repository, trees, _BranchMerge(name, head, tip, bases, merged), [*of_paths], note)


def _judge_index(repository: Repository, trees: Trees, ends: tuple[Oid, Oid, Oid], merged: Oid) -> Judged:
    base, main, unit = (tree_of(trees.repo, commit) for commit in ends)
    settings = read_merge_settings(repository.git)
    attributes = find_attributes(lambda: repository.git, trees, repository.top, repository.common, ends[1], settings)
    sides = Sides(
        base=base,
        main=main,
        unit=unit,
        by_main={change.path: change for change in trees.compare(base, main)},
        by_unit={change.path: change for change in trees.compare(base, unit)},
        by_hand=True,
    )
    judge = Judge(trees=trees, means=Means(state=repository.state), checkout=repository.top, attributes=attributes)
    return judge.judge(TreeMerge(merged, True), sides)


@dataclass(frozen=True, slots=True)
class _BranchMerge:
    """A branch that is being merged: its name, the two commits, their merge bases, and the merged tree."""

    name: str
    head: Oid
    tip: Oid
    bases: tuple[Oid, ...]
    merged: Oid


def _branch_faults(
    repository: Repository, trees: Trees, merge: _BranchMerge, known: Sequence[str], note: Callable[[str], None]
) -> Iterator[str]:
    """Name what of others' work the branch takes back, and conflicts that it committed, as a landing would."""
    from gitprun.landing.choose import read_made
    from gitprun.landing.past import Past
    from gitprun.landing.taken_back import Back, add_markers, find_all_taken_back

    git, tree = repository.git, tree_of(trees.repo, merge.tip)
    back = Back(
        target=merge.head,
        bases=merge.bases,
        tip=merge.tip,
        tree=tree,
        first=read_made(repository, merge.name),
    )
    seen = find_all_taken_back(lambda: git, Past(git, trees), back)
    changes = trees.compare(tree_of(trees.repo, merge.bases[0]), tree)
    found = add_markers(seen, find_markers(git, trees, merge.tip, changes, merge.merged), known)
    for text in found.told:
        note(f"{merge.name}: {text}")
    if found.suspects:
        yield f"{merge.name} is suspect: {describe_suspects(found.suspects)}"


def clean_message(path: Path) -> None:
    """Take git's list of conflicts out of a message that no editor has shown to anybody."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    cleaned = _LEFTOVER.sub("", text)
    if cleaned != text:
        path.write_bytes((cleaned.rstrip("\n") + "\n").encode("utf-8", "surrogateescape"))


def refuse_message(git: Git, text: str, heads: Sequence[str]) -> str:
    """Return in words why a merge should not be committed with this message; ``heads`` are the commits it merges."""
    lines = text.split("\n")
    said = [line for line in lines if line.strip() and not line.startswith("#")]
    if not said:
        return "the merge has no message"
    left = next((line for line in said if line.startswith(_MARKS)), "")
    if left:
        return f"the message holds a conflict marker: {left[:60]!r}"
    ships = _SHIPS.fullmatch(said[0].strip())
    if ships is None:
        return ""
    for name in (f"refs/heads/{ships[1]}", f"refs/{ships[1]}"):
        tip = git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", ok=(0, 1, 128)).text
        # A branch, or a ref of prun's own (a unit that was captured and has no branch).
        if tip in heads:
            return ""
        if tip:
            return f"the message says that it ships {ships[1]}, but that is not what is merged"
    return ""
