"""``git prun resolve``: a branch that does not land is opened, worked on, checked and landed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import hint, put, safe, say, table, warn
from gitprun.cli.landing import landing_options, require_findings, suspect_option
from gitprun.cli.options import Here, here, json_option
from gitprun.model.errors import Interrupted, OperationRefused, UsageProblem
from gitprun.model.escapes import shell_word

if TYPE_CHECKING:
    from gitprun.landing.accept_resolution import AcceptedResolution
    from gitprun.landing.plan import Candidate, LandingOptions, LandingReport
    from gitprun.landing.resolution import Resolution
    from gitprun.model.plan import Settings


@click.command()
@click.argument("name", metavar="[BRANCH|UNIT]", required=False)
@click.option("--into", metavar="BRANCH", help="The branch it is to land on (default: the one checked out).")
@click.option("--markdown", is_flag=True, help="Print the whole report.")
@json_option
@click.option("--continue", "proceed", is_flag=True, help="Take the finished files back, check them, land them.")
@click.option("--abort", is_flag=True, help="Throw the resolution away.")
@click.option("--forget", multiple=True, metavar="PATH|BRANCH", help="Take recorded resolutions back (repeatable).")
@click.option("--with", "worker", metavar="WORKER", help="Let codex, claude or a shell command do it, then go on.")
@click.option("--take", multiple=True, metavar="PATH=SIDE", help="Decide for main, unit or delete (repeatable).")
@click.option("--allow-other-paths", is_flag=True, help="Take along changes of files that are not in question.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check the merged tree must pass (repeatable).")
@click.option("--no-verify", is_flag=True, help="Do not check the merged tree.")
@click.option("--allow-unverified", is_flag=True, help="Also a unit that no check has proved.")
@suspect_option
@click.option("-m", "--message", help="The merge message (default: it names what was resolved).")
@click.pass_context
def resolve(ctx: click.Context, /, name: str | None, proceed: bool, abort: bool, **given: Any) -> int:
    """Open BRANCH, which does not land, in a workspace with a report; without it list what is open.

    That is a conflict, a merge that looks wrong (suspect), or what the last landing found red. Edit the files there,
    then --continue: what you made is read (its git is not used), checked for markers and for faults that neither side
    has, and landed as git prun merge lands: verified, by hooks and compare-and-swap. Conflicts that are not about
    content need --take. What you resolved is recorded for these very versions; --forget takes that back.
    """
    place = here(ctx)
    forget = given.pop("forget")
    if proceed + abort + bool(forget) > 1:
        raise UsageProblem("--continue, --abort and --forget exclude each other")
    if forget:
        from gitprun.cli.forget import forget_resolutions

        return forget_resolutions(place, (*forget, *([name] if name else ())), given["into"])
    if abort:
        return _abort(place, name)
    from gitprun.cli.opening import open_branch, show_opened, swept
    from gitprun.landing.resolution import require_open

    require_findings(place, given["allow_suspect"])
    if proceed:
        return _finish(place, require_open(swept(place), name), **given)
    if name is None:
        return _list(place, as_json=given["as_json"])
    if given["worker"]:
        _require_trust(place, _executor(given["worker"]))
    opened = open_branch(place, name, given["into"])
    show_opened(place, opened, as_json=given["as_json"], markdown=given["markdown"])
    if not given["worker"]:
        hint(f"edit the files there, then: git prun resolve {shell_word(opened.label)} --continue")
        return 0
    if not _work(place, opened, given["worker"]):
        hint(
            f"go on yourself in {shell_word(opened.workspace)}, or git prun resolve {shell_word(opened.label)} --abort"
        )
        return 1
    return _finish(place, opened, **given)


def _list(place: Here, *, as_json: bool) -> int:
    from gitprun.cli.opening import swept

    found = swept(place)
    if as_json:
        rows = [
            {**one.facts(), "why": one.why, "workspace": one.workspace, "paths": [row.path for row in one.paths]}
            for one in found
        ]
        put(json.dumps(rows))
    elif found:
        head = ("branch", "into", "state", "files", "workspace")
        put(table(head, [(*_row(one), safe(one.workspace)) for one in found]))
    else:
        say("no resolution is open here")
    return 0


def _row(one: Resolution) -> tuple[str, str, str, str]:
    return safe(one.branch), one.target.removeprefix("refs/heads/"), one.why, str(len(one.paths))


def _abort(place: Here, name: str | None) -> int:
    from gitprun.judging.recorded_resolutions import is_recorded
    from gitprun.landing.accept_resolution import names_of, read_written
    from gitprun.landing.assist import close_resolution, require_idle, resolutions_locked
    from gitprun.landing.forget import forget_rows
    from gitprun.landing.resolution import read_resolutions, require_open

    repository = place.repository
    with resolutions_locked(repository):
        found = require_open(read_resolutions(repository), name)
        require_idle(found)
        if _has_landed(place, found):
            outcome, said, written = "landed", "has landed", None
        else:
            outcome, said, written = "aborted", "aborted", read_written(repository, found)
            rows = [row for row in names_of(found) if is_recorded(repository.state, row[1])]
            if rows:
                forget_rows(repository, place.ledger, rows, by="abort")
        notes = close_resolution(repository, place.ledger, found, outcome, written=written)
    put(f"{safe(found.branch)}: {said}, its workspace is removed")
    for note in notes:
        warn(safe(note))
    return 0


def _has_landed(place: Here, found: Resolution) -> bool:
    answer = place.repository.git.run("merge-base", "--is-ancestor", found.tip, found.target, ok=(0, 1, 128))
    return answer.code == 0


def _executor(worker: str) -> str:
    return worker if worker in ("codex", "claude") else "command"


def _require_trust(place: Here, executor: str) -> None:
    """Ask before anything is opened for a worker whose program prun.toml names."""
    from gitprun.cli.opening import read_settings_of
    from gitprun.cli.places import require_trust

    require_trust(place, (one for one in read_settings_of(place).powers if one.executor == executor))


def _work(place: Here, opened: Resolution, worker: str) -> bool:
    """Let a worker resolve it; tells whether it ended well."""
    from gitprun.cli.opening import read_settings_of
    from gitprun.cli.signals import signals_stop
    from gitprun.landing.assist import require_idle
    from gitprun.landing.resolution import MOST, folder_of, write_resolution
    from gitprun.model.names import UnitId
    from gitprun.model.units import ExecutorSettings, Unit
    from gitprun.registry.state_folder import state_base
    from gitprun.runs.dispatch_unit import DispatchPolicy, DispatchSpec, dispatch_unit
    from gitprun.supervisor.process import Stop
    from gitprun.system.files import read_plain
    from gitprun.workspaces.base import OUTBOX

    require_idle(opened)
    executor = _executor(worker)
    prompt = (read_plain(folder_of(place.repository, opened.name) / "prompt.md", MOST) or b"").decode("utf-8")
    command = ("sh", "-c", worker) if executor == "command" else ()
    unit = Unit(id=UnitId("resolve"), prompt=prompt, executor=executor, command=command)
    path, stop, project = Path(opened.workspace), Stop(), read_settings_of(place)
    request = DispatchSpec(
        unit=unit,
        executor=project.executors.get(executor, ExecutorSettings()),
        result=path / OUTBOX / "result.md",
        base=state_base(os.environ),
        caller=str(place.start),
        scratch=path,
        project=project,
    )

    def announce(folder: Path) -> None:
        # Where we are killed, the worker lives on: nobody is to take its files half written.
        write_resolution(place.repository, replace(opened, worker=str(folder)))
        say(f"{safe(worker)} works; its output: {safe(str(folder / 'tail'))}")

    with signals_stop(stop) as caught:
        ended = dispatch_unit(DispatchPolicy(request, stop, announce, lambda text: say(safe(text))))
    write_resolution(place.repository, replace(opened, worker=""))
    if caught:
        raise Interrupted(caught[0])
    if ended.ended.shell_code:
        warn(f"{safe(worker)} ended with exit code {ended.ended.shell_code}: {safe(ended.ending.reason)}")
    return ended.ended.shell_code == 0


def _finish(place: Here, opened: Resolution, **given: Any) -> int:
    """Take a resolution back, record it, and land the branch."""
    from gitprun.cli.opening import read_settings_of
    from gitprun.landing.assist import require_idle

    require_idle(replace(opened, worker="") if given["worker"] else opened)
    report = _land(place, opened, read_settings_of(place), given)
    state = report.items[0].state
    if state not in ("landed", "already-contained", "nothing-to-merge"):
        hint(f"the workspace is kept: {shell_word(opened.workspace)}")
        return 1
    if state != "landed":
        say(f"nothing of {safe(opened.branch)} had to be brought in")
    from gitprun.landing.accept_resolution import read_written
    from gitprun.landing.assist import close_resolution, resolutions_locked

    with resolutions_locked(place.repository):
        written = None if state == "landed" else read_written(place.repository, opened)
        notes = close_resolution(place.repository, place.ledger, opened, state, written=written)
    for note in notes:
        warn(safe(note))
    return 0


def _land(place: Here, opened: Resolution, settings: Settings, given: dict[str, Any]) -> LandingReport:
    from gitprun.cli.opening import candidate_of
    from gitprun.cli.signals import signals_stop
    from gitprun.landing.accept_resolution import parse_takes, take_back
    from gitprun.landing.engine import land
    from gitprun.landing.guard import hold_back
    from gitprun.supervisor.process import Stop

    repository = place.repository
    candidate = candidate_of(place, _word_for(place, opened))
    if candidate.tip != opened.tip:
        raise OperationRefused(f"{opened.branch} has moved since this was opened", "--abort, then open it again")
    others = bool(given["allow_other_paths"])
    taken = take_back(repository, opened, parse_takes(given["take"]), allow_other_paths=others)
    candidate = replace(candidate, mended=_keep(place, opened, candidate, settings, taken))
    options = _options(place, settings, opened, given["message"] or taken.message(opened.branch), given)
    stop = Stop()
    with signals_stop(stop) as caught:
        told = (lambda _: None) if given["as_json"] else say
        held = hold_back((candidate,), place.read().events)
        report = land(repository, place.ledger, held, options, stop=stop, say=told)
    if given["as_json"]:
        put(json.dumps(report.as_json()))
    else:
        from gitprun.cli.merge_words import render

        render(report, (), advise=False)
    if caught:
        raise Interrupted(caught[0])
    return report


def _keep(place: Here, opened: Resolution, candidate: Candidate, settings: Settings, taken: AcceptedResolution) -> str:
    """Record what was decided for the merge to find; gives a merge with all that no record can tell, if there is any.

    What was decided for three versions holds wherever these meet, and is found again.
    """
    from gitprun.cli.opening import left_of
    from gitprun.landing.accept_resolution import commit_whole, record, require_same_conflicts
    from gitprun.landing.guard import read_target
    from gitprun.landing.unresolved import CONFLICT

    if opened.why != CONFLICT:
        return commit_whole(place.repository, opened, taken)
    whole = bool(taken.others) or opened.crossed
    target = read_target(place.repository, opened.target)
    if target.tip != opened.main and not whole:
        require_same_conflicts(opened, left_of(place, target, candidate, settings))
    known = record(place.repository, place.ledger, opened, taken)
    return commit_whole(place.repository, opened, taken) if whole or not known else ""


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
