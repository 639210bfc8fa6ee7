"""The sandbox of a worker that asks for one and has none of its own: that of checks, with its state let in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gitprun.executors.catalog import require_executor
from gitprun.model.errors import PrunError
from gitprun.model.units import Unit
from gitprun.supervisor.sandbox import Sandbox, find_sandbox, make_sandbox
from gitprun.system.files import folder_identity
from gitprun.verify.surroundings import redirected
from gitprun.workspaces.base import OUTBOX

OPEN = Sandbox(said="")


def require_walls(unit: Unit) -> None:
    """Raise PrunError where a unit asks for a sandbox that cannot be had: it does not run with more rights instead."""
    if unit.walled and (walls := find_sandbox()).kind is None:
        raise PrunError(
            f'sandbox = "{unit.sandbox}" cannot be had for {unit.executor}: {walls.reason}',
            'sandbox = "danger-full-access" lets it do what you can; a container of yours can hold it instead',
        )


def wall_worker(
    unit: Unit, workspace: Path, temporary: Path | None, env: Mapping[str, str]
) -> tuple[Sandbox, dict[str, str]]:
    """Return the walls of one worker, and what its environment has to say: where temporary files and caches go.

    It writes in its workspace (``read-only``: where its result goes), in ``temporary``, and in the state of its
    executor that is there. ``env`` is its environment.
    """
    if not unit.walled:
        return OPEN, {}
    # Within walls /tmp is shut or another one, so a worker there always has a folder of its own for such files.
    assert temporary is not None
    require_walls(unit)
    state = map(Path, require_executor(unit.executor).state(env))
    own = workspace if unit.sandbox == "workspace-write" else workspace / OUTBOX
    # Where somebody put a link it would let in what that leads to.
    inner = [own] if folder_identity(own) is not None else []
    write = [*inner, temporary, *(path for path in state if path.is_absolute() and path.exists())]
    return make_sandbox(find_sandbox(), write, temporary=temporary), redirected(temporary)
