"""The ledger held against what is there: its own rows, the refs and objects it names, landings, workspaces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.ledger.archive import archive_place, read_archive, read_archived
from gitprun.ledger.events import RunState, UnitState, compactions
from gitprun.ledger.house_events import GcDone, LedgerCompacted, RunSummed, RunSummedEnd
from gitprun.ledger.ledger import Ledger, LedgerProblem, Reading
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.roster import NAMED
from gitprun.model.escapes import shell_word
from gitprun.model.lists import listed
from gitprun.model.names import PRUN_REFS, base_ref, short
from gitprun.recovery.catalog import Label, read_label
from gitprun.registry.find import workspaces_of
from gitprun.registry.guard import stands
from gitprun.registry.orphans import find_orphans

# So much may be between two rows of one machine without a clock that was set back, seconds.
_SLACK = 1.0
# One line of a terminal.
_SEVERAL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFinding:
    """One thing that is not as the ledger says: something is ``lost``, or only worth a ``note``; ``todo`` may be empty.

    ``what`` names the run, unit, ref or line it is about.
    """

    level: Literal["lost", "note"]
    what: str
    problem: str
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was looked at, in numbers, and what was found."""

    rows: int
    runs: int
    units: int
    refs: int
    landings: int
    workspaces: int
    findings: tuple[LedgerFinding, ...]

    @property
    def lost(self) -> int:
        """Count the findings of something that is lost."""
        return sum(found.level == "lost" for found in self.findings)


def check_ledger(repository: Repository, ledger: Ledger, roots: Iterable[Path]) -> Checked:
    """Compare a ledger with the refs and the disk; nothing is changed. Raises LedgerProblem where it cannot be read.

    ``roots`` are folders workspaces may lie in beside those the ledger names.
    """
    reading = ledger.read()
    if reading.newer:
        raise LedgerProblem(
            f"the ledger {ledger.path} has {len(reading.newer)} line(s) of a newer git prun",
            "check it with that version, or a newer one",
        )
    check = _Check(repository, ledger, reading, tuple(roots))
    findings = [
        *check.rows(), *check.runs(), *check.unit_commits(), *check.bases(), *check.refs(), *check.landings(),
        *check.workspaces(),
    ]  # fmt: skip
    units = [unit for run in reading.history.runs.values() for unit in run.units.values()]
    return Checked(
        rows=len(reading.events),
        runs=len(reading.history.runs),
        units=len(units),
        refs=len(check.pins),
        landings=len(reading.history.landings),
        workspaces=len(workspaces_of(reading)),
        findings=tuple(findings),
    )


