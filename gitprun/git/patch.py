"""The difference of two commits as a patch that can be applied, and be printed wherever it goes."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from gitprun.git.command import Git
from gitprun.model.escapes import safe_text

# What a terminal would obey or a reader not see. A form feed is part of many a source file, a carriage return of more.
_UNSAFE = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
_SECTION = re.compile(rb"^(?=diff --git )", re.MULTILINE)
# The user's settings may start programs here, and may drop the a/ and b/ that ``git apply`` takes off.
_PINNED: Final = ("--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")


def read_difference(git: Git, old: str, new: str, *shape: str, colour: bool = False) -> bytes:
    """Return the patch between two commits, or in another shape (``--stat``, ``--name-only``) what it is about.

    A file that holds control characters is in a patch as a binary one: nothing of it is lost, and nothing is obeyed.
    With ``colour`` the patch is for a person: coloured, or with its control characters written out.
    """
    if shape:
        return git.run("diff", *_PINNED, "--no-color", *shape, old, new, "--").out
    patch = git.run("diff", *_PINNED, "--no-color", "--binary", old, new, "--").out
    if _is_unsafe(patch):
        return safe_text(patch.decode("utf-8", "replace")).encode() if colour else _as_binary(git, old, new)
    return git.run("diff", *_PINNED, "--color=always", "--binary", old, new, "--").out if colour else patch


def _is_unsafe(text: bytes) -> bool:
    return _UNSAFE.search(text) is not None


def _as_binary(git: Git, old: str, new: str) -> bytes:
    """Write the sections of a patch that hold control characters as git writes those of binary files."""
    # Without renames each section is of one name, so names and sections pair up.
    words = ("diff", *_PINNED, "--no-color", "--no-renames")
    names = git.run(*words, "--name-only", "-z", old, new, "--").fields
    whole = git.run(*words, "--binary", old, new, "--").out
    sections = [section for section in _SECTION.split(whole) if section]
    objects = git.run("rev-parse", "--git-path", "objects").out[:-1]
    with tempfile.TemporaryDirectory(prefix="prun-patch-") as folder:
        # A repository of its own, for only there it can be said of every file that it is binary.
        for name in ("objects", "refs", "info"):
            Path(folder, name).mkdir()
        Path(folder, "HEAD").write_text("ref: refs/heads/none\n")
        Path(folder, "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        Path(folder, "info", "attributes").write_text("* -diff\n")
        place = (git.cwd / Path(objects.decode("utf-8", "surrogateescape"))).resolve()
        env = {"GIT_OBJECT_DIRECTORY": str(place), **git.env, "GIT_DIR": folder}
        apart = replace(git, cwd=Path(folder), env=env)

        def binary(name: bytes) -> bytes:
            path = f":(top,literal){name.decode('utf-8', 'surrogateescape')}"
            return apart.run(*words, "--binary", old, new, "--", path).out

        pairs = zip(names, sections, strict=True)
        return b"".join(binary(name) if _is_unsafe(section) else section for name, section in pairs)
