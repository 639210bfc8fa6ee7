"""``git prun run``: run the units of a plan, or a single unit, in parallel."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import age, hint, put, safe, say, warn
from gitprun.cli.options import Here, here, json_option
from gitprun.cli.places import require_trust
from gitprun.cli.signals import signals_stop
from gitprun.cli.status import headline, probe_run, render_units, say_drift
from gitprun.ledger.events import RunState, UnitState
from gitprun.model.errors import Interrupted, PrunError, UsageProblem
from gitprun.model.names import short
from gitprun.model.plan import Plan, Settings
from gitprun.model.powers import started_by

if TYPE_CHECKING:
    from gitprun.cli.follow import Onlooker
    from gitprun.cli.live import Watch
    from gitprun.model.units import Unit
    from gitprun.runs.dispatch import RunReport
    from gitprun.runs.resume import Resumed
    from gitprun.supervisor.process import Stop

EPILOG = """\b
A plan is a TOML file:
  [run]
  verify = ["pytest -q"]         # how to tell that the work is good
  [[unit]]
  id = "reports"
  prompt_file = "prompts/reports.md"
  executor = "codex"             # codex, claude or command
  paths = ["src/reports/**"]     # work outside of it is held
"""


@click.command(epilog=EPILOG)
@click.argument("plan_file", metavar="[PLAN|RUN]", required=False, type=click.Path())
@click.option("--unit", "unit_rows", multiple=True, metavar="KEY=VALUE", help="Run one unit without a plan: id=NAME.")
@click.option("--prompt", help="The prompt of that unit.")
@click.option("--prompt-file", type=click.Path(), help="The file with the prompt of that unit.")
@click.option("--executor", help="Who works on that unit: codex, claude or command.")
@click.option("--command", "command", metavar="WORDS", help='The command of executor command, such as "sh worker.sh".')
@click.option("--path", "paths", multiple=True, help="The fence of that unit: a glob (repeatable).")
@click.option("--timeout", help='The time limit of that unit, such as "40m".')
@click.option("--base", help="The commit all units start from (default: HEAD).")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="How many units run at once.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check every unit must pass (repeatable).")
@click.option("--no-bypass", is_flag=True, help="Do not begin prompts with the bypass prefix (see git prun prompt).")
@click.option("--no-retry", is_flag=True, help="Try no unit again, whatever its service said.")
@click.option("--resume", is_flag=True, help="Go on with the last run (or with RUN): only what is missing.")
@click.option("--no-watch", is_flag=True, help="With --resume: no watching where another process is at the run.")
@click.option("--retry-empty", is_flag=True, help="With --resume: also the units whose worker changed nothing.")
@click.option("--merge", "land", is_flag=True, help="Land what is verified afterwards.")
@click.option("--root", type=click.Path(), help="The folder for workspaces (default: ../<repo>.prun).")
@click.option("--yes", is_flag=True, help="Approve what prun.toml says (git prun trust), now and from now on.")
@json_option
@click.pass_context
def run(ctx: click.Context, /, plan_file: str | None, land: bool, as_json: bool, **given: Any) -> int:
    """Run the units of PLAN in parallel, each in a workspace of its own; keep, verify and pin their work.

    A unit its service failed (503, 429, no capacity, no network, a worker that bailed out) is tried again, at most
    twice. Exit code 0 only if every unit succeeded and its work is verified.
    """
    place = here(ctx)
    if given["resume"]:
        return _resume(place, plan_file, given, land=land, as_json=as_json)
    for option in ("retry_empty", "no_watch"):
        if given[option]:
            word = f"--{option.replace('_', '-')}"
            raise UsageProblem(f"{word} is for --resume", f"git prun run --resume {word}")
    plan, source = read_units(place, plan_file, given)
    if plan.settings.powers:
        executors = {unit.executor for unit in plan.units}
        require_trust(place, started_by(plan.settings.powers, executors), yes=given["yes"])
    return run_and_report(place, plan, source=source, land=land, as_json=as_json)


def read_units(place: Here, plan_file: str | None, given: dict[str, Any]) -> tuple[Plan, str]:
    """Make the plan from a file, or from the options for a single unit."""
    from gitprun.system.config import read_plan, read_settings

    settings = read_settings(place.repository.top)
    single = ("unit_rows", "prompt", "prompt_file", "executor", "command", "paths", "timeout")
    if plan_file is not None:
        used = [name for name in single if given.get(name)]
        if used:
            raise UsageProblem(
                f"--{used[0].replace('_rows', '').replace('_', '-')} is for a single unit, not for a plan",
                "put it into the plan, or leave the plan out",
            )
        plan, source = read_plan(place.start / plan_file, settings), plan_file
    elif given.get("unit_rows"):
        plan, source = _single(place, settings, given), "--unit"
    else:
        raise UsageProblem("a plan is missing", "git prun run plan.toml, or --unit id=NAME --prompt-file FILE")
    if any(not command.strip() for command in given["verify"]):
        raise UsageProblem("--verify must not be empty", "leave it out to have the checks detected")
    said = Settings(
        base=given.get("base"),
        jobs=given.get("jobs"),
        verify=tuple(given["verify"]) or None,
        root=str((place.start / given["root"]).absolute()) if given.get("root") else None,
        retries=0 if given.get("no_retry") else None,
    )
    if given.get("no_bypass"):
        plan = replace(plan, units=tuple(replace(unit, bypass=False) for unit in plan.units))
    return replace(plan, settings=said.over(plan.settings)), source


def _single(place: Here, settings: Settings, given: dict[str, Any]) -> Plan:
    """Read ``--unit KEY=VALUE`` and its companions as one ``[[unit]]`` of a plan."""
    import shlex

    from gitprun.model.plan import parse_unit
    from gitprun.model.tables import Table
    from gitprun.system.config import read_list, read_prompt

    rows: dict[str, Any] = {}
    for word in given["unit_rows"]:
        key, mark, value = word.partition("=")
        rows[key if mark else "id"] = value if mark else word
    for key in ("prompt", "prompt_file", "executor", "timeout"):
        if given.get(key):
            rows[key] = given[key]
    if given.get("command"):
        rows["command"] = given["command"]
    try:
        for key, split in (("command", shlex.split), ("paths", str.split)):
            if isinstance(rows.get(key), str):
                listed = read_list(rows[key], f"--unit {key}")
                rows[key] = split(rows[key]) if listed is None else listed
    except ValueError as problem:
        raise UsageProblem(f"--command cannot be split into words: {problem}", "close every quote") from None
    if rows.get("bypass") in ("true", "false"):
        rows["bypass"] = rows["bypass"] == "true"
    rows["paths"] = [*rows.get("paths", []), *given["paths"]]
    unit = parse_unit(Table(rows, "--unit"), lambda name: read_prompt(place.start / name, shown=name), settings)
    return Plan(units=(unit,), settings=settings)


def _resume(place: Here, name: str | None, given: dict[str, Any], *, land: bool, as_json: bool) -> int:
    """Go on with a run, or watch who is at it already, and report as a run does."""
    from gitprun.runs.context import Coordinator, RunContext
    from gitprun.runs.resume import resume_run

    ours = {"resume", "retry_empty", "no_retry", "no_watch", "jobs"}
    used = [key for key, value in given.items() if value and key not in ours]
    if used:
        option = f"--{used[0].replace('_rows', '').replace('paths', 'path').replace('_', '-')}"
        raise UsageProblem(f"{option} cannot be given with --resume", "a run is gone on with as it was asked for")
    from gitprun.cli.places import find_moved

    find_moved(place)
    resumed = _take_over(place, name, given, as_json=as_json)
    if isinstance(resumed, RunState):
        states = [unit.state for unit in resumed.units.values()]
        return _conclude(place, resumed.id, states, land=land, as_json=as_json)

    def announce(context: RunContext, jobs: int) -> None:
        if not as_json:
            over = len(resumed.states) - len(resumed.items)
            again = len(resumed.unchecked)
            if resumed.items:
                say(f"run {context.run}: going on with {_count(len(resumed.items))} ({over} over), {jobs} at a time")
            if again:
                say(f"run {context.run}: the checks of {_count(again)} could not run; they are asked again")
            if resumed.files:
                say(f"  settings of executors are read again from {safe(' and '.join(resumed.files))}")

    def work(stop: Stop, watch: Watch) -> RunReport:
        heard = watch.on_progress
        coordinator = Coordinator(ledger=place.ledger, stop=stop, heard=heard, announce=announce)
        return resume_run(place.repository, resumed, coordinator)

    if not resumed.items and not resumed.unchecked and not as_json:
        say(f"run {resumed.run.id}: nothing is missing")
    units = (*resumed.units, *(item.unit for item in resumed.unchecked))
    return _report(place, units, work, land=land, as_json=as_json)


def _take_over(place: Here, name: str | None, given: dict[str, Any], *, as_json: bool) -> Resumed | RunState:
    """Make this process the coordinator of a run; where another one is, watch it, and give the run when it ended."""
    from gitprun.runs.resume import Occupied, Over, take_over

    said = Settings(jobs=given["jobs"], retries=0 if given["no_retry"] else None)
    onlooker: Onlooker | None = None
    while True:
        try:
            return take_over(
                place.repository,
                place.ledger,
                name,
                said=said,
                retry_empty=given["retry_empty"],
                unless_over=onlooker is not None,
            )
        except Over:
            return place.history().runs[str(name)]
        except Occupied as busy:
            if given["no_watch"]:
                raise
            if onlooker is None:
                from gitprun.cli.follow import Onlooker

                name, onlooker = busy.run.id, Onlooker(place, busy.run, as_json=as_json)
            ended = onlooker.watch(busy)
            if ended is not None:
                return ended


def run_and_report(place: Here, plan: Plan, *, source: str, land: bool, as_json: bool) -> int:
    """Run a plan with progress, print the summary, land if asked, and give the exit code."""
    from gitprun.runs.context import Coordinator, RunContext
    from gitprun.runs.dispatch import run_plan

    def announce(context: RunContext, jobs: int) -> None:
        if not as_json:
            base = f"{short(context.base)} ({safe(plan.settings.base or 'HEAD')})"
            say(f"run {context.run}: {_count(len(plan.units))}, {jobs} at a time, base {base}")
            with contextlib.suppress(PrunError):
                _warn_behind(place, plan)
                _warn_invisible(place, plan, context.base)

    def work(stop: Stop, watch: Watch) -> RunReport:
        heard = watch.on_progress
        coordinator = Coordinator(ledger=place.ledger, stop=stop, heard=heard, announce=announce)
        return run_plan(place.repository, plan, coordinator, plan_source=source)

    return _report(place, plan.units, work, land=land, as_json=as_json)


def _count(units: int) -> str:
    return f"{units} unit{'s' if units != 1 else ''}"


def _report(
    place: Here, units: Sequence[Unit], work: Callable[[Stop, Watch], RunReport], *, land: bool, as_json: bool
) -> int:
    """Have the work done with progress shown, print the summary, land if asked, and give the exit code."""
    from gitprun.cli.live import Watch
    from gitprun.supervisor.process import Stop

    watch, stop = Watch(units, as_json=as_json), Stop()
    place.ledger.listeners.append(watch.on_event)
    with signals_stop(stop) as caught, watch.shown():
        report = work(stop, watch)
    place.ledger.listeners.clear()
    return _conclude(place, report.run, report.states.values(), caught, land=land, as_json=as_json)


def _conclude(
    place: Here, run: str, states: Iterable[str], caught: Sequence[int] = (), *, land: bool, as_json: bool
) -> int:
    """Print the summary of a run, land if asked, and give the exit code; raises Interrupted where a signal came."""
    from gitprun.ledger.outcome import succeeded

    good = all(map(succeeded, states))
    done = None if as_json else probe_run(place.history().runs[run])
    if done is not None:
        # The terminal may be gone, and the signal what told us so.
        with contextlib.suppress(*((OSError,) if caught else ())):
            put(render_units(done, time.time()))
        say(headline(done, time.time()))
        _say_walls(done)
        say_drift(done)
    if caught:
        raise Interrupted(
            caught[0], f"stopped; what was done is kept in run {run}", f"git prun run --resume {run} goes on with it"
        )
    if land:
        from gitprun.cli.merge import land_names

        good = land_names(place, (run,), as_json=as_json, verified_run=run) == 0 and good
    elif done is not None:
        _say_next(done)
    return 0 if good else 1


def _warn_behind(place: Here, plan: Plan) -> None:
    """Say that the branch the units start from lacks what its remote branch is known to have."""
    from gitprun.git.refs import describe_behind

    git, base = place.repository.git, plan.settings.base or "HEAD"
    ref = git.run("rev-parse", "--symbolic-full-name", "--end-of-options", base, ok=(0, 128)).text.rpartition("\n")[2]
    behind = describe_behind(git, place.repository.common, ref) if ref.startswith("refs/heads/") else ""
    if behind:
        warn(f"units start from an old state: {safe(behind)}")


def _warn_invisible(place: Here, plan: Plan, base: str) -> None:
    """Say what of the user's checkout no unit will see, above all what a prompt speaks of."""
    from gitprun.cli.unpinned import warn_pruning
    from gitprun.cli.unseen import read_unseen, warn_named, warn_unseen

    top, git = place.repository.top, place.repository.git
    warn_pruning(place.repository)
    if top is None:
        return
    unseen = read_unseen(git, top)
    own = {os.path.relpath(os.path.realpath(place.start / file), os.path.realpath(top)) for file in plan.files}
    provided = {*(plan.settings.copy or ()), *(plan.settings.link or ())}
    warn_unseen(unseen, "the units", provided=provided, own=own)
    for unit in plan.units:
        if unit.mode == "write":
            warn_named(git, top, base, unit.prompt, unit.id, missing=set(unseen.changed) - own, provided=provided)


