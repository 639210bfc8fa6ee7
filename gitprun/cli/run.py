"""``git prun run``: run the units of a plan, or a single unit, in parallel."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from gitprun.api.plans import RunOptions, read_plan_file, require_approved_plan, single_unit
from gitprun.api.repo import Repo
from gitprun.api.running import Onlooker, ResumeOptions, RunBegun, RunListener, RunOutcome, run_plan, take_over
from gitprun.api.stopping import Stop
from gitprun.api.values import RunStatus, UnitStatus
from gitprun.cli.console import age, hint, put, safe, say
from gitprun.cli.live import Watch
from gitprun.cli.options import here, json_option
from gitprun.cli.signals import signals_stop
from gitprun.cli.status import headline, render_units, say_drift
from gitprun.model.errors import Interrupted, UsageProblem
from gitprun.model.names import short
from gitprun.model.plan import Plan
from gitprun.model.units import UNCONFINED

# Of the units whose checks ran within the same walls so many are named.
MOST_NAMED = 5
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Afterwards:
    """What is done with a run that has ended: ``land`` it, and print for people or as JSON."""

    land: bool = False
    as_json: bool = False


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
def run(
    ctx: click.Context,
    /,
    *,
    plan_file: str | None,
    unit_rows: tuple[str, ...],
    prompt: str | None,
    prompt_file: str | None,
    executor: str | None,
    command: str | None,
    paths: tuple[str, ...],
    timeout: str | None,
    base: str | None,
    jobs: int | None,
    verify: tuple[str, ...],
    no_bypass: bool,
    no_retry: bool,
    resume: bool,
    no_watch: bool,
    retry_empty: bool,
    land: bool,
    root: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Run the units of PLAN in parallel, each in a workspace of its own; keep, verify and pin their work.

    A unit its service failed (503, 429, no capacity, no network, a worker that bailed out) is tried again, at most
    twice. Exit code 0 only if every unit succeeded and its work is verified.
    """
    repo, after = here(ctx), Afterwards(land=land, as_json=as_json)
    # In the order of the options, so that the first one of several is named.
    single = {
        "--unit": unit_rows,
        "--prompt": prompt,
        "--prompt-file": prompt_file,
        "--executor": executor,
        "--command": command,
        "--path": paths,
        "--timeout": timeout,
    }
    if resume:
        for_plans = {"--base": base, "--verify": verify, "--no-bypass": no_bypass, "--root": root, "--yes": yes}
        used = [name for name, value in (single | for_plans).items() if value]
        if used:
            raise UsageProblem(
                f"{used[0]} cannot be given with --resume", "--resume reuses the options of the original run"
            )
        options = ResumeOptions(jobs=jobs, retry=not no_retry, retry_empty=retry_empty, watch=not no_watch)
        return _resume(repo, plan_file, options, after)
    for word, given in (("--retry-empty", retry_empty), ("--no-watch", no_watch)):
        if given:
            raise UsageProblem(f"{word} is for --resume", f"git prun run --resume {word}")
    wanted = RunOptions(base=base, jobs=jobs, verify=verify, root=root, bypass=not no_bypass, retry=not no_retry)
    plan, source = _read_units(repo, plan_file, single, wanted)
    require_approved_plan(repo.opened, plan, yes=yes)
    return run_and_report(repo, plan, source=source, after=after)


def _read_units(
    repo: Repo, plan_file: str | None, single: dict[str, str | tuple[str, ...] | None], wanted: RunOptions
) -> tuple[Plan, str]:
    """Make the plan from a file, or from the options for a single unit; return what it comes from, too."""
    if plan_file is not None:
        used = [name for name, value in single.items() if value]
        if used:
            raise UsageProblem(
                f"{used[0]} is for a single unit, not for a plan", "put it into the plan, or leave the plan out"
            )
        return read_plan_file(repo.opened, plan_file, wanted), plan_file
    if not single["--unit"]:
        raise UsageProblem("a plan is missing", "git prun run plan.toml, or --unit id=NAME --prompt-file FILE")
    return single_unit(repo.opened, _rows_of(single), wanted), "--unit"


def _rows_of(single: dict[str, str | tuple[str, ...] | None]) -> dict[str, str | list[str]]:
    """Read ``--unit KEY=VALUE`` and its companions as the keys of one ``[[unit]]`` of a plan."""
    rows: dict[str, str | list[str]] = {}
    for word in single["--unit"] or ():
        key, mark, value = word.partition("=")
        rows[key if mark else "id"] = value if mark else word
    for name in ("--prompt", "--prompt-file", "--executor", "--timeout", "--command"):
        said = single[name]
        if isinstance(said, str) and said:
            rows[name.removeprefix("--").replace("-", "_")] = said
    paths = single["--path"]
    if paths:
        rows["paths"] = [*_words(rows.get("paths", "")), *paths]
    return rows


def _words(said: str | list[str]) -> list[str]:
    return said.split() if isinstance(said, str) else said


def _resume(repo: Repo, name: str | None, options: ResumeOptions, after: Afterwards) -> int:
    """Go on with a run, or watch who is at it already, and report as a run does."""

    def watching(onlooker: Onlooker) -> bool:
        return _watch(onlooker, as_json=after.as_json)

    taken = take_over(repo.opened, name, options, watching)
    if taken.outcome is not None:
        return _conclude(repo, taken.outcome, (), after)

    def begun(what: RunBegun) -> None:
        if what.units:
            say(f"run {what.run}: going on with {_count(what.units)} ({what.over} over), {what.jobs} at a time")
        if what.unchecked:
            say(f"run {what.run}: the checks of {_count(what.unchecked)} could not run; they are asked again")
        if what.files:
            say(f"  settings of executors are read again from {safe(' and '.join(what.files))}")

    if not taken.units and not after.as_json:
        say(f"run {taken.run}: nothing is missing")
    return _report(repo, taken.units, taken.work, begun, after)


