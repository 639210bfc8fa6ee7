"""Random edits of TOML files: nothing is lost, nothing comes back, and the sides may be swapped."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.toml.reader import read_toml
from gitprun.resolvers.toml.resolve import merge_toml
from gitprun.resolvers.tree import render
from tests.support.random_trees import CONTRADICTION, Versions, chance, merge_models, unordered, versions


def scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true"
    return str(value) if isinstance(value, int) else '"' + value.replace('"', '\\"') + '"'


def inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(below)}" for key, below in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return scalar(value)


def written(value: dict[str, Any], style: int, path: tuple[str, ...] = ()) -> str:
    text, tables = "", ""
    for key, below in value.items():
        here = (*path, key)
        note = f"# about {key}\n" if chance(style, "note", here) < 0.2 else ""
        is_rows = isinstance(below, list) and bool(below) and isinstance(below[0], dict)
        if isinstance(below, dict) and chance(style, "table", here) < 0.7:
            tables += f"\n{note}[{'.'.join(here)}]\n" + written(below, style, here)
        elif is_rows and chance(style, "rows", here) < 0.6:
            for row in below:
                tables += f"\n[[{'.'.join(here)}]]\n" + "".join(f"{k} = {inline(v)}\n" for k, v in row.items())
        elif isinstance(below, list) and chance(style, "lines", here) < 0.5:
            text += f"{note}{key} = [\n" + "".join(f"    {inline(item)},\n" for item in below) + "]\n"
        else:
            text += f"{note}{key} = {inline(below)}\n"
    return text + tables


def as_conflict(drawn: Versions) -> FileConflict:
    texts = [written(value, drawn.style).encode() for value in (drawn.base, drawn.main, drawn.unit)]
    return FileConflict("settings.toml", *texts)


@given(versions())
def test_what_is_merged_is_what_both_sides_say(drawn: Versions) -> None:
    conflict = as_conflict(drawn)
    answer = merge_toml(conflict)
    due = merge_models(drawn.base, drawn.main, drawn.unit)
    if isinstance(answer, Resolved):
        assert due is not CONTRADICTION
        assert unordered(tomllib.loads(answer.text.decode())) == unordered(due)


@given(versions())
def test_swapped_sides_give_the_same_values(drawn: Versions) -> None:
    conflict = as_conflict(drawn)
    one = merge_toml(conflict)
    two = merge_toml(FileConflict(conflict.path, conflict.base, conflict.unit, conflict.main))
    if isinstance(one, Refused) or isinstance(two, Refused):
        assert type(one) is type(two)
    else:
        assert unordered(tomllib.loads(one.text.decode())) == unordered(tomllib.loads(two.text.decode()))


@given(versions())
def test_a_side_that_changes_nothing_leaves_the_other_as_it_is(drawn: Versions) -> None:
    conflict = as_conflict(drawn)
    assert conflict.base is not None
    answer = merge_toml(FileConflict(conflict.path, conflict.base, conflict.main, conflict.base))
    assert isinstance(answer, Resolved)
    assert answer.text == conflict.main


@given(versions())
def test_reading_keeps_every_character(drawn: Versions) -> None:
    text = written(drawn.base, drawn.style)
    assert render(read_toml(text)) == text
