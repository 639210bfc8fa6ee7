"""``git prun reconcile``: every unit of a run has a result that can be used, or it is named."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gitprun.api.outcomes import Reconciled, ReviewedResult
from gitprun.api.reading import describe_outside, describe_touches
from gitprun.cli.console import coloured, hint, put, put_json, safe, table
from gitprun.cli.options import here, json_option
from gitprun.cli.show import TITLES


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option(
    "--strict", is_flag=True, help="Exit 1 also if a result disagrees with what was found, or a unit left its paths."
)
@json_option
@click.pass_context
def reconcile(ctx: click.Context, run_name: str | None, strict: bool, as_json: bool) -> int:
    """Check that every unit of the last run (or of RUN) has a result of its own that follows the contract.

    Those that have none are named with the folder that holds their traces. Exit code 0 only if none is named.
    """
    found = here(ctx).reconcile(run_name, strict=strict)
    if as_json:
        put_json("reconcile", found)
    else:
        _render(found)
    return 0 if found.complete else 1


def _render(found: Reconciled) -> None:
    put(render(found.units))
    for one in found.incomplete:
        put(f"{one.run}/{one.unit}: {safe(one.reason)}; see {safe(one.state_dir)}")
    for one in found.units:
        name = f"{one.run}/{one.unit}"
        for claim in one.claims:
            put(f"{name}: {safe(claim)}")
        for grade, title in TITLES.items():
            said = describe_touches([touch for touch in one.trust if touch.grade == grade])
            if said:
                put(f"{name}: {title}: {safe(said)}")
        if one.outside:
            put(f"{name}: {safe(describe_outside(one.outside))}")
    if any(one.result == "pending" for one in found.incomplete):
        hint(f"git prun status {found.run} shows what is still going on")
    elif found.incomplete:
        again = f"git prun run --resume {found.run} runs failed ones again"
        hint(f"{again}; git prun merge UNIT lands a verified one as it is")


def render(units: Sequence[ReviewedResult]) -> str:
    """Lay out the units with the kind of their results and what these conclude."""
    rows = [[one.unit, coloured(one.state), one.result, safe(one.fields.get("Conclusion", "") or "-")] for one in units]
    return table(["unit", "state", "result", "conclusion"], rows)
