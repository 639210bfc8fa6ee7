"""Remove what a plan names: each step is written down before and after, and looked at again when its turn comes."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitprun.capture.quarantine import sweep_quarantine
from gitprun.git.refs import delete_ref, open_repository
from gitprun.git.repo import Repository
from gitprun.ledger.house_events import GcDone, GcStepped
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.roster import roster
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import Oid
from gitprun.observe.keep import drop_keep, pin_prefix
from gitprun.recovery.gc_plan import DAY, GcInventory, GcPlan, GcScope, GcStep, plan_gc
from gitprun.recovery.gc_read import is_running, read_found, read_refs, run_found
from gitprun.registry.ignored import drop_kept
from gitprun.registry.orphans import choose_roots
from gitprun.registry.remove import take_away
from gitprun.registry.remove_user_workspace import remove_user_workspace
from gitprun.registry.trash import retire_ref
from gitprun.system.files import LockBusy, empty_trash, folder_identity, locked, remove_tree, sync_all
from gitprun.workspaces.pins import unpin_source


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of one step: ``problem`` says why it was not done (empty: it was), ``freed`` is in bytes.

    ``kept`` is the folder in which ignored files of a workspace are kept.
    """

    step: GcStep
    freed: int = 0
    problem: str = ""
    kept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport:
    """What was planned, and what was done of it (nothing in a dry run)."""

    plan: GcPlan
    done: tuple[Done, ...] = ()

    @property
    def freed(self) -> int:
        """Add up what was freed, in bytes."""
        return sum(one.freed for one in self.done)


def collect_garbage(
    repository: Repository,
    ledger: Ledger,
    roots: Iterable[Path],
    scope: GcScope,
    *,
    dry_run: bool = False,
    announce: Callable[[GcPlan], None] = lambda plan: None,
) -> GcReport:
    """Plan what may go, let ``announce`` hear of it, and let it go unless this is a dry run.

    Raises OperationRefused while another one is at it. What a killed one left undone is planned again.
    """
    try:
        # Nobody waits for another gc: when that is done, there is nothing left for this one.
        with locked(repository.state / "locks" / "gc.lock", timeout=0.0, doing="with gc"):
            roots = tuple(roots)
            found = read_found(repository, ledger, ledger.read(), roots, scope)
            plan = plan_gc(found, scope, now=ledger.clock.now())
            announce(plan)
            if dry_run:
                return GcReport(plan=plan)
            room = _Room(repository, ledger, found, scope.keep_for)
            # Kind by kind, as the plan has them: what pins work goes before what it pins from.
            done = [one for kind in dict.fromkeys(step.kind for step in plan.steps) for one in room.do(plan, kind)]
            _tidy(ledger, roots)
            return GcReport(plan=plan, done=tuple(done))
    except LockBusy as problem:
        raise OperationRefused(problem.message, problem.hint) from None


