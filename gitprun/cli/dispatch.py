"""``git prun dispatch``: one unit without a run, in the words of the first seed's ``dispatch-task``."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from gitprun.api.stopping import Stop
from gitprun.api.working import DispatchRequest, last_lines
from gitprun.api.working import dispatch as run_worker
from gitprun.cli.console import age, put, safe, say, size_text
from gitprun.cli.seed import SeedCommand
from gitprun.cli.signals import signals_stop

# The end of an output, as far as a screen shows it; a line of JSON may be long.
SHOWN_LINES = 80
SHOWN_BYTES = 256_000
# Often enough for whoever wonders whether it hangs, seldom enough for a log of hours.
LIFE_EVERY = 60.0
USAGE = "Usage: git prun dispatch --prompt-file <path> --result-file <path> --unit-id <id>"
EPILOG = """\b
Environment: CODEX_BIN, CODEX_DISPATCH_SANDBOX (danger-full-access), CODEX_DISPATCH_REASONING (xhigh),
CODEX_DISPATCH_ISOLATE_MCP=off, CODEX_DISPATCH_TIMEOUT (seconds, 3600; 0: off), PRUN_SCRATCH_CWD, TMPDIR.
"""


class DispatchCommand(SeedCommand):
    """What the seed's scripts say of wrong usage."""

    usage = USAGE


@click.command(cls=DispatchCommand, epilog=EPILOG)
@click.option("--prompt-file", required=True, type=click.Path(), help="The file with the prompt, given on stdin.")
@click.option("--result-file", required=True, type=click.Path(), help="The file the worker writes its result to.")
@click.option("--unit-id", required=True, help="The name of the unit: letters, digits, _ and -.")
@click.option("--executor", type=click.Choice(["codex", "claude"]), default="codex", help="Who works (codex).")
@click.option("--model", help="The model the worker uses.")
@click.option("--timeout", help='The time limit, such as "40m" (1h; 0: none); wins over CODEX_DISPATCH_TIMEOUT.')
@click.option("--retry", is_flag=True, help="Try again, as runs do, a worker its service failed.")
@click.pass_context
def dispatch(
    ctx: click.Context,
    /,
    *,
    prompt_file: str,
    result_file: str,
    unit_id: str,
    executor: str,
    model: str | None,
    timeout: str | None,
    retry: bool,
) -> int:
    """Run one worker on one prompt, outside of any run, and see to it that its result file is written.

    Prints exactly one line, STATE-DIR and a folder: there `tail` grows with the worker's output. A worker that
    writes no result has its output salvaged under a FALLBACK header. No repository is needed, none is touched.

    Exit codes: the worker's own, 124 for the time limit, 128 + signal, 2 for wrong usage.
    """
    start: Path = ctx.obj
    asked = DispatchRequest(
        start=start,
        prompt_file=prompt_file,
        result_file=result_file,
        unit=unit_id,
        executor=executor,
        model=model,
        timeout=timeout,
        retry=retry,
        environment=os.environ,
    )
    folders: list[Path] = []
    over, stop = threading.Event(), Stop()

    def announce(unit: str, path: Path) -> None:
        folders.append(path)
        put(f"STATE-DIR {path}")
        threading.Thread(target=show_life, args=(unit, path / "tail", over), daemon=True).start()

    with signals_stop(stop) as caught, ending(over):
        done = run_worker(asked, stop=stop, announce=announce, tell=_tell)
    # Nobody asked it to stop: its supervisor was killed, and the worker with it.
    killed = 137 if done.killed else done.code
    code = 128 + caught[0] if caught else killed
    if done.problem:
        _tell(done.problem)
    kind = "no result" if done.problem else "salvaged result" if done.fallback else "result"
    why = f" ({done.reason})" if done.reason else ""
    _tell(f"{done.unit} ended with exit code {code}{why}; {kind} in {start / result_file}")
    for line in last_lines(folders[0] / "tail", SHOWN_LINES, SHOWN_BYTES):
        say(line)
    return code or (1 if done.problem else 0)


def show_life(unit: str, output: Path, over: threading.Event, every: float = LIFE_EVERY) -> None:
    """Say now and then that a worker is still at work, and what has come of it, until it is ``over``."""
    began = time.monotonic()
    while not over.wait(every):
        try:
            found = output.stat()
            quiet = max(0.0, time.time() - found.st_mtime)
            said = (
                f"{size_text(found.st_size)} of output, the last {age(quiet)} ago" if found.st_size else "no output yet"
            )
        except OSError:
            said = "no output yet"
        _tell(f"{unit} is at work for {age(time.monotonic() - began)}: {said}")


@contextmanager
def ending(over: threading.Event) -> Iterator[None]:
    """Set ``over`` at the end of the block, however that comes."""
    try:
        yield
    finally:
        over.set()


def _tell(text: str) -> None:
    say(f"git prun dispatch: {safe(text)}")
