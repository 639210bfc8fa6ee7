"""Listed kinds with sections against one model: groups of keys with values, edited at random on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.resolvers import listed
from gitprun.resolvers.base import FileConflict, Refused, Resolved

Groups = dict[str, dict[str, int]]
BY_NAME = {kind.name: kind for kind in listed.KINDS}


@dataclass(frozen=True)
class Form:
    """How a kind writes a group and an entry, and reads them back, line by line."""

    name: str
    path: str
    group: Callable[[str], str]
    entry: Callable[[str, int], str]
    head: str = ""
    blank_below: bool = False
    blank_between: bool = True
    plain: bool = False


FORMS = [
    Form("ini", "a.ini", lambda g: f"[{g}]", lambda k, v: f"{k} = v{v}"),
    Form("ini", "b.cfg", lambda g: f"[{g}]", lambda k, v: f"{k} = v{v}\n    more", blank_between=False),
    Form("todo list", "todo.md", lambda g: f"## {g}", lambda k, v: f"- [{'x' if v else ' '}] {k}", "# T\n\n", True),
    Form(
        "changelog",
        "CHANGELOG.md",
        lambda g: f"## {g}",
        lambda k, v: f"- {k} v{v}\n  more of {k}",
        "# C\n\n",
        plain=True,
    ),
    Form("changelog", "NEWS.md", lambda g: f"{g}\n---", lambda k, v: f"* {k} v{v}", blank_below=True, plain=True),
    Form("CODEOWNERS", "CODEOWNERS", lambda g: f"[{g}]", lambda k, v: f"/{k}/ @v{v}", "* @all\n\n"),
]


@st.composite
def versions(draw: st.DrawFn) -> tuple[Groups, Groups, Groups]:
    groups = st.sampled_from(["zed", "mid", "abc", "kit"])
    keys = st.sampled_from(["q1", "a2", "m3", "c4", "z5", "b6"])
    base = draw(st.dictionaries(groups, st.dictionaries(keys, st.just(0), max_size=4), max_size=3))
    sides = []
    for _ in range(2):
        side = {name: dict(group) for name, group in base.items()}
        for _ in range(draw(st.integers(1, 4))):
            act, name, key = draw(st.sampled_from("aaacrng")), draw(groups), draw(keys)
            if act == "n" or (act == "a" and name in side):
                rest = list(side.setdefault(name, {}).items())
                if key not in side[name]:
                    rest.insert(draw(st.integers(0, len(rest))), (key, draw(st.integers(0, 2))))
                side[name] = dict(rest)
            elif act == "c" and key in side.get(name, {}):
                side[name][key] = draw(st.integers(0, 2))
            elif act == "r":
                side.get(name, {}).pop(key, None)
            elif act == "g" and draw(st.booleans()):
                side.pop(name, None)
        sides.append(side)
    return base, sides[0], sides[1]


def write(form: Form, groups: Groups) -> bytes:
    parts = []
    for name, entries in groups.items():
        lines = [form.group(name)] + ([""] if form.blank_below and entries else [])
        lines += [form.entry(key, value) for key, value in entries.items()]
        parts.append("\n".join(lines) + "\n")
    return (form.head + ("\n" if form.blank_between else "").join(parts)).encode()


def due(form: Form, base: Groups, main: Groups, unit: Groups) -> set[tuple[str, str]] | None:
    """Tell the groups and entries of the merge; None when the sides contradict each other."""
    flat: list[dict[tuple[str, str], str]] = []
    for groups in (base, main, unit):
        flat.append({(name, ""): form.group(name) for name in groups})
        for name, group in groups.items():
            for key, value in group.items():
                text = form.entry(key, value)
                flat[-1][name, text if form.plain else key] = text
    old, by_main, by_unit = flat
    merged = set()
    for place in {**old, **by_main, **by_unit}:
        was, ours, theirs = old.get(place), by_main.get(place), by_unit.get(place)
        if ours != theirs and was not in (ours, theirs):
            return None
        kept = theirs if ours == was else ours
        if kept is not None:
            merged.add((place[0], kept))
    return merged


def read(form: Form, text: bytes, names: set[str]) -> list[tuple[str, str]]:
    """Read a merge back by nothing but the texts of its groups."""
    body = text.decode().removeprefix(form.head)
    found: list[tuple[str, str]] = []
    now = ""
    starts = {form.group(name): name for name in names}
    for block in body.replace("\n---", "\x00---").split("\n"):
        line = block.replace("\x00", "\n")
        if line in starts:
            now = starts[line]
            found.append((now, line))
        elif line.startswith((" ", "\t")):
            found[-1] = (now, found[-1][1] + "\n" + line)
        elif line:
            found.append((now, line))
    return found


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.name}-{form.path}")
@settings(max_examples=max(6, settings().max_examples // 4))
@given(found=versions())
def test_every_entry_is_in_its_section_once(form: Form, found: tuple[Groups, Groups, Groups]) -> None:
    base, main, unit = found
    (resolver,) = BY_NAME[form.name].resolvers
    texts = [write(form, each) for each in found]
    answers = [resolver(FileConflict(form.path, texts[0], *pair)) for pair in (texts[1:], texts[:0:-1])]
    assert isinstance(answers[0], Resolved) == isinstance(answers[1], Resolved), answers
    expected = due(form, base, main, unit)
    for answer in answers:
        if isinstance(answer, Refused) or texts[1] == texts[2]:
            continue
        assert expected is not None, answer
        entries = read(form, answer.text, {*base, *main, *unit})
        assert sorted(entries) == sorted(expected), answer
        assert not BY_NAME[form.name].faults(form.path, answer.text)
