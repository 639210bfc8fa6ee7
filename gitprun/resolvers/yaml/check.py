"""What is wrong with a YAML text."""

from __future__ import annotations

from gitprun.resolvers.entries import show_key
from gitprun.resolvers.text import BOM
from gitprun.resolvers.tree import TextUnreadable
from gitprun.resolvers.yaml.events import Broken, YamlTooDeep, parse_plain
from gitprun.resolvers.yaml.plain import double_keys
from gitprun.resolvers.yaml.reader import read_yaml

# What the quick reader does not understand goes to a full parser, which is slow.
# 40,000 characters take it a quarter of a second (see PARSED_IN_ALL), and an audit may have many files.
PARSER_LIMIT = 40_000


def find_yaml_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Check whether a text is no YAML, and which keys stand twice."""
    try:
        decoded = text.removeprefix(BOM).decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return ()
    # The reader wants every line ended; a file without its last newline is in order all the same.
    if decoded and not decoded.endswith("\n"):
        decoded += "\n"
    try:
        return tuple(_double(path) for path in double_keys(read_yaml(decoded)))
    # The quick reader knows plain YAML only: that it gives up says nothing about the file.
    except TextUnreadable:
        return _parse_faults(decoded)


def _parse_faults(text: str) -> tuple[str, ...]:
    if len(text) > PARSER_LIMIT:
        return ()
    try:
        parse_plain(text)
    except Broken as error:
        return (_double(error.double),) if error.double else ("the file is no YAML",)
    # Valid, perhaps; what was not judged is no fault.
    except YamlTooDeep:
        return ()
    return ()


def _double(path: tuple[str, ...]) -> str:
    return f"duplicate key {show_key(path)}"
