"""Who writes a result file: a dispatched unit with a state folder, a unit of a run with a ledger, or nobody we know."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gitprun.ledger.arrivals import Writer
from gitprun.ledger.events import History, RunState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.lookup import probe_unit
from gitprun.model.names import is_run_id
from gitprun.registry.state_folder import StateDir, list_state_dirs, place_of, read_line, read_state_dir
from gitprun.supervisor.process import is_gone

# While its run goes on, a unit that ended like this may be tried again: its result is not the last word.
TRIED_AGAIN = ("failed", "rate-limited", "timed-out", "empty")


@dataclass(slots=True)
class Writers:
    """The writers of result files, as far as the state folders under ``base`` and the ledgers tell."""

    base: Path
    _results: dict[Path, str] = field(default_factory=dict)
    _ledgers: dict[Path, Ledger] = field(default_factory=dict)

    def look_again(self) -> None:
        """Take in state folders that have come since."""
        found = list(list_state_dirs(self.base))
        for path in found:
            # The result's path is written once; before that there is nothing to know.
            if not self._results.get(path):
                self._results[path] = place_of(read_line(path, "result-file"))
        self._results = {path: self._results[path] for path in found}

    def writer_of(self, result: str) -> Writer:
        """Return who writes a result file."""
        place = place_of(result)
        return self._run_writer(place) or self._dispatched_writer(place)

    def orphan_of(self, result: str) -> StateDir | None:
        """Find the dispatched unit whose result this is and nobody will write any more, its dispatcher being gone."""
        newest = self._newest(place_of(result))
        return newest if newest is not None and newest.orphan else None

    def _newest(self, place: str) -> StateDir | None:
        """Read the state folders of one result: the one that lives, else the newest."""
        folders = [path for path, theirs in self._results.items() if theirs == place]
        # By age: an earlier dispatch to the same file has had its say.
        states = [read_state_dir(path) for path in sorted(folders, key=_age)]
        return next((state for state in states if state.alive), states[-1] if states else None)

    def _dispatched_writer(self, place: str) -> Writer:
        state = self._newest(place)
        if state is None:
            return Writer()
        if state.alive:
            return Writer("works", state.unit, folder=str(state.path))
        if state.ended_ns is None:
            # Made by the seed's own script, or killed with its supervisor: only quiet can tell.
            return Writer("unknown", state.unit, folder=str(state.path))
        return Writer("ended", state.unit, until_ns=state.ended_ns, folder=str(state.path))

    def _run_writer(self, place: str) -> Writer | None:
        """Return the writer of ``<common>/prun/runs/<run>/<unit>/result.md``: there the ledger knows."""
        path = Path(place)
        unit, run, runs = path.parent, path.parent.parent, path.parent.parent.parent
        if (path.name, runs.name) != ("result.md", "runs") or not is_run_id(run.name):
            return None
        known = self._history(runs.parent).runs.get(run.name)
        if known is None or unit.name not in known.units:
            return None
        state = probe_unit(known, known.units[unit.name])
        # Another attempt would write the file anew; this one is not the last word.
        if state.live or (state.state in TRIED_AGAIN and _goes_on(known)):
            return Writer("works", unit.name, folder=str(unit))
        reason = f": {state.reason}" if state.reason else ""
        hopeless = f"{run.name}/{unit.name} ended as {state.state} without a result{reason}"
        return Writer("ended", unit.name, folder=str(unit), hopeless=hopeless)

    def _history(self, state: Path) -> History:
        """Read a ledger; of one that was read before only its new lines."""
        ledger = self._ledgers.setdefault(state, Ledger(state))
        return ledger.read().history if ledger.stamp() is not None else History()


def _goes_on(run: RunState) -> bool:
    return run.ended is None and run.coordinator is not None and not is_gone(run.coordinator)


def _age(path: Path) -> int:
    try:
        return (path / "result-file").stat().st_mtime_ns
    except OSError:
        return 0
