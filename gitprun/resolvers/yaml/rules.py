"""What is known about the lists of YAML files, by their path."""

from __future__ import annotations

import re

from gitprun.resolvers.tree import ValueRules, by_fields, by_first
from gitprun.resolvers.tree.rules import Path, RowKey
from gitprun.resolvers.yaml.scalars import canon

# The order of these lists counts; any other list of scalars is a set.
ORDERED = frozenset(
    (
        "after_script",
        "args",
        "before_script",
        "cmd",
        "command",
        "commands",
        "entrypoint",
        "extends",
        "filters",
        "handlers",
        "install",
        "middleware",
        "middlewares",
        "nameservers",
        "order",
        "paths",
        "pipeline",
        "plugins",
        "presets",
        "resolution",
        "run",
        "script",
        "scripts",
        "search",
        "sequence",
        "stages",
        "steps",
        "test",
        "transforms",
    )
)

_VARIABLE = r"[^=]+"
_PACKAGE = r"@?[A-Za-z0-9._/-]+"
# "FOO=1" and "FOO=2" are two values of one variable, not two items.
_NAMED = {
    "additional_dependencies": _PACKAGE,
    "build-args": _VARIABLE,
    "dependencies": _PACKAGE,
    "env": _VARIABLE,
    "environment": _VARIABLE,
    "labels": _VARIABLE,
    "packages": _PACKAGE,
}

_ROWS: tuple[RowKey, ...] = (
    by_fields("id"),
    by_fields("name"),
    by_fields("key"),
    # Kubernetes takes one port with TCP and with UDP for two.
    by_fields("containerPort", optional=("protocol",)),
    by_fields("port", optional=("protocol",)),
    by_fields("mountPath"),
    by_fields("name", "in"),
    by_fields("repo"),
    by_fields("url"),
    by_fields("host"),
    by_fields("path"),
)
# A step often has no id; then what it uses or runs is what people know it by.
_STEPS: tuple[RowKey, ...] = (by_first("id", "name", "uses", "run"),)
# OpenAPI: a parameter is written out, or stands elsewhere.
_REFERENCES: tuple[RowKey, ...] = (by_first("$ref", "name"),)


def yaml_rules() -> ValueRules:
    """Return the rules of files that people write."""
    return ValueRules(canon, _is_set, _item_name, _row_keys)


def pnpm_rules() -> ValueRules:
    """Return the rules of pnpm's lock file: each resolved package is one thing."""
    return ValueRules(canon, _is_set, _item_name, _row_keys, _is_locked)


def _is_set(path: Path) -> bool:
    return bool(path) and path[-1] not in ORDERED


def _item_name(path: Path, text: str) -> str | None:
    """Name an item that says something about a name: a variable's value, a package's version."""
    sign = _NAMED.get(path[-1] if path else "")
    means = canon(text)
    found = re.match(sign, means[1:]) if sign and means else None
    return found.group() if found else None


def _row_keys(path: Path) -> tuple[RowKey, ...]:
    last = path[-1] if path else ""
    return _ROWS + _STEPS if last == "steps" else _ROWS + _REFERENCES if last == "parameters" else _ROWS


def _is_locked(path: Path) -> bool:
    if path[:1] in (("packages",), ("snapshots",)):
        # The package's own entry: below it nothing is merged, above it everything.
        return len(path) == 2
    return path[:1] == ("importers",) and len(path) == 4
