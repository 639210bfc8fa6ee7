"""Hooks and the merge driver: shown, installed, taken out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened
from gitprun.guards.install import GATES, GUARDS, HOOKS, USUAL

if TYPE_CHECKING:
    from gitprun.guards.install import Hook

__all__ = [
    "GATES",
    "GUARDS",
    "HOOKS",
    "USUAL",
    "DriverStatus",
    "HookStatus",
    "HooksStatus",
    "install_driver",
    "install_hooks",
    "read_driver",
    "read_hooks",
    "uninstall_driver",
    "uninstall_hooks",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookStatus:
    """One hook: ``state`` is absent, installed, edited or other (not ours); ``chained`` names yours that it calls."""

    name: str
    state: str
    what: str
    path: str
    before: str
    chained: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksStatus:
    """All hooks of ours, the folder they lie in and what is to be known of it; ``asleep``: no unit was ever at work.

    ``claude`` is what claude workers get, empty where that is not part of this installation.
    """

    folder: str
    shared: str
    hooks: tuple[HookStatus, ...]
    asleep: bool
    claude: str


def read_hooks(opened: Opened) -> HooksStatus:
    """Return which hooks are installed."""
    from gitprun.guards.install import claude_guard, read_hook, read_hooks_folder

    folder = read_hooks_folder(opened.repository)
    return HooksStatus(
        folder=str(folder.path),
        shared=folder.shared,
        hooks=tuple(_status(read_hook(folder.path, name)) for name in HOOKS),
        asleep=not (opened.repository.state / "runs").is_dir(),
        claude=claude_guard(),
    )


def _status(hook: Hook) -> HookStatus:
    return HookStatus(
        name=hook.name,
        state=hook.state,
        what=HOOKS[hook.name],
        path=str(hook.path),
        before=hook.before.name,
        chained=hook.chained,
    )


def install_hooks(
    opened: Opened,
    names: Sequence[str],
    *,
    force: bool = False,
    agreed: Callable[[HooksStatus, tuple[HookStatus, ...]], bool] = lambda folder, missing: True,
) -> tuple[tuple[HookStatus, bool], ...] | None:
    """Install hooks where git looks for them; return each as it was before, and whether it was missing.

    ``agreed`` is asked before anything is written; None where it says no. Raises OperationRefused where one cannot be.
    """
    from gitprun.guards.install import install_hook, read_hook, read_hooks_folder, require_installable

    folder = read_hooks_folder(opened.repository)
    wanted = [read_hook(folder.path, name) for name in names]
    missing = [hook for hook in wanted if hook.state != "installed"]
    for hook in missing:
        require_installable(folder, hook, force=force)
    before = tuple((_status(hook), hook in missing) for hook in wanted)
    if missing and not agreed(read_hooks(opened), tuple(_status(hook) for hook in missing)):
        return None
    # The folder tells a hook that this repository is prun's; without it nothing is looked at.
    opened.repository.state.mkdir(exist_ok=True)
    for hook in missing:
        install_hook(hook)
    return before


def uninstall_hooks(
    opened: Opened, *, force: bool = False, removed: Callable[[HookStatus], None] = lambda hook: None
) -> tuple[HookStatus, ...]:
    """Remove our hooks and give the user's back; return those that are chained and not ours any more."""
    from gitprun.guards.install import read_hook, read_hooks_folder, uninstall_hook

    folder = read_hooks_folder(opened.repository)
    found = [read_hook(folder.path, name) for name in HOOKS]
    ours = [hook for hook in found if hook.state in ("installed", "edited")]
    for hook in ours:
        uninstall_hook(hook, force=force)
        # One after the other: where a later one refuses, what was done until then is known.
        removed(_status(hook))
    return tuple(_status(hook) for hook in found if hook.chained and hook not in ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverStatus:
    """The merge driver: its state, and what would be written into which files.

    ``uncarried`` are files whose lines about merging do not count where the driver's do.
    """

    state: str
    config: Path
    settings: tuple[tuple[str, str], ...]
    attributes: Path
    lines: tuple[str, ...]
    uncarried: tuple[str, ...]


def read_driver(opened: Opened) -> DriverStatus:
    """Return what the driver is here, installed or not."""
    from gitprun.guards.driver import read_driver as read

    found = read(opened.repository)
    return DriverStatus(
        state=found.state,
        config=opened.repository.common / "config",
        settings=tuple(found.settings),
        attributes=found.attributes,
        lines=tuple(found.block.decode("utf-8", "surrogateescape").splitlines()),
        uncarried=tuple(map(str, found.uncarried)),
    )


def has_driver(opened: Opened) -> bool:
    """Check whether the driver is there, whatever became of it."""
    from gitprun.guards.driver import probe_driver

    return probe_driver(opened.repository)


def install_driver(opened: Opened, *, force: bool = False) -> None:
    """Write the driver into git's configuration and attributes; raises OperationRefused where somebody edited it."""
    from gitprun.guards.driver import install_driver as install
    from gitprun.guards.driver import read_driver as read

    install(opened.repository, read(opened.repository), force=force)


def uninstall_driver(opened: Opened) -> bool:
    """Take the driver out; return whether there was one."""
    from gitprun.guards.driver import probe_driver
    from gitprun.guards.driver import read_driver as read
    from gitprun.guards.driver import uninstall_driver as uninstall

    return probe_driver(opened.repository) and uninstall(opened.repository, read(opened.repository))


def sleeping_gates(status: HooksStatus, names: Iterable[str]) -> tuple[str, ...]:
    """Return the gates among these hooks that look at nothing yet."""
    return tuple(name for name in names if name in GATES) if status.asleep else ()
