"""One look at one unit: its workspace, its fence, its output."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitprun.capture.worker_refs import read_worktree_head
from gitprun.executors.catalog import require_executor
from gitprun.executors.limits import find_limit
from gitprun.git.repo import Repository
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.retry_policy import SHARED_KINDS
from gitprun.ledger.roster import NAMED
from gitprun.model.errors import PrunError
from gitprun.model.globs import outside_fence
from gitprun.observe.commits import CommitCounts
from gitprun.observe.flags import UnitReading
from gitprun.observe.snapshot import RepositorySnapshot, Stamp
from gitprun.observe.touched import FolderWatcher, NoNotices
from gitprun.observe.tree import Ground, Tree, may_convert
from gitprun.system.clock import Clock
from gitprun.system.files import tail

# The last events of a worker, each some kilobytes: the output itself may be gigabytes, and is never read whole.
TAIL = 64 << 10
_Key = tuple[str, str]
_Sight = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Quiet:
    """What a unit looked like, and since when (monotonic) it has."""

    seen: object
    since: float


class UnitReader:
    """Looks at units and remembers what it need not read again."""

    def __init__(
        self, repository: Repository, clock: Clock, commits: CommitCounts, watcher: FolderWatcher | None
    ) -> None:
        self._repository, self._clock, self._commits, self._watcher = repository, clock, commits, watcher
        self._trees: dict[_Key, Tree] = {}
        self._quiet: dict[_Key, _Quiet] = {}
        self._limits: dict[_Key, tuple[_Sight | None, str]] = {}
        self._names: dict[bytes, bytes] = {}
        self._converts: bool | None = None

    def close(self) -> None:
        """Stop watching."""
        # The watcher they share is the probe's to close.
        for tree in self._trees.values():
            tree.close()

    def look(
        self, run: RunState, unit: UnitState, seen: RepositorySnapshot, *, works: bool, whole: bool = False
    ) -> UnitReading:
        """Look at one unit; ``works`` says that its worker lives."""
        dirty = self._dirty(unit, whole=whole)
        began, ended = window(unit)
        key, log, tip = (unit.run, unit.id), self._log(unit), tip_of(unit, seen, self._repository.common)
        quiet = self._quiet_for(key, log, dirty, began) if works else 0.0
        return UnitReading(
            run=unit.run,
            id=unit.id,
            state=unit.state,
            live=unit.live,
            worker=works,
            commits=self._commits.past(str(unit.base or run.base), tip) if tip else 0,
            committed=_committed(unit),
            dirty=dirty,
            outside=_outside(unit, dirty or {}),
            began=began,
            ended=ended,
            quiet=quiet,
            # Of a worker that ended, the ledger knows why; of one that runs, only its output does.
            limited=self._limit(key, unit, log) if works else _refused(unit),
            drift=_held(unit),
        )

    def forget(self, others: Iterable[_Key]) -> None:
        """Look no longer at units that are not among these."""
        kept = set(others)
        for key in [key for key in self._trees if key not in kept]:
            self._trees.pop(key).close()

    def _dirty(self, unit: UnitState, *, whole: bool) -> Mapping[str, Stamp] | None:
        key = unit.run, unit.id
        begun = unit.started is not None or unit.run == NAMED
        if unit.removed or unit.workspace_kind is None or not begun:
            if key in self._trees:
                self._trees.pop(key).close()
            return {}
        # Anew each time: a later attempt has another folder, and its facts say so before its worker starts.
        ground = self._ground(unit)
        if ground is None:
            return None
        if key in self._trees and self._trees[key].ground.identity != ground.identity:
            # A later attempt works in a workspace of its own.
            self._trees.pop(key).close()
        if key not in self._trees:
            source = self._watcher.source(os.fsencode(ground.path), ground.skip) if self._watcher else NoNotices()
            self._trees[key] = Tree(ground, source)
        return self._trees[key].look(whole=whole)

    def _ground(self, unit: UnitState) -> Ground | None:
        try:
            if self._converts is None:
                self._converts = may_convert(self._repository)
            if unit.identity is None:
                return None
            return Ground(
                path=Path(unit.path),
                identity=unit.identity,
                common=self._repository.common,
                index=self._repository.state / "runs" / unit.run / unit.id / "index",
                apart=unit.provided,
                converts=self._converts,
                names=self._names,
            )
        except PrunError:
            return None

    def _log(self, unit: UnitState) -> Path:
        return Path(unit.log) if unit.log else self._repository.state / "runs" / unit.run / unit.id / "output.log"

    def _quiet_for(self, key: _Key, log: Path, dirty: Mapping[str, Stamp] | None, began: float | None) -> float:
        """Return for how many seconds nothing has come out of a worker.

        What happened before our first look can only be told by the files' own times; from then on it is what we
        saw ourselves, on the clock that never jumps.
        """
        output, monotonic = _sight(log), self._clock.monotonic()
        seen = (output, tuple(sorted((dirty or {}).items())))
        known = self._quiet.get(key)
        if known is None:
            times = [began or 0.0, output[1] / 1e9 if output else 0.0, *(m / 1e9 for _, m in (dirty or {}).values())]
            known = _Quiet(seen, monotonic - max(0.0, self._clock.now() - max(times)))
        elif known.seen != seen:
            known = _Quiet(seen, monotonic)
        self._quiet[key] = known
        return max(0.0, monotonic - known.since)

    def _limit(self, key: _Key, unit: UnitState, log: Path) -> str:
        """Read off the end of a worker's output whether the service is turning it away."""
        output = _sight(log)
        known = self._limits.get(key)
        if known is None or known[0] != output:
            known = (output, _last_limit(unit.executor, tail(log, TAIL)))
            self._limits[key] = known
        return known[1]


