"""``git prun stop``: stop a run, a unit or a worker in a workspace of your own, from any terminal."""

from __future__ import annotations

import click

from gitprun.api.outcomes import Stopped
from gitprun.api.running import ask_to_stop
from gitprun.api.stopping import Stop
from gitprun.cli.console import hint, put, put_json, safe, say
from gitprun.cli.options import here, json_option
from gitprun.cli.signals import signals_stop
from gitprun.model.escapes import shell_word

# Neither done nor refused: asked again later the answer is another one.
EXIT_NOT_YET = 2


@click.command()
@click.argument("name", metavar="[UNIT|RUN]", required=False)
@click.option("--kill", is_flag=True, help="Kill the workers at once, as a second Ctrl-C does; their work is kept.")
@json_option
@click.pass_context
def stop(ctx: click.Context, name: str | None, kill: bool, as_json: bool) -> int:
    """Stop the run at work, RUN, or only UNIT: its worker is ended, what it did is captured.

    The same as Ctrl-C at the terminal of the run; with UNIT the other units go on. Where nobody coordinates the run any
    more its workers are ended, and git prun run --resume captures their work. Waits a minute for the end.

    Exit codes: 0 it has ended, 1 nothing is running, 2 it has not ended yet.
    """
    opened, waiting = here(ctx).opened, Stop()
    # A signal ends the waiting only: what was asked for is asked for.
    with signals_stop(waiting, quiet=True) as caught:
        done = ask_to_stop(opened, name, kill=kill, wait=waiting)
    if as_json:
        put_json("stop", done)
    else:
        _render(done)
    if done.ended:
        return 0
    return 128 + caught[0] if caught else EXIT_NOT_YET


def _render(done: Stopped) -> None:
    what = safe(done.name if done.unit else f"run {done.run}")
    for unit, state in done.states.items():
        put(f"{safe(unit)}: {state}")
    if not done.ended:
        say(f"{what} was asked to stop and has not ended yet")
        hint(f"git prun stop {'' if done.kill else '--kill '}{shell_word(done.name)}")
    elif not done.coordinated:
        say(f"{what}: nobody coordinated it; its workers have ended")
        again = f"run --resume {done.run}" if done.run != "named" else f"collect {safe(done.unit or '')}"
        hint(f"git prun {again} captures their work")
    else:
        say(f"{what} has ended")
        if not done.unit and "stopped" in done.states.values():
            hint(f"git prun run --resume {done.run} goes on with it")