class _Check:
    """One comparison; what is asked of git is asked for everything at once."""

    def __init__(self, repository: Repository, ledger: Ledger, reading: Reading, roots: tuple[Path, ...]) -> None:
        self.repository, self.ledger, self.reading, self.roots = repository, ledger, reading, roots
        self.history, self.git = reading.history, Git(cwd=repository.common)

    @cached_property
    def pins(self) -> dict[str, str]:
        """Return what every ref of prun's holds."""
        listing = self.git.run("for-each-ref", "--format=%(objectname) %(refname)", PRUN_REFS).text.split("\n")
        return {row[41:]: row[:40] for row in listing if row}

    @cached_property
    def released(self) -> frozenset[str]:
        """Name the commits whose pins prun itself gave up, after their time."""
        return frozenset(one.oid for event in self.reading.events if isinstance(one := event.payload, GcDone))

    @cached_property
    def whole(self) -> frozenset[str]:
        """Name those commits the ledger speaks of that are there, with their trees."""
        wanted = {commit for unit in self._units() for _, commit in _commits(unit)}
        wanted |= {run.base for run in self.history.runs.values()} | {one.commit for one in self.history.landings}
        wanted |= set(self.pins.values())
        asked = sorted(oid for oid in wanted if oid)
        rows = [f"{oid}{what}\n" for oid in asked for what in ("", "^{tree}")]
        answers = self.git.run("cat-file", "--batch-check=%(objecttype)", stdin="".join(rows).encode()).text.split("\n")
        # A commit without its tree is as good as gone; what is no commit has none.
        pairs = zip(asked, answers[::2], answers[1::2], strict=False)
        return frozenset(oid for oid, kind, tree in pairs if kind != "commit" or tree == "tree") - {
            oid for oid, kind in zip(asked, answers[::2], strict=False) if kind.endswith("missing")
        }

    def _units(self) -> Iterator[UnitState]:
        for run in self.history.runs.values():
            yield from run.units.values()

    def rows(self) -> Iterator[LedgerFinding]:
        """Check the lines themselves, and the archives of older ones."""
        for number in self.reading.unreadable:
            problem = "was cut off by a crash, before it was acknowledged"
            if _was_whole(self.ledger.path, number):
                yield LedgerFinding(
                    level="lost", what=f"line {number}", problem="was altered: its checksum does not fit"
                )
            else:
                yield LedgerFinding(level="note", what=f"line {number}", problem=problem)
        last = 0.0
        for event in self.reading.events:
            if isinstance(event.payload, LedgerCompacted | RunSummed | RunSummedEnd):
                # Of another time than their neighbours.
                continue
            if event.time < last - _SLACK:
                back = f"the clock was set back by {last - event.time:.0f} s before {event.kind}"
                yield LedgerFinding(level="note", what=event.run or "the ledger", problem=back)
            last = event.time
        first = self.reading.events[0] if self.reading.events else None
        for number in range(1, compactions(first) + 1):
            place = archive_place(self.ledger.path.parent, number)
            if read_archive(place) is None:
                yield LedgerFinding(
                    level="note", what=str(place), problem="cannot be read: the rows in it are shown no more"
                )

    def runs(self) -> Iterator[LedgerFinding]:
        """Check that there is a ledger where there were runs, and that somebody works on what is not over."""
        # Lost or deleted, for these refs are made by runs alone.
        if not self.reading.events and any(read_label(ref).kind == "captured" for ref in self.pins):
            yield LedgerFinding(
                level="lost",
                what=str(self.ledger.path),
                problem="has no rows, but the refs show that there were runs",
                todo="git prun rescue lists everything that is pinned",
            )
        for run in self.history.runs.values():
            lost = [unit.id for unit in run.units.values() if probe_unit(run, unit).state == "lost"]
            if lost:
                problem = f"nobody works on {listed(lost, _SEVERAL)} any more (lost)"
                todo = f"git prun run --resume {run.id} goes on with it"
                yield LedgerFinding(level="note", what=run.id, problem=problem, todo=todo)

    def unit_commits(self) -> Iterator[LedgerFinding]:
        """Check that everything that was captured is there, whole, and pinned."""
        held = {oid: ref for ref, oid in self.pins.items()}
        for unit in self._units():
            for said, commit in _commits(unit):
                name = f"{unit.run}/{unit.id}"
                if commit not in self.whole:
                    if commit not in self.released:
                        todo = "git fsck tells more; another clone or a backup may have it"
                        problem = f"{said} {short(commit)} is missing or damaged"
                        yield LedgerFinding(level="lost", what=name, problem=problem, todo=todo)
                # What landed is held by the branch it landed on.
                elif commit not in held and commit not in self.released and not self._has_landed(unit):
                    problem = f"no ref pins {said} {short(commit)} any more: git may delete it"
                    todo = f"git update-ref refs/prun/{name} {commit}"
                    yield LedgerFinding(level="lost", what=name, problem=problem, todo=todo)

    def _has_landed(self, unit: UnitState) -> bool:
        return any((one.run, one.unit) == (unit.run, unit.id) for one in self.history.landings)

    def bases(self) -> Iterator[LedgerFinding]:
        """Check that what each run started from is there, and pinned as long as there is something of the run."""
        for run in self.history.runs.values():
            if not run.base or run.base in self.released:
                continue
            if run.base not in self.whole:
                yield LedgerFinding(
                    level="lost", what=run.id, problem=f"its base {short(run.base)} is missing or damaged"
                )
            # Without a workspace nothing compares with the base any more, and gc lets its pin go.
            elif base_ref(run.id) not in self.pins and _has_workspace(run):
                todo = f"git update-ref {base_ref(run.id)} {run.base}"
                yield LedgerFinding(level="lost", what=run.id, problem="its base is not pinned any more", todo=todo)

    def refs(self) -> Iterator[LedgerFinding]:
        """Name damaged refs, and those the ledger knows nothing of."""
        known = {(event.run, event.unit) for event in self.reading.events}
        first = self.reading.events[0] if self.reading.events else None
        # A compaction took rows out of the ledger whose refs are prun's all the same.
        known |= {(event.run, event.unit) for event in read_archived(self.ledger.path.parent, first)}
        known |= {(unit.run, unit.id) for unit in self._units()}
        for ref, oid in self.pins.items():
            if oid not in self.whole:
                todo = "git fsck tells more"
                yield LedgerFinding(level="lost", what=ref, problem=f"{short(oid)} is missing or damaged", todo=todo)
            elif self.reading.events and not self._is_known(read_label(ref), known):
                todo = f"git prun rescue {ref} brings it back as a branch"
                yield LedgerFinding(level="note", what=ref, problem="the ledger does not know it", todo=todo)

    def _is_known(self, label: Label, known: set[tuple[str, str]]) -> bool:
        if label.kind == "other":
            return False
        if not label.run:
            return True
        if label.unit:
            return (label.run, label.unit) in known
        return label.run == NAMED or label.run in self.history.runs

    def landings(self) -> Iterator[LedgerFinding]:
        """Check that what landed is where it landed, or was taken back."""
        undone = {(one.target, one.commit) for one in self.history.undoings}
        waiting: dict[str, list[str]] = {}
        names: dict[str, str] = {}
        for one in self.history.landings:
            # Taken back on purpose, it need not be there any more.
            if (one.target, one.commit) in undone or not one.commit:
                continue
            names[one.commit] = one.branch
            if one.commit in self.whole:
                waiting.setdefault(one.target, []).append(one.commit)
            else:
                problem = f"its merge {short(one.commit)} on {_branch(one.target)} is missing or damaged"
                yield LedgerFinding(
                    level="lost", what=one.branch, problem=problem, todo=f"git prun merge {shell_word(one.branch)}"
                )
        for target, commits in waiting.items():
            answer = self.git.run("rev-list", *commits, "--not", target, "--", ok=(0, 128))
            # A target that is gone itself holds none of them.
            gone = set(commits) if answer.code else set(answer.text.split("\n")) & set(commits)
            for commit in sorted(gone):
                problem = f"its merge {short(commit)} is not in {_branch(target)} any more, and prun did not undo it"
                todo = f"git prun merge {names[commit]} lands it again"
                yield LedgerFinding(level="note", what=names[commit], problem=problem, todo=todo)

    def workspaces(self) -> Iterator[LedgerFinding]:
        """Check that the folders workers work in are those that were made for them, and name those nobody knows."""
        for run, unit in workspaces_of(self.reading):
            path = Path(unit.path)
            if stands(unit):
                continue
            name = unit.id if run.id == NAMED else f"{unit.run}/{unit.id}"
            if not os.path.lexists(path.parent):
                # Perhaps a disk that is not there today: that is no loss yet.
                problem = f"its workspace {path} cannot be reached: {path.parent} is not there"
                yield LedgerFinding(level="note", what=name, problem=problem)
                continue
            there = os.path.lexists(path)
            problem = f"{path} is not the folder prun made" if there else f"its workspace {path} is gone"
            # A worker had begun there, and nothing else holds what it did.
            if unit.commit is None and unit.live and unit.started is not None:
                yield LedgerFinding(level="lost", what=name, problem=f"{problem}, before its work was captured")
            else:
                todo = "git prun remove " + name
                yield LedgerFinding(
                    level="note", what=name, problem=problem, todo="" if there else f"{todo} forgets it"
                )
        for place in find_orphans(self.repository, self.reading, self.roots):
            if place.state == "orphan":
                todo = "git prun workspace adopt takes it over" if place.there else "git prun gc clears it away"
                yield LedgerFinding(level="note", what=place.path, problem="no unit is known to work here", todo=todo)


def _commits(unit: UnitState) -> Iterator[tuple[str, str]]:
    """Return what was captured of a unit: its commit, what was kept beside it, and earlier attempts."""
    if unit.commit:
        yield "its commit", unit.commit
    for channel, oid in unit.kept:
        yield f"its kept {channel}", oid
    for row in unit.earlier:
        if row.commit:
            yield f"its attempt {row.attempt}", row.commit


def _has_workspace(run: RunState) -> bool:
    return any(unit.there for unit in run.units.values())


def _was_whole(path: Path, number: int) -> bool:
    """Check whether an unreadable line has both its ends: then it was not torn, but altered."""
    line = path.read_bytes().split(b"\n")[number - 1]
    return line.startswith(b"{") and line.endswith(b'"}') and b',"crc":"' in line


def _branch(target: str) -> str:
    return target.removeprefix("refs/heads/")
