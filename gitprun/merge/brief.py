"""The brief of a conflict: the three texts, what both sides wanted, why nothing settled it, how to go on."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.git.trees import REGULAR, Objects, Stage, read_blob, show_path
from gitprun.merge.left import Left
from gitprun.merge.plan import Candidate
from gitprun.names import Oid, short
from gitprun.runs.events import History
from gitprun.runs.review import read_result_text
from gitprun.system.files import read_plain

MOST_TEXT = 32_000
MOST_SAID = 8_000
MOST_COMMITS = 20
SIDES = ("base", "main", "unit")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideText:
    """One version of a path; ``text`` is None where it is binary or too large to be shown (``size`` in bytes)."""

    side: str
    mode: str
    oid: str
    size: int
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefPath:
    """One path in conflict; ``subjects`` are the commits of main and unit side that touched it."""

    path: str
    kind: str
    detail: str
    refused: str
    textual: bool
    sides: tuple[SideText, ...]
    main_commits: tuple[str, ...] = ()
    unit_commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a unit on one of the sides was asked for, and what it says it did."""

    side: str
    unit: str
    prompt: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """Everything somebody needs to know who is to resolve a conflict."""

    branch: str
    target: str
    workspace: str
    name: str
    paths: tuple[BriefPath, ...]
    intents: tuple[Intent, ...] = ()
    settled: tuple[tuple[str, str], ...] = ()
    verify: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        known = asdict(self)
        known["settled"] = [{"path": path, "resolver": resolver} for path, resolver in self.settled]
        return known | {"continue": f"git prun resolve {self.branch} --continue"}


def read_brief(
    repository: Repository,
    repo: Objects,
    history: History,
    candidate: Candidate,
    left: Left,
    *,
    target: str,
    workspace: str,
    name: str,
    verify: Sequence[str],
) -> Brief:
    """Gather what is known about a conflict."""
    git, base = repository.git, left.bases[0]
    paths = tuple(
        BriefPath(
            path=show_path(row.path),
            kind=row.kind,
            detail=row.detail,
            refused=row.refused,
            textual=row.textual,
            sides=tuple(
                _side(repo, side, stage) for side, stage in zip(SIDES, row.stages, strict=True) if stage is not None
            ),
            main_commits=_subjects(git, base, left.main, row.path),
            unit_commits=_subjects(git, base, left.unit, row.path),
        )
        for row in left.paths
    )
    return Brief(
        branch=candidate.branch,
        target=target,
        workspace=workspace,
        name=name,
        paths=paths,
        intents=tuple(_intents(repository, history, candidate, base, left.main)),
        settled=tuple((row.path, row.resolver) for row in left.settled),
        verify=tuple(verify),
    )


def _side(repo: Objects, side: str, stage: Stage) -> SideText:
    content = read_blob(repo, stage.oid) if stage.mode in REGULAR else b"\0"
    text = None
    if len(content) <= MOST_TEXT and b"\0" not in content:
        text = content.decode("utf-8", "backslashreplace")
    size = len(content) if stage.mode in REGULAR else 0
    return SideText(side=side, mode=stage.mode, oid=stage.oid, size=size, text=text)


def _subjects(git: Git, base: Oid, side: Oid, path: bytes) -> tuple[str, ...]:
    """List the commits of a side that touched a path, the newest first."""
    words = ("log", "--no-show-signature", "--no-color", "--no-merges", "--format=%h %s", f"--max-count={MOST_COMMITS}")
    literal = b":(top,literal)" + path
    listing = git.run(*words, f"{base}..{side}", "--", literal, ok=(0, 128)).out.decode("utf-8", "replace")
    return tuple(listing.splitlines())


def _intents(repository: Repository, history: History, candidate: Candidate, base: Oid, main: Oid) -> list[Intent]:
    """Read prompts and results: of the unit itself, and of the units that landed on the main side meanwhile."""
    found = []
    if candidate.unit:
        found.append(_intent(repository.state, "unit", candidate.run, candidate.unit))
    since = set(repository.git.run("rev-list", f"{base}..{main}").text.split())
    for landing in history.landings:
        if landing.unit and landing.commit in since:
            found.append(_intent(repository.state, "main", landing.run, landing.unit))
    return [one for one in dict.fromkeys(found) if one.prompt or one.result]


def _intent(state: Path, side: str, run: str, unit: str) -> Intent:
    folder = state / "runs" / run / unit
    prompt = (read_plain(folder / "task.md", MOST_SAID) or read_plain(folder / "prompt.md", MOST_SAID) or b"").decode(
        "utf-8", "replace"
    )
    return Intent(side=side, unit=f"{run}/{unit}", prompt=prompt, result=read_result_text(folder)[:MOST_SAID])


def render_brief(brief: Brief, *, worker: bool = False) -> str:
    """Write a brief as Markdown, for people or as the prompt of a worker."""
    count = len(brief.paths)
    files = f"{count} file{'' if count == 1 else 's'}"
    lines = [
        f"# Merge {brief.branch} into {brief.target}: {files} to resolve",
        "",
        f"The merged files lie in `{brief.workspace}`. Edit the files listed below so that what both sides wanted is",
        "in them, and no conflict marker is left. Change no other file, and commit nothing: the files are collected.",
        "",
    ]
    for row in brief.paths:
        lines += _render_path(row)
    if brief.settled:
        listed = ", ".join(f"`{path}` ({resolver})" for path, resolver in brief.settled)
        lines += ["## Settled already", "", f"{listed}: leave these as they are.", ""]
    for intent in brief.intents:
        whose = "the unit side" if intent.side == "unit" else "the main side"
        for what, text in (("was asked", intent.prompt), ("reported", intent.result)):
            if text.strip():
                lines += [f"## What {intent.unit} ({whose}) {what}", "", _fenced(text), ""]
    if brief.verify:
        listed = "".join(f"- `{command}`\n" for command in brief.verify)
        lines += ["## The merged tree has to pass", "", listed]
    if worker:
        return "\n".join(lines)
    lines += [
        "## When it is done",
        "",
        f"`git prun resolve {brief.branch} --continue` checks it and lands it; `--abort` throws it away.",
    ]
    return "\n".join(lines) + "\n"


def _render_path(row: BriefPath) -> list[str]:
    lines = [f"## `{row.path}`", "", f"{row.detail or row.kind}."]
    if row.refused:
        lines.append(f"Not settled: {row.refused}.")
    if not row.textual:
        lines.append(
            f"This needs a choice: `git prun resolve ... --continue --take {row.path}=main` (or `=unit`, `=delete`)."
        )
    lines.append("")
    for side, commits in (("main", row.main_commits), ("unit", row.unit_commits)):
        if commits:
            lines += [f"Commits of the {side} side:", "", *(f"- {subject}" for subject in commits), ""]
    for each in row.sides:
        shown = "as it was before both" if each.side == "base" else f"the {each.side} side"
        if each.text is None:
            lines += [f"### {shown} ({short(each.oid)}, {each.size} bytes, not shown)", ""]
        else:
            lines += [f"### {shown}", "", _fenced(each.text), ""]
    return lines


def _fenced(text: str) -> str:
    """Put text between fences that it does not hold itself."""
    longest = max((len(found) for found in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip(os.linesep)}\n{fence}"
