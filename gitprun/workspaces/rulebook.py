"""The ignore rules and attributes all workspaces share; while a change of them is open, what they said before counts.

A worker that can write ``info/exclude`` or ``info/attributes`` of the user's repository would else decide which files
of others are work. What it added is drift: put back or accepted by the user, and applied by no run until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.ledger.drift_record import open_drifts
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import OperationRefused
from gitprun.system.content_store import ContentStore
from gitprun.system.files import read_plain

EXCLUDE, ATTRIBUTES = "info/exclude", "info/attributes"
# Where contents are kept, beside what was written down of a drift.
STORE = "contents"
# Ignore and attribute files; a few kilobytes as a rule.
_MOST = 16 << 20
# A ledger is compacted long before; one that is larger is read by nobody.
_MOST_LEDGER = 1 << 30


@dataclass(frozen=True, slots=True)
class SharedRules:
    """The shared rules as the user made them; ``notes`` say which of them a worker may have changed since."""

    exclude: bytes
    attributes: bytes
    notes: tuple[str, ...] = ()


def read_rules(repository: Repository) -> SharedRules:
    """Read the rules that count for every workspace."""
    before = _before(repository)
    notes = tuple(
        f"{name} changed while {who} ran: what it said before counts until you decide (git prun undo --drift {who})"
        for name, (_, who) in before.items()
    )
    found = {name: _live(repository, name) for name in (EXCLUDE, ATTRIBUTES)}
    found |= {name: content for name, (content, _) in before.items()}
    return SharedRules(found[EXCLUDE], found[ATTRIBUTES], notes)


def require_own_attributes(repository: Repository) -> None:
    """Refuse to merge by attributes a worker may have changed: they choose drivers and what counts as text."""
    before = _before(repository).get(ATTRIBUTES)
    if before is not None and before[0] != _live(repository, ATTRIBUTES):
        raise OperationRefused(
            f"{ATTRIBUTES} of your repository changed while {before[1]} ran, and would decide how files are merged",
            f"git prun undo --drift {before[1]} puts it back, with --accept it stays",
        )


def _live(repository: Repository, name: str) -> bytes:
    return read_plain(repository.common / name, _MOST) or b""


def _before(repository: Repository) -> Mapping[str, tuple[bytes, str]]:
    """Return what files said before somebody changed them, with the unit to ask about, as long as that is open."""
    ledger = Ledger(repository.state)
    # As a rule there is none, and a long ledger need not be taken apart.
    if b'"drift.found"' not in (read_plain(ledger.path, _MOST_LEDGER) or b""):
        return {}
    found: dict[str, tuple[bytes, str]] = {}
    for drift in open_drifts(ledger.read().events):
        for one in drift.open:
            thing = one.thing
            # The first open change of each counts: what later ones changed was no longer the user's.
            if thing.kind == "info" and thing.name in (EXCLUDE, ATTRIBUTES) and thing.name not in found:
                digest = thing.old.partition(" ")[2]
                content = ContentStore(Path(drift.place).parent / STORE).content(digest) if digest else None
                found[thing.name] = (content or b"", drift.units[0].removeprefix("named/"))
    return found
