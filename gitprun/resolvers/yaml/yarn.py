"""yarn.lock, both the first format and the later one: blocks by their header, each whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from gitprun.resolvers.base import FileConflict, Refused, Resolved, quote, take_plain
from gitprun.resolvers.entries import ABSENT, Absent, EntryClash, Key, merge_keys, prove_entries, settle_value
from gitprun.resolvers.text import BOM
from gitprun.resolvers.tree import TextUnreadable
from gitprun.resolvers.tree.texts import decode, encode

NAME = "yarn-lock"
# Lock files are long and plain: read a block at a time, so they may be larger than what people write.
LOCK_LIMIT = 1 << 20
_COMMAND = "yarn install"
# "a@^1, a@^2" and the quoted form; a comma inside quotes separates nothing.
_RANGE = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^",]+?)\s*(?:,|$)')
# Four spaces in both formats; yarn 1 sets a space between name and range, the later one a colon.
_NEED = re.compile(r'    ("[^"]+"|[^\s":]+)(?:: | )("[^"]*"|\S+)$')
_META = "__metadata"


@dataclass(frozen=True, slots=True)
class _Lock:
    """What stands above the blocks, and the blocks in their order, each with the blank lines behind it."""

    top: str
    blocks: dict[str, str]


def merge_yarn(conflict: FileConflict) -> Resolved | Refused:
    """Merge the blocks that both sides added or removed; refuse where one is changed on both sides."""
    texts = decode(conflict, limit=LOCK_LIMIT)
    if isinstance(texts, Refused):
        return texts
    plain = take_plain(conflict, texts.triple, NAME)
    if plain is not None:
        return plain
    try:
        base, main, unit = (_read(text) for text in (texts.base, texts.main, texts.unit))
        merged = _merge(base, main, unit)
        result = _read(merged)
    except TextUnreadable as error:
        return Refused(f"{error}; regenerate with: {_COMMAND}")
    # Without the blank lines: the last block of a file has none behind it.
    blocks: list[dict[Key, Hashable]] = [
        {key: block.strip("\n") for key, block in lock.blocks.items()} for lock in (base, main, unit, result)
    ]
    fault = prove_entries(blocks[0], blocks[1], blocks[2], blocks[3])
    if fault is None:
        known = {*_faults(texts.main), *_faults(texts.unit)}
        fault = next((fault for fault in _faults(merged) if fault not in known), None)
    return Refused(f"{fault}; regenerate with: {_COMMAND}") if fault else encode(texts, merged, NAME)


def find_yarn_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a lock file: a package locked twice, or needed and not locked."""
    if len(text) > LOCK_LIMIT:
        return ()
    try:
        return _faults(text.removeprefix(BOM).decode().replace("\r\n", "\n"))
    except UnicodeDecodeError:
        return ()


def _read(text: str) -> _Lock:
    top: list[str] = []
    blocks: dict[str, list[str]] = {}
    current = top
    for line in text.split("\n")[:-1]:
        if line and line[0] not in " #":
            header = line.rstrip()
            # What is no header at the margin is what git leaves of a conflict, say.
            if not header.endswith(":") or header[:-1] in blocks:
                raise TextUnreadable(
                    f"{quote(line.encode())} is {'there twice' if header.endswith(':') else 'no header'}"
                )
            current = blocks.setdefault(header[:-1], [])
        # yarn writes comments at the top only; one below it would move with the block above.
        elif line.startswith("#") and blocks:
            raise TextUnreadable("a comment stands among the blocks")
        elif line.startswith(" ") and not blocks:
            raise TextUnreadable("a block has no header")
        current.append(line + "\n")
    return _Lock("".join(top), {header: "".join(lines) for header, lines in blocks.items()})


def _merge(base: _Lock, main: _Lock, unit: _Lock) -> str:
    top = settle_value(base.top, main.top, unit.top)
    if not isinstance(top, str):
        raise TextUnreadable("what stands above the packages is changed on both sides, differently")
    # __metadata holds the format's version and is no package: it stays at the top, out of the sorting.
    order = merge_keys(*([key for key in lock.blocks if key != _META] for lock in (base, main, unit)))
    if isinstance(order, EntryClash):
        raise TextUnreadable(f"the file {order.reason}")
    parts = [top]
    # The blocks that only one side removed and the other changed are not in the order, and so lost: see the proof.
    for key in [_META, *order] if _META in main.blocks else order:
        block = settle_value(_block(base, key), _block(main, key), _block(unit, key))
        if isinstance(block, EntryClash):
            raise TextUnreadable(f"{quote(key.encode())} {block.reason}")
        if isinstance(block, str):
            parts.append(block + "\n\n")
    return "".join(parts).rstrip("\n") + "\n"


def _block(lock: _Lock, key: str) -> str | Absent:
    return lock.blocks[key].rstrip("\n") if key in lock.blocks else ABSENT


def _ranges(header: str) -> Iterator[str]:
    """List what a block's header stands for; the later format has them all in one pair of quotes."""
    at = 0
    while at < len(header):
        found = _RANGE.match(header, at)
        if not found or found.end() == at:
            return
        yield from found.group(1).strip('"').split(", ")
        at = found.end()


def _faults(text: str) -> tuple[str, ...]:
    try:
        lock = _read(text if text.endswith("\n") else text + "\n")
    except TextUnreadable as error:
        # Another kind of file under this name is no fault of its own.
        return (str(error),) if "twice" in str(error) else ()
    counts = Counter(name for header in lock.blocks for name in _ranges(header))
    double = [f"{quote(name.encode())} is locked twice" for name, count in counts.items() if count > 1]
    missing: dict[str, None] = {}
    for header, block in lock.blocks.items():
        for name, version in _needs(block):
            # The later format writes the protocol in its headers and leaves it out of the needs.
            if not {f"{name}@{version}", f"{name}@npm:{version}"} & counts.keys():
                what = quote(f"{name}@{version}".encode())
                missing[f"{quote(header.encode())} needs {what}, which is not locked"] = None
    return (*double, *missing)


def _needs(block: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in block.split("\n"):
        if not line.startswith("    "):
            inside = line.strip() in ("dependencies:", "optionalDependencies:")
        elif inside:
            found = _NEED.match(line)
            if found:
                yield found.group(1).strip('"'), found.group(2).strip('"')
