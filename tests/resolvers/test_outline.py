"""What git merged alone and put into the wrong place is found; what it merged well is left in peace."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict
from gitprun.resolvers.outline import find_misplaced

BASE = "model U {\n  id Int @id\n}\n"
MAIN = "model U {\n  id Int @id\n  a  String\n}\n\nmodel P {\n  id Int @id\n}\n"
UNIT = "model U {\n  id   Int @id\n  name String\n}\n\nmodel T {\n  id Int @id\n}\n"
T = "model T {\n  id Int @id\n}\n"
P = "model P {\n  id Int @id\n}\n"
# What git makes of it, without a conflict: T has the field that main gave to U.
BY_GIT = "model U {\n  id   Int @id\n  name String\n}\n\nmodel T {\n  id Int @id\n  a  String\n}\n\n" + P
WELL = f"{P}\nmodel U {{\n  id   Int @id\n  a    String\n  name String\n}}\n\n{T}"


def conflict(path: str, base: str, main: str, unit: str) -> FileConflict:
    return FileConflict(path, base.encode(), main.encode(), unit.encode())


def test_git_does_put_it_there(tmp_path: Path) -> None:
    for name, text in (("main", MAIN), ("base", BASE), ("unit", UNIT)):
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["git", "merge-file", "-p", "main", "base", "unit"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == BY_GIT


def test_a_field_in_the_wrong_model() -> None:
    found = find_misplaced(conflict("schema.prisma", BASE, MAIN, UNIT), BY_GIT.encode())
    assert found == ('"a String" should stand under "model U {"',)


def test_order_alignment_and_separators_do_not_matter() -> None:
    assert find_misplaced(conflict("schema.prisma", BASE, MAIN, UNIT), WELL.encode()) == ()


def test_a_key_in_the_wrong_section() -> None:
    versions = "[a]\nx = 1\n", "[a]\nx = 1\ny = 2\n\n[b]\nx = 1\n", "[a]\nx = 1\n\n[c]\nx = 1\n"
    wrong = b"[a]\nx = 1\n\n[c]\nx = 1\ny = 2\n\n[b]\nx = 1\n"
    assert find_misplaced(conflict("x.toml", *versions), wrong) == ('"y = 2" should stand under "[a]"',)


def test_nothing_is_said_without_a_resolver_or_a_proof() -> None:
    assert find_misplaced(conflict("notes.txt", "a\n", "b\na\n", "a\nc\n"), b"c\na\nb\n") == ()
    assert find_misplaced(conflict("x.py", "a = (\n", "a = (\n\n", "\na = (\n"), b"a = (\n") == ()
    assert find_misplaced(FileConflict("x.py", None, b"a = 1\n", b"b = 2\n"), b"a = 1\nb = 2\n") == ()


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=4)


@given(NAMES, NAMES, NAMES)
def test_a_sum_of_both_sides_is_never_misplaced(base: list[str], main: list[str], unit: list[str]) -> None:
    def module(names: list[str]) -> str:
        return "\n\n".join(f"def {name}():\n    return '{name}'\n" for name in names)

    ours = [*base, *(name for name in main if name not in base)]
    theirs = [*base, *(name for name in unit if name not in base)]
    both = [*ours, *(name for name in theirs if name not in ours)]
    versions = conflict("x.py", module(base), module(ours), module(theirs))
    assert find_misplaced(versions, module(both).encode()) == ()


# Of a path: base, and what each side puts in the place of its two marks; lines are joined by "|".
ADDED = {
    "a variable of a service": (
        *("compose.yml", "services:|  web:|    environment:|      - A=1|MAIN      - B=2|      - C=3|      - D=4|UNIT"),
        *("      - MODE=fast|", "      - MODE=slow|"),
        '"services.web.environment" is added on both sides, differently ("MODE=fast" and "MODE=slow")',
    ),
    "a variable of a container": (
        *(
            "pod.yaml",
            "env:|- name: A|  value: a|MAIN- name: B|  value: b|- name: C|  value: c|UNIT",
        ),
        *("- name: MODE|  value: fast|", "- name: MODE|  value: slow|"),
        '"env.value" is added on both sides, differently ("fast" and "slow")',
    ),
    "a field of an interface": (
        *("a.ts", "interface A {|MAIN  a: 1|  b: 2|  c: 3|  d: 4|UNIT}|"),
        *("  mode: string|", "  mode?: number|"),
        'both sides added "mode: string", each in another way',
    ),
    "a constant": (
        *("a.go", "package p||const (|MAIN\tA = 1|\tB = 2|\tC = 3|UNIT)|"),
        *("\tMode = 1|", "\tMode = 2|"),
        'both sides added "Mode = 1", each in another way',
    ),
    "a key": (
        *("a.toml", "[a]|MAINb = 1|c = 2|d = 3|e = 4|UNIT"),
        *("mode = 1|", "mode = 2|"),
        '"a.mode" is added on both sides, differently ("1" and "2")',
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_what_both_sides_added_in_two_ways(name: str) -> None:
    path, form, main, unit, said = ADDED[name]
    texts = [
        form.replace("MAIN", a).replace("UNIT", b).replace("|", "\n").encode()
        for a, b in (("", ""), (main, ""), ("", unit), (main, unit))
    ]
    found = find_misplaced(FileConflict(path, *texts[:3]), texts[3])
    assert found == (said,)
    # One name at two places of the file, in two things, is no contradiction.
    other = form.replace("MAIN", main).replace("UNIT", unit.replace("MODE", "OTHER").replace("ode", "other"))
    again = texts[2].replace(b"MODE", b"OTHER").replace(b"ode", b"other")
    assert find_misplaced(FileConflict(path, texts[0], texts[1], again), other.replace("|", "\n").encode()) == ()
