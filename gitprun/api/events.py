"""What is published of the ledger: its events, as programs read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitprun.api.schema import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEvent:
    """One event of the ledger: ``t`` in seconds since 1970, ``kind`` is noun.verb, ``facts`` depend on the kind."""

    t: float
    kind: str
    run: str
    unit: str
    facts: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEvent:
    """One event of one unit, as ``git prun log --events`` writes it: the facts stand beside these keys."""

    t: float
    kind: str
