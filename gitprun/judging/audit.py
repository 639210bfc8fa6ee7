"""What a merge without a conflict may still have got wrong: every path that both sides changed is looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gitprun.git.trees import REGULAR, TreeChange, read_blob, replace_blobs, show_path
from gitprun.git.walk import Trees
from gitprun.judging.conflicts import climb_guarded, show_resolved
from gitprun.judging.doubts import NOT_FINISHED, Doubts, Late, find_doubts, guarded
from gitprun.judging.locks import lock_folders
from gitprun.model.budget import unbroken
from gitprun.model.findings import ResolvedPath, Suspect
from gitprun.model.names import Oid
from gitprun.resolvers.base import AUDIT_LIMIT, FileConflict, Refused

# Paths by the reason why they could not be looked at.
_Unjudged = dict[str, list[bytes]]
_MIGRATIONS = re.compile(rb"migrat|^versions$|^flyway$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedTree:
    """A merge of trees that has no conflict; ``known`` are the paths whose text was proved already.

    ``by_main`` and ``by_unit`` are what each side changed since the base; ``several_bases`` says that it is one of
    several, so that no file can be merged anew.
    """

    base: Oid
    main: Oid
    unit: Oid
    tree: Oid
    by_main: Mapping[bytes, TreeChange]
    by_unit: Sequence[TreeChange]
    known: frozenset[bytes] = frozenset()
    several_bases: bool = False


@dataclass(frozen=True, slots=True)
class Audited:
    """The tree, with what the resolvers did better than git, and what is wrong with it all the same.

    ``unjudged`` names what could not be checked, and why.
    """

    tree: Oid
    unjudged: tuple[tuple[str, str], ...] = ()
    resolved: tuple[ResolvedPath, ...] = ()
    suspects: tuple[Suspect, ...] = ()


def audit_merge(trees: Trees, merged: MergedTree, state: Path | None) -> Audited:
    """Look for faults of the merge that neither side has; where the resolvers have a text without any, take that."""
    texts: dict[bytes, bytes] = {}
    resolved: list[ResolvedPath] = []
    suspects: list[Suspect] = []
    unjudged: dict[str, list[bytes]] = {}
    for path, conflict, text in _contested(trees, merged):
        doubts = find_doubts(conflict, text, state)
        if doubts.unjudged:
            unjudged.setdefault(doubts.unjudged, []).append(path)
        if not doubts.faults:
            continue
        tried = doubts.late or merged.several_bases or path in merged.known
        offered = () if tried else climb_guarded(conflict, state)[0]
        better = next((one for one in offered if find_doubts(conflict, one.text, state) == Doubts()), None)
        if better is None:
            suspects += [Suspect(path=show_path(path), reason=fault) for fault in doubts.faults]
        else:
            texts[path] = better.text
            resolved.append(show_resolved(path, better))
    tree = replace_blobs(trees.repo, merged.tree, texts) if texts else merged.tree
    for look in (_twin_migrations, _stale_locks):
        suspects += look(trees, merged, state, unjudged)
    said = tuple((_some(paths), why) for why, paths in unjudged.items())
    return Audited(tree, said, tuple(resolved), tuple(suspects))


def _some(paths: Sequence[bytes]) -> str:
    return show_path(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


def _contested(trees: Trees, merged: MergedTree) -> Iterable[tuple[bytes, FileConflict, bytes]]:
    """Give each path with a text that is neither side's, the versions it was made of, and the text."""
    pairs = {change.path: change.path for change in merged.by_unit if change.path in merged.by_main}
    pairs |= _renamed(trees, merged)
    for path, origin in sorted(pairs.items()):
        found = trees.find(merged.tree, path)
        main = trees.find(merged.main, path) or trees.find(merged.main, origin)
        unit = trees.find(merged.unit, path) or trees.find(merged.unit, origin)
        if found is None or main is None or unit is None or found[1] in (main[1], unit[1]):
            continue
        if any(mode not in REGULAR for mode, _ in (found, main, unit)):
            continue
        before = trees.find(merged.base, origin)
        base = read_blob(trees.repo, before[1]) if before and before[0] in REGULAR else None
        sides = (read_blob(trees.repo, main[1]), read_blob(trees.repo, unit[1]))
        text = read_blob(trees.repo, found[1])
        yield path, FileConflict(path.decode("utf-8", "surrogateescape"), base, *sides), text


