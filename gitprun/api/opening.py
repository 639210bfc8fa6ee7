"""Branches that do not land, opened: what is left of one, the report about that, the workspace with its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gitprun.api.opened import Opened
from gitprun.api.schema import Json
from gitprun.api.settings import checks_of_run, hotspots_of, settings_of, workspace_root
from gitprun.api.undone import OpenedBranch, OpenedPath, OpenResolution, OpenResolutions
from gitprun.model.errors import OperationRefused

if TYPE_CHECKING:
    from gitprun.landing.conflict_report import ConflictReport
    from gitprun.landing.guard import Target
    from gitprun.landing.plan import Candidate
    from gitprun.landing.resolution import Resolution
    from gitprun.landing.unresolved import Opening, Unresolved
    from gitprun.model.plan import Settings

REPORT = "CONFLICT.md"
PROMPT = "prompt.md"
AS_JSON = "brief.json"


def open_resolutions(opened: Opened) -> OpenResolutions:
    """Return all branches that are open; what killed commands did not finish is finished first."""
    rows = []
    for one in swept(opened):
        facts = {key: str(value) for key, value in one.about.as_json().items()}
        paths = tuple(row.path for row in one.paths)
        rows.append(OpenResolution(**facts, why=one.why, workspace=one.workspace, paths=paths))
    return OpenResolutions(resolutions=tuple(rows))


def swept(opened: Opened) -> tuple[Resolution, ...]:
    """Return what is open, with nothing left of what killed commands did not finish."""
    from gitprun.landing.resolution import read_resolutions, resolutions_locked, sweep

    root = workspace_root(opened, None, settings_of(opened))
    with resolutions_locked(opened.repository):
        for note in sweep(opened.repository, opened.ledger, root):
            opened.warn(note)
        return read_resolutions(opened.repository)


def candidate_of(opened: Opened, name: str) -> Candidate:
    """Find the one branch or unit that is meant."""
    from gitprun.landing.choose import choose

    chosen = choose(opened.repository, opened.history(), (name,), allow_unverified=True)
    if len(chosen.candidates) != 1:
        what = f"{len(chosen.candidates)} branches" if chosen.candidates else "nothing that could land"
        raise OperationRefused(f"{name} means {what}", "name one branch or unit")
    return chosen.candidates[0]


def open_branch(opened: Opened, name: str, into: str | None = None) -> OpenedBranch:
    """Open what keeps a branch from landing, or find it open already."""
    from gitprun.git.command import require_git
    from gitprun.landing.guard import read_target
    from gitprun.landing.resolution import (
        OpeningSpec,
        name_for,
        open_resolution,
        read_resolutions,
        resolutions_locked,
        sweep,
        workspace_of,
    )

    repository = opened.repository
    require_git(opened.start)
    candidate, settings = candidate_of(opened, name), settings_of(opened)
    target, root = read_target(repository, into), workspace_root(opened, None, settings)
    with resolutions_locked(repository):
        notes = sweep(repository, opened.ledger, root)
        for known in read_resolutions(repository):
            if known.name == name_for(candidate):
                if (known.main, known.tip) != (target.tip, candidate.tip):
                    opened.warn(f"{candidate.branch} or {target.branch} has moved since this was opened")
                return _shown(opened, known)
        opening = opening_of(opened, candidate, target)
        left = _left_or_found(opened, opening, settings)
        report = _report(opened, opening, left, str(workspace_of(root, candidate)), settings)
        spec = OpeningSpec(root=root, texts=_texts(report), copy=settings.copy or (), link=settings.link or ())
        resolution, more = open_resolution(opening, opened.ledger, left, spec)
    for note in (*notes, *more):
        opened.warn(note)
    return _shown(opened, resolution)


def _shown(opened: Opened, one: Resolution) -> OpenedBranch:
    from gitprun.landing.resolution import folder_of
    from gitprun.landing.unresolved import CONFLICT

    return OpenedBranch(
        branch=one.branch,
        label=one.label,
        why=one.why,
        conflict=one.why == CONFLICT,
        reason=one.reason,
        workspace=one.workspace,
        report=str(folder_of(opened.repository, one.name) / REPORT),
        paths=tuple(
            OpenedPath(path=row.path, kind=row.kind, textual=row.textual, detail=row.detail) for row in one.paths
        ),
    )


def report_text(one: OpenedBranch) -> str:
    """Return the whole report of an opened branch, as Markdown; it quotes files and results of workers."""
    return read_kept(Path(one.report))


def report_json(one: OpenedBranch) -> Mapping[str, Json]:
    """Return the whole report as plain values (the document ``resolution``)."""
    text = read_kept(Path(one.report).with_name(AS_JSON))
    return cast("Mapping[str, Json]", json.loads(text or "{}"))


def read_kept(path: Path) -> str:
    """Return a text that is kept beside a resolution; empty where there is none."""
    from gitprun.landing.resolution import MOST
    from gitprun.system.files import read_plain

    return (read_plain(path, MOST) or b"").decode("utf-8", "replace")


def opening_of(opened: Opened, candidate: Candidate, target: Target) -> Opening:
    """Return a branch together with the one it does not land on."""
    from gitprun.git.refs import open_repository
    from gitprun.landing.unresolved import Opening

    return Opening(opened.repository, open_repository(opened.repository.common), candidate, target)


def left_of(opened: Opened, opening: Opening, settings: Settings) -> Unresolved:
    """Return what of a branch is left in conflict with its target."""
    from gitprun.judging.judged import Means
    from gitprun.judging.rerere import read_rerere
    from gitprun.landing.unresolved import read_unresolved

    repository = opened.repository
    rerere = read_rerere(repository.git, repository.common)
    means = Means(hotspots=hotspots_of(settings), state=repository.state, rerere=rerere)
    return read_unresolved(opening, means)


def _left_or_found(opened: Opened, opening: Opening, settings: Settings) -> Unresolved:
    """Return what is left in conflict, else what looks wrong or was found red."""
    left = left_of(opened, opening, settings)
    if left.paths:
        return left
    from gitprun.landing.holds import find_hold, read_holds
    from gitprun.landing.plan import LandingOptions
    from gitprun.landing.unresolved import read_findings

    reading = opened.read()
    holds = read_holds(opened.repository, reading.history, reading.events)
    hold = find_hold(holds, opening.candidate.branch, opening.target.ref)
    return read_findings(opening, LandingOptions(hotspots=hotspots_of(settings)), left, hold)


def _report(opened: Opened, opening: Opening, left: Unresolved, workspace: str, settings: Settings) -> ConflictReport:
    from gitprun.landing.conflict_report import read_report
    from gitprun.landing.resolution import name_for

    candidate, history = opening.candidate, opened.history()
    return read_report(
        opening,
        history,
        left,
        workspace=workspace,
        name=name_for(candidate),
        verify=settings.verify or checks_of_run(history.runs.get(candidate.run)),
    )


def _texts(report: ConflictReport) -> dict[str, str]:
    """Write the report for people, workers and programs."""
    from gitprun.landing.conflict_report import render_report

    return {
        REPORT: render_report(report),
        PROMPT: render_report(report, worker=True),
        AS_JSON: json.dumps(report.as_json()) + "\n",
    }
