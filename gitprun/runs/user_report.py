"""What ``git prun exec`` says and writes down of a worker's work: status lines, the commit message, ledger facts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime

from gitprun.capture.capture import Capture, changed_paths
from gitprun.capture.context import CaptureContext
from gitprun.executors.catalog import require_executor
from gitprun.git.command import Git
from gitprun.ledger.unit_events import UnitCaptured
from gitprun.model.names import Oid
from gitprun.registry.fork import fork_of
from gitprun.runs.attempt import Worked
from gitprun.runs.messages import Facts, commit_message
from gitprun.runs.request import Session, WorkerRequest
from gitprun.runs.user_commit import CommitOutcome, describe_stat

# The last lines a commit message tells of are read from so many bytes of output: 20 events of codex, some of which
# hold a whole file or the output of a test run, are well below that.
LAST = 256_000
# More left-out paths than a screen half full say nothing that `git prun show` does not say better.
MOST_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """The part of the log (in bytes) that holds what one attempt's worker printed: others wrote there before."""

    start: int
    end: int


def write_message(
    session: Session, site: CaptureContext, found: Capture, worked: Worked, spoken: Spoken, parent: Oid
) -> str:
    """Return the message of the commit that goes onto ``parent``, at the level that was asked for."""
    request = session.request
    # The captured tree is not in the user's repository yet, so the workspace's own git shows its stat.
    git: Git = site.git
    facts = Facts(
        slug=request.unit.id,
        prompt=request.unit.prompt,
        branch=str(site.workspace.branch),
        seconds=worked.exit.seconds,
        code=worked.exit.shell_code,
        pid=os.getpid(),
        timestamp=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        files=found.changed,
        stat=describe_stat(git, parent, found.tree),
        output=_last_lines(request, spoken),
        source=_source(request),
        own_commits=found.own_commits if site.workspace.kind == "clone" else (),
        failed=worked.state is not None,
    )
    return commit_message(request.level, facts)


def _last_lines(request: WorkerRequest, spoken: Spoken) -> list[str]:
    """Return in plain lines what the worker did last."""
    progress = require_executor(request.unit.executor).progress
    with open(request.log, "rb") as source:
        # Never before this attempt's own output: others wrote into the same log.
        source.seek(max(spoken.start, spoken.end - LAST))
        rows = source.read(spoken.end - source.tell()).split(b"\n")
    return [seen.text for row in rows if (seen := progress(row)) is not None]


def _source(request: WorkerRequest) -> str:
    unit = request.unit
    if unit.executor == "command":
        return " ".join(unit.command)
    program = "codex exec" if unit.executor == "codex" else "claude -p"
    return f"{program} ({unit.model or 'default'} {unit.reasoning or 'default'} reasoning)"


def report_work(session: Session, site: CaptureContext, found: Capture, outcome: CommitOutcome) -> None:
    """Report what became of the work, in the seed's words where it has any, and write it down."""
    own = f"{outcome.own} commit{'s' if outcome.own != 1 else ''} of the worker's own"
    if outcome.state == "committed":
        session.tell("committed" + (f" (beside {own})" if outcome.own else ""))
    elif outcome.state == "own":
        session.tell(f"committed by the worker itself ({own})")
    elif outcome.state in ("earlier", "empty") and not outcome.own:
        session.tell("no changes detected, skipping commit")
        if outcome.earlier:
            count = f"{outcome.earlier} commit{'s' if outcome.earlier > 1 else ''}"
            session.tell(f"the branch {site.workspace.branch} has {count} from before, verified again")
    else:
        pinned = f"; the work is pinned as {outcome.ref}" if outcome.ref else ""
        beside = f"; {own} stay on the branch" if outcome.own else ""
        session.tell(f"not committed: {outcome.reason}{pinned}{beside}")
    for row in found.left_out[:MOST_SHOWN]:
        session.warn(f"left out of the commit: {row.path} ({row.reason})")
    for text in (*found.notes, *outcome.notes):
        if not text.startswith("hooks not run"):
            session.warn(text)
    ref = outcome.ref or f"refs/heads/{site.workspace.branch}"
    captured = found.row.into(UnitCaptured, commit=outcome.commit, ref=ref, committed=outcome.state)
    session.note(captured.joined(_since_fork(session, site, found)))


def _since_fork(session: Session, site: CaptureContext, found: Capture) -> UnitCaptured:
    """Return what the workspace changed since its branch forked, not only in this request."""
    fork = fork_of(session.repository, session.place, site.base)
    if fork == site.base:
        return UnitCaptured()
    changed = tuple(changed_paths(site.store, fork, found.tree))
    return UnitCaptured(changed=changed, files=len(changed))