def _sight(path: Path) -> _Sight | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _last_limit(executor: str, output: bytes) -> str:
    """Return what the service said, if that is the last thing that happened."""
    try:
        reader = require_executor(executor)
    except PrunError:
        return ""
    # The first line of the tail may be cut; read from the end, it is the last that is tried.
    for line in reversed(output.split(b"\n")):
        progress = reader.progress(line) if line else None
        if progress is not None:
            limited = progress.kind == "waiting" and find_limit(progress.text) is not None
            return progress.text if limited else ""
    return ""


def _refused(unit: UnitState) -> str:
    # A worker that bailed waits for its next attempt, and nobody turned it away. An older prun did not say why a unit
    # waits for its service; for another attempt it always did.
    waits = unit.state == "waiting" and unit.failure in SHARED_KINDS | {""}
    turned_away = waits or unit.state == "rate-limited"
    return (unit.reason or "the service is at its limit") if turned_away else ""


def _held(unit: UnitState) -> str:
    """Return what changed in the user's repository while a unit ran, as long as it waits for an answer."""
    return unit.drift.text if unit.drift is not None and unit.drift.holds else ""


def _outside(unit: UnitState, dirty: Mapping[str, Stamp]) -> tuple[str, ...]:
    """List what a unit touched outside its fence: as captured, before that as its workspace is."""
    if unit.state == "landed":
        # The user saw and took it.
        return ()
    # Once captured, the workspace says nothing more about the work.
    if unit.outside is not None:
        return unit.outside
    return tuple(sorted(outside_fence(tuple(dirty), unit.fence)))


def _committed(unit: UnitState) -> bool:
    """Check whether the last work of a unit is in a commit (of a workspace with a history, that work's own)."""
    return unit.committed in ("committed", "own") if unit.run == NAMED else unit.commit is not None


def tip_of(unit: UnitState, seen: RepositorySnapshot, common: Path) -> str:
    """Return the last commit of a unit: the captured one, or what its worktree has where its worker may commit there.

    ``common`` is the shared git folder.
    """
    branch = seen.resolve(seen.refs.get(f"refs/heads/{unit.branch}", ""))
    if unit.run == NAMED:
        return branch or unit.commit or ""
    # A worker in a clone commits to its own repository; nothing of it is here before its capture.
    if unit.commit or unit.workspace != "worktree":
        return unit.commit or ""
    head = read_worktree_head(common, Path(unit.path)) if unit.path else ""
    return branch or ("" if head.startswith("refs/") else head)


def window(unit: UnitState) -> tuple[float | None, float | None]:
    """Return the times between which a unit's worker ran; None for one that is not known (yet)."""
    if unit.started is not None and unit.exit is not None:
        return unit.started, unit.started + unit.exit.seconds
    # The end that is known may be that of an earlier attempt.
    again = unit.started is not None and unit.ended is not None and unit.ended < unit.started
    return unit.started, None if again else unit.ended
