"""TOML by key: what is merged and how it reads, what is refused, and what is wrong with a file."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.proof import prove
from gitprun.resolvers.toml import KINDS
from gitprun.resolvers.toml.check import find_toml_faults, load
from gitprun.resolvers.toml.doubles import find_double_key
from gitprun.resolvers.toml.resolve import merge_toml

TOML: Kind = next(kind for kind in KINDS if kind.name == "toml")

CARGO = """\
[package]
name = "x"

[dependencies]
anyhow = "1"
serde = { version = "1", features = ["derive"] }

[features]
default = ["a"]
a = []
"""

PROJECT = """\
[project]
name = "x"
dependencies = [
    "click>=8",
    "rich",  # colours
]

[project.optional-dependencies]
test = ["pytest"]

# style
[tool.ruff]
line-length = 100

[[tool.mypy.overrides]]
module = "a.*"
strict = true
"""


def conflict(path: str, base: str | None, main: str, unit: str) -> FileConflict:
    return FileConflict(path, None if base is None else base.encode(), main.encode(), unit.encode())


def merged(path: str, base: str | None, main: str, unit: str) -> str:
    asked = conflict(path, base, main, unit)
    found = merge_toml(asked)
    assert isinstance(found, Resolved), found
    assert prove(asked, found.text, TOML) is None
    return found.text.decode()


def refusal(path: str, base: str | None, main: str, unit: str) -> str:
    found = merge_toml(conflict(path, base, main, unit))
    assert isinstance(found, Refused), found
    return found.reason


def test_cargo_dependencies_by_name_sorted_as_they_were() -> None:
    main = CARGO.replace('"1"\nserde', '"1"\nrand = "0.8"\nserde').replace('["derive"]', '["derive", "rc"]')
    unit = CARGO.replace('"1"\nserde', '"1"\nclap = "4"\nserde').replace('version = "1"', 'version = "1.2"')
    unit += '\n[dev-dependencies]\ninsta = "1"\n'
    assert (
        merged("crates/x/Cargo.toml", CARGO, main, unit)
        == """\
[package]
name = "x"

[dependencies]
anyhow = "1"
clap = "4"
rand = "0.8"
serde = { version = "1.2", features = ["derive", "rc"] }

[features]
default = ["a"]
a = []

[dev-dependencies]
insta = "1"
"""
    )


def test_requirements_tables_and_lists_of_tables_of_a_python_project() -> None:
    main = PROJECT.replace('    "rich",  # colours\n', '    "rich>=13",  # colours\n    "httpx",\n')
    main = main.replace('["pytest"]', '["pytest", "mypy"]') + '\n[[tool.mypy.overrides]]\nmodule = "b.*"\n'
    unit = PROJECT.replace("click>=8", "click>=8.1").replace("colours\n", 'colours\n    # for locks\n    "filelock",\n')
    unit = unit.replace("100", "120") + '\n[[tool.mypy.overrides]]\nmodule = "c.*"\n'
    assert (
        merged("pyproject.toml", PROJECT, main, unit)
        == """\
[project]
name = "x"
dependencies = [
    "click>=8.1",
    "rich>=13",  # colours
    "httpx",
    # for locks
    "filelock",
]

[project.optional-dependencies]
test = ["pytest", "mypy"]

# style
[tool.ruff]
line-length = 120

[[tool.mypy.overrides]]
module = "a.*"
strict = true

[[tool.mypy.overrides]]
module = "b.*"

