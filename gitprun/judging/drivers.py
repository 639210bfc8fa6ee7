"""Merge drivers that attributes name: which path has which, whether it is set up, and what became of the path."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from gitprun.git.command import Git
from gitprun.git.trees import REGULAR, TreeMerge, read_blob, show_path, tree_of
from gitprun.git.walk import Trees
from gitprun.model.findings import Suspect
from gitprun.model.names import Oid
from gitprun.system.files import read_plain

# What git brings along itself.
BUILTIN = ("text", "binary", "union")
# A file of attributes that is larger is none.
# Git refuses attribute files of more than 100 MB; a line per pattern does not come near this one.
_MOST = 1 << 20
# A driver may drop what both sides dropped; one that leaves less than half of what it must keep has gone wrong.
FAR = 2


class DriverSettings(Protocol):
    """What git's configuration says of merge drivers.

    ``drivers`` are their programs by name, ``driver`` is that of paths nobody speaks of, ``attributes`` the file of
    attributes for all repositories.
    """

    @property
    def drivers(self) -> Mapping[str, str]: ...
    @property
    def driver(self) -> str: ...
    @property
    def attributes(self) -> str: ...


class MergeAttributes:
    """The ``merge`` attribute of paths as a merge sees it.

    ``git`` gives the one whose folder attributes lie in, ``read`` what a ``.gitattributes`` file of the target says
    (by its path), without asking git; ``everywhere`` are the files that speak of all repositories, or of all paths.
    """

    def __init__(
        self,
        git: Callable[[], Git],
        read: Callable[[bytes], bytes],
        everywhere: Sequence[Path],
        settings: DriverSettings,
    ) -> None:
        self._git, self._read, self._everywhere, self._settings = git, read, everywhere, settings
        self._known: dict[bytes, str] = {}
        self._folders: dict[bytes, bool] = {}

    def of(self, paths: Iterable[bytes]) -> Mapping[bytes, str]:
        """Return the drivers of paths by name; those that git merges as ever are left out."""
        wanted = list(dict.fromkeys(paths))
        asked = [path for path in wanted if path not in self._known]
        if self._are_used(asked):
            stdin = b"".join(path + b"\0" for path in asked)
            fields = self._git().run("check-attr", "-z", "--stdin", "merge", stdin=stdin).fields
            for path, value in zip(fields[::3], fields[2::3], strict=True):
                self._known[path] = self._driver(os.fsdecode(value))
        return {path: name for path in wanted if (name := self._known.get(path, ""))}

    def command(self, name: str) -> str:
        """Return the program of a driver; empty where it is not set up."""
        return self._settings.drivers.get(name, "")

    def _driver(self, value: str) -> str:
        if value == "unspecified":
            value = self._settings.driver
        # "set" and "text" are git's own merge, "unset" and "binary" leave a conflict: none of them runs a program.
        return "" if value in ("", "set", "unset", "text", "binary") else value

    def _are_used(self, paths: Sequence[bytes]) -> bool:
        """Check whether anything speaks of merges of these paths: mostly nothing does, and git need not be asked."""
        if not paths:
            return False
        return self._speak_everywhere or any(self._speaks(path.rpartition(b"/")[0]) for path in paths)

    @functools.cached_property
    def _speak_everywhere(self) -> bool:
        texts = (read_plain(place, _MOST) for place in self._everywhere)
        # The word "merge" anywhere is enough to ask git; to read patterns as git does is git's work.
        return bool(self._settings.driver) or any(b"merge" in (text or b"") for text in texts)

    def _speaks(self, folder: bytes) -> bool:
        """Check whether attributes of a folder, or of one above it, say something of merges."""
        if folder not in self._folders:
            above = bool(folder) and self._speaks(folder.rpartition(b"/")[0])
            own = folder + b"/.gitattributes" if folder else b".gitattributes"
            # Attributes hold for all that lies below, and a folder is asked for each of its files.
            self._folders[folder] = above or b"merge" in self._read(own)
        return self._folders[folder]


def find_attributes(
    git: Callable[[], Git], trees: Trees, checkout: Path | None, common: Path, tip: Oid, settings: DriverSettings
) -> MergeAttributes:
    """Return the attributes for merges into a commit, as git would read them: from its checkout, if it has one."""

    def read(path: bytes) -> bytes:
        # Git reads attributes from the working tree, so edits there count that no commit has.
        if checkout is not None:
            return read_plain(Path(os.fsdecode(os.path.join(os.fsencode(checkout), path))), _MOST) or b""
        found = trees.find(tree_of(trees.repo, tip), path)
        return read_blob(trees.repo, found[1]) if found is not None and found[0] in REGULAR else b""

    # Where git looks when core.attributesFile is not set.
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    own = Path(os.path.expanduser(settings.attributes)) if settings.attributes else home / "git" / "attributes"
    return MergeAttributes(git, read, (common / "info" / "attributes", own), settings)


def judge_drivers(
    attributes: MergeAttributes, trees: Trees, merge: TreeMerge, sides: tuple[Oid, Oid, Oid], contested: Iterable[bytes]
) -> Iterator[str | Suspect]:
    """Yield of each path that both sides changed what its driver did: a note, or what looks wrong.

    ``sides`` are the trees of base, main and unit.
    """
    # Git says nothing of drivers, so their work is told by what they left.
    unsettled = {stage.path for stage in merge.stages}
    for path, name in sorted(attributes.of(contested).items()):
        base, main, unit = (trees.find(tree, path) for tree in sides)
        # A driver is asked only where both sides changed a file, each differently.
        if main is None or unit is None or main[1] in (unit[1], base and base[1]) or unit[1] == (base and base[1]):
            continue
        # Links and submodules never reach a driver.
        if any(entry[0] not in REGULAR for entry in (main, unit)):
            continue
        shown, left = show_path(path), trees.find(merge.tree, path)
        if not attributes.command(name):
            if name not in BUILTIN:
                yield f"{shown}: its merge driver {name!r} is not set up here, so git merged it as text"
        elif path in unsettled:
            # A failed driver leaves main's text in the tree; with markers in it git or the driver has done something.
            if left == main:
                yield f"{shown}: its merge driver {name!r} failed, or left it to you: {attributes.command(name)}"
        elif left is not None and left[0] in REGULAR:
            rows = [entry if entry is not None and entry[0] in REGULAR else None for entry in (base, main, unit, left)]
            fault = _judge([len(read_blob(trees.repo, entry[1])) if entry is not None else 0 for entry in rows])
            if fault:
                yield Suspect(path=shown, reason=f"its merge driver {name!r} left {fault}")


def _judge(sizes: Sequence[int]) -> str:
    """Return in words what is wrong with the size of a merged text; what each side took away may be gone."""
    base, main, unit, merged = sizes
    # An empty file from two sides with text is the commonest failure: a program that could not read its input.
    if not merged:
        return "nothing of it" if main and unit else ""
    # What both took away may be gone twice over; less than that nobody asked for.
    kept = min(main, unit, main + unit - base)
    return (
        f"{merged} byte{'' if merged == 1 else 's'} of it, far less than either side has" if merged * FAR < kept else ""
    )
