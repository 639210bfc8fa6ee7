"""Protocol buffers: messages, enums and services by name, fields by name and number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.blocks.brace_scan import Statement, scan_parts, without_comments
from gitprun.resolvers.blocks.resolve import DEPTH_LIMIT, fault_finder, merge_trees
from gitprun.resolvers.blocks.tree import BlockEntry, BlocksUnreadable, Key, Rule, split_above, squeeze, twins

NAME = "proto"

# Only these hold entries; the body of an rpc or of an option in braces is part of its statement.
_BLOCK = re.compile(r"(?:message|enum|service|oneof)\s+\w+$|extend\s+[\w.]+$")
_HEAD = re.compile(r"(message|enum|service|oneof|extend)\s+([\w.]+)")
_FIELD = re.compile(r"(?:(?:repeated|optional|required)\s+)?(?:map\s*<[^<>]*>|group|[\w.]+)\s+(\w+)\s*=\s*(\w+)")
_VALUE = re.compile(r"(\w+)\s*=\s*(-?\w+)")
_NAMED = re.compile(r"(option|rpc|import|package|syntax|edition)\b\s*(?:public\s+|weak\s+)?(.*)", re.DOTALL)
_RESERVED = re.compile(r"(\s*reserved\s+)([^;]*?)(\s*;)", re.DOTALL)
# Values of an enum may be negative, numbers of fields not.
_RANGE = re.compile(r"(-?\d+)(?:\s*to\s*(-?\d+|max))?")
# The largest number a field may have, as the language has it ("max" in a range).
_HIGHEST = (1 << 29) - 1

_FILE = Rule(sorts=("import",))
_MEMBERS = Rule(needs=("value",))
_SET = Rule(", ", united=True, sorts=("reserved",))


def resolve_proto(conflict: FileConflict) -> Resolved | Refused:
    """Merge a .proto file by names; refused when two fields or enum values would have one number."""
    return merge_trees(conflict, NAME, read_proto, check=_check_numbers)


def read_proto(text: str) -> BlockEntry | BlocksUnreadable:
    """Read a .proto file as nested blocks of fields, values, calls, options and reserved sets."""
    parts = scan_parts(text, _BLOCK)
    if isinstance(parts, BlocksUnreadable):
        return parts
    # Innermost last: the head of each open block, and the entries it has so far.
    heads: list[Statement] = []
    levels: list[list[BlockEntry]] = [[]]
    for part in parts:
        if part.opens:
            if len(heads) >= DEPTH_LIMIT:
                return BlocksUnreadable("blocks are nested too deep")
            alone, lead = _split(part.above)
            levels[-1] += alone
            heads.append(replace(part, above=lead))
            levels.append([])
        elif part.closes:
            if not heads:
                return BlocksUnreadable("brackets do not pair up")
            head, inner = heads.pop(), levels.pop()
            alone, blank = _split(part.above, attach=False)
            foot = f"{blank}{part.text}{part.tail}"
            key = _block_key(head.text)
            levels[-1].append(
                BlockEntry(key, f"{head.text}{head.tail}", head.above, inner=(*inner, *alone), foot=foot, rule=_MEMBERS)
            )
        elif part.text:
            alone, lead = _split(part.above)
            made = _read_statement(part, lead, heads[-1].text if heads else "")
            if made.inner and any(entry.key == made.key for entry in levels[-1]):
                made = replace(made, key=(*made.key, squeeze(part.text)))  # a further list of reserved numbers
            levels[-1] += [*alone, made]
    if heads:
        return BlocksUnreadable("brackets do not pair up")
    alone, foot = _split(parts[-1].above, attach=False)
    return BlockEntry(("file",), inner=(*levels[0], *alone), foot=foot, rule=_FILE)


def find_proto_faults(text: str) -> tuple[str, ...]:
    """Name what is unreadable, names that stand twice, numbers that are taken twice or reserved."""
    tree = read_proto(text)
    if isinstance(tree, BlocksUnreadable):
        return (tree.reason,)
    faults = [f"{twin} is defined twice" for twin in twins(tree.inner, "message", "enum", "service", "import")]
    for block in _blocks(tree):
        # Fields of a oneof are fields of the message around it: their names and numbers are of one space.
        members = [member for member, _ in _members(block)]
        kinds = ("field", "value", "message", "enum", "rpc", "oneof")
        faults += [f"{block.named} has {twin} twice" for twin in twins((*members, *_others(block)), *kinds)]
    return tuple(dict.fromkeys((*faults, *_shared_values(tree), *number_faults(tree))))


def _shared_values(tree: BlockEntry) -> Iterator[str]:
    """Name values of several enums beside each other: the names of these belong to what is around the enums."""
    for block in (tree, *_blocks(tree)):
        enums = [entry for entry in block.inner if entry.key[0] == "enum"]
        counts = Counter(name for enum in enums for name in {each.key[1] for each, _ in _members(enum)})
        yield from (f"the value {name} is in several enums" for name, many in counts.items() if many > 1)


def number_faults(tree: BlockEntry) -> tuple[str, ...]:
    """Name numbers and names that two fields or values of one block share, or that are reserved."""
    faults: list[str] = []
    for block in _blocks(tree):
        word = "value" if block.key[0] == "enum" else "field"
        taken: dict[int, str] = {}
        reserved, names = _reserved(block)
        for member, number in _members(block):
            name = member.key[1]
            other = taken.setdefault(number, name)
            if other != name and not _allows_alias(block):
                faults.append(f"{word} number {number} is taken by both {other} and {name} ({block.named})")
            if any(low <= number <= high for low, high in reserved):
                faults.append(f"{word} number {number} of {name} is reserved ({block.named})")
            if name in names:
                faults.append(f"{word} name {name} is reserved ({block.named})")
    return tuple(faults)


def _check_numbers(base: BlockEntry, main: BlockEntry, unit: BlockEntry, merged: BlockEntry) -> str | None:
    # A number that one side gave twice by itself is not a fault of the merge.
    known = {*number_faults(main), *number_faults(unit)}
    return next((fault for fault in number_faults(merged) if fault not in known), None)


def _split(above: str, *, attach: bool = True) -> tuple[list[BlockEntry], str]:
    """Split what stands above a statement; a text that ends within a line stays whole."""
    *lines, rest = above.split("\n")
    if not attach and not rest.strip():
        alone, blank = split_above(lines, attach=False)
        return alone, blank + rest
    if rest:
        return [], above
    return split_above(lines, attach=attach)


def _block_key(text: str) -> Key:
    found = _HEAD.search(without_comments(text))
    return found.groups() if found else ("block", squeeze(text))


def _read_statement(part: Statement, lead: str, block: str) -> BlockEntry:
    reserved = _RESERVED.fullmatch(part.text)
    # A comment amid the numbers would end up behind another one.
    if reserved and "//" not in part.text and "/*" not in part.text:
        return _read_reserved(reserved, part, lead)
    return BlockEntry(_key(part.text, block), part.text, lead, tail=part.tail)


def _read_reserved(found: re.Match[str], part: Statement, lead: str) -> BlockEntry:
    items = re.split(r"(\s*,\s*)", found.group(2))
    inner = [
        BlockEntry(("reserved", squeeze(item)), item, sep=sep)
        for item, sep in zip(items[::2], [*items[1::2], ""], strict=True)
    ]
    # A statement reserves names or numbers, never both.
    kind = "names" if re.match(r"\s*[\"'A-Za-z_]", found.group(2)) else "numbers"
    foot = f"{found.group(3)}{part.tail}"
    return BlockEntry(("reserved", kind), found.group(1), lead, inner=tuple(inner), foot=foot, rule=_SET)


def _key(text: str, block: str) -> Key:
    plain = squeeze(without_comments(text)).rstrip(";").rstrip()
    named = _NAMED.match(plain)
    kind = _block_key(block)[0] if block else ""
    if kind == "enum" and not plain.startswith(("option ", "reserved ")):
        value = _VALUE.match(plain)
        return ("value", value.group(1)) if value else ("statement", plain)
    if kind in ("message", "oneof", "extend"):
        field = _FIELD.match(plain)
        if field and not plain.startswith("option "):
            return ("field", field.group(1))
    if not named:
        return ("statement", plain)
    keyword, rest = named.groups()
    if keyword == "import":
        return (keyword, squeeze(rest))
    if keyword in ("option", "rpc"):
        found = re.match(r"[\w.()]+" if keyword == "option" else r"\w+", rest)
        return (keyword, found.group() if found else rest)
    return (keyword,)


def _blocks(tree: BlockEntry) -> Iterator[BlockEntry]:
    waiting = [tree]
    while waiting:
        block = waiting.pop(0)
        if block.key[0] in ("message", "enum", "service"):
            yield block
        # In the order of the file, so that faults are named from the top.
        waiting[:0] = [entry for entry in block.inner if entry.key[0] in ("message", "enum", "service")]


def _members(block: BlockEntry) -> Iterator[tuple[BlockEntry, int]]:
    """List the fields or values of a block, those in its oneofs too, with their numbers."""
    for entry in block.inner:
        if entry.key[0] == "oneof":
            yield from _members(entry)
        elif entry.key[0] in ("field", "value"):
            number = number_of(entry)
            if number is not None:
                yield entry, number


def numbers_of(block: BlockEntry) -> dict[str, int]:
    """Return the number of every field or value of a block by its name, and of what is reserved."""
    numbers = {member.key[1]: number for member, number in _members(block)}
    for low, high in _reserved(block)[0]:
        # "to max" would leave no free number at all; one that is given within it is refused by the check.
        numbers[f"reserved {low}"] = low if high == _HIGHEST else high
    return numbers


def _others(block: BlockEntry) -> Sequence[BlockEntry]:
    return [entry for entry in block.inner if entry.key[0] not in ("field", "value")]


def number_of(entry: BlockEntry) -> int | None:
    """Return the number of a field or an enum value."""
    pattern = _VALUE if entry.key[0] == "value" else _FIELD
    found = pattern.match(squeeze(without_comments(entry.text)))
    # Numbers may be written 0x10. An octal one (010) raises here, and so has no number to compare.
    try:
        return int(found.group(2), 0) if found else None
    except ValueError:
        return None


def _reserved(block: BlockEntry) -> tuple[list[tuple[int, int]], set[str]]:
    ranges: list[tuple[int, int]] = []
    names: set[str] = set()
    for item in (item for entry in block.inner if entry.key[0] == "reserved" for item in entry.inner):
        found = _RANGE.fullmatch(item.text.strip())
        if found:
            low, high = found.groups()
            ranges.append((int(low), _HIGHEST if high == "max" else int(high or low)))
        else:
            names.add(item.text.strip().strip("\"'"))
    return ranges, names


def _allows_alias(block: BlockEntry) -> bool:
    return any(re.match(r"\s*option\s+allow_alias\s*=\s*true", entry.text) for entry in block.inner)


KIND = Kind(NAME, ("*.proto",), (resolve_proto,), fault_finder(find_proto_faults))