[[tool.mypy.overrides]]
module = "c.*"
"""
    )


def test_a_table_that_both_sides_add() -> None:
    assert (
        merged("a.toml", "x = 1\n", "x = 1\n\n[tool]\na = 1\n", "x = 1\n\n[tool]\nb = 2\n")
        == "x = 1\n\n[tool]\na = 1\nb = 2\n"
    )


def test_a_file_that_both_sides_add() -> None:
    assert merged("a.toml", None, "[a]\nx = 1\n", "[a]\ny = 2\n\n[b]\n") == "[a]\nx = 1\ny = 2\n\n[b]\n"


def test_deletions_hold_and_take_their_comments_along() -> None:
    base = "# about a\na = 1\n# about b\nb = 2  # two\nc = 3\n"
    assert merged("a.toml", base, "# about b\nb = 2  # two\nc = 3\n", "# about a\na = 1\nc = 4\n") == "c = 4\n"


def test_quoted_keys_and_other_quotes_are_the_same() -> None:
    base = "[t]\n\"npm:a\" = 'x'\nb = 1\n"
    assert merged("a.toml", base, base.replace("'x'", '"y"'), base.replace("'x'", "'y'").replace("1", "2")) == (
        '[t]\n"npm:a" = "y"\nb = 2\n'
    )


def test_realigned_keys_keep_the_new_layout_and_the_new_values() -> None:
    base = "[t]\na = 1\nlonger = 2\n"
    assert merged("a.toml", base, "[t]\na      = 1\nlonger = 2\n", "[t]\na = 3\nlonger = 2\nb = 4\n") == (
        "[t]\na      = 3\nlonger = 2\nb = 4\n"
    )


def test_ordered_arrays_merge_only_apart() -> None:
    base = 'steps = [\n    "a",\n    "b",\n    "c",\n]\n'
    main, unit = base.replace('"a"', '"a1"'), base.replace('    "c",\n', '    "c",\n    "d",\n')
    assert merged("a.toml", base, main, unit) == 'steps = [\n    "a1",\n    "b",\n    "c",\n    "d",\n]\n'


@pytest.mark.parametrize(
    ("end", "bom", "final"), [("\r\n", "", True), ("\n", "\ufeff", True), ("\n", "", False), ("\r\n", "\ufeff", False)]
)
def test_line_ends_byte_order_mark_and_last_line_end_stay(end: str, bom: str, final: bool) -> None:
    def framed(text: str) -> str:
        return bom + (text if final else text.removesuffix("\n")).replace("\n", end)

    base = "[a]\nx = [\n    1,\n]\ny = '''\nlong'''\n"
    main, unit = base + "z = 1\n", base + "w = 2\n"
    assert merged("a.toml", *map(framed, (base, main, unit))) == framed(base + "z = 1\nw = 2\n")


@pytest.mark.parametrize(
    ("path", "base", "main", "unit", "reason"),
    [
        (
            "Cargo.toml",
            "[dependencies]\n",
            '[dependencies]\ntokio = "1"\n',
            '[dependencies]\ntokio = { version = "2", features = ["full"] }\n',
            '"dependencies.tokio" is added on both sides, differently',
        ),
        (
            "Cargo.toml",
            "[dependencies]\n",
            '[dependencies]\na = { version = "1", features = ["x"] }\n',
            '[dependencies]\na = { version = "1", features = ["x"], default-features = false }\n',
            '"dependencies.a" is added on both sides, differently',
        ),
        (
            "pyproject.toml",
            '[project]\ndependencies = ["Foo_Bar>=1", "x"]\n',
            '[project]\ndependencies = ["Foo_Bar>=2", "x"]\n',
            '[project]\ndependencies = ["foo-bar>=3", "x"]\n',
            '"project.dependencies" is changed on both sides, differently ("Foo_Bar>=2" and "foo-bar>=3")',
        ),
        (
            "pyproject.toml",
            '[project]\ndependencies = ["a"]\n',
            '[project]\ndependencies = ["a", "b>=1"]\n',
            '[project]\ndependencies = ["a", "b>=2"]\n',
            '"project.dependencies" is added on both sides, differently ("b>=1" and "b>=2")',
        ),
        (
            "a.toml",
            "[t]\na = 1\nb = 1\n",
            "[t]\nb = 1\n",
            "[t]\na = 2\nb = 1\n",
            '"t.a" is removed on main and changed by the unit',
        ),
        (
            "a.toml",
            'x = ["a"]\n',
            'x = ["a", "b"]\n',
            'x = ["a", "c"]\n',
            '"x" is changed at one place on both sides, and its order counts',
        ),
        (
            "a.toml",
            'tags = ["a", "b"]\n',
            'tags = ["a1", "b"]\n',
            'tags = ["a2", "b"]\n',
            'an item of "tags" may be changed on both sides',
        ),
        (
            "a.toml",
            "[[row]]\nx = 1\n",
            "[[row]]\nx = 1\n\n[[row]]\ny = 2\n",
            "[[row]]\nx = 1\n\n[[row]]\ny = 3\n",
            '"row" is changed at one place on both sides, and its order counts',
        ),
        ("a.toml", "# one\na = 1\n", "# two\na = 1\n", "# three\na = 1\n",
         'the comment at "a" is changed on both sides, differently'),
        ("a.toml", "a = 1\n", "a = 1\na = 2\n", "a = 1\nb = 2\n", "the file is no TOML on main"),
        ("a.toml", "a = 1\n", "a = 1\nb = 2\r\n", "a = 1\nc = 2\n", "the line ends are mixed"),
        ("a.toml", "a = 1\n", "a = 1\nb = 2\0\n", "a = 1\nc = 2\n", "the file is binary (it holds NUL bytes)"),
    ],
)  # fmt: skip
def test_refuses_what_is_not_certain(path: str, base: str, main: str, unit: str, reason: str) -> None:
    assert refusal(path, base, main, unit) == reason


def test_refuses_what_it_cannot_read() -> None:
    deep = "a = " + "[" * 5000 + "]" * 5000 + "\n"
    assert refusal("a.toml", "", deep, "b = 1\n") == "the file is nested too deep"
    assert merge_toml(FileConflict("a.toml", b"a = 1\n", b"a = '\xff'\n", b"a = 2\n")) == Refused(
        "the file is not UTF-8"
    )
    long = "".join(f"k{i} = {'x' * 100!r}\n" for i in range(4000))
    assert refusal("a.toml", long, long + "a = 1\n", long + "b = 1\n").startswith("the file is too large")


def test_keys_of_many_parts_are_no_trouble() -> None:
    long = ".".join("a" * 2000) + " = 1\n"
    assert refusal("a.toml", "", long, "b = 1\n") == "the file is nested too deep"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a = 1\n[b]\n", ()),
        ("", ()),
        ("a = 1\na = 2\n", ('the file is no TOML: duplicate key "a"',)),
        ("x = 1\n\n[t]\nname = 1\nb = 2\nname = 1\n", ('the file is no TOML: duplicate key "name"',)),
        ("t = { a = 1, a = 2 }\n", ('the file is no TOML: duplicate key "a"',)),
        ("[a]\n[a]\n", ('the file is no TOML: duplicate key "a"',)),
        ("[a]\r\nb = 1\r\nb = 2", ('the file is no TOML: duplicate key "b"',)),
        ("a.b = 1\na.b = 2\n", ('the file is no TOML: duplicate key "b"',)),
        ("a = 1\na.b = 2\n", ('the file is no TOML: duplicate key "a"',)),
        ("a.b = 1\n[a]\n", ('the file is no TOML: duplicate key "a"',)),
        ("[a]\nb.c = 1\n[a.b]\n", ('the file is no TOML: duplicate key "b"',)),
        ("a = 1\n[[a]]\n", ('the file is no TOML: duplicate key "a"',)),
        ("[[a]]\nb = 1\n[[a]]\nb = 1\nb = 2\n", ('the file is no TOML: duplicate key "b"',)),
        ("[[a]]\n[a.b]\n[[a]]\n[a.b]\n[a.b]\n", ('the file is no TOML: duplicate key "b"',)),
        ("a = [{ b = 1 }, { b = 1, b = 2 }]\n", ('the file is no TOML: duplicate key "b"',)),
        ("# a comment\n\n# a comment\n\na = 1\na = \n", ("the file is no TOML",)),
        ("[[a]]\nb = 1\n[[a]]\nb = 1\n[c.d]\n[c]\n", ()),
        ("a = \n", ("the file is no TOML",)),
        ("a = " + "[" * 5000, ()),
    ],
)
def test_faults(text: str, faults: tuple[str, ...]) -> None:
    assert find_toml_faults("a.toml", text.encode()) == faults


def test_no_faults_in_what_cannot_be_judged() -> None:
    assert find_toml_faults("a.toml", b"a = \xff\n") == ()


KEYS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(".".join)
VALUES = st.sampled_from(("1", "[]", "{ a = 1 }", "{ b.c = 1, b.a = 2 }", "[{ a = 1 }, { a = 1 }]", "{ a = 1, a = 2 }"))
LINES = st.one_of(
    st.builds("{} = {}".format, KEYS, VALUES), KEYS.map("[{}]".format), KEYS.map("[[{}]]".format), st.just("# a note")
)


@given(st.lists(LINES, max_size=6))
def test_of_lines_that_are_toml_each_the_name_of_a_key_is_all_that_can_be_wrong(lines: list[str]) -> None:
    text = "\n".join(lines)
    faults = find_toml_faults("a.toml", text.encode())
    assert (faults == ()) == (load(text) is not None)
    assert all(re.fullmatch('the file is no TOML: duplicate key "[abc]"', fault) for fault in faults)
    assert (find_double_key(text) is None) == (not faults)
