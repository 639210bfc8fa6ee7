"""A repository, as programs use it: everything the commands do, by the same names, with values instead of text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.api.opened import Notice, Opened, agree_to_nothing, hear_nobody, open_at, open_damaged

if TYPE_CHECKING:
    from gitprun.api.checking import CheckRequest, NothingToCheck
    from gitprun.api.details import UnitDetails
    from gitprun.api.events import LedgerEvent
    from gitprun.api.forecasts import LandingForecast
    from gitprun.api.landings import Landing
    from gitprun.api.outcomes import Collected, CommitChecked, DifferenceChecked, Reconciled, RunChecked, Stopped
    from gitprun.api.places import Made, WorkspaceRequest
    from gitprun.api.plans import RunOptions
    from gitprun.api.resolving import Finished, ResolveRequest
    from gitprun.api.running import BackgroundRun
    from gitprun.api.settings import Approval, MergeRequest
    from gitprun.api.stopping import Stop
    from gitprun.api.undone import DriftUndone, LandingHistory, OpenedBranch, OpenResolutions, Undone
    from gitprun.api.values import RunStatus, Status, UnitStatus
    from gitprun.api.workspaces import (
        AdoptedWorkspace,
        GarbageCollected,
        LedgerChecked,
        MovedWorkspace,
        Pinned,
        RemovedWorkspaces,
        ResetWorkspace,
        RestoredWork,
        Workspaces,
    )
    from gitprun.model.plan import Plan


class Repo:
    """One repository; several of them, also of the same one, may be used side by side and from several threads.

    Nothing is printed, no signal is touched. What may happen is returned; what broke is raised as PrunError with a
    ``message`` and a ``hint``. ``tell`` hears what happens on the way, ``confirm`` is asked for approvals.
    """

    def __init__(self, opened: Opened) -> None:
        self.opened = opened

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        tell: Callable[[Notice], None] = hear_nobody,
        confirm: Callable[[str, Sequence[str]], bool] = agree_to_nothing,
        damaged: bool = False,
    ) -> Repo:
        """Find the repository around a folder; with ``damaged`` also one whose settings git cannot read.

        Raises NoRepository.
        """
        find = open_damaged if damaged else open_at
        return cls(find(Path(path).absolute(), tell=tell, confirm=confirm))

    @property
    def top(self) -> Path | None:
        """Return the checkout it was opened in; None for a bare repository."""
        return self.opened.repository.top

    # What is known.

    def status(self, run: str | None = None, *, every: bool = False, claims: bool = True) -> Status:
        """Return the last run (or one by name, or every one), workspaces of your own, and what did not land."""
        from gitprun.api.reading import read_status

        return read_status(self.opened, run, every=every, claims=claims)

    def runs(self) -> tuple[RunStatus, ...]:
        """Return all runs, the oldest first."""
        from gitprun.api.reading import read_runs

        return read_runs(self.opened)

    def run(self, name: str | None = None) -> RunStatus:
        """Return one run, by default the last; raises NotKnown."""
        from gitprun.api.reading import read_run

        return read_run(self.opened, name)

    def unit(self, name: str) -> UnitStatus:
        """Return one unit: ``RUN/UNIT``, or ``UNIT`` of the newest run that has it; raises NotKnown."""
        from gitprun.api.reading import read_unit

        return read_unit(self.opened, name)

    def details(self, name: str) -> UnitDetails:
        """Return all that is known of one unit; raises NotKnown."""
        from gitprun.api.reading import read_details

        return read_details(self.opened, name)

    def diff(self, name: str, *shape: str, colour: bool = False) -> bytes:
        """Return what a unit changed, as git writes it; ``shape`` are options such as ``--stat``."""
        from gitprun.api.reading import read_diff

        return read_diff(self.opened, name, *shape, colour=colour)

    def events(self, *, archived: bool = False) -> Iterator[LedgerEvent]:
        """Yield the events everything is computed from, with ``archived`` those of long ago, too."""
        from gitprun.api.reading import read_events

        return read_events(self.opened, archived=archived)

    def reconcile(self, run: str | None = None, *, strict: bool = False) -> Reconciled:
        """Check that every unit of a run has a result of its own that follows the contract."""
        from gitprun.api.reading import review

        return review(self.opened, run, strict=strict)

    # Units at work.

    def plan(self, path: str | Path, options: RunOptions | None = None) -> Plan:
        """Read a plan from a file; raises PlanError."""
        from gitprun.api.plans import read_plan_file

        return read_plan_file(self.opened, str(path), options)

    def start(self, plan: Plan | str | Path, *, source: str = "") -> BackgroundRun:
        """Start a plan, or the one in a file, in the background of this process; return once its run has a name.

        Raises PrunError where nothing was made, also where the plan needs an approval that nobody gave.
        """
        from gitprun.api.running import BackgroundRun

        if isinstance(plan, str | Path):
            return BackgroundRun(self.opened, self.plan(plan), source=source or str(plan))
        return BackgroundRun(self.opened, plan, source=source)

    def stop(self, name: str | None = None, *, kill: bool = False, seconds: float | None = None) -> Stopped:
        """Stop the run at work, the one named, or one unit, whichever process works on it; waits for the end."""
        from gitprun.api.running import STOP_PATIENCE, ask_to_stop

        return ask_to_stop(self.opened, name, kill=kill, seconds=STOP_PATIENCE if seconds is None else seconds)

    def verify(
        self, name: str | None = None, asked: CheckRequest | None = None, *, stop: Stop | None = None
    ) -> RunChecked | CommitChecked | NothingToCheck:
        """Run the checks of a unit, of a run's units without a pass, or of any commit."""
        from gitprun.api.checking import verify

        return verify(self.opened, name, asked, stop=stop)

    def compare(self, name: str | None = None, *, approve: bool = False, stop: Stop | None = None) -> DifferenceChecked:
        """Return what compilers and linters say of branches merged with the target, and of neither side."""
        from gitprun.api.comparing import compare

        return compare(self.opened, name, approve=approve, stop=stop)

    def collect(self, name: str, include: Sequence[str] = (), *, stop: Stop | None = None) -> Collected:
        """Capture the workspace of a unit once more, with left-out paths that ``include`` matches."""
        from gitprun.api.checking import collect

        return collect(self.opened, name, include, stop=stop)

    # Bringing work home.

    def forecast(
        self, names: str | Sequence[str] = (), *, into: str | None = None, every: bool = False
    ) -> LandingForecast:
        """Return which branches conflict, who settles it, in which order to land; nothing is changed."""
        from gitprun.api.forecasting import forecast

        return forecast(self.opened, _names(names), into=into, every=every)

    def merge(
        self, names: str | Sequence[str] = (), asked: MergeRequest | None = None, *, stop: Stop | None = None
    ) -> Landing:
        """Land units, runs and branches; nothing named means every verified unit of the last run."""
        from gitprun.api.landing import merge
        from gitprun.api.settings import MergeRequest

        return merge(self.opened, _names(names), asked or MergeRequest(), stop)

    def undo(
        self,
        landing: str | None = None,
        *,
        redo: bool = False,
        asked: MergeRequest | None = None,
        stop: Stop | None = None,
    ) -> Undone:
        """Take the last landing back, or one by its number, merge commit, branch or unit; ``redo`` brings it back."""
        from gitprun.api.undoing import undo

        return undo(self.opened, landing, redo=redo, asked=asked, stop=stop)

    def landings(self) -> LandingHistory:
        """Return all landings, and what workers changed of yours that waits for an answer."""
        from gitprun.api.undoing import landings

        return landings(self.opened)

    def undo_drift(self, unit: str, *, only: Sequence[str] = (), dry_run: bool = False) -> DriftUndone:
        """Put back what changed in your repository while a unit ran."""
        from gitprun.api.drift import undo_drift

        return undo_drift(self.opened, unit, only=only, dry_run=dry_run)

    def accept_drift(self, unit: str) -> DriftUndone:
        """Have it stay, so that the unit may land."""
        from gitprun.api.drift import accept_drift

        return accept_drift(self.opened, unit)

    def resolutions(self) -> OpenResolutions:
        """Return the branches that are open for a person."""
        from gitprun.api.opening import open_resolutions

        return open_resolutions(self.opened)

    def resolve(self, name: str, *, into: str | None = None) -> OpenedBranch:
        """Open a branch that does not land, in a workspace with a report."""
        from gitprun.api.opening import open_branch

        return open_branch(self.opened, name, into)

    def finish_resolution(
        self, name: str | None = None, asked: ResolveRequest | None = None, *, stop: Stop | None = None
    ) -> Finished:
        """Take the finished files of an open branch back, check them and land it."""
        from gitprun.api.resolving import close, land_resolution

        done = land_resolution(self.opened, name, asked, stop)
        if done.done:
            close(self.opened, done)
        return done

    def abort_resolution(self, name: str | None = None) -> str:
        """Throw an open resolution away; return its branch."""
        from gitprun.api.resolving import abort

        return abort(self.opened, name)[0]

    # Workspaces.

    def workspaces(self, *, sizes: bool = False) -> Workspaces:
        """Return all workspaces."""
        from gitprun.api.places import list_workspaces

        return list_workspaces(self.opened, sizes=sizes)

    def new_workspace(self, asked: WorkspaceRequest, *, stop: Stop | None = None) -> Made:
        """Make a workspace of your own with a branch, and make it ready."""
        from gitprun.api.places import make

        return make(self.opened, asked, stop)

    def adopt_workspace(
        self, path: str, *, name: str | None = None, branch: str | None = None
    ) -> AdoptedWorkspace | MovedWorkspace:
        """Take a folder in as a workspace; what is in it is captured and pinned first."""
        from gitprun.api.places import adopt

        return adopt(self.opened, path, name=name, branch=branch)

    def reset_workspace(self, name: str, revision: str = "HEAD", *, discard_left_out: bool = False) -> ResetWorkspace:
        """Fill a workspace anew from a commit; what it held is pinned first."""
        from gitprun.api.places import reset

        return reset(self.opened, name, revision, discard_left_out=discard_left_out)

    def remove_workspaces(self, names: Sequence[str], *, discard_left_out: bool = False) -> RemovedWorkspaces:
        """Remove workspaces; their commits stay pinned."""
        from gitprun.api.places import remove

        return remove(self.opened, names, discard_left_out=discard_left_out)

    # What is kept.

    def pinned(self, names: Sequence[str] = ()) -> Pinned:
        """Return everything that is pinned."""
        from gitprun.api.keeping import read_pinned

        return read_pinned(self.opened, names)

    def rescue(self, names: Sequence[str], *, branch: str | None = None, folder: str | None = None) -> RestoredWork:
        """Bring pinned work back as branches, or as files in a new folder."""
        from gitprun.api.keeping import restore

        return restore(self.opened, names, branch=branch, folder=folder)

    def gc(self, *, older_than: str = "30d", workspaces: bool = False, dry_run: bool = False) -> GarbageCollected:
        """Remove data that is no longer needed; nothing that is the only copy of anything goes."""
        from gitprun.api.keeping import collect_garbage

        return collect_garbage(self.opened, older_than=older_than, workspaces=workspaces, dry_run=dry_run)

    def check_ledger(self) -> LedgerChecked:
        """Compare the ledger with the refs and the disk."""
        from gitprun.api.keeping import check_ledger

        return check_ledger(self.opened)

    def approve(self) -> Approval:
        """Approve what ``prun.toml`` names of programs, commands and walls, now and from now on."""
        from gitprun.api.settings import approve_settings

        return approve_settings(self.opened, yes=True)


def _names(names: str | Sequence[str]) -> Sequence[str]:
    """Return names as a sequence: one text is one name, and not its letters."""
    return (names,) if isinstance(names, str) else names
