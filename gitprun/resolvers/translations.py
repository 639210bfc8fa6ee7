"""Keys of translations: which a file of messages has, and which the lines of a program ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

# By their folder such files are known, whatever reads them.
_FOLDER: Final = re.compile(
    r"(?:^|/)(?:locales?|i18n|l10n|langs?|translations?|messages)/(?:.*/)?[^/]+$", re.IGNORECASE
)
_ENDINGS: Final = (".json", ".yml", ".yaml", ".properties")
_YAML_KEY: Final = re.compile(r"( *)(?:([\w.-]+)|['\"]([\w. -]+)['\"])\s*:(?:\s|$)")
_PROPERTY: Final = re.compile(r"\s*([\w.-]+)\s*[=:]")
# A key of one word may be any word; one with a step in it was made up.
_ASKED: Final = re.compile(r"['\"`]([A-Za-z][\w-]*(?:[.:][\w-]+)+)['\"`]")
# The language at the top of a file of Rails, or of any that holds several.
_LANGUAGE: Final = re.compile(r"[a-z]{2}(?:[-_][A-Za-z]{2,4})?")


def holds_translations(path: str) -> bool:
    """Check whether a path is that of a file of messages."""
    return path.endswith(_ENDINGS) and _FOLDER.search(path) is not None


def translated_keys(path: str, text: bytes) -> frozenset[str]:
    """Return the keys of a file of messages, those of groups joined by dots; nothing where it cannot be read."""
    plain = text.decode("utf-8", "replace")
    if path.endswith(".json"):
        try:
            found = frozenset(_flat(json.loads(plain), ()))
        except (ValueError, RecursionError):
            return frozenset()
    elif path.endswith(".properties"):
        found = frozenset(match[1] for line in plain.split("\n") if (match := _PROPERTY.match(line)))
    else:
        found = frozenset(_yaml_keys(plain))
    return frozenset(_shortened(key) for key in found)


def asked_keys(text: bytes) -> frozenset[str]:
    """Return the texts of lines that could be keys: of several words with steps between them."""
    return frozenset(key.replace(":", ".") for key in _ASKED.findall(text.decode("utf-8", "replace")))


def _flat(value: object, above: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, (*above, str(key)))
    elif above:
        yield ".".join(above)


def _yaml_keys(text: str) -> Iterator[str]:
    above: list[tuple[int, str]] = []
    for line in text.split("\n"):
        found = _YAML_KEY.match(line)
        if found is None:
            continue
        while above and above[-1][0] >= len(found[1]):
            above.pop()
        above.append((len(found[1]), found[2] or found[3]))
        # A key without a value opens a group, and is none that anybody asks for.
        if line[found.end() :].strip():
            yield ".".join(key for _, key in above)


def _shortened(key: str) -> str:
    first, step, rest = key.partition(".")
    return rest if step and _LANGUAGE.fullmatch(first) else key
