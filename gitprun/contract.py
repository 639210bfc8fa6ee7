"""The return contract: what every worker is asked to write, and what can be read from what it wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

FIELDS = ("Conclusion", "Files", "Open items", "Verification")
FALLBACK_MARK = "(FALLBACK, worker wrote no result file)"

_HEADING = re.compile(r"#\s+(?P<unit>\S+)\s+result\b(?P<rest>[^\n]*)")
_FIELD = re.compile(r"(?P<name>Conclusion|Files|Open items|Verification):[ \t]*(?P<value>[^\n]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Result:
    """A result file as read: its fields, whether it is a salvage, and why it does not satisfy the contract."""

    unit: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    fallback: bool = False
    problems: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Tell whether the worker itself wrote all that was asked for."""
        return not self.fallback and not self.problems


def contract_for(unit: str, *, writes: bool, outbox: str) -> str:
    """Write what is appended to the prompt of a unit."""
    place = (
        "The current folder is a disposable copy of the repository. Edit files in it freely."
        if writes
        else "The current folder is an empty scratch folder. Read the repository at $PRUN_REPO; change nothing there."
    )
    files = "files created or modified, or none" if writes else "none (read-only)"
    return f"""
---
How to finish (part of every unit of this run):
{place} Do not commit, do not push, do not create branches or tags, do not run git reset or git clean:
everything you leave in the files is collected when you end.
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
    heading = _HEADING.match(lines[0]) if lines else None
    problems = []
    if heading is None:
        problems.append(f"the first line is not '# {unit} result'")
    elif heading["unit"] != unit:
        problems.append(f"the heading names {heading['unit']!r}, not {unit!r}")
    fields: dict[str, str] = {}
    for line in lines[1:]:
        found = _FIELD.fullmatch(line)
        if found is None:
            if line.strip() or len(fields) == len(FIELDS):
                break
            continue
        name = found["name"].capitalize()
        if name in fields:
            problems.append(f"{name}: is there twice")
        fields[name] = found["value"].strip()
    problems += [f"{name}: is missing or empty" for name in FIELDS if not fields.get(name)]
    fallback = heading is not None and FALLBACK_MARK in heading["rest"]
    return Result(heading["unit"] if heading else "", fields, fallback, tuple(problems))


def fallback_result(unit: str, reason: str, tail: str) -> str:
    """Write a result for a worker that wrote none, from the tail of its output."""
    return f"""# {unit} result {FALLBACK_MARK}
Conclusion: INCOMPLETE; {reason}
Files: unknown
Open items: read the output below, then accept the work or run the unit again
Verification: none (salvaged by prun, not written by the worker)

{tail}"""
