"""What of the changes in a workspace is work: each path is looked at once and put in one class."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gitprun.capture.bounds import crowd_row, large_row, leave_out_crowds, leave_out_large
from gitprun.capture.context import GITLINK, TREE, CaptureContext
from gitprun.capture.inner import is_submodule
from gitprun.capture.modules import MAX_SIZE, refused_setting
from gitprun.capture.private import screen_private
from gitprun.capture.screen import (
    HEAD,
    SUBMODULE,
    LeftOut,
    NewPath,
    refused_by_git,
    screen_link,
    screen_new,
    screen_size,
    within,
)
from gitprun.capture.tree_scan import look
from gitprun.model.globs import matches
from gitprun.system.files import read_plain

# Folders of a nested repository are walked one by one; what has more files than so many is no source of a program.
MOST_NESTED = 100_000


@dataclass(slots=True)
class Classification:
    """The paths sorted so far: ``new`` with their sizes, ``wanted`` of those the base (or an earlier capture) knows."""

    nested: tuple[str, ...] = ()
    left_out: list[LeftOut] = field(default_factory=list)
    gone: list[bytes] = field(default_factory=list)
    wanted: list[bytes] = field(default_factory=list)
    new: dict[bytes, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    noise: int = 0

    def leave(self, row: LeftOut, *, path: str | None = None) -> None:
        """Leave a path out; a reason that is empty means: litter, not worth a word."""
        self.refused.add(path or row.path)
        if row.reason:
            self.left_out.append(row)


def included(site: CaptureContext, text: str) -> bool:
    """Check whether somebody asked for a path that is no work."""
    return any(matches(pattern, text) for pattern in site.include)


def classify_new(site: CaptureContext, name: bytes, sorted_paths: Classification) -> None:
    """Judge a path that is in no commit."""
    text = os.fsdecode(name)
    asked = included(site, text)
    if text.endswith("/") or (within(text, sorted_paths.nested) and not asked) or within(text, site.apart):
        return
    seen = look(site.workspace.path, text)
    # Codex leaves an empty file of this name.
    if seen is None or (text == ".codex" and seen[1] == 0):
        return
    if asked:
        # Who asked for it wants it whatever it looks like; only what git itself refuses stays out.
        refused = refused_by_git(NewPath(text, seen[1], seen[2]))
    else:
        head = read_plain(site.workspace.path / text, HEAD) if stat.S_ISREG(seen[0]) else None
        found = NewPath(text, seen[1], seen[2], head or b"", bool(seen[0] & 0o111) and seen[2] is None)
        refused = screen_new(found, site.max_file, lambda folder: site.base_mode(folder) == TREE)
        refused = refused or screen_private(found, site.fence, site.holds)
    refused = refused or _screen_modules(site, text)
    if refused is None:
        sorted_paths.new[name] = seen[1]
    else:
        sorted_paths.leave(refused, path=text)


def classify_tracked(site: CaptureContext, name: bytes, sorted_paths: Classification, *, staged: bool) -> None:
    """Judge a path git calls changed; what is refused keeps the version of the base."""
    text = os.fsdecode(name)
    if below(text, sorted_paths.refused):
        return
    seen = look(site.workspace.path, text)
    if seen is None or _behind_link(site, text):
        sorted_paths.gone.append(name)
    elif stat.S_ISDIR(seen[0]):
        if site.base_mode(text) == GITLINK:
            sorted_paths.leave(LeftOut(f"{text}/", SUBMODULE), path=text)
        elif text not in sorted_paths.nested:
            sorted_paths.gone.append(name)
    elif seen[2] is not None:
        refused = screen_link(NewPath(text, link=seen[2]))
        if refused:
            sorted_paths.leave(refused)
        else:
            sorted_paths.wanted.append(name)
    elif stat.S_ISREG(seen[0]):
        _classify_file(site, name, sorted_paths, seen, staged=staged)


def _classify_file(
    site: CaptureContext, name: bytes, sorted_paths: Classification, seen: tuple[int, int, str | None], *, staged: bool
) -> None:
    text = os.fsdecode(name)
    mode, large = site.base_mode(text), seen[1] > site.max_file
    if (
        not (staged or large)
        and mode is not None
        and stat.S_ISREG(mode)
        and bool(seen[0] & 0o100) == bool(mode & 0o100)
    ):
        same = site.base_size(text) == seen[1]
        if same and read_plain(site.workspace.path / text, seen[1] + 1) == site.base_blob(text):
            # Line-end rules that came after the file: git calls it changed, yet it has the very bytes of the base.
            sorted_paths.noise += 1
            return
    refused = None if included(site, text) else screen_size(NewPath(text, seen[1]), site.max_file)
    # A file that was too large before is so by the project's own choice.
    if refused and (site.base_size(text) or 0) > site.max_file:
        refused = None
    refused = refused or _screen_modules(site, text)
    if refused:
        sorted_paths.leave(refused)
    else:
        sorted_paths.wanted.append(name)


def _screen_modules(site: CaptureContext, text: str) -> LeftOut | None:
    """Judge a file of submodule settings, which git reads wherever the commit is cloned."""
    if os.path.basename(text).lower() != ".gitmodules":
        return None
    content = read_plain(site.workspace.path / text, MAX_SIZE) or b""
    refused = refused_setting(site.repository.git, content)
    return LeftOut(text, f"a submodule setting that git refuses: {refused}", len(content)) if refused else None


def bound_new(site: CaptureContext, sorted_paths: Classification) -> None:
    """Leave out what is new beyond the bounds for number and size; what was asked for does not count."""
    sizes = {
        os.fsdecode(name): size for name, size in sorted_paths.new.items() if not included(site, os.fsdecode(name))
    }
    crowds = leave_out_crowds(sizes, site.max_files, lambda folder: site.base_mode(folder) == TREE)
    for place, paths in crowds.items():
        sorted_paths.left_out.append(crowd_row(place, [sizes[path] for path in paths], site.max_files))
        drop_new(sorted_paths, paths)
        for path in paths:
            del sizes[path]
    large = leave_out_large(sizes, site.max_total)
    sorted_paths.left_out += [large_row(path, sizes[path], site.max_total) for path in large]
    drop_new(sorted_paths, large)


def drop_new(sorted_paths: Classification, paths: Iterable[str]) -> None:
    """Take paths out of those that are new."""
    for path in paths:
        sorted_paths.refused.add(path)
        sorted_paths.new.pop(os.fsencode(path), None)


def below(text: str, folders: Iterable[str]) -> bool:
    """Check whether a path, or a folder above it, is among the given ones."""
    parts = text.split("/")
    known = folders if isinstance(folders, set) else set(folders)
    return any("/".join(parts[:number]) in known for number in range(1, len(parts) + 1))


def _behind_link(site: CaptureContext, text: str) -> bool:
    """Check whether a folder above a path is a link now."""
    parts = text.split("/")[:-1]
    return any(os.path.islink(os.path.join(site.workspace.path, *parts[: number + 1])) for number in range(len(parts)))


def list_nested(site: CaptureContext, folders: Sequence[str]) -> list[bytes]:
    """List the files of nested repositories that somebody asked for; their ``.git`` is none of them.

    Those of a submodule are not to be had: as plain files they would take the place of the submodule itself.
    """
    found: list[bytes] = []
    if not site.include:
        return found
    queue = [os.fsencode(folder) for folder in folders if not is_submodule(site, folder)]
    top = os.fsencode(site.workspace.path)
    while queue and len(found) < MOST_NESTED:
        folder = queue.pop()
        try:
            with os.scandir(os.path.join(top, folder)) as listing:
                for entry in listing:
                    name = folder + b"/" + entry.name
                    if entry.name.lower() == b".git":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(name)
                    elif included(site, os.fsdecode(name)):
                        found.append(name)
        except OSError:
            continue
    return found
