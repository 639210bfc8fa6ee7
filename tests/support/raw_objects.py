"""Git objects written by hand, right or wrong, for what no git program would write."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gitprun.model.names import Oid

Entry = tuple[int | bytes, bytes, Oid]
WHO = b"Eve Evil <eve@example.test> 1767607200 +0000"


@dataclass(frozen=True, slots=True)
class RawStore:
    """An object folder; everything is written as a loose object."""

    path: Path

    def place(self, oid: str) -> Path:
        """Name the file of an object."""
        return self.path / oid[:2] / oid[2:]

    def put(self, kind: str, body: bytes, *, name: str | None = None) -> Oid:
        """Write an object under its own name, or under another one."""
        whole = b"%s %d\0%s" % (kind.encode(), len(body), body)
        oid = Oid(name or hashlib.sha1(whole).hexdigest())
        self.put_file(oid, zlib.compress(whole))
        return oid

    def put_file(self, oid: str, content: bytes) -> None:
        """Write the very bytes of an object's file."""
        self.place(oid).parent.mkdir(parents=True, exist_ok=True)
        self.place(oid).write_bytes(content)

    def blob(self, body: bytes = b"x\n") -> Oid:
        """Write a blob."""
        return self.put("blob", body)

    def tree(self, *entries: Entry) -> Oid:
        """Write a tree with its entries in the order given; a mode may be bytes."""
        return self.put("tree", b"".join(map(raw_entry, entries)))

    def commit(self, tree: str, *parents: str, author: bytes = WHO, message: bytes = b"evil\n") -> Oid:
        """Write a commit."""
        rows = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
        rows += [b"author " + author, b"committer " + WHO]
        return self.put("commit", b"\n".join(rows) + b"\n\n" + message)

    def tag(self, target: str, kind: str = "commit") -> Oid:
        """Write a tag object."""
        return self.put("tag", b"object %s\ntype %s\ntag t\ntagger %s\n\nt\n" % (target.encode(), kind.encode(), WHO))

    def zeros(self, size: int) -> Oid:
        """Write a blob of zeros without ever holding it."""
        head, block = b"blob %d\0" % size, b"\0" * (1 << 20)
        name, squeeze = hashlib.sha1(head), zlib.compressobj(1)
        parts = [squeeze.compress(head)]
        for start in range(0, size, len(block)):
            piece = block[: size - start]
            name.update(piece)
            parts.append(squeeze.compress(piece))
        oid = Oid(name.hexdigest())
        self.put_file(oid, b"".join([*parts, squeeze.flush()]))
        return oid


def raw_entry(entry: Entry) -> bytes:
    """Write one entry of a tree."""
    mode, name, oid = entry
    return (mode if isinstance(mode, bytes) else b"%o" % mode) + b" " + name + b"\0" + bytes.fromhex(oid)


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Sort entries the way git wants them."""
    return sorted(entries, key=lambda entry: entry[1] + (b"/" if entry[0] == 0o40000 else b""))


def delta_pack(base: bytes, size: int) -> tuple[bytes, Oid]:
    """Write a pack of a small blob and of a large one that is told as copies of it, and name the large one."""
    whole, block = hashlib.sha1(b"blob %d\0" % size), base * ((1 << 20) // len(base))
    for start in range(0, size, len(block)):
        whole.update(block[: size - start])
    copies = b"\xf0" + struct.pack("<I", len(base))[:3]
    delta = _varint(len(base)) + _varint(size) + copies * (size // len(base))
    name = hashlib.sha1(b"blob %d\0%s" % (len(base), base)).digest()
    rows = _entry_head(3, len(base)) + zlib.compress(base)
    rows += _entry_head(7, len(delta)) + name + zlib.compress(delta)
    pack = b"PACK" + struct.pack(">II", 2, 2) + rows
    return pack + hashlib.sha1(pack).digest(), Oid(whole.hexdigest())


def _varint(number: int) -> bytes:
    out = bytearray()
    while True:
        out.append(number & 127 | (128 if number > 127 else 0))
        number >>= 7
        if not number:
            return bytes(out)


def _entry_head(kind: int, size: int) -> bytes:
    first, size = kind << 4 | size & 15, size >> 4
    return bytes([first | (128 if size else 0)]) + (_varint(size) if size else b"")
