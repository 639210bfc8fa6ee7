"""Several things named in one line: the first few of them, and how many more there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

_T = TypeVar("_T")
# Three names are about what fits into one line beside what is said of them.
MOST_NAMED = 3


def listed(
    names: Sequence[_T], most: int | None = MOST_NAMED, *, between: str = ", ", show: Callable[[_T], str] = str
) -> str:
    """Return the first few things as they are shown (``most``: all of them if None), and how many more there are."""
    shown = [show(one) for one in names[:most]]
    more = len(names) - len(shown)
    return between.join(shown) + (f" and {more} more" if more else "")


def join_few(words: Iterable[str]) -> str:
    """Join words with commas, the first few of them."""
    said = list(words)
    more = [f"{len(said) - MOST_NAMED} more"] if len(said) > MOST_NAMED else []
    return ", ".join([*said[:MOST_NAMED], *more])
