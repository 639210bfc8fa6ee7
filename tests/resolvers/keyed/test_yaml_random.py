"""Random edits of YAML files: nothing is lost or comes back, and the quick reader sees what a full parser sees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.tree import EntryGroup, TextUnreadable, Value, render
from gitprun.resolvers.yaml.events import Broken, parse_plain
from gitprun.resolvers.yaml.plain import double_keys, is_comment
from gitprun.resolvers.yaml.reader import read_yaml
from gitprun.resolvers.yaml.resolve import merge_yaml
from tests.support.random_trees import CONTRADICTION, Versions, chance, merge_models, unordered, versions


def scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true"
    if isinstance(value, int) or value.replace(" ", "").isalpha():
        return str(value)
    return "'" + value.replace("'", "''") + "'" if '"' in value else f'"{value}"'


def inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {inline(below)}" for key, below in value.items()) + "}"
    return "[" + ", ".join(map(inline, value)) + "]" if isinstance(value, list) else scalar(value)


def written(value: Any, style: int, col: int = 0, path: tuple[str, ...] = ()) -> str:
    indent, text = " " * col, ""
    if isinstance(value, list):
        for item in value:
            below = written(item, style, col + 2, path)[col + 2 :] if isinstance(item, dict) else scalar(item) + "\n"
            text += f"{indent}- {below}"
        return text
    for key, below in value.items():
        here = (*path, key)
        if text and chance(style, "note", here) < 0.15:
            text += f"{indent}# about {key}\n"
        if not col and text and chance(style, "gap", here) < 0.3:
            text += "\n"
        if not isinstance(below, dict | list):
            text += f"{indent}{key}: {scalar(below)}" + ("  # note\n" if chance(style, "tail", here) < 0.1 else "\n")
        elif below and chance(style, "block", here) < 0.75:
            deeper = isinstance(below, dict) or chance(style, "indent") < 0.5
            text += f"{indent}{key}:\n" + written(below, style, col + 2 * deeper, here)
        else:
            text += f"{indent}{key}: {inline(below)}\n"
    return text


def loaded(text: bytes) -> Any:
    return unordered(YAML(typ="safe", pure=True).load(text.decode()))


def as_conflict(drawn: Versions) -> FileConflict:
    texts = [written(value, drawn.style).encode() for value in (drawn.base, drawn.main, drawn.unit)]
    return FileConflict("settings.yaml", *texts)


@given(versions())
def test_what_is_merged_is_what_both_sides_say(drawn: Versions) -> None:
    answer = merge_yaml(as_conflict(drawn))
    due = merge_models(drawn.base, drawn.main, drawn.unit)
    if isinstance(answer, Resolved):
        assert due is not CONTRADICTION
        assert loaded(answer.text) == unordered(due)


@given(versions())
def test_swapped_sides_give_the_same_values(drawn: Versions) -> None:
    conflict = as_conflict(drawn)
    one = merge_yaml(conflict)
    two = merge_yaml(FileConflict(conflict.path, conflict.base, conflict.unit, conflict.main))
    if isinstance(one, Refused) or isinstance(two, Refused):
        # Which of two clashes is met first is a matter of the order of main's keys.
        assert [isinstance(each, Refused) for each in (one, two)] == [True, True]
    else:
        assert loaded(one.text) == loaded(two.text)


LINES = st.sampled_from(
    (
        "a: 1",
        "b:",
        "  c: 'x'",
        "  c: two words",
        "    more words",
        "  - d: e",
        "    f: [1, {g: h}]",
        "  - x",
        "- y",
        "- - z",
        "# note",
        "  # note",
        "",
        "k: |",
        "  text: # no",
        "    deeper",
        "k2: >-",
        'q: "open',
        '  shut"',
        "m: {a: b,",
        "  c: d}",
        "n: &x 1",
        "o: *x",
        "p: !t v",
        "a: b: c",
        "r: a #b",
        "s:t",
        "? u",
        "---",
        "  v: w  # note",
        "t: -x",
        "u: - x",
        "w: [,]",
        "x:\ty",
        "l: |2",
        "'y y': 1",
        "z: 'a' b",
    )
)


def shape(value: Value) -> Any:
    if not isinstance(value, EntryGroup):
        return None
    entries = [entry for entry in value.entries if not is_comment(entry)]
    if value.kind == "list":
        return [shape(entry.value) for entry in entries]
    return {entry.name[0]: shape(entry.value) for entry in entries}


def parsed_shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: parsed_shape(below) for key, below in value.items()}
    return [parsed_shape(below) for below in value] if isinstance(value, list) else None


@given(st.lists(LINES, max_size=9))
def test_the_quick_reader_understands_what_a_parser_understands_or_nothing(lines: list[str]) -> None:
    text = "".join(line + "\n" for line in lines)
    try:
        tree = read_yaml(text)
    except TextUnreadable:
        return
    assert render(tree) == text
    if double_keys(tree):
        with pytest.raises(Broken, match="no YAML"):
            parse_plain(text)
        return
    documents = parse_plain(text)
    assert shape(tree) == [parsed_shape(document) for document in documents]
