"""Workers that are ``claude -p`` (2.1): how to start one, what its events say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gitprun.executors.base import Ending, EndingState, Launch, Progress, WorkerPaths, cut_short, make_ending, note
from gitprun.executors.claude_events import EVENTS, event_progress, is_synthetic, spoken, used_tokens, waiting
from gitprun.executors.limits import ServiceLimit, find_limit, limit_of
from gitprun.executors.lines import (
    number_at,
    object_at,
    objects_at,
    one_line,
    parse_object,
    plain_text,
    text_at,
    whole_text,
)
from gitprun.model.units import ExecutorSettings, Exit, Sandbox, Unit

# The repository's MCP servers and hooks would run unasked under -p: the trust question is skipped there.
_ISOLATED = ("--strict-mcp-config", "--setting-sources", "user")
# claude has no sandbox, only permissions. dontAsk alone still obeys what the user's settings allow, and
# plan lets allowed shell commands through and answers with a plan: so whatever writes is taken away
# (Glob and Grep come in place of the shell). acceptEdits denies the shell, bypassPermissions nothing.
_PERMISSIONS: Final[dict[Sandbox, tuple[str, ...]]] = {
    "read-only": ("--permission-mode", "dontAsk", "--disallowedTools", "Bash,Edit,Write,NotebookEdit"),
    "workspace-write": ("--permission-mode", "acceptEdits"),
    "danger-full-access": ("--permission-mode", "bypassPermissions"),
}
# In seconds: the guard answers in less than one; a machine under load may take its time, and claude waits meanwhile.
GUARD_TIMEOUT = 20
# Any words before the slash will do.
_NOT_A_COMMAND = "Do what follows.\n\n"


class Claude:
    """Starts ``claude -p`` with the prompt on stdin and reads its events."""

    name = "claude"
    default_program = "claude"

    def launch(self, unit: Unit, prompt: str, place: WorkerPaths, settings: ExecutorSettings) -> Launch:
        """Return how to start claude; its working folder is the folder of the process."""
        program = settings.program or self.default_program
        argv = (
            *(program, "-p", "--model", unit.model or "sonnet", "--output-format", "stream-json", "--verbose"),
            *(("--effort", unit.reasoning) if unit.reasoning else ()),
            *_PERMISSIONS[unit.sandbox],
            *(_ISOLATED if settings.isolate else ()),
            *_guarded(settings.args, place.guard),
        )
        # A prompt that begins with a slash is a command to claude: unknown, it ends at once with code 0.
        text = _NOT_A_COMMAND + prompt if prompt.lstrip().startswith("/") else prompt
        stdin = text.encode("utf-8", "replace")
        return Launch(argv=argv, env=settings.env, stdin=stdin, program=program)

    def state(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """List the folder of its sessions and settings, and the file beside it; logs go to a cache."""
        home = env.get("HOME", "")
        logs = f"{env.get('XDG_CACHE_HOME') or f'{home}/.cache'}/claude-cli-nodejs"
        own = env.get("CLAUDE_CONFIG_DIR")
        return (own, logs) if own else (f"{home}/.claude", f"{home}/.claude.json", logs)

    def progress(self, line: bytes) -> Progress | None:
        """Return what one line of output means."""
        event = parse_object(line)
        if event is not None:
            return event_progress(event)
        limit = find_limit(plain_text(line))
        return note("waiting", limit.reason) if limit else None

    def ending(self, lines: Iterable[bytes], outcome: Exit) -> Ending:
        """Return how the work ended: only the ``result`` event knows, and all of its fields must agree."""
        heard = _read_log(lines)
        state, reason, limit = _judge(heard, outcome)
        tokens = used_tokens(heard.result) if heard.result else None
        return make_ending(state, reason, limit, thread=heard.thread, tokens=tokens, message=heard.message)


def _guarded(args: tuple[str, ...], guard: str) -> tuple[str, ...]:
    """Have claude ask the guard before each use of its shell.

    Of two ``--settings`` claude takes the last alone, so the user's are joined with; a file of the user's stands alone.
    """
    if not guard:
        return args
    words = [part for word in args for part in (word.split("=", 1) if word.startswith("--settings=") else (word,))]
    at = words.index("--settings") + 1 if "--settings" in words[:-1] else 0
    said = parse_object(words[at].encode("utf-8", "replace")) if at else {}
    # Settings of the user's that are a file, or broken: claude is to see just those.
    if said is None:
        return args
    hooks, ours = object_at(said, "hooks"), {"type": "command", "command": guard, "timeout": GUARD_TIMEOUT}
    asked = [*objects_at(hooks, "PreToolUse"), {"matcher": "Bash", "hooks": [ours]}]
    joined = json.dumps({**said, "hooks": {**hooks, "PreToolUse": asked}})
    return (*words[:at], joined, *words[at + 1 :]) if at else ("--settings", joined, *args)


@dataclass(slots=True)
class _ClaudeLog:
    """What matters of the lines read so far; ``limit`` and ``waits`` only while no work followed them."""

    events: bool = False
    thread: str | None = None
    message: str = ""
    result: dict[str, object] | None = None
    own_words: bool = True
    limit: ServiceLimit | None = None
    waits: str = ""
    plain: str = ""


def _read_log(lines: Iterable[bytes]) -> _ClaudeLog:
    heard = _ClaudeLog()
    for line in lines:
        event = parse_object(line)
        if event is None:
            text = plain_text(line)
            heard.limit = find_limit(text) or heard.limit
            heard.plain = one_line(text) or heard.plain
        elif (kind := text_at(event, "type")) in EVENTS:
            heard.events = True
            heard.thread = one_line(text_at(event, "session_id")) or heard.thread
            _read_event(heard, kind, event)
        elif kind == "error" or "error" in event:
            heard.events = True
            heard.limit = limit_of(event) or heard.limit
    return heard


def _read_event(heard: _ClaudeLog, kind: str, event: dict[str, object]) -> None:
    if kind == "assistant" and is_synthetic(event):
        heard.own_words = False
    elif kind in ("assistant", "user"):
        # Work that goes on means that the limit is over.
        heard.own_words, heard.limit, heard.waits = True, None, ""
        if kind == "assistant":
            heard.message = whole_text(spoken(event)) or heard.message
    elif kind == "result":
        heard.result = event
        # Else the result quotes claude's own complaint in the place of the worker's words.
        if heard.own_words and event.get("is_error") is False:
            heard.message = whole_text(text_at(event, "result")) or heard.message
    elif said := waiting(event):
        heard.limit, heard.waits = find_limit(said), said


def _judge(heard: _ClaudeLog, outcome: Exit) -> tuple[EndingState, str, ServiceLimit | None]:
    if cut := cut_short(outcome):
        return "failed", one_line(f"{cut}; waiting: {heard.waits}" if heard.waits else cut), None
    if heard.result is not None:
        return _judge_result(heard.result, heard.own_words, outcome)
    if heard.limit:
        return "rate-limited", heard.limit.reason, heard.limit
    if outcome.code == 0 and not heard.events:
        return "unknown", "exit code 0 without any event of claude", None
    return "failed", one_line(f"exit code {outcome.code}: {heard.plain or 'no result'}"), None


def _judge_result(
    result: dict[str, object], own_words: bool, outcome: Exit
) -> tuple[EndingState, str, ServiceLimit | None]:
    said, failed = text_at(result, "result"), result.get("is_error") is not False
    asked = {"message": said, "api_error_status": result.get("api_error_status")}
    # What the worker itself said about limits is no limit; what claude said in its place is.
    if (failed or not own_words) and (limit := limit_of(asked)):
        return "rate-limited", limit.reason, limit
    if failed or text_at(result, "subtype") != "success":
        return "failed", one_line(said or _listed_errors(result) or "the result is an error without words"), None
    if number_at(result, "num_turns") == 0:
        return "failed", one_line(f"the prompt was taken as a command: {said}"), None
    # A connection lost in the middle leaves null here and a success everywhere else (claude 2.1.197).
    if (stop := text_at(result, "stop_reason")) != "end_turn":
        return "failed", one_line(f"the answer is cut off (stop_reason {stop or 'missing'})"), None
    if outcome.code != 0:
        return "failed", f"exit code {outcome.code} although the result is a success", None
    return "done", _denials(result), None


def _denials(result: dict[str, object]) -> str:
    """Return what claude was not allowed to do: nothing else in the result tells."""
    denied = [text_at(denial, "tool_name") or "?" for denial in objects_at(result, "permission_denials")]
    uses = "1 tool use" if len(denied) == 1 else f"{len(denied)} tool uses"
    return one_line(f"{uses} denied: {', '.join(dict.fromkeys(denied))}") if denied else ""


def _listed_errors(result: dict[str, object]) -> str:
    errors = result.get("errors")
    listed = [entry for entry in errors if isinstance(entry, str)] if isinstance(errors, list) else []
    return "; ".join([text_at(result, "subtype"), *listed]).removeprefix("; ")
