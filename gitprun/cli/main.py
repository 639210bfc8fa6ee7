"""``git prun``: find the command, run it, turn every error into one line, a hint and an exit code."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from gitprun import __version__
from gitprun.cli.console import begin_output, hint, put_json, safe, say, was_put
from gitprun.cli.signals import signals_end
from gitprun.model.errors import Interrupted, OperationRefused, PrunError, UsageProblem

# As git: 1 says no, 128 that it cannot be done, 129 that the words are wrong.
EXIT_NO = 1
EXIT_CANNOT = 128
EXIT_USAGE = 129
# EX_SOFTWARE of sysexits.h, so that scripts tell a bug of ours from an answer.
EXIT_BUG = 70

COMMANDS = {
    "clean": "gitprun.cli.remove:clean",
    "collect": "gitprun.cli.collect:collect",
    "demo": "gitprun.cli.demo:demo",
    "diff": "gitprun.cli.diff:diff",
    "dispatch": "gitprun.cli.dispatch:dispatch",
    "gather": "gitprun.cli.gather:gather",
    "gc": "gitprun.cli.gc:gc",
    "events": "gitprun.cli.events:events",
    "exec": "gitprun.cli.exec:execute",
    "forecast": "gitprun.cli.forecast:forecast",
    "help": "gitprun.cli.help:help_on",
    "hook": "gitprun.cli.hooks:hook",
    "hooks": "gitprun.cli.hooks:hooks",
    "init": "gitprun.cli.init:init",
    "ledger": "gitprun.cli.ledger:ledger",
    "log": "gitprun.cli.show:log",
    "merge": "gitprun.cli.merge:merge",
    "merge-file": "gitprun.cli.merge_file:merge_file",
    "monitor": "gitprun.cli.monitor:monitor",
    "reconcile": "gitprun.cli.reconcile:reconcile",
    "new": "gitprun.cli.new:new",
    "prompt": "gitprun.cli.prompt:prompt",
    "remove": "gitprun.cli.remove:remove",
    "rescue": "gitprun.cli.rescue:rescue",
    "resolve": "gitprun.cli.resolve:resolve",
    "run": "gitprun.cli.run:run",
    "show": "gitprun.cli.show:show",
    "skill": "gitprun.cli.skill:skill",
    "status": "gitprun.cli.status:status",
    "stop": "gitprun.cli.stop:stop",
    "trust": "gitprun.cli.trust:trust",
    "undo": "gitprun.cli.undo:undo",
    "verify": "gitprun.cli.verify:verify",
    "workspace": "gitprun.cli.workspace:workspace",
}
SUMMARIES = {
    "clean": "Remove the workspaces of all units whose work is over.",
    "collect": "Capture a unit once more, with what was left out and is wanted.",
    "demo": "Show the whole loop in a throw-away repository, offline.",
    "diff": "Show what a unit changed.",
    "dispatch": "Run one worker on one prompt, outside of any run.",
    "gather": "Wait until result files have landed.",
    "gc": "Remove data that is no longer needed.",
    "events": "Show a worker's JSON events as compact lines.",
    "exec": "Run a worker in a named workspace, commit and verify its work.",
    "forecast": "Tell which branches conflict, who settles it, and in which order to land.",
    "help": "Print a page of the documentation, or the help of a command.",
    "hook": "Be a hook (called by the hooks themselves).",
    "hooks": "Keep workers away from history: install, status, uninstall.",
    "init": "Prepare a repository: look it over, pin the baseline, write prun.toml.",
    "ledger": "Show the ledger, or hold it against what is there.",
    "log": "Show what a unit's worker printed.",
    "merge": "Land verified units, or branches made elsewhere.",
    "merge-file": "Merge one file as git merge-file does, with fewer conflicts.",
    "monitor": "Print a line a minute about what the units do.",
    "reconcile": "Check that every unit of a run has a result that can be used.",
    "new": "Make a workspace of your own, with a branch.",
    "prompt": "Show the prompt a worker was sent, or would be.",
    "remove": "Remove the workspace of a unit.",
    "rescue": "List everything that is pinned, and bring it back.",
    "resolve": "Mend a branch that does not land (conflict, suspect, red) in a workspace of its own.",
    "run": "Run the units of a plan in parallel.",
    "show": "Show all that is known about a unit.",
    "skill": "Teach a coordinating model to use git prun.",
    "status": "Show the state of every unit.",
    "stop": "Stop a run or a unit from any terminal.",
    "trust": "Approve the programs, commands and walls that prun.toml names.",
    "undo": "Take a landing back, or what a worker changed of yours.",
    "verify": "Run the checks of units again, or those of any branch.",
    "workspace": "List, lock, move, adopt and reset workspaces.",
}


class ReaderGone(Exception):
    """Nobody reads our output any more; told apart because click turns BrokenPipeError into exit code 1."""


class Commands(click.Group):
    """The commands by name; each is imported when it is called, so that none pays for another."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the nearest one."""
        from gitprun.model.names import nearest

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            meant = nearest(args[0], COMMANDS)
            raise UsageProblem(
                f"{args[0]!r} is not a git prun command",
                f"did you mean {meant!r}?" if meant else "git prun --help lists them",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUMMARIES[name]) for name in sorted(COMMANDS)])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="git prun help lists the pages of the documentation; git prun help TOPIC prints one.",
)
@click.version_option(__version__, prog_name="git prun")
@click.option("-C", "folder", type=click.Path(), help="Act as if started in this folder.")
@click.pass_context
def cli(ctx: click.Context, folder: str | None) -> None:
    """Run independent pieces of work in parallel, each in a workspace of its own, and land the results.

    Exit codes: 0 done, 1 the answer is no, 70 a bug of ours, 128 cannot, 129 wrong usage, 130/143 stopped.
    """
    try:
        ctx.obj = Path(folder).resolve(strict=True) if folder else Path.cwd()
    except OSError as problem:
        raise PrunError(f"{folder or 'the current folder'}: {problem.strerror}") from None


