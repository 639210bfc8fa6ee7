"""``git prun resolve``: what a merge leaves in conflict is opened, worked on, checked and landed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import hint, put, safe, say, table, warn
from gitprun.cli.landing import landing_options
from gitprun.cli.options import Here, here, json_option
from gitprun.errors import Interrupted, Refused, UsageProblem

if TYPE_CHECKING:
    from gitprun.merge.assist import Resolution
    from gitprun.merge.brief import Brief
    from gitprun.merge.guard import Target
    from gitprun.merge.left import Left
    from gitprun.merge.plan import Candidate, LandingOptions
    from gitprun.plan import Settings


@click.command()
@click.argument("name", metavar="[BRANCH|UNIT]", required=False)
@click.option("--into", metavar="BRANCH", help="The branch it is to land on (default: the one checked out).")
@click.option("--markdown", is_flag=True, help="Print the whole brief.")
@json_option
@click.option("--continue", "proceed", is_flag=True, help="Take the finished resolution back, check it, land it.")
@click.option("--abort", is_flag=True, help="Throw the resolution away.")
@click.option("--with", "worker", metavar="WORKER", help="Let codex, claude or a shell command do it, then go on.")
@click.option("--take", multiple=True, metavar="PATH=SIDE", help="Decide for main, unit or delete (repeatable).")
@click.option("--allow-other-paths", is_flag=True, help="Take along changes of files that are not in conflict.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check the merged tree must pass (repeatable).")
@click.option("--no-verify", is_flag=True, help="Do not check the merged tree.")
@click.option("--allow-unverified", is_flag=True, help="Also a unit that no check has proved.")
@click.option("--allow-suspect", is_flag=True, help="Land what looks wrong in other files, too.")
@click.option("-m", "--message", help="The merge message (default: it names what was resolved).")
@click.pass_context
def resolve(ctx: click.Context, /, name: str | None, proceed: bool, abort: bool, **given: Any) -> int:
    """Open what a merge of BRANCH leaves in conflict in a workspace, with a brief; without it list what is open.

    Edit the files there, then --continue: what you made is read (its git is not used), checked for markers and for
    faults that neither side has, recorded for these very versions, and landed as git prun merge lands: verified, by
    hooks and compare-and-swap. Conflicts that are not about content need --take.
    """
    from gitprun.merge.assist import close_resolution, read_resolutions, require_open

    place = here(ctx)
    if proceed and abort:
        raise UsageProblem("--continue and --abort exclude each other")
    if abort or proceed:
        found = require_open(read_resolutions(place.repository), name)
        if proceed:
            return _finish(place, found, **given)
        for note in close_resolution(place.repository, place.ledger, found, "aborted"):
            warn(safe(note))
        put(f"{safe(found.branch)}: aborted, its workspace is removed")
        return 0
    if name is None:
        return _list(place, as_json=given["as_json"])
    opened = _open(place, name, given["into"])
    _show(place, opened, as_json=given["as_json"], markdown=given["markdown"])
    if not given["worker"]:
        hint(f"edit the files there, then: git prun resolve {safe(opened.branch)} --continue")
        return 0
    if not _work(place, opened, given["worker"]):
        hint(f"go on yourself in {safe(opened.workspace)}, or git prun resolve {safe(opened.branch)} --abort")
        return 1
    return _finish(place, opened, **given)


def _list(place: Here, *, as_json: bool) -> int:
    from gitprun.merge.assist import read_resolutions

    found = read_resolutions(place.repository)
    if as_json:
        rows = [{**one.facts(), "workspace": one.workspace, "paths": [row.path for row in one.paths]} for one in found]
        put(json.dumps(rows))
    elif found:
        rows_of = [
            (safe(one.branch), one.target.removeprefix("refs/heads/"), str(len(one.paths)), safe(one.workspace))
            for one in found
        ]
        put(table(("branch", "into", "files", "workspace"), rows_of))
    else:
        say("no resolution is open here")
    return 0


def _candidate(place: Here, name: str) -> Candidate:
    """Find the one branch or unit that is meant."""
    from gitprun.merge.choose import choose

    chosen = choose(place.repository, place.history(), (name,), allow_unverified=True)
    if len(chosen.candidates) != 1:
        what = f"{len(chosen.candidates)} branches" if chosen.candidates else "nothing that could land"
        raise Refused(f"{name} means {what}", "name one branch or unit")
    return chosen.candidates[0]


def _open(place: Here, name: str, into: str | None) -> Resolution:
    """Open a conflict, or find it open already."""
    from gitprun.cli.places import workspace_root
    from gitprun.git.command import require_git
    from gitprun.git.refs import open_repository
    from gitprun.merge.assist import name_for, open_resolution, read_resolutions
    from gitprun.merge.brief import read_brief
    from gitprun.merge.guard import read_target

    repository = place.repository
    require_git(place.start)
    candidate, settings = _candidate(place, name), _settings(place)
    target = read_target(repository, into)
    for known in read_resolutions(repository):
        if known.name == name_for(candidate):
            if (known.main, known.tip) != (target.tip, candidate.tip):
                warn(f"{safe(candidate.branch)} or {target.branch} has moved since this was opened")
            return known
    left = _left(place, target, candidate, settings)
    if not left.paths:
        raise Refused(
            f"nothing of {candidate.branch} is left in conflict with {target.branch}",
            f"git prun merge {name} lands it, or says what else keeps it from landing",
        )
    opened, notes = open_resolution(
        repository,
        place.ledger,
        candidate,
        target,
        left,
        root=workspace_root(place, None, settings),
        copy=settings.copy or (),
        link=settings.link or (),
    )
    for note in notes:
        warn(safe(note))
    brief = read_brief(
        repository,
        open_repository(repository.common),
        place.history(),
        candidate,
        left,
        target=target.branch,
        workspace=opened.workspace,
        name=opened.name,
        verify=settings.verify or _verify_of(place, opened),
    )
    _keep_brief(place, brief)
    return opened


def _left(place: Here, target: Target, candidate: Candidate, settings: Settings) -> Left:
    from gitprun.git.refs import open_repository
    from gitprun.merge.hotspots import parse_hotspots
    from gitprun.merge.left import read_left
    from gitprun.merge.settle import Means

    hotspots = parse_hotspots(list(settings.hotspots), settings.hotspot_source or "prun.toml")
    means = Means(hotspots=hotspots, state=place.repository.state)
    return read_left(place.repository, open_repository(place.repository.common), target, candidate, means)


def _settings(place: Here) -> Settings:
    from gitprun.config import read_settings

    return read_settings(place.repository.top)


def _keep_brief(place: Here, brief: Brief) -> None:
    """Write the brief down outside of the workspace: for people, programs and workers."""
    from gitprun.merge.assist import BRIEF, folder_of
    from gitprun.merge.brief import render_brief
    from gitprun.system.files import write_whole

    folder = folder_of(place.repository, brief.name)
    texts = {
        BRIEF: render_brief(brief),
        "prompt.md": render_brief(brief, worker=True),
        "brief.json": json.dumps(brief.as_json()) + "\n",
    }
    for name, text in texts.items():
        write_whole(folder / name, text.encode("utf-8", "backslashreplace"))


def _show(place: Here, opened: Resolution, *, as_json: bool, markdown: bool) -> None:
    from gitprun.cli.console import write_bytes
    from gitprun.merge.assist import BRIEF, MOST, folder_of
    from gitprun.system.files import read_plain

    folder = folder_of(place.repository, opened.name)
    if as_json or markdown:
        write_bytes(read_plain(folder / ("brief.json" if as_json else BRIEF), MOST) or b"")
        return
    count = len(opened.paths)
    put(f"{safe(opened.branch)}: {count} file{'' if count == 1 else 's'} in conflict, in {safe(opened.workspace)}")
    for row in opened.paths:
        put(f"  {safe(row.path)}: {row.kind}" + ("" if row.textual else " (needs --take)"))
    put(f"brief: {safe(str(folder / BRIEF))}")


def _work(place: Here, opened: Resolution, worker: str) -> bool:
    """Let a worker resolve it; tells whether it ended well."""
    from gitprun.cli.signals import signals_stop
    from gitprun.merge.assist import MOST, folder_of
    from gitprun.names import UnitId
    from gitprun.runs.standalone import dispatch_unit
    from gitprun.runs.statedir import state_base
    from gitprun.system.files import read_plain
    from gitprun.system.process import Stop
    from gitprun.units import ExecutorSettings, Unit
    from gitprun.workspaces.base import OUTBOX

    executor = worker if worker in ("codex", "claude") else "command"
    prompt = (read_plain(folder_of(place.repository, opened.name) / "prompt.md", MOST) or b"").decode("utf-8")
    command = ("sh", "-c", worker) if executor == "command" else ()
    unit = Unit(id=UnitId("resolve"), prompt=prompt, executor=executor, command=command)
    path, stop = Path(opened.workspace), Stop()
    with signals_stop(stop) as caught:
        ended = dispatch_unit(
            unit,
            _settings(place).executors.get(executor, ExecutorSettings()),
            path / OUTBOX / "result.md",
            base=state_base(os.environ),
            caller=str(place.start),
            scratch=path,
            stop=stop,
            announce=lambda folder: say(f"{safe(worker)} works; its output: {safe(str(folder / 'tail'))}"),
            say=lambda text: say(safe(text)),
        )
    if caught:
        raise Interrupted(caught[0])
    if ended.ended.shell_code:
        warn(f"{safe(worker)} ended with exit code {ended.ended.shell_code}: {safe(ended.ending.reason)}")
    return ended.ended.shell_code == 0


def _finish(place: Here, opened: Resolution, **given: Any) -> int:
    """Take a resolution back, record it, and land the branch."""
    from gitprun.cli.signals import signals_stop
    from gitprun.merge.assist import close_resolution
    from gitprun.merge.engine import land
    from gitprun.merge.guard import hold_back, read_target
    from gitprun.merge.taken import commit_whole, parse_takes, record, require_same_conflicts, take_back
    from gitprun.system.process import Stop

    repository, settings = place.repository, _settings(place)
    candidate = _candidate(place, _word_for(place, opened))
    if candidate.tip != opened.tip:
        raise Refused(f"{opened.branch} has moved since this was opened", "--abort, then open it again")
    target = read_target(repository, opened.target)
    takes, others = parse_takes(given["take"]), bool(given["allow_other_paths"])
    taken = take_back(repository, opened, takes, allow_other_paths=others)
    whole = bool(taken.others) or opened.crossed
    if target.tip != opened.main:
        if whole:
            raise Refused(f"{target.branch} has moved since this was opened", "--abort, then open it again")
        require_same_conflicts(opened, _left(place, target, candidate, settings))
    opened = record(repository, opened, taken)
    if whole:
        candidate = replace(candidate, tip=commit_whole(repository, opened, taken), tree="")
    message = given["message"] or taken.message(opened.branch)
    options = _options(place, settings, opened, message, given)
    stop = Stop()
    with signals_stop(stop) as caught:
        told = (lambda _: None) if given["as_json"] else say
        held = hold_back((candidate,), place.read().events)
        report = land(repository, place.ledger, held, options, stop=stop, say=told)
    if given["as_json"]:
        put(json.dumps(report.as_json()))
    else:
        from gitprun.cli.merge_words import render

        render(report, ())
    if caught:
        raise Interrupted(caught[0])
    state = report.items[0].state
    if state not in ("landed", "already-contained", "nothing-to-merge"):
        hint(f"the workspace is kept: {safe(opened.workspace)}")
        return 1
    if state != "landed":
        say(f"nothing of {safe(opened.branch)} had to be brought in")
    for note in close_resolution(repository, place.ledger, opened, state):
        warn(safe(note))
    return 0


def _word_for(place: Here, opened: Resolution) -> str:
    if opened.unit:
        return f"{opened.run}/{opened.unit}"
    full = f"refs/heads/{opened.branch}"
    known = place.repository.git.run("show-ref", "--verify", "--quiet", full, ok=(0, 1, 128)).code == 0
    return full if known else opened.branch


def _options(
    place: Here, settings: Settings, opened: Resolution, message: str, given: dict[str, Any]
) -> LandingOptions:
    runs = place.history().runs
    options = landing_options(place, settings, given, [runs[opened.run]] if opened.run in runs else ())
    return replace(options, into=opened.target, message=message)


def _verify_of(place: Here, opened: Resolution) -> tuple[str, ...]:
    """Return the checks that the unit's run declared."""
    run = place.history().runs.get(opened.run)
    return tuple(run.facts.get("verify") or ()) if run else ()
