"""The door to the grammars: wheels that may or may not be installed."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from gitprun.model.budget import unbroken
from gitprun.model.lists import listed
from gitprun.resolvers.syntax.needs import missing_names
from gitprun.resolvers.syntax.rows import Grammar

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

# Between two parts the parser asks whether time is up: often enough to end soon, seldom enough to cost nothing.
_CHUNK = 1 << 16


def load_language(row: Grammar) -> Language | None:
    """Return the grammar of a row; None when its wheel is not installed or does not fit."""
    language = _open(row)
    return None if isinstance(language, str) else language


def has_grammar(row: Grammar) -> bool:
    """Check whether the grammar of a row is installed and fits."""
    return not why_no_grammar(row)


def why_no_grammar(row: Grammar) -> str:
    """Return why there is no grammar for a row, as one line with what is installed; empty when there is one."""
    language = _open(row)
    return language if isinstance(language, str) else ""


# One entry a row, of which there are about thirty; what is installed does not change under a running program.
@cache
def _open(row: Grammar) -> Language | str:
    """Load the grammar of a row and check it for the names of the row; a text says why it cannot be used."""
    try:
        from tree_sitter import Language

        grammar = getattr(import_module(row.wheel), row.maker)()
        with warnings.catch_warnings() if isinstance(grammar, int) else nullcontext():
            if isinstance(grammar, int):
                # Older wheels hand over a number where a capsule is due.
                warnings.simplefilter("ignore", DeprecationWarning)
            language = Language(grammar)
    except ImportError:
        return f"the grammar of {row.name} is not installed"
    # A wheel of another age: without that function, or made for another version of tree-sitter.
    except (AttributeError, ValueError) as error:
        return _misfit(row, str(error))
    missing = missing_names(row, language)
    if not missing:
        return language
    return _misfit(row, f"it has no {listed(missing, 1)}")


def _misfit(row: Grammar, why: str) -> str:
    from importlib import metadata

    name = row.wheel.replace("_", "-")
    try:
        name += f" {metadata.version(name)}"
    # A wheel may be called otherwise than its module; the module's name must do then.
    except metadata.PackageNotFoundError:
        pass
    return f"the grammar of {row.name} does not fit: {name}: {why}"


# A merged text is parsed for the proof, and again for its faults. Four: three versions and their merge.
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
