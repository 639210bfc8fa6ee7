"""Workers that are ``claude -p``; the streams are excerpts of what the real program printed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gitprun.executors.base import Ending, Progress
from gitprun.executors.claude import Claude
from gitprun.executors.lines import split_lines
from gitprun.model.units import Exit

EXITED_0 = Exit(code=0, signal=None, reason="exited", seconds=1.0)
EXITED_1 = Exit(code=1, signal=None, reason="exited", seconds=1.0)


def ending(stream: str, outcome: Exit = EXITED_0) -> Ending:
    # What kind of failure it was, and when to ask again, is in test_executors_failures.
    return replace(Claude().ending(split_lines(stream.encode()), outcome), kind="", retry_at="")


def progress(stream: str) -> list[tuple[str, str]]:
    shown = (Claude().progress(line) for line in split_lines(stream.encode()))
    return [(note.kind, note.text) for note in shown if note is not None]


# 2.1.197
INIT = """\
{"type": "system", "subtype": "init", "cwd": "/w/r", "session_id": "1a6fab01", "tools": ["Task", "Bash"], \
"mcp_servers": [], "model": "claude-sonnet-5", "permissionMode": "dontAsk", "claude_code_version": "2.1.197"}
"""
WORK = """\
{"type": "assistant", "message": {"id": "msg_0", "type": "message", "role": "assistant", "model": "claude-sonnet-5", \
"content": [{"type": "text", "text": "I will write a file."}], "stop_reason": null, "usage": {"input_tokens": 100, \
"output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "1a6fab01"}
{"type": "assistant", "message": {"id": "msg_0", "type": "message", "role": "assistant", "model": "claude-sonnet-5", \
"content": [{"type": "tool_use", "id": "toolu_0001stub", "name": "Bash", "input": {"command": "echo hello > \
made-by-shell.txt; git status", "description": "run"}}], "stop_reason": null}, "parent_tool_use_id": null, \
"session_id": "1a6fab01"}
{"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "Permission to use Bash \
has been denied because Claude Code is running in don't ask mode.", "is_error": true, "tool_use_id": \
"toolu_0001stub"}]}, "parent_tool_use_id": null, "session_id": "1a6fab01", "tool_use_result": "Error: Permission"}
{"type": "assistant", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5", \
"content": [{"type": "tool_use", "id": "toolu_0100stub", "name": "Write", "input": {"file_path": "/w/r/hello.py", \
"content": "print('hi')\\n"}}], "stop_reason": null}, "parent_tool_use_id": null, "session_id": "1a6fab01"}
{"type": "user", "message": {"role": "user", "content": [{"tool_use_id": "toolu_0100stub", "type": "tool_result", \
"content": "File created successfully at: /w/r/hello.py"}]}, "parent_tool_use_id": null, "session_id": "1a6fab01"}
{"type": "assistant", "message": {"id": "msg_2", "type": "message", "role": "assistant", "model": "claude-sonnet-5", \
"content": [{"type": "text", "text": "# u1 result\\nConclusion: ok"}], "stop_reason": null}, "parent_tool_use_id": \
null, "session_id": "1a6fab01"}
"""
SUCCESS = """\
{"type": "result", "subtype": "success", "is_error": false, "api_error_status": null, "duration_ms": 408, \
"num_turns": 3, "result": "# u1 result\\nConclusion: ok", "stop_reason": "end_turn", "session_id": "1a6fab01", \
"total_cost_usd": 0.001368, "usage": {"input_tokens": 300, "cache_creation_input_tokens": 0, \
"cache_read_input_tokens": 60, "output_tokens": 30}, "permission_denials": [], "terminal_reason": "completed"}
"""
# 2.1.332 puts the type late.
SUCCESS_332 = """\
{"duration_api_ms": 188, "stop_reason": "end_turn", "session_id": "ccccef39", "usage": {"input_tokens": 300, \
"cache_creation_input_tokens": 0, "cache_read_input_tokens": 60, "output_tokens": 30, "output_tokens_details": \
{"thinking_tokens": 0}}, "permission_denials": [], "terminal_reason": "completed", "safety_stops": 0, "is_error": \
false, "num_turns": 3, "subtype": "success", "api_error_status": null, "result": "# u1 result\\nConclusion: ok", \
"ttft_ms": 180, "type": "result", "duration_ms": 499, "queued_turn_count": 0, "result_index": 0}
"""
CUT_197 = """\
{"type": "result", "subtype": "success", "is_error": false, "api_error_status": null, "num_turns": 1, "result": \
"partial", "stop_reason": null, "session_id": "f03aa6f5", "usage": {"input_tokens": 0, "output_tokens": 0}, \
"permission_denials": [], "terminal_reason": "completed"}
"""
CUT_332 = """\
{"stop_reason": "stop_sequence", "session_id": "a82f25b9", "usage": {"input_tokens": 400, \
"cache_creation_input_tokens": 0, "cache_read_input_tokens": 80, "output_tokens": 4}, "permission_denials": [], \
"terminal_reason": "api_error", "is_error": true, "num_turns": 4, "subtype": "success", "api_error_status": null, \
"api_error": "connection_failed", "result": "API Error: Connection lost mid-response. The response above may be \
incomplete.", "type": "result"}
"""
RETRY = """\
{"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 595.5225485880129, \
"error_status": 503, "error": "server_error", "session_id": "df63c426"}
"""
SERVICE_DOWN = """\
{"type": "assistant", "message": {"id": "df5f158b", "model": "<synthetic>", "role": "assistant", "stop_reason": \
"stop_sequence", "type": "message", "content": [{"type": "text", "text": "API Error: 503 stub says 503. This is a \
server-side issue, usually temporary"}]}, "parent_tool_use_id": null, "session_id": "df63c426", "error": \
"server_error"}
{"type": "result", "subtype": "success", "is_error": true, "api_error_status": 503, "num_turns": 1, "result": "API \
Error: 503 stub says 503. This is a server-side issue, usually temporary", "stop_reason": "stop_sequence", \
"session_id": "df63c426", "usage": {"input_tokens": 0, "output_tokens": 0}, "permission_denials": []}
"""
MAX_TURNS = """\
{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3,"stop_reason":"tool_use",\
"session_id":"014e214b","usage":{"input_tokens":200,"cache_creation_input_tokens":0,"cache_read_input_tokens":40,\
"output_tokens":20},"permission_denials":[],"terminal_reason":"max_turns",\
"errors":["Reached maximum number of turns (2)"]}
"""
UNKNOWN_COMMAND = """\
{"type":"assistant","message":{"id":"8ba36722","model":"<synthetic>","role":"assistant","stop_reason":\
"stop_sequence","type":"message","content":[{"type":"text","text":"Unknown command: /nosuch"}]},\
"parent_tool_use_id":null,"session_id":"f088ff83"}
{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"Unknown command: /nosuch",\
"stop_reason":null,"session_id":"f088ff83","usage":{"input_tokens":0,"output_tokens":0},"permission_denials":[]}
"""


def changed(line: str, **fields: object) -> str:
    return json.dumps({**json.loads(line), **fields})


class TestEnding:
    def test_done(self) -> None:
        assert ending(INIT + WORK + SUCCESS) == Ending(
            state="done", thread="1a6fab01", tokens=390, message="# u1 result\nConclusion: ok"
        )

    def test_done_whatever_the_order_of_the_keys(self) -> None:
        assert ending(INIT + WORK + SUCCESS_332) == Ending(
            state="done", thread="ccccef39", tokens=390, message="# u1 result\nConclusion: ok"
        )

    def test_done_with_an_empty_result_keeps_what_was_said(self) -> None:
        assert ending(WORK + changed(SUCCESS, result="")).message == "# u1 result\nConclusion: ok"

    @pytest.mark.parametrize(
        ("tools", "reason"),
        [
            (["Bash"], "1 tool use denied: Bash"),
            (["Bash", "Write", "Bash"], "3 tool uses denied: Bash, Write"),
            ([""], "1 tool use denied: ?"),
        ],
    )
    def test_denied_tools_are_named(self, tools: list[str], reason: str) -> None:
        denials = [{"tool_name": tool, "tool_use_id": "toolu_1", "tool_input": {}} for tool in tools]
        assert ending(INIT + WORK + changed(SUCCESS, permission_denials=denials)) == Ending(
            state="done",
            reason=reason,
            thread="1a6fab01",
            tokens=390,
            message="# u1 result\nConclusion: ok",
        )

    def test_a_cut_answer_that_calls_itself_a_success(self) -> None:
        assert ending(CUT_197) == Ending(
            state="failed",
            reason="the answer is cut off (stop_reason missing)",
            thread="f03aa6f5",
            tokens=0,
            message="partial",
        )

    def test_a_cut_answer_that_says_so(self) -> None:
        assert ending(WORK + CUT_332, EXITED_1) == Ending(
            state="failed",
            reason="API Error: Connection lost mid-response. The response above may be incomplete.",
            thread="a82f25b9",
            tokens=484,
            message="# u1 result\nConclusion: ok",
        )

    @pytest.mark.parametrize("stop", ["max_tokens", "refusal", "stop_sequence", "tool_use"])
    def test_only_the_end_of_a_turn_is_an_end(self, stop: str) -> None:
        told = ending(changed(SUCCESS, stop_reason=stop))
        assert (told.state, told.reason) == ("failed", f"the answer is cut off (stop_reason {stop})")

    def test_service_unavailable(self) -> None:
        limited = Ending(
            state="rate-limited",
            reason="API Error: 503 stub says 503. This is a server-side issue, usually temporary",
            thread="df63c426",
            tokens=0,
        )
        assert ending(INIT + RETRY + SERVICE_DOWN, EXITED_1) == limited
        assert ending(INIT + RETRY + SERVICE_DOWN, EXITED_0) == limited

    @pytest.mark.parametrize(
        ("said", "status", "seconds"),
        [
            ("API Error: Request rejected (429) · stub says 429", 429, None),
            ("API Error: 529 stub says 529. This is a server-side issue", 529, None),
            ("API Error: Overloaded", None, None),
            ("API Error: Rate limit reached", None, None),
            ("You've hit your limit · resets 4pm (Asia/Kuala_Lumpur)", None, None),
            ("Claude AI usage limit reached|1762952400", None, None),
            ("API Error: rate limit, try again in 5 minutes", None, 300.0),
            ("Something new", 429, None),
        ],
    )
    def test_limits(self, said: str, status: int | None, seconds: float | None) -> None:
        stream = changed(SUCCESS, is_error=True, stop_reason="stop_sequence", result=said, api_error_status=status)
        assert ending(stream, EXITED_1) == Ending(
            state="rate-limited", reason=said, thread="1a6fab01", tokens=390, retry_after=seconds
        )

    def test_what_the_worker_says_about_limits_is_no_limit(self) -> None:
        said = "The client now waits on 429 Too Many Requests: usage limit reached, retry after 30."
        assert ending(INIT + WORK + changed(SUCCESS, result=said)).state == "done"
        cut = ending(INIT + WORK + changed(SUCCESS, result=said, stop_reason=None))
        assert (cut.state, cut.reason) == ("failed", "the answer is cut off (stop_reason missing)")

    def test_a_limit_that_claude_calls_no_error(self) -> None:
        said = "You've hit your limit · resets 4pm"
        synthetic = json.dumps({"type": "assistant", "message": {"model": "<synthetic>", "content": []}})
        stream = "\n".join([synthetic, changed(SUCCESS, result=said, stop_reason="stop_sequence")])
        assert ending(INIT + WORK + stream) == Ending(
            state="rate-limited",
            reason=said,
            thread="1a6fab01",
            tokens=390,
            message="# u1 result\nConclusion: ok",
        )

    @pytest.mark.parametrize(
        ("said", "status"), [("API Error: 400 stub says 400", 400), ("Failed to authenticate. API Error: 401", 401)]
    )
    def test_other_errors_of_the_service(self, said: str, status: int) -> None:
        stream = changed(SUCCESS, is_error=True, stop_reason="stop_sequence", result=said, api_error_status=status)
        assert ending(stream, EXITED_1) == Ending(state="failed", reason=said, thread="1a6fab01", tokens=390)

    def test_too_many_turns(self) -> None:
        assert ending(WORK + MAX_TURNS, EXITED_1) == Ending(
            state="failed",
            reason="error_max_turns; Reached maximum number of turns (2)",
            thread="014e214b",
            tokens=260,
            message="# u1 result\nConclusion: ok",
        )

    def test_a_prompt_taken_as_a_command(self) -> None:
        assert ending(UNKNOWN_COMMAND) == Ending(
            state="failed",
            reason="the prompt was taken as a command: Unknown command: /nosuch",
            thread="f088ff83",
            tokens=0,
        )

    @pytest.mark.parametrize(
        "fields",
        [{"is_error": None}, {"is_error": "false"}, {"subtype": "error_during_execution"}, {"subtype": None}],
        ids=str,
    )
    def test_every_field_must_agree(self, fields: dict[str, object]) -> None:
        assert ending(changed(SUCCESS, **fields)).state == "failed"

    def test_done_needs_exit_code_0(self) -> None:
        told = ending(SUCCESS, EXITED_1)
        assert (told.state, told.reason) == ("failed", "exit code 1 although the result is a success")

    def test_no_result(self) -> None:
        assert ending(INIT + WORK) == Ending(
            state="failed",
            reason="exit code 0: no result",
            thread="1a6fab01",
            message="# u1 result\nConclusion: ok",
        )

    def test_retries_without_a_result(self) -> None:
        assert ending(INIT + RETRY, EXITED_1) == Ending(
            state="rate-limited", reason="retry 1/10: server_error, status 503", thread="df63c426"
        )
        authentication = RETRY.replace("503", "401")
        assert ending(INIT + authentication, EXITED_1).state == "failed"
        assert ending(INIT + RETRY + WORK, EXITED_1).state == "failed"

    @pytest.mark.parametrize(
        ("outcome", "reason"),
        [
            (
                Exit(code=143, signal=None, reason="timeout", seconds=60.0),
                "stopped after 60 s, its time limit; waiting: retry 1/10: server_error, status 503",
            ),
            (
                Exit(code=None, signal=9, reason="exited", seconds=1.0),
                "ended by signal 9; waiting: retry 1/10: server_error, status 503",
            ),
        ],
    )
    def test_cut_short_while_waiting(self, outcome: Exit, reason: str) -> None:
        assert ending(INIT + RETRY, outcome) == Ending(state="failed", reason=reason, thread="df63c426")

    def test_output_of_another_program(self) -> None:
        unknown = Ending(state="unknown", reason="exit code 0 without any event of claude")
        assert ending("") == unknown
        assert ending("Done, I edited three files.\n[1]\n") == unknown

    def test_plain_words(self) -> None:
        limited = Ending(state="rate-limited", reason="Claude AI usage limit reached|1762952400")
        assert ending("Claude AI usage limit reached|1762952400\n") == limited
        root = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
        assert ending(f"{root}\n\n", EXITED_1) == Ending(state="failed", reason=f"exit code 1: {root}")

    def test_an_error_event_of_a_wrapper(self) -> None:
        assert ending('{"type":"error","status":429,"retry_after":900}') == Ending(
            state="rate-limited", reason="status 429", retry_after=900.0
        )

    def test_a_subordinate_conversation_is_not_the_workers_message(self) -> None:
        inner = {"type": "assistant", "message": {"content": [{"type": "text", "text": "inner"}]}}
        stream = json.dumps({**inner, "parent_tool_use_id": "toolu_7"})
        assert ending(INIT + WORK + stream).message == "# u1 result\nConclusion: ok"


class TestProgress:
    def test_a_whole_run(self) -> None:
        assert progress(INIT + WORK + SUCCESS) == [
            ("started", "claude-sonnet-5 session 1a6fab01"),
            ("said", "I will write a file."),
            ("ran", "echo hello > made-by-shell.txt; git status"),
            (
                "ran",
                "failed: Permission to use Bash has been denied because Claude Code is running in don't ask mode.",
            ),
            ("edited", "Write r/hello.py"),
            ("said", "# u1 result Conclusion: ok"),
            ("ended", "3 turns, 390 tokens"),
        ]

    def test_waiting_and_giving_up(self) -> None:
        error = "API Error: 503 stub says 503. This is a server-side issue, usually temporary"
        assert progress(RETRY + SERVICE_DOWN) == [
            ("waiting", "retry 1/10: server_error, status 503"),
            ("waiting", error),
            ("ended", f"failed: {error}"),
        ]

    def test_ends_without_words(self) -> None:
        assert progress(MAX_TURNS) == [("ended", "failed: error_max_turns")]
        assert progress(UNKNOWN_COMMAND) == [("error", "Unknown command: /nosuch"), ("ended", "0 turns, 0 tokens")]

    @pytest.mark.parametrize(
        ("block", "shown"),
        [
            ('{"type":"thinking","thinking":"hm\\nhm"}', Progress("thinking", "hm hm")),
            ('{"type":"thinking","thinking":""}', None),
            ('{"type":"tool_use","name":"Read","input":{"file_path":"/w/r/a.py"}}', Progress("ran", "Read r/a.py")),
            ('{"type":"tool_use","name":"Grep","input":{"pattern":"a b"}}', Progress("ran", "Grep a b")),
            ('{"type":"tool_use","name":"WebSearch","input":{"query":"x"}}', Progress("ran", "WebSearch x")),
            ('{"type":"tool_use","name":"Agent","input":7}', Progress("ran", "Agent")),
            (
                '{"type":"tool_use","name":"NotebookEdit","input":{"notebook_path":"/w/r/n.ipynb"}}',
                Progress("edited", "NotebookEdit r/n.ipynb"),
            ),
            ('{"type":"image"}', None),
        ],
    )
    def test_blocks(self, block: str, shown: Progress | None) -> None:
        assert Claude().progress(f'{{"type":"assistant","message":{{"content":[{block}]}}}}'.encode()) == shown

    @pytest.mark.parametrize(
        ("line", "shown"),
        [
            (
                b'{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}}',
                Progress("waiting", "rate limit: five_hour"),
            ),
            (b'{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}', None),
            (b'{"type":"system","subtype":"status"}', None),
            (b'{"type":"stream_event"}', None),
            (b'{"type":"user","message":{"content":"text"}}', None),
            (
                b'{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":'
                b'[{"type":"text","text":"no"},{"type":"text","text":"way"}]}]}}',
                Progress("ran", "failed: no way"),
            ),
            (b"API Error: Rate limit reached", Progress("waiting", "API Error: Rate limit reached")),
            (b'{"type":"error","error":{"message":"boom"}}', Progress("error", "boom")),
            (b"plain words", None),
            (b"", None),
        ],
    )
    def test_single_lines(self, line: bytes, shown: Progress | None) -> None:
        assert Claude().progress(line) == shown
