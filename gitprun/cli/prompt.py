"""``git prun prompt``: what a worker is told, to the letter."""

from __future__ import annotations

import click

from gitprun.api.plans import prompt_of
from gitprun.api.reading import read_prompt_sent
from gitprun.cli.console import write_bytes
from gitprun.cli.options import here
from gitprun.model.errors import UsageProblem


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
        opened = here(ctx).opened
        write_bytes(prompt_of(opened, plan_file, unit_name, verify=verify, bypass=not no_bypass))
        return
    if unit_name is None or no_bypass or verify:
        raise UsageProblem(
            "a unit is missing" if unit_name is None else "--verify and --no-bypass go with --plan",
            "git prun prompt UNIT, or git prun prompt --plan PLAN UNIT",
        )
    write_bytes(read_prompt_sent(here(ctx).opened, unit_name))
