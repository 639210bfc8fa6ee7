"""YAML as a tree that keeps all text, read by indentation; what is not plain is not read at all."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from gitprun.resolvers.tree import EntryGroup, KeyedEntry, Leaf, TextUnreadable, Value
from gitprun.resolvers.tree.nodes import DEPTH_LIMIT
from gitprun.resolvers.yaml.flow import flow_end, read_flow
from gitprun.resolvers.yaml.scalars import (
    ALIAS,
    BLOCK_HEADER,
    PROPERTIES,
    canon,
    quoted_end,
    require_plain,
    split_comment,
)

# A colon is one only before a space or the line's end, so http://x is no key; "- " and "? " begin other things.
_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|<<|(?:[^\s"'#&*!|>%@`\[\]{},?:-]|[?:-](?=\S)).*?)"""
    r"(?<![ \t])[ \t]*:(?=[ \t]|$)"
)
# "-x" and "---" are text or a marker: a dash needs a space behind it.
_DASH = re.compile(r"-(?:[ \t]+(?=[^\s#])|(?=[ \t]*$|[ \t]+#))")
_MARKER = re.compile(r"(---|\.\.\.)(?=[ \t]|$)")
_REST = re.compile(r"[ \t]*(?:(?<=[ \t])#.*)?$")


def read_yaml(text: str, shallow: tuple[str, ...] = ()) -> EntryGroup:
    """Read a text whose last line is ended into a list of documents, each an entry.

    The entries below the top keys in ``shallow`` are left whole: what is below them is not read.

    Raises:
        TextUnreadable: it holds something that is not understood.
    """
    lines = text.split("\n")[:-1]
    reader = _YamlReader(lines, shallow)
    documents: list[KeyedEntry] = []
    while True:
        trivia = reader.take_trivia()
        if reader.at >= len(lines):
            break
        found = _MARKER.match(lines[reader.at])
        head = ""
        gap, lead = "", ""
        if found:
            # "--- value" puts content on the marker's line, and "..." allows directives after it: both are rare.
            if found.group(1) != "---" or not _REST.match(lines[reader.at], 3):
                raise TextUnreadable("no plain start of a document")
            gap, lead = _split_blank(trivia)
            head = lines[reader.at] + "\n"
            reader.at += 1
            trivia = []
        elif documents:
            raise TextUnreadable("something stands behind a document")
        reader.pending = trivia
        documents.append(KeyedEntry(None, reader.read_document(), gap=gap, lead=lead, head=head))
        # Trailing comments and blank lines are nobody's entry; they close the file.
        if reader.pending and not (reader.at < len(lines) and _MARKER.match(lines[reader.at])):
            trivia = reader.pending
            break
    return EntryGroup("list", tuple(documents), close="".join(line + "\n" for line in trivia))


def _split_blank(trivia: list[str]) -> tuple[str, str]:
    count = next((i for i, line in enumerate(trivia) if line.strip()), len(trivia))
    return "".join(line + "\n" for line in trivia[:count]), "".join(line + "\n" for line in trivia[count:])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


