"""What the setup commands made of a fresh workspace: no work of its worker's, unless that changes it again.

It is taken down as a capture would see it, before the worker starts, in the git folder the work is captured with.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitprun.capture.context import CaptureContext
from gitprun.capture.screen import LeftOut, goes_along
from gitprun.system.files import read_plain, write_whole
from gitprun.workspaces.gitdir import PREPARED

# What setup made, a row a file of some hundred bytes: half a million files.
_MOST = 64_000_000
# A mode of zeros without its leading ones.
_GONE = "0"
# So many files of a submodule are looked at.
_MOST_ENTRIES = 100_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """What setup left: ``versions`` of the paths it changed (mode and object), and the files that are left out.

    Those are told by size, time and inode, since nobody stores them; a submodule by those of all its files.
    """

    versions: Mapping[str, tuple[str, str]]
    left_out: Mapping[str, tuple[int, ...]]


def note_prepared(site: CaptureContext, versions: Mapping[str, tuple[str, str]], left_out: Iterable[LeftOut]) -> None:
    """Write down what setup made: the paths it changed with their versions now, and what is left out anyway."""
    assert site.own is not None
    marks = {row.path: mark for row in left_out if (mark := _mark(site, row)) is not None}
    said = json.dumps({"versions": dict(versions), "left_out": marks})
    write_whole(site.own / PREPARED, said.encode("utf-8", "surrogateescape"))


def read_prepared(site: CaptureContext) -> Prepared | None:
    """Read what setup made in this workspace; None if there was none, or it changed nothing."""
    raw = read_plain(site.own / PREPARED, _MOST) if site.own is not None else None
    if raw is None:
        return None
    said = json.loads(raw.decode("utf-8", "surrogateescape"))
    versions = {path: (row[0], row[1]) for path, row in said["versions"].items()}
    return Prepared(versions, {path: tuple(mark) for path, mark in said["left_out"].items()})


def give_back(site: CaptureContext, made: Prepared, asked: Callable[[str], bool]) -> tuple[str, ...]:
    """Restore, in the index, the base's version of paths that are just as setup left them; return those paths.

    ``asked`` tells whether somebody wants a path captured whoever made it.
    """
    if not made.versions:
        return ()
    onto = site.onto or site.base
    now = dict(differing(site, "diff-index", "--cached", onto))
    own = [path for path, version in now.items() if made.versions.get(path) == version and not asked(path)]
    if own:
        base = dict(differing(site, "diff-index", "--cached", "-R", onto))
        work = [path for path, (mode, _) in now.items() if mode != _GONE and path not in {*own}]
        # Given back there, the base's file would drop what the worker put in its place.
        own = [path for path in own if base[path][0] == _GONE or not _in_the_way(path, work)]
        # What goes first: a file may have taken the place of a folder.
        ordered = sorted(own, key=lambda path: base[path][0] != _GONE)
        rows = (f"{base[path][0]} {base[path][1]}\t".encode() + os.fsencode(path) + b"\0" for path in ordered)
        site.git.run("update-index", "-z", "--index-info", stdin=b"".join(rows))
    return tuple(own)


def _in_the_way(path: str, work: Iterable[str]) -> bool:
    """Check whether somebody's work stands where a folder above a path would be, or below the path itself."""
    return any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in work)


def still_left_out(site: CaptureContext, made: Prepared, rows: Iterable[LeftOut]) -> list[LeftOut]:
    """Drop the rows about files that setup made and nobody touched since."""
    return [row for row in rows if row.path not in made.left_out or made.left_out[row.path] != _mark(site, row)]


def differing(site: CaptureContext, *words: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Ask git for differences; yield each path with its mode and object after them."""
    options = ("-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    fields = site.git.run(words[0], *options, *words[1:]).fields
    for about, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, oid, _ = about.decode().split(" ")
        yield os.fsdecode(path), (mode.lstrip("0") or "0", oid)


def _mark(site: CaptureContext, row: LeftOut) -> tuple[int, ...] | None:
    """Return what changes whenever a path does; None for what tools make again, which nobody asks about."""
    place = os.path.join(os.fsencode(site.workspace.path), os.fsencode(row.path))
    try:
        if not row.path.endswith("/"):
            found = os.lstat(place)
            return found.st_size, found.st_mtime_ns, found.st_ino
        return None if goes_along(row) else _mark_folder(place)
    except (OSError, ValueError):
        return None


def _mark_folder(top: bytes) -> tuple[int, ...] | None:
    """Digest names, sizes, times and inodes of all below a folder, but for git's own, which are told apart."""
    seen, queue, count = hashlib.sha1(usedforsecurity=False), [top], 0
    while queue:
        with os.scandir(queue.pop()) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                count += 1
                if count > _MOST_ENTRIES:
                    # What cannot be told to be the same counts as changed.
                    return None
                if entry.name == b".git":
                    continue
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(about.st_mode):
                    queue.append(entry.path)
                    seen.update(b"%b/\0" % entry.path[len(top) :])
                else:
                    row = (about.st_mode, about.st_size, about.st_mtime_ns, about.st_ino)
                    seen.update(entry.path[len(top) :] + b"\0%d %d %d %d\0" % row)
    return (count, int.from_bytes(seen.digest()))
