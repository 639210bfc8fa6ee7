"""Say that work is pinned no more, and what would make it so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gitprun.cli.console import hint, safe, warn
from gitprun.ledger.events import Event, RunState

if TYPE_CHECKING:
    from gitprun.git.repo import Repository

SHOWN = 5


def warn_unpinned(repository: Repository, runs: Iterable[RunState], events: Sequence[Event]) -> None:
    """Name the units whose refs are gone, and the command that pins the first of them again."""
    from gitprun.recovery.catalog import find_unpinned

    found = find_unpinned(repository, runs, events)
    if not found:
        return
    names = [one.name for one in found[:SHOWN]]
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    warn(f"no ref pins the work of {', '.join(names)}{more} any more: somebody, or a fetch that prunes, deleted it")
    there = [one for one in found if one.there]
    if there:
        hint(f"{there[0].command} pins it again; git prun ledger verify names all")
    else:
        hint("its objects are gone too: another clone or a backup may have them")
    _advise(repository)


def warn_pruning(repository: Repository) -> None:
    """Say which fetch would delete what pins work."""
    from gitprun.recovery.catalog import pruning_refspecs

    for remote, spec in pruning_refspecs(repository.git):
        warn(f"{safe(remote)} is fetched with {safe(spec)}: a fetch that prunes deletes refs/prun, which pins all work")
        hint(f"git config --add remote.{safe(remote)}.fetch '^refs/prun/*' keeps it out of that")


def _advise(repository: Repository) -> None:
    from gitprun.recovery.catalog import pruning_refspecs

    for remote, _ in pruning_refspecs(repository.git):
        hint(f"git config --add remote.{safe(remote)}.fetch '^refs/prun/*' keeps fetches from {safe(remote)} off")
