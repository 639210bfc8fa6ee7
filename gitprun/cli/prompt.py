"""``git prun prompt``: what a worker is told, to the letter."""

from __future__ import annotations

from dataclasses import replace

import click

from gitprun.cli.console import write_bytes
from gitprun.cli.options import here
from gitprun.model.errors import OperationRefused, PlanError, UsageProblem
from gitprun.model.names import nearest
from gitprun.model.units import ExecutorSettings, Unit

MOST = 64_000_000


@click.command()
@click.argument("unit_name", metavar="[UNIT]", required=False)
@click.option("--plan", "plan_file", type=click.Path(), help="Take the unit from this plan: what would be sent.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="With --plan: as for git prun run.")
@click.option("--no-bypass", is_flag=True, help="With --plan: as for git prun run.")
@click.pass_context
def prompt(
    ctx: click.Context, unit_name: str | None, plan_file: str | None, verify: tuple[str, ...], no_bypass: bool
) -> None:
    """Print the prompt that was sent to the worker of UNIT (or RUN/UNIT), or with --plan would be sent.

    It is made of the bypass prefix (codex), the unit's own prompt, what done means (its checks and its paths), and
    the contract for its result.
    """
    if plan_file is not None:
        write_bytes(_would_be_sent(ctx, plan_file, unit_name, verify, no_bypass))
        return
    if unit_name is None or no_bypass or verify:
        raise UsageProblem(
            "a unit is missing" if unit_name is None else "--verify and --no-bypass go with --plan",
            "git prun prompt UNIT, or git prun prompt --plan PLAN UNIT",
        )
    write_bytes(_was_sent(ctx, unit_name))


def _was_sent(ctx: click.Context, name: str) -> bytes:
    from gitprun.ledger.lookup import find_unit
    from gitprun.system.files import read_plain

    place = here(ctx)
    unit = find_unit(place.history(), name)
    sent = read_plain(place.repository.state / "runs" / unit.run / unit.id / "prompt.md", MOST)
    if sent is None:
        raise OperationRefused(
            f"the worker of {unit.run}/{unit.id} was not started ({unit.state})",
            "git prun prompt --plan PLAN UNIT prints what would be sent",
        )
    return sent


def _would_be_sent(
    ctx: click.Context, plan_file: str, name: str | None, verify: tuple[str, ...], no_bypass: bool
) -> bytes:
    from gitprun.executors.base import WorkerPaths
    from gitprun.executors.catalog import require_executor
    from gitprun.model.prompts import assemble_prompt
    from gitprun.system.config import read_plan, read_settings
    from gitprun.workspaces.base import OUTBOX

    place = here(ctx)
    plan = read_plan(place.start / plan_file, read_settings(place.repository.top))
    unit = _choose(plan.units, name, plan_file)
    unit = replace(unit, bypass=False) if no_bypass else unit
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
