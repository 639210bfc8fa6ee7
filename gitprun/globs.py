"""Path patterns, as fences of units and hotspots write them.

The words are those of ``.gitignore`` and CODEOWNERS:

- ``*`` is any run of characters inside one segment, ``?`` one character, ``**`` as a whole segment any number of
  segments, none included. Letters count as they are written. ``[`` is an ordinary character, for many a path holds it.
- A pattern with a slash before its end, or at its start, is told from the root; any other holds at every depth.
- A plain last segment (``docs``, ``src/reports``) names a file or a whole folder: the path itself and all below it.
  A last segment with a wildcard (``*.md``, ``src/*``) names files, and nothing below a folder it may match.
- A slash at the end (``src/reports/``) names a folder: all below it, never a file of that name.
- ``src/**`` is all below ``src``; ``.`` is everything.
"""

from __future__ import annotations

from collections.abc import Sequence


def matches(pattern: str, path: str) -> bool:
    """Tell whether a path, with slashes and told from the root, falls under a pattern."""
    if pattern in (".", "./"):
        return True
    rooted = pattern.removeprefix("./")
    segments = [segment for segment in rooted.split("/") if segment]
    if not segments or not path:
        return False
    if "/" not in rooted.rstrip("/"):
        segments.insert(0, "**")
    if rooted.endswith("/"):
        segments += ["*", "**"]
    elif not any(mark in segments[-1] for mark in "*?"):
        segments.append("**")
    elif segments[-1] == "**":
        segments.insert(-1, "*")
    return _match_path(segments, path.split("/"))


def _match_path(segments: Sequence[str], parts: Sequence[str]) -> bool:
    """Match segment by segment; time is at most the product of the two lengths."""
    reached = {0}
    for segment in segments:
        if segment == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and _match_segment(segment, parts[at])}
        if not reached:
            return False
    return len(parts) in reached


def _match_segment(pattern: str, text: str) -> bool:
    """Match one segment; on a mismatch only the last star takes one character more, so time stays bounded."""
    p = t = resume = 0
    star: int | None = None
    while t < len(text):
        if p < len(pattern) and pattern[p] == "*":
            star, resume = p, t
            p += 1
        elif p < len(pattern) and pattern[p] in ("?", text[t]):
            p, t = p + 1, t + 1
        elif star is not None:
            resume += 1
            p, t = star + 1, resume
        else:
            return False
    return not pattern[p:].strip("*")
