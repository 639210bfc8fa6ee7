"""Random edits of small programs: what merges is what the three-way rule says, whichever side is which."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.kinds import find_faults, kinds_for

# A program: per section its entries in order, each a name with a value.
Program = Mapping[str, tuple[tuple[str, int], ...]]
SECTIONS = ("imports", "names", "functions", "members", "keys")
VALUED = ("functions", "members", "keys")


def python_text(program: Program) -> str:
    lines = [f"import {name}" for name, _ in program["imports"]]
    lines += [f"from pool import {', '.join(['first', *(name for name, _ in program['names'])])}", "", "KEYS = {"]
    lines += [f'    "{name}": {value},' for name, value in program["keys"]]
    lines += ["}", ""]
    for name, value in program["functions"]:
        lines += ["", f"# about {name}", f"def {name}():", f"    step({value})", f"    return {value}", ""]
    lines += ["", "class Box:", "    size = 0", ""]
    for name, value in program["members"]:
        lines += [f"    def {name}(self):", f"        return {value}", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def read_python(text: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {section: {} for section in SECTIONS}

    def put(section: str, name: str, value: int) -> None:
        assert name not in found[section]
        found[section][name] = value

    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            put("imports", node.names[0].name, 0)
        elif isinstance(node, ast.ImportFrom):
            assert node.names[0].name == "first"
            for alias in node.names[1:]:
                put("names", alias.name, 0)
        elif isinstance(node, ast.Assign):
            assert isinstance(node.value, ast.Dict)
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                assert isinstance(key, ast.Constant)
                put("keys", str(key.value), ast.literal_eval(value))
        elif isinstance(node, ast.FunctionDef):
            put("functions", node.name, _returned(node))
            assert f"# about {node.name}\ndef {node.name}(" in text
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    put("members", member.name, _returned(member))
    return found


def _returned(node: ast.FunctionDef) -> int:
    last = node.body[-1]
    assert isinstance(last, ast.Return)
    assert last.value is not None
    return int(ast.literal_eval(last.value))


def typescript_text(program: Program) -> str:
    lines = [f"import {name} from './{name}';" for name, _ in program["imports"]]
    lines += [f"import {{ {', '.join(['first', *(name for name, _ in program['names'])])} }} from 'pool';", ""]
    lines += ["export const keys = {", *(f"  {name}: {value}," for name, value in program["keys"]), "};", ""]
    for name, value in program["functions"]:
        lines += [f"/** About {name}. */", f"export function {name}() {{", f"  return {value};", "}", ""]
    lines += ["class Box {", "  size = 0;"]
    for name, value in program["members"]:
        lines += ["", f"  {name}() {{", f"    return {value};", "  }"]
    return "\n".join([*lines, "}"]) + "\n"


def read_typescript(text: str) -> dict[str, dict[str, int]]:
    patterns = {
        "imports": r"^import (\w+) from",
        "functions": r"^/\*\* About (\w+)\. \*/\nexport function \1\(\) \{\n  return (\d+);\n\}",
        "members": r"^  (\w+)\(\) \{\n    return (\d+);\n  \}",
        "keys": r"^  (\w+): (\d+),$",
    }
    found: dict[str, dict[str, int]] = {}
    for section, pattern in patterns.items():
        rows = [match.groups() for match in re.finditer(pattern, text, re.MULTILINE)]
        found[section] = {row[0]: int(row[1]) if len(row) > 1 else 0 for row in rows}
        assert len(found[section]) == len(rows)
    named = re.findall(r"^import \{ first(.*) \} from 'pool';$", text, re.MULTILINE)
    assert len(named) == 1
    found["names"] = dict.fromkeys(re.findall(r"\w+", named[0]), 0)
    return found


@dataclass(frozen=True)
class Language:
    path: str
    render: Callable[[Program], str]
    read: Callable[[str], dict[str, dict[str, int]]]


LANGUAGES = (Language("m.py", python_text, read_python), Language("m.ts", typescript_text, read_typescript))


def _section(names: str, *, valued: bool) -> st.SearchStrategy[tuple[tuple[str, int], ...]]:
    entry = st.tuples(st.sampled_from([name * 3 for name in names]), st.integers(0, 3) if valued else st.just(0))
    return st.lists(entry, max_size=4, unique_by=lambda pair: pair[0]).map(tuple)


PROGRAMS = st.fixed_dictionaries(
    {
        "imports": _section("abcde", valued=False),
        "names": _section("fghij", valued=False),
        "functions": _section("klmno", valued=True),
        "members": _section("pqrst", valued=True),
        "keys": _section("uvwxy", valued=True),
    }
)


@st.composite
def edited(draw: st.DrawFn, base: Program) -> Program:
    """Delete, change and insert entries, keeping the order of the rest."""
    program: dict[str, tuple[tuple[str, int], ...]] = dict(base)
    for section in draw(st.sets(st.sampled_from(SECTIONS), max_size=3)):
        entries = []
        for name, value in program[section]:
            how = draw(st.sampled_from(["keep", "keep", "drop", "change"]))
            if how != "drop":
                entries.append((name, value + 10 if how == "change" and section in VALUED else value))
        for name in draw(st.lists(st.sampled_from([f"new_{section}_{i}" for i in range(4)]), max_size=2, unique=True)):
            value = draw(st.integers(4, 5)) if section in VALUED else 0
            entries.insert(draw(st.integers(0, len(entries))), (name, value))
        program[section] = tuple(entries)
    return program


@st.composite
def conflicts(draw: st.DrawFn) -> tuple[Program, Program, Program]:
    base = draw(PROGRAMS)
    return base, draw(edited(base)), draw(edited(base))


def expected(base: Program, main: Program, unit: Program) -> dict[str, dict[str, int]] | None:
    """Merge the entries by the three-way rule; None when both sides changed one of them differently."""
    merged: dict[str, dict[str, int]] = {}
    for section in SECTIONS:
        old, left, right = (dict(program[section]) for program in (base, main, unit))
        merged[section] = {}
        for name in {**old, **left, **right}:
            ways = (old.get(name), left.get(name), right.get(name))
            value = ways[1] if ways[1] == ways[2] or ways[2] == ways[0] else ways[2]
            if ways[1] not in (ways[0], ways[2]) and ways[2] != ways[0]:
                return None
            if value is not None:
                merged[section][name] = value
    return merged


def resolve(path: str, base: str, main: str, unit: str) -> Resolved | Refused:
    (kind,) = kinds_for(path)
    return kind.resolvers[0](FileConflict(path, base.encode(), main.encode(), unit.encode()))


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.path)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(versions=conflicts())
def test_a_merge_has_what_the_three_way_rule_says(
    language: Language, versions: tuple[Program, Program, Program]
) -> None:
    base, main, unit = (language.render(program) for program in versions)
    answer, swapped = resolve(language.path, base, main, unit), resolve(language.path, base, unit, main)
    due = expected(*versions)
    event(f"{type(answer).__name__}, {'clean' if due else 'conflict'}")
    assert isinstance(answer, Resolved) == isinstance(swapped, Resolved)
    if isinstance(answer, Resolved) and isinstance(swapped, Resolved):
        text = answer.text.decode()
        assert language.read(text) == due
        assert language.read(swapped.text.decode()) == due
        assert find_faults(language.path, answer.text) == ()


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.path)
@settings(max_examples=60, deadline=None)
@given(versions=st.tuples(*[st.text("(){}[]:;,.'\"#/ \nabdefimport=", max_size=40)] * 3))
def test_any_text_is_merged_or_refused(language: Language, versions: tuple[str, str, str]) -> None:
    base, main, unit = versions
    answer = resolve(language.path, base, main, unit)
    if main == base:
        assert answer == resolve(language.path, main, main, unit)
        assert isinstance(answer, Resolved)
        assert answer.text == unit.encode()
    assert isinstance(answer, Resolved | Refused)
