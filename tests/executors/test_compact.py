"""One compact line an event: the seed's own lines letter for letter, and none of its measured defects."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.executors.compact import LONGEST_LINE, Compactor
from gitprun.executors.lines import split_lines
from tests.executors.test_any_output import LINES
from tests.executors.test_claude import INIT, MAX_TURNS, RETRY, SERVICE_DOWN, SUCCESS, SUCCESS_332, WORK
from tests.executors.test_codex import SUCCESS as CODEX
from tests.executors.test_codex import TODO

# A run as the seed's own page shows it.
SEED = """\
{"type":"thread.started","thread_id":"019d99f5-7c3e-7a10-8b1e-000000000000"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"**Sorting directory sizes**\\n\\nFirst"}}
{"type":"item.started","item":{"id":"item_1","type":"todo_list","items":[]}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"/bin/zsh -lc \\"python3 - \
<<'PY'\\nimport os\\nPY\\"","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"/bin/zsh -lc \\"python3 - \
<<'PY'\\nimport os\\nPY\\"","aggregated_output":"a\\n  b\\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"\\nDone.\\nAll of it."}}
{"type":"turn.completed","usage":{"input_tokens":63224,"cached_input_tokens":51840,"output_tokens":2073}}
"""


def render(stream: str | bytes, level: str = "normal", length: int = 200) -> list[str]:
    compactor = Compactor(level, length)
    raw = stream.encode() if isinstance(stream, str) else stream
    return [shown for line in split_lines(raw) for shown in compactor.render(line)]


def event(**fields: object) -> str:
    return json.dumps(fields)


class TestTheSeedsLines:
    def test_normal(self) -> None:
        assert render(SEED) == [
            "[START] thread=019d99f5",
            "[TURN>] model-turn begin",
            "[THINK] **Sorting directory sizes**",
            "[ITEM>] todo_list starting",
            "[CMD>] /bin/zsh -lc \"python3 - <<'PY' import os PY\"",
            "[CMD✓] exit=0 /bin/zsh -lc \"python3 - <<'PY' import os PY\"",
            "[SAID] Done.",
            "[TURN<] tokens: in=63224 out=2073 cached=51840",
        ]

    def test_minimal(self) -> None:
        assert render(SEED, "minimal") == [
            "[START] thread=019d99f5",
            "[CMD>] /bin/zsh -lc \"python3 - <<'PY' import os PY\"",
            "[CMD✓] exit=0 /bin/zsh -lc \"python3 - <<'PY' import os PY\"",
            "[SAID] Done.",
            "[TURN<] tokens: in=63224 out=2073 cached=51840",
        ]

    def test_verbose_adds_the_output_of_good_commands(self) -> None:
        assert render(SEED, "verbose")[5] == "[CMD✓] /bin/zsh -lc \"python3 - <<'PY' import os PY\" :: a b"

    def test_a_failed_command_shows_its_output(self) -> None:
        failed = event(
            type="item.completed",
            item={"type": "command_execution", "command": "make", "aggregated_output": "no\nrule\n", "exit_code": 2},
        )
        assert render(failed, "minimal") == ["[CMD✗] exit=2 make :: no rule"]

    def test_a_text_is_cut_at_the_length_and_marked(self) -> None:
        said = event(type="item.completed", item={"type": "agent_message", "text": "abcdefgh"})
        assert [render(said, length=n) for n in (7, 8)] == [["[SAID] abcdefg…"], ["[SAID] abcdefgh"]]

    def test_of_long_output_the_end_is_shown(self) -> None:
        item = {"type": "command_execution", "command": "make", "aggregated_output": "x" * 99 + " boom", "exit_code": 2}
        assert render(event(type="item.completed", item=item), length=6) == ["[CMD✗] exit=2 make :: …x boom"]

    def test_stderr_among_the_events(self) -> None:
        mixed = (
            "Reading additional input from stdin...\n"
            "ERROR: unexpected status 503 Service Unavailable: Rate limit exceeded. Try again in 2731s\n"
            '{"type":"turn.started"}\n\n'
        )
        trouble = "[ERR] ERROR: unexpected status 503 Service Unavailable: Rate limit exceeded. Try again in 2731s"
        assert render(mixed, "minimal") == [trouble]
        assert render(mixed) == [trouble, "[TURN>] model-turn begin"]
        assert render(mixed, "verbose") == [
            "[OUT] Reading additional input from stdin...",
            trouble,
            "[TURN>] model-turn begin",
        ]


class TestTheSeedsDefectsAreGone:
    def test_an_error_has_its_text(self) -> None:
        assert render(event(type="error", message="Reconnecting... 1/5"), "minimal") == ["[ERR] Reconnecting... 1/5"]
        assert render(event(type="error", error={"message": "no\nway"}), "minimal") == ["[ERR] no way"]
        assert render(event(type="stream.error", error="gone"), "minimal") == ["[ERR] gone"]
        assert render(event(error={"message": "bare"}), "minimal") == ["[ERR] bare"]

    def test_an_error_of_an_unknown_shape_is_not_empty(self) -> None:
        assert render(event(type="error", code=7, more={}), "minimal") == ["[ERR] type=error code=7"]
        assert render(event(error={}), "minimal") == ["[ERR] without words"]

    def test_the_body_in_a_message_is_unpacked(self) -> None:
        body = json.dumps({"error": {"message": "bad model"}})
        assert render(event(type="error", message=body)) == ["[ERR] bad model"]

    def test_a_warning_item_is_shown(self) -> None:
        item = {"type": "error", "message": "Model metadata for `x` not found"}
        assert render(event(type="item.completed", item=item), "minimal") == ["[ERR] Model metadata for `x` not found"]

    def test_a_failed_turn_is_shown(self) -> None:
        failed = event(type="turn.failed", error={"message": "unexpected status 503"})
        assert render(failed, "minimal") == ["[ERR] turn failed: unexpected status 503"]

    def test_file_changes_are_shown(self) -> None:
        assert render(CODEX) == [
            "[START] thread=01a2281d",
            "[TURN>] model-turn begin",
            "[THINK] plan: write and run",
            "[CMD>] /bin/bash -lc 'echo hello > a; exit 3'",
            "[CMD✗] exit=3 /bin/bash -lc 'echo hello > a; exit 3' :: ?? a",
            "[ITEM>] file_change starting",
            "[EDIT] update r/a.txt, add r/hello.py, delete r/made-by-shell.txt",
            "[SAID] # u1 result",
            "[TURN<] tokens: in=800 out=72 cached=360",
        ]

    def test_a_failed_edit_is_an_error(self) -> None:
        item = {"type": "file_change", "status": "failed", "changes": [{"kind": "add", "path": "/w/a.py"}]}
        assert render(event(type="item.completed", item=item), "minimal") == ["[ERR] edit failed: add w/a.py"]

    def test_a_command_without_exit_code_is_no_success(self) -> None:
        item = {"type": "command_execution", "command": "rm x", "status": "declined", "exit_code": None}
        assert render(event(type="item.completed", item=item)) == ["[CMD✗] declined rm x :: "]

    @pytest.mark.parametrize(
        ("stream", "failed"),
        [
            ("", None),
            ('{"type":"turn.started"}', None),
            (SEED, False),
            (SEED + '{"type":"turn.failed","error":{}}', True),
            ('{"type":"turn.failed"}\n' + SEED, False),
            (SUCCESS, False),
            (MAX_TURNS, True),
        ],
    )
    def test_the_end_of_the_last_turn_is_known(self, stream: str, failed: bool | None) -> None:
        compactor = Compactor()
        for line in split_lines(stream.encode()):
            compactor.render(line)
        assert compactor.failed is failed


class TestClaude:
    def test_a_whole_run(self) -> None:
        assert render(INIT + WORK + SUCCESS) == [
            "[START] session=1a6fab01 model=claude-sonnet-5",
            "[SAID] I will write a file.",
            "[CMD>] echo hello > made-by-shell.txt; git status",
            "[CMD✗] failed echo hello > made-by-shell.txt; git status :: "
            "Permission to use Bash has been denied because Claude Code is running in don't ask mode.",
            "[EDIT] write r/hello.py",
            "[SAID] # u1 result",
            "[TURN<] tokens: in=360 out=30 cached=60",
        ]

    def test_the_later_version(self) -> None:
        assert render(SUCCESS_332) == ["[TURN<] tokens: in=360 out=30 cached=60"]

    def test_retries_and_failures(self) -> None:
        assert render(RETRY + SERVICE_DOWN + MAX_TURNS, "minimal") == [
            "[ERR] retry 1/10: server_error, status 503",
            "[ERR] API Error: 503 stub says 503. This is a server-side issue, usually temporary",
            "[ERR] failed: API Error: 503 stub says 503. This is a server-side issue, usually temporary",
            "[ERR] failed: error_max_turns",
        ]

    def test_commands_tell_how_they_ended(self) -> None:
        stream = "\n".join(
            [
                used("a", "Bash", command="make"),
                answered("a", "Exit code 2\nno rule", is_error=True),
                used("b", "Bash", command="ls"),
                answered("b", [{"type": "text", "text": "a b"}]),
            ]
        )
        assert render(stream) == ["[CMD>] make", "[CMD✗] exit=2 make :: no rule", "[CMD>] ls", "[CMD✓] exit=0 ls"]
        assert render(stream, "verbose")[-1] == "[CMD✓] ls :: a b"

    def test_other_tools(self) -> None:
        stream = "\n".join(
            [
                used("a", "Read", file_path="/w/r/src/app.py"),
                answered("a", "1 text"),
                used("b", "Grep", pattern="x+"),
                answered("b", "no such folder", is_error=True),
                used("c", "Edit", file_path="/w/r/a.py"),
                answered("c", "String not found", is_error=True),
                answered("unseen", "fine"),
                answered("unseen", "not fine", is_error=True),
            ]
        )
        assert render(stream) == [
            "[ITEM>] Read src/app.py",
            "[ITEM>] Grep x+",
            "[ERR] Grep x+: no such folder",
            "[ERR] edit failed: update r/a.py",
            "[ERR] a tool: not fine",
        ]
        assert render(stream, "verbose")[1] == "[ITEM<] Read src/app.py"
        assert render(stream, "minimal") == ["[ERR] edit failed: update r/a.py"]

    def test_denials_stand_at_the_end(self) -> None:
        result = json.loads(SUCCESS)
        denied = [{"tool_name": "Bash"}, {"tool_name": "Bash"}, {"tool_name": "Write"}]
        assert render(json.dumps({**result, "permission_denials": denied})) == [
            "[TURN<] tokens: in=360 out=30 cached=60 denied=Bash,Write"
        ]

    def test_tools_that_never_answer_are_forgotten_in_the_end(self) -> None:
        compactor = Compactor()
        for number in range(1500):
            compactor.render(used(str(number), "Bash", command="make").encode())
        assert len(compactor._open) == 1000


def used(name: str, tool: str, **given: str) -> str:
    block = {"type": "tool_use", "id": name, "name": tool, "input": given}
    return event(type="assistant", message={"content": [block]})


def answered(name: str, content: object, *, is_error: bool = False) -> str:
    block = {"type": "tool_result", "tool_use_id": name, "content": content, "is_error": is_error}
    return event(type="user", message={"content": [block]})


class TestAnythingElse:
    def test_unknown_events_are_skipped(self) -> None:
        unknown = "\n".join(
            [event(type="turn.paused"), event(type="hologram"), event(x=1), event(type="system", subtype="hook")]
        )
        assert render(unknown) == render(unknown, "minimal") == []
        assert render(unknown, "verbose") == [
            "[?] turn.paused",
            "[?] hologram",
            "[?] an object without a type",
            "[?] system hook",
        ]

    def test_unknown_items_are_named(self) -> None:
        item = {"type": "image_generation"}
        stream = event(type="item.started", item=item) + "\n" + event(type="item.completed", item=item)
        assert render(stream) == ["[ITEM>] image_generation starting"]
        assert render(stream, "verbose") == ["[ITEM>] image_generation starting", "[ITEM<] image_generation"]

    def test_searches_and_calls_say_what_for(self) -> None:
        started = [
            event(type="item.started", item={"type": "web_search", "query": "tomli"}),
            event(type="item.started", item={"type": "mcp_tool_call", "server": "docs", "tool": "find"}),
        ]
        assert render("\n".join(started)) == [
            "[ITEM>] web_search starting: tomli",
            "[ITEM>] mcp_tool_call starting: docs find",
        ]

    def test_a_list_of_steps_is_counted(self) -> None:
        assert [line for line in render(TODO, "verbose") if "todo" in line] == [
            "[ITEM>] todo_list starting",
            "[ITEM<] todo_list 2/2",
        ]

    @pytest.mark.parametrize(
        ("line", "shown"),
        [
            (b"\xff\xfe broken \x00 bytes failed", ["[ERR] \ufffd\ufffd broken bytes failed"]),
            (b'{"type":"item.completed","item":{"type":"agent_mess', []),
            (b'{"type":"error","message":"caf\xe9\\u0000\x00"}', ["[ERR] caf\ufffd"]),
            (b'{"type":"error","message":"\\u001b[31mred\\u001b[0m\\u202e"}', ["[ERR] red"]),
            (b'{"type":"error","message":"lone \\ud800"}', ["[ERR] lone"]),
            (b"[" * 100_000, []),
            (b'{"type":["list"],"item":7}', []),
            (b'"error"', ['[ERR] "error"']),
        ],
        ids=range(8),
    )
    def test_broken_lines(self, line: bytes, shown: list[str]) -> None:
        assert Compactor().render(line) == shown

    def test_a_cut_line_is_shown_by_its_beginning(self) -> None:
        line = b'{"type":"item.completed","item":{"text":"' + b"x" * LONGEST_LINE
        assert Compactor(length=20).render(line[:LONGEST_LINE]) == ['[OUT] {"type":"item.comple…']

    def test_a_mebibyte_of_output_is_cut(self) -> None:
        item = {"type": "command_execution", "command": "cat", "aggregated_output": "z" * (1 << 20), "exit_code": 1}
        assert render(event(type="item.completed", item=item)) == ["[CMD✗] exit=1 cat :: …" + "z" * 200]

    @given(st.lists(LINES, max_size=5), st.sampled_from(["minimal", "normal", "verbose"]), st.integers(1, 300))
    def test_whatever_comes_lines_are_clean_and_short(self, lines: list[bytes], level: str, length: int) -> None:
        compactor = Compactor(level, length)
        for line in lines:
            for shown in compactor.render(line):
                assert shown.startswith("[")
                assert len(shown) <= 2 * length + 100
                assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]

    @given(st.lists(LINES, max_size=5))
    def test_a_higher_level_never_hides_a_line(self, lines: list[bytes]) -> None:
        counts = []
        for level in ("minimal", "normal", "verbose"):
            compactor = Compactor(level)
            counts.append(sum(len(compactor.render(line)) for line in lines))
        assert counts == sorted(counts)


def test_a_wrapper_line_is_no_error_unless_it_counts_one() -> None:
    good = Compactor("minimal", 200).render(b"[wrapper p1] post-verify verify_errors=0 (cmd='x')")
    bad = Compactor("minimal", 200).render(b"[wrapper p1] post-verify verify_errors=2 (cmd='x')")
    assert (good, [row[:5] for row in bad]) == ([], ["[ERR]"])
