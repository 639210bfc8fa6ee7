"""Workers that are ``codex exec``; the streams are excerpts of what the real program printed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gitprun.executors.base import Ending, Progress
from gitprun.executors.codex import Codex
from gitprun.executors.lines import split_lines
from gitprun.model.units import Exit

EXITED_0 = Exit(code=0, signal=None, reason="exited", seconds=1.0)
EXITED_1 = Exit(code=1, signal=None, reason="exited", seconds=1.0)


def ending(stream: str, outcome: Exit = EXITED_0) -> Ending:
    # What kind of failure it was, and when to ask again, is in test_executors_failures.
    return replace(Codex().ending(split_lines(stream.encode()), outcome), kind="", retry_at="")


def progress(stream: str) -> list[tuple[str, str]]:
    shown = (Codex().progress(line) for line in split_lines(stream.encode()))
    return [(note.kind, note.text) for note in shown if note is not None]


# 0.163.0
SUCCESS = """\
{"type":"thread.started","thread_id":"01a2281d-f408-7531-9da2-e0ff197e473d"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"plan: write and run"}}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'echo hello > \
a; exit 3'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'echo hello \
> a; exit 3'","aggregated_output":"?? a\\n","exit_code":3,"status":"failed"}}
{"type":"item.started","item":{"id":"item_2","type":"file_change",\
"changes":[{"path":"/w/case/both~p163/r/a.txt","kind":"update"},{"path":"/w/case/both~p163/r/hello.py",\
"kind":"add"},{"path":"/w/case/both~p163/r/made-by-shell.txt","kind":"delete"}],"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"file_change",\
"changes":[{"path":"/w/case/both~p163/r/a.txt","kind":"update"},{"path":"/w/case/both~p163/r/hello.py",\
"kind":"add"},{"path":"/w/case/both~p163/r/made-by-shell.txt","kind":"delete"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"# u1 result\\nConclusion: ok"}}
{"type":"turn.completed","usage":{"input_tokens":800,"cached_input_tokens":360,"cache_write_input_tokens":0,\
"output_tokens":72,"reasoning_output_tokens":0}}
"""
# 0.121.0 counts three kinds of tokens only and lists its steps.
TODO = """\
{"type":"thread.started","thread_id":"01a22814-9007-7c60-b5fb-2072334bb959"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_2","type":"todo_list","items":[{"text":"a","completed":true},\
{"text":"b","completed":false}]}}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"# u1 result\\nConclusion: ok"}}
{"type":"item.completed","item":{"id":"item_2","type":"todo_list","items":[{"text":"a","completed":true},\
{"text":"b","completed":true}]}}
{"type":"turn.completed","usage":{"input_tokens":800,"cached_input_tokens":360,"output_tokens":72}}
"""
# 0.171.0
USAGE_LIMIT = """\
{"type":"thread.started","thread_id":"01a22808-66a2-72f0-a5bd-98b0d583d3db"}
{"type":"turn.started"}
{"type":"error","message":"You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase \
more credits or try again at Jan 30th, 2030 1:43 AM."}
{"type":"turn.failed","error":{"message":"You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage \
to purchase more credits or try again at Jan 30th, 2030 1:43 AM."}}
"""
SERVICE_DOWN = """\
{"type":"thread.started","thread_id":"01a22808-109a-7480-be1b-59a8f5700ff5"}
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 1/5 (unexpected status 503 Service Unavailable: stub says 503, url: \
http://127.0.0.1:34789/v1/responses)"}
{"type":"error","message":"unexpected status 503 Service Unavailable: stub says 503, url: \
http://127.0.0.1:34789/v1/responses"}
{"type":"turn.failed","error":{"message":"unexpected status 503 Service Unavailable: stub says 503, url: \
http://127.0.0.1:34789/v1/responses"}}
"""
NO_NETWORK = """\
{"type":"thread.started","thread_id":"01a2280c-4812-7581-b9b2-2bd604842e34"}
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}
{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}
"""
RECOVERED = """\
{"type":"thread.started","thread_id":"01a22808-ab76-7be0-a570-d3e26929603a"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"partial"}}
{"type":"error","message":"Reconnecting... 1/5 (stream disconnected before completion: stream closed before \
response.completed)"}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"recovered"}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":20,"cache_write_input_tokens":0,\
"output_tokens":10,"reasoning_output_tokens":0}}
"""
FAILED_COMMANDS = """\
{"type":"thread.started","thread_id":"01a22813-e385-76d2-9276-2c7554b35ac0"}
{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"/bin/bash -lc no-such-cmd",\
"aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"/bin/bash -lc no-such-cmd",\
"aggregated_output":"/bin/bash: line 1: no-such-cmd: command not found\\n","exit_code":127,"status":"failed"}}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'cat log'",\
"aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'cat log'",\
"aggregated_output":"HTTP 429 Too Many Requests\\nUsage limit reached. Try again in 5 minutes.\\n",\
"exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"The log speaks of a rate limit."}}
{"type":"turn.completed","usage":{"input_tokens":200,"cached_input_tokens":40,"cache_write_input_tokens":0,\
"output_tokens":20,"reasoning_output_tokens":0}}
"""
WEB_SEARCH = """\
{"type":"item.started","item":{"id":"item_0","type":"web_search","id":"ws_1","query":"weather",\
"action":{"type":"search","query":"weather"}}}
{"type":"item.completed","item":{"id":"item_0","type":"web_search","id":"ws_1","query":"weather",\
"action":{"type":"search","query":"weather"}}}
{"type":"item.completed","item":{"id":"item_1","type":"error","message":"Model metadata for `x` not found."}}
"""
INCOMPLETE = """\
{"type":"thread.started","thread_id":"01a228bb-82a9-78a3-b616-2423926fda46"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"half"}}
{"type":"error","message":"Incomplete response returned, reason: max_output_tokens"}
{"type":"turn.failed","error":{"message":"Incomplete response returned, reason: max_output_tokens"}}
"""


def failed_turn(message: str) -> str:
    return "\n".join(
        [
            '{"type":"thread.started","thread_id":"t1"}',
            '{"type":"turn.started"}',
            json.dumps({"type": "error", "message": message}),
            json.dumps({"type": "turn.failed", "error": {"message": message}}),
        ]
    )


class TestEnding:
    def test_done(self) -> None:
        assert ending(SUCCESS) == Ending(
            state="done",
            thread="01a2281d-f408-7531-9da2-e0ff197e473d",
            tokens=872,
            message="# u1 result\nConclusion: ok",
        )

    def test_done_by_the_oldest_version(self) -> None:
        assert ending(TODO) == Ending(
            state="done",
            thread="01a22814-9007-7c60-b5fb-2072334bb959",
            tokens=872,
            message="# u1 result\nConclusion: ok",
        )

    def test_an_error_event_is_not_fatal(self) -> None:
        assert ending(RECOVERED) == Ending(
            state="done", thread="01a22808-ab76-7be0-a570-d3e26929603a", tokens=110, message="recovered"
        )

    def test_what_tools_printed_about_limits_is_no_limit(self) -> None:
        done = Ending(
            state="done",
            thread="01a22813-e385-76d2-9276-2c7554b35ac0",
            tokens=220,
            message="The log speaks of a rate limit.",
        )
        assert ending(FAILED_COMMANDS) == done
        assert ending("ERROR exec: HTTP 429 Too Many Requests\n" + FAILED_COMMANDS + "stream error: 503\n") == done

    def test_usage_limit_with_a_date(self) -> None:
        assert ending(USAGE_LIMIT, EXITED_1) == Ending(
            state="rate-limited",
            reason="You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase more "
            "credits or try again at Jan 30th, 2030 1:43 AM.",
            thread="01a22808-66a2-72f0-a5bd-98b0d583d3db",
        )

    def test_service_unavailable(self) -> None:
        assert ending(SERVICE_DOWN, EXITED_1) == Ending(
            state="rate-limited",
            reason="unexpected status 503 Service Unavailable: stub says 503, url: http://127.0.0.1:34789/v1/responses",
            thread="01a22808-109a-7480-be1b-59a8f5700ff5",
        )

    @pytest.mark.parametrize(
        ("message", "seconds"),
        [
            ("exceeded retry limit, last status: 429 Too Many Requests", None),
            ("Quota exceeded. Check your plan and billing details.", None),
            ("Selected model is at capacity. Please try a different model.", None),
            ("We’re currently experiencing high demand, which may cause temporary errors.", None),
            ("rate limit exceeded: Rate limit reached for gpt-5 in org. Please try again in 1.5s. Visit x", 1.5),
        ],
    )
    def test_limits_of_a_failed_turn(self, message: str, seconds: float | None) -> None:
        assert ending(failed_turn(message), EXITED_1) == Ending(
            state="rate-limited", reason=message, thread="t1", retry_after=seconds
        )

    @pytest.mark.parametrize(
        ("message", "reason"),
        [
            ("stream disconnected before completion: boom", "stream disconnected before completion: boom"),
            (
                "unexpected status 401 Unauthorized: stub says 401, url: http://127.0.0.1:44871/v1/responses",
                "unexpected status 401 Unauthorized: stub says 401, url: http://127.0.0.1:44871/v1/responses",
            ),
            ('{"error": {"message": "stub says 400", "type": "stub_error", "code": null}}', "stub says 400"),
            ("", "the turn failed without a message"),
        ],
    )
    def test_other_failures_of_a_turn(self, message: str, reason: str) -> None:
        assert ending(failed_turn(message), EXITED_1) == Ending(state="failed", reason=reason, thread="t1")

    def test_a_failed_turn_counts_even_with_exit_code_0(self) -> None:
        assert ending(INCOMPLETE) == Ending(
            state="failed",
            reason="Incomplete response returned, reason: max_output_tokens",
            thread="01a228bb-82a9-78a3-b616-2423926fda46",
            message="half",
        )

    def test_the_last_turn_decides(self) -> None:
        assert ending(INCOMPLETE + SUCCESS).state == "done"
        assert ending(SUCCESS + INCOMPLETE).state == "failed"

    @pytest.mark.parametrize(
        ("printed", "reason", "seconds"),
        [
            (
                "Usage limit reached for this account. Try again at 5:31 PM.\n",
                "Usage limit reached for this account. Try again at 5:31 PM.",
                None,
            ),
            ('{"type":"error","status":429,"retry_after":900}\n', "status 429", 900.0),
            (
                "".join(f"stream error: 503 Service Unavailable; retry {n}/3\n" for n in (1, 2, 3)),
                "stream error: 503 Service Unavailable; retry 3/3",
                None,
            ),
            ('{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}\n', "usage_limit_reached", 3600.0),
        ],
    )
    def test_limits_with_exit_code_0_and_no_turn(self, printed: str, reason: str, seconds: float | None) -> None:
        limited = Ending(state="rate-limited", reason=reason, retry_after=seconds)
        assert ending(printed) == limited
        assert ending(printed, EXITED_1) == limited

    def test_a_limit_that_work_followed_explains_nothing(self) -> None:
        stream = "\n".join([*SERVICE_DOWN.splitlines()[:3], *SUCCESS.splitlines()[2:4]])
        assert ending(stream, Exit(code=101, signal=None, reason="exited", seconds=1.0)) == Ending(
            state="failed",
            reason="exit code 101: no turn completed",
            thread="01a22808-109a-7480-be1b-59a8f5700ff5",
        )

    def test_output_of_another_program(self) -> None:
        unknown = Ending(state="unknown", reason="exit code 0 without any event of codex")
        assert ending("") == unknown
        assert ending("Done, I edited three files.\n") == unknown
        assert ending('{"type":"message","text":"Done."}\n[1]\n') == unknown

    def test_a_stream_without_an_end(self) -> None:
        stream = "\n".join(SUCCESS.splitlines()[:3])
        assert ending(stream) == Ending(
            state="failed",
            reason="exit code 0: no turn completed",
            thread="01a2281d-f408-7531-9da2-e0ff197e473d",
        )

    def test_a_refusal_to_start(self) -> None:
        printed = "Reading additional input from stdin...\nNot inside a trusted directory.\n\n"
        assert ending(printed, EXITED_1) == Ending("failed", "exit code 1: Not inside a trusted directory.")

    def test_done_needs_exit_code_0(self) -> None:
        assert ending(RECOVERED, EXITED_1) == Ending(
            state="failed",
            reason="exit code 1 although the turn completed",
            thread="01a22808-ab76-7be0-a570-d3e26929603a",
            tokens=110,
            message="recovered",
        )

    @pytest.mark.parametrize(
        ("outcome", "cut"),
        [
            (Exit(code=None, signal=15, reason="timeout", seconds=60.0), "stopped after 60 s, its time limit"),
            (Exit(code=None, signal=9, reason="exited", seconds=1.0), "ended by signal 9"),
        ],
    )
    def test_cut_short_while_waiting(self, outcome: Exit, cut: str) -> None:
        network = "Reconnecting... waiting for network (Connection failed: error sending request)"
        thread = "01a2280c-4812-7581-b9b2-2bd604842e34"
        assert ending(NO_NETWORK, outcome) == Ending("failed", f"{cut}; last error: {network}", thread)

    def test_cut_short_after_the_turn(self) -> None:
        outcome = Exit(code=0, signal=None, reason="stopped", seconds=1.0)
        assert ending(RECOVERED, outcome) == Ending(
            state="failed",
            reason="stopped on request",
            thread="01a22808-ab76-7be0-a570-d3e26929603a",
            tokens=110,
            message="recovered",
        )

    def test_a_line_of_a_mebibyte_and_a_separator_inside_a_string(self) -> None:
        long = json.dumps({"type": "item.completed", "item": {"aggregated_output": "429 " * (1 << 18)}})
        said = '{"type":"item.completed","item":{"type":"agent_message","text":"a\u2028b\\u0000\\ud800"}}'
        assert ending("\n".join([long, said, '{"type":"turn.completed"}'])) == Ending(
            state="done", message="a\u2028b\x00?"
        )


class TestProgress:
    def test_a_whole_run(self) -> None:
        assert progress(SUCCESS) == [
            ("started", "thread 01a2281d-f408-7531-9da2-e0ff197e473d"),
            ("thinking", "plan: write and run"),
            ("ran", "echo hello > a; exit 3"),
            ("ran", "exit 3: echo hello > a; exit 3"),
            ("edited", "update r/a.txt, add r/hello.py, delete r/made-by-shell.txt"),
            ("said", "# u1 result Conclusion: ok"),
            ("ended", "turn completed, 872 tokens"),
        ]

    def test_steps(self) -> None:
        assert progress(TODO)[1:] == [
            ("thinking", "plan 1/2: b"),
            ("said", "# u1 result Conclusion: ok"),
            ("thinking", "plan 2/2: all done"),
            ("ended", "turn completed, 872 tokens"),
        ]

    def test_waiting(self) -> None:
        down = "unexpected status 503 Service Unavailable: stub says 503, url: http://127.0.0.1:34789/v1/responses"
        assert progress(SERVICE_DOWN)[1:] == [
            ("waiting", f"Reconnecting... 1/5 ({down})"),
            ("waiting", down),
            ("ended", f"turn failed: {down}"),
        ]
        network = "Reconnecting... waiting for network (Connection failed: error sending request)"
        assert progress(NO_NETWORK)[1:] == [("waiting", network), ("waiting", network)]

    def test_commands_show_when_they_start_and_when_they_fail(self) -> None:
        assert progress(FAILED_COMMANDS)[1:] == [
            ("ran", "no-such-cmd"),
            ("ran", "exit 127: no-such-cmd"),
            ("ran", "cat log"),
            ("said", "The log speaks of a rate limit."),
            ("ended", "turn completed, 220 tokens"),
        ]

    def test_searches_and_warnings(self) -> None:
        assert progress(WEB_SEARCH) == [
            ("ran", "web search: weather"),
            ("error", "Model metadata for `x` not found."),
        ]

    @pytest.mark.parametrize(
        ("line", "shown"),
        [
            (
                b"stream error: 503 Service Unavailable; retry 1/3\n",
                Progress("waiting", "stream error: 503 Service Unavailable; retry 1/3"),
            ),
            (b'{"type":"error","message":"boom"}', Progress("error", "boom")),
            (b'{"type":"error","status":429,"retry_after":900}', Progress("waiting", "status 429")),
            (b'{"type":"error"}', Progress("error", "error")),
            (b'{"type":"turn.completed"}', Progress("ended", "turn completed")),
            (b"Reading additional input from stdin...", None),
            (b'{"type":"turn.started"}', None),
            (b'{"type":"item.completed","item":{"type":"agent_message","text":" \\n"}}', None),
            (b'{"type":"item.updated","item":{"type":"agent_message","text":"part"}}', None),
            (b'{"type":"item.completed","item":[]}', None),
            (b'{"type":"of tomorrow"}', None),
            (b"", None),
        ],
    )
    def test_single_lines(self, line: bytes, shown: Progress | None) -> None:
        assert Codex().progress(line) == shown

    @pytest.mark.parametrize(
        ("item", "shown"),
        [
            ('{"type":"command_execution","command":"ls","status":"declined"}', Progress("ran", "declined: ls")),
            ('{"type":"command_execution","command":"ls","status":"completed"}', None),
            (
                '{"type":"file_change","changes":[{"path":"/w/r/a","kind":"add"}],"status":"failed"}',
                Progress("error", "edit failed: add r/a"),
            ),
            (
                '{"type":"command_execution","command":"/usr/bin/zsh -lc \'a\\nb\'","exit_code":1}',
                Progress("ran", "exit 1: a b"),
            ),
        ],
    )
    def test_items_that_ended(self, item: str, shown: Progress | None) -> None:
        assert Codex().progress(f'{{"type":"item.completed","item":{item}}}'.encode()) == shown

    def test_a_call_of_another_tool(self) -> None:
        line = b'{"type":"item.started","item":{"type":"mcp_tool_call","server":"docs","tool":"search"}}'
        assert Codex().progress(line) == Progress("ran", "docs search")
