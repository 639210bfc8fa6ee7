"""What came back from the workspace of a resolution: read without its git, checked against both sides, recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.capture.capture import stage_workspace
from gitprun.capture.context import CaptureContext
from gitprun.capture.screen import goes_along
from gitprun.git.refs import open_repository, read_signatures, write_commit
from gitprun.git.repo import Repository
from gitprun.git.trees import REGULAR, Objects, TreeChange, place_versions, read_blob, read_changes, show_path
from gitprun.judging.doubts import find_doubts
from gitprun.judging.recorded_resolutions import (
    TAKES,
    Take,
    choice_name,
    keep_choice,
    keep_resolution,
    text_name,
    version_taken,
)
from gitprun.judging.text import faults_of_hand
from gitprun.landing.resolution import OpenPath, Resolution, folder_of
from gitprun.landing.unresolved import CONFLICT, Unresolved
from gitprun.ledger.landing_events import ResolveRecorded
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import OperationRefused, PrunError, UsageProblem
from gitprun.model.lists import listed
from gitprun.model.names import ZERO, Oid
from gitprun.resolvers.base import FileConflict
from gitprun.system.files import folder_identity, locked
from gitprun.workspaces.base import Workspace
from gitprun.workspaces.clone import read_source

# Bytes: whatever a person left there on purpose goes along, as the limit of captures has no place here.
# A gigabyte is what still fits into memory at once; a file is read whole to become a blob.
MAX_FILE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedResolution:
    """The decisions of a resolution: a text (as blob) or a side for each path; ``others`` changed beside them.

    ``mended`` are the paths that changed where there was no conflict.
    """

    tree: Oid
    texts: Mapping[bytes, Oid] = field(default_factory=dict)
    takes: Mapping[bytes, Take] = field(default_factory=dict)
    others: tuple[bytes, ...] = ()
    mended: tuple[bytes, ...] = ()

    def message(self, branch: str) -> str:
        """Write the message of the merge, which names what was decided."""
        said = {"main": "the main side's", "unit": "the unit side's", "delete": "deleted"}
        rows = dict.fromkeys(self.texts, "by hand") | {path: said[take] for path, take in self.takes.items()}
        rows |= dict.fromkeys(self.mended, "mended by hand")
        rows |= dict.fromkeys(self.others, "changed beside the conflict")
        listed = "".join(f"- {show_path(path)}: {what}\n" for path, what in sorted(rows.items()))
        return f"merge: ship {branch}\n\nResolved:\n{listed}"


def accept_work(
    repository: Repository, resolution: Resolution, takes: Mapping[bytes, Take], *, allow_other_paths: bool
) -> AcceptedResolution:
    """Read the finished work and check it; raises OperationRefused with everything that keeps it from being taken."""
    # A folder of that name may have been put there since; only the one we made is read.
    if folder_identity(Path(resolution.workspace)) != resolution.identity:
        raise OperationRefused(
            f"{resolution.workspace} is not the folder prun made", "git prun resolve --abort, then open it again"
        )
    repo = open_repository(repository.common)
    tree = _read_work(repository, repo, resolution)
    changed = {change.path: change for change in read_changes(repository.git, resolution.opened, tree)}
    # Of a branch that is suspect or red nothing is in conflict: what counts is what was edited.
    if resolution.why != CONFLICT:
        work = _FinishedWork(repository, repo, resolution, tree, changed)
        return _accept_mended(work, takes, allow_other_paths=allow_other_paths)
    wrong = [
        f"{show_path(path)} is not in conflict" for path in takes if path not in {p.name for p in resolution.paths}
    ]
    texts: dict[bytes, Oid] = {}
    taken: dict[bytes, Take] = {}
    for row in resolution.paths:
        answer = takes.get(row.name) or _decide(repo, repository.state, row, changed.get(row.name))
        side = next((take for take in TAKES if take == answer), None)
        if side is not None:
            taken[row.name] = side
        # _decide returns words with blanks for what is wrong; an object id has none.
        elif len(answer) == len(ZERO) and " " not in answer:
            texts[row.name] = Oid(answer)
        else:
            wrong.append(f"{show_path(row.name)}: {answer}")
    others = tuple(path for path in changed if path not in {row.name for row in resolution.paths})
    if others and not allow_other_paths:
        wrong.append(f"{_shown(others)}: changed, but not in conflict (--allow-other-paths takes it along)")
    if wrong:
        raise OperationRefused("the resolution is not finished: " + "; ".join(wrong))
    return AcceptedResolution(tree=tree, texts=texts, takes=taken, others=others)


@dataclass(frozen=True, slots=True)
class _FinishedWork:
    """What came back from the workspace of a resolution: its tree, and what differs from the one it began with."""

    repository: Repository
    repo: Objects
    resolution: Resolution
    tree: Oid
    changed: Mapping[bytes, TreeChange]


def _accept_mended(work: _FinishedWork, takes: Mapping[bytes, Take], *, allow_other_paths: bool) -> AcceptedResolution:
    """Check what was changed in files that merge: that there is something, where it may be, without new faults.

    Whether what was wrong still is, the landing finds out: it looks at the result, and checks it.
    """
    repository, repo, resolution, tree, changed = (work.repository, work.repo, work.resolution, work.tree, work.changed)
    if takes:
        raise OperationRefused(
            "--take decides conflicts, and there is none", f"edit the files in {resolution.workspace}"
        )
    wrong = [] if changed else ["nothing was changed"]
    others = tuple(path for path in changed if not _is_named(resolution, path))
    if others and any(not row.path for row in resolution.paths) | (resolution.why != "suspect"):
        # What a check fails on, or what the branch as a whole does, is mended anywhere in what the branch changed.
        base = repository.git.run("merge-base", resolution.main, resolution.tip, ok=(0, 1)).text
        own = {change.path for change in read_changes(repository.git, Oid(base), resolution.tip)} if base else set()
        others = tuple(path for path in others if path not in own)
    if others and not allow_other_paths:
        what = "not named" if resolution.why == "suspect" else "not by the branch"
        wrong.append(f"{_shown(others)}: changed, but {what} (--allow-other-paths takes it along)")
    for path, change in changed.items():
        if change.new_mode in REGULAR:
            # Compared with itself on both sides: only what the edit brought is a fault.
            before = read_blob(repo, change.old) if change.old_mode in REGULAR else b""
            # What was wrong when it was opened is looked for by the landing; here it is what the edit did.
            conflict = FileConflict(os.fsdecode(path), None, before, before)
            doubts = find_doubts(conflict, read_blob(repo, change.new), repository.state)
            wrong += [f"{show_path(path)}: {fault}" for fault in faults_of_hand(doubts)]
    if wrong:
        raise OperationRefused("the files are not mended: " + "; ".join(wrong), f"edit them in {resolution.workspace}")
    return AcceptedResolution(tree=tree, mended=tuple(changed))


def _is_named(resolution: Resolution, path: bytes) -> bool:
    """Check whether a finding names a path, or a folder above it."""
    shown = show_path(path)
    return any(row.path and (shown == row.path or shown.startswith(f"{row.path}/")) for row in resolution.paths)


def _shown(paths: Sequence[bytes]) -> str:
    # Five show where the edit strayed to; the workspace lists them all.
    return listed(paths, 5, show=show_path)


def read_written(repository: Repository, resolution: Resolution) -> Oid | None:
    """Write a commit of what was written in the workspace; None if nothing was, or it cannot be read."""
    if folder_identity(Path(resolution.workspace)) != resolution.identity:
        return None
    repo = open_repository(repository.common)
    try:
        tree = _read_work(repository, repo, resolution)
    # Asked while a resolution is thrown away: what cannot be read must not keep it from ending.
    except PrunError:
        return None
    if not read_changes(repository.git, resolution.opened, tree):
        return None
    return _commit(repository, repo, resolution, tree, f"work on {resolution.branch} that did not land\n")


def _read_work(repository: Repository, repo: Objects, resolution: Resolution) -> Oid:
    """Write the tree of what is in the workspace; neither its git folder nor its settings are used."""
    index = folder_of(repository, resolution.name) / "index"
    source = read_source(repository)
    workspace = Workspace(
        kind="clone",
        path=Path(resolution.workspace),
        identity=resolution.identity,
        index=index,
        provided=resolution.provided,
    )
    site = CaptureContext(
        repository=repository,
        repo=repo,
        workspace=workspace,
        base=resolution.opened,
        max_file=MAX_FILE,
        known=source.tips,
        alternates=source.alternates,
    )
    with locked(index.with_name("capture.lock"), doing=f"taking back {resolution.branch}"):
        # Under our own lock nobody else writes this index: one that lies here was left by a killed command.
        index.with_name("index.lock").unlink(missing_ok=True)
        staged, _ = stage_workspace(site)
    # What a capture may leave out of a worker's mess, a person put there on purpose.
    lost = [row for row in staged.left_out if not goes_along(row)]
    if lost:
        first = lost[0]
        raise OperationRefused(f"{first.path} cannot be taken along: {first.reason}", f"look at it in {workspace.path}")
    return staged.tree


def _decide(repo: Objects, state: Path, row: OpenPath, change: TreeChange | None) -> str:
    """Return what was decided about a path: the blob of a text, a side, or (with blanks in it) what is wrong."""
    sides = "--take PATH=main, unit or delete says so"
    if change is None:
        if not row.textual:
            return f"nothing was decided ({sides})"
        # Untouched, a text still has its markers in it; a binary file has none, and is silently main's.
        return "it is as it was when it was opened" if _marked(repo, row) else f"nothing was decided ({sides})"
    if change.removed:
        return "delete" if not row.textual else f"it is gone; {sides.replace('main, unit or ', '')}"
    # A link or a folder in the place of a file in conflict is no text anybody can check.
    if change.new_mode not in REGULAR:
        return "it is no plain file any more"
    if not row.textual:
        found = f"{change.new_mode} {change.new}"
        _, main, unit = row.versions
        return "main" if found == main else "unit" if found == unit else f"it is neither side's version ({sides})"
    faults = find_faults_of(repo, state, row, change.new)
    return "; ".join(faults) or change.new


def _marked(repo: Objects, row: OpenPath) -> bool:
    """Check whether git could write both sides into one text."""
    return all(b"\0" not in read_blob(repo, _oid(version)) for version in row.versions if version)


def find_faults_of(repo: Objects, state: Path, row: OpenPath, blob: Oid) -> tuple[str, ...]:
    """Return what a resolved text has wrong that neither side has, markers first: for what no landing would take it."""
    base, main, unit = (read_blob(repo, _oid(version)) if version else None for version in row.versions)
    conflict = FileConflict(row.path, base, main or b"", unit or b"")
    return faults_of_hand(find_doubts(conflict, read_blob(repo, blob), state))


def _oid(version: str) -> Oid:
    return Oid(version.partition(" ")[2])


def require_same_conflicts(resolution: Resolution, left: Unresolved) -> None:
    """Refuse to go on where the target moved and what is in conflict now was never decided."""
    known = {row.name: row.versions for row in resolution.paths}
    # Other versions are other questions: an answer to the old ones may drop what came since.
    new = [show_path(row.path) for row in left.paths if known.get(row.path) != row.versions]
    if new:
        raise OperationRefused(
            f"{resolution.target.removeprefix('refs/heads/')} has moved, and now other versions are in conflict:"
            f" {', '.join(new)}",
            "git prun resolve --abort, then open it again",
        )


def record(repository: Repository, ledger: Ledger, resolution: Resolution, taken: AcceptedResolution) -> bool:
    """Keep every decision for the versions it was made for, so that the merge about to be made finds them.

    The ledger knows the name of each before it is written: by that it can be forgotten again. Returns False where
    files that are alike on all sides were given different texts: of these nothing is kept, for no merge could tell.
    """
    repo = open_repository(repository.common)
    texts: list[tuple[OpenPath, Oid]] = []
    choices: list[tuple[OpenPath, Take]] = []
    for row in resolution.paths:
        take, text = taken.takes.get(row.name), taken.texts.get(row.name)
        # A side taken of texts is kept as that text, so it is found where the same three meet at another path.
        if text is None and row.textual and take in ("main", "unit"):
            text = _oid(row.versions[1 if take == "main" else 2] or "")
        if text is not None:
            texts.append((row, text))
        elif take is not None:
            choices.append((row, take))
    given: dict[str, set[Oid]] = {}
    for row, text in texts:
        given.setdefault(text_name(*blobs_of(row)), set()).add(text)
    several = {name for name, blobs in given.items() if len(blobs) > 1}
    texts = [(row, text) for row, text in texts if text_name(*blobs_of(row)) not in several]
    # Written down before the files are: killed in between, they can still be forgotten by name.
    names = [(row.path, text_name(*blobs_of(row))) for row, _ in texts]
    names += [(row.path, choice_name(row.name, row.versions)) for row, _ in choices]
    ledger.append(resolution.about.into(ResolveRecorded, rows=tuple(names)))
    for row, text in texts:
        keep_resolution(repository.state, *blobs_of(row), read_blob(repo, text))
    for row, take in choices:
        keep_choice(repository.state, row.name, row.versions, take)
    return not several


def names_of(resolution: Resolution) -> list[tuple[str, str]]:
    """List all that may have been recorded for a resolution: each path, and the name it would be recorded by."""
    rows = resolution.paths if resolution.why == CONFLICT else ()
    texts = [(row.path, text_name(*blobs_of(row))) for row in rows if row.textual]
    return texts + [(row.path, choice_name(row.name, row.versions)) for row in rows]


def blobs_of(row: OpenPath) -> tuple[str | None, str, str]:
    """Return the object ids of a path's three versions."""
    base, main, unit = (_oid(version) if version else None for version in row.versions)
    return base, main or "", unit or ""


def commit_whole(repository: Repository, resolution: Resolution, taken: AcceptedResolution) -> Oid:
    """Make the merge of the very commits that were opened, all that was changed and all; no ref moves."""
    repo = open_repository(repository.common)
    rows = [row for row in resolution.paths if row.name in taken.takes]
    placed = {row.name: version_taken(row.versions, taken.takes[row.name]) for row in rows}
    tree = place_versions(repository.common, taken.tree, placed) if placed else taken.tree
    return _commit(repository, repo, resolution, tree, taken.message(resolution.branch))


def _commit(repository: Repository, repo: Objects, resolution: Resolution, tree: Oid, message: str) -> Oid:
    return write_commit(repo, tree, (resolution.main, resolution.tip), message, *read_signatures(repository.git))


def parse_takes(rows: Sequence[str]) -> dict[bytes, Take]:
    """Read ``PATH=SIDE`` words; raises UsageProblem."""
    found: dict[bytes, Take] = {}
    for row in rows:
        path, _, word = row.rpartition("=")
        side = next((take for take in TAKES if take == word), None)
        if not path or side is None:
            raise UsageProblem(f"--take {row!r} names no side", "write PATH=main, PATH=unit or PATH=delete")
        found[os.fsencode(path)] = side
    return found
