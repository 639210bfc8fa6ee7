"""Git's own memory of resolved conflicts (``rr-cache``): read as git reads it, and never written.

Git names a conflict by its hunks alone, so an answer found at one commit fits the same conflict at any other.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.judging.conflict_text import read_style
from gitprun.system.files import read_plain

RERERE = "rerere"
# Where git would take it by itself, so do we; else it is only named.
HINT = "git's rerere knows a resolution; git config rerere.autoUpdate true has it used, git merge shows it"
# Bytes of an image of git's; read at once, and git keeps whole files.
MOST = 64 << 20
# Git nests a conflict in another one where merge bases conflict among themselves: two or three levels.
DEEPEST = 50
# Git names conflicts by markers of its usual length, whatever size an attribute asks for.
_SIZE = 7
_VARIANT = re.compile(r"postimage(?:\.([0-9]+))?")


@dataclass(frozen=True, slots=True)
class Rerere:
    """Resolutions in a folder; ``update`` says that the user has git take them without being asked, ``style`` how it
    writes conflicts (see ``read_style``).
    """

    folder: Path
    update: bool
    style: str = ""

    def find(self, texts: Sequence[bytes]) -> bytes | None:
        """Return the text of a conflict as it was resolved before; ``texts`` are forms git may write the conflict in.

        None where nothing is known, or where the rest of the file changed so that it does not fit any more.
        """
        for text in texts:
            # Git keeps images as they lie in the folder, where line ends may have been converted.
            for marked in (text, text.replace(b"\n", b"\r\n")) if b"\r\n" not in text else (text,):
                normal = normalise(marked)
                if normal is None:
                    continue
                name, image = normal
                for before, after in self._known(name):
                    merged = _merge(image, before, after)
                    if merged is not None:
                        return merged if marked is text else merged.replace(b"\r\n", b"\n")
        return None

    def _known(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield what was in conflict and what became of it, for every resolution of one name."""
        folder = self.folder / name
        try:
            found = sorted(each.name for each in folder.iterdir())
        except OSError:
            return
        for variant in filter(None, map(_VARIANT.fullmatch, found)):
            number = f".{variant.group(1)}" if variant.group(1) else ""
            before, after = (read_plain(folder / f"{kind}{number}", MOST) for kind in ("preimage", "postimage"))
            # A preimage alone is a conflict nobody has resolved yet.
            if before is not None and after is not None:
                yield before, after


def read_rerere(git: Git, common: Path) -> Rerere | None:
    """Return git's memory of resolutions, if there is one and the user has not switched it off."""
    folder = common / "rr-cache"
    # Git itself makes the folder only once rerere is on, or was.
    if not folder.is_dir():
        return None
    # Not set, it is on where the folder is.
    if not _is_on(git, "rerere.enabled", "true"):
        return None
    # Workers in linked worktrees share the folder: whose answer it is nobody can tell, so none is taken unseen.
    alone = not (common / "prun" / "trusted").is_dir()
    return Rerere(folder, alone and _is_on(git, "rerere.autoUpdate", "false"), read_style(git))


def _is_on(git: Git, key: str, default: str) -> bool:
    return git.run("config", "--type=bool", "--default", default, "--get", key, ok=(0, 1, 128)).text == "true"


def normalise(text: bytes) -> tuple[str, bytes] | None:
    """Return git's name of the conflicts in a text, and the text with each in git's order and without labels.

    None where there is no conflict, or a marker without its partners.
    """
    lines = iter(_lines(text))
    mark, out, found = hashlib.sha1(usedforsecurity=False), list[bytes](), False
    for line in lines:
        if not _is_marker(line, b"<"):
            out.append(line)
            continue
        hunk = _read_hunk(lines, 0)
        if hunk is None:
            return None
        one, two, found = *hunk, True
        # Git's own hash, to the byte: anything else would find none of its folders.
        mark.update(one + b"\0" + two + b"\0")
        out.append(_written(one, two))
    return (mark.hexdigest(), b"".join(out)) if found else None


def _lines(text: bytes) -> list[bytes]:
    rows = text.split(b"\n")
    return [row + b"\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])


def _read_hunk(lines: Iterator[bytes], depth: int) -> tuple[bytes, bytes] | None:
    """Read on to the end of a conflict; returns both sides, the smaller one first."""
    if depth > DEEPEST:
        return None
    sides: list[list[bytes]] = [[], [], []]
    # The base, which stands between the sides in some styles, does not count.
    one, base, two = range(3)
    place = one
    for line in lines:
        if _is_marker(line, b"<"):
            inner = _read_hunk(lines, depth + 1)
            if inner is None:
                return None
            sides[place if place != base else two].append(_written(*inner))
        elif _is_marker(line, b"|"):
            if place != one:
                return None
            place = base
        elif _is_marker(line, b"="):
            if place == two:
                return None
            place = two
        elif _is_marker(line, b">"):
            if place != two:
                return None
            # Whoever merges the other way round has the same conflict.
            first, second = sorted((b"".join(sides[one]), b"".join(sides[two])))
            return first, second
        else:
            sides[place].append(line)
    return None


def _is_marker(line: bytes, sign: bytes) -> bool:
    if not line.startswith(sign * _SIZE):
        return False
    after = line[_SIZE : _SIZE + 1]
    # Git writes a label behind the outer markers; "=======" ends its line.
    return after == b" " if sign in b"<>" else after.isspace()


def _written(one: bytes, two: bytes) -> bytes:
    return b"<" * _SIZE + b"\n" + one + b"=" * _SIZE + b"\n" + two + b">" * _SIZE + b"\n"


def _merge(image: bytes, before: bytes, after: bytes) -> bytes | None:
    """Apply to a conflict what was made of it before; None where that does not fit."""
    with tempfile.TemporaryDirectory(prefix="prun-rerere-") as folder:
        for name, text in (("image", image), ("before", before), ("after", after)):
            Path(folder, name).write_bytes(text)
        answer = Git(cwd=Path(folder), neutral=True).run(
            "merge-file", "-p", "image", "before", "after", ok=tuple(range(256))
        )
    # A conflict means that the file changed near the old answer: it does not fit this one.
    return answer.out if answer.code == 0 else None