class _Room:
    """Does the steps of a plan, kind by kind."""

    def __init__(self, repository: Repository, ledger: Ledger, found: GcInventory, keep_for: float) -> None:
        self.repository, self.ledger, self.found, self.keep_for = repository, ledger, found, keep_for
        self.ways: dict[str, Callable[[GcStep], str | None]] = {
            "removal": self.finish_workspace,
            "registration": self.finish_workspace,
            "workspace": self.finish_workspace,
            "trash-folder": self.empty,
            "temporary": self.remove_folder,
            "git-folder": self.remove_git_folder,
            "log": self.compress,
            "landing-log": self.remove_log,
            "quarantine": self.sweep,
            "snapshot": self.drop_snapshot,
            "tips-pin": self.unpin_tips,
            "base-pin": self.unpin,
            "trash-ref": self.forget,
            "kept-files": self.drop_kept_files,
            "ledger": self.compact,
        }

    def do(self, plan: GcPlan, kind: str) -> list[Done]:
        """Do all steps of one kind, written down together before and after."""
        steps = [step for step in plan.steps if step.kind == kind]
        # The intent of a kind before its first step: what a killed gc had begun is told by the ledger, not guessed.
        self.ledger.append_all([(_row(step), "", "") for step in steps])
        done = [self.do_one(step) for step in steps]
        rows = [(_row(one.step).into(GcDone, problem=one.problem), "", "") for one in done]
        self.ledger.append_all(rows)
        return done

    def do_one(self, step: GcStep) -> Done:
        """Do one step; what hinders it is told, and hinders no other."""
        try:
            kept = self.ways[step.kind](step) or ""
        except PrunError as problem:
            return Done(step=step, problem=problem.message)
        except OSError as problem:
            return Done(step=step, problem=f"{problem.filename or step.what}: {problem.strerror}")
        # A compressed log takes some space still.
        left = _size_of_log(step) if step.kind == "log" else 0
        return Done(step=step, freed=max(0, step.size - left), kept=kept)

    def finish_workspace(self, step: GcStep) -> str:
        """Remove a workspace as ``git prun remove`` does: what is not pinned yet is, and what cannot be stays.

        Gives where its ignored files are kept.
        """
        reading = self.ledger.read()
        named = roster(reading.events).units
        if step.of in named and named[step.of].path == step.what:
            return remove_user_workspace(self.repository, self.ledger, named[step.of]).kept
        run_name, _, unit_name = step.of.partition("/")
        run = reading.history.runs[run_name]
        # The plan may have been shown to a person for minutes: the run may be resumed since.
        if is_running(run):
            raise OperationRefused(f"run {run.id} is being worked on")
        removal = take_away(self.repository, self.ledger, run.units[unit_name])
        _drop_empty(Path(step.what).parent, run_name)
        return removal.kept

    def drop_kept_files(self, step: GcStep) -> None:
        """Remove ignored files that were kept of a workspace."""
        drop_kept(Path(step.what))

    def empty(self, step: GcStep) -> None:
        """Empty what a removal left."""
        path = Path(step.what)
        identity = folder_identity(path)
        if identity is not None and not empty_trash(path, identity) and os.path.lexists(path):
            raise OperationRefused(f"another git prun is emptying {path}")

    def remove_folder(self, step: GcStep) -> None:
        """Remove a folder of temporary files, and the one above it when it is empty."""
        path = Path(step.what)
        identity = folder_identity(path)
        if identity is not None:
            remove_tree(path, identity)
        _drop_empty(path.parent, ".tmp")

    def remove_git_folder(self, step: GcStep) -> None:
        """Remove the folder a workspace was captured with, unless its run began anew meanwhile."""
        # Runs begin and are resumed under this lock, so none does so meanwhile.
        with locked(self.repository.state / "locks" / "run.lock", doing="with gc"):
            run_name, _, unit_name = step.of.partition("/")
            run = self.ledger.read().history.runs.get(run_name)
            unit = run.units.get(unit_name) if run else None
            if run is None or unit is None or is_running(run) or not unit.removed:
                raise OperationRefused(f"{step.of} is being worked on")
            path = Path(step.what)
            identity = folder_identity(path)
            if identity is not None:
                remove_tree(path, identity)

    def compress(self, step: GcStep) -> None:
        """Compress a log in two steps, of which each leaves one whole log."""
        path = Path(step.what)
        target, aside = path.with_name(f"{path.name}.gz"), path.with_name(f".{path.name}.gz.part")
        # Through a link another file would be packed and its link removed.
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as source, gzip.open(aside, "wb") as packed:
            shutil.copyfileobj(source, packed, 1 << 20)
        # On disk before it has its name: a crash must not leave an empty file and no log.
        sync_all([str(aside)])
        os.replace(aside, target)
        sync_all([str(target)])
        path.unlink()

    def remove_log(self, step: GcStep) -> None:
        """Remove the logs of one verification."""
        path = Path(step.what)
        identity = folder_identity(path)
        if identity is not None:
            remove_tree(path, identity)
        elif os.path.lexists(path):
            path.unlink()

    def drop_snapshot(self, step: GcStep) -> None:
        """Drop what was kept for the case that a worker changes the user's repository."""
        with locked(self.repository.state / "locks" / "run.lock", doing="with gc"):
            run, _, unit = step.of.partition("/")
            found = self.ledger.read().history.runs.get(run)
            if found is not None and is_running(found):
                raise OperationRefused(f"run {run} is being worked on")
            drop_keep(self.repository, Path(step.what), pin_prefix(run, unit))

    def sweep(self, step: GcStep) -> None:
        """Remove what dead processes were taking over; all of it at once."""
        if os.path.lexists(step.what):
            sweep_quarantine(self.repository)

    def unpin_tips(self, step: GcStep) -> None:
        """Remove what clones borrowed, unless there are some again."""
        with locked(self.repository.state / "locks" / "run.lock", doing="with gc"):
            self.require_planned(step)
            unpin_source(self.repository, step.of)

    def require_planned(self, step: GcStep) -> None:
        """Look at refs and runs once more; raises Refused where the step would not be planned now."""
        # The plan may be minutes old, shown to a person first: a run may have been resumed since.
        reading = self.ledger.read()
        now = GcInventory(
            runs=tuple(run_found(run) for run in reading.history.runs.values()),
            named=frozenset(roster(reading.events).units),
            refs=read_refs(self.repository),
        )
        plan = plan_gc(now, GcScope(keep_for=self.keep_for), now=self.ledger.clock.now())
        if (step.kind, step.what, step.oid) not in {(again.kind, again.what, again.oid) for again in plan.steps}:
            raise OperationRefused(f"{step.what} is needed again")

    def unpin(self, step: GcStep) -> None:
        """Take the pin of a base into the trash, unless its run goes on meanwhile."""
        with locked(self.repository.state / "locks" / "run.lock", doing="with gc"):
            self.require_planned(step)
            why = "gc: its run has no workspace and nothing to land"
            retire_ref(self.repository, self.ledger, step.what, why=why, old=Oid(step.oid))

    def forget(self, step: GcStep) -> None:
        """Delete a ref of the trash that is still where it was."""
        delete_ref(open_repository(self.repository.common), step.what, Oid(step.oid))

    def compact(self, step: GcStep) -> None:
        """Write the old part of the ledger shorter."""
        # It finds out anew what can go, under the ledger's own lock.
        self.ledger.compact(days=self.keep_for / DAY)


def _row(step: GcStep) -> GcStepped:
    return GcStepped(step=step.kind, what=step.what, why=step.why, size=step.size, of=step.of, oid=step.oid)


def _size_of_log(step: GcStep) -> int:
    try:
        return os.lstat(f"{step.what}.gz").st_size
    except OSError:
        return 0


def _tidy(ledger: Ledger, roots: Iterable[Path]) -> None:
    """Remove the empty folders of runs that nobody works on, which a killed removal left."""
    reading = ledger.read()
    for root in choose_roots(reading, roots):
        for run in reading.history.runs.values():
            if not is_running(run):
                for folder in (root / run.id / ".tmp", root / run.id):
                    with suppress(OSError):
                        # Takes only empty folders: what anybody put in there stays.
                        folder.rmdir()
        with suppress(OSError):
            root.rmdir()


def _drop_empty(folder: Path, name: str) -> None:
    """Remove a folder of ours, and the one above it, when they are empty."""
    if folder.name != name:
        return
    for place in (folder, folder.parent):
        try:
            place.rmdir()
        except OSError:
            return
