"""Lists for people: changelogs and lists of things to do, read as bullets under headings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gitprun.resolvers.listed.frame import ListedKind
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import DEPTH_LIMIT, Body, Draft, LineNode, UnreadLines, blank, note

# "#tag" is prose: a heading has a blank behind its marks, or nothing.
_HEADING = re.compile(rb"(#{1,6})(?=[ \t\r]|$)")
_UNDERLINE = re.compile(rb"(=+|-+)\s*$")
# Nine digits at most, as CommonMark has it: a longer number at the start of a line is prose.
_BULLET = re.compile(rb"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+)(\[[ xX]\](?=[ \t]|$))?(.*)$", re.DOTALL)
# Code may start right behind a bullet.
_FENCE = re.compile(rb"[ \t]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(`{3,}|~{3,})")
_LINK = re.compile(rb"\[([^\]]+)\]:[ \t]*\S")
# What names a release: a version or Unreleased, whatever date stands behind it.
_RELEASE = re.compile(
    rb"(?:version[ \t]+)?\[?(v?\d+\.\d+[\w.+-]*|unreleased)\]?(?:\([^)]*\))?(?=$|[\s:(-])", re.IGNORECASE
)
_NUMBER = re.compile(rb"[ \t]*\d+[.)][ \t]")
# How wide Markdown takes a tab to be.
_INDENT = 4


@dataclass(slots=True)
class _DocumentPage:
    """What is open while a document is read: headings by level, in the last one bullets by depth."""

    top: Draft
    headings: list[Draft] = field(default_factory=list)
    bullets: list[Draft] = field(default_factory=list)

    def open_in(self) -> Draft:
        """Return what the next line belongs to."""
        return (self.bullets or self.headings or [self.top])[-1]

    def close_bullets(self, depth: int = -1) -> None:
        """End the bullets that stand as deep as ``depth`` or deeper."""
        while self.bullets and self.bullets[-1].depth >= depth:
            ended = self.bullets.pop().close(comments=False)
            self.open_in().body += [_with_key(ended[0]), *ended[1:]]

    def close_headings(self, level: int = 0) -> None:
        """End the headings of this level and those below it."""
        self.close_bullets()
        while self.headings and self.headings[-1].depth >= level:
            ended = self.headings.pop().close(comments=False)
            self.open_in().body += ended


def read_document(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read headings, bullets with the lines that go on with them, and prose."""
    # The targets of links at the end belong to no heading, though they stand below the last one: a new release adds
    # its bullets at the top and its link down here.
    links = _find_links(lines)
    quoted = _find_quoted(lines[:links])
    # Below a fence that never closes everything reads as code, so no heading there could be trusted.
    if quoted is None:
        return UnreadLines("a block of code or a comment has no end")
    page = _DocumentPage(Draft("entry", b"", []))
    underline = -1
    for i in range(links):
        line = lines[i]
        if i in quoted:
            _write_on(page, line)
        elif not line.strip():
            page.open_in().body.append(blank(line))
        elif i == underline:
            page.headings[-1].head.append(line)
        elif heading := _heading(lines, i, links):
            page.close_headings(heading[0])
            page.headings.append(Draft("entry", _heading_key(*heading), [line], heading[0]))
            underline = -1 if _HEADING.match(line) else i + 1
        elif (bullet := _BULLET.match(line)) and not _is_rule(line) and len(page.bullets) < DEPTH_LIMIT:
            # Deeper bullets go on with the one above as its text: they merge as one, and nothing of them is lost.
            depth = len(bullet[1].expandtabs(_INDENT))
            page.close_bullets(depth)
            page.bullets.append(Draft("item", b"", [line], depth))
        else:
            _write_on(page, line)
    page.close_headings()
    return (*page.top.body, *_read_links(lines[links:]))


def _find_quoted(lines: Sequence[bytes]) -> set[int] | None:
    """Find the lines in blocks of code and in comments, which only look like headings; None when one has no end."""
    quoted: set[int] = set()
    fence, remark = b"", False
    for i, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            quoted.add(i)
            # Only a line of at least as many marks, and nothing else, closes a block: shorter ones are shown in it.
            fence = b"" if line.strip().startswith(fence) and not line.strip().strip(fence[:1]) else fence
        elif remark:
            quoted.add(i)
            remark = b"-->" not in line
        elif mark and not (mark[1].startswith(b"`") and b"`" in line[mark.end() :]):
            # Backquotes behind backquotes on one line are code within a sentence, which opens no block.
            fence = mark[1]
            # A bullet that code starts on is still a bullet; the lines below belong to it.
            if not _BULLET.match(line):
                quoted.add(i)
        else:
            # The last mark of the line decides: a comment may end and another one start on it.
            remark = line.rfind(b"<!--") > line.rfind(b"-->")
    return None if fence or remark else quoted


