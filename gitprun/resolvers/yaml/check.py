"""What is wrong with a YAML text."""

from __future__ import annotations

from gitprun.resolvers.entries import show_key
from gitprun.resolvers.text import BOM
from gitprun.resolvers.tree import TextUnreadable
from gitprun.resolvers.yaml.events import Broken, YamlTooDeep, parse_plain
from gitprun.resolvers.yaml.plain import double_keys
from gitprun.resolvers.yaml.reader import read_yaml

# What the quick reader does not understand goes to a full parser, which is slow.
PARSER_LIMIT = 40_000


def find_yaml_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Check whether a text is no YAML, and which keys stand twice."""
    try:
        decoded = text.removeprefix(BOM).decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return ()
    if decoded and not decoded.endswith("\n"):
        decoded += "\n"
    try:
        return tuple(_double(path) for path in double_keys(read_yaml(decoded)))
    except TextUnreadable:
        return _parse_faults(decoded)


def _parse_faults(text: str) -> tuple[str, ...]:
    if len(text) > PARSER_LIMIT:
        return ()
    try:
        parse_plain(text)
    except Broken as error:
        return (_double(error.double),) if error.double else ("the file is no YAML",)
    except YamlTooDeep:
        return ()
    return ()


def _double(path: tuple[str, ...]) -> str:
    return f"duplicate key {show_key(path)}"
