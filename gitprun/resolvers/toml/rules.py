"""What is known about the arrays and tables of TOML files, by their path."""

from __future__ import annotations

import re
from collections.abc import Callable

from gitprun.resolvers.tree import ValueRules, by_fields, by_first
from gitprun.resolvers.tree.rules import Path, RowKey

# Arrays of these names hold a set wherever they stand; the order of any other array may count.
SETS = frozenset(
    (
        "allow",
        "allowed-confusables",
        "authors",
        "categories",
        "classifiers",
        "components",
        "deny",
        "dependencies",
        "dev-dependencies",
        "disable",
        "dynamic",
        "enable",
        "exclude",
        "exclude_also",
        "exclude_lines",
        "extend-exclude",
        "extend-fixable",
        "extend-ignore",
        "extend-select",
        "extend-unsafe-fixes",
        "extras",
        "features",
        "fixable",
        "gui-scripts",
        "ignore",
        "include",
        "keywords",
        "known-first-party",
        "known-third-party",
        "license-files",
        "maintainers",
        "markers",
        "members",
        "namespaces",
        "norecursedirs",
        "omit",
        "optional-dependencies",
        "per-file-ignores",
        "platforms",
        "required-features",
        "select",
        "tags",
        "targets",
        "testpaths",
        "unfixable",
        "unsafe-fixes",
        "workspaces",
    )
)

# The package alone: extras, versions and markers behind it are what the item says of it.
_REQUIREMENT = re.compile(r"""["']\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)""")
# The plainest name first; pairs are for lists in which one name stands at several versions, as in locks.
_ROWS: tuple[RowKey, ...] = (
    by_fields("id"),
    by_fields("name"),
    by_fields("name", "version"),
    by_fields("name", "version", "source"),
    by_fields("key"),
    by_fields("module"),
    by_fields("path"),
    by_fields("url"),
    by_fields("package"),
    by_fields("filename"),
    by_first("id", "name", "key", "email"),
)


def rules_for(path: str) -> ValueRules:
    """Return the rules of the file at a path."""
    name = path.rsplit("/", 1)[-1]
    if name == "pyproject.toml":
        return _make(_is_requirements, _requirement_name)
    return _make(_is_cargo_set if name == "Cargo.toml" else _is_set)


def lock_rules() -> ValueRules:
    """Return the rules of a lock file: each package is one thing."""
    # A lock may hold one name and version from two sources.
    package = by_fields("name", "version", optional=("source",))
    return ValueRules(
        canon=canon,
        is_set=lambda path: False,
        item_name=lambda path, text: None,
        row_keys=lambda path: (package,) if path == ("package",) else _ROWS,
        # Half of one block and half of another is a package that no tool has ever resolved.
        is_atomic=lambda path: path[:1] == ("package",),
    )


def canon(text: str) -> str | None:
    """Reduce a scalar to what it means: one spelling for simple strings, other values as they are written."""
    # Only where both spellings hold the same characters: a backslash is an escape in one of them.
    if text[:1] == "'" and text[:3] != "'''" and '"' not in text and "\\" not in text:
        return f'"{text[1:-1]}"'
    return text


def _make(is_set: Callable[[Path], bool], item_name: Callable[[Path, str], str | None] | None = None) -> ValueRules:
    return ValueRules(canon, is_set, item_name or (lambda path, text: None), lambda path: _ROWS)


def _is_set(path: Path) -> bool:
    return (bool(path) and path[-1] in SETS) or "per-file-ignores" in path


def _is_cargo_set(path: Path) -> bool:
    # Every key of [features] is a name somebody chose, so no list of names can hold them.
    return _is_set(path) or path[:1] == ("features",)


def _is_requirements(path: Path) -> bool:
    return _is_set(path) or _holds_requirements(path)


def _holds_requirements(path: Path) -> bool:
    """Check whether an array holds requirements of Python packages."""
    if path in (("build-system", "requires"), ("project", "dependencies"), ("tool", "uv", "dev-dependencies")):
        return True
    groups = ("project", "optional-dependencies"), ("dependency-groups",), ("tool", "pdm", "dev-dependencies")
    if path[:-1] in groups:
        return True
    # hatch keeps requirements per environment, whatever that is called.
    return path[:3] == ("tool", "hatch", "envs") and path[-1] in ("dependencies", "extra-dependencies")


def _requirement_name(path: Path, text: str) -> str | None:
    """Name a requirement by its package, as package indexes spell it."""
    found = _REQUIREMENT.match(text) if _holds_requirements(path) else None
    return re.sub(r"[-_.]+", "-", found.group(1)).lower() if found else None
