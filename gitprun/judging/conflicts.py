"""Conflicts of one merge: settled by proof or as configured, all of them or none, and told path by path."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.trees import (
    GITLINK,
    REGULAR,
    Objects,
    Stage,
    TreeMerge,
    place_versions,
    read_blob,
    replace_blobs,
    show_path,
)
from gitprun.git.walk import Trees
from gitprun.judging.conflict_text import mark_conflict
from gitprun.judging.doubts import NOT_SETTLED, Doubts, find_doubts, guarded
from gitprun.judging.hotspots import Hotspot, Policy, hotspot_for, settle
from gitprun.judging.recorded_resolutions import find_choice, find_resolution, version_taken
from gitprun.judging.rerere import HINT, RERERE, Rerere
from gitprun.judging.submodules import describe_sides
from gitprun.model.findings import WOULD_SETTLE, ConflictPath, ResolvedPath
from gitprun.model.names import Oid
from gitprun.resolvers.base import FileConflict, Refused, Resolved, Resolver

_CONFLICT = "CONFLICT ("
CONTENTS = "contents"
RECORDED = "recorded"
_WITHOUT_SIDES: tuple[Policy, ...] = ("union", "higher-version", "renumber")


@dataclass(frozen=True, slots=True)
class CombinedTree:
    """A tree without conflicts, or (``refused`` is set) why each conflicted path was not settled.

    ``offers`` counts the distinct texts that were proved for a path, where it was asked for more than one;
    ``forced`` names the paths that only the strategy settled.
    """

    tree: Oid
    resolved: tuple[ResolvedPath, ...] = ()
    refused: dict[bytes, str] | None = None
    offers: Mapping[bytes, int] = field(default_factory=dict)
    forced: frozenset[bytes] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What may settle a conflict beside the resolvers: see LandingOptions; ``state`` holds recorded resolutions.

    ``rerere`` is git's own memory of resolutions.
    ``picks`` asks for all texts that can be proved, and says which of them to take at a path (the first is 0).
    """

    hotspots: Sequence[Hotspot] = ()
    strategy: Policy | None = None
    state: Path | None = None
    picks: Mapping[bytes, int] | None = None
    rerere: Rerere | None = None


def settle_conflicts(repo: Objects, merge: TreeMerge, means: Means, *, several_bases: bool) -> CombinedTree:
    """Settle every conflict of a merge, or none."""
    kinds, stages = _kinds(merge), _stages(merge)
    found: dict[bytes, _PathText] = {}
    refused: dict[bytes, str] = {}
    chosen: dict[bytes, str | None] = {}
    takes: list[ResolvedPath] = []
    trees = Trees(repo)
    for path in _conflicted(merge):
        versions = stages.get(path, {})
        known = _versions(versions)
        take = find_choice(means.state, path, known) if means.state is not None else None
        if take is not None:
            chosen[path] = version_taken(known, take)
            takes.append(ResolvedPath(path=show_path(path), resolver=f"{RECORDED}: {take}"))
        elif several_bases:
            refused[path] = "not tried: the histories have several merge bases"
        elif kinds.get(path, set()) != {CONTENTS} or not _plain(versions):
            refused[path] = "not tried: more than the content is in conflict"
        else:
            marked = trees.find(merge.tree, path) if means.rerere is not None else None
            text = read_blob(repo, marked[1]) if marked is not None and marked[0] in REGULAR else None
            answer = _settle_path(repo, path, versions, means, text)
            if isinstance(answer, Refused):
                refused[path] = answer.reason
            else:
                found[path] = answer
    if refused or not (found or chosen):
        could = {path: f"{one.answer.resolver} {WOULD_SETTLE}" for path, one in found.items()}
        could |= {path: f"{one.resolver} {WOULD_SETTLE}" for path, one in zip(chosen, takes, strict=True)}
        return CombinedTree(merge.tree, refused=refused | could)
    tree = replace_blobs(repo, merge.tree, {path: one.answer.text for path, one in found.items()})
    return CombinedTree(
        place_versions(Path(repo.path), tree, chosen) if chosen else tree,
        (*(show_resolved(path, one.answer) for path, one in found.items()), *takes),
        offers={path: one.offers for path, one in found.items()},
        forced=frozenset(path for path, one in found.items() if one.forced),
        notes=tuple(note for path, one in found.items() for note in _flipped(path, one)),
    )


@dataclass(frozen=True, slots=True)
class _PathText:
    """The text for one path, how many others were proved, and whether the strategy had to decide."""

    conflict: FileConflict
    answer: Resolved
    offers: int = 1
    forced: bool = False


