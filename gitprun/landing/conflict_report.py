"""The report about a branch that does not land: the places in question, who wrote them, why nothing settled it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.git.trees import REGULAR, Objects, Stage, read_blob, show_path
from gitprun.git.walk import Trees
from gitprun.judging.text import policy_for
from gitprun.landing.authors import unit_labels, units_that_touched, who_touched, who_wrote
from gitprun.landing.hunks import MOST_LINES, MOST_WIDTH, Hunk, find_hunks
from gitprun.landing.plan import Candidate
from gitprun.landing.unresolved import CONFLICT, Opening, Unresolved, UnresolvedPath
from gitprun.ledger.events import History
from gitprun.ledger.review import read_result_text
from gitprun.model.escapes import shell_word
from gitprun.model.names import short
from gitprun.resolvers.base import SIZE_LIMIT, FileConflict
from gitprun.system.files import read_plain, tail

# All places together, in characters: some 500 lines, what a person looks through, and 8,000 tokens of a worker's
# prompt. What is left out is counted, and lies in the workspace.
MOST_TEXT = 30_000
# Of what a unit was asked and said, in characters: what it was about, not all of it.
MOST_SAID = 2_000
# The last ones that changed the same paths; each brings a prompt and a result.
MOST_UNITS = 5
# Paths, places of one path, and other things that are listed: for each git is asked who wrote it.
MOST_LISTED = 50
# Of a check's output, in lines and characters: the end, where what failed is named.
MOST_OUTPUT = 60
SIDES = ("base", "main", "unit")
# Findings quote words of the file; more than 200 characters are no line that could be searched for.
_QUOTED = re.compile(r'"([^"]{1,200})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class SideVersion:
    """One version of a path, with its size in bytes."""

    side: str
    mode: str
    oid: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictPlace:
    """One place in conflict, and the commits of either side that wrote it."""

    hunk: Hunk
    main_commits: tuple[str, ...] = ()
    unit_commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedPath:
    """One path in question; ``places`` are those in conflict, as far as they are shown (``more`` are not).

    ``changes`` are what either side did to the file where that is not told by places, ``lines`` those of the merged
    file that a finding speaks of, ``policy`` would settle it if a hotspot said so.
    """

    path: str
    kind: str
    detail: str
    refused: str
    textual: bool
    sides: tuple[SideVersion, ...]
    places: tuple[ConflictPlace, ...] = ()
    more: int = 0
    changes: tuple[tuple[str, str], ...] = ()
    lines: tuple[tuple[int, str], ...] = ()
    policy: str = ""
    main_commits: tuple[str, ...] = ()
    unit_commits: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return how many characters its texts take."""
        return sum(one.hunk.size for one in self.places) + sum(len(text) for _, text in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a unit on one of the sides was asked for, and what it says it did."""

    side: str
    unit: str
    prompt: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictReport:
    """Everything somebody needs to know who is to resolve it; ``why`` is CONFLICT, or the state of the branch.

    ``reason``, ``command`` and ``output`` tell of a check that failed.
    """

    branch: str
    label: str
    target: str
    workspace: str
    name: str
    why: str
    paths: tuple[ReportedPath, ...]
    reason: str = ""
    command: str = ""
    output: str = ""
    intents: tuple[Intent, ...] = ()
    settled: tuple[tuple[str, str], ...] = ()
    verify: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        known = asdict(self)
        known["settled"] = [{"path": path, "resolver": resolver} for path, resolver in self.settled]
        return known | {"continue": f"git prun resolve {shell_word(self.label)} --continue"}


def read_report(
    opening: Opening, history: History, left: Unresolved, *, workspace: str, name: str, verify: Sequence[str]
) -> ConflictReport:
    """Gather what is known about what is left of a branch, which is opened in ``workspace``."""
    labels, candidate = unit_labels(history), opening.candidate
    paths = [_read_path(opening, left, row, labels) for row in left.paths[:MOST_LISTED]]
    # Beyond the limit only named: asking git who wrote the lines takes longest of all.
    paths += [_head_of(opening.repo, row) for row in left.paths[MOST_LISTED:]]
    # A log may be gigabytes; its end is read alone.
    output = tail(Path(left.log), MOST_OUTPUT * MOST_WIDTH).decode("utf-8", "replace") if left.log else ""
    return ConflictReport(
        branch=candidate.branch,
        label=opening.label,
        target=opening.target.branch,
        workspace=workspace,
        name=name,
        why=left.why,
        paths=tuple(_bounded(paths)),
        reason=left.reason,
        command=left.command,
        output="\n".join(output.splitlines()[-MOST_OUTPUT:]),
        intents=tuple(_intents(opening.repository, history, candidate, left)),
        settled=tuple((row.path, row.resolver) for row in left.settled),
        verify=tuple(verify),
    )


def _read_path(opening: Opening, left: Unresolved, row: UnresolvedPath, labels: Mapping[str, str]) -> ReportedPath:
    git, repo, base, read = opening.repository.git, opening.repo, left.bases[0], _head_of(opening.repo, row)
    conflict = _conflict(repo, row) if row.textual and left.why == CONFLICT else None
    hunks = find_hunks(conflict) if conflict is not None else ()
    if conflict is not None and hunks and not isinstance(hunks, str):
        more, hunks = max(0, len(hunks) - MOST_LISTED), hunks[:MOST_LISTED]
        spans = [[hunk.main for hunk in hunks], [hunk.unit for hunk in hunks]]
        main, unit = (
            who_wrote(git, base, side, row.path, of_side, labels)
            for side, of_side in zip((left.main, left.unit), spans, strict=True)
        )
        rows = zip(hunks, main, unit, strict=True)
        places = tuple(ConflictPlace(hunk=hunk, main_commits=one, unit_commits=other) for hunk, one, other in rows)
        return replace(read, places=places, more=more, policy=policy_for(conflict, opening.repository.state) or "")
    if not row.path:
        return read
    return replace(
        read,
        detail="; ".join(filter(None, (row.detail, hunks if isinstance(hunks, str) else ""))),
        changes=tuple(_changes(git, row)),
        lines=tuple(_lines(repo, left, row)),
        main_commits=who_touched(git, base, left.main, row.path, labels),
        unit_commits=who_touched(git, base, left.unit, row.path, labels),
    )


def _head_of(repo: Objects, row: UnresolvedPath) -> ReportedPath:
    """Return what is known about a path without asking git."""
    return ReportedPath(
        path=show_path(row.path),
        kind=row.kind,
        detail=row.detail,
        refused=row.refused,
        textual=row.textual,
        sides=tuple(_side(repo, SIDES[stage.number - 1], stage) for stage in row.stages if stage is not None),
    )


def _conflict(repo: Objects, row: UnresolvedPath) -> FileConflict:
    base, main, unit = (read_blob(repo, stage.oid) if stage is not None else None for stage in row.stages)
    return FileConflict(os.fsdecode(row.path), base, main or b"", unit or b"")


def _side(repo: Objects, side: str, stage: Stage) -> SideVersion:
    size = len(read_blob(repo, stage.oid)) if stage.mode in REGULAR else 0
    return SideVersion(side=side, mode=stage.mode, oid=stage.oid, size=size)


def _changes(git: Git, row: UnresolvedPath) -> list[tuple[str, str]]:
    """Show what each side changed in a file, by its own; not where the base has none, or it is no plain file."""
    base, *sides = row.stages
    found = []
    for side, stage in zip(SIDES[1:], sides, strict=True):
        if base is None or stage is None or base.oid == stage.oid or {base.mode, stage.mode} - {*REGULAR}:
            continue
        # No program of the user's, and none that the branch's attributes name.
        words = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=3", base.oid, stage.oid)
        text = git.run(*words, ok=(0, 1, 128)).out.decode("utf-8", "backslashreplace")
        # The first lines name two objects that nobody knows.
        lines = [
            line[:MOST_WIDTH] for line in text.splitlines() if not line.startswith(("diff ", "index ", "---", "+++"))
        ]
        more = [f"... and {len(lines) - MOST_LINES} lines more"] if len(lines) > MOST_LINES else []
        found.append((side, "\n".join([*lines[:MOST_LINES], *more])))
    return found


def _lines(repo: Objects, left: Unresolved, row: UnresolvedPath) -> list[tuple[int, str]]:
    """Find the lines of the merged file that a finding quotes."""
    found = Trees(repo).find(left.tree, row.path) if row.textual and left.why != CONFLICT else None
    quoted = _QUOTED.findall(row.detail)
    if found is None or not quoted:
        return []
    text = read_blob(repo, found[1])[:SIZE_LIMIT].decode("utf-8", "backslashreplace")
    numbered = enumerate(text.splitlines(), 1)
    rows = [(number, line[:MOST_WIDTH]) for number, line in numbered if any(word in line for word in quoted)]
    return rows[:MOST_LINES]


def _bounded(paths: Sequence[ReportedPath]) -> list[ReportedPath]:
    """Leave out what would make the report too long: each path keeps its first place as long as there is room."""
    left, found = MOST_TEXT, []
    for path in paths:
        kept = [place for number, place in enumerate(path.places) if _fits(path.places[: number + 1], left)]
        changes = path.changes if sum(len(text) for _, text in path.changes) <= left else ()
        path = replace(path, places=tuple(kept), more=path.more + len(path.places) - len(kept), changes=changes)
        left -= path.size
        found.append(path)
    return found


def _fits(places: Sequence[ConflictPlace], room: int) -> bool:
    return sum(place.hunk.size for place in places) <= room


def _intents(repository: Repository, history: History, candidate: Candidate, left: Unresolved) -> list[Intent]:
    """Read prompts and results: of the unit itself, and of those that changed the same paths on the main side."""
    found = [_intent(repository.state, "unit", candidate.run, candidate.unit)] if candidate.unit else []
    paths = [row.path for row in left.paths if row.path]
    others = units_that_touched(repository.git, history, left.bases[0], left.main, paths)
    found += [_intent(repository.state, "main", run, unit) for run, unit in others[-MOST_UNITS:]]
    return [one for one in dict.fromkeys(found) if one.prompt or one.result]


def _intent(state: Path, side: str, run: str, unit: str) -> Intent:
    folder = state / "runs" / run / unit
    prompt = (read_plain(folder / "task.md", MOST_SAID) or read_plain(folder / "prompt.md", MOST_SAID) or b"").decode(
        "utf-8", "replace"
    )
    return Intent(side=side, unit=f"{run}/{unit}", prompt=prompt, result=read_result_text(folder)[:MOST_SAID])


def render_report(report: ConflictReport, *, worker: bool = False) -> str:
    """Write a report as Markdown, for people or as the prompt of a worker."""
    lines = [*_head(report)]
    if report.command:
        lines += [f"## `{report.command}` failed", "", f"{report.reason}.", ""]
        lines += ["The end of its output:", "", _fenced(report.output), ""] if report.output.strip() else []
    elif report.why != CONFLICT and not report.paths:
        lines += [f"{report.reason}.", ""]
    shown = [row for row in report.paths[:MOST_LISTED] if row.places or row.changes or not row.more]
    for row in shown:
        lines += _render_path(report, row)
    rest = [row for row in report.paths if row not in shown]
    if rest:
        listed = [f"- `{row.path}`: {row.kind}" for row in rest[:MOST_LISTED]]
        more = [f"- and {len(rest) - MOST_LISTED} files more"] if len(rest) > MOST_LISTED else []
        lines += ["## Not shown here (`git status` in the workspace lists all)", "", *listed, *more, ""]
    if report.settled:
        listed = [f"`{path}` ({resolver})" for path, resolver in report.settled[:MOST_LISTED]]
        more = [f"and {len(report.settled) - MOST_LISTED} more"] if len(report.settled) > MOST_LISTED else []
        lines += ["## Settled already", "", f"{', '.join([*listed, *more])}: leave these as they are.", ""]
    for intent in report.intents:
        whose = "the unit side" if intent.side == "unit" else "the main side"
        for what, text in (("was asked", intent.prompt), ("reported", intent.result)):
            if text.strip():
                lines += [f"## What {intent.unit} ({whose}) {what}", "", _fenced(text), ""]
    if report.verify:
        checks = "".join(f"- `{command}`\n" for command in report.verify)
        lines += ["## The merged tree has to pass", "", checks]
    if worker:
        return "\n".join(lines)
    lines += [
        "## When it is done",
        "",
        f"`git prun resolve {shell_word(report.label)} --continue` checks it and lands it; `--abort` throws it away.",
    ]
    return "\n".join(lines) + "\n"


def _head(report: ConflictReport) -> list[str]:
    count = _count(len(report.paths), "file")
    if report.why == CONFLICT:
        return [
            f"# Merge {report.branch} into {report.target}: {count} to resolve",
            "",
            f"The merged files lie in `{report.workspace}`. Edit the files listed below so that what both sides wanted",
            "is in them, and no conflict marker is left. Change no other file, and commit nothing: the files are",
            "collected.",
            "",
        ]
    if report.why == "suspect":
        return [
            f"# Merge {report.branch} into {report.target}: {count} to mend",
            "",
            f"git finds no conflict, and the result looks wrong. The merged files lie in `{report.workspace}`.",
            "Mend what is listed below, so that what both sides wanted is in it. Change no other file, and commit",
            "nothing: the files are collected.",
            "",
        ]
    return [
        f"# Merge {report.branch} into {report.target}: {report.why}",
        "",
        f"git finds no conflict. The merged files lie in `{report.workspace}`. Mend them so that the checks pass.",
        f"Change only files that {report.branch} changed, and commit nothing: the files are collected.",
        "",
    ]


def _render_path(report: ConflictReport, row: ReportedPath) -> list[str]:
    lines = [f"## `{row.path}`" if row.path else f"## {report.branch}", "", f"{row.detail or row.kind}."]
    if row.refused:
        lines.append(f"Not settled: {row.refused}.")
    if not row.textual and report.why == CONFLICT:
        way = f"git prun resolve {shell_word(report.label)} --continue --take {shell_word(row.path)}=main"
        lines.append(f"This needs a choice: `{way}` (or `=unit`, `=delete`).")
    if row.policy:
        lines.append(f"In `prun.toml` this would settle it from now on: {_hotspot(row)}.")
    lines.append("")
    if row.lines:
        lines += ["In the merged file:", "", _fenced("\n".join(f"{number}: {line}" for number, line in row.lines)), ""]
    for place in row.places:
        lines += _render_place(report, place)
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


def _render_place(report: ConflictReport, place: ConflictPlace) -> list[str]:
    """Write one place as git would mark it, with who wrote each side above it."""
    hunk = place.hunk
    text = [
        *hunk.before,
        f"<<<<<<< main side ({report.target}), line {hunk.main.line}",
        *hunk.main.text,
        "||||||| base",
        *hunk.base.text,
        "=======",
        *hunk.unit.text,
        f">>>>>>> unit side ({report.branch}), line {hunk.unit.line}",
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
    # A file with a fence in it (Markdown) would end the block, and the rest would read as instructions.
    longest = max((len(found) for found in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip(os.linesep)}\n{fence}"
