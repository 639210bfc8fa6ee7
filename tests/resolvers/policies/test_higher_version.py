"""The policy higher-version: which of two versions is taken in each kind of manifest, what is refused and listed."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import Dropped, FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.policies import higher_version

Case = tuple[str, str, str, str]


def conflict(path: str, base: str | None, main: str, unit: str) -> FileConflict:
    return FileConflict(path, None if base is None else base.encode(), main.encode(), unit.encode())


def reason(path: str, base: str | None, main: str, unit: str) -> str:
    found = higher_version(conflict(path, base, main, unit))
    assert isinstance(found, Refused)
    return found.reason


PACKAGE = """\
{
  "name": "x",
  "scripts": {
    "test": "a@1.0.0"
  },
  "dependencies": {
    "a": "^1.0.0",
    "b": "~2.1.9"
  },
  "devDependencies": {
    "c": "3.0.0"
  }
}
"""
WORKFLOW = """\
on: push
jobs:
  a:
    steps:
      - uses: actions/checkout@v3
      - name: b
        uses: "actions/cache@v3.1"  # warm
  c:
    steps:
      - uses: actions/checkout@v3
"""
CARGO = """\
[package]
name = "x"
version = "1.0.0"

[dependencies]
a = "1"
b = { version = "0.3.1", features = ["x"] }

[dependencies.c]
version = "=2.0.0"
"""
PYPROJECT = """\
[project]
dependencies = [
    "One_a[x]==1.2",
    "b>=1",
]

