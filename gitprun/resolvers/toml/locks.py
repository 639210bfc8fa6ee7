"""Lock files in TOML: the packages of both sides, each block whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gitprun.resolvers.base import FileConflict, Refused, Resolved, quote, take_plain
from gitprun.resolvers.toml.check import decode_one, find_toml_faults, load
from gitprun.resolvers.toml.resolve import merge_texts
from gitprun.resolvers.toml.rules import lock_rules
from gitprun.resolvers.tree.locked import Versions, contested
from gitprun.resolvers.tree.texts import decode, encode

NAME = "lock"
# Lock files are long and plain: they may be larger than what people write.
# The cascade's own limit cuts at 1 MB, too: beyond it no resolver is asked.
LOCK_LIMIT = 1 << 20

COMMANDS = {
    "Cargo.lock": "cargo update -w",
    "pdm.lock": "pdm lock",
    "poetry.lock": "poetry lock",
    "uv.lock": "uv lock",
}


def merge_lock(conflict: FileConflict) -> Resolved | Refused:
    """Merge the packages that both sides added, removed or changed; refuse where one is changed on both sides."""
    texts = decode(conflict, limit=LOCK_LIMIT)
    if isinstance(texts, Refused):
        return texts
    plain = take_plain(conflict, texts.triple, NAME)
    if plain is not None:
        return plain
    name = _file_name(conflict.path)
    merged = merge_texts(texts, lock_rules())
    if isinstance(merged, Refused):
        return _advise(name, merged.reason)
    values = [load(text) or {} for text in (texts.base, texts.main, texts.unit, merged)]
    # Two upgrades of one package would leave both versions in the lock, which no tool chose.
    fault = contested(*(_versions(value) for value in values[:3])) or _dangling_new(name, *values[1:])
    return _advise(name, fault) if fault else encode(texts, merged, NAME)


def find_lock_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a lock file: no TOML, a package twice, and in Cargo.lock a package that is missing."""
    decoded = decode_one(text, LOCK_LIMIT)
    value = load(decoded) if decoded is not None else None
    if value is None:
        return find_toml_faults(path, text)
    # One name and version may be locked from two sources (a registry and a git fork): that is in order.
    found = Counter((p.name, p.version, repr(p.source)) for p in _packages(value))
    double = [f"{_show(name, version)} is locked twice" for (name, version, _), n in found.items() if n > 1]
    # Only cargo locks all that its packages name; in other locks they may name optional ones that are not there.
    missing = _dangling(_file_name(path), value) if _file_name(path) == "Cargo.lock" else []
    return (*double, *missing)


def _advise(name: str, reason: str) -> Refused:
    command = COMMANDS.get(name)
    return Refused(f"{reason}; regenerate with: {command}" if command else reason)


def _file_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


class _Package(NamedTuple):
    """One locked package; ``needs`` is whatever stands under its dependencies."""

    name: str
    version: str
    source: object
    needs: object


def _packages(value: Mapping[str, object]) -> Iterator[_Package]:
    found = value.get("package")
    for package in found if isinstance(found, list) else ():
        # A worker's file may hold anything under these names; what is no text is no package.
        if isinstance(package, dict) and all(isinstance(package.get(key, ""), str) for key in ("name", "version")):
            source, needs = package.get("source", ""), package.get("dependencies")
            yield _Package(package.get("name", ""), package.get("version", ""), source, needs)


def _versions(value: Mapping[str, object]) -> Versions:
    found: Versions = {}
    for package in _packages(value):
        found.setdefault(package.name, set()).add(f"{package.version} {package.source}")
    return found


def _dangling_new(
    name: str, main: Mapping[str, object], unit: Mapping[str, object], merged: Mapping[str, object]
) -> str | None:
    # What a side lacks by itself is no fault of the merge.
    known = {*_dangling(name, main), *_dangling(name, unit)}
    return next((fault for fault in _dangling(name, merged) if fault not in known), None)


def _dangling(name: str, value: Mapping[str, object]) -> list[str]:
    """List each dependency that no package of the file provides."""
    reader = _NEEDS.get(name)
    if reader is None:
        return []
    packages = list(_packages(value))
    names = Counter(_plain(p.name) for p in packages)
    exact = {(_plain(p.name), p.version) for p in packages}
    faults: list[str] = []
    for package in packages:
        for needed, version in reader(package):
            key = _plain(needed)
            whom = f"{_show(package.name, package.version)} needs {quote(f'{needed} {version}'.encode())}"
            if key not in names or (version and (key, version) not in exact):
                faults.append(f"{whom}, which is not locked")
            # Cargo names the version only where there are several: after a merge "foo" alone may have become ambiguous.
            elif not version and names[key] > 1 and name == "Cargo.lock":
                faults.append(f"{whom}, which is locked at several versions")
    return list(dict.fromkeys(faults))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _show(name: str, version: str) -> str:
    return quote(f"{name} {version}".encode())


def _cargo_needs(package: _Package) -> Iterator[tuple[str, str]]:
    for needed in package.needs if isinstance(package.needs, list) else ():
        parts = needed.split(" ") if isinstance(needed, str) else []
        if parts:
            yield parts[0], parts[1] if len(parts) > 1 else ""


def _poetry_needs(package: _Package) -> Iterator[tuple[str, str]]:
    found = package.needs
    yield from ((name, "") for name in found) if isinstance(found, dict) else ()


def _uv_needs(package: _Package) -> Iterator[tuple[str, str]]:
    found = package.needs
    for needed in found if isinstance(found, list) else ():
        if isinstance(needed, dict) and isinstance(needed.get("name"), str):
            version = needed.get("version", "")
            yield needed["name"], version if isinstance(version, str) else ""


_NEEDS: dict[str, Callable[[_Package], Iterator[tuple[str, str]]]] = {
    "Cargo.lock": _cargo_needs,
    "poetry.lock": _poetry_needs,
    "uv.lock": _uv_needs,
}