def _settle_path(
    repo: Objects, path: bytes, versions: Mapping[int, Stage], means: Means, marked: bytes | None
) -> _PathText | Refused:
    """Climb: the resolvers of the file's kinds and of lines, a recorded resolution, git's, its policy, the strategy.

    ``marked`` is the text git left in conflict, if git may know an answer to it.
    """
    name = path.decode("utf-8", "surrogateescape")
    base = read_blob(repo, versions[1].oid) if 1 in versions else None
    conflict = FileConflict(name, base, read_blob(repo, versions[2].oid), read_blob(repo, versions[3].oid))
    texts, reason = climb_guarded(conflict, means.state, every=means.picks is not None)
    if texts:
        pick = min((means.picks or {}).get(path, 0), len(texts) - 1)
        return _PathText(conflict, texts[pick], len(texts))
    if means.state is not None:
        before = versions[1].oid if 1 in versions else None
        text = find_resolution(means.state, before, versions[2].oid, versions[3].oid)
        doubts = Doubts() if text is None else find_doubts(conflict, text, means.state)
        # What could not be looked at in time is suspect afterwards; but somebody wrote this very text.
        if text is not None and (doubts.late or not doubts.faults):
            return _PathText(conflict, Resolved(text, RECORDED))
        reason += f"; the recorded resolution is faulty: {doubts.faults[0]}" if doubts.faults else ""
    if means.rerere is not None:
        forms = [text for text in (marked, _mark(conflict, means.rerere)) if text is not None]
        known = means.rerere.find(forms)
        doubts = Doubts() if known is None else find_doubts(conflict, known, means.state)
        if known is not None and means.rerere.update and not doubts.faults:
            return _PathText(conflict, Resolved(known, RERERE))
        reason += f"; {HINT}" if known is not None else ""
        reason += f"; that one is faulty: {doubts.faults[0]}" if doubts.faults else ""
    hotspot = hotspot_for(name, means.hotspots)
    if hotspot is not None:
        answer = _guarded(lambda each: settle(each, hotspot), conflict, means.state)
        if isinstance(answer, Resolved):
            return _PathText(conflict, answer)
        reason += f"; {hotspot.policy}: {answer.reason}" if answer.reason not in reason else ""
    if means.strategy is not None:
        row = Hotspot(name, means.strategy)
        answer = _guarded(lambda each: settle(each, row), conflict, means.state)
        if isinstance(answer, Resolved):
            return _PathText(conflict, answer, forced=True)
    return Refused(reason)


def _mark(conflict: FileConflict, rerere: Rerere) -> bytes | None:
    return mark_conflict(conflict.main, conflict.base or b"", conflict.unit, rerere.style)


def policy_for(conflict: FileConflict, state: Path | None) -> Policy | None:
    """Find a policy that would settle a conflict without picking a side, if a hotspot named it."""
    for policy in _WITHOUT_SIDES:
        row = Hotspot(conflict.path, policy)
        answer = _guarded(lambda each, row=row: settle(each, row), conflict, state)  # type: ignore[misc]
        if isinstance(answer, Resolved):
            return policy
    return None


def climb_guarded(
    conflict: FileConflict, state: Path | None, *, every: bool = False
) -> tuple[tuple[Resolved, ...], str]:
    """Climb the ladder; gives what was proved, and why not more. Whatever a resolver does, it ends in time."""
    proved: list[Resolved] = []

    def first(each: FileConflict) -> Resolved | Refused:
        from gitprun.resolvers.cascade import run_cascade

        answer = run_cascade(each, every=every)
        proved.extend(answer.texts)
        return answer.texts[0] if answer.texts else Refused(answer.reason)

    answer = _guarded(first, conflict, state)
    return tuple(proved), answer.reason if isinstance(answer, Refused) else ""


def _guarded(resolver: Resolver, conflict: FileConflict, state: Path | None) -> Resolved | Refused:
    """Run a resolver: one that takes too long or fails leaves a conflict, never a lost landing."""
    from gitprun.resolvers.cascade import prepare

    doing, before = f"resolving {conflict.path!r}", lambda: prepare(conflict.path)
    return guarded(lambda: resolver(conflict), state, doing, NOT_SETTLED, before)


def _flipped(path: bytes, found: _PathText) -> list[str]:
    """Say that one side only wrote other line ends, where that was the whole conflict of all lines."""
    main, unit = (_line_ends(text) for text in (found.conflict.main, found.conflict.unit))
    if not main or not unit or main == unit:
        return []
    return [f"{show_path(path)}: the unit side has {unit} line ends; the main side's {main} were kept"]


def _line_ends(text: bytes) -> str:
    lines, pairs = text.count(b"\n"), text.count(b"\r\n")
    return "" if not lines or 0 < pairs < lines else "CRLF" if pairs else "LF"


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


def _versions(stages: Mapping[int, Stage]) -> tuple[str | None, str | None, str | None]:
    base, main, unit = (f"{stages[side].mode} {stages[side].oid}" if side in stages else None for side in (1, 2, 3))
    return base, main, unit


def _plain(versions: Mapping[int, Stage]) -> bool:
    """Tell whether both sides hold a regular file, and at most one of them changed its mode."""
    if 2 not in versions or 3 not in versions:
        return False
    modes = [stage.mode for stage in versions.values()]
    base = versions[1].mode if 1 in versions else None
    main, unit = versions[2].mode, versions[3].mode
    return all(mode in REGULAR for mode in modes) and (main == unit or base in (main, unit))


def show_resolved(path: bytes, answer: Resolved) -> ResolvedPath:
    """Tell what a resolver did to a path."""
    dropped = tuple(
        f"{line.side} {line.line}: {'-' if line.removal else '+'}{_shown(line.text)}" for line in answer.dropped
    )
    added = tuple(_shown(line) for line in answer.added)
    return ResolvedPath(path=show_path(path), resolver=answer.resolver, added=added, dropped=dropped)


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")
