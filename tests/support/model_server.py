"""A scripted model on loopback, for which the real `codex` and `claude` work offline and without a key.

    with ModelServer({"u1": [shell("echo hi > a.txt"), say("done")]}) as server:
        ...  # run codex with the base URL server.codex_url("u1")

Each model request takes the next step of its script; the last step repeats. Workers that must share one
base URL use the id `BY_PROMPT`: there the last line `MODEL-SCRIPT: <name>` of the user's input names the
script, and each session of a program starts it afresh.
"""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

from tests.support.model_apis import Api, Json, error_body, stream_events, user_texts
from tests.support.model_steps import (
    Hang,
    ScriptError,
    Status,
    Step,
    cut,
    fail,
    hang,
    patch,
    say,
    shell,
    status,
    write,
)

__all__ = [
    "BY_PROMPT",
    "ModelServer",
    "Request",
    "Step",
    "cut",
    "fail",
    "hang",
    "patch",
    "say",
    "shell",
    "status",
    "write",
]

BY_PROMPT = "by-prompt"

_SCRIPT_LINE = re.compile(r"^[ \t]*MODEL-SCRIPT:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_MODEL_PATH = re.compile(r"/([^/?]+)/v1/(responses|messages)(?:\?.*)?")
_SESSION_HEADERS = ("thread-id", "session-id", "x-claude-code-session-id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One model request: whose it is, its number within the script (from 0), and what was sent."""

    worker: str
    session: str
    n: int
    api: Api
    body: Json


Script: TypeAlias = Mapping[str, Sequence[Step]] | Callable[[Request], Step]


class ModelServer:
    """Answer model requests on 127.0.0.1 for as long as the context lasts."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._cursors: dict[tuple[str, str], int] = defaultdict(int)
        self._bodies: dict[str, list[Json]] = defaultdict(list)
        self._asked: dict[str, threading.Event] = defaultdict(threading.Event)
        self._released = threading.Event()
        self._door = _Door(self)
        self._thread = threading.Thread(target=self._door.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._door.shutdown()
        self._thread.join()
        self._door.server_close()

    def codex_url(self, worker: str) -> str:
        """Name the provider `base_url` for a worker."""
        return f"{self.claude_url(worker)}/v1"

    def claude_url(self, worker: str) -> str:
        """Name the `ANTHROPIC_BASE_URL` for a worker."""
        return f"http://127.0.0.1:{self._door.server_address[1]}/{worker}"

    def requests(self, worker: str) -> list[Json]:
        """List the bodies received so far for a URL id, or for a script named in a prompt."""
        with self._lock:
            return list(self._bodies[worker])

    def asked(self, worker: str) -> threading.Event:
        """Name the event that is set once a request of this worker (as in `requests`) has arrived."""
        with self._lock:
            return self._asked[worker]

    def release(self) -> None:
        """Let every hanging answer end, now and later."""
        self._released.set()

    def wait_released(self) -> None:
        """Block until `release`."""
        self._released.wait()

    def choose(self, place: str, session: str, api: Api, body: Json) -> tuple[Request, Step]:
        """Record a request made to the URL id `place` and take its step; ScriptError if there is none."""
        by_prompt = place == BY_PROMPT
        worker = (_script_named(body) or BY_PROMPT) if by_prompt else place
        cursor = (worker, session if by_prompt else "")
        with self._lock:
            request = Request(worker=worker, session=session, n=self._cursors[cursor], api=api, body=body)
            self._cursors[cursor] += 1
            for name in {place, worker}:
                self._bodies[name].append(body)
                self._asked[name].set()
        if callable(self._script):
            return request, self._script(request)
        steps = self._script.get(worker)
        if not steps:
            raise ScriptError(f"no script for {worker!r}")
        return request, steps[min(request.n, len(steps) - 1)]


def _script_named(body: Json) -> str | None:
    names: list[str] = [name for text in user_texts(body) for name in _SCRIPT_LINE.findall(text)]
    return names[-1] if names else None


class _Door(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, owner: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.owner = owner


class _Call(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Keep the test's output to itself."""

    def do_HEAD(self) -> None:
        self._reply(404, {}, "")

    def do_GET(self) -> None:
        self._reply(404, {}, "")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = _MODEL_PATH.fullmatch(self.path)
        if found is None:
            self._reply(404, {}, "")
            return
        place, api = found[1], cast(Api, found[2])
        owner = cast(_Door, self.server).owner
        try:
            request, step = owner.choose(place, self._session(body), api, body)
            self._play(step, request)
        except ScriptError as error:
            # 400 is the status that codex does not retry, so a slip in a test shows at once.
            self._reply(400, {}, json.dumps({"error": {"message": f"model server: {error}"}}))
            return
        if isinstance(step.ending, Hang):
            owner.wait_released()
            self.close_connection = True

    def _play(self, step: Step, request: Request) -> None:
        match step:
            case Step(items=(), ending=Hang()):
                pass  # not even a status line
            case Step(ending=Status(code, headers, body)):
                self._reply(code, dict(headers), error_body(request.api, code) if body is None else body)
            case _:
                events = stream_events(request.api, step, request.n, request.body)
                lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
                self._send(200, {"Content-Type": "text/event-stream"}, "".join(lines).encode())

    def _session(self, body: Json) -> str:
        found = next((self.headers[name] for name in _SESSION_HEADERS if self.headers[name]), None)
        return found or str(body.get("prompt_cache_key", ""))

    def _reply(self, code: int, headers: Mapping[str, str], text: str) -> None:
        payload = text.encode()
        known = {"Content-Type": "application/json", "Content-Length": str(len(payload))}
        self._send(code, {**known, **headers}, payload)

    def _send(self, code: int, headers: Mapping[str, str], payload: bytes) -> None:
        self.send_response(code)
        # The end of the connection ends a stream; a fresh one for each request costs nothing on loopback.
        for name, value in {**headers, "Connection": "close"}.items():
            self.send_header(name, value)
        self.close_connection = True
        try:
            self.end_headers()
            self.wfile.write(payload if self.command != "HEAD" else b"")
        except ConnectionError:
            pass  # a worker that is stopped hangs up in the middle of an answer
