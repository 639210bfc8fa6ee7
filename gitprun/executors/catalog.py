"""All kinds of workers, in one literal table."""

from __future__ import annotations

from typing import Final

from gitprun.executors.base import Executor
from gitprun.executors.claude import Claude
from gitprun.executors.codex import Codex
from gitprun.executors.command import Command
from gitprun.model.errors import PrunError
from gitprun.model.names import nearest

EXECUTORS: Final[dict[str, Executor]] = {
    "codex": Codex(),
    "claude": Claude(),
    "command": Command(),
}


class UnknownExecutor(PrunError):
    """No kind of worker has this name (exit code 128)."""

    def __init__(self, name: str) -> None:
        known = f"known executors: {', '.join(sorted(EXECUTORS))}"
        close = nearest(name, EXECUTORS)
        super().__init__(f"no executor is named {name!r}", f"did you mean {close}? {known}" if close else known)
        self.name = name


def require_executor(name: str) -> Executor:
    """Find a kind of worker by its name; raises UnknownExecutor."""
    try:
        return EXECUTORS[name]
    except KeyError:
        raise UnknownExecutor(name) from None
