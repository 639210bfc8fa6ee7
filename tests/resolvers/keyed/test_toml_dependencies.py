"""A dependency that both sides added with one version: a text and a table, or two tables with other features."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import FileConflict
from gitprun.resolvers.cascade import run_cascade

CARGO = '[package]\nname = "x"\n\n[dependencies]\nserde = "1"\n'
POETRY = '[tool.poetry.group.dev.dependencies]\npython = "^3.11"\n'


def added(main: str, unit: str, path: str = "crates/a/Cargo.toml", base: str = CARGO) -> str:
    """Give what the merge has after the base, or why there is none."""
    texts = (base, f"{base}{main}\n", f"{base}{unit}\n")
    answer = run_cascade(FileConflict(path, *(text.encode() for text in texts)))
    if not answer.texts:
        return f"[{answer.reason}]"
    text = answer.texts[0].text.decode()
    assert text.startswith(base)
    return text[len(base) : -1]


TABLE = 'tokio = { version = "1", features = ["full"] }'
SAME = {
    "a text and a table": ('tokio = "1"', TABLE, TABLE),
    "in other quotes": ("tokio = '1'", TABLE, TABLE),
    "a comment stays": ('tokio = "1" # net', TABLE, f"{TABLE} # net"),
    "features are a set": (
        TABLE,
        'tokio = { features = ["macros", "full"], version = "1" }',
        'tokio = { version = "1", features = ["full", "macros"] }',
    ),
    "sorted features stay sorted": (
        'tokio = { version = "1", features = ["net", "rt"] }',
        'tokio = { version = "1", features = ["macros", "rt"] }',
        'tokio = { version = "1", features = ["macros", "net", "rt"] }',
    ),
    "features of one side": ('tokio = { version = "1" }', TABLE, TABLE),
    "what both say": (
        'tokio = { version = "1", optional = true }',
        'tokio = { version = "1", optional = true, features = ["a"] }',
        'tokio = { version = "1", optional = true, features = ["a"] }',
    ),
    "beside others": ('tokio = "1"\nz = "1"', f'a = "1"\n{TABLE}', f'a = "1"\n{TABLE}\nz = "1"'),
}


@pytest.mark.parametrize("name", SAME)
def test_nothing_is_lost(name: str) -> None:
    main, unit, merged = SAME[name]
    assert added(main, unit) == merged


@pytest.mark.parametrize("name", SAME)
def test_the_sides_may_be_swapped(name: str) -> None:
    main, unit, merged = SAME[name]
    swapped = added(unit, main)
    assert sorted(swapped.replace(" ]", "]")) == sorted(merged)


def test_tables_of_poetry_are_read_alike_and_other_files_are_not() -> None:
    main, unit = 'x = "^1"', 'x = { version = "^1", extras = ["full"] }'
    assert added(main, unit, "pyproject.toml", POETRY) == unit
    differs = '[toml: "{}.x" is added on both sides, differently]'
    assert added(main, unit, "other.toml", POETRY) == differs.format("tool.poetry.group.dev.dependencies")
    project = '[project]\nname = "x"\n[project.dependencies]\na = "1"\n'
    assert added(main, unit, "pyproject.toml", project) == differs.format("project.dependencies")


@pytest.mark.parametrize(
    ("main", "unit"),
    [
        ('tokio = "1"', 'tokio = { version = "2", features = ["full"] }'),
        ('tokio = "1"', 'tokio = { version = "1", optional = true }'),
        ('tokio = "1"', 'tokio = { version = "1", default-features = false }'),
        ('tokio = "1"', 'tokio = { version = "1", path = "../tokio" }'),
        ('tokio = "1"', 'tokio = { features = ["full"], git = "x" }'),
        ('tokio = { version = "1", optional = true }', 'tokio = { version = "1", optional = false, features = ["a"] }'),
        ('tokio = { version = "1", features = ["a"] }', 'tokio = { version = "1", features = [\n  "b",\n] }'),
        ("tokio = 1", 'tokio = { version = "1", features = ["a"] }'),
    ],
)
def test_what_would_take_something_away_is_refused(main: str, unit: str) -> None:
    assert added(main, unit) == '[toml: "dependencies.tokio" is added on both sides, differently]'
    assert added(unit, main) == '[toml: "dependencies.tokio" is added on both sides, differently]'


def test_a_dependency_that_the_base_has_is_changed_and_not_added() -> None:
    base = CARGO + 'tokio = "1"\n'
    main, unit = (CARGO + f'tokio = {{ version = "1", features = ["{name}"] }}\n' for name in "ab")
    answer = run_cascade(FileConflict("Cargo.toml", base.encode(), main.encode(), unit.encode()))
    assert answer.reason == 'toml: "dependencies.tokio" is changed on both sides, differently'
