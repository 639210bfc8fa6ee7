"""What a merge without a conflict may still have got wrong: in each path both sides changed, and between paths."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gitprun.git.trees import REGULAR, read_blob, replace_blobs, show_path
from gitprun.git.walk import Trees
from gitprun.judging.conflicts import show_resolved
from gitprun.judging.doubts import NOT_FINISHED, Late, guarded
from gitprun.judging.judged import Means, Sides, Unchecked
from gitprun.judging.shared_folders import lock_folders, new_migrations, new_records
from gitprun.judging.text import review_text
from gitprun.model.budget import unbroken
from gitprun.model.findings import MergeState, ResolvedPath, Suspect
from gitprun.model.lists import listed
from gitprun.model.names import Oid
from gitprun.resolvers.base import AUDIT_LIMIT, FileConflict, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A merged tree, with proved texts in place of faulty ones where there are any, and what was found; see Judged."""

    tree: Oid
    replaced: tuple[ResolvedPath, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    mended: Mapping[bytes, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class _Findings:
    """What an audit found so far; paths that could not be looked at are kept by the reason, which is said once."""

    trees: Trees
    sides: Sides
    means: Means
    texts: dict[bytes, bytes] = field(default_factory=dict)
    replaced: list[ResolvedPath] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    unchecked: dict[str, list[bytes]] = field(default_factory=dict)
    mended: dict[bytes, bytes] = field(default_factory=dict)


def audit_merge(trees: Trees, sides: Sides, tree: Oid, proved: frozenset[bytes], means: Means) -> Audited:
    """Look for faults of a merged tree that neither side has; where the resolvers have a text without any, take that.

    ``proved`` are the paths whose text is a resolver's already.
    """
    found = _Findings(trees, sides, means)
    # Content first: where a resolver has a better text, the checks between files see that one.
    for path, conflict, text in _contested(trees, sides, tree):
        _review(found, path, conflict, text, known=path in proved)
    tree = replace_blobs(trees.repo, tree, found.texts) if found.texts else tree
    # They look at the tree with the better texts in it: a manifest may be one of these.
    _audit_migrations(found, tree)
    _audit_records(found)
    _audit_locks(found, tree)
    unchecked = tuple(Unchecked(listed(paths, 1, show=show_path), why) for why, paths in found.unchecked.items())
    return Audited(
        tree=tree,
        replaced=tuple(found.replaced),
        suspects=tuple(found.suspects),
        unchecked=unchecked,
        mended=found.mended,
    )


def _review(found: _Findings, path: bytes, conflict: FileConflict, text: bytes, *, known: bool) -> None:
    """Look at one text, and keep what is wrong with it or the better one."""
    fixed = known or found.sides.by_hand
    judged = review_text(conflict, text, found.means, found.sides.several_bases, fixed=fixed)
    if judged.state is MergeState.UNITED and judged.answer is not None:
        found.texts[path] = judged.text
        found.replaced.append(show_resolved(path, judged.answer))
    mend = judged.mend
    if mend is not None:
        found.mended[path] = mend.text
    words = mend.words if mend is not None else ""
    found.suspects += [Suspect(path=show_path(path), reason=fault, mend=words) for fault in judged.doubts.faults]
    if judged.doubts.unjudged:
        found.unchecked.setdefault(judged.doubts.unjudged, []).append(path)


def _contested(trees: Trees, sides: Sides, tree: Oid) -> Iterator[tuple[bytes, FileConflict, bytes]]:
    """Yield each path with a text that is neither side's, the versions it was made of, and the text."""
    # A file that only one side changed is that side's whole, whatever git did with it.
    pairs = {path: path for path in sides.by_unit if path in sides.by_main}
    pairs |= _renamed(trees, sides, tree)
    for path, origin in sorted(pairs.items()):
        found = trees.find(tree, path)
        main = trees.find(sides.main, path) or trees.find(sides.main, origin)
        unit = trees.find(sides.unit, path) or trees.find(sides.unit, origin)
        # A text that is one side's whole was looked at by whoever wrote it.
        if found is None or main is None or unit is None or found[1] in (main[1], unit[1]):
            continue
        # A link's text is a path and a submodule has none.
        if any(mode not in REGULAR for mode, _ in (found, main, unit)):
            continue
        # Without a regular file in the base both sides added one, and all of it is new.
        before = trees.find(sides.base, origin)
        base = read_blob(trees.repo, before[1]) if before and before[0] in REGULAR else None
        texts = (read_blob(trees.repo, main[1]), read_blob(trees.repo, unit[1]))
        merged = read_blob(trees.repo, found[1])
        yield path, FileConflict(path.decode("utf-8", "surrogateescape"), base, *texts), merged


def _renamed(trees: Trees, sides: Sides, tree: Oid) -> dict[bytes, bytes]:
    """Pair what one side renamed and the other edited, as far as that is plain: new path, then old path."""
    found: dict[bytes, bytes] = {}
    for one, other, own in (
        (sides.by_main, sides.by_unit, sides.main),
        (sides.by_unit, sides.by_main, sides.unit),
    ):
        left = [path for path, change in one.items() if change.removed and path in other and not other[path].removed]
        # Only the content of the one file that was renamed away can have been merged in; of several, nobody can tell
        # which went where without git's own search for renames.
        if len(left) != 1:
            continue
        for path, change in one.items():
            # New on the side that renamed and unlike its own version: the other side's edit was merged in.
            made = trees.find(tree, path) if change.added and path not in other else None
            if made is not None and made != trees.find(own, path):
                found[path] = left[0]
    return found


def _audit_migrations(found: _Findings, tree: Oid) -> None:
    """Look at folders of migrations to which both sides added a file: two heads, or one number twice."""
    by_main, by_unit = (new_migrations(each.values()) for each in (found.sides.by_main, found.sides.by_unit))
    shared = sorted({*by_main.values()} & {*by_unit.values()})
    # Most merges: no file is read then.
    if not shared:
        return
    trees = found.trees
    present = {os.fsdecode(path): path for folder in shared for path in trees.paths(tree, folder)}

    def read(name: str) -> bytes:
        # Whoever breaks off in the middle of an answer of git takes its rest for the next one.
        with unbroken():
            entry = trees.find(tree, present[name])
            return read_blob(trees.repo, entry[1]) if entry is not None and entry[0] in REGULAR else b""

    def look() -> tuple[tuple[str, str], ...]:
        # Inside: only few repositories have migrations, and the module brings its readers along.
        from gitprun.resolvers.blocks.migrations import find_clashes

        one, other = ({os.fsdecode(p) for p, above in each.items() if above in shared} for each in (by_main, by_unit))
        return tuple((fault.folder or ".", fault.words) for fault in find_clashes(one, other, list(present), read))

    said = guarded(look, found.means.state, "auditing a merge", NOT_FINISHED, seconds=AUDIT_LIMIT)
    if isinstance(said, Late):
        # Which of the folders took so long nobody knows; what keeps it from landing has to name one.
        said = ((os.fsdecode(shared[0]), said.reason),)
    if isinstance(said, Refused):
        found.unchecked.setdefault(said.reason, []).append(shared[0])
        return
    found.suspects += [Suspect(path=show_path(os.fsencode(folder)), reason=reason) for folder, reason in said]


def _audit_records(found: _Findings) -> None:
    """Look at folders of numbered files to which both sides added one of the same number."""
    sides = found.sides
    by_main, by_unit = (new_records(each.values()) for each in (sides.by_main, sides.by_unit))
    shared = {*by_main.values()} & {*by_unit.values()}
    # Of migrations more is asked, and by others.
    folders = sorted({folder for folder, _ in shared} - {*new_migrations(sides.by_unit.values()).values()})
    # Most merges: no tree is listed then.
    if not folders:
        return
    from gitprun.resolvers.blocks.migrations import find_record_clashes

    base = [os.fsdecode(path) for folder in folders for path in found.trees.paths(sides.base, folder)]
    added = ([os.fsdecode(path) for path in each] for each in (by_main, by_unit))
    for fault in find_record_clashes(base, *added):
        found.suspects.append(Suspect(path=show_path(os.fsencode(fault.folder or ".")), reason=fault.words))


def _audit_locks(found: _Findings, tree: Oid) -> None:
    """Look at manifests and locks of which one side changed the one, and the other side either of them."""
    from gitprun.resolvers.manifests import PAIRS, find_stale

    sides = found.sides
    for folder in sorted(lock_folders(sides.by_main) & lock_folders(sides.by_unit)):
        for pair in PAIRS:
            names = [os.fsencode(folder + name) for name in (pair.manifest, pair.lock)]
            texts = [_both(found.trees, each, names) for each in (sides.main, sides.unit, tree)]
            after = texts[-1]
            # Without both of them in the merge there is nothing that could disagree.
            if after is None:
                continue
            before = [each for each in texts[:-1] if each is not None]
            look = partial(find_stale, pair, before, after)
            said = guarded(look, found.means.state, "auditing a merge", NOT_FINISHED, seconds=AUDIT_LIMIT)
            if isinstance(said, Late):
                said = (said.reason,)
            if isinstance(said, Refused):
                found.unchecked.setdefault(said.reason, []).append(names[1])
            else:
                found.suspects += [Suspect(path=show_path(names[1]), reason=reason) for reason in said]


def _both(trees: Trees, tree: Oid, names: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """Read a manifest and its lock; None if one of them is not there."""
    found = [trees.find(tree, name) for name in names]
    texts = [read_blob(trees.repo, each[1]) for each in found if each is not None and each[0] in REGULAR]
    return (texts[0], texts[1]) if len(texts) == 2 else None
