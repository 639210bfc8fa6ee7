"""Looks at the user's repository whenever a worker starts or ends, and writes down what changed in between.

Between two looks the same workers run, so what changed then is the doing of one of them, or of the user. The first of
these looks and one after the last are kept for the monitor, too: how things stood at the start and the end of a run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.ledger.drift_findings import STASH, Change, DriftFinding
from gitprun.ledger.drift_record import Drift, awaits, drift_found, over_rows, read_drifts
from gitprun.ledger.events import Event, fold
from gitprun.ledger.house_events import DriftSettled
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.probe import probe_named
from gitprun.ledger.roster import NAMED, roster
from gitprun.model.errors import PrunError
from gitprun.observe.attribution import Attribution, PossibleAuthor
from gitprun.observe.changes import value_of
from gitprun.observe.drift_rules import judge
from gitprun.observe.keep import ObjectKeep, drop_keep, keep_folder, pin_commits, pin_prefix
from gitprun.observe.own_changes import find_drift, read_own_changes
from gitprun.observe.reflogs import read_entry
from gitprun.observe.safe_mode import trust
from gitprun.observe.snapshot import (
    BASELINE,
    FINAL,
    RepositorySnapshot,
    dump,
    read_json,
    read_snapshot,
    record_snapshot,
    recorded_snapshot,
    same,
    write_snapshot,
)
from gitprun.observe.snapshotter import Snapshotter
from gitprun.system.content_store import ContentStore
from gitprun.system.files import write_whole
from gitprun.workspaces.base import Workspace
from gitprun.workspaces.rulebook import STORE

LOOK, RUNNING, INDEXES = "look.json", "running.json", "indexes"
# What has to be known of a unit by a process that takes over.
_REMEMBERED = ("name", "path", "kind", "branch")


class DriftObserver:
    """Sees what changes while the workers of one run (or of one named workspace) run; may be called by many threads.

    ``unit`` is the named workspace, or empty for a run; ``root`` is where prun makes workspaces.
    """

    def __init__(self, repository: Repository, ledger: Ledger, run: str, root: Path, unit: str = "") -> None:
        self.repository, self.ledger, self.run, self.unit = repository, ledger, run, unit
        self.folder = keep_folder(repository.state, run, unit)
        self.store = ContentStore(self.folder / STORE)
        self.root = str(root)
        self._eye = Snapshotter(repository, self.store, root=root)
        self._objects = ObjectKeep(repository.common / "objects", self.folder / "objects")
        self._lock = threading.Lock()
        self._last: RepositorySnapshot | None = None
        self._running: dict[str, PossibleAuthor] = {}
        self._thorough = False
        self._open: dict[tuple[str, str], Change] = {}
        self._recalled = False

    def open(self) -> None:
        """Look before anything is made for a run whose setup commands run before its first worker: that is its start.

        Without such commands the look before the first worker is.
        """
        with self._lock, suppress(PrunError, OSError):
            self._look_first()

    def begin(self, author: PossibleAuthor) -> str:
        """Look right before a worker starts; what others changed until now is written down.

        Returns a note where that could not be done as it should. Never raises for what it finds.
        """
        with self._lock:
            try:
                self._recall()
                linked = author.kind == "worktree"
                self._thorough = self._thorough or linked
                if self._last is None and not self.unit:
                    self._look_first()
                else:
                    self._look()
                note = self._keep() if linked else ""
                if linked:
                    # What is there while nobody works, and nothing waits for an answer, is the user's.
                    calm = not self._running and not awaits(self.ledger.read().events, self.run, self.unit)
                    trust(self.repository, self.folder, anew=calm)
                self._running[author.name] = author
                self._remember()
                return note
            except (PrunError, OSError) as problem:
                self._running[author.name] = author
                return f"cannot determine what changes in your repository while it runs: {problem}"

    def end(self, name: str) -> tuple[DriftFinding, ...]:
        """Look right after a worker's tree ended; returns what changed since the look before.

        Each finding is in the ledger when this returns. Does nothing for a unit that is not at work.
        """
        with self._lock:
            try:
                self._recall()
                return self._look() if name in self._running else ()
            except OSError as problem:
                raise PrunError(f"cannot determine what changed in your repository: {problem}") from None
            finally:
                # Whatever came of the look, the worker is gone.
                if self._running.pop(name, None) is not None:
                    self._remember()

    def close(self) -> None:
        """Forget what was kept, unless something is to be put back or somebody still works."""
        with self._lock:
            if self._running or not self.folder.is_dir() or awaits(self.ledger.read().events, self.run, self.unit):
                return
            try:
                drop_keep(self.repository, self.folder, pin_prefix(self.run, self.unit))
            except (PrunError, OSError):
                # It does no harm; gc removes it.
                return

    def finish(self) -> None:
        """Look at how a run leaves things, for the monitor; a run ends well without it."""
        with self._lock, suppress(PrunError, OSError):
            # Closely: what a verification did to the checkout is in nobody's drift, and is told by the monitor.
            found = self._eye.look_closely(self.ledger.clock.now())
            record_snapshot(self.repository.state, self.run, FINAL, found)

    def _look_first(self) -> None:
        """Take the one look that is the start of the run for the monitor and the first one for drift."""
        after = self._eye.look_closely(self.ledger.clock.now(), logs=self._thorough)
        self._last = self._as_usual(after)
        self._settle(self._last)
        # An earlier process of this run, or a monitor, may have written the start down: then it is this look's no more.
        if not record_snapshot(self.repository.state, self.run, BASELINE, after):
            self._write(LOOK, write_snapshot(self._last))

    def _as_usual(self, look: RepositorySnapshot) -> RepositorySnapshot:
        """Return a close look as one that is as thorough as the others."""
        return look.stripped(logs=self._thorough, checkout=self._thorough)

    def _look(self) -> tuple[DriftFinding, ...]:
        """Look, and write down what is news since the last look if anybody worked meanwhile."""
        before = self._last
        after = self._eye.look(
            self.ledger.clock.now(),
            logs=self._thorough,
            checkout=self._thorough,
            hooks=before.hooks if before else "",
        )
        found: tuple[DriftFinding, ...] = ()
        # Without a worker at work it is the user's doing, and nobody's business.
        if before is not None and self._running and not same(before, after):
            found = self._tell(before, after)
        self._last = after
        self._settle(after)
        if before is None or not same(before, after):
            self._write(LOOK, write_snapshot(after))
        return found

    def _tell(self, before: RepositorySnapshot, after: RepositorySnapshot) -> tuple[DriftFinding, ...]:
        """Judge what differs and write it down, one event for each unit that may have done it."""
        events = self.ledger.read().events
        authors = tuple(self._running.values())
        ours = read_own_changes(events, (before, after), self.root, (one.branch for one in authors))
        inquiry = Attribution(self.repository, before, after, authors, self.store.content)
        judged = (judge(thing, inquiry.about(thing), before) for thing in find_drift(before, after, ours))
        found = sorted((one for one in judged if one is not None), key=lambda one: one.by)
        if not found:
            return ()
        everybody = tuple(sorted({*self._running, *self._elsewhere(events)}))
        number = self._next(events)
        # What a unit is known to have done is one drift, what nobody knows the doer of another: each is undone alone.
        for by, group in groupby(found, key=lambda one: one.by):
            drift = Drift(
                run=self.run,
                id=f"d{number}",
                units=by or everybody,
                time=after.time,
                findings=tuple(group),
                sure=bool(by),
                place=str(self.folder / f"d{number}.json"),
            )
            self._write_down(before, after, drift)
            number += 1
        return tuple(found)

    def _settle(self, look: RepositorySnapshot) -> None:
        """Write down what is as it was again, by whosever hand: a look may fall between two steps of one command."""
        again = {found for found, thing in self._open.items() if value_of(look, thing) == thing.old}
        for found in again:
            del self._open[found]
            mark, key = found
            self.ledger.append(DriftSettled(id=mark, key=key, how="by-itself"), run=self.run)
        if again:
            events = self.ledger.read().events
            mine = [one for one in read_drifts(events) if one.run == self.run]
            self.ledger.append_all(over_rows(events, mine))

    def _elsewhere(self, events: Sequence[Event]) -> Iterable[str]:
        """Name the units of other runs, and the named workspaces, whose workers run now, too."""
        history, named = fold(events), roster(events)
        for run in history.runs.values():
            if run.id != self.run:
                found = (probe_unit(run, unit) for unit in run.units.values() if unit.state == "running")
                yield from (f"{run.id}/{unit.id}" for unit in found if unit.live)
        for unit in named.units.values():
            if unit.state == "running" and not (self.run == NAMED and unit.id == self.unit) and probe_named(unit).live:
                yield f"{NAMED}/{unit.id}"

    def _next(self, events: Iterable[Event]) -> int:
        """Choose a number for a drift that no other of this run has, or had."""
        # By the ledger and by the files: a process may have been killed between the two.
        told = [one.id for one in read_drifts(events) if one.run == self.run]
        kept = [path.stem for path in self.folder.glob("d*.json")]
        return 1 + max((int(mark[1:]) for mark in (*told, *kept) if mark[1:].isdigit()), default=0)

    def _write_down(self, before: RepositorySnapshot, after: RepositorySnapshot, drift: Drift) -> None:
        # Before the event that names it: an event without its record could not be undone.
        record = {"before": write_snapshot(before), "after": write_snapshot(after)}
        self._write(f"{drift.id}.json", record | {"findings": [one.as_json() for one in drift.findings]})
        self._open |= {(drift.id, one.thing.key): one.thing for one in drift.findings if one.gate}
        # Units of other runs are named in the facts, and held by that; the event is of this run.
        mine = [name.partition("/")[2] for name in drift.units if name in self._running]
        self.ledger.append_all([(drift_found(drift), self.run, unit) for unit in mine or [""]])

    def _keep(self) -> str:
        """Keep the objects; where they cannot be linked, pin what refs and the stash name."""
        self._keep_indexes()
        kept = self._objects.refresh()
        if not kept.note or self._last is None:
            return ""
        # Entries of the stash below the first are named by its reflog alone.
        stash = self.store.content((self._last.logs or {}).get(STASH, "").partition(" ")[2]) or b""
        entries = (read_entry(line) for line in stash.split(b"\n"))
        oids = [*self._last.refs.values(), *self._last.heads.values(), *(one.new for one in entries if one)]
        pin_commits(self.repository, pin_prefix(self.run, self.unit), (oid for oid in oids if " " not in oid))
        return f"objects are not kept aside, only refs are pinned: {kept.note}"

    def _keep_indexes(self) -> None:
        """Keep what is staged in the linked worktrees: git never writes into an index, it replaces it."""
        for entry in self._last.places if self._last else ():
            source = self.repository.common / "worktrees" / entry / "index"
            target = self.folder / INDEXES / entry
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(f".{entry}.new")
            try:
                temporary.unlink(missing_ok=True)
                os.link(source, temporary, follow_symlinks=False)
                os.replace(temporary, target)
            except OSError:
                continue

    def _write(self, name: str, record: object) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / name, dump(record))

    def _remember(self) -> None:
        rows = [{name: getattr(one, name) for name in _REMEMBERED} for one in self._running.values()]
        self._write(RUNNING, {"units": rows, "thorough": self._thorough})

    def _recall(self) -> None:
        """Take over from a process that was killed: its last look, and who worked then."""
        if self._recalled:
            return
        self._recalled = True
        running = read_json(self.folder / RUNNING)
        self._last = read_snapshot(read_json(self.folder / LOOK)) or self._last
        if not running:
            return
        self._thorough = bool(running.get("thorough"))
        if self._last is None and not self.unit:
            # Nothing had changed since the first look when it was killed, so that stands for the last one.
            start = recorded_snapshot(self.repository.state, self.run, BASELINE)
            self._last = self._as_usual(start) if start else None
        if self._last is not None:
            found: Iterable[Mapping[str, str]] = running.get("units", ())
            authors = (
                PossibleAuthor(name=row["name"], path=row["path"], kind=row["kind"], branch=row["branch"])
                for row in found
            )
            self._running = {one.name: one for one in authors}


def author_of(run: str, unit: str, workspace: Workspace) -> PossibleAuthor:
    """Return what has to be known about a unit that is about to start."""
    path = os.path.join(os.path.realpath(workspace.path.parent), workspace.path.name)
    # A unit's clone is on a branch of its own repository; here none of that name is its to move.
    branch = workspace.branch if run == NAMED or workspace.kind == "worktree" else ""
    return PossibleAuthor(name=f"{run}/{unit}", path=path, kind=workspace.kind or "scratch", branch=branch or "")
