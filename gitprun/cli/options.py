"""What several commands share: finding the repository, its ledger and its history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from gitprun.git.repo import Repository, find_repository, read_sharing
from gitprun.ledger.events import History
from gitprun.ledger.ledger import Ledger, Reading
from gitprun.system.sharing import share

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Here:
    """The repository a command was called in, and its ledger."""

    start: Path
    repository: Repository
    ledger: Ledger

    def history(self) -> History:
        """Read the ledger and fold it."""
        return self.read().history

    def read(self) -> Reading:
        """Read the ledger; unreadable lines are reported, not hidden."""
        from gitprun.cli.console import warn

        reading = self.ledger.read()
        if reading.unreadable:
            shown = ", ".join(map(str, reading.unreadable[:5]))
            warn(f"the ledger has {len(reading.unreadable)} unreadable line(s) (number {shown}) in {self.ledger.path}")
        if reading.newer:
            warn(
                f"the ledger has {len(reading.newer)} line(s) of a newer git prun in {self.ledger.path}: "
                "what they say is not shown, and nothing can be written"
            )
        return reading


def here(ctx: click.Context) -> Here:
    """Find the repository around the folder the command was called in."""
    start: Path = ctx.obj
    repository = find_repository(start)
    share(repository.common, read_sharing(repository))
    if repository.trusted.is_dir():
        from gitprun.observe.safe_mode import enter_safe_mode

        enter_safe_mode(repository)
    return Here(start, repository, Ledger(repository.state))


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(function)
