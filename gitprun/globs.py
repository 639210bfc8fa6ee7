"""Match repository paths against globs, the way ``.gitignore`` reads them (without negation)."""

from __future__ import annotations

import functools
import re


def matches(pattern: str, path: str) -> bool:
    """Tell whether a pattern covers a path (both with ``/``, the path relative to the top of the repository).

    ``*`` and ``?`` stay within a segment, ``**`` spans any number of them. A pattern without a slash (a last one aside)
    matches at any depth, one with a slash from the top. A pattern that names a folder covers everything below it.
    """
    return _compiled(pattern).fullmatch(path) is not None


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = pattern.removeprefix("./").rstrip("/")
    anchored = "/" in text
    segments = [segment for segment in text.lstrip("/").split("/") if segment != ""]
    parts = [] if anchored else ["(?:.*/)?"]
    for number, segment in enumerate(segments):
        last = number + 1 == len(segments)
        if segment == "**":
            parts.append(".*" if last else "(?:.*/)?")
        else:
            parts.append(_segment(segment) + ("" if last else "/"))
    try:
        return re.compile("".join(parts) + "(?:/.*)?", re.DOTALL)
    except re.error:
        # A range that runs backwards, such as [z-a], matches nothing but itself.
        return re.compile(re.escape(text))


def _segment(segment: str) -> str:
    """Translate one segment; an unclosed bracket stands for itself."""
    out, at = [], 0
    while at < len(segment):
        char = segment[at]
        at += 1
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (found := re.match(r"\[([!^]?)(\]?[^\]/]*)\]", segment[at - 1 :])):
            inner = found[2].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
            out.append(f"[{'^/' if found[1] else ''}{inner}]")
            at += len(found[0]) - 1
        elif char == "\\" and at < len(segment):
            out.append(re.escape(segment[at]))
            at += 1
        else:
            out.append(re.escape(char))
    return "".join(out)
