"""Commands that speak the first seed's protocol: wrong usage is exit code 2, with a usage line on stderr."""

from __future__ import annotations

from typing import ClassVar, NoReturn

import click

from gitprun.cli.console import hint, safe, say
from gitprun.model.errors import UsageProblem
from gitprun.model.exit_codes import EXIT_SEED


class SeedCommand(click.Command):
    """A command whose usage errors are told as the seed's scripts tell them; ``usage`` is the line that follows."""

    usage: ClassVar[str] = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as problem:
            self._refuse(problem.format_message().rstrip("."))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except UsageProblem as problem:
            self._refuse(problem.message, problem.hint)

    def _refuse(self, message: str, advice: str = "") -> NoReturn:
        say(f"git prun {self.name}: {safe(message)}")
        if advice:
            hint(safe(advice))
        say(self.usage)
        raise click.exceptions.Exit(EXIT_SEED)
