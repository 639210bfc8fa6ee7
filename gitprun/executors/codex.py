"""Workers that are ``codex exec`` (0.121 to 0.171): how to start one, what its events say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gitprun.executors.base import Ending, EndingState, Launch, Progress, WorkerPaths, cut_short, make_ending, note
from gitprun.executors.codex_items import item_progress
from gitprun.executors.limits import ServiceLimit, error_text, find_limit, limit_of, readable
from gitprun.executors.lines import object_at, one_line, parse_object, plain_text, sum_at, text_at, whole_text
from gitprun.model.units import ExecutorSettings, Exit, Unit

# Keeps out the user's config.toml with its MCP servers, and every skill: the user's, the repository's,
# the bundled ones. ``-c mcp_servers={}`` would not do: tables merge and the servers start. AGENTS.md stays.
_ISOLATED = ("--ignore-user-config", "-c", "skills.include_instructions=false")
# The sandbox lets a worker write /tmp and $TMPDIR: from there it could reach a repository that lies in /tmp.
_OWN_TMP = ("-c", "sandbox_workspace_write.exclude_slash_tmp=true")
_EVENTS = ("thread.", "turn.", "item.")


class Codex:
    """Starts ``codex exec --json`` with the prompt on stdin and reads its events."""

    name = "codex"
    default_program = "codex"

    def launch(self, unit: Unit, prompt: str, place: WorkerPaths, settings: ExecutorSettings) -> Launch:
        """Return how to start codex; its working folder is the folder of the process."""
        program = settings.program or self.default_program
        argv = (
            *(program, "exec", "--json", "-o", place.last_message, "--skip-git-repo-check"),
            *(_ISOLATED if settings.isolate else ()),
            *("-s", unit.sandbox),
            # Only where it has a folder of its own: without any a program that needs one would fail.
            *(_OWN_TMP if place.temporary else ()),
            *(("-m", unit.model) if unit.model else ()),
            *(("-c", f"model_reasoning_effort={json.dumps(unit.reasoning)}") if unit.reasoning else ()),
            *settings.args,
            # The one form that takes any length and any first word, and never waits for more input.
            "-",
        )
        stdin = prompt.encode("utf-8", "replace")
        temporary = (("TMPDIR", place.temporary),) if place.temporary else ()
        env = (*temporary, *settings.env)
        return Launch(argv=argv, env=env, stdin=stdin, program=program)

    def state(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """List the folder of its sessions and settings."""
        return (env.get("CODEX_HOME") or f"{env.get('HOME', '')}/.codex",)

    def resume(self, launch: Launch, thread: str, prompt: str) -> Launch:
        """Turn a launch into one that goes on with a thread; an id that is not there is exit code 1 and no event."""
        argv = (*launch.argv[:-1], "resume", thread, launch.argv[-1])
        return replace(launch, argv=argv, stdin=prompt.encode("utf-8", "replace"))

    def progress(self, line: bytes) -> Progress | None:
        """Return what one line of output means."""
        event = parse_object(line)
        if event is None:
            limit = find_limit(plain_text(line))
            return note("waiting", limit.reason) if limit else None
        kind = text_at(event, "type")
        if kind == "thread.started":
            return note("started", f"thread {text_at(event, 'thread_id')}")
        if kind.startswith("item."):
            return item_progress(kind, object_at(event, "item"))
        if kind == "error":
            return _error_progress(event)
        if kind == "turn.completed":
            tokens = _tokens(event)
            return note("ended", "turn completed" if tokens is None else f"turn completed, {tokens} tokens")
        if kind == "turn.failed":
            return note("ended", f"turn failed: {readable(error_text(event))}")
        return None

    def ending(self, lines: Iterable[bytes], outcome: Exit) -> Ending:
        """Return how the work ended: the exit code tells the health of the protocol, the last turn the rest."""
        heard = _read_log(lines)
        state, reason, limit = _judge(heard, outcome)
        return make_ending(state, reason, limit, thread=heard.thread, tokens=heard.tokens, message=heard.message)


def _error_progress(event: dict[str, object]) -> Progress:
    limit, said = limit_of(event), readable(error_text(event))
    # No ``error`` event is fatal: codex goes on by itself unless ``turn.failed`` follows.
    waits = limit is not None or said.startswith("Reconnecting")
    return note("waiting" if waits else "error", limit.reason if limit else said or "error")


def _tokens(event: dict[str, object]) -> int | None:
    """Count the tokens of the whole thread; cached and reasoning ones are parts of these two."""
    return sum_at(object_at(event, "usage"), ("input_tokens", "output_tokens"))


@dataclass(slots=True)
class _CodexLog:
    """What matters of the lines read so far; ``limit`` and ``error`` only while no work followed them."""

    events: bool = False
    thread: str | None = None
    tokens: int | None = None
    message: str = ""
    completed: bool = False
    failure: dict[str, object] | None = None
    limit: ServiceLimit | None = None
    error: str = ""
    plain: str = ""


def _read_log(lines: Iterable[bytes]) -> _CodexLog:
    heard = _CodexLog()
    for line in lines:
        event = parse_object(line)
        if event is None:
            text = plain_text(line)
            heard.limit = find_limit(text) or heard.limit
            heard.plain = one_line(text) or heard.plain
            continue
        kind = text_at(event, "type")
        if kind == "error" or (not kind and "error" in event):
            heard.events = True
            heard.limit = limit_of(event) or heard.limit
            heard.error = readable(error_text(event)) or heard.error
        elif kind.startswith(_EVENTS):
            heard.events = True
            _read_event(heard, kind, event)
    return heard


def _read_event(heard: _CodexLog, kind: str, event: dict[str, object]) -> None:
    if kind == "thread.started":
        heard.thread = one_line(text_at(event, "thread_id")) or heard.thread
    elif kind == "turn.completed":
        # A later turn counts: codex itself begins one anew after a failure it got over.
        heard.completed, heard.failure = True, None
        tokens = _tokens(event)
        heard.tokens = heard.tokens if tokens is None else tokens
    elif kind == "turn.failed":
        heard.completed, heard.failure = False, event
    elif kind.startswith("item."):
        _read_item(heard, kind, object_at(event, "item"))


def _read_item(heard: _CodexLog, kind: str, item: dict[str, object]) -> None:
    sort = text_at(item, "type")
    # Work that follows an error means that codex got over it: it is not why the worker ended.
    if sort != "error":
        heard.limit, heard.error = None, ""
    if sort == "agent_message" and kind == "item.completed":
        heard.message = whole_text(text_at(item, "text"))


def _judge(heard: _CodexLog, outcome: Exit) -> tuple[EndingState, str, ServiceLimit | None]:
    if cut := cut_short(outcome):
        return "failed", one_line(f"{cut}; last error: {heard.error}" if heard.error else cut), None
    if heard.failure is not None:
        if limit := limit_of(heard.failure):
            return "rate-limited", limit.reason, limit
        return "failed", readable(error_text(heard.failure)) or "the turn failed without a message", None
    if heard.completed:
        if outcome.code == 0:
            return "done", "", None
        return "failed", f"exit code {outcome.code} although the turn completed", None
    if heard.limit:
        return "rate-limited", heard.limit.reason, heard.limit
    # A stand-in, or a version that prints something else: nobody can say that it failed.
    if outcome.code == 0 and not heard.events:
        return "unknown", "exit code 0 without any event of codex", None
    why = heard.error or heard.plain or "no turn completed"
    return "failed", one_line(f"exit code {outcome.code}: {why}"), None
