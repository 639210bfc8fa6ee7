"""TOML as a strict reader sees it: its values, and what is wrong with a text."""

from __future__ import annotations

import re

from gitprun.resolvers.base import SIZE_LIMIT, quote
from gitprun.resolvers.text import BOM

# A strict reader calls itself for every bracket that is open.
BRACKET_LIMIT = 80

# Brackets in strings count, too: a file is then called deep at worst, and nothing is judged.
_BRACKET = re.compile(r"[\[\]{}]")


def is_deep(text: str) -> bool:
    """Check whether brackets are nested deeper than may be read."""
    opened = 0
    for mark in _BRACKET.findall(text):
        opened = opened + 1 if mark in "[{" else max(opened - 1, 0)
        if opened > BRACKET_LIMIT:
            return True
    return False


def load(text: str) -> dict[str, object] | None:
    """Read the values of a text; None when it is no TOML."""
    # Inside: most merges have no TOML, and each git merge starts the driver anew.
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError:  # what it raises for bad TOML, and for dates that do not exist
        return None


def decode_one(text: bytes, limit: int = SIZE_LIMIT) -> str | None:
    """Decode one version of a file; None when it cannot be judged."""
    if len(text) > limit:
        return None
    try:
        decoded = text.removeprefix(BOM).decode()
    except UnicodeDecodeError:
        return None
    return None if is_deep(decoded) else decoded


def find_toml_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Check whether a text is no TOML, and which key stands twice if that is why."""
    decoded = decode_one(text)
    if decoded is None or load(decoded) is not None:
        return ()
    # tomllib says that something is twice and not what; the name is looked for only where a text has failed.
    from gitprun.resolvers.toml.doubles import find_double_key

    double = find_double_key(decoded)
    return (f"the file is no TOML: duplicate key {quote(double.encode())}" if double else "the file is no TOML",)
