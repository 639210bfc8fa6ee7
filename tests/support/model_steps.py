"""What a scripted model answers: one `Step` for one request, built by the small functions below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


class ScriptError(ValueError):
    """A script asks for what cannot be answered; the worker is told with a status 400."""


@dataclass(frozen=True, slots=True)
class Say:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class Shell:
    """A command for the worker's shell tool."""

    command: str


@dataclass(frozen=True, slots=True)
class Patch:
    """A text for codex's apply_patch tool."""

    text: str


@dataclass(frozen=True, slots=True)
class Write:
    """A file for the worker's edit tool."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Done:
    """The end event, as it should be."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Silence until the server is released."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A closed stream."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An error event in place of the end event."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP status in place of a stream."""

    code: int
    headers: tuple[tuple[str, str], ...]
    body: str | None


Item: TypeAlias = Say | Shell | Patch | Write
Ending: TypeAlias = Done | Hang | Cut | Failed | Status


@dataclass(frozen=True, slots=True)
class Step:
    """One answer: items, then an ending. `a + b` is one answer too, with both items and the ending of `b`."""

    items: tuple[Item, ...] = ()
    ending: Ending = Done()

    def __add__(self, later: Step) -> Step:
        if not isinstance(self.ending, Done):
            raise ScriptError("nothing can follow an ending")
        if isinstance(later.ending, Status):
            raise ScriptError("a status is an answer of its own")
        return Step(self.items + later.items, later.ending)


def say(text: str) -> Step:
    """Answer with words."""
    return Step((Say(text),))


def shell(command: str) -> Step:
    """Run a shell command in the worker's folder."""
    return Step((Shell(command),))


def patch(text: str) -> Step:
    """Apply a `*** Begin Patch` text (codex only)."""
    return Step((Patch(text),))


def write(path: str, content: str) -> Step:
    """Create a file with the program's own edit tool; `path` counts from the worker's folder."""
    return Step((Write(path, content),))


def status(code: int, headers: Mapping[str, str] | None = None, body: str | None = None) -> Step:
    """Answer with this HTTP status and no stream; without `body`, an error in the shape of the API."""
    return Step((), Status(code, tuple((headers or {}).items()), body))


def hang() -> Step:
    """Fall silent until the server is released: alone before the status line, after items in mid-stream."""
    return Step((), Hang())


def fail(code: str, message: str) -> Step:
    """End the stream with an error event."""
    return Step((), Failed(code, message))


def cut() -> Step:
    """Close the stream without its end event."""
    return Step((), Cut())
