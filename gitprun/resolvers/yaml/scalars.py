"""Scalars of YAML: where they end, and what they mean."""

from __future__ import annotations

import re

from gitprun.resolvers.tree import TextUnreadable

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"' r"|'(?:[^']|'')*'", re.DOTALL)
BLOCK_HEADER = re.compile(r"[|>](?:[+-]?[1-9]?|[1-9][+-])[ \t]*(?: #[^\n]*)?$")
ALIAS = re.compile(r"\*[\w.-]+")
PROPERTIES = re.compile(
    r"(?:&[\w.-]+(?:[ \t]+!(?:<[^>\s]+>|!?[\w:/.+-]*))?|!(?:<[^>\s]+>|!?[\w:/.+-]*)(?:[ \t]+&[\w.-]+)?)(?=[ \t]|$)"
)
# Only where a node may begin: the "&" in "a & b" and the "*" in "*.py" name nothing.
ANCHOR = re.compile(r"(?:(?<=[\s,\[{:-])|^)([&*])([A-Za-z0-9_][\w.-]*)", re.MULTILINE)

_COMMENT = re.compile(r"[ \t]+#")
_COLON = re.compile(r":(?:[ \t]|$)")
# What YAML 1.1 or 1.2 reads as something else than text, the words of 1.1 included: "no" is False to many.
_NO_STRING = re.compile(r"~|null|true|false|yes|no|on|off|y|n|[-+]?[.0-9].*|[-+]?\.(?:inf|nan)|<<|=", re.IGNORECASE)
_BAD_START = re.compile(r"[,\]}\[{%@`#&*!|>'\"]|[-?:](?:\s|$)")


def canon(text: str) -> str | None:
    """Reduce a scalar to what it means; None when that takes more than taking quotes off."""
    # Folded lines lose or keep their breaks by rules that depend on the style.
    if "\n" in text:
        return None
    if text[:1] in "'\"" and len(text) > 1:
        inner = text[1:-1]
        # Only double quotes know escapes.
        if "\\" in inner and text[0] == '"':
            return None
        return "s" + (inner.replace("''", "'") if text[0] == "'" else inner)
    if not text or text[0] in "&!*|>" or _NO_STRING.fullmatch(text):
        return "p" + text
    return "s" + text


def split_comment(text: str) -> tuple[str, str]:
    """Split a plain scalar's line into the scalar and what follows it: blank space and a comment."""
    at = _COMMENT.search(text) if "#" in text else None
    body = text[: at.start()] if at else text
    kept = body.rstrip(" \t")
    return kept, text[len(kept) :]


def require_plain(text: str, *, first: bool) -> None:
    """Check that a line may belong to a plain scalar."""
    # ": " inside would make it a key to every parser.
    if (first and _BAD_START.match(text)) or (":" in text and _COLON.search(text)):
        raise TextUnreadable(f"no plain scalar: {text[:40]}")


def quoted_end(text: str, at: int) -> int:
    """Find the end of a quoted scalar."""
    found = QUOTED.match(text, at)
    if not found:
        raise TextUnreadable("a quote is not closed")
    return found.end()
