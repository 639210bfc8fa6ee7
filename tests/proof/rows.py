"""One row of the table: what was tried how often, what must hold, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# quick: seconds, to see that it works; ci: the counts that must hold; full: outside of CI.
Size = Literal["quick", "ci", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``faults`` are in plain words; without any the row holds."""

    trial: str
    must: str
    found: str
    faults: tuple[str, ...] = ()


# Makes its own repositories in an empty folder.
Trial = Callable[[Path, Size], Row]
