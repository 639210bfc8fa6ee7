"""Where the commands of the second seed work: its environment variables, read once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitprun.cli.console import hint, safe, say, warn
from gitprun.cli.options import Here, here
from gitprun.model.errors import PrunError

if TYPE_CHECKING:
    from gitprun.model.plan import Settings
    from gitprun.model.powers import Power


def project(ctx: click.Context) -> Here:
    """Find the repository: around ``-C``, else around ``PROJECT_DIR``, else around the current folder."""
    named = os.environ.get("PROJECT_DIR", "")
    if named and not ctx.find_root().params.get("folder"):
        try:
            folder = Path(named).resolve(strict=True)
        except OSError as problem:
            raise PrunError(f"PROJECT_DIR={named}: {problem.strerror}", "unset it, or let it name a folder") from None
        if folder != ctx.obj:
            say(f"working in {safe(str(folder))} (PROJECT_DIR)")
        ctx.obj = folder
    return here(ctx)


def log_root(start: Path, state: Path) -> Path:
    """Name the folder with ``logs/`` and ``baseline.sha``: ``MONITOR_ROOT``, else the repository's prun folder."""
    named = os.environ.get("MONITOR_ROOT", "")
    return (start / Path(named).expanduser()).absolute() if named else state


def folder_name(environment: Mapping[str, str]) -> str:
    """Give the name of the seed's folder for worktrees inside the project; its scripts call it by two names."""
    return environment.get("WORKTREE_DIR_NAME") or environment.get("WT_DIR_NAME") or ""


def workspace_root(place: Here, given: str | None, settings: Settings) -> Path:
    """Choose the folder for workspaces: the option, the environment, ``prun.toml``, else beside the repository."""
    from gitprun.workspaces.root import open_root

    configured = str((place.start / given).absolute()) if given else folder_name(os.environ) or settings.root
    return open_root(place.repository, configured)


def settle_trust(place: Here, powers: Iterable[Power], *, yes: bool) -> tuple[Power, ...]:
    """Return what of ``prun.toml`` may still not count: not approved before, by ``--yes``, nor on a terminal now."""
    import sys

    from gitprun.workspaces.trust import record_trust, show_power, untrusted

    left = untrusted(place.repository, powers)
    if not left:
        return ()
    if not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return left
        say("prun.toml says what you have not approved yet:")
        for power in left:
            say(f"  {safe(show_power(power))}")
        if not click.confirm("approve it, now and from now on?", default=False, err=True):
            return left
    record_trust(place.repository, left)
    return ()


def require_trust(place: Here, powers: Iterable[Power], *, yes: bool = False) -> None:
    """Raise Untrusted where something of ``prun.toml`` that is needed may not count."""
    from gitprun.workspaces.trust import Untrusted

    left = settle_trust(place, powers, yes=yes)
    if left:
        raise Untrusted(left)


def say_untrusted(commands: Sequence[str]) -> None:
    """Say that setup commands were not run, and how to let them."""
    say(f"setup not run: {safe('; '.join(commands))}")
    hint("it comes from prun.toml; read it, then say --yes to let it run, now and from now on")


def find_moved(place: Here) -> None:
    """Find workspaces that are not where they were, so that what follows finds them; say where they are now."""
    from gitprun.registry.move import follow_all

    for name, path in follow_all(place.repository, place.ledger, known_roots(place)):
        say(f"the workspace of {safe(name)} was moved; it is {safe(str(path))} now")


def known_roots(place: Here) -> tuple[Path, ...]:
    """Name the folders that workspaces are made in now; a broken prun.toml hides none that the ledger knows."""
    from gitprun.system.config import read_settings
    from gitprun.workspaces.root import workspaces_root

    roots = [workspaces_root(place.repository)]
    try:
        configured = folder_name(os.environ) or read_settings(place.repository.top).root
    except PrunError as problem:
        warn(safe(problem.message))
        return tuple(roots)
    return (*roots, workspaces_root(place.repository, configured)) if configured else tuple(roots)
