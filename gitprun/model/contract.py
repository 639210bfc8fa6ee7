"""The return contract: what every worker is asked to write, and what can be read from what it wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

FIELDS = ("Conclusion", "Files", "Open items", "Verification")
FALLBACK_MARK = "(FALLBACK, worker wrote no result file)"

# Others mark a salvage in words of their own, but always on the first line.
_SALVAGED = re.compile(r"(?:#+\s*)?\(?FALLBACK\b")
_HEADING = re.compile(r"#\s+(?P<unit>\S+)\s+result\b(?P<rest>[^\n]*)", re.IGNORECASE)
_FIELD = re.compile(r"(?P<name>Conclusion|Files|Open items|Verification):[ \t]*(?P<value>[^\n]*)", re.IGNORECASE)
_ITEM = re.compile(r"\s*[-*]\s+(?P<value>\S.*)")
# What stands for a value in the contract itself; a worker that echoes it has answered nothing.
_TEMPLATE = re.compile(
    r"<(?:one line|files created or modified|none \(read-only\)|blockers or follow-ups|what was run or checked).*>"
)


@dataclass(frozen=True, slots=True)
class Result:
    """A result file as read: its fields, whether it is a salvage, and why it does not satisfy the contract."""

    unit: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    fallback: bool = False
    problems: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Check whether the worker itself wrote all that was asked for."""
        return not self.fallback and not self.problems


def contract_for(unit: str, *, writes: bool, outbox: str) -> str:
    """Write what is appended to the prompt of a unit."""
    place = (
        "The current folder is a disposable copy of the repository. Edit files in it freely: everything you leave\n"
        "in the files is collected when you end. Its branches, tags and remote-tracking refs can be read; do not\n"
        "fetch or pull."
        if writes
        else "The current folder is an empty scratch folder, and nothing in it is kept but your result file. Read the\n"
        "repository at $PRUN_REPO; change nothing there."
    )
    files = "files created or modified, or none" if writes else "none (read-only)"
    return f"""
---
How to finish (part of every unit of this run):
{place}
Do not commit, do not push, do not create branches or tags, do not run git reset or git clean.
When you are done, write one result file to {outbox}/result.md (also in $PRUN_RESULT), in one single write, like this:

# {unit} result
Conclusion: <one line>
Files: <{files}>
Open items: <blockers or follow-ups, or none>
Verification: <what was run or checked, or none>

<details>
"""


def parse_result(text: str, unit: str) -> Result:
    """Read a result file against the contract; never raises, problems are listed."""
    lines = text.replace("\r\n", "\n").lstrip("\ufeff").strip("\n").split("\n")
    heading = _HEADING.match(lines[0])
    problems = []
    if heading is None:
        problems.append(f"the first line is not '# {unit} result'")
    elif heading["unit"] != unit:
        problems.append(f"the heading names {heading['unit']!r}, not {unit!r}")
    fields, twice, body = _read_fields(lines[1:])
    problems += [f"{name}: is there twice" for name in twice]
    for name in FIELDS:
        value = fields.get(name)
        if not value:
            problems.append(f"{name}: is missing or empty")
        elif _TEMPLATE.fullmatch(value):
            problems.append(f"{name}: is the text of the contract itself")
    # A heading within the details is text, unless the fields of a result follow it.
    if any(_HEADING.match(line) and _opens_result(body[at + 1 :]) for at, line in enumerate(body)):
        problems.append("a second result follows the first")
    fallback = "(FALLBACK" in heading["rest"] if heading else bool(_SALVAGED.match(lines[0]))
    return Result(heading["unit"] if heading else "", fields, fallback, tuple(problems))


def _read_fields(lines: list[str]) -> tuple[dict[str, str], list[str], list[str]]:
    """Read the fields under a heading; returns them, the names that come twice, and the lines that follow.

    A field may be empty and go on as a list below: people ask for one line, and models like lists.
    """
    fields: dict[str, str] = {}
    twice: list[str] = []
    last, listed = "", False
    for at, line in enumerate(lines):
        if found := _FIELD.fullmatch(line):
            last = found["name"].capitalize()
            if last in fields:
                twice.append(last)
            fields[last] = found["value"].strip()
            listed = not fields[last]
        elif last and listed and (item := _ITEM.fullmatch(line)):
            fields[last] = ", ".join(filter(None, (fields[last], item["value"].strip())))
        # A blank line between the fields is forgiven; after the last one the details begin.
        elif line.strip() or len(fields) == len(FIELDS):
            return fields, twice, lines[at:]
    return fields, twice, []


def _opens_result(lines: list[str]) -> bool:
    """Check whether what follows a heading are the fields of a result."""
    first = next((line for line in lines if line.strip()), "")
    return bool(_FIELD.fullmatch(first))


def fallback_result(unit: str, reason: str, tail: str) -> str:
    """Write a result for a worker that wrote none, from the tail of its output."""
    return f"""# {unit} result {FALLBACK_MARK}
Conclusion: INCOMPLETE; {" ".join(reason.split())}
Files: unknown
Open items: read the output below, then accept the work or run the unit again
Verification: none (salvaged by prun, not written by the worker)

{tail}"""
