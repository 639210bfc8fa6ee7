"""Fingerprints of trees as the ASE-2024 benchmark takes them, and what is known from earlier runs."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pygit2

# What changes a file on its way into a checkout.
ATTRIBUTES = ("eol", "text", "ident")
LONE = re.compile(rb"(?<!\r)\n")
IDENT = re.compile(rb"\$Id(?::[^$\n]*)?\$")
# As git: whether a text is binary is told by its start.
START = 8000


class Memory:
    """Answers to questions that have one answer for ever, kept on disk."""

    def __init__(self, path: Path) -> None:
        self._rows = sqlite3.connect(path)
        self._rows.execute("create table if not exists known (question text primary key, answer text) without rowid")
        self._known: dict[str, str] = dict(self._rows.execute("select question, answer from known"))
        self._new: dict[str, str] = {}

    def ask(self, question: str, find: Callable[[], str]) -> str:
        """Return the answer, found now if nobody asked before."""
        if question not in self._known:
            self._known[question] = self._new[question] = find()
        return self._known[question]

    def save(self) -> None:
        """Write down what was found since."""
        with self._rows:
            self._rows.executemany("insert or replace into known values (?, ?)", self._new.items())
        self._new.clear()


class Fingerprints:
    """Fingerprints of the trees of one bare repository; each blob is read once, in this run or an earlier one.

    The benchmark hashes what a checkout on Linux holds: no links, nothing whose name begins with ``.git``, and line
    ends and ``$Id$`` as the tree's own attributes want them.
    """

    def __init__(self, place: Path, memory: Memory) -> None:
        self._place, self._memory, self._repo = place, memory, pygit2.Repository(str(place))

    def of(self, tree: str) -> str:
        """Return the fingerprint of a tree; empty where an object of it is missing."""
        return self._memory.ask(f"tree {tree}", lambda: self._find(tree))

    def _find(self, tree: str) -> str:
        files = dict(self._files(tree))
        rows = []
        wanted = self._attributes(tree, files) if any(path.endswith(b".gitattributes") for path in files) else {}
        for path, oid in files.items():
            if b"/.git" in b"/" + path:
                continue
            ways = wanted.get(path, {})
            words = " ".join([oid, *(f"{name}={ways[name]}" for name in ATTRIBUTES if name in ways)])
            found = self._memory.ask(f"blob {words}", lambda oid=oid, ways=ways: self._hash(oid, ways))  # type: ignore[misc]
            if not found:
                return ""
            # As sha256sum prints names.
            plain = path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
            rows.append(b"\\" * (plain != path) + found.encode() + b"  ./" + plain + b"\n")
        return hashlib.sha256(b"".join(sorted(rows))).hexdigest()

    def _files(self, tree: str) -> Iterator[tuple[bytes, str]]:
        for row in self._git("ls-tree", "-r", "-z", tree).split(b"\0")[:-1]:
            about, _, path = row.partition(b"\t")
            mode, kind, oid = about.decode().split()
            if kind == "blob" and mode != "120000":
                yield path, oid

    def _attributes(self, tree: str, files: Mapping[bytes, str]) -> dict[bytes, dict[str, str]]:
        """Return what the attributes of a tree say of its files, as far as they say anything."""
        index = self._place / "fingerprints.index"
        self._git("read-tree", tree, index=index)
        asked = b"".join(path + b"\0" for path in files)
        words = self._git("check-attr", "--cached", "--stdin", "-z", *ATTRIBUTES, index=index, given=asked).split(b"\0")
        found: dict[bytes, dict[str, str]] = {}
        for path, name, value in zip(words[0:-1:3], words[1::3], words[2::3], strict=True):
            if value != b"unspecified":
                found.setdefault(path, {})[name.decode()] = value.decode()
        return found

    def _hash(self, oid: str, ways: Mapping[str, str]) -> str:
        """Hash what a checkout makes of a blob; empty where it is missing."""
        try:
            text = self._repo[oid].read_raw()
        except KeyError:
            return ""
        if ways.get("ident") == "set":
            text = IDENT.sub(b"$Id: " + oid.encode() + b" $", text)
        if ways.get("eol") == "crlf" and ways.get("text") != "unset":
            # Where git guesses, a text with any return in it stays as it is.
            guessed = ways.get("text") == "auto"
            if not (guessed and (b"\r" in text or b"\0" in text[:START])):
                text = LONE.sub(b"\r\n", text)
        return hashlib.sha256(text).hexdigest()

    def _git(self, *words: str, index: Path | None = None, given: bytes = b"") -> bytes:
        env = {**os.environ, **({"GIT_INDEX_FILE": str(index)} if index else {})}
        argv = ["git", f"--git-dir={self._place}", *words]
        return subprocess.run(argv, env=env, input=given, capture_output=True, check=True).stdout
