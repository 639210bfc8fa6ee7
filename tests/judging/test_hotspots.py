"""Hotspots: how they are written, which one a path belongs to, and the path patterns they share with fences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.judging.hotspots import (
    BUILTIN,
    Hotspot,
    Policy,
    after_commands,
    hotspot_for,
    is_common,
    parse_favor,
    parse_hotspots,
    settle,
)
from gitprun.model.errors import PrunError
from gitprun.model.globs import matches
from gitprun.resolvers.base import Dropped, FileConflict, Refused, Resolved

POLICIES = "one of: union, ours, theirs, higher-version, renumber"


def test_rows_are_read_in_order() -> None:
    rows = [
        {"path": "src/routes.txt", "policy": "union"},
        {"path": "docs/**", "policy": "theirs"},
        {"path": "*.lst", "resolver": "lines"},
        {"path": "a", "policy": "union", "resolver": "lines"},
        {"path": "schema", "after": ["make client"], "produces": ["client/**"]},
    ]
    assert parse_hotspots(rows, "prun.toml") == (
        Hotspot("src/routes.txt", "union"),
        Hotspot("docs/**", "theirs"),
        Hotspot("*.lst", "union"),
        Hotspot("a", "union"),
        Hotspot("schema", after=("make client",), produces=("client/**",)),
    )
    assert parse_hotspots((), "prun.toml") == ()


def test_commands_run_for_the_paths_of_their_row_and_settle_nothing() -> None:
    rows = (Hotspot("a/*.sql", "ours", ("one", "two")), Hotspot("*.sql", after=("one",)), Hotspot("a/x.sql", "union"))
    assert after_commands(["b/x.sql", "c"], rows) == (rows[1],)
    assert after_commands(["a/x.sql"], rows) == rows[:2]
    assert after_commands([], rows) == ()
    assert hotspot_for("a/y.sql", rows) == rows[0]
    assert hotspot_for("b/x.sql", rows) is None


def test_a_favour_is_a_path_and_a_policy() -> None:
    assert parse_favor("a=b/*.txt=theirs") == Hotspot("a=b/*.txt", "theirs")
    for text in ("a", "=ours", "a=", "a=mine"):
        with pytest.raises(PrunError, match=f"--favor {text!r} is not PATH=POLICY"):
            parse_favor(text)


@pytest.mark.parametrize(
    ("rows", "message", "hint"),
    [
        ({"path": "a"}, "prun.toml: hotspot must be written as [[hotspot]]", ""),
        (["a"], "prun.toml: [[hotspot]] 1: must be a table", ""),
        (
            [{"path": "a", "policy": "ours"}, {"path": "b", "polcy": "ours"}],
            "prun.toml: [[hotspot]] 2: unknown key 'polcy'",
            "did you mean 'policy'?",
        ),
        (
            [{"path": "a", "policy": "unoin"}],
            "prun.toml: [[hotspot]] 1: policy cannot be 'unoin'",
            "one of: union, ours, theirs, higher-version, renumber (meant union?)",
        ),
        (
            [{"path": "a", "resolver": "line"}],
            "prun.toml: [[hotspot]] 1: resolver cannot be 'line'",
            "one of: lines, higher-version, renumber (meant lines?)",
        ),
        (
            [{"path": "a", "policy": "ours", "resolver": "lines"}],
            'prun.toml: [[hotspot]] 1: resolver = "lines" means policy = "union", not "ours"',
            "keep one",
        ),
        ([{"path": "a"}], "prun.toml: [[hotspot]] 1: policy is missing", POLICIES),
        (
            [{"path": "a", "policy": "ours", "produces": ["b"]}],
            "prun.toml: [[hotspot]] 1: produces says what after = [...] makes, and that is missing",
            "",
        ),
        (
            [{"policy": "ours"}],
            "prun.toml: [[hotspot]] 1: path is missing",
            'name files by a pattern, such as path = "src/routes.txt"',
        ),
        ([{"path": 7, "policy": "ours"}], "prun.toml: [[hotspot]] 1: path must be a text that is not empty", ""),
        (
            [{"path": "!a", "policy": "ours"}],
            "prun.toml: [[hotspot]] 1: path cannot be '!a': a hotspot has no exceptions",
            "a later row wins over this one",
        ),
    ],
)
def test_faults_name_row_key_and_file(rows: object, message: str, hint: str) -> None:
    with pytest.raises(PrunError) as caught:
        parse_hotspots(rows, "prun.toml")
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_policy_may_be_named_on_the_command_line() -> None:
    words: tuple[Policy, ...] = ("union", "ours", "theirs", "higher-version", "renumber")
    assert [parse_favor(f"a=b/c.json={word}") for word in words] == [Hotspot("a=b/c.json", word) for word in words]
    with pytest.raises(PrunError) as caught:
        parse_favor("package.json=higher")
    assert (caught.value.message, caught.value.hint) == (
        "--favor 'package.json=higher' is not PATH=POLICY",
        "policies: union, ours, theirs, higher-version, renumber; such as --favor a.txt=ours",
    )


def test_the_last_matching_row_wins_over_those_before_and_over_the_built_in_ones() -> None:
    rows = (Hotspot("*.md", "ours"), Hotspot("docs/todo.md", "theirs"))
    found = {path: hotspot_for(path, rows) for path in ("docs/todo.md", "todo.md", "a/.gitignore", "src/a.py")}
    assert found == {
        "docs/todo.md": Hotspot("docs/todo.md", "theirs"),
        "todo.md": Hotspot("*.md", "ours"),
        # Common, and without a policy: the order of its patterns counts.
        "a/.gitignore": None,
        "src/a.py": None,
    }


def test_built_in_rows_are_few_and_name_files_only() -> None:
    assert {row.path for row in BUILTIN} == {"todo.md", "TODO.md", "TODO", "CHANGELOG.md", ".gitignore"}
    assert {row.path for row in BUILTIN if row.policy != "union"} == {".gitignore"}
    assert is_common("deep/.gitignore")
    assert hotspot_for("deep/down/TODO", ()) == Hotspot("TODO", "union")
    assert [hotspot_for(path, ()) for path in ("TODO/a.py", "Todo.md", "routes.txt", "package.json")] == [None] * 4


def test_each_policy_settles_its_way() -> None:
    made = FileConflict("a", b"a\n", b"a\nm\n", b"a\nu\n")
    assert [settle(made, Hotspot("a", policy)) for policy in ("union", "ours", "theirs")] == [
        Resolved(b"a\nm\nu\n", "lines", added=(b"u",)),
        Resolved(b"a\nm\n", "main-side", dropped=(Dropped("unit", 2, b"u"),)),
        Resolved(b"a\nu\n", "unit-side", added=(b"u",), dropped=(Dropped("main", 2, b"m"),)),
    ]
    pins = FileConflict("requirements.txt", b"a==1\n", b"a==2\n", b"a==3\n")
    assert settle(pins, Hotspot("requirements.txt", "higher-version")) == Resolved(
        b"a==3\n", "higher-version", added=(b"a==3",), dropped=(Dropped("main", 1, b"a==2"),)
    )
    rows = FileConflict("a.csv", b"id,n\n1,a\n", b"id,n\n1,a\n2,m\n", b"id,n\n1,a\n2,u\n")
    assert settle(rows, Hotspot("a.csv", "renumber")) == Resolved(
        b"id,n\n1,a\n2,m\n3,u\n", "renumber", added=(b"3,u",), dropped=(Dropped("unit", 3, b"2,u"),)
    )
    clash = FileConflict("a", b"a\n", b"b\n", b"c\n")
    assert settle(clash, Hotspot("a", "union")) == Refused(
        'near base line 1 main changes "a" to "b" and the unit changes "a" to "c"'
    )


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("todo.md", ["todo.md", "a/todo.md", "a/b/todo.md"], ["Todo.md", "todo.mdx", "xtodo.md"]),
        ("*.md", ["a.md", ".md", "x/y/a.md"], ["a.md/b", "a.mdx", "a/md"]),
        ("docs", ["docs", "docs/a", "docs/a/b", "x/docs", "x/docs/a"], ["docs2", "docs2/a", "adocs"]),
        ("docs/", ["docs/a", "docs/a/b", "x/docs/a"], ["docs", "x/docs", "docs2/a"]),
        ("/docs", ["docs", "docs/a"], ["x/docs", "x/docs/a"]),
        ("./docs/api", ["docs/api", "docs/api/a"], ["x/docs/api"]),
        ("src/reports", ["src/reports", "src/reports/a", "src/reports/a/b"], ["x/src/reports", "src/reports2"]),
        ("src/reports/", ["src/reports/a", "src/reports/a/b"], ["src/reports", "x/src/reports/a"]),
        ("src/reports/**", ["src/reports/a", "src/reports/a/b"], ["src/reports", "src/reports2/a"]),
        ("src/*", ["src/a", "src/.a"], ["src", "src/a/b", "x/src/a"]),
        ("src/*.py", ["src/a.py", "src/.py"], ["src/a/b.py", "src/a.pyc", "a.py"]),
        ("src/*/a.py", ["src/x/a.py"], ["src/a.py", "src/x/y/a.py"]),
        ("**/todo.md", ["todo.md", "a/b/todo.md"], ["atodo.md"]),
        ("src/**/a.py", ["src/a.py", "src/x/a.py", "src/x/y/a.py"], ["a.py", "x/src/a.py"]),
        ("a/**/b/**/c", ["a/b/c", "a/x/b/y/z/c", "a/b/b/c"], ["a/c", "b/c", "a/b"]),
        ("file?.txt", ["file1.txt", "x/fileé.txt"], ["file.txt", "file12.txt", "file/.txt"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("app/[id]/page.tsx", ["app/[id]/page.tsx"], ["app/i/page.tsx"]),
        ("a.c", ["a.c"], ["abc"]),
        ("**", ["a", "a/b", "a/b/c"], []),
        ("*", ["a", "a/b"], []),
        (".", ["a", "a/b"], []),
        ("", [], ["a", "a/b"]),
        ("/", [], ["a", "a/b"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    assert {path: matches(pattern, path) for path in yes + no} == dict.fromkeys(yes, True) | dict.fromkeys(no, False)


def test_many_stars_take_no_long_time() -> None:
    assert not matches("/".join(["**", "*a*a*a*a*a*a*b"] * 12) + "/z", "/".join(["a" * 60] * 60))


LETTERS = st.characters(exclude_characters="/*?\0", codec="utf-8")
NAMES = st.text(LETTERS, min_size=1, max_size=5).filter(lambda name: name not in (".", ".."))


@given(st.lists(NAMES, min_size=2, max_size=5))
def test_a_path_matches_itself_and_its_folders(names: list[str]) -> None:
    path = "/".join(names)
    assert all(matches("/".join(names[:n]), path) for n in range(2, len(names) + 1))
    assert all(matches("/".join(names[:n]) + end, path) for n in range(1, len(names)) for end in ("/", "/**"))
    assert matches("**/" + names[-1], path)
    assert not matches("/" + "/".join(names) + "/", path)