def is_numbered(node: LineNode) -> bool:
    """Check whether an item has a number, which counts those above it."""
    return node.sort == "item" and bool(_NUMBER.match(node.head[0]))


def _write_on(page: _DocumentPage, line: bytes) -> None:
    """Add a line to the bullet it goes on with, else as prose."""
    depth = len(line) - len(line.lstrip())
    blank_before = bool(page.open_in().body) and page.open_in().body[-1].sort == "blank"
    # After a blank line a bullet goes on only with what is indented below it.
    if page.bullets and blank_before and line.strip():
        page.close_bullets(depth if depth else -1)
    target = page.open_in()
    # A blank line between two paragraphs of a bullet is part of it, else half a bullet could be merged away.
    if target.sort == "item" and all(node.sort == "blank" for node in target.body):
        target.head += [node.head[0] for node in target.body]
        target.body.clear()
        target.head.append(line)
    else:
        target.body.append(note(line) if line.strip() else blank(line))


def _with_key(node: LineNode) -> LineNode:
    """Name an item by its text: without its tick and number, white space aside."""
    first = _BULLET.match(node.head[0])
    assert first
    # Ticked on one side and moved by the other, or numbered anew, it is still the same item.
    words = b"\n".join([first[5], *node.head[1:]]).split()
    key = b" ".join(words)
    return LineNode(node.sort, key, node.head, node.body, node.foot)


def _heading(lines: Sequence[bytes], i: int, end: int) -> tuple[int, bytes] | None:
    """Read a heading: its level and text."""
    line = lines[i]
    found = _HEADING.match(line)
    if found:
        return len(found[1]), _without_marks(line[found.end() :].strip())
    if i + 1 < end and _underlines(lines, i):
        return (1 if lines[i + 1].startswith(b"=") else 2), line.strip()
    return None


def _without_marks(text: bytes) -> bytes:
    """Take the closing marks off a heading."""
    bare = text.rstrip(b"#")
    return bare.rstrip() if not bare or bare[-1:].isspace() else text


def _is_rule(line: bytes) -> bool:
    marks = b"".join(line.split())
    return len(marks) > 2 and marks[:1] in (b"-", b"*", b"_") and not marks.strip(marks[:1])


def _underlines(lines: Sequence[bytes], i: int) -> bool:
    """Check whether the next line makes a heading of this one."""
    line, below = lines[i], lines[i + 1]
    # Markdown takes a single "-" for an underline too; below a line of a list that is rather an empty bullet.
    if not _UNDERLINE.match(below) or len(below.strip()) < 3 or line[:1].isspace() or _BULLET.match(line):
        return False
    # Within a paragraph the underline would make a heading of all its lines; here that is prose.
    alone = i == 0 or not lines[i - 1].strip()
    return alone and not _UNDERLINE.match(line) and not line.startswith((b"#", b"|", b">", b"<"))


def _heading_key(level: int, text: bytes) -> bytes:
    # A release is known by its version alone: two dates for one must clash, not make two releases.
    release = _RELEASE.match(text)
    name = release[1].removeprefix(b"v") if release else b" ".join(text.split())
    return b"#" * level + b" " + name.lower()


def _find_links(lines: Sequence[bytes]) -> int:
    """Find where the list of link targets at the end starts, its blank lines above included."""
    at = len(lines)
    while at and (_LINK.match(lines[at - 1]) or not lines[at - 1].strip()):
        at -= 1
    # Blank lines alone are no list of links: they end the last section.
    if not any(line.strip() for line in lines[at:]):
        return len(lines)
    return at


def _read_links(lines: Sequence[bytes]) -> list[LineNode]:
    if not lines:
        return []
    nodes = []
    for line in lines:
        found = _LINK.match(line)
        nodes.append(LineNode("entry", b"[" + found[1].lower() + b"]", (line,)) if found else blank(line))
    return nodes


def _is_heading(node: LineNode) -> bool:
    return node.section


# Newest first, or as things came up: bullets that happen to be in order are no sorted list.
_RULES = LineRules(sortable=False, wary=is_numbered)
_NAMES = ("CHANGELOG", "CHANGES", "HISTORY", "NEWS", "RELEASES", "RELEASE_NOTES", "RELEASE-NOTES")
_ENDS = (".md", ".markdown", ".txt")

KINDS = (
    ListedKind(
        "todo list", ("todo.md", "TODO.md", "Todo.md", "todo.txt", "TODO.txt", "TODO"), read_document, _RULES
    ).kind,
    ListedKind(
        "changelog",
        (
            *_NAMES,
            *(each + end for name in _NAMES for each in (name, name.lower(), name.title()) for end in _ENDS),
        ),
        read_document,
        _RULES,
        # A release must stand once; a heading of things to do may well stand twice.
        once=_is_heading,
    ).kind,
)