def _renamed(trees: Trees, merged: MergedTree) -> dict[bytes, bytes]:
    """Pair what one side renamed and the other edited, as far as that is plain: new path, then old path."""
    by_unit = {change.path: change for change in merged.by_unit}
    found: dict[bytes, bytes] = {}
    for one, other in ((merged.by_main, by_unit), (by_unit, merged.by_main)):
        left = [path for path, change in one.items() if change.removed and path in other and not other[path].removed]
        if not left:
            continue
        side = merged.main if one is merged.by_main else merged.unit
        for path, change in one.items():
            made = trees.find(merged.tree, path) if change.added and path not in other else None
            if made is None or made == trees.find(side, path):
                continue
            # Only the content of a file that was renamed away can have been merged in here.
            if len(left) == 1:
                found[path] = left[0]
    return found


def _look(
    look: Callable[[], tuple[str, ...]], state: Path | None, path: bytes, unjudged: _Unjudged, late: str = NOT_FINISHED
) -> tuple[str, ...]:
    """Look, within a limit of time; one that does not end is a fault, and an error of ours no lost landing."""
    said = guarded(look, state, "auditing a merge", late, seconds=AUDIT_LIMIT)
    if isinstance(said, Late):
        return (said.reason,)
    if isinstance(said, Refused):
        unjudged.setdefault(said.reason, []).append(path)
        return ()
    return said


def _twin_migrations(trees: Trees, merged: MergedTree, state: Path | None, unjudged: _Unjudged) -> list[Suspect]:
    """Look at folders of migrations to which both sides added a file: two heads, or one number twice."""
    by_main = new_migrations(merged.by_main.values())
    by_unit = new_migrations(merged.by_unit)
    shared = sorted({*by_main.values()} & {*by_unit.values()})
    if not shared:
        return []
    present = {os.fsdecode(path): path for folder in shared for path in trees.paths(merged.tree, folder)}

    def read(name: str) -> bytes:
        # Whoever breaks off in the middle of an answer of git takes its rest for the next one.
        with unbroken():
            found = trees.find(merged.tree, present[name])
            return read_blob(trees.repo, found[1]) if found is not None and found[0] in REGULAR else b""

    def look() -> tuple[str, ...]:
        from gitprun.resolvers.blocks.migrations import audit_migrations

        one, other = ({os.fsdecode(p) for p, above in each.items() if above in shared} for each in (by_main, by_unit))
        return audit_migrations(one, other, list(present), read)

    late = f"{os.fsdecode(shared[0])}: {NOT_FINISHED}"
    said = _look(look, state, shared[0], unjudged, late)
    rows = (line.partition(": ") for line in said)
    return [Suspect(path=show_path(os.fsencode(folder)), reason=reason) for folder, _, reason in rows]


def _stale_locks(trees: Trees, merged: MergedTree, state: Path | None, unjudged: _Unjudged) -> list[Suspect]:
    """Look at manifests and locks of which one side changed the one, and the other side either of them."""
    from gitprun.resolvers.manifests import PAIRS, find_stale

    found: list[Suspect] = []
    for folder in sorted(lock_folders(merged.by_main) & lock_folders(change.path for change in merged.by_unit)):
        for pair in PAIRS:
            names = [os.fsencode(folder + name) for name in (pair.manifest, pair.lock)]
            texts = [_both(trees, tree, names) for tree in (merged.main, merged.unit, merged.tree)]
            after = texts[-1]
            if after is None:
                continue
            sides = [each for each in texts[:-1] if each is not None]
            said = _look(partial(find_stale, pair, sides, after), state, names[1], unjudged)
            found += [Suspect(path=show_path(names[1]), reason=reason) for reason in said]
    return found


def _both(trees: Trees, tree: Oid, names: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """Read a manifest and its lock; None if one of them is not there."""
    found = [trees.find(tree, name) for name in names]
    texts = [read_blob(trees.repo, each[1]) for each in found if each is not None and each[0] in REGULAR]
    return (texts[0], texts[1]) if len(texts) == 2 else None


def new_migrations(changes: Iterable[TreeChange]) -> dict[bytes, bytes]:
    """Give the added paths that lie below a folder of migrations, each with that folder."""
    found: dict[bytes, bytes] = {}
    for change in changes:
        parts = change.path.split(b"/")
        for number in range(len(parts) - 1, 0, -1):
            if change.added and _MIGRATIONS.search(parts[number - 1]):
                found[change.path] = b"/".join(parts[:number])
                break
    return found
