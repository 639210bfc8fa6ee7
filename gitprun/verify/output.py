"""The output of a check as plain lines: without terminal sequences, and without what tools put before each line."""

from __future__ import annotations

import re

# A line of a megabyte says no more than its beginning, and every rule below looks at all lines.
LINE_MAX = 2_000
# What fits on a terminal or into one row of a report.
SHOWN_MAX = 300

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# Maven and sbt, turbo ("web:test: "), pnpm -r and lerna ("packages/a test: "), docker compose ("api-1  | ").
_PREFIX = re.compile(
    r"""\A(?:
      \[(?:INFO|WARNING|ERROR|info|warn|error)\]\ ?
    | [\w@./-]{1,80}:[\w.-]*test[\w:.-]*:\ (?=\S)
    | [\w@./-]{1,80}\ test(?::[\w.-]+)?:\ (?=\S)
    | [\w.-]{1,60}-\d+\ +\|[ ]
    )""",
    re.VERBOSE,
)


def plain_lines(text: str) -> list[str]:
    """Return the lines of an output, each cut to its first 2,000 characters."""
    return [_PREFIX.sub("", line[:LINE_MAX].rstrip(), count=1) for line in _ESCAPES.sub("", text).splitlines()]


def shown(line: str, limit: int = SHOWN_MAX) -> str:
    """Return a line fit to be shown on a terminal: one space between words, nothing that cannot be seen, cut."""
    seen = "".join(mark for mark in " ".join(line.split()) if mark.isprintable())
    return seen if len(seen) <= limit else seen[: limit - 1] + "…"
