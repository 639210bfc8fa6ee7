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

from collections.abc import Iterable, Sequence


def matches(pattern: str, path: str) -> bool:
    """Check whether a path, with slashes and told from the root, falls under a pattern."""
    if pattern in (".", "./"):
        return True
    if "/" not in pattern and path:
        # Most patterns are a name or an ending: told without taking anything apart.
        ending = pattern.removeprefix("*")
        if ending and not any(mark in ending for mark in "*?"):
            return pattern in path.split("/") if ending == pattern else path.endswith(ending)
    rooted = pattern.removeprefix("./")
    segments = [segment for segment in rooted.split("/") if segment]
    if not segments or not path:
        return False
    if "/" not in rooted.rstrip("/"):
        segments.insert(0, "**")
    # At least one part has to follow: a file of that name is not meant.
    if rooted.endswith("/"):
        segments += ["*", "**"]
    elif not any(mark in segments[-1] for mark in "*?"):
        segments.append("**")
    # Below the folder, and so not the folder itself.
    elif segments[-1] == "**":
        segments.insert(-1, "*")
    return _match_path(segments, path.split("/"))


def outside_fence(changed: Iterable[str], fence: Sequence[str]) -> tuple[str, ...]:
    """Return the changed paths that no pattern of a unit's fence covers; an empty fence has no outside."""
    return tuple(path for path in changed if fence and not any(matches(pattern, path) for pattern in fence))


class Patterns:
    """Many patterns at once: a path is looked up, not held against each of them."""

    def __init__(self, patterns: Iterable[tuple[str, str]]) -> None:
        """Take patterns, each with the word it stands for."""
        names: dict[str, set[str]] = {}
        endings: dict[str, set[str]] = {}
        rest: list[tuple[str, str]] = []
        for pattern, word in patterns:
            ending = pattern.removeprefix("*.")
            # What is more than a name or an ending is matched in full; there are few such.
            if not pattern or any(mark in ending for mark in "*?/") or pattern == ".":
                rest.append((pattern, word))
            elif ending != pattern:
                endings.setdefault(ending, set()).add(word)
            else:
                names.setdefault(pattern, set()).add(word)
        self._names, self._endings, self._rest = names, endings, tuple(rest)

    def find(self, path: str) -> set[str]:
        """Return the words for all patterns a path falls under."""
        found = {word for pattern, word in self._rest if matches(pattern, path)}
        parts = path.split("/")
        for part in parts:
            found |= self._names.get(part, set())
        # ``*.tar.gz`` ends in two parts, so every ending of a name is looked up.
        pieces = parts[-1].split(".")
        for at in range(1, len(pieces)):
            found |= self._endings.get(".".join(pieces[at:]), set())
        return found


def _match_path(segments: Sequence[str], parts: Sequence[str]) -> bool:
    """Match segment by segment; time is at most the product of the two lengths."""
    reached = {0}
    for segment in segments:
        if segment == "**":
            # From the least place on all others are reached as well.
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
