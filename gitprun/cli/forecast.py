"""``git prun forecast``: which branches get along, who would settle each conflict, in which order to land."""

from __future__ import annotations

import re

import click

from gitprun.api.forecasts import ForecastPair, ForecastPath, LandingForecast
from gitprun.cli.console import put, put_json, safe, say, table, terminal_width
from gitprun.cli.options import here, json_option
from gitprun.cli.show import TITLES

# More branches than this make a grid nobody can read.
MOST = 20
# A pair with more paths than fit below its line is told by the number of them.
SHOWN = 12
MARKS = {"clean": "+", "settled": "r", "suspect": "?", "conflict": "X"}
INK = {"settled": "cyan", "suspect": "yellow", "conflict": "red"}
LEGEND = ". nothing in common   + both changed a file, merges   r settled by a resolver   ? suspect   X conflict"


@click.command()
@click.argument("names", metavar="[UNIT|RUN|BRANCH]...", nargs=-1)
@click.option(
    "--into", metavar="COMMIT", help="Look at landing on this branch, or any commit (default: HEAD's branch)."
)
@click.option("--all-branches", "every", is_flag=True, help="Look at every local branch.")
@json_option
@click.pass_context
def forecast(ctx: click.Context, /, names: tuple[str, ...], into: str | None, every: bool, as_json: bool) -> int:
    """Return which units of the last run (or which UNITs, RUNs and BRANCHes) conflict with each other or the target.

    The work of units that still run is looked at as it is now. Nothing is changed. Exit code 1 if a conflict or a
    suspect merge is left that no resolver settles, or a landing would hold a branch.
    """
    seen = here(ctx).forecast(names, into=into, every=every)
    if as_json:
        put_json("forecast", seen)
    else:
        render(seen)
    return 0 if seen.good else 1


def render(seen: LandingForecast) -> None:
    """Print what was found: a grid, or for many branches only the pairs, then the paths and the order."""
    for one in seen.left_out:
        say(f"left out: {safe(one.name)}: {safe(one.reason)}")
    if not seen.branches:
        say("nothing to land")
        return
    put(headline(seen))
    drawn, width = render_grid(seen) if len(seen.branches) <= MOST else "", terminal_width()
    # A grid that a terminal breaks is none; then the pairs tell it.
    grid = bool(drawn) and (not width or max(len(click.unstyle(line)) for line in drawn.split("\n")) <= width)
    if grid:
        put(f"\n{drawn}")
        put(f"\n{LEGEND}")
    met = (*seen.against, *seen.pairs)
    listed = [one for one in met if one.state not in ("clean", "settled") or (grid and one.paths)]
    if listed:
        put("")
    for meeting in listed:
        put("\n".join(render_meeting(meeting)))
    for branch in seen.branches:
        if branch.gate:
            put(f"{safe(branch.name)} changes its own check: {safe(branch.gate)}")
        if branch.named:
            put(f"{safe(branch.name)} {TITLES['named']}: {safe(branch.named)}")
        for state, why in (("refused", branch.refused), ("suspect", branch.suspect)):
            if why:
                put(f"{safe(branch.name)}: {click.style(state, fg='red')}: {safe(why)}")
        if branch.held:
            held = click.style("held", fg="red")
            put(f"{safe(branch.name)}: {held}: {safe(branch.held)}; {safe(branch.accept_flags)} lands it")
    put(f"\norder: {', '.join(map(safe, seen.order))}")


def headline(seen: LandingForecast) -> str:
    """Return in one line how many branches and pairs there are, and how the pairs fare."""
    counts, branches = seen.counts, len(seen.branches)
    compared = counts.compared
    states = (("conflict", counts.conflict), ("suspect", counts.suspect), ("settled", counts.settled))
    fare = [f"{number} {state}" for state, number in (*states, ("clean", counts.clean)) if number]
    against = sum(one in seen.against for one in seen.bad)
    stuck = f"; {against} against {seen.target.removeprefix('refs/heads/')} itself" if against else ""
    return (
        f"{branches} branch{'' if branches == 1 else 'es'} into {safe(seen.target.removeprefix('refs/heads/'))}: "
        f"{counts.pairs} pair{'' if counts.pairs == 1 else 's'}, {counts.pruned} with nothing in common, "
        f"{compared} merged to see{': ' + ', '.join(fare) if fare else ''}{stuck}"
    )


def render_grid(seen: LandingForecast) -> str:
    """Lay out the branches against the target and each other."""
    marks = {frozenset((one.one, one.other)): one.state for one in seen.pairs}
    main = {one.one: one.state for one in seen.against}
    names = [branch.name for branch in seen.branches]
    rows = []
    for number, branch in enumerate(seen.branches, 1):
        cells = [_mark(main.get(branch.name))]
        cells += ["-" if name == branch.name else _mark(marks.get(frozenset((branch.name, name)))) for name in names]
        shown = safe(branch.name) + (" (live)" if branch.live else "")
        rows.append([str(number), shown, str(branch.paths), *cells])
    return table(["", "branch", "paths", "target", *(str(number) for number in range(1, len(names) + 1))], rows, 0)


def _mark(state: str | None) -> str:
    return click.style(MARKS[state], fg=INK.get(state)) if state else "."


def render_meeting(meeting: ForecastPair) -> list[str]:
    """Write one pair: its state, then each of its paths with who settles it or why nobody does."""
    lines = [f"{safe(meeting.one)} and {safe(meeting.other)}: {click.style(meeting.state, fg=INK.get(meeting.state))}"]
    lines += [f"  {_path(row)}" for row in meeting.paths[:SHOWN]]
    if len(meeting.paths) > SHOWN:
        lines.append(f"  and {len(meeting.paths) - SHOWN} paths more (--json lists all)")
    return lines


def _path(row: ForecastPath) -> str:
    if row.resolver:
        dropped = f", drops {row.dropped} line{'' if row.dropped == 1 else 's'}" if row.dropped else ""
        return f"{safe(row.path)}: settled by {safe(row.resolver)}{dropped}"
    detail = re.sub(r"^CONFLICT \([^)]*\): ", "", row.detail)
    said = [part for part in (row.kind, detail, "; ".join(row.reasons)) if part]
    return ": ".join([safe(part) for part in (row.path, *said) if part])
