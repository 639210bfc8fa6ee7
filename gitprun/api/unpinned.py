"""Work that no ref pins any more: told wherever somebody looks at it, with what pins it again."""

from __future__ import annotations

from collections.abc import Sequence

from gitprun.api.opened import Opened
from gitprun.ledger.events import Event, RunState
from gitprun.model.lists import listed

# Enough to know which run it is about; the command that is told names all.
MOST_UNPINNED = 5


def warn_unpinned(opened: Opened, runs: Sequence[RunState], events: Sequence[Event]) -> None:
    """Tell of units whose refs are gone, with the command that pins the first of them again."""
    from gitprun.recovery.catalog import find_unpinned, pruning_refspecs

    found = find_unpinned(opened.repository, runs, events)
    if not found:
        return
    names = listed(found, MOST_UNPINNED, show=lambda one: one.name)
    opened.warn(f"no ref pins the work of {names} any more: somebody, or a fetch that prunes, deleted it")
    there = [one for one in found if one.there]
    if there:
        opened.hint(f"{there[0].command} pins it again; git prun ledger verify names all")
    else:
        opened.hint("its objects are gone too: another clone or a backup may have them")
    for remote, _ in pruning_refspecs(opened.repository.git):
        opened.hint(f"git config --add remote.{remote}.fetch '^refs/prun/*' keeps fetches from {remote} off")
