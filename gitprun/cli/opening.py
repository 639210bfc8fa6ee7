"""How ``git prun resolve`` opens a branch: what is left of it, the report about that, the workspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gitprun.cli.console import put, safe, warn
from gitprun.cli.options import Here
from gitprun.model.errors import OperationRefused
from gitprun.model.escapes import safe_text

if TYPE_CHECKING:
    from gitprun.landing.guard import Target
    from gitprun.landing.plan import Candidate
    from gitprun.landing.report import ConflictReport
    from gitprun.landing.resolution import Resolution
    from gitprun.landing.unresolved import Unresolved
    from gitprun.model.plan import Settings

BRIEF = "CONFLICT.md"
PROMPT = "prompt.md"
AS_JSON = "brief.json"


def read_settings_of(place: Here) -> Settings:
    """Read the settings of the checkout."""
    from gitprun.system.config import read_settings

    return read_settings(place.repository.top)


def swept(place: Here) -> tuple[Resolution, ...]:
    """Return what is open, with nothing left of what killed commands did not finish."""
    from gitprun.cli.places import workspace_root
    from gitprun.landing.assist import resolutions_locked, sweep
    from gitprun.landing.resolution import read_resolutions

    root = workspace_root(place, None, read_settings_of(place))
    with resolutions_locked(place.repository):
        for note in sweep(place.repository, place.ledger, root):
            warn(safe(note))
        return read_resolutions(place.repository)


def candidate_of(place: Here, name: str) -> Candidate:
    """Find the one branch or unit that is meant."""
    from gitprun.landing.choose import choose

    chosen = choose(place.repository, place.history(), (name,), allow_unverified=True)
    if len(chosen.candidates) != 1:
        what = f"{len(chosen.candidates)} branches" if chosen.candidates else "nothing that could land"
        raise OperationRefused(f"{name} means {what}", "name one branch or unit")
    return chosen.candidates[0]


def open_branch(place: Here, name: str, into: str | None) -> Resolution:
    """Open what keeps a branch from landing, or find it open already."""
    from gitprun.cli.places import workspace_root
    from gitprun.git.command import require_git
    from gitprun.landing.assist import open_resolution, resolutions_locked, sweep, workspace_of
    from gitprun.landing.guard import read_target
    from gitprun.landing.resolution import name_for, read_resolutions

    repository = place.repository
    require_git(place.start)
    candidate, settings = candidate_of(place, name), read_settings_of(place)
    target, root = read_target(repository, into), workspace_root(place, None, settings)
    with resolutions_locked(repository):
        notes = sweep(repository, place.ledger, root)
        for known in read_resolutions(repository):
            if known.name == name_for(candidate):
                if (known.main, known.tip) != (target.tip, candidate.tip):
                    warn(f"{safe(candidate.branch)} or {target.branch} has moved since this was opened")
                return known
        left = _left_or_found(place, target, candidate, settings)
        brief = _brief(place, target, candidate, left, str(workspace_of(root, candidate)), settings)
        opened, more = open_resolution(
            repository,
            place.ledger,
            candidate,
            target,
            left,
            root=root,
            texts=_texts(brief),
            copy=settings.copy or (),
            link=settings.link or (),
        )
    for note in (*notes, *more):
        warn(safe(note))
    return opened


def left_of(place: Here, target: Target, candidate: Candidate, settings: Settings) -> Unresolved:
    """Return what of a branch is left in conflict with the target."""
    from gitprun.git.refs import open_repository
    from gitprun.judging.hotspots import parse_hotspots
    from gitprun.judging.rerere import read_rerere
    from gitprun.judging.text import Means
    from gitprun.landing.unresolved import read_left

    hotspots = parse_hotspots(list(settings.hotspots), settings.hotspot_source or "prun.toml")
    rerere = read_rerere(place.repository.git, place.repository.common)
    means = Means(hotspots=hotspots, state=place.repository.state, rerere=rerere)
    return read_left(place.repository, open_repository(place.repository.common), target, candidate, means)


def _left_or_found(place: Here, target: Target, candidate: Candidate, settings: Settings) -> Unresolved:
    """Return what is left in conflict, else what looks wrong or was found red."""
    left = left_of(place, target, candidate, settings)
    if left.paths:
        return left
    from gitprun.git.refs import open_repository
    from gitprun.judging.hotspots import parse_hotspots
    from gitprun.landing.findings import read_findings
    from gitprun.landing.holds import find_hold, read_holds
    from gitprun.landing.plan import LandingOptions

    hotspots = parse_hotspots(list(settings.hotspots), settings.hotspot_source or "prun.toml")
    reading, repo = place.read(), open_repository(place.repository.common)
    hold = find_hold(read_holds(place.repository, reading.history, reading.events), candidate.branch, target.ref)
    return read_findings(place.repository, repo, target, candidate, LandingOptions(hotspots=hotspots), left, hold)


def _brief(
    place: Here, target: Target, candidate: Candidate, left: Unresolved, workspace: str, settings: Settings
) -> ConflictReport:
    from gitprun.git.refs import open_repository
    from gitprun.landing.report import read_brief
    from gitprun.landing.resolution import name_for

    return read_brief(
        place.repository,
        open_repository(place.repository.common),
        place.history(),
        candidate,
        left,
        target=target.branch,
        workspace=workspace,
        name=name_for(candidate),
        verify=settings.verify or verify_of(place, candidate),
    )


def verify_of(place: Here, one: Candidate | Resolution) -> tuple[str, ...]:
    """Find the checks that a unit's run declared."""
    run = place.history().runs.get(one.run)
    return tuple(run.facts.get("verify") or ()) if run else ()


def _texts(brief: ConflictReport) -> dict[str, str]:
    """Write the report for people, programs and workers."""
    from gitprun.landing.report_text import render_brief

    return {
        BRIEF: render_brief(brief),
        PROMPT: render_brief(brief, worker=True),
        AS_JSON: json.dumps(brief.as_json()) + "\n",
    }


def show_opened(place: Here, opened: Resolution, *, as_json: bool, markdown: bool) -> None:
    """Print the report that was asked for, or where it is and what it is about."""
    from gitprun.landing.resolution import MOST, folder_of
    from gitprun.landing.unresolved import CONFLICT
    from gitprun.system.files import read_plain

    folder = folder_of(place.repository, opened.name)
    if as_json or markdown:
        report = read_plain(folder / (AS_JSON if as_json else BRIEF), MOST) or b""
        # It quotes files and results of workers.
        put(safe_text(report.decode("utf-8", "replace")).rstrip("\n"))
        return
    count, where = len(opened.paths), safe(opened.workspace)
    if opened.why == CONFLICT:
        put(f"{safe(opened.branch)}: {count} file{'' if count == 1 else 's'} in conflict, in {where}")
    else:
        put(f"{safe(opened.branch)}: {opened.why}; its merged files are in {where}")
    for row in opened.paths:
        said = row.detail or row.kind
        named = f"{row.path}: {said}" if row.path else said
        put(f"  {safe(named)}" + ("" if row.textual or opened.why != CONFLICT else " (needs --take)"))
    if not opened.paths:
        put(f"  {safe(opened.reason)}")
    put(f"brief: {safe(str(folder / BRIEF))}")
