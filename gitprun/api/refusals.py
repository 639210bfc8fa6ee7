"""What is published of what was not done: an error of a command, a unit that was passed over."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a command was not done: the message, how to go on, the exit code (also as ``code``)."""

    error: str
    hint: str
    exit_code: int
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReason:
    """A unit, and why it is not among those that were asked for."""

    unit: str
    reason: str
