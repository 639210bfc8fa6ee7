"""What the items in the events of codex mean to people: messages, commands, edits, searches, plans."""

from __future__ import annotations

import re
from typing import Literal

from gitprun.executors.base import Progress, note
from gitprun.executors.lines import number_at, objects_at, shown_path, text_at

_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh -l?c (.*)", re.DOTALL)


def item_progress(kind: str, item: dict[str, object]) -> Progress | None:
    """Return what an ``item.*`` event means; a command and a call show when they start."""
    started, completed = kind == "item.started", kind == "item.completed"
    match text_at(item, "type"):
        case "agent_message" if completed:
            return _spoken("said", item)
        case "reasoning" if completed:
            return _spoken("thinking", item)
        case "command_execution":
            return _command(started, completed, item)
        case "file_change" if completed:
            return _edit(item)
        case "web_search" if started:
            return note("ran", f"web search: {text_at(item, 'query')}")
        case "mcp_tool_call" | "collab_tool_call" if started:
            return note("ran", f"{text_at(item, 'server')} {text_at(item, 'tool')}")
        case "todo_list":
            return _steps(item)
        case "error":
            # A warning about the configuration comes this way on good runs too.
            return note("error", text_at(item, "message"))
    return None


def _spoken(kind: Literal["said", "thinking"], item: dict[str, object]) -> Progress | None:
    progress = note(kind, text_at(item, "text"))
    return progress if progress.text else None


def _command(started: bool, completed: bool, item: dict[str, object]) -> Progress | None:
    command = _bare_command(text_at(item, "command"))
    if started:
        return note("ran", command)
    code, status = number_at(item, "exit_code"), text_at(item, "status")
    if not completed or code == 0 or (code is None and status == "completed"):
        return None
    return note("ran", f"{status or 'failed'}: {command}" if code is None else f"exit {code}: {command}")


def _bare_command(command: str) -> str:
    """Take off the shell that codex wraps around every command."""
    # DOTALL: a command may be a whole script.
    wrapped = _SHELL.fullmatch(command)
    inner = wrapped[1] if wrapped else command
    return inner[1:-1] if len(inner) > 1 and inner[0] == inner[-1] == "'" else inner


def _edit(item: dict[str, object]) -> Progress:
    changes = objects_at(item, "changes")
    said = ", ".join(f"{text_at(change, 'kind')} {shown_path(text_at(change, 'path'))}" for change in changes)
    if text_at(item, "status") == "failed":
        return note("error", f"edit failed: {said}")
    return note("edited", said)


def _steps(item: dict[str, object]) -> Progress | None:
    steps = objects_at(item, "items")
    open_steps = [text_at(step, "text") for step in steps if step.get("completed") is not True]
    done = len(steps) - len(open_steps)
    return note("thinking", f"plan {done}/{len(steps)}: {[*open_steps, 'all done'][0]}") if steps else None
