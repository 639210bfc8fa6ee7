"""The report about a branch that does not land, as Markdown: for people, and as the prompt of a worker."""

from __future__ import annotations

import os
import re

from gitprun.landing.report import MOST_LISTED, ConflictPlace, ConflictReport, ReportedPath
from gitprun.landing.unresolved import CONFLICT
from gitprun.model.escapes import shell_word
from gitprun.model.names import short


def render_brief(brief: ConflictReport, *, worker: bool = False) -> str:
    """Write a report as Markdown, for people or as the prompt of a worker."""
    lines = [*_head(brief)]
    if brief.command:
        lines += [f"## `{brief.command}` failed", "", f"{brief.reason}.", ""]
        lines += ["The end of its output:", "", _fenced(brief.output), ""] if brief.output.strip() else []
    elif brief.why != CONFLICT and not brief.paths:
        lines += [f"{brief.reason}.", ""]
    shown = [row for row in brief.paths[:MOST_LISTED] if row.places or row.changes or not row.more]
    for row in shown:
        lines += _render_path(brief, row)
    rest = [row for row in brief.paths if row not in shown]
    if rest:
        listed = [f"- `{row.path}`: {row.kind}" for row in rest[:MOST_LISTED]]
        more = [f"- and {len(rest) - MOST_LISTED} files more"] if len(rest) > MOST_LISTED else []
        lines += ["## Not shown here (`git status` in the workspace lists all)", "", *listed, *more, ""]
    if brief.settled:
        listed = [f"`{path}` ({resolver})" for path, resolver in brief.settled[:MOST_LISTED]]
        more = [f"and {len(brief.settled) - MOST_LISTED} more"] if len(brief.settled) > MOST_LISTED else []
        lines += ["## Settled already", "", f"{', '.join([*listed, *more])}: leave these as they are.", ""]
    for intent in brief.intents:
        whose = "the unit side" if intent.side == "unit" else "the main side"
        for what, text in (("was asked", intent.prompt), ("reported", intent.result)):
            if text.strip():
                lines += [f"## What {intent.unit} ({whose}) {what}", "", _fenced(text), ""]
    if brief.verify:
        checks = "".join(f"- `{command}`\n" for command in brief.verify)
        lines += ["## The merged tree has to pass", "", checks]
    if worker:
        return "\n".join(lines)
    lines += [
        "## When it is done",
        "",
        f"`git prun resolve {shell_word(brief.label)} --continue` checks it and lands it; `--abort` throws it away.",
    ]
    return "\n".join(lines) + "\n"


def _head(brief: ConflictReport) -> list[str]:
    count = _count(len(brief.paths), "file")
    if brief.why == CONFLICT:
        return [
            f"# Merge {brief.branch} into {brief.target}: {count} to resolve",
            "",
            f"The merged files lie in `{brief.workspace}`. Edit the files listed below so that what both sides wanted",
            "is in them, and no conflict marker is left. Change no other file, and commit nothing: the files are",
            "collected.",
            "",
        ]
    if brief.why == "suspect":
        return [
            f"# Merge {brief.branch} into {brief.target}: {count} to mend",
            "",
            f"git finds no conflict, and the result looks wrong. The merged files lie in `{brief.workspace}`.",
            "Mend what is listed below, so that what both sides wanted is in it. Change no other file, and commit",
            "nothing: the files are collected.",
            "",
        ]
    return [
        f"# Merge {brief.branch} into {brief.target}: {brief.why}",
        "",
        f"git finds no conflict. The merged files lie in `{brief.workspace}`. Mend them so that the checks pass.",
        f"Change only files that {brief.branch} changed, and commit nothing: the files are collected.",
        "",
    ]


def _render_path(brief: ConflictReport, row: ReportedPath) -> list[str]:
    lines = [f"## `{row.path}`" if row.path else f"## {brief.branch}", "", f"{row.detail or row.kind}."]
    if row.refused:
        lines.append(f"Not settled: {row.refused}.")
    if not row.textual and brief.why == CONFLICT:
        way = f"git prun resolve {shell_word(brief.label)} --continue --take {shell_word(row.path)}=main"
        lines.append(f"This needs a choice: `{way}` (or `=unit`, `=delete`).")
    if row.policy:
        lines.append(f"In `prun.toml` this would settle it from now on: {_hotspot(row)}.")
    lines.append("")
    if row.lines:
        lines += ["In the merged file:", "", _fenced("\n".join(f"{number}: {line}" for number, line in row.lines)), ""]
    for place in row.places:
        lines += _render_place(brief, place)
    if row.more:
        lines += [f"{_count(row.more, 'place')} more in this file.", ""]
    lines += [line for side, text in row.changes for line in (f"What the {side} side changed:", "", _fenced(text), "")]
    for side, commits in (("main", row.main_commits), ("unit", row.unit_commits)):
        if commits:
            lines += [f"Commits of the {side} side:", "", *(f"- {one}" for one in commits), ""]
    if not row.places and not row.changes:
        lines += [f"- {one.side}: {short(one.oid)}, mode {one.mode}, {one.size} bytes" for one in row.sides]
        lines += [""] if row.sides else []
    return lines


def _hotspot(row: ReportedPath) -> str:
    return f'`[[hotspot]]` with `path = "{row.path}"` and `policy = "{row.policy}"`'


def _render_place(brief: ConflictReport, place: ConflictPlace) -> list[str]:
    """Write one place as git would mark it, with who wrote each side above it."""
    hunk = place.hunk
    text = [
        *hunk.before,
        f"<<<<<<< main side ({brief.target}), line {hunk.main.line}",
        *hunk.main.text,
        "||||||| base",
        *hunk.base.text,
        "=======",
        *hunk.unit.text,
        f">>>>>>> unit side ({brief.branch}), line {hunk.unit.line}",
        *hunk.after,
    ]
    lines = []
    for side, commits in (("main", place.main_commits), ("unit", place.unit_commits)):
        if commits:
            lines.append(f"- {side} side: {'; '.join(commits)}")
    return [*lines, "", _fenced("\n".join(text)), ""]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _fenced(text: str) -> str:
    """Put text between fences that it does not hold itself."""
    longest = max((len(found) for found in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip(os.linesep)}\n{fence}"
