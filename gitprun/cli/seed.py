"""Commands that speak the first seed's protocol: wrong usage is exit code 2, with a usage line on stderr."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from gitprun.cli.console import hint, safe, say
from gitprun.model.errors import UsageProblem

# What the seed's scripts exit with, whose callers compare it.
EXIT_USAGE = 2


class SeedCommand(click.Command):
    """A command whose usage errors are told as the seed's scripts tell them; ``usage`` is the line that follows."""

    def __init__(self, *args: Any, usage: str = "", **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.usage = usage

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the command line."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as problem:
            self._refuse(problem.format_message().rstrip("."))

    def invoke(self, ctx: click.Context) -> Any:
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
        raise click.exceptions.Exit(EXIT_USAGE)
