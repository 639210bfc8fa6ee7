"""Hotspots: files that every unit touches, and by which policy their conflicts are settled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

from gitprun.model.errors import PlanError
from gitprun.model.globs import matches
from gitprun.model.tables import Table

if TYPE_CHECKING:
    from gitprun.resolvers.base import FileConflict, Refused, Resolved

Policy = Literal["union", "ours", "theirs", "higher-version", "renumber"]

# Those that keep the lines of both sides, or say which of two values is right whoever wrote it.
WITHOUT_SIDES: tuple[Policy, ...] = ("union", "higher-version", "renumber")
# A resolver named in the configuration stands for the policy that it carries out.
_BY_RESOLVER: dict[str, Policy] = {"lines": "union", "higher-version": "higher-version", "renumber": "renumber"}


@dataclass(frozen=True, slots=True)
class Hotspot:
    """Paths that match the pattern ``path`` (see ``gitprun.model.globs``) and what is special about them.

    ``policy`` settles conflicts that no resolver proved a text for; ``after`` are commands that run once in a landing
    that changes such a path, and what they change in tracked files, or in new ones that match a pattern of
    ``produces``, becomes part of the landing.
    """

    path: str
    policy: Policy | None = None
    after: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()


# Lists by convention. The line resolver proves each union or leaves the conflict; of an ignore list it does not know
# that the order of patterns counts, and what the resolver of that kind refuses is left to a person.
BUILTIN: tuple[Hotspot, ...] = (
    *(Hotspot(path, "union") for path in ("todo.md", "TODO.md", "TODO", "CHANGELOG.md")),
    Hotspot(".gitignore"),
)

# Locks are written anew by whoever adds a dependency, so every unit may come by one.
LOCKS = frozenset(
    {
        *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"),
        *("uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "Pipfile.lock", "conda-lock.yml"),
        *("Cargo.lock", "go.sum", "go.work.sum", "Gemfile.lock", "composer.lock", "mix.lock", "rebar.lock"),
        *("pubspec.lock", "Podfile.lock", "Package.resolved", "Cartfile.resolved", "packages.lock.json"),
        *("gradle.lockfile", "deno.lock", "flake.lock", "MODULE.bazel.lock", "Chart.lock", ".terraform.lock.hcl"),
    }
)


def is_common(path: str) -> bool:
    """Check whether a path is a built-in hotspot: a lock, a todo list, a changelog, which any unit may touch."""
    name = path.rpartition("/")[2]
    return name in LOCKS or any(row.path == name for row in BUILTIN)


def parse_hotspots(rows: object, source: str) -> tuple[Hotspot, ...]:
    """Read the ``[[hotspot]]`` rows of a configuration file; raises PlanError naming row, key and file."""
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise PlanError(f"{source}: hotspot must be written as [[hotspot]]")
    return tuple(_parse_row(Table(row, source, f"[[hotspot]] {n}:")) for n, row in enumerate(rows, 1))


def hotspot_for(path: str, configured: Sequence[Hotspot]) -> Hotspot | None:
    """Find the hotspot whose policy holds for a path: the last configured row that matches, else a built-in one."""
    # A later row is the more particular one, as in .gitignore.
    for row in reversed(configured):
        if row.policy is not None and matches(row.path, path):
            return row
    # Built-in rows name files by convention, never a folder that happens to have such a name.
    name = path.rpartition("/")[2]
    return next((row for row in BUILTIN if row.path == name and row.policy is not None), None)


def settle(conflict: FileConflict, hotspot: Hotspot) -> Resolved | Refused:
    """Settle one conflicting file by the policy of its hotspot."""
    from gitprun.resolvers import POLICIES

    return POLICIES[hotspot.policy or "union"](conflict)


def after_commands(paths: Iterable[str], hotspots: Sequence[Hotspot]) -> tuple[Hotspot, ...]:
    """Return the rows whose commands have to run because one of the paths changed, as configured."""
    changed = tuple(paths)
    return tuple(row for row in hotspots if row.after and any(matches(row.path, path) for path in changed))


def parse_favor(text: str) -> Hotspot:
    """Read ``PATH=POLICY`` of a command line; raises PlanError."""
    path, _, policy = text.rpartition("=")
    if not path or policy not in get_args(Policy):
        raise PlanError(
            f"--favor {text!r} is not PATH=POLICY",
            f"policies: {', '.join(get_args(Policy))}; such as --favor a.txt=ours",
        )
    return Hotspot(path, cast("Policy", policy))


def _parse_row(row: Table) -> Hotspot:
    path = row.text("path")
    policy = cast("Policy | None", row.choice("policy", get_args(Policy)))
    resolver = row.choice("resolver", tuple(_BY_RESOLVER))
    after, produces = row.texts("after") or (), row.texts("produces") or ()
    row.close()
    if path is None:
        raise row.problem("path", "is missing", 'name files by a pattern, such as path = "src/routes.txt"')
    if path.startswith("!"):
        raise row.problem("path", f"cannot be {path!r}: a hotspot has no exceptions", "a later row wins over this one")
    by_resolver = _BY_RESOLVER[resolver] if resolver else None
    if policy and by_resolver and policy != by_resolver:
        raise row.problem("resolver", f'= "{resolver}" means policy = "{by_resolver}", not "{policy}"', "keep one")
    chosen = policy or by_resolver
    if produces and not after:
        raise row.problem("produces", "says what after = [...] makes, and that is missing")
    if chosen is None and not after:
        raise row.problem("policy", "is missing", f"one of: {', '.join(get_args(Policy))}")
    return Hotspot(path, chosen, after, produces)
