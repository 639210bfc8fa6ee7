"""One compact line for each thing a worker did, from the events of ``codex exec --json`` and ``claude`` stream-json.

Tags: [START] [TURN>] [CMD>] [CMD✓] [CMD✗] [EDIT] [THINK] [SAID] [ITEM>] [ITEM<] [TURN<] [ERR] [OUT] [?]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, get_args

from gitprun.executors import claude_events
from gitprun.executors.limits import error_text, unpacked
from gitprun.executors.lines import (
    number_at,
    object_at,
    objects_at,
    parse_object,
    plain_text,
    shown_path,
    sum_at,
    text_at,
    visible,
)
from gitprun.model.escapes import readable

Level = Literal["minimal", "normal", "verbose"]
LEVELS: Final[tuple[str, ...]] = get_args(Level)
MINIMAL, NORMAL, VERBOSE = range(3)
# The second seed's, as its filter had it.
DEFAULT_LENGTH = 200
# Where the lines are all that is left of what a worker said.
LONG_LENGTH = 4000
# A longer line is cut by the reader and can only be shown by its beginning. codex caps output at 1 MiB, which JSON
# may write six times as long.
LONGEST_LINE = 8 << 20

# What a program says about its own trouble beside its events; codex says "503" and "rate limit" there.
# Not `verify_errors=0`: that is a figure, and what exec prints at the end of every good log.
_TROUBLE = re.compile(
    r"(?<!verify_)error|verify_errors=[1-9?]|fatal|panicked|failed|rate limit|too many requests|\b(?:429|503)\b",
    re.IGNORECASE,
)
_EXIT_CODE = re.compile(r"Exit code (\d{1,3})\b\s*")
# Calls of tools whose end has not come; a stream that never ends any must not fill the memory.
_MOST_OPEN = 1000
# Enough to tell threads apart by eye, as git's short names do.
_SHORT_ID = 8
_CODEX_USAGE = (("in", ("input_tokens",)), ("out", ("output_tokens",)), ("cached", ("cached_input_tokens",)))
# claude counts what came from its cache apart, codex within.
_CLAUDE_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CLAUDE_USAGE = (("in", _CLAUDE_INPUT), ("out", ("output_tokens",)), ("cached", ("cache_read_input_tokens",)))

# How much must be wanted for a line to be shown, and the line.
Row = tuple[int, str]


def readable_output(output: bytes) -> str:
    """Return what a worker printed as lines to be read: events in short, all else without terminal sequences."""
    compactor, said = Compactor("verbose", LONG_LENGTH), []
    # What was dropped out of the middle of a long output is a hole in its file, which reads as zeros.
    for line in output.replace(b"\0", b"").split(b"\n"):
        event = parse_object(line)
        rows = compactor.render(line) if event is not None and text_at(event, "type") else []
        said += rows if rows and not rows[0].startswith("[?]") else [readable(plain_text(line))]
    return "\n".join(said)


class Compactor:
    """Turns lines of output into compact lines; remembers only which tools of claude are still at work.

    ``failed`` tells how the last turn ended: None as long as none did.
    """

    def __init__(self, level: str = "normal", length: int = DEFAULT_LENGTH) -> None:
        self.rank, self.length = LEVELS.index(level), length
        self.failed: bool | None = None
        self._open: dict[str, tuple[str, str]] = {}

    def render(self, line: bytes) -> list[str]:
        """Return the compact lines for one line of output, mostly one or none; never raises."""
        return [text for rank, text in self._rows(line) if rank <= self.rank]

    def _rows(self, line: bytes) -> Iterator[Row]:
        event = parse_object(line)
        if event is None:
            yield from self._plain(line)
            return
        kind = text_at(event, "type")
        if kind == "turn.failed":
            self.failed = True
            yield MINIMAL, f"[ERR] turn failed: {self._error(event)}"
        elif kind == "error" or kind.endswith(".error") or (not kind and "error" in event):
            yield MINIMAL, f"[ERR] {self._error(event)}"
        elif kind.startswith(("thread.", "turn.", "item.")):
            yield from self._codex(kind, event)
        elif kind in claude_events.EVENTS:
            yield from self._claude(kind, event)
        else:
            yield VERBOSE, f"[?] {self._cut(kind or 'an object without a type')}"

    def _plain(self, line: bytes) -> Iterator[Row]:
        text = self._cut(plain_text(line[: self._window]))
        if len(line) >= LONGEST_LINE:
            yield NORMAL, f"[OUT] {text}"
        elif text and not text.startswith("{") and _TROUBLE.search(text):
            yield MINIMAL, f"[ERR] {text}"
        elif text:
            yield VERBOSE, f"[OUT] {text}"

    def _codex(self, kind: str, event: dict[str, object]) -> Iterator[Row]:
        item = object_at(event, "item")
        if kind == "thread.started":
            yield MINIMAL, f"[START] thread={self._cut(text_at(event, 'thread_id'))[:_SHORT_ID]}"
        elif kind == "turn.started":
            yield NORMAL, "[TURN>] model-turn begin"
        elif kind == "turn.completed":
            self.failed = False
            yield MINIMAL, f"[TURN<] tokens: {_usage(event, _CODEX_USAGE)}"
        elif kind == "item.started":
            yield self._item_started(text_at(item, "type"), item)
        elif kind in ("item.completed", "item.updated"):
            yield from self._item_ended(kind, text_at(item, "type"), item)
        else:
            yield VERBOSE, f"[?] {self._cut(kind)}"

    def _item_started(self, sort: str, item: dict[str, object]) -> Row:
        if sort == "command_execution":
            return MINIMAL, f"[CMD>] {self._cut(text_at(item, 'command'))}"
        about = text_at(item, "query") or " ".join(filter(None, (text_at(item, "server"), text_at(item, "tool"))))
        return NORMAL, f"[ITEM>] {self._cut(sort)} starting" + (f": {self._cut(about)}" if about else "")

    def _item_ended(self, kind: str, sort: str, item: dict[str, object]) -> Iterator[Row]:
        if kind == "item.updated" and sort != "todo_list":
            yield VERBOSE, f"[?] {kind} {self._cut(sort)}"
        elif sort == "command_execution":
            code, status = number_at(item, "exit_code"), text_at(item, "status")
            good = code == 0 or (code is None and status in ("", "completed"))
            how = "exit=0" if good else f"exit={code}" if code is not None else self._cut(status)
            yield self._ran(good, how, text_at(item, "command"), text_at(item, "aggregated_output"))
        elif sort == "reasoning":
            yield NORMAL, f"[THINK] {self._first(text_at(item, 'text'))}"
        elif sort == "agent_message":
            yield MINIMAL, f"[SAID] {self._first(text_at(item, 'text'))}"
        elif sort == "file_change":
            changes = objects_at(item, "changes")
            said = ", ".join(f"{text_at(row, 'kind')} {shown_path(text_at(row, 'path'))}" for row in changes)
            yield self._edited(text_at(item, "status") != "failed", said)
        elif sort == "error":
            yield MINIMAL, f"[ERR] {self._error(item)}"
        elif sort == "todo_list":
            steps = objects_at(item, "items")
            done = sum(step.get("completed") is True for step in steps)
            yield VERBOSE, f"[ITEM<] todo_list {done}/{len(steps)}"
        else:
            yield VERBOSE, f"[ITEM<] {self._cut(sort)}"

    def _claude(self, kind: str, event: dict[str, object]) -> Iterator[Row]:
        blocks = objects_at(object_at(event, "message"), "content")
        if kind == "system" and text_at(event, "subtype") == "init":
            session, model = text_at(event, "session_id"), text_at(event, "model")
            yield MINIMAL, f"[START] session={self._cut(session)[:_SHORT_ID]} model={self._cut(model)}"
        elif kind == "assistant" and claude_events.is_synthetic(event):
            yield MINIMAL, f"[ERR] {self._first(claude_events.spoken(event))}"
        elif kind == "assistant":
            for block in blocks:
                yield from self._block(text_at(block, "type"), block)
        elif kind == "user":
            for block in blocks:
                yield from self._tool_ended(block) if text_at(block, "type") == "tool_result" else ()
        elif kind == "result":
            yield from self._claude_ended(event)
        elif said := claude_events.waiting(event):
            yield MINIMAL, f"[ERR] {self._cut(said)}"
        elif kind == "system":
            yield VERBOSE, f"[?] system {self._cut(text_at(event, 'subtype'))}"

    def _block(self, sort: str, block: dict[str, object]) -> Iterator[Row]:
        if sort == "text" and text_at(block, "text").strip():
            yield MINIMAL, f"[SAID] {self._first(text_at(block, 'text'))}"
        elif sort == "thinking" and text_at(block, "thinking").strip():
            yield NORMAL, f"[THINK] {self._first(text_at(block, 'thinking'))}"
        elif sort == "tool_use":
            name, given = text_at(block, "name"), object_at(block, "input")
            about = claude_events.tool_object(name, given)
            if len(self._open) >= _MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._open[text_at(block, "id")] = name, about[: self._window]
            if name == "Bash":
                yield MINIMAL, f"[CMD>] {self._cut(about)}"
            elif name not in claude_events.EDITS:
                yield NORMAL, f"[ITEM>] {self._cut(f'{name} {about}')}"

    def _tool_ended(self, block: dict[str, object]) -> Iterator[Row]:
        name, about = self._open.pop(text_at(block, "tool_use_id"), ("", ""))
        parts = (text_at(part, "text") for part in objects_at(block, "content"))
        good, said = block.get("is_error") is not True, text_at(block, "content") or " ".join(parts)
        if name == "Bash":
            code = None if good else _EXIT_CODE.match(said)
            how = "exit=0" if good else f"exit={code[1]}" if code else "failed"
            yield self._ran(good, how, about, said[code.end() :] if code else said)
        elif name in claude_events.EDITS:
            yield self._edited(good, f"{'write' if name == 'Write' else 'update'} {about}")
        elif not good:
            yield NORMAL, f"[ERR] {self._cut(f'{name} {about}'.strip() or 'a tool')}: {self._cut(said)}"
        elif name:
            yield VERBOSE, f"[ITEM<] {self._cut(f'{name} {about}')}"

    def _claude_ended(self, event: dict[str, object]) -> Iterator[Row]:
        self.failed = event.get("is_error") is not False
        if self.failed:
            said = text_at(event, "result") or text_at(event, "subtype") or "the result is an error without words"
            yield MINIMAL, f"[ERR] failed: {self._cut(said)}"
            return
        denied = dict.fromkeys(text_at(row, "tool_name") for row in objects_at(event, "permission_denials"))
        end = f" denied={self._cut(','.join(denied))}" if denied else ""
        yield MINIMAL, f"[TURN<] tokens: {_usage(event, _CLAUDE_USAGE)}{end}"

    def _ran(self, good: bool, how: str, command: str, output: str) -> Row:
        """Return how a command ended; of its output the end is shown, where the reason mostly stands."""
        shown = f"{self._cut(command)} :: {self._tail(output)}"
        if not good:
            return MINIMAL, f"[CMD✗] {how} {shown}"
        return MINIMAL, f"[CMD✓] {shown}" if self.rank == VERBOSE else f"[CMD✓] exit=0 {self._cut(command)}"

    def _edited(self, good: bool, said: str) -> Row:
        return (NORMAL, f"[EDIT] {self._cut(said)}") if good else (MINIMAL, f"[ERR] edit failed: {self._cut(said)}")

    def _error(self, event: dict[str, object]) -> str:
        """Return what is wrong; where no message is found, whatever the event holds is better than nothing."""
        held = (f"{key}={value}" for key, value in event.items() if isinstance(value, str | int | float))
        return self._cut(unpacked(error_text(event))) or self._cut(" ".join(held)) or "without words"

    @property
    def _window(self) -> int:
        # Enough to fill the shown part whatever is stripped.
        return 8 * self.length + 4096

    def _first(self, text: str) -> str:
        """Take the first line that is not blank."""
        return self._cut(next((line for line in text.split("\n") if line.strip()), ""))

    def _cut(self, text: str) -> str:
        line = visible(text[: self._window])
        return line if len(line) <= self.length else line[: self.length] + "…"

    def _tail(self, text: str) -> str:
        line = visible(text[-self._window :])
        return line if len(line) <= self.length else "…" + line[-self.length :]


def _usage(event: dict[str, object], kinds: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    used = object_at(event, "usage")
    found = ((name, sum_at(used, keys)) for name, keys in kinds)
    return " ".join(f"{name}={'?' if number is None else number}" for name, number in found)
