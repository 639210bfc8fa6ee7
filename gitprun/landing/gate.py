"""The gates of merges people make with git itself: what is about to be committed, and what its message says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import open_repository
from gitprun.git.repo import Repository
from gitprun.git.trees import read_bases, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.guard import list_paths, read_local_changes
from gitprun.landing.plan import say_verdict
from gitprun.ledger.events import History
from gitprun.ledger.lookup import probe_unit
from gitprun.model.findings import describe_suspects
from gitprun.model.globs import matches
from gitprun.model.names import parse_oid, unit_branch

_HEAD = re.compile(r"GITHEAD_([0-9a-f]{40,64})")
_MARKS = ("<<<<<<< ", "||||||| ", ">>>>>>> ")
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
    """Say why the merge in the index should not be committed; empty if nothing speaks against it."""
    git = repository.git
    if repository.top is None:
        return ""
    unstaged = read_local_changes(repository.top).unstaged
    if unstaged:
        return f"{repository.top} has changes that are not committed: {list_paths(unstaged)}"
    changed = git.run("diff-index", "--cached", "-z", "--name-only", "--no-renames", "HEAD").fields
    unproved = next(_unproved(history, heads), "")
    if unproved:
        return unproved
    owned = next(_owned(history, heads, [os.fsdecode(path) for path in changed]), "")
    if owned:
        return owned
    for unit, name in heads.items():
        suspect = next(_suspects(repository, unit, note), "") or next(_taken_back(repository, unit, name, note), "")
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
            if not fence or not known.live or not probe_unit(run, known).live:
                continue
            if unit_branch(known.run, known.id) in heads.values() or known.commit in heads:
                continue
            for path in changed:
                if any(matches(pattern, path) for pattern in fence):
                    yield f"unit {known.run}/{known.id} is still at work on {list_paths([os.fsencode(path)])}"


def _suspects(repository: Repository, unit: str, note: Callable[[str], None]) -> Iterator[str]:
    """Audit every path that both sides changed, as it stands in the index; ``note`` hears what could not be."""
    from gitprun.judging.doubts import find_doubts
    from gitprun.resolvers.base import FileConflict

    git = repository.git
    base = git.run("merge-base", "HEAD", unit, ok=(0, 1)).text
    if not base:
        return
    by_main, by_unit = (_changed(git, base, side) for side in ("HEAD", unit))
    for path in sorted(by_main & by_unit):
        before, main, other, merged = (
            _read(git, f"{revision}:".encode() + path) for revision in (base, "HEAD", unit, "")
        )
        if main is None or other is None or merged is None or merged in (main, other):
            continue
        conflict = FileConflict(os.fsdecode(path), before, main, other)
        doubts = find_doubts(conflict, merged, repository.state)
        if doubts.faults:
            yield f"git merged {list_paths([path])}, but look at it: {'; '.join(doubts.faults)}"
        elif doubts.unjudged:
            note(f"{list_paths([path])}: not checked: {doubts.unjudged}")


def _taken_back(repository: Repository, unit: str, name: str, note: Callable[[str], None]) -> Iterator[str]:
    """Name what of others' work the branch takes back, as a landing would."""
    from gitprun.landing.choose import read_made
    from gitprun.landing.older import Back, find_all_taken_back
    from gitprun.landing.past import Past

    git, repo = repository.git, open_repository(repository.git_dir)
    head, tip = parse_oid(git.run("rev-parse", "HEAD").text), parse_oid(unit)
    back = Back(
        target=head,
        bases=read_bases(git, repo, head, tip),
        tip=tip,
        tree=tree_of(repo, tip),
        first=read_made(repository, name),
    )
    found = find_all_taken_back(lambda: git, Past(git, Trees(repo)), back)
    for text in found.told:
        note(f"{name}: {text}")
    if found.suspects:
        yield f"{name} is suspect: {describe_suspects(found.suspects)}"


def _changed(git: Git, base: str, side: str) -> set[bytes]:
    return set(git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, side).fields)


def _read(git: Git, name: bytes) -> bytes | None:
    """Read a file of a commit, or of the index (the name begins with the colon)."""
    answer = git.run("cat-file", "blob", name, ok=(0, 128))
    return answer.out if answer.code == 0 else None


def clean_message(path: Path) -> None:
    """Take git's list of conflicts out of a message that no editor has shown to anybody."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    cleaned = _LEFTOVER.sub("", text)
    if cleaned != text:
        path.write_bytes((cleaned.rstrip("\n") + "\n").encode("utf-8", "surrogateescape"))


def refuse_message(git: Git, text: str, heads: Sequence[str]) -> str:
    """Say why a merge should not be committed with this message; ``heads`` are the commits it merges."""
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
        if tip in heads:
            return ""
        if tip:
            return f"the message says that it ships {ships[1]}, but that is not what is merged"
    return ""
