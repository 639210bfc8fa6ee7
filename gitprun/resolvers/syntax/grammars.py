"""The door to the grammars: wheels that may or may not be installed."""

from __future__ import annotations

import warnings
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from gitprun.model.budget import unbroken
from gitprun.resolvers.syntax.rows import Grammar

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

_CHUNK = 1 << 16


def load_language(row: Grammar) -> Language | None:
    """Load the grammar of a row; None when its wheel is not installed or does not fit."""
    return _load(row.wheel, row.maker)


def has_grammar(row: Grammar) -> bool:
    """Check whether the grammar of a row is installed and fits."""
    return load_language(row) is not None


@lru_cache
def _load(wheel: str, maker: str) -> Language | None:
    try:
        from tree_sitter import Language

        grammar = getattr(import_module(wheel), maker)()
        if not isinstance(grammar, int):
            return Language(grammar)
        with warnings.catch_warnings():
            # Older wheels hand over a number where a capsule is due.
            warnings.simplefilter("ignore", DeprecationWarning)
            return Language(grammar)
    except (ImportError, AttributeError, ValueError):
        return None


# A merged text is parsed for the proof, and again for its faults.
@lru_cache(maxsize=4)
def parse(language: Language, text: bytes) -> Tree:
    """Parse one version of a file; what does not fit the grammar stands in error nodes.

    Some grammars take minutes over texts made for it, so the parser is told when time is up.
    """
    from tree_sitter import Parser

    def part(at: int, _: object) -> bytes:
        return text[at : at + _CHUNK]

    with unbroken() as budget:
        parser = Parser(language)
        first = parser.parse(part, progress_callback=lambda at, has_error: budget.is_over())
        # Once more on top of that, which takes no time: nodes of the first tree would read their text through ``part``.
        return parser.parse(text, first)
