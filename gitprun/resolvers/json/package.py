"""npm's files: the manifest, and the lock that must provide what it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.entries import show_key
from gitprun.resolvers.json.faults import document_faults, read_bytes
from gitprun.resolvers.json.reader import Document, JsonNode, meaning, unescape
from gitprun.resolvers.json.resolve import resolve_json

MANIFESTS = ("package.json",)
LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
# Only npm can choose versions; the command rewrites the lock and leaves node_modules as it is.
HINT = "regenerate with: npm install --package-lock-only"

_TOP = "node_modules/"
# Peers and optional packages may be missing from a lock that is in order.
_ROOT_SECTIONS = ("dependencies", "devDependencies")


def merge_manifest(conflict: FileConflict) -> Resolved | Refused:
    """Merge package.json by key; a package that would stand in two sections is refused."""
    return resolve_json(conflict, "package-json", _check_manifest)


def merge_lock(conflict: FileConflict) -> Resolved | Refused:
    """Merge npm's lock package by package, where npm itself matched every dependency with its version on a side."""
    answer = resolve_json(conflict, "package-lock", _check_lock)
    return Refused(f"{answer.reason} ({HINT})") if isinstance(answer, Refused) else answer


def manifest_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with package.json: what is wrong as JSON, and packages that stand in two sections."""
    document = read_bytes(text)
    doubles = _double_packages(document.root) if isinstance(document, Document) else ()
    return (*document_faults(document), *doubles)


def lock_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with npm's lock: what is wrong as JSON, and packages that are named but not there."""
    document = read_bytes(text)
    missing: list[str] = []
    if isinstance(document, Document):
        packages = _packages(document.root)
        for place, name, _ in _needs(packages):
            if _provider(packages, place, name) is None:
                by = f"{show_key(place)} needs" if place else "the project needs"
                missing.append(f"{by} {show_key(name)}, which the lock does not have ({HINT})")
    return (*document_faults(document), *dict.fromkeys(missing))


def _check_manifest(base: Document | None, main: Document, unit: Document, merged: Document) -> str | None:
    # What a side has already is not the merge's fault.
    known = {*_double_packages(main.root), *_double_packages(unit.root)}
    return next((fault for fault in _double_packages(merged.root) if fault not in known), None)


def _check_lock(base: Document | None, main: Document, unit: Document, merged: Document) -> str | None:
    """Check that each dependency is met by a version that met it on a side, and that both names of the root agree."""
    # lockfileVersion 1 does not hold what the project itself asks for, so nothing can be compared.
    if not _packages(merged.root):
        return "the lock is of version 1, which does not tell whether its packages fit together"
    known: set[tuple[str, str, str | None]] = set()
    for side in (main, unit):
        # npm itself matched these pairs of range and version; no range is ever computed here.
        known |= set(_matches(_packages(side.root)))
    for name, wanted, version in _matches(_packages(merged.root)):
        # A side may lack one already (bundled, or removed by hand); only a new gap is the merge's.
        if version is None and (name, wanted, None) not in known:
            return f"{show_key(name)} is needed and not in the lock"
        if (name, wanted, version) not in known:
            return f"neither side shows that {show_key(name)} {version} is what {show_key(wanted)} asks for"
    root = _packages(merged.root).get("")
    # npm writes both twice, at the top and under packages[""]; a bump on one side can part them.
    for field in ("name", "version"):
        top, inner = _text(merged.root, field), _text(root, field) if root else None
        if top and inner and top != inner:
            return f"the lock has two {field}s of the project, {show_key(top)} and {show_key(inner)}"
    return None


def _double_packages(root: JsonNode) -> tuple[str, ...]:
    first, second = (_section(root, name) for name in _ROOT_SECTIONS)
    return tuple(f"{show_key(name)} stands in dependencies and devDependencies" for name in first if name in second)


def _matches(packages: Mapping[str, JsonNode]) -> Iterator[tuple[str, str, str | None]]:
    """Yield every dependency: name, wanted range, and the version that the lock has for it there."""
    for place, name, wanted in _needs(packages):
        found = _provider(packages, place, name)
        yield name, wanted, None if found is None else _version(packages, found)


def _needs(packages: Mapping[str, JsonNode]) -> Iterator[tuple[str, str, str]]:
    for place, package in packages.items():
        # An installed package's own devDependencies are never installed.
        for section in ("dependencies",) if place else _ROOT_SECTIONS:
            for name, wanted in _section(package, section).items():
                yield place, name, wanted


def _version(packages: Mapping[str, JsonNode], place: str) -> str:
    package = packages[place]
    # A link stands for a folder of the project; where it leads is its version.
    return _text(package, "version") or _text(package, "resolved") or str(meaning(package))


def _provider(packages: Mapping[str, JsonNode], place: str, name: str) -> str | None:
    """Find the package that a dependency of the one at ``place`` is met by: the nearest on the way up."""
    # Node's way of finding a module: nested folders first, so two versions of one package can stand in a lock.
    while place:
        candidate = f"{place}/{_TOP}{name}"
        if candidate in packages:
            return candidate
        place = place.rpartition(f"/{_TOP}")[0] if f"/{_TOP}" in place else ""
    return f"{_TOP}{name}" if f"{_TOP}{name}" in packages else None


def _packages(root: JsonNode) -> dict[str, JsonNode]:
    """Return the packages of a lock by their place; none before version 2 of its format."""
    found = next((item.value for item in root.items if item.key == "packages"), None)
    if root.kind != "{" or found is None or found.kind != "{":
        return {}
    return {item.key: item.value for item in found.items if item.value.kind == "{"}


def _section(node: JsonNode, name: str) -> dict[str, str]:
    found = next((item.value for item in node.items if item.key == name), None)
    if node.kind != "{" or found is None or found.kind != "{":
        return {}
    return {item.key: unescape(item.value.text) if item.value.kind == '"' else item.value.text for item in found.items}


def _text(node: JsonNode, field: str) -> str | None:
    found = next((item.value for item in node.items if item.key == field), None)
    return unescape(found.text) if found is not None and found.kind == '"' else None
