"""``git prun exec``: one worker in a user workspace, in the foreground; its work is committed there and verified."""

from __future__ import annotations

from gitprun.capture.preview import list_work
from gitprun.git.repo import require_seen_checkout
from gitprun.ledger.unit_events import UnitFinished
from gitprun.model.errors import PrunError
from gitprun.registry.open_workspace import alone, open_workspace_capture
from gitprun.registry.reset import recover_workspace
from gitprun.runs.attempt import make_attempts
from gitprun.runs.request import Session
from gitprun.runs.user_policy import UserWorkspacePolicy
from gitprun.runs.worker_sandbox import require_walls


def work_in(session: Session) -> int:
    """Have a worker do what is asked in a workspace, commit and verify its work, and return the exit code.

    The worker's own code when it failed; else 1 when nothing was committed or the verification is no pass; else 0.
    """
    repository, request = session.repository, session.request
    # Before anything else: a worker never runs with more rights than were asked for.
    require_walls(request.unit)
    require_seen_checkout(repository)
    request.log.parent.mkdir(parents=True, exist_ok=True)
    with alone(repository, session.place):
        session.place = recover_workspace(repository, session.ledger, session.place)
        site = open_workspace_capture(repository, session.place, settings=request.settings, anew=True)
        # What lay there before is in the same commit as the worker's; its owner should know before, not after.
        left = list_work(site)
        if left:
            name = session.place.id
            session.warn(f"{name} holds uncommitted work already (such as {left[0]}); it will be part of the commit")
        try:
            make_attempts(UserWorkspacePolicy(session, site))
        except BaseException as problem:
            reason = problem.message if isinstance(problem, PrunError) else repr(problem)
            session.note(UnitFinished(final="broken", reason=reason))
            raise
    return session.code