def complain(message: str, advice: str = "") -> None:
    """Write an error as one line, and its hint apart from it."""
    say(click.style("error: ", fg="red") + safe(message))
    if advice:
        hint(safe(advice))


def run_cli(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    begin_output()
    with signals_end() as caught:
        code = _run(arguments)
    return 128 + caught[0] if caught else code


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    wants_json = "--json" in itertools.takewhile(lambda word: word != "--", words)
    try:
        answer = cli.main(
            args=None if arguments is None else list(arguments), prog_name="git prun", standalone_mode=False
        )
        sys.stdout.flush()
        return answer if isinstance(answer, int) else 0
    except PrunError as problem:
        complain(problem.message, problem.hint)
        if wants_json:
            _answer_json(problem.message, problem.hint, _code_of(problem))
        return _code_of(problem)
    except click.UsageError as problem:
        if wants_json:
            _answer_json(problem.format_message(), "", EXIT_USAGE)
        return _complain_usage(problem)
    except click.ClickException as problem:
        complain(problem.format_message())
        return EXIT_CANNOT
    except (KeyboardInterrupt, click.Abort):
        # Which signal it was the listener knows; without one it is a prompt that was answered with the end of input.
        return 130
    except (BrokenPipeError, ReaderGone):
        # The reader of our output has gone (git prun log | head): nothing to say, and nobody to say it to.
        _drop_stdout()
        return 141
    except OSError as problem:
        where = f"{os.fsdecode(problem.filename)}: " if problem.filename else ""
        complain(f"{where}{problem.strerror or problem}", "free some space" if problem.errno == errno.ENOSPC else "")
        _drop_stdout()
        return EXIT_CANNOT
    except Exception:
        return _report_bug()


def _answer_json(message: str, advice: str, code: int) -> None:
    """Say to a program what was said to a person; where it has its answer already, there is nothing to add."""
    if not was_put():
        with contextlib.suppress(OSError):
            from gitprun.api.refusals import Failure

            put_json("error", Failure(error=message, hint=advice, exit_code=code, code=code))


def _code_of(problem: PrunError) -> int:
    match problem:
        case UsageProblem():
            return EXIT_USAGE
        case Interrupted():
            return 128 + problem.signal
        case OperationRefused():
            return EXIT_NO
        case _:
            return EXIT_CANNOT


def _complain_usage(problem: click.UsageError) -> int:
    if type(problem).__name__ == "NoArgsIsHelpError":
        say(problem.ctx.get_help() if problem.ctx else "")
        return EXIT_USAGE
    where = problem.ctx.command_path if problem.ctx else "git prun"
    complain(problem.format_message().rstrip("."), f"{where} --help")
    return EXIT_USAGE


def _drop_stdout() -> None:
    """Keep Python from trying once more, at its end, to write what cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_bug() -> int:
    """Keep the traceback in a file and say one line about it."""
    from gitprun.api.bugs import write_bug_report

    found = sys.exc_info()[1]
    complain(f"git prun has a bug: {found!r}", write_bug_report(found) if found else "")
    return EXIT_BUG


def _open_closed() -> None:
    """Have a stream that was closed before we began lead nowhere: else the next file opened would take its place."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free number is taken, which is this one.
            place = os.open(os.devnull, os.O_RDWR)
            if place != number:
                os.dup2(place, number)
                os.close(place)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def main() -> None:
    """Be the program ``git-prun``."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's character set does not know must not be an error.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run_cli())
