"""What a check is run in: its environment, what was kept out of it, and where it may write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.model.environment import strip_credentials, withheld
from gitprun.model.errors import PrunError
from gitprun.model.units import DEFAULT_OUTPUT_MAX, UNCONFINED, was_confined
from gitprun.supervisor.process import DEFAULT_GRACE
from gitprun.supervisor.sandbox import Row, Sandbox, SandboxKind, find_sandbox, make_sandbox, open_sandbox
from gitprun.system.files import folder_identity
from gitprun.verify.back_references import describe_back_references, describe_obstacle
from gitprun.verify.installations import TEMPORARIES
from gitprun.verify.view import CheckoutView, Shown, obstacle, shown
from gitprun.workspaces.scratch import drop_temporary, make_temporary

if TYPE_CHECKING:
    from gitprun.model.units import VerifySandbox

UNASKED_FOR = Sandbox(said="")
# The folder of a view lies beside the one for temporary files, whose name is one of a unit: none holds this.
BESIDE = "~view"
ASKED_NOT_TO = '[run] verify_sandbox = "none"'
# Caches tools must write to work at all, kept by them where a confined check may not. Those that hold what was
# installed (browsers, models, toolchains) stay where they are, to be read.
CACHES = {
    "CCACHE_DIR": "ccache",
    "GOCACHE": "go-build",
    "GOLANGCI_LINT_CACHE": "golangci-lint",
    "MPLCONFIGDIR": "matplotlib",
    "NUMBA_CACHE_DIR": "numba",
    "PIP_CACHE_DIR": "pip",
    "PRE_COMMIT_HOME": "pre-commit",
    "UV_CACHE_DIR": "uv",
    "YARN_CACHE_FOLDER": "yarn",
    "npm_config_cache": "npm",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfinementRequest:
    """Whether checks are to be confined; ``required``: else they do not run at all; ``why``: what speaks against it.

    Without ``own_files`` they may not even write where they run, as the worker might not.
    """

    confined: bool
    required: bool = False
    why: str = ""
    own_files: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a check is run in; ``withheld`` are the names of the variables that were left out of ``env``.

    ``obstacle`` says why nothing may run here: the walls that were asked for are not to be had, or what would be
    checked is the user's checkout. ``shown`` is what the checkout's path shows (None: the checkout), ``notes`` what
    the user should know where it had to show anything else and cannot. ``grace`` and
    ``output_max`` are what the settings say about workers, and hold for checks too.
    """

    env: Mapping[str, str]
    withheld: frozenset[str] = field(default_factory=frozenset)
    sandbox: Sandbox = UNASKED_FOR
    shown: Shown | None = None
    notes: tuple[str, ...] = ()
    obstacle: str = ""
    grace: float = DEFAULT_GRACE
    output_max: int = DEFAULT_OUTPUT_MAX


def wish_for_worker(
    executor: str, sandbox: str, asked: VerifySandbox | None, *, walled: bool = False
) -> ConfinementRequest:
    """Return how the work of one worker is to be checked: as it was confined itself, unless something else is asked."""
    if asked == "none":
        return ConfinementRequest(confined=False, why=ASKED_NOT_TO)
    if asked == "workspace-write":
        return ConfinementRequest(confined=True, required=True)
    if was_confined(executor, sandbox, walled):
        return ConfinementRequest(confined=True, own_files=sandbox != "read-only")
    return ConfinementRequest(confined=False, why=UNCONFINED)


def wish_for_landing(confined: bool, asked: VerifySandbox | None) -> ConfinementRequest:
    """Return how a merged tree is to be checked; ``confined`` tells whether any of its workers was.

    One is enough: what it wrote would else run with more rights than it had itself.
    """
    if asked == "none":
        return ConfinementRequest(confined=False, why=ASKED_NOT_TO)
    if asked == "workspace-write":
        return ConfinementRequest(confined=True, required=True)
    if confined:
        return ConfinementRequest(confined=True)
    return ConfinementRequest(confined=False, why="nothing in it came from a confined worker")


@contextmanager
def surroundings(
    wish: ConfinementRequest,
    workspace: Path,
    temporary: Path,
    own: Mapping[str, str],
    extra: Iterable[tuple[str, str]] = (),
    *,
    view: CheckoutView | None = None,
) -> Iterator[Surroundings]:
    """Make what the checks of a workspace run in; ``temporary`` is theirs while the block runs, and removed then.

    ``own`` are prun's variables, ``extra`` those the user gives a worker: what is a credential among them is left out.
    ``view`` names the checkout whose path shows the workspace meanwhile (None: it shows the checkout).
    """
    given = {**os.environ, **dict(extra)}
    env, names = strip_credentials(given) | dict(own), withheld(given)
    if folder_identity(workspace) is None and (wish.confined or view is not None):
        # A link would lead the walls round something else.
        raise PrunError(f"{workspace} is no folder any more")
    walls = find_sandbox() if wish.confined else None
    confined = walls is not None and walls.kind is not None
    # Asked for and not to be had: then nothing runs, rather than with more rights.
    hindered = f"it cannot be confined: {walls.reason}" if walls and not confined and wish.required else ""
    notes: tuple[str, ...] = ()
    if view is not None and not hindered and (why := obstacle(view, env)):
        hindered, notes, view = describe_obstacle(view, env, why), describe_back_references(view, env), None
    with ExitStack() as stack:
        inside: list[Path] = []
        if confined and not hindered:
            # What one that was killed left is none of ours.
            drop_temporary(temporary)
            make_temporary(temporary)
            stack.callback(drop_temporary, temporary)
            inside.append(temporary)
            env |= redirected(temporary)
        seen = None
        if view is not None and not hindered:
            beside = temporary.with_name(f"{temporary.name}{BESIDE}")
            seen = stack.enter_context(
                shown(view, workspace, beside, env, inside=inside, writable=wish.own_files or not confined)
            )
        sandbox = _sandbox(wish, walls, workspace, temporary, seen.rows if seen else ())
        yield Surroundings(env=env, withheld=names, sandbox=sandbox, shown=seen, notes=notes, obstacle=hindered)


def redirected(temporary: Path) -> dict[str, str]:
    """Return the variables that send temporary files and caches of tools to a folder."""
    caches = {name: str(temporary / "caches" / folder) for name, folder in CACHES.items()}
    return dict.fromkeys(TEMPORARIES, str(temporary)) | caches


def _sandbox(
    wish: ConfinementRequest, walls: SandboxKind | None, workspace: Path, temporary: Path, rows: Sequence[Row]
) -> Sandbox:
    if walls is None or walls.kind is None:
        return open_sandbox(f"none: {walls.reason if walls else wish.why}", rows)
    folders = [workspace, temporary] if wish.own_files else [temporary]
    return make_sandbox(walls, folders, temporary=temporary, rows=rows)