@dataclass(slots=True)
class _YamlReader:
    """A place in the lines, and the blank lines and comments that were read but belong to nothing yet."""

    lines: list[str]
    shallow: tuple[str, ...] = ()
    at: int = 0
    pending: list[str] = field(default_factory=list)
    _under: str = ""

    def take_trivia(self) -> list[str]:
        """Read on to the next line with content; returns all that lies before it."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and not line.lstrip(" ").startswith("#"):
                break
            # In a block scalar that line may be content, elsewhere it is blank: not told apart here.
            if "\t" in line and not line.strip():
                raise TextUnreadable("a line of tabs")
            self.pending.append(line)
            self.at += 1
        taken, self.pending = self.pending, []
        return taken

    def peek(self) -> int:
        """Return the indentation of the next line with content, -1 at the end of the document."""
        if self.at < len(self.lines):
            line = self.lines[self.at]
            if not line or line[0] == " " or line[0] == "#":
                self.pending = self.take_trivia()
        if self.at >= len(self.lines):
            return -1
        line = self.lines[self.at]
        if line[0] in "-.%" and (line[0] == "%" or _MARKER.match(line)):
            # %TAG and %YAML change what the rest means.
            if line[0] == "%":
                raise TextUnreadable("a directive")
            return -1
        # YAML allows no tab as indentation, and where else it may stand takes a full parser to tell.
        if "\t" in line:
            raise TextUnreadable("a tab")
        return len(line) - len(line.lstrip(" "))

    def read_document(self) -> Value:
        """Read what one document holds."""
        col = self.peek()
        if col < 0:
            return Leaf("")
        group = self.read_block(col, 0)
        if self.peek() >= 0:
            raise TextUnreadable("indented less than the document's start")
        return group

    def read_block(self, col: int, depth: int, *, compact: bool = False) -> EntryGroup:
        """Read the entries at one column."""
        if depth > DEPTH_LIMIT:
            raise TextUnreadable("nested too deep")
        is_list = bool(_DASH.match(self.lines[self.at], col))
        kind: Literal["map", "list"] = "list" if is_list else "map"
        entries: list[KeyedEntry] = []
        while True:
            here = self.peek()
            # Either bad YAML, or a scalar that goes on in a way this reader does not know.
            if here > col:
                raise TextUnreadable("indented more than what stands beside it")
            if here < col or bool(_DASH.match(self.lines[self.at], col)) != is_list:
                # "key:" may be followed by its list at the same column, but that was read with the key.
                if here == col and not is_list:
                    raise TextUnreadable("a list among keys")
                break
            gap, lead = self._settle_trivia(col, entries) if self.pending else ("", "")
            read = self._read_item if is_list else self._read_pair
            entries.append(read(col, depth, gap, lead))
        if here < col:
            self._keep_comments(col, entries)
        return EntryGroup(kind, tuple(entries), col=col, compact=compact)

    def _settle_trivia(self, col: int, entries: list[KeyedEntry]) -> tuple[str, str]:
        """Return what of the pending lines belongs to the next entry; a comment set off by blank lines does not."""
        trivia, self.pending = self.pending, []
        last = max((i for i, line in enumerate(trivia) if not line.strip()), default=-1)
        loose, own = trivia[: last + 1], trivia[last + 1 :]
        # A comment that is indented less belongs to a block further out, and so does the blank line below it.
        if any(line.strip() and _indent(line) < col for line in loose):
            loose, own = [], trivia
        rest = _detach(loose, col, entries)
        gap, lead = _split_blank([*rest, *own])
        return gap, lead

    def _keep_comments(self, col: int, entries: list[KeyedEntry]) -> None:
        """Keep the comments below the last entry that are indented as the entries are."""
        mine = 0
        for i, line in enumerate(self.pending):
            if line.strip():
                if _indent(line) < col:
                    break
                # Blank lines behind the last such comment stay outside: they set off what follows.
                mine = i + 1
        _detach(self.pending[:mine], col, entries)
        self.pending = self.pending[mine:]

    def _read_pair(self, col: int, depth: int, gap: str, lead: str) -> KeyedEntry:
        line = self.lines[self.at]
        found = _KEY.match(line, col)
        # "a #b: c" is a key and a comment, to some parsers; quoted, it is a key.
        if not found or (found.group(1)[0] not in "\"'" and " #" in found.group(1)):
            raise TextUnreadable("no plain key")
        text = found.group(1)
        means = canon(text)
        key = ("k", means or text)
        head = line[col : found.end()]
        # Right below a top key: that is where a lock has its packages.
        if depth == 1 and self._under in self.shallow:
            return KeyedEntry(key, self._read_whole(found.end(), col), (text,), None, gap, lead, head, tail="\n")
        if not depth:
            self._under = text
        value, space, note, tail = self._read_value(found.end(), col, depth, is_list=False)
        return KeyedEntry(key, value, (means[1:] if means else text,), None, gap, lead, head + space, note, tail)

    def _read_item(self, col: int, depth: int, gap: str, lead: str) -> KeyedEntry:
        line = self.lines[self.at]
        found = _DASH.match(line, col)
        assert found
        start = found.end()
        head = line[col:start]
        if start < len(line) and (_DASH.match(line, start) or _KEY.match(line, start)):
            # The dash becomes a space, so that the block behind it is read like one of its own lines.
            self.lines[self.at] = " " * start + line[start:]
            group = self.read_block(start, depth + 1, compact=True)
            return KeyedEntry(None, group, (), "", gap, lead, head)
        value, space, note, tail = self._read_value(start, col, depth, is_list=True)
        return KeyedEntry(None, value, (), "", gap, lead, head + space, note, tail)

    def _read_value(self, start: int, col: int, depth: int, *, is_list: bool) -> tuple[Value, str, str, str]:
        """Read the value that starts on this line, or below it; returns it with its space, note and tail."""
        line = self.lines[self.at]
        body = line[start:].lstrip(" \t")
        space = line[start : len(line) - len(body)]
        properties = PROPERTIES.match(body) if body[:1] in ("&", "!") else None
        rest = body[properties.end() :] if properties else body
        if not rest.strip() or (rest.lstrip(" \t").startswith("#") and (properties or space or is_list)):
            self.at += 1
            below = self.peek()
            if below > col or (below == col and not is_list and _DASH.match(self.lines[self.at], col)):
                return self.read_block(below, depth + 1), "", line[start:] + "\n", ""
            # "!!null" or "&name" with nothing behind it is a value; a bare key has none, only what follows on its line.
            if properties:
                return Leaf(properties.group(), col), space, "", rest + "\n"
            return Leaf("", col), "", "", line[start:] + "\n"
        value, tail = self._read_scalar(body, len(body) - len(rest.lstrip(" \t")), col, depth)
        return value, space, "", tail + "\n"

    def _read_whole(self, start: int, col: int) -> Leaf:
        """Take all that is indented below a key, as it is."""
        first = self.at
        last = first + 1
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip():
                if _indent(line) <= col:
                    break
                last = self.at + 1
            self.at += 1
        self.at = last
        return Leaf("\n".join((self.lines[first][start:], *self.lines[first + 1 : last])), col)

    def _read_scalar(self, body: str, skip: int, col: int, depth: int) -> tuple[Value, str]:
        """Read a scalar or flow collection behind ``skip`` characters of properties; returns it and what follows it."""
        mark = body[skip]
        if mark in "|>":
            return self._read_block_scalar(body, body[skip:], col), ""
        if mark in "\"'[{":
            return self._read_closed(body, skip, col, depth)
        self.at += 1
        if mark == "*":
            text, tail = split_comment(body)
            # "*a b" is no alias, and what a parser makes of it differs.
            if not ALIAS.fullmatch(text[skip:]):
                raise TextUnreadable("something stands behind an alias")
            return Leaf(text, col), tail
        text, tail = split_comment(body)
        require_plain(text[skip:], first=True)
        # A comment ends a plain scalar: what follows is no more of it.
        while not tail.strip() and self._continues(col):
            more, tail = split_comment(self.lines[self.at])
            require_plain(more.strip(), first=False)
            held, self.pending = self.pending, []
            text = "\n".join((text, *held, more))
            self.at += 1
        return Leaf(text, col), tail

    def _continues(self, col: int) -> bool:
        """Check whether the next line goes on with a plain scalar."""
        before = len(self.pending)
        if self.peek() <= col:
            return False
        if any(line.strip() for line in self.pending[before:]):
            # In the midst of a folded scalar it would be text for one parser and an error for another.
            raise TextUnreadable("a comment in a scalar")
        return True

    def _read_closed(self, body: str, skip: int, col: int, depth: int) -> tuple[Value, str]:
        """Read a quoted scalar or a flow collection, over as many lines as it takes."""
        first = self.at
        find_end = flow_end if body[skip] in "[{" else quoted_end
        text = body
        while True:
            try:
                end = find_end(text, skip)
                break
            except TextUnreadable:
                self.at += 1
                # The text is searched anew for each further line, which is quadratic.
                if self.at >= len(self.lines) or self.at - first > 500:
                    raise
                line = self.lines[self.at]
                # The closing bracket may stand under its key, at the column of the key itself.
                closes = line.strip() in ("]", "}") and _indent(line) >= col
                if line.strip() and _indent(line) <= col and not closes:
                    raise TextUnreadable("not closed where it is indented less") from None
                text += "\n" + line
        self.at += 1
        tail = text[end:]
        if not _REST.match(tail) or "\n" in tail:
            raise TextUnreadable("something stands behind a value")
        # Behind an anchor or a tag a collection is taken whole: its properties are about all of it.
        flow = read_flow(text[skip:end], depth + 1) if body[skip] in "[{" else None
        return (Leaf(text[:end], col) if skip or flow is None else flow), tail

    def _read_block_scalar(self, body: str, header: str, col: int) -> Leaf:
        if not BLOCK_HEADER.match(header):
            raise TextUnreadable("no plain block scalar")
        self.at += 1
        start = last = self.at
        # "|2": the indentation is written where the text itself begins with spaces.
        told = re.search(r"\d", header.split("#")[0])
        inner = col + int(told.group()) if told else None
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip():
                indent = _indent(line)
                if indent <= col:
                    break
                inner = indent if inner is None else inner
                if indent < inner:
                    raise TextUnreadable("a block scalar is indented less than its start")
                last = self.at + 1
            self.at += 1
        # "keep": the blank lines behind the text are part of it.
        if "+" in header.split("#")[0]:
            last = self.at
        self.at = last
        return Leaf("\n".join((body, *self.lines[start:last])), col)


def _detach(lines: list[str], col: int, entries: list[KeyedEntry]) -> list[str]:
    """Turn comments into entries of their own, a paragraph each; returns the blank lines that are left."""
    gap: list[str] = []
    words: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            words.append(line)
            continue
        if words:
            text = "\n".join(words)[col:]
            key = " ".join(text.split())
            # The same words may stand twice; counted, each keeps a key of its own.
            times = sum(isinstance(e.key, tuple) and e.key[:2] == ("#", key) for e in entries)
            start = "".join(blank + "\n" for blank in gap)
            entries.append(KeyedEntry(("#", key, times), Leaf(text, col), row="", gap=start, tail="\n"))
            gap, words = [], []
        gap.append(line)
    return gap[:-1]
