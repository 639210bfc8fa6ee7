"""Bring the private index of a workspace up to the work in it, and write its tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitprun.capture.classification import (
    Classification,
    below,
    bound_new,
    classify_new,
    classify_tracked,
    drop_new,
    included,
    list_nested,
)
from gitprun.capture.contents import screen_contents
from gitprun.capture.context import TREE, CaptureContext, exact_rule
from gitprun.capture.filters import FilterChanged, attributes_changed, judge_filters, read_allowed, require_own_programs
from gitprun.capture.ignore_rules import read_ignore_rules
from gitprun.capture.inner import is_submodule
from gitprun.capture.prepared import give_back, read_prepared, still_left_out
from gitprun.capture.screen import SUBMODULE, LeftOut, gather_left_out, within
from gitprun.capture.stage_paths import TIMEOUT, drop_entries, stage_modes, stage_paths
from gitprun.capture.tree_scan import TreeScan, look
from gitprun.model.lists import listed
from gitprun.model.names import Oid, parse_oid
from gitprun.workspaces.gitdir import read_snapshot

__all__ = ["FilterChanged", "StagedTree", "stage"]

# So many folders git is kept away from by words on its command line; it has room for about ten times that.
MOST_EXCLUDED = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedTree:
    """The tree of the work, what is not in it, how many files differ in their line ends only, notes, core.hooksPath.

    ``nested`` are the folders that are repositories of their own.
    """

    tree: Oid
    left_out: tuple[LeftOut, ...]
    noise: int
    notes: tuple[str, ...] = ()
    hooks: str = ""
    nested: tuple[str, ...] = ()


def stage(site: CaptureContext, scan: TreeScan) -> StagedTree:
    """Stage everything the worker did that is work, and write the tree."""
    # Read before anything of the worker's is looked at: what may run was fixed when the workspace was made.
    filters = read_allowed(site)
    require_own_programs(site, filters)
    # Before git lists anything: it would follow into folders it cannot leave again, or list a million files.
    excludes, cut = _keep_away(site, scan)
    tracked, removed, new = _changes(site, excludes)
    # What git calls ignored by the worker's own rules may be work all the same.
    hidden, left_out = read_ignore_rules(site, scan, new, excludes)
    sorted_paths = Classification(left_out=[*cut, *left_out])
    _classify_repositories(site, scan, sorted_paths)
    for name in dict.fromkeys([*new, *hidden, *list_nested(site, sorted_paths.nested)]):
        classify_new(site, name, sorted_paths)
    _say_brought(sorted_paths)
    # Once all new paths are known, since the bounds are about them together.
    bound_new(site, sorted_paths)
    already = _differing(site) if tracked else frozenset()
    for name in tracked:
        classify_tracked(site, name, sorted_paths, staged=name in already)
    sorted_paths.gone += [name for name in removed if not below(os.fsdecode(name), sorted_paths.refused)]
    specials = [os.fsdecode(name) for name in scan.specials]
    sorted_paths.left_out += [
        LeftOut(name, "a fifo, socket, device or unreadable folder")
        for name in specials
        if not within(name, sorted_paths.nested)
    ]
    # Before the filters are looked at: attributes that are gone from the folder are read from the index.
    drop_entries(site, sorted_paths.gone)
    rules, changed = attributes_changed(site, scan.attribute_files, removed)
    judged = judge_filters(site, filters, [*sorted_paths.new, *sorted_paths.wanted], rules=rules, changed=changed)
    # Only what would be staged is read for credentials: the rest stays in the workspace anyway.
    groups = _screen_secrets(site, judged.groups, sorted_paths)
    sorted_paths.left_out += [*judged.left_out, *stage_paths(site, filters, groups)]
    # After all is staged: it compares what the index says with the disk.
    modes = stage_modes(site)
    # Last, on top of what is staged: what setup made is known by what it left, whatever kind of path it is.
    made = read_prepared(site)
    given_back = give_back(site, made, lambda path: included(site, path)) if made else ()
    if made:
        sorted_paths.left_out = still_left_out(site, made, sorted_paths.left_out)
    snapshot = read_snapshot(site.own) if site.own else None
    # Blobs the user never fetched are named by trees of the base; their being away is no fault of the work.
    partial = ("--missing-ok",) if snapshot and snapshot.partial else ()
    return StagedTree(
        tree=parse_oid(site.git.run("write-tree", *partial).text),
        left_out=gather_left_out(sorted_paths.left_out),
        noise=sorted_paths.noise,
        notes=(*judged.notes, *modes, *_say_given_back(given_back)),
        hooks=snapshot.hooks if snapshot else _hooks_path(site),
        nested=sorted_paths.nested,
    )


def _say_given_back(paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    return [f"as the setup commands left it, so no work of this unit: {listed(paths, 1)}"]


def _keep_away(site: CaptureContext, scan: TreeScan) -> tuple[tuple[str | bytes, ...], list[LeftOut]]:
    """Choose the folders git is not to enter at all: those it could not follow, and new ones with a crowd in them."""
    rows = [LeftOut(f"{os.fsdecode(name)}/", why) for name, why in scan.cut]
    away = [name for name, _ in scan.cut]
    for name, count in scan.crowded:
        text = os.fsdecode(name)
        inner = any(other.startswith(name + b"/") for other in away)
        if not text or inner or within(text, site.apart) or site.base_mode(text) == TREE or included(site, text):
            continue
        # Ignored folders are not entered anyway, and need no word.
        if site.git.run("check-ignore", "-q", "-z", "--stdin", stdin=name + b"\0", ok=(0, 1)).code == 1:
            away.append(name)
            rows.append(LeftOut(f"{text}/", f"{count} entries: too many to be listed"))
    if len(away) > MOST_EXCLUDED:
        # The folders above them instead, at one level: so few words are enough.
        away = sorted({name.split(b"/")[0] for name in away})
        rows = [LeftOut(f"{os.fsdecode(name)}/", f"{len(rows)} folders git cannot follow") for name in away]
    return (*site.excludes, *(b"--exclude=" + exact_rule(name) for name in away)), rows


def _changes(site: CaptureContext, excludes: Sequence[str | bytes]) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Ask git which tracked paths changed, which are gone, which are new (and not ignored)."""
    words = ("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
    by_tag: dict[bytes, list[bytes]] = {b"C": [], b"R": [], b"?": []}
    for row in site.git.run(*words, *excludes, timeout=TIMEOUT).fields:
        by_tag.setdefault(row[:1], []).append(row[2:])
    removed = list(dict.fromkeys(by_tag[b"R"]))
    gone = set(removed)
    return [name for name in dict.fromkeys(by_tag[b"C"]) if name not in gone], removed, by_tag[b"?"]


def _differing(site: CaptureContext) -> frozenset[bytes]:
    """List what an earlier capture staged already: the paths whose index entry is not the base's."""
    words = ("diff-index", "--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "-z", site.base)
    return frozenset(site.git.run(*words).fields)


def _classify_repositories(site: CaptureContext, scan: TreeScan, sorted_paths: Classification) -> None:
    """Leave repositories inside the workspace out, but not a folder of the base that got a ``.git``."""
    nested: list[str] = []
    for folder in map(os.fsdecode, scan.repositories):
        mode = site.base_mode(folder)
        if within(folder, tuple(nested)):
            continue
        # A folder the base has as files stays files: a worker's git init there must not make them vanish.
        if mode == TREE:
            sorted_paths.left_out.append(LeftOut(f"{folder}/.git", "a repository inside the workspace"))
            continue
        nested.append(folder)
        if is_submodule(site, folder):
            sorted_paths.leave(LeftOut(f"{folder}/", SUBMODULE), path=folder)
        else:
            sorted_paths.leave(LeftOut(f"{folder}/", "a repository inside the workspace"), path=folder)
    for folder in _gitlinks(site):
        if _filled(site, folder):
            sorted_paths.leave(LeftOut(f"{folder}/", SUBMODULE), path=folder)
    sorted_paths.nested = tuple(nested)


def _say_brought(sorted_paths: Classification) -> None:
    """Return a note on a nested repository whose files somebody asked for what still is not there."""
    for folder in sorted_paths.nested:
        if any(within(os.fsdecode(name), (folder,)) for name in sorted_paths.new):
            place = f"{folder}/"
            sorted_paths.left_out = [row for row in sorted_paths.left_out if row.path != place]
            sorted_paths.left_out.append(
                LeftOut(f"{place}.git", "a repository inside the workspace: its files came without it")
            )


def _gitlinks(site: CaptureContext) -> list[str]:
    """List the submodules in the index."""
    if site.base_blob(".gitmodules") is None:
        return []
    rows = site.git.run("ls-files", "-z", "--stage").fields
    return [os.fsdecode(row.partition(b"\t")[2]) for row in rows if row.startswith(b"160000 ")]


def _filled(site: CaptureContext, folder: str) -> bool:
    """Check whether anything is in a submodule's folder (a fresh workspace has it empty)."""
    seen = look(site.workspace.path, folder)
    if seen is None or not stat.S_ISDIR(seen[0]):
        return False
    with os.scandir(site.workspace.path / folder) as entries:
        return any(True for _ in entries)


def _screen_secrets(
    site: CaptureContext, groups: Mapping[str, Sequence[bytes]], sorted_paths: Classification
) -> Mapping[str, Sequence[bytes]]:
    """Take files with credentials in them out of what is stored as it is; what a filter stores is its business."""
    plain = [name for name in groups.get("", ()) if not included(site, os.fsdecode(name))]
    found = screen_contents(site, plain) if site.secrets else {}
    if not found:
        return groups
    sorted_paths.left_out += found.values()
    drop_new(sorted_paths, map(os.fsdecode, found))
    return {**groups, "": [name for name in groups[""] if name not in found]}


def _hooks_path(site: CaptureContext) -> str:
    answer = site.repository.git.run("config", "--get", "core.hooksPath", ok=(0, 1))
    return answer.text