def _say_walls(run: RunState) -> None:
    """Say once within which walls the checks ran."""
    from gitprun.model.units import UNCONFINED

    found: dict[str, list[str]] = {}
    for unit in run.units.values():
        said = str((unit.facts.get("verdict") or {}).get("confined") or "")
        # Where the worker was not confined either nobody expects that its checks are.
        if said and said != f"none: {UNCONFINED}":
            found.setdefault(said, []).append(unit.id)
    for said, names in found.items():
        kind, _, why = said.partition(": ")
        how = f"were not confined: {why}" if kind == "none" else f"ran confined ({said})"
        which = f" of {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}" if len(found) > 1 else ""
        say(f"the checks{which} {safe(how)}")


def _say_next(run: RunState) -> None:
    """Say what to do about every kind of end that is there."""
    by_state: dict[str, list[UnitState]] = {}
    for unit in run.units.values():
        by_state.setdefault(unit.state, []).append(unit)
    for state, units in by_state.items():
        name = units[0].id
        if state == "unverified" and units[0].verdict == "absent":
            hint('nothing proves the work: give the plan verify = ["..."], or use git prun merge --allow-unverified')
        elif state == "unverified" and units[0].verdict == "could-not-run":
            hint(f"mend what keeps its checks from running, then git prun verify {name} asks them again")
        elif state == "unverified":
            hint(f"git prun log --verify {name} shows why its checks do not pass")
        elif state == "rate-limited":
            wait = (units[0].facts.get("ending") or {}).get("retry_after")
            when = f"in {age(wait)}" if wait else "later"
            hint(f"the service is at its limit: git prun run --resume {run.id} goes on {when}")
        elif state == "stopped":
            hint(f"git prun run --resume {run.id} goes on with it")
        elif state == "ready":
            hint(f"git prun diff {name} shows what it changed; git prun merge lands what is ready")
        elif state != "done":
            hint(str(units[0].facts.get("hint") or f"git prun show {name} and git prun log {name} tell more"))
