"""``git prun reconcile``: every unit of a run has a result that can be used, or it is named."""

from __future__ import annotations

import json
from typing import Any

import click

from gitprun.cli.console import coloured, hint, put, safe, table
from gitprun.cli.options import Here, here, json_option
from gitprun.landing.surface import TITLES, Touch, describe
from gitprun.ledger.events import RunState
from gitprun.ledger.review import Review


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
    from gitprun.ledger.lookup import find_run
    from gitprun.ledger.review import incomplete, review_run

    place = here(ctx)
    run = find_run(place.history(), run_name)
    reviews = review_run(place.repository.state, run)
    touches = _touches(place, run)
    good = not incomplete(reviews) and not (strict and any(review.claims or review.outside for review in reviews))
    if as_json:
        put(json.dumps({"run": run.id, "complete": good, "units": [_row(review, touches) for review in reviews]}))
        return 0 if good else 1
    put(render(reviews))
    missing = incomplete(reviews)
    for review in missing:
        put(f"{review.run}/{review.unit}: {safe(review.reason)}; see {safe(review.folder)}")
    for review in reviews:
        for claim in review.claims:
            put(f"{review.run}/{review.unit}: {safe(claim)}")
        for grade, title in TITLES.items():
            said = describe([touch for touch in touches.get(review.unit, ()) if touch.grade == grade])
            if said:
                put(f"{review.run}/{review.unit}: {title}: {safe(said)}")
        if review.outside:
            from gitprun.landing.fence import describe_outside

            put(f"{review.run}/{review.unit}: {safe(describe_outside(review.outside))}")
    if any(review.kind == "pending" for review in missing):
        hint(f"git prun status {run.id} shows what is still going on")
    elif missing:
        hint(
            f"git prun run --resume {run.id} runs failed ones again; git prun merge UNIT lands a verified one as it is"
        )
    return 0 if good else 1


def _touches(place: Here, run: RunState) -> dict[str, tuple[Touch, ...]]:
    """Find what units change of what starts programs."""
    from gitprun.landing.touched import read_unit_touches
    from gitprun.system.config import read_settings

    protected = read_settings(place.repository.top).protected or ()
    return read_unit_touches(place.repository, run, tuple(run.units.values()), protected)


def _row(review: Review, touches: dict[str, tuple[Touch, ...]]) -> dict[str, Any]:
    found = touches.get(review.unit, ())
    return review.as_json() | ({"trust": [touch.as_json() for touch in found]} if found else {})


def render(reviews: tuple[Review, ...]) -> str:
    """Lay out the units with the kind of their results and what these conclude."""
    rows = [
        [review.unit, coloured(review.state), review.kind, safe(review.fields.get("Conclusion", "") or "-")]
        for review in reviews
    ]
    return table(["unit", "state", "result", "conclusion"], rows)
