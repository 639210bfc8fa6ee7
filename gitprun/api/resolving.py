"""Opened branches: worked on, taken back and landed, thrown away; what was recorded of them forgotten."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.api.landing import landing_of
from gitprun.api.landings import Landing
from gitprun.api.opened import Opened
from gitprun.api.opening import PROMPT, candidate_of, left_of, opening_of, read_kept, swept
from gitprun.api.settings import (
    MergeRequest,
    is_branch,
    landing_options,
    require_approved,
    require_findings,
    settings_of,
)
from gitprun.api.stopping import Stop
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import Oid

if TYPE_CHECKING:
    from gitprun.landing.accept_resolution import AcceptedResolution
    from gitprun.landing.plan import Candidate
    from gitprun.landing.resolution import Resolution
    from gitprun.model.plan import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveRequest:
    """How a resolution is taken back and landed: ``take`` are rows of ``PATH=SIDE`` that decide what no text can.

    With ``allow_other_paths`` changes of files that are not in question come along. ``landing`` says how it lands.
    """

    take: tuple[str, ...] = ()
    allow_other_paths: bool = False
    landing: MergeRequest = field(default_factory=MergeRequest)


def abort(opened: Opened, name: str | None) -> tuple[str, bool]:
    """Throw an open resolution away; return its branch, and whether it has landed meanwhile."""
    from gitprun.judging.recorded_resolutions import is_recorded
    from gitprun.landing.accept_resolution import names_of, read_written
    from gitprun.landing.forget import forget_rows
    from gitprun.landing.resolution import (
        close_resolution,
        read_resolutions,
        require_idle,
        require_open,
        resolutions_locked,
    )

    repository = opened.repository
    with resolutions_locked(repository):
        found = require_open(read_resolutions(repository), name)
        require_idle(found)
        words = ("merge-base", "--is-ancestor", found.tip, found.target)
        landed = repository.git.run(*words, ok=(0, 1, 128)).code == 0
        outcome, written = ("landed", None) if landed else ("aborted", read_written(repository, found))
        rows = [] if landed else [row for row in names_of(found) if is_recorded(repository.state, row[1])]
        if rows:
            # What was recorded for it only was never landed: the next merge asks anew.
            forget_rows(repository, opened.ledger, rows, by="abort")
        notes = close_resolution(repository, opened.ledger, found, outcome, written=written)
    for note in notes:
        opened.warn(note)
    return found.branch, landed


def executor_of(worker: str) -> str:
    """Return which executor a worker is: codex, claude, or any shell command."""
    return worker if worker in ("codex", "claude") else "command"


def require_worker(opened: Opened, worker: str) -> None:
    """Ask before anything is opened for a worker whose program ``prun.toml`` names."""
    executor = executor_of(worker)
    require_approved(opened, (one for one in settings_of(opened).powers if one.executor == executor))


def _find(opened: Opened, name: str | None) -> Resolution:
    from gitprun.landing.resolution import require_open

    return require_open(swept(opened), name)


def let_work(opened: Opened, label: str, worker: str, stop: Stop | None = None) -> bool:
    """Have a worker resolve an opened branch; return whether it ended well."""
    from gitprun.landing.resolution import folder_of, require_idle, write_resolution
    from gitprun.model.names import UnitId
    from gitprun.model.units import ExecutorSettings, Unit
    from gitprun.registry.state_folder import state_base
    from gitprun.runs.dispatch_unit import DispatchPolicy, DispatchSpec, dispatch_unit
    from gitprun.workspaces.base import OUTBOX

    found = _find(opened, label)
    require_idle(found)
    executor = executor_of(worker)
    prompt = read_kept(folder_of(opened.repository, found.name) / PROMPT)
    command = ("sh", "-c", worker) if executor == "command" else ()
    unit = Unit(id=UnitId("resolve"), prompt=prompt, executor=executor, command=command)
    path = Path(found.workspace)

    def announce(folder: Path) -> None:
        # Where we are killed, the worker lives on: nobody is to take its files half written.
        write_resolution(opened.repository, replace(found, worker=str(folder)))
        opened.news(f"{worker} works; its output: {folder / 'tail'}")

    project = settings_of(opened)
    spec = DispatchSpec(
        unit=unit,
        executor=project.executors.get(executor, ExecutorSettings()),
        result=path / OUTBOX / "result.md",
        base=state_base(os.environ),
        caller=str(opened.start),
        scratch=path,
        project=project,
    )
    done = dispatch_unit(DispatchPolicy(spec, stop or Stop(), announce, opened.news))
    write_resolution(opened.repository, replace(found, worker=""))
    if done.ended.shell_code and not (stop is not None and stop.is_set()):
        opened.warn(f"{worker} ended with exit code {done.ended.shell_code}: {done.ending.reason}")
    return done.ended.shell_code == 0


@dataclass(frozen=True, slots=True)
class Finished:
    """What landing a resolution came to; ``done``: it is closed, else ``workspace`` is kept."""

    landing: Landing
    branch: str
    workspace: str
    done: bool


# What leaves nothing to be resolved.
SETTLED = ("landed", "already-contained", "nothing-to-merge")


def land_resolution(
    opened: Opened, name: str | None, asked: ResolveRequest | None = None, stop: Stop | None = None
) -> Finished:
    """Take the finished files of an open branch back, check them and land it, as ``merge`` lands it."""
    from gitprun.landing.resolution import require_idle

    wanted = asked or ResolveRequest()
    require_findings(opened, wanted.landing.allow_suspect)
    found = _find(opened, name)
    require_idle(found)
    landing = _land(opened, found, settings_of(opened), wanted, stop or Stop())
    return Finished(landing, found.branch, found.workspace, landing.items[0].state in SETTLED)


def close(opened: Opened, finished: Finished) -> None:
    """Take the workspace of a resolution away, once what came of it has been told."""
    from gitprun.landing.accept_resolution import read_written
    from gitprun.landing.resolution import close_resolution, read_resolutions, require_open, resolutions_locked

    state = finished.landing.items[0].state
    with resolutions_locked(opened.repository):
        found = require_open(read_resolutions(opened.repository), finished.branch)
        written = None if state == "landed" else read_written(opened.repository, found)
        notes = close_resolution(opened.repository, opened.ledger, found, state, written=written)
    for note in notes:
        opened.warn(note)


def _land(opened: Opened, found: Resolution, settings: Settings, asked: ResolveRequest, stop: Stop) -> Landing:
    from gitprun.landing.accept_resolution import accept_work, parse_takes
    from gitprun.landing.engine import land
    from gitprun.landing.guard import hold_back

    repository = opened.repository
    candidate = candidate_of(opened, _word_for(opened, found))
    if candidate.tip != found.tip:
        raise OperationRefused(f"{found.branch} has moved since this was opened", "--abort, then open it again")
    taken = accept_work(repository, found, parse_takes(asked.take), allow_other_paths=asked.allow_other_paths)
    candidate = replace(candidate, mended=_keep(opened, found, candidate, settings, taken))
    runs = opened.history().runs
    options = landing_options(opened, settings, asked.landing, [runs[found.run]] if found.run in runs else ())
    message = asked.landing.message or taken.message(found.branch)
    # Read anew: the user may have been asked meanwhile, and what a worker changed of theirs holds the branch back.
    held = hold_back((candidate,), opened.read().events)
    options = replace(options, into=found.target, message=message)
    return landing_of(land(repository, opened.ledger, held, options, stop=stop, say=opened.news))


def _keep(
    opened: Opened, found: Resolution, candidate: Candidate, settings: Settings, taken: AcceptedResolution
) -> str:
    """Record what was decided for the merge to find; return a merge with all that no record can tell, if there is any.

    What was decided for three versions holds wherever these meet, and is found again.
    """
    from gitprun.landing.accept_resolution import commit_whole, record, require_same_conflicts
    from gitprun.landing.guard import read_target
    from gitprun.landing.unresolved import CONFLICT

    if found.why != CONFLICT:
        return commit_whole(opened.repository, found, taken)
    whole = bool(taken.others) or found.crossed
    target = read_target(opened.repository, found.target)
    if target.tip != found.main and not whole:
        require_same_conflicts(found, left_of(opened, opening_of(opened, candidate, target), settings))
    known = record(opened.repository, opened.ledger, found, taken)
    return commit_whole(opened.repository, found, taken) if whole or not known else ""


def _word_for(opened: Opened, found: Resolution) -> str:
    if found.unit:
        return f"{found.run}/{found.unit}"
    return f"refs/heads/{found.branch}" if is_branch(opened, found.branch) else found.branch


def forget(opened: Opened, words: Sequence[str], into: str | None = None) -> tuple[str, ...]:
    """Forget what is recorded for paths, folders, branches and units; return the paths that are asked about anew.

    Raises OperationRefused where nothing is recorded.
    """
    from gitprun.landing.forget import Row, forget_rows, rows_of_branch, rows_of_path

    repository, events = opened.repository, opened.read().events
    found: dict[Row, None] = {}
    for word in words:
        rows = rows_of_path(repository, events, word)
        branch, tip, main = _tips(opened, word, into)
        rows += rows_of_branch(repository, events, branch, tip, main)
        if not rows:
            raise OperationRefused(
                f"nothing is recorded for {word}", "name a path that was in conflict, a branch or a unit"
            )
        found |= dict.fromkeys(rows)
    forget_rows(repository, opened.ledger, list(found), by=" ".join(words))
    return tuple(dict.fromkeys(path for path, _ in found))


def forgotten_folder(opened: Opened) -> Path:
    """Return the folder that keeps the texts of resolutions that were forgotten."""
    return opened.repository.state / "resolutions" / "forgotten"


def _tips(opened: Opened, word: str, into: str | None) -> tuple[str, Oid | None, Oid | None]:
    """Return the name, the tip and the target's tip of a branch or unit; without the tips where there is none."""
    from gitprun.landing.guard import read_target

    try:
        candidate = candidate_of(opened, word)
        return candidate.branch, candidate.tip, read_target(opened.repository, into).tip
    except PrunError:
        return word, None, None
