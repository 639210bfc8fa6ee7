"""pnpm's lock file: importers, packages and snapshots of both sides, each resolved package whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from gitprun.resolvers.base import FileConflict, Refused, Resolved, quote, take_plain
from gitprun.resolvers.entries import show_key
from gitprun.resolvers.text import BOM
from gitprun.resolvers.tree import EntryGroup, TextUnreadable, render
from gitprun.resolvers.tree.locked import contested
from gitprun.resolvers.tree.texts import decode, encode
from gitprun.resolvers.yaml.check import find_yaml_faults
from gitprun.resolvers.yaml.plain import double_keys, plain_documents
from gitprun.resolvers.yaml.reader import read_yaml
from gitprun.resolvers.yaml.resolve import merge_texts
from gitprun.resolvers.yaml.rules import pnpm_rules

NAME = "pnpm-lock"
# Lock files are long and plain: read a package at a time, so they may be larger than what people write.
LOCK_LIMIT = 1 << 20
_COMMAND = "pnpm install --lockfile-only"
# What is below these is taken whole.
SHALLOW = ("packages", "snapshots")
# "key: value" or "key:", quoted or plain; list items, comments and flow maps have no key of their own.
_LINE = re.compile(r"^( +)((?:'[^'\n]*'|\"[^\"\n]*\"|[^\s#'\"{\[-][^\s:]*)):(?: +([^\n]*))?$", re.MULTILINE)
_NEEDS = ("dependencies", "devDependencies", "optionalDependencies")
# What is not taken from a registry is no package of the file.
_ELSEWHERE = re.compile(r"(?:link|file|workspace):")


def merge_pnpm(conflict: FileConflict) -> Resolved | Refused:
    """Merge what both sides added, removed or changed; refuse where one package is changed on both sides."""
    texts = decode(conflict, limit=LOCK_LIMIT)
    if isinstance(texts, Refused):
        return texts
    plain = take_plain(conflict, texts.triple, NAME)
    if plain is not None:
        return plain
    # Reading below each package too would take a large lock past the limit on time.
    merged = merge_texts(texts, pnpm_rules(), SHALLOW)
    if isinstance(merged, Refused):
        return Refused(f"{merged.reason}; regenerate with: {_COMMAND}")
    # Peers that are missing on a side already are pnpm's business, not the merge's.
    known = {*_dangling(texts.main), *_dangling(texts.unit)}
    fault = contested(*(_versions(text) for text in (texts.base, texts.main, texts.unit)))
    fault = fault or next((fault for fault in _dangling(merged) if fault not in known), None)
    return Refused(f"{fault}; regenerate with: {_COMMAND}") if fault else encode(texts, merged, NAME)


def find_pnpm_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a lock file: no YAML, a key twice, a package that is needed and not locked."""
    if len(text) > LOCK_LIMIT:
        return ()
    try:
        decoded = text.removeprefix(BOM).decode().replace("\r\n", "\n")
        tree = read_yaml(decoded if decoded.endswith("\n") else decoded + "\n", SHALLOW)
    except UnicodeDecodeError:
        return ()
    except TextUnreadable:
        return find_yaml_faults(path, text)
    double = tuple(f"duplicate key {show_key(path)}" for path in double_keys(tree))
    return double or (*_double_inside(tree), *_dangling(decoded))


def _double_inside(tree: EntryGroup) -> Iterator[str]:
    """Find keys that stand twice inside an entry that was read whole."""
    for owner, lines in _whole_entries(tree):
        path: list[tuple[int, str]] = []
        known: set[tuple[str, ...]] = set()
        # By indentation alone: pnpm writes its files itself, always in the same way.
        for indent, key, _ in lines:
            while path and path[-1][0] >= indent:
                path.pop()
            path.append((indent, key))
            here = tuple(part for _, part in path)
            if here in known:
                yield f"duplicate key {show_key((*owner, *here))}"
            known.add(here)


def _whole_entries(tree: EntryGroup) -> Iterator[tuple[tuple[str, str], list[tuple[int, str, str]]]]:
    """Yield each entry that was read whole as its path and its lines: indentation, key and value."""
    for document in tree.entries:
        for top in document.value.entries if isinstance(document.value, EntryGroup) else ():
            if top.name[:1] in (("packages",), ("snapshots",)) and isinstance(top.value, EntryGroup):
                for entry in top.value.entries:
                    found = _LINE.findall(render(entry.value)) if entry.name else []
                    lines = [(len(indent), key.strip("'\""), value.strip("'\"")) for indent, key, value in found]
                    yield (top.name[0], entry.name[0].strip("'\"")), lines


def _versions(text: str) -> dict[str, set[str]]:
    """Return the versions that are locked of each package."""
    found: dict[str, set[str]] = {}
    for (_, key), _ in _whole_entries(read_yaml(text, SHALLOW)):
        # "/foo@1.0.0(react@18.2.0)": format 6 and older have the slash, the brackets hold the peers it got.
        name, _, version = key.split("(")[0].removeprefix("/").rpartition("@")
        found.setdefault(name, set()).add(version)
    return found


def _dangling(text: str) -> tuple[str, ...]:
    try:
        tree = read_yaml(text if text.endswith("\n") else text + "\n", SHALLOW)
        documents = plain_documents(tree)
    except TextUnreadable:
        return ()
    lock = documents[0] if len(documents) == 1 and isinstance(documents[0], dict) else {}
    whole = list(_whole_entries(tree))
    known = {name for (_, name), _ in whole}
    faults: dict[str, None] = {}
    for owner, name, version in (*_direct_needs(lock), *_needs(whole)):
        # Each format of the lock spells a package in its own way; a version may also be a whole path (npm aliases).
        spellings = {version, f"{name}@{version}", f"/{name}@{version}", f"/{name}/{version}", f"/{version}"}
        if version and not _ELSEWHERE.match(version) and not spellings & known:
            what = quote(f"{name} {version}".encode())
            faults[f"{quote(owner.encode())} needs {what}, which is not locked"] = None
    return tuple(faults)


def _direct_needs(lock: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    # A project without workspaces has its dependencies at the top, in older formats.
    for owner, value in (*_map(lock, "importers").items(), (".", lock)):
        for kind in _NEEDS:
            for name, found in _map(value, kind).items():
                # Older formats give the version itself, newer ones a map with the range beside it.
                version = found.get("version", "") if isinstance(found, dict) else found
                yield owner, name, version[1:] if isinstance(version, str) else ""


def _needs(whole: Iterable[tuple[tuple[str, str], list[tuple[int, str, str]]]]) -> Iterator[tuple[str, str, str]]:
    for (_, owner), lines in whole:
        inside = -1
        for indent, key, value in lines:
            if not value and key in _NEEDS:
                inside = indent
            # A line that is indented no more ends the dependencies.
            elif indent <= inside:
                inside = -1
            elif inside >= 0:
                yield owner, key, value


def _map(value: object, key: str) -> Mapping[str, object]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