def _watch(onlooker: Onlooker, *, as_json: bool) -> bool:
    """Show a run that another process works on until it ends; a signal ends only the looking. Return whether it did."""
    screen = Watch(onlooker.units, as_json=as_json, on_interrupt="Ctrl-C ends the watching only")
    for event in onlooker.past:
        screen.take_in(event)
    stop, run, pid = Stop(), onlooker.run, onlooker.pid
    with signals_stop(stop, quiet=True) as caught:
        if not as_json:
            say(f"run {run}: process {pid} works on it; watching (Ctrl-C ends the watching only)")
        with screen.shown():
            ended = onlooker.follow(stop, screen.on_event)
    if ended:
        return True
    if caught:
        raise Interrupted(
            caught[0],
            f"run {run} goes on: only the watching was ended",
            f"git prun run --resume {run} watches it again",
        )
    if not as_json:
        say(f"run {run}: process {pid} is gone")
    return False


def run_and_report(repo: Repo, plan: Plan, *, source: str, after: Afterwards) -> int:
    """Run a plan with progress, print the summary, land if asked, and return the exit code."""

    def begun(what: RunBegun) -> None:
        base = f"{short(what.base)} ({safe(plan.settings.base or 'HEAD')})"
        say(f"run {what.run}: {_count(what.units)}, {what.jobs} at a time, base {base}")

    def work(*, stop: Stop, listener: RunListener) -> RunOutcome:
        return run_plan(repo.opened, plan, source=source, stop=stop, listener=listener)

    return _report(repo, tuple(unit.id for unit in plan.units), work, begun, after)


def _count(units: int) -> str:
    return f"{units} unit{'s' if units != 1 else ''}"


def _report(
    repo: Repo,
    units: Sequence[str],
    work: Callable[..., RunOutcome],
    begun: Callable[[RunBegun], None],
    after: Afterwards,
) -> int:
    """Have the work done with progress shown, print the summary, land if asked, and return the exit code."""
    watch, stop = Watch(units, as_json=after.as_json), Stop()
    listener = RunListener(
        event=watch.on_event, progress=watch.on_progress, begun=(lambda _: None) if after.as_json else begun
    )
    with signals_stop(stop) as caught, watch.shown():
        outcome = work(stop=stop, listener=listener)
    return _conclude(repo, outcome, caught, after)


def _conclude(repo: Repo, outcome: RunOutcome, caught: Sequence[int], after: Afterwards) -> int:
    """Print the summary of a run, land if asked, return the exit code; raises Interrupted where a signal came."""
    name, good = outcome.run, outcome.good
    done = None if after.as_json else repo.run(name)
    if done is not None:
        # The terminal may be gone, and the signal what told us so.
        with contextlib.suppress(*((OSError,) if caught else ())):
            put(render_units(done))
        say(headline(done, time.time()))
        _say_walls(done)
        say_drift(done)
    if caught:
        raise Interrupted(
            caught[0], f"stopped; what was done is kept in run {name}", f"git prun run --resume {name} goes on with it"
        )
    if after.land:
        from gitprun.api.settings import MergeRequest
        from gitprun.cli.merge import land_names

        good = land_names(repo, (name,), MergeRequest(verified_run=name), as_json=after.as_json) == 0 and good
    elif done is not None:
        _say_next(done)
    return 0 if good else 1


def _say_walls(run: RunStatus) -> None:
    """Say once within which walls the checks ran."""
    found: dict[str, list[str]] = {}
    for unit in run.units:
        # Where the worker was not confined either nobody expects that its checks are.
        if unit.confined and unit.confined != f"none: {UNCONFINED}":
            found.setdefault(unit.confined, []).append(unit.id)
    for said, names in found.items():
        kind, _, why = said.partition(": ")
        how = f"were not confined: {why}" if kind == "none" else f"ran confined ({said})"
        more = ", ..." if len(names) > MOST_NAMED else ""
        which = f" of {', '.join(names[:MOST_NAMED])}{more}" if len(found) > 1 else ""
        say(f"the checks{which} {safe(how)}")


def _say_next(run: RunStatus) -> None:
    """Say what to do about every kind of end that is there."""
    by_state: dict[str, UnitStatus] = {}
    for unit in run.units:
        by_state.setdefault(unit.state, unit)
    for state, first in by_state.items():
        name = first.id
        if state == "unverified" and first.verdict == "absent":
            hint('nothing proves the work: give the plan verify = ["..."], or use git prun merge --allow-unverified')
        elif state == "unverified" and first.verdict == "could-not-run":
            hint(f"mend what keeps its checks from running, then git prun verify {name} asks them again")
        elif state == "unverified":
            hint(f"git prun log --verify {name} shows why its checks do not pass")
        elif state == "rate-limited":
            when = f"in {age(first.retry_after)}" if first.retry_after else "later"
            hint(f"the service is at its limit: git prun run --resume {run.id} goes on {when}")
        elif state == "stopped":
            hint(f"git prun run --resume {run.id} goes on with it")
        elif state == "ready":
            hint(f"git prun diff {name} shows what it changed; git prun merge lands what is ready")
        elif state != "done":
            hint(first.hint or f"git prun show {name} and git prun log {name} tell more")
