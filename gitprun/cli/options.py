"""What several commands share: opening the repository with a terminal to tell and to ask, common options."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from gitprun.api.opened import Notice
from gitprun.api.repo import Repo
from gitprun.cli.console import hint, safe, say, warn
from gitprun.model.errors import PrunError

P = ParamSpec("P")
R = TypeVar("R")


def here(ctx: click.Context, *, quiet: bool = False, damaged: bool = False) -> Repo:
    """Open the repository around the folder the command was called in; ``quiet`` passes over what is only news."""
    start: Path = ctx.obj
    return Repo.open(start, tell=hear_warnings if quiet else hear, confirm=confirm, damaged=damaged)


def hear(notice: Notice) -> None:
    """Write what happens on the way to stderr."""
    {"news": say, "warning": warn, "hint": hint}[notice.level](safe(notice.text))


def hear_warnings(notice: Notice) -> None:
    """Write what should not be missed to stderr, and how to go on from it."""
    if notice.level != "news":
        hear(notice)


def confirm(question: str, rows: Sequence[str]) -> bool:
    """Ask on a terminal whether something may be approved; without one nothing is."""
    if not is_terminal():
        return False
    say(question)
    for row in rows:
        say(f"  {safe(row)}")
    return click.confirm("approve it, now and from now on?", default=False, err=True)


def is_terminal() -> bool:
    """Check whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def project(ctx: click.Context, *, quiet: bool = False) -> Repo:
    """Open the repository around ``-C``, else around ``PROJECT_DIR``, else around the current folder.

    The commands of the second seed work so.
    """
    named = os.environ.get("PROJECT_DIR", "")
    if named and not ctx.find_root().params.get("folder"):
        try:
            folder = Path(named).resolve(strict=True)
        except OSError as problem:
            raise PrunError(f"PROJECT_DIR={named}: {problem.strerror}", "unset it, or let it name a folder") from None
        if folder != ctx.obj:
            say(f"working in {safe(str(folder))} (PROJECT_DIR)")
        ctx.obj = folder
    return here(ctx, quiet=quiet)


def json_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(function)
