"""What the events of claude mean to people: messages, tools used, retries, the result."""

from __future__ import annotations

from gitprun.executors.base import Progress, note
from gitprun.executors.limits import find_limit
from gitprun.executors.lines import number_at, object_at, objects_at, shown_path, sum_at, text_at

EVENTS = frozenset({"system", "assistant", "user", "result", "rate_limit_event", "stream_event"})

# Unlike with codex, the cached tokens are not counted within input_tokens.
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})


def event_progress(event: dict[str, object]) -> Progress | None:
    """Return what one event means, None where it means nothing to people."""
    match text_at(event, "type"):
        case "assistant":
            return _assistant(event)
        case "user":
            return _failed_tool(event)
        case "result":
            return _result(event)
        case "system" if text_at(event, "subtype") == "init":
            return note("started", f"{text_at(event, 'model')} session {text_at(event, 'session_id')}")
        case "error":
            return note("error", text_at(event, "message") or text_at(object_at(event, "error"), "message"))
    said = waiting(event)
    return note("waiting", said) if said else None


def waiting(event: dict[str, object]) -> str:
    """Return what claude waits for before it asks the service again, empty for all other events."""
    if text_at(event, "type") == "rate_limit_event":
        # The same event tells of limits that are only near, or of none at all.
        told = object_at(event, "rate_limit_info")
        rejected = text_at(told, "status") == "rejected"
        return f"rate limit: {text_at(told, 'rateLimitType') or 'rejected'}" if rejected else ""
    if text_at(event, "type") != "system" or text_at(event, "subtype") != "api_retry":
        return ""
    tries = f"{number_at(event, 'attempt')}/{number_at(event, 'max_retries')}"
    status = number_at(event, "error_status")
    return f"retry {tries}: {text_at(event, 'error')}{'' if status is None else f', status {status}'}"


def is_synthetic(event: dict[str, object]) -> bool:
    """Check whether claude itself wrote an assistant message, in place of the model."""
    return text_at(object_at(event, "message"), "model") == "<synthetic>"


def spoken(event: dict[str, object]) -> str:
    """Take the text out of an assistant message, empty for one of a subordinate conversation."""
    if text_at(event, "parent_tool_use_id"):
        return ""
    blocks = objects_at(object_at(event, "message"), "content")
    return "\n".join(text_at(block, "text") for block in blocks if text_at(block, "type") == "text")


def used_tokens(result: dict[str, object]) -> int | None:
    """Count the tokens of the whole session, cached ones included as codex does."""
    return sum_at(object_at(result, "usage"), _USAGE)


def _assistant(event: dict[str, object]) -> Progress | None:
    blocks = objects_at(object_at(event, "message"), "content")
    if is_synthetic(event):
        said = spoken(event)
        return note("waiting" if find_limit(said) else "error", said)
    shown = (progress for block in blocks if (progress := _block(block)) is not None and progress.text)
    return next(shown, None)


def _block(block: dict[str, object]) -> Progress | None:
    match text_at(block, "type"):
        case "text":
            return note("said", text_at(block, "text"))
        case "thinking":
            return note("thinking", text_at(block, "thinking"))
        case "tool_use":
            return _tool(text_at(block, "name"), object_at(block, "input"))
    return None


def _tool(name: str, given: dict[str, object]) -> Progress:
    about = tool_object(name, given)
    if name == "Bash":
        return note("ran", about)
    return note("edited" if name in EDITS else "ran", f"{name} {about}")


def tool_object(name: str, given: dict[str, object]) -> str:
    """Return what a tool is used on: a command, a path, a pattern, a query, an address."""
    if name == "Bash":
        return text_at(given, "command")
    path = shown_path(text_at(given, "file_path") or text_at(given, "notebook_path"))
    return path or text_at(given, "pattern") or text_at(given, "query") or text_at(given, "url")


def _failed_tool(event: dict[str, object]) -> Progress | None:
    for block in objects_at(object_at(event, "message"), "content"):
        if text_at(block, "type") == "tool_result" and block.get("is_error") is True:
            parts = (text_at(part, "text") for part in objects_at(block, "content"))
            return note("ran", f"failed: {text_at(block, 'content') or ' '.join(parts)}")
    return None


def _result(event: dict[str, object]) -> Progress:
    if event.get("is_error") is not False:
        return note("ended", f"failed: {text_at(event, 'result') or text_at(event, 'subtype')}")
    turns, tokens = number_at(event, "num_turns"), used_tokens(event)
    return note("ended", f"{turns or 0} turns, {tokens or 0} tokens")
