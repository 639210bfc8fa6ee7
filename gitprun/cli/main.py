"""``git prun``: find the command, run it, turn every error into one line, a hint and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from gitprun import __version__
from gitprun.errors import Interrupted, PrunError, Refused, UsageProblem

EXIT_NO = 1
EXIT_BUG = 70
EXIT_CANNOT = 128
EXIT_USAGE = 129

COMMANDS = {
    "clean": "gitprun.cli.remove:clean",
    "demo": "gitprun.cli.demo:demo",
    "diff": "gitprun.cli.show:diff",
    "log": "gitprun.cli.show:log",
    "merge": "gitprun.cli.merge:merge",
    "remove": "gitprun.cli.remove:remove",
    "run": "gitprun.cli.run:run",
    "show": "gitprun.cli.show:show",
    "status": "gitprun.cli.status:status",
}
SUMMARIES = {
    "clean": "Remove the workspaces of all units whose work is over.",
    "demo": "Show the whole loop in a throw-away repository, offline.",
    "diff": "Show what a unit changed.",
    "log": "Show what a unit's worker printed.",
    "merge": "Land verified units, or branches made elsewhere.",
    "remove": "Remove the workspace of a unit.",
    "run": "Run the units of a plan in parallel.",
    "show": "Show all that is known about a unit.",
    "status": "Show the state of every unit.",
}


class Commands(click.Group):
    """The commands by name; each is imported when it is called, so that none pays for another."""

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
        from gitprun.names import nearest

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


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
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


def complain(message: str, hint: str = "") -> None:
    """Write an error as one line, and its hint apart from it."""
    click.echo(click.style("error: ", fg="red") + message, err=True)
    if hint:
        click.echo(click.style("hint: ", fg="cyan") + hint, err=True)


def run_cli(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code."""
    try:
        answer = cli.main(
            args=None if arguments is None else list(arguments), prog_name="git prun", standalone_mode=False
        )
        sys.stdout.flush()
        return answer if isinstance(answer, int) else 0
    except UsageProblem as problem:
        complain(problem.message, problem.hint)
        return EXIT_USAGE
    except Interrupted as problem:
        complain(problem.message, problem.hint)
        return 128 + problem.signal
    except Refused as problem:
        complain(problem.message, problem.hint)
        return EXIT_NO
    except PrunError as problem:
        complain(problem.message, problem.hint)
        return EXIT_CANNOT
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.ctx.get_help() if problem.ctx else "", err=True)
        return EXIT_USAGE
    except click.UsageError as problem:
        where = problem.ctx.command_path if problem.ctx else "git prun"
        complain(problem.format_message(), f"{where} --help")
        return EXIT_USAGE
    except click.ClickException as problem:
        complain(problem.format_message())
        return EXIT_CANNOT
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (git prun log | head): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception:
        return _report_bug()


def _report_bug() -> int:
    """Keep the traceback in a file and say one line about it."""
    import tempfile
    import traceback

    descriptor, name = tempfile.mkstemp(prefix="git-prun-bug-", suffix=".txt")
    with os.fdopen(descriptor, "w") as report:
        report.write(f"git prun {__version__}, Python {sys.version}\n{sys.argv}\n\n")
        traceback.print_exc(file=report)
    complain(f"git prun has a bug: {sys.exc_info()[1]!r}", f"the report is in {name}; nothing was removed")
    return EXIT_BUG


def main() -> None:
    """Be the program ``git-prun``."""
    sys.exit(run_cli())