[tool.poetry.dependencies]
python = "^3.11"
d = { version = "^1.2", extras = ["e"] }
"""

WINS: dict[str, tuple[str, Case, list[Dropped]]] = {
    "package.json": (
        "web/package.json",
        (
            PACKAGE,
            PACKAGE.replace('"^1.0.0"', '"^1.10.0"').replace("~2.1.9", "~2.2.0").replace("@1.0.0", "@1.1.1"),
            PACKAGE.replace('"^1.0.0"', '"^1.9.9"').replace("~2.1.9", "~2.10.0").replace('"3.0.0"', '"3.0.1"'),
            PACKAGE.replace('"^1.0.0"', '"^1.10.0"')
            .replace("~2.1.9", "~2.10.0")
            .replace("@1.0.0", "@1.1.1")
            .replace('"3.0.0"', '"3.0.1"'),
        ),
        [Dropped("main", 8, b'    "b": "~2.2.0"'), Dropped("unit", 7, b'    "a": "^1.9.9",')],
    ),
    "requirements": (
        "requirements/dev.txt",
        (
            "# pins\na == 1.9\nb[x]>=2 ; python_version > '3'\nc==1\n",
            "# pins\na == 1.10\nb[x]>=3 ; python_version > '3'\nc==1\nd==4\n",
            "# pins\na == 1.9.9\nb[x]>=2.5 ; python_version > '3'\nc==2\n",
            "# pins\na == 1.10\nb[x]>=3 ; python_version > '3'\nc==2\nd==4\n",
        ),
        [Dropped("unit", 2, b"a == 1.9.9"), Dropped("unit", 3, b"b[x]>=2.5 ; python_version > '3'")],
    ),
    "Cargo.toml": (
        "Cargo.toml",
        (
            CARGO,
            CARGO.replace('a = "1"', 'a = "1.2"').replace("0.3.1", "0.4").replace('["x"]', '["x", "y"]'),
            CARGO.replace('a = "1"', 'a = "1.3"').replace("0.3.1", "0.5").replace("=2.0.0", "=2.0.1"),
            CARGO.replace('a = "1"', 'a = "1.3"')
            .replace("0.3.1", "0.5")
            .replace('["x"]', '["x", "y"]')
            .replace("=2.0.0", "=2.0.1"),
        ),
        [Dropped("main", 6, b'a = "1.2"'), Dropped("main", 7, b'b = { version = "0.4", features = ["x", "y"] }')],
    ),
    "Cargo.toml, tables of their own": (
        "Cargo.toml",
        (CARGO, CARGO.replace("=2.0.0", "=2.1.0"), CARGO.replace("=2.0.0", "=3"), CARGO.replace("=2.0.0", "=3")),
        [Dropped("main", 10, b'version = "=2.1.0"')],
    ),
    "pyproject.toml": (
        "pyproject.toml",
        (
            PYPROJECT,
            PYPROJECT.replace("1.2", "1.3").replace("3.11", "3.12"),
            PYPROJECT.replace("==1.2", "==1.4").replace("3.11", "3.13").replace('"^1.2"', '"^1.2.5"'),
            PYPROJECT.replace("==1.2", "==1.4").replace("3.11", "3.13").replace('"^1.2"', '"^1.3"'),
        ),
        [
            Dropped("main", 3, b'    "One_a[x]==1.3",'),
            Dropped("main", 8, b'python = "^3.12"'),
            Dropped("unit", 9, b'd = { version = "^1.2.5", extras = ["e"] }'),
        ],
    ),
    "go.mod": (
        "go.mod",
        (
            "module m\n\nrequire (\n\ta v1.0.0\n\tb v1.0.0\n)\n",
            "module m\n\nrequire (\n\ta v1.2.0\n\tb v1.0.0 // indirect\n)\n",
            "module m\n\nrequire (\n\ta v1.10.0\n\tb v1.5.0\n)\n",
            "module m\n\nrequire (\n\ta v1.10.0\n\tb v1.5.0 // indirect\n)\n",
        ),
        [Dropped("main", 4, b"\ta v1.2.0")],
    ),
    "workflow": (
        ".github/workflows/ci.yml",
        (
            WORKFLOW,
            WORKFLOW.replace("checkout@v3", "checkout@v4").replace("v3.1", "v3.3").replace("push", "pull_request"),
            WORKFLOW.replace("checkout@v3", "checkout@v5").replace("v3.1", "v3.2"),
            WORKFLOW.replace("checkout@v3", "checkout@v5").replace("v3.1", "v3.3").replace("push", "pull_request"),
        ),
        [
            Dropped("main", 5, b"      - uses: actions/checkout@v4"),
            Dropped("main", 10, b"      - uses: actions/checkout@v4"),
            Dropped("unit", 7, b'        uses: "actions/cache@v3.2"  # warm'),
        ],
    ),
    "Dockerfile": (
        "docker/Dockerfile",
        (
            "FROM --platform=linux/amd64 python:3.11 AS a\nRUN x\n",
            "FROM --platform=linux/amd64 python:3.12 AS a\nRUN x\n",
            "FROM --platform=linux/amd64 python:3.13 AS a\nRUN x\nRUN y\n",
            "FROM --platform=linux/amd64 python:3.13 AS a\nRUN x\nRUN y\n",
        ),
        [Dropped("main", 1, b"FROM --platform=linux/amd64 python:3.12 AS a")],
    ),
}


@pytest.mark.parametrize("name", WINS)
def test_the_higher_version_is_taken_and_the_lines_with_the_lower_one_are_listed(name: str) -> None:
    path, (base, main, unit, merged), dropped = WINS[name]
    asked = conflict(path, base, main, unit)
    assert run_cascade(asked).texts == ()
    found = higher_version(asked)
    assert isinstance(found, Resolved), found
    assert (found.text.decode(), found.resolver, list(found.dropped)) == (merged, "higher-version", dropped)
    assert found.added == tuple(line for line in merged.encode().split(b"\n") if line not in main.encode().split(b"\n"))


@pytest.mark.parametrize("name", WINS)
def test_swapping_the_sides_takes_the_same_versions(name: str) -> None:
    path, (base, main, unit, merged), dropped = WINS[name]
    found = higher_version(conflict(path, base, unit, main))
    assert isinstance(found, Resolved), found
    assert found.text.decode() == merged
    assert sorted((line.side, line.text) for line in found.dropped) == sorted(
        ("unit" if line.side == "main" else "main", line.text) for line in dropped
    )


@pytest.mark.parametrize("name", WINS)
def test_line_ends_byte_order_mark_and_last_line_end_stay(name: str) -> None:
    path, (base, main, unit, merged), dropped = WINS[name]
    base, main, unit, merged = (f"\ufeff{text[:-1]}".replace("\n", "\r\n") for text in (base, main, unit, merged))
    found = higher_version(conflict(path, base, main, unit))
    assert isinstance(found, Resolved), found
    assert (found.text.decode(), list(found.dropped)) == (merged, dropped)


def test_both_may_have_added_the_dependency_or_the_whole_file() -> None:
    found = higher_version(conflict("requirements.txt", "a==1\n", "a==1\nb==2\n", "a==1\nb==3\n"))
    assert found == Resolved(b"a==1\nb==3\n", "higher-version", (b"b==3",), (Dropped("main", 2, b"b==2"),))
    found = higher_version(conflict("requirements.txt", None, "a==1\nb==4\n", "a==1\nb==3\n"))
    assert found == Resolved(b"a==1\nb==4\n", "higher-version", (), (Dropped("unit", 2, b"b==3"),))


def test_a_version_and_a_table_with_a_higher_one_become_the_table() -> None:
    base = '[dependencies]\na = "1"\n'
    unit = base + 'b = { version = "1.2", features = ["x"] }\n'
    found = higher_version(conflict("Cargo.toml", base, base + 'b = "1.3"\n', unit))
    assert isinstance(found, Resolved)
    assert found.text.decode() == base + 'b = { version = "1.3", features = ["x"] }\n'
    assert found.dropped == (Dropped("unit", 3, b'b = { version = "1.2", features = ["x"] }'),)


def test_without_a_clash_it_is_what_the_kind_makes() -> None:
    asked = conflict("requirements.txt", "a==1\n", "a==2\n", "a==1\nb==1\n")
    found = higher_version(asked)
    assert found == Resolved(run_cascade(asked).texts[0].text, "higher-version", (b"b==1",))


def packages(main: str, unit: str, base: str = "1.0.0") -> str:
    texts = (f'{{\n  "dependencies": {{\n    "a": "{version}"\n  }}\n}}\n' for version in (base, main, unit))
    return reason("package.json", *texts)


@pytest.mark.parametrize(
    ("main", "unit", "why"),
    [
        ("^1.1.0", "~1.2.0", "of one form"),
        ("1.1.0", "^1.2.0", "of one form"),
        ("1.1.0-rc.1", "1.2.0", "both plain versions"),
        ("1.1", "1.2", "both plain versions"),
        ("1.x", "1.2.0", "both plain versions"),
        (">=1.1.0", ">=1.2.0", "both plain versions"),
        ("1.1.0 || 2.0.0", "1.2.0", "both plain versions"),
        ("latest", "1.2.0", "both plain versions"),
        ("file:../a", "1.2.0", "both plain versions"),
        ("1.1.00000000000000", "1.2.0", "both plain versions"),
    ],
)
def test_what_does_not_compare_is_refused(main: str, unit: str, why: str) -> None:
    said = f'"dependencies.a" is changed on both sides, and "{main}" and "{unit}" are not {why}'
    assert packages(main, unit) == said


def test_a_version_that_a_side_lowered_is_refused() -> None:
    lowered = '"dependencies.a" was lowered on purpose by {}, from "2.0.0"'
    assert packages("1.5.0", "2.1.0", base="2.0.0") == lowered.format("main")
    assert packages("2.1.0", "1.5.0", base="2.0.0") == lowered.format("the unit")


def test_a_version_that_a_side_removed_is_refused() -> None:
    assert reason("requirements.txt", "a==1\nb==1\n", "b==1\n", "a==2\nb==1\n") == (
        'requirements: "a" is removed on main and changed by the unit'
    )


REFUSED: dict[str, tuple[str, ...]] = {
    "something else clashes too": (
        "package.json",
        '{\n  "license": "A",\n  "dependencies": {\n    "a": "1.0.0"\n  }\n}\n',
        '{\n  "license": "B",\n  "dependencies": {\n    "a": "1.1.0"\n  }\n}\n',
        '{\n  "license": "C",\n  "dependencies": {\n    "a": "1.2.0"\n  }\n}\n',
        'package-json: "license" is changed on both sides, differently; json: npm\'s files have a kind of their own',
    ),
    "the version of the project is no dependency": (
        "Cargo.toml",
        *(f'[package]\nname = "a"\nversion = "{version}"\n' for version in ("1.0.0", "1.1.0", "1.2.0")),
        'toml: "package.version" is changed on both sides, differently ("1.1.0" and "1.2.0")',
    ),
    "hashes belong to their version": (
        "requirements.txt",
        *(f"a=={n} --hash=md5:{n}\n" for n in (1, 2, 3)),
        '"a" is changed on both sides, and "==2 --hash=md5:2" and "==3 --hash=md5:3" are not both plain versions',
    ),
    "one version in two forms": (
        "requirements.txt",
        *("a==1\n", "a==2\n", "a==2.0\n"),
        '"a" is changed on both sides, and "==2" and "==2.0" are one version',
    ),
    "a tag that moves": (
        "Dockerfile",
        *("FROM a:1\n", "FROM a:2\n", "FROM a:2.5\n"),
        '"a" is changed on both sides, and "2" and "2.5" are not of one form',
    ),
    "a tag with a name": (
        "Dockerfile",
        *("FROM a:1-slim\n", "FROM a:2-slim\n", "FROM a:3-slim\n"),
        '"a" is changed on both sides, and "2-slim" and "3-slim" are not both plain versions',
    ),
    "a new place with the lower tag": (
        ".github/workflows/a.yml",
        "on: push\nsteps:\n  - uses: a/b@v1\n",
        "on: push\nsteps:\n  - uses: a/b@v2\n  - uses: a/b@v2\n",
        "on: push\nsteps:\n  - uses: a/b@v3\n",
        '"a/b" is at 2 places on a side and at 1 before',
    ),
    "a file of another kind": (
        *("notes.txt", "a==1\n", "a==2\n", "a==3\n"),
        "higher-version does not know this kind of file",
    ),
    "no text": ("package.json", "{}", "\0", "{}\n", "the file is binary (it holds NUL bytes)"),
    "no TOML": ("Cargo.toml", "", "a = 1\n", "a = \n", "toml: the file is no TOML in the unit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_why(name: str) -> None:
    path, base, main, unit, why = REFUSED[name]
    assert reason(path, base, main, unit) == why


def test_a_digest_belongs_to_its_tag() -> None:
    texts = (f"FROM a:{n}@sha256:{n}\n" for n in (1, 2, 3))
    assert reason("Dockerfile", *texts).startswith("dockerfile: ")


def test_bytes_that_are_no_text_are_refused_and_shown() -> None:
    found = higher_version(FileConflict("requirements.txt", b"a==1\n", b"a==2\xff\n", b"a==3\n"))
    said = '"a" is changed on both sides, and "==2\ufffd" and "==3" are not both plain versions'
    assert found == Refused(said)
