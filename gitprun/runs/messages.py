"""What the second seed's wrapper writes, to the letter: its status lines and its three levels of commit messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitprun.executors.lines import one_line
from gitprun.model.prompts import subject_of

# All four are the second seed's: its commit messages are read by scripts.
SUBJECT = 60
SHOWN_FILES = 10
SHOWN_LINES = 20
FULL = 3

# Counted by the seed as errors, whichever checker wrote the line.
_ERROR = re.compile(r"error TS|: error:|^error\[|^ERROR", re.MULTILINE)
_SUMMARY = re.compile(r"Test Files|Tests |passed|failed|ok |FAIL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a commit message tells: ``stat`` is the diff stat, ``output`` the worker's last lines.

    ``source`` says who worked, ``seconds`` for how long, ``timestamp`` is in UTC: ``2026-01-05T10:00:00Z``.
    """

    slug: str
    prompt: str
    branch: str
    seconds: float
    code: int
    pid: int
    timestamp: str
    files: Sequence[str]
    stat: str
    output: Sequence[str]
    source: str
    own_commits: Sequence[str] = ()
    failed: bool = False


def read_level(text: str) -> int:
    """Read ``COMMIT_LEVEL``: 1 and 2 are themselves, all else means 3."""
    return int(text) if text in ("1", "2") else FULL


def subject(slug: str, prompt: str, *, failed: bool = False) -> str:
    """Write the first line of a commit message: the task, without the bypass prefix before it."""
    task = one_line(subject_of(prompt))[:SUBJECT].rstrip()
    return f"agent({slug}){' FAILED' if failed else ''}: {task}"


def commit_message(level: int, facts: Facts) -> str:
    """Write a commit message of one of the seed's levels."""
    first = subject(facts.slug, facts.prompt, failed=facts.failed)
    if level == 1:
        return f"{first} [auto]\n"
    if level == 2:
        # Git sums up in the last line of a stat.
        total = facts.stat.rstrip("\n").rpartition("\n")[2]
        rows = [
            f"Stats   : {total}",
            f"Runtime : {facts.seconds:.0f}s",
            f"Exit    : {facts.code}",
            f"Branch  : {facts.branch}",
            f"PID     : {facts.pid}",
        ]
        return "\n".join([first, "", *rows, ""])
    rows = [
        f"Branch    : {facts.branch}",
        f"Runtime   : {facts.seconds:.0f}s",
        f"Exit      : {facts.code}",
        f"PID       : {facts.pid}",
        f"Timestamp : {facts.timestamp}",
        f"Files     : {','.join(map(one_line, facts.files[:SHOWN_FILES]))}",
        "",
        "--- diff stats ---",
        facts.stat.rstrip("\n"),
        "",
        f"--- agent output (last {SHOWN_LINES} lines) ---",
        *(f"  {one_line(line)}" for line in facts.output[-SHOWN_LINES:]),
        "",
        f"Source    : {facts.source}",
    ]
    if facts.own_commits:
        rows += ["", "--- its own commits (kept) ---", *(f"  {one_line(row)}" for row in facts.own_commits[:50])]
    return "\n".join([first, "", *rows, ""])


def count_errors(text: str) -> int:
    """Count the lines of a checker's output that say error, as the seed does."""
    return sum(1 for line in text.splitlines() if _ERROR.search(line))


def summary_line(lines: Iterable[str]) -> str:
    """Find the last line in which a test runner sums up; empty if there is none."""
    found = ""
    for line in lines:
        if _SUMMARY.search(line):
            found = one_line(line)
    return found


def verify_line(errors: str, command: str, tests: str, test_command: str) -> str:
    """Write the line about the verification."""
    looked, tried = f"(cmd='{one_line(command)}')", f"(cmd='{one_line(test_command)}')"
    return f"post-verify verify_errors={errors} {looked} tests='{tests}' {tried}"


def skipped_line(errors: str, why: str) -> str:
    """Write the line about the verification where there was nothing for tests to judge."""
    return f"post-verify verify_errors={errors} tests='skipped ({why})'"
