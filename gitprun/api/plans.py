"""Plans: read from files, or put together for a single unit, as they are given to a run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitprun.api.opened import Opened
from gitprun.model.errors import PlanError, UsageProblem
from gitprun.model.names import nearest
from gitprun.model.plan import Plan, Settings, parse_unit
from gitprun.model.tables import Table
from gitprun.model.units import ExecutorSettings, Unit

# A value of a single unit's key as it is written down: text, a list of words, or yes and no.
UnitValue = str | list[str] | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is said for a whole run, over what its plan and ``prun.toml`` say.

    ``base`` is the commit all units start from, ``jobs`` how many run at once, ``verify`` the checks, ``root`` the
    folder for workspaces. Without ``bypass`` no prompt begins with the bypass prefix, without ``retry`` no unit is
    tried again.
    """

    base: str | None = None
    jobs: int | None = None
    verify: tuple[str, ...] = ()
    root: str | None = None
    bypass: bool = True
    retry: bool = True


def read_plan_file(opened: Opened, path: str, options: RunOptions | None = None) -> Plan:
    """Read a plan; a relative path is meant from where the repository was opened. Raises PlanError."""
    from gitprun.api.settings import settings_of
    from gitprun.system.config import read_plan

    return apply_options(opened, read_plan(opened.start / path, settings_of(opened)), options or RunOptions())


def single_unit(opened: Opened, rows: Mapping[str, str | list[str]], options: RunOptions | None = None) -> Plan:
    """Make the plan of a single unit from the keys of a ``[[unit]]``; texts of lists are split as a shell does."""
    from gitprun.api.settings import settings_of
    from gitprun.system.config import read_list, read_prompt

    known: dict[str, UnitValue] = dict(rows)
    try:
        for key, split in (("command", shlex.split), ("paths", str.split)):
            said = known.get(key)
            if isinstance(said, str):
                listed = read_list(said, f"--unit {key}")
                known[key] = split(said) if listed is None else list(listed)
    except ValueError as problem:
        raise UsageProblem(f"--command cannot be split into words: {problem}", "close every quote") from None
    if known.get("bypass") in ("true", "false"):
        known["bypass"] = known["bypass"] == "true"
    settings = settings_of(opened)
    unit = parse_unit(Table(known, "--unit"), lambda name: read_prompt(opened.start / name, shown=name), settings)
    return apply_options(opened, Plan(units=(unit,), settings=settings), options or RunOptions())


def apply_options(opened: Opened, plan: Plan, options: RunOptions) -> Plan:
    """Return a plan with what is said for the whole run; raises UsageProblem for an empty check."""
    if any(not command.strip() for command in options.verify):
        raise UsageProblem("--verify must not be empty", "leave it out to have the checks detected")
    said = Settings(
        base=options.base,
        jobs=options.jobs,
        verify=options.verify or None,
        root=str((opened.start / options.root).absolute()) if options.root else None,
        retries=None if options.retry else 0,
    )
    if not options.bypass:
        plan = replace(plan, units=tuple(replace(unit, bypass=False) for unit in plan.units))
    return replace(plan, settings=said.over(plan.settings))


def require_approved_plan(opened: Opened, plan: Plan, *, yes: bool = False) -> None:
    """Raise Untrusted where something of ``prun.toml`` that the plan needs may not count."""
    from gitprun.api.settings import require_approved
    from gitprun.model.powers import started_by

    if plan.settings.powers:
        executors = {unit.executor for unit in plan.units}
        require_approved(opened, started_by(plan.settings.powers, executors), yes=yes)


def prompt_of(
    opened: Opened, plan_file: str, name: str | None, *, verify: tuple[str, ...] = (), bypass: bool = True
) -> bytes:
    """Return what would be sent to the worker of a unit of a plan, to the byte."""
    from gitprun.api.settings import settings_of
    from gitprun.executors.base import WorkerPaths
    from gitprun.executors.catalog import require_executor
    from gitprun.model.prompts import assemble_prompt
    from gitprun.system.config import read_plan
    from gitprun.workspaces.base import OUTBOX

    plan = read_plan(opened.start / plan_file, settings_of(opened))
    unit = _choose(plan.units, name, plan_file)
    unit = unit if bypass else replace(unit, bypass=False)
    settings = plan.settings.executors.get(unit.executor, ExecutorSettings())
    text = assemble_prompt(unit, settings, verify=verify or plan.settings.verify or (), outbox=OUTBOX)
    # An executor may put a word of its own in front: what it writes to its worker's stdin is what is sent.
    nowhere = WorkerPaths(cwd="", result="", last_message="", repository="")
    return require_executor(unit.executor).launch(unit, text, nowhere, settings).stdin


def _choose(units: tuple[Unit, ...], name: str | None, plan_file: str) -> Unit:
    if name is None and len(units) == 1:
        return units[0]
    if name is None:
        raise UsageProblem("a unit is missing", f"one of: {', '.join(unit.id for unit in units)}")
    for unit in units:
        if unit.id == name:
            return unit
    meant = nearest(name, [unit.id for unit in units])
    raise PlanError(
        f"{plan_file} has no unit {name!r}",
        f"did you mean {meant!r}?" if meant else f"it has: {', '.join(unit.id for unit in units)}",
    )
