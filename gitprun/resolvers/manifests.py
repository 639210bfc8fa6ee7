"""Manifests and their lock files: what a manifest asks for must be in the lock, whichever branch changed which."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gitprun.model.lists import listed

_SECTIONS = ("dependencies", "devDependencies", "optionalDependencies")
_CARGO = ("dependencies", "dev-dependencies", "build-dependencies")
# The head of an entry, of yarn 1 and of berry: a scope's own "@" is not the one before the range.
_YARN = re.compile(r'^"?((?:@[^@/"\s]+/)?[^@/"\s]+)@', re.MULTILINE)
# Up to an extra, a marker or a version, by the names PEP 508 allows.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Names with the version asked for, where that can be compared.
Wanted = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pair:
    """A manifest and a lock in one folder, the command that makes the lock anew, and how both are read.

    ``stale`` takes the texts of manifest and lock and names the packages in which they disagree; None where it
    cannot tell.
    """

    manifest: str
    lock: str
    command: str
    stale: Callable[[bytes, bytes], frozenset[str] | None]


def _npm(manifest: bytes, lock: bytes) -> frozenset[str] | None:
    wanted, locked = _json_wanted(manifest), _load_json(lock)
    packages = locked.get("packages") if locked is not None else None
    if wanted is None or not isinstance(packages, dict):
        return None
    # Nested copies count too: which of them meets what is the lock resolver's question, not this one.
    names = {str(key).rpartition("node_modules/")[2] for key in packages}
    root = packages.get("")
    # packages[""] repeats the manifest npm made the lock from; ranges can be compared with it, without reading one.
    asked = _sections(root, _SECTIONS) if isinstance(root, dict) else wanted
    return frozenset(name for name, version in wanted.items() if name not in names or asked.get(name) != version)


def _yarn(manifest: bytes, lock: bytes) -> frozenset[str] | None:
    wanted = _json_wanted(manifest)
    names = {*_YARN.findall(lock.decode("utf-8", "replace"))}
    return None if wanted is None or not names else frozenset(wanted) - names


def _cargo(manifest: bytes, lock: bytes) -> frozenset[str] | None:
    asked, names = _load_toml(manifest), _toml_packages(lock)
    if asked is None or names is None:
        return None
    # [target.'cfg(unix)'.dependencies] asks for packages like the tables at the top.
    tables = [asked, *(each for each in _tables(asked.get("target")).values() if isinstance(each, dict))]
    found: set[str] = set()
    for table in tables:
        for section in _CARGO:
            for name, about in _tables(table.get(section)).items():
                # foo = { package = "bar" }: the lock knows the package by its own name.
                renamed = about.get("package") if isinstance(about, dict) else None
                found.add(str(renamed or name))
    return frozenset(found) - names


def _python(manifest: bytes, lock: bytes) -> frozenset[str] | None:
    asked, names = _load_toml(manifest), _toml_packages(lock)
    if asked is None or names is None:
        return None
    listed = _tables(asked.get("project")).get("dependencies")
    words = [_NAME.match(row.strip()) for row in listed if isinstance(row, str)] if isinstance(listed, list) else []
    # poetry lists what it wants outside of [project]; "python" there is the interpreter, no package.
    poetry = _tables(_tables(_tables(asked.get("tool")).get("poetry")).get("dependencies"))
    wanted = {_plain(found.group()) for found in words if found} | {_plain(name) for name in poetry if name != "python"}
    return frozenset(wanted) - {_plain(name) for name in names}


PAIRS = (
    Pair("package.json", "package-lock.json", "npm install --package-lock-only", _npm),
    Pair("package.json", "npm-shrinkwrap.json", "npm shrinkwrap", _npm),
    Pair("package.json", "yarn.lock", "yarn install", _yarn),
    Pair("Cargo.toml", "Cargo.lock", "cargo update --workspace", _cargo),
    Pair("pyproject.toml", "uv.lock", "uv lock", _python),
    Pair("pyproject.toml", "poetry.lock", "poetry lock", _python),
)
NAMES = frozenset(name for pair in PAIRS for name in (pair.manifest, pair.lock))


def find_stale(pair: Pair, sides: Iterable[tuple[bytes, bytes]], merged: tuple[bytes, bytes]) -> tuple[str, ...]:
    """Name the packages in which manifest and lock of a merge disagree although neither side's do."""
    # The merge first: most are in step, and the sides need not be read.
    stale = pair.stale(*merged)
    if not stale:
        return ()
    # What a side was out of step with by itself is not the merge's doing.
    for manifest, lock in sides:
        stale -= pair.stale(manifest, lock) or frozenset()
    if not stale:
        return ()
    # Five names tell which command was forgotten; the command itself makes all of them anew.
    names = listed(sorted(stale), 5)
    return (f"it does not agree with {pair.manifest} about {names}; make it anew with: {pair.command}",)


def _load_json(text: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    # A worker's file may be nested thousands deep; that it cannot be read is no answer about packages.
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _json_wanted(text: bytes) -> Wanted | None:
    found = _load_json(text)
    return None if found is None else _sections(found, _SECTIONS)


def _sections(table: Mapping[str, object], names: Iterable[str]) -> Wanted:
    return {str(key): str(value) for name in names for key, value in _tables(table.get(name)).items()}


def _tables(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _load_toml(text: bytes) -> dict[str, object] | None:
    # Inside, for only half of the pairs need the TOML reader.
    from gitprun.resolvers.toml.check import decode_one, load

    decoded = decode_one(text)
    return None if decoded is None else load(decoded)


def _toml_packages(text: bytes) -> frozenset[str] | None:
    found = _load_toml(text)
    rows = found.get("package") if found is not None else None
    if not isinstance(rows, list):
        return None
    return frozenset(str(row.get("name")) for row in rows if isinstance(row, dict))


def _plain(name: str) -> str:
    # PEP 503: the index and the locks take Foo.Bar, foo_bar and foo-bar for one name.
    return re.sub(r"[-_.]+", "-", name).lower()
