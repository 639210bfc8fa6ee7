"""Ignored files that no tool makes again, as values: those found in a workspace, those kept of one that went."""

from __future__ import annotations

from dataclasses import dataclass

# So many bytes and files of one workspace are kept without asking: settings, notes and small databases, no data sets.
MOST, MOST_FILES = 1_000_000, 1_000
# One line of a refusal.
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Precious:
    """Ignored files that no tool makes again: paths in their workspace, their bytes; not ``whole``: there are more."""

    paths: tuple[str, ...] = ()
    size: int = 0
    whole: bool = True

    @property
    def is_small(self) -> bool:
        """Check whether they are few enough to be kept without asking."""
        return self.size <= MOST and len(self.paths) <= MOST_FILES

    @property
    def text(self) -> str:
        """Return the first of them."""
        more = len(self.paths) - SHOWN
        rest = f" and {more}{'' if self.whole else ' or'} more" if more > 0 else ""
        return f"{', '.join(self.paths[:SHOWN])}{rest}"


NOTHING = Precious()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFiles:
    """Files that were kept of one workspace: whose they were, since which day, where they lie."""

    name: str
    day: str
    folder: str
    paths: tuple[str, ...]
    size: int
