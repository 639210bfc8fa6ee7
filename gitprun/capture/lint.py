"""Paths a tree may hold and a checkout may not: what git must never see is refused, what troubles others is said.

Two grades. ``refuse``: aliases of ``.git`` on any file system, names no file system takes, settings of git that are
no plain file. ``warn``: names that are fine here and break elsewhere; such work is taken, with a word about it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Grade = Literal["refuse", "warn"]

# Nobody's paths have more than some dozens of parts; programs that recurse over them must not run out of stack.
DEPTH = 512
# What ext4, APFS and NTFS take for one name.
MOST_NAME = 255
# The longest path Linux takes (PATH_MAX).
MOST_PATH = 4096
FILE, PROGRAM, LINK, SUBMODULE, FOLDER = 0o100644, 0o100755, 0o120000, 0o160000, 0o040000
# Written by git before 2005 and still read; it means an ordinary file.
_OLD_FILE = 0o100664
_MODES = frozenset({FILE, PROGRAM, LINK, SUBMODULE, FOLDER, _OLD_FILE})

# HFS+ passes these over when it compares names.
_INVISIBLE = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
# NTFS passes over what follows, and keeps short names: the first six letters, or letters made from a checksum.
_REST = r"[ .]*(?::.*)?"
_GIT = re.compile(rf"(?is)(?:\.git|git~[0-9]+){_REST}")
_SPECIAL = {
    name: re.compile(rf"(?is)(?:\.{name}|{name[:6]}~[1-4]|{short}~[1-9]|{short[:5]}~[1-9][0-9]){_REST}")
    for name, short in (("gitmodules", "gi7eba"), ("gitattributes", "gi7d29"), ("gitignore", "gi250a"))
}
_DEVICE = re.compile(r"(?is)(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:[ .:].*)?")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_RESERVED = re.compile(r'[<>:"|?*]')


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One path and what is wrong with it."""

    grade: Grade
    path: bytes
    what: str

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.what}"


def lint_path(path: bytes, mode: int, *, depth: int = DEPTH) -> LintFinding | None:
    """Judge one entry of a tree by its whole path and its mode; None if nothing is wrong with it."""
    refused = next(_refused(path, mode, depth), None)
    if refused is not None:
        return LintFinding("refuse", path, refused)
    warned = list(dict.fromkeys(_warned(path)))
    return LintFinding("warn", path, ", ".join(warned)) if warned else None


def _refused(path: bytes, mode: int, depth: int) -> Iterator[str]:
    parts = path.split(b"/")
    if mode not in _MODES:
        yield f"a mode git does not know ({mode:06o})"
    if len(parts) > depth:
        yield f"lies {len(parts)} folders deep, more than {depth}"
    if len(path) > MOST_PATH:
        yield f"a path of {len(path)} bytes, more than {MOST_PATH}"
    for part in parts:
        if part in (b"", b".", b".."):
            yield "a part of the path is empty, . or .."
        if len(part) > MOST_NAME:
            yield f"a name of {len(part)} bytes, more than {MOST_NAME}"
        if is_git(part):
            yield "git would take it for .git on some file system"
    for number, part in enumerate(parts, 1):
        special = special_name(part)
        if special is not None and (number < len(parts) or mode not in (FILE, PROGRAM, _OLD_FILE)):
            yield f"{special} is no plain file"


def _warned(path: bytes) -> Iterator[str]:
    for part in path.split(b"/"):
        text = part.decode("utf-8", "surrogateescape")
        if _CONTROL.search(text):
            yield "holds control characters"
        if any("\udc80" <= letter <= "\udcff" for letter in text):
            yield "is not UTF-8"
        if text.startswith("-"):
            yield "begins with a dash, like an option"
        if "\\" in text:
            yield "holds a backslash, which Windows takes for a folder"
        if _RESERVED.search(text):
            yield "holds a character Windows does not allow"
        if text.endswith((" ", ".")):
            yield "ends with a dot or a blank, which Windows drops"
        if _DEVICE.fullmatch(text):
            yield "is the name of a device on Windows"


def is_git(part: bytes) -> bool:
    """Check whether some file system takes one part of a path for ``.git``, or finds ``.git`` behind a backslash."""
    return any(_GIT.fullmatch(piece) for piece in _visible(part).split("\\"))


def special_name(part: bytes) -> str | None:
    """Return the file of git's own settings that some file system takes one part of a path for."""
    text = _visible(part)
    return next((f".{name}" for name, pattern in _SPECIAL.items() if pattern.fullmatch(text)), None)


def is_modules(path: bytes) -> bool:
    """Check whether git could read this file as the settings of submodules."""
    return special_name(path.rpartition(b"/")[2]) == ".gitmodules"


def _visible(part: bytes) -> str:
    return part.decode("utf-8", "surrogateescape").translate(_INVISIBLE)


def collisions(names: Iterable[bytes]) -> list[tuple[bytes, bytes, str]]:
    """Find names of one folder that are one file where case or Unicode form do not count; pairs, and which of both."""
    groups: dict[str, list[bytes]] = {}
    for name in names:
        groups.setdefault(fold(name), []).append(name)
    found = []
    for group in groups.values():
        first, *others = sorted(group)
        found += [(first, other, "form" if _formed(first) == _formed(other) else "case") for other in others]
    return sorted(found)


def _formed(name: bytes) -> str:
    return unicodedata.normalize("NFC", name.decode("utf-8", "surrogateescape"))


def fold(name: bytes) -> str:
    """Return what is left of a name where case and Unicode form do not count."""
    if name.isascii():
        return name.decode("ascii").lower()
    # To fold the case may undo the form again.
    return unicodedata.normalize("NFC", _formed(name).casefold())


def lint_link(path: bytes, target: bytes) -> LintFinding | None:
    """Judge where a symbolic link leads, by words alone."""
    if target.startswith(b"/"):
        return LintFinding("warn", path, f"a link to an absolute path ({shown(target)})")
    place: list[bytes] = path.split(b"/")[:-1]
    for part in target.split(b"/"):
        if part == b"..":
            if not place:
                return LintFinding("warn", path, f"a link that leaves the repository ({shown(target)})")
            place.pop()
        elif part not in (b"", b"."):
            place.append(part)
    if any(is_git(part) for part in place):
        return LintFinding("warn", path, f"a link into a git folder ({shown(target)})")
    return None


def shown(raw: bytes, most: int = 120) -> str:
    """Write bytes so that no terminal takes them for orders and nobody reads them as something else."""
    text = raw.decode("utf-8", "backslashreplace")
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return plain if len(plain) <= most else f"{plain[: most // 2]}...{plain[-most // 2 :]}"
