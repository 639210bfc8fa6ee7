"""Conflicts of one merge: settled by the resolvers of their hotspots, all of them or none, and told path by path."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.trees import GITLINK, REGULAR, Objects, Stage, TreeMerge, read_blob, replace_blobs, show_path
from gitprun.merge.hotspots import Hotspot, hotspot_for, settle
from gitprun.merge.plan import ConflictPath, ResolvedPath
from gitprun.merge.resolvers.base import FileConflict, Resolved
from gitprun.merge.submodules import describe_sides
from gitprun.names import Oid

_CONFLICT = "CONFLICT ("
CONTENTS = "contents"


@dataclass(frozen=True, slots=True)
class Settled:
    """A tree without conflicts, or (``refused`` is set) why each path that had a hotspot was not settled."""

    tree: Oid
    resolved: tuple[ResolvedPath, ...] = ()
    refused: dict[bytes, str] | None = None


def settle_conflicts(repo: Objects, merge: TreeMerge, hotspots: Sequence[Hotspot], *, several_bases: bool) -> Settled:
    """Settle every conflict of a merge, or none."""
    kinds, stages = _kinds(merge), _stages(merge)
    texts: dict[bytes, bytes] = {}
    resolved: list[ResolvedPath] = []
    refused: dict[bytes, str] = {}
    for path in _conflicted(merge):
        name = path.decode("utf-8", "surrogateescape")
        hotspot = hotspot_for(name, hotspots)
        if hotspot is None:
            refused[path] = ""
            continue
        versions = stages.get(path, {})
        if several_bases:
            refused[path] = "not tried: the histories have several merge bases"
        elif kinds.get(path, set()) != {CONTENTS} or not _plain(versions):
            refused[path] = "not tried: more than the content is in conflict"
        else:
            base = read_blob(repo, versions[1].oid) if 1 in versions else None
            sides = read_blob(repo, versions[2].oid), read_blob(repo, versions[3].oid)
            answer = settle(FileConflict(name, base, *sides), hotspot)
            if isinstance(answer, Resolved):
                texts[path] = answer.text
                resolved.append(_resolved(path, answer))
            else:
                refused[path] = answer.reason
    if refused or not texts:
        could = {path: f"{one.resolver} would settle it" for path, one in zip(texts, resolved, strict=True)}
        return Settled(merge.tree, refused=refused | could)
    return Settled(replace_blobs(repo, merge.tree, texts), tuple(resolved))


def list_conflicts(
    merge: TreeMerge, refused: Mapping[bytes, str], names: Mapping[Oid, str], checkout: Path | None
) -> tuple[ConflictPath, ...]:
    """List every conflicted path with its kind and git's own words; ``names`` stand for commits in them."""
    kinds, stages = _kinds(merge), _stages(merge)
    found = []
    for path in _conflicted(merge):
        texts = [note.text for note in merge.messages if path in note.paths and note.kind.startswith(_CONFLICT)]
        detail = " ".join(" ".join(texts).split())
        for oid, name in names.items():
            detail = detail.replace(oid, name)
        sides = [
            (side, versions.oid)
            for number, side in ((1, "base"), (2, "the main side"), (3, "the unit side"))
            if (versions := stages.get(path, {}).get(number)) and versions.mode == GITLINK
        ]
        if sides:
            detail = f"{detail} ({describe_sides(checkout, path, sides)})".strip()
        kind = ", ".join(sorted(kinds.get(path, ()))) or "unknown"
        found.append(ConflictPath(path=show_path(path), kind=kind, detail=detail, resolver=refused.get(path, "")))
    return tuple(found)


def _conflicted(merge: TreeMerge) -> Collection[bytes]:
    named = (path for note in merge.messages if note.kind.startswith(_CONFLICT) for path in note.paths)
    return sorted({stage.path for stage in merge.stages} | set(named))


def _kinds(merge: TreeMerge) -> dict[bytes, set[str]]:
    found: dict[bytes, set[str]] = {}
    for note in merge.messages:
        if note.kind.startswith(_CONFLICT):
            for path in note.paths:
                found.setdefault(path, set()).add(note.kind.removeprefix(_CONFLICT).removesuffix(")"))
    return found


def _stages(merge: TreeMerge) -> dict[bytes, dict[int, Stage]]:
    found: dict[bytes, dict[int, Stage]] = {}
    for stage in merge.stages:
        found.setdefault(stage.path, {})[stage.number] = stage
    return found


def _plain(versions: Mapping[int, Stage]) -> bool:
    """Tell whether both sides hold a regular file, and at most one of them changed its mode."""
    if 2 not in versions or 3 not in versions:
        return False
    modes = [stage.mode for stage in versions.values()]
    base = versions[1].mode if 1 in versions else None
    main, unit = versions[2].mode, versions[3].mode
    return all(mode in REGULAR for mode in modes) and (main == unit or base in (main, unit))


def _resolved(path: bytes, answer: Resolved) -> ResolvedPath:
    dropped = tuple(
        f"{line.side} {line.line}: {'-' if line.removal else '+'}{_shown(line.text)}" for line in answer.dropped
    )
    added = tuple(_shown(line) for line in answer.added)
    return ResolvedPath(path=show_path(path), resolver=answer.resolver, added=added, dropped=dropped)


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")
