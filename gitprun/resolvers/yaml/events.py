"""YAML as a full parser sees it: plain values, and what is wrong with a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from gitprun.resolvers.tree.nodes import DEPTH_LIMIT
from gitprun.resolvers.tree.rules import Path
from gitprun.resolvers.yaml.plain import Plain

if TYPE_CHECKING:
    from ruamel.yaml.events import AliasEvent, Event, ScalarEvent


class Broken(Exception):
    """The text is no YAML; ``double`` is the path of the key that stands twice if that is why."""

    def __init__(self, double: Path | None = None) -> None:
        super().__init__("no YAML")
        self.double = double


class YamlTooDeep(Exception):
    """The text is nested deeper than it may be read."""


@dataclass(slots=True)
class _Open:
    """A collection under way; a map's next key waits in ``key``."""

    is_map: bool
    path: Path
    items: list[Plain] = field(default_factory=list)
    pairs: dict[str, Plain] = field(default_factory=dict)
    key: str | None = None


def parse_plain(text: str) -> list[Plain]:
    """Return the values of each document: maps, lists and scalars as texts.

    Raises:
        Broken: a parser finds no YAML, or a map has a key twice.
        YamlTooDeep: collections are nested too deep.
    """
    documents: list[Plain] = []
    stack: list[_Open] = []
    for event in _events(text):
        name = type(event).__name__
        if name in ("MappingStartEvent", "SequenceStartEvent"):
            path = _path_below(stack)
            # The values are walked by recursion later, and a worker's file may nest as deep as it likes.
            if len(stack) > DEPTH_LIMIT:
                raise YamlTooDeep
            stack.append(_Open(name == "MappingStartEvent", path))
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            done = stack.pop()
            _put(stack, done.pairs if done.is_map else done.items, documents)
        elif name == "ScalarEvent":
            _put(stack, _scalar(cast("ScalarEvent", event)), documents)
        elif name == "AliasEvent":
            # Aliases are not followed: a few lines of them can stand for gigabytes.
            _put(stack, f"*{cast('AliasEvent', event).anchor}", documents)
    return documents


def _events(text: str) -> Iterator[Event]:
    # Inside: loading it takes longer than most merges, and only few need it.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        # Events only, in Python: no tag constructs anything, and the C library need not be installed.
        yield from YAML(typ="safe", pure=True).parse(text)
    # ValueError: an escape that stands for no character ("\U00110000").
    except (YAMLError, ValueError):
        raise Broken from None


def _scalar(event: ScalarEvent) -> str:
    """Return a scalar's text behind a letter that tells the plain from the quoted."""
    return f"{'p' if event.implicit[0] else 's'}{event.value}"


def _path_below(stack: list[_Open]) -> Path:
    if not stack:
        return ()
    top = stack[-1]
    return (*top.path, top.key) if top.is_map and top.key is not None else top.path


def _put(stack: list[_Open], value: Plain, documents: list[Plain]) -> None:
    if not stack:
        documents.append(value)
        return
    top = stack[-1]
    if not top.is_map:
        top.items.append(value)
    elif top.key is None:
        top.key = value[1:] if isinstance(value, str) else repr(value)
        if top.key == "<<":
            # A map may merge several others in, so "<<" may stand as often as it likes.
            top.key = f"<<{len(top.pairs)}"
        elif top.key in top.pairs:
            raise Broken((*top.path, top.key))
    else:
        top.pairs[top.key] = value
        top.key = None
