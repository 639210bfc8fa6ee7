"""Remote-tracking refs of the user's repository, as its clones can read them: one text for all, made once.

A clone has no remote, so nothing can be fetched or pushed; ``git diff origin/main...`` needs the refs alone.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gitprun.git.command import Git
from gitprun.model.lists import listed
from gitprun.system.files import read_plain

PREFIX = b"refs/remotes/"
# Every clone holds the text, and whoever captures from one reads it: about 350,000 refs.
LARGEST = 32_000_000
# Only so many are looked at for what they point to: each is a file.
_MOST_HEADS = 1000
# A symbolic ref is one line with a name of at most 4,096 bytes.
_LONGEST = 10_000
_BROKEN = re.compile(r"ignoring (?:broken ref|ref with broken name) (refs/remotes/\S+)")


@dataclass(frozen=True, slots=True)
class Remotes:
    """The lines of a ``packed-refs`` file in git's order, and the symbolic refs (name, target) that it cannot hold."""

    text: bytes = b""
    symbolic: tuple[tuple[str, str], ...] = ()
    note: str = ""

    @property
    def oids(self) -> frozenset[str]:
        """Return the objects the refs name."""
        return _oids(self.text)


NONE = Remotes()


@lru_cache(maxsize=4)
def _oids(text: bytes) -> frozenset[str]:
    return frozenset(line[:40] for line in text.decode("latin-1").split("\n")[:-1])


def ask_for_remotes(git: Git) -> None:
    """Start the listing that ``read_remotes`` will wait for."""
    git.ask_ahead("show-ref")


def read_remotes(git: Git, common: Path) -> Remotes:
    """Read ``refs/remotes/*`` of the repository at ``common``.

    A ref that is broken or names a lost object is passed over, with one note for all.
    """
    # It looks for every object, and gives up at the first that is lost; three times as fast as for-each-ref.
    listing = git.run("show-ref", ok=(0, 1, 128))
    if listing.code == 128:
        text, passed = _read_one_by_one(git)
    else:
        text, passed = _cut_out(listing.out), []
    # Better none, with a note, than a clone that takes seconds to read its refs at every command.
    if len(text) > LARGEST:
        return Remotes(
            note=f"refs/remotes is not in the clone: it holds {text.count(b'%c' % 10)} refs, which is too many"
        )
    note = ""
    if passed:
        note = f"{listed(passed, 1)}: broken, or the object is not there, so not in the clone"
    return _split_off_symbolic(common, text, note)


def _cut_out(listing: bytes) -> bytes:
    """Cut what begins with ``refs/remotes/`` out of a sorted listing."""
    mark = b" " + PREFIX
    first, last = listing.find(mark), listing.rfind(mark)
    return b"" if first < 0 else listing[first - 40 : listing.index(b"\n", last) + 1]


def _read_one_by_one(git: Git) -> tuple[bytes, list[str]]:
    """Read the refs whose objects are there; returns the names of the others."""
    listing = git.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes")
    rows = listing.out.split(b"\n")[:-1]
    asked = b"".join(row[:40] + b"\n" for row in rows)
    said = git.run("cat-file", "--buffer", "--batch-check=%(objectname)", stdin=asked).out.split(b"\n")
    there = [not answer.endswith(b" missing") for answer in said[: len(rows)]]
    lost = [row[41:].decode("utf-8", "replace") for row, found in zip(rows, there, strict=True) if not found]
    kept = b"".join(row + b"\n" for row, found in zip(rows, there, strict=True) if found)
    return kept, sorted({*lost, *_BROKEN.findall(listing.err)})


def _split_off_symbolic(common: Path, text: bytes, note: str) -> Remotes:
    """Take out what is a symbolic ref to one of the others, such as ``origin/HEAD``: always a file of its own.

    Other names than HEAD are taken as what they point to now: nothing in a clone moves them.
    """
    names = [part[part.rindex(b" ") + 1 :] + b"/HEAD" for part in text.split(b"/HEAD\n")[:-1]]
    found = []
    for name in names[:_MOST_HEADS]:
        said = (read_plain(common / os.fsdecode(name), _LONGEST) or b"").strip()
        target, at = said.removeprefix(b"ref:").strip(), text.find(b" " + name + b"\n") - 40
        if said.startswith(b"ref:") and target.startswith(PREFIX) and at >= 0 and b" " + target + b"\n" in text:
            text = text[:at] + text[text.index(b"\n", at) + 1 :]
            found.append((os.fsdecode(name), os.fsdecode(target)))
    return Remotes(text, tuple(found), note)
