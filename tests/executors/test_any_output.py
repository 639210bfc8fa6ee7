"""Whatever a worker prints, reading it never raises and shows one clean line."""

from __future__ import annotations

import json
import unicodedata
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.executors.base import Executor, ProgressKind
from gitprun.executors.catalog import EXECUTORS
from gitprun.model.units import Exit

KINDS = (
    *("thread.started", "turn.completed", "turn.failed", "error", "item.started", "item.updated", "item.completed"),
    *("system", "assistant", "user", "result", "rate_limit_event", "stream_event"),
)
SORTS = (
    *("agent_message", "reasoning", "command_execution", "file_change", "web_search", "todo_list", "mcp_tool_call"),
    *("collab_tool_call", "error", "text", "thinking", "tool_use", "tool_result", "<synthetic>", "success", "init"),
    *("api_retry", "end_turn", "Bash", "Write", "rejected", "failed", "completed", "rate limit, again in 2 hours"),
)
KEYS = (
    *("type", "subtype", "item", "text", "message", "error", "usage", "input_tokens", "output_tokens", "command"),
    *("exit_code", "status", "changes", "path", "kind", "items", "completed", "query", "thread_id", "retry_after"),
    *("code", "content", "model", "input", "name", "file_path", "is_error", "result", "num_turns", "stop_reason"),
    *("permission_denials", "tool_name", "errors", "session_id", "rate_limit_info", "error_status", "attempt"),
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**4000)
    | st.floats()
    | st.text(alphabet=st.characters(exclude_categories=()))
    | st.sampled_from(KINDS + SORTS)
)


def fields(values: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(st.sampled_from(KEYS) | st.text(), values, max_size=6)


def typed(values: st.SearchStrategy[object], sorts: tuple[str, ...]) -> st.SearchStrategy[dict[str, object]]:
    return st.builds(lambda sort, rest: {**rest, "type": sort}, st.sampled_from(sorts), fields(values))


VALUES: st.SearchStrategy[object] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner | typed(inner, SORTS), max_size=3) | fields(inner) | typed(inner, SORTS),
    max_leaves=20,
)
EVENTS = typed(VALUES, KINDS) | fields(VALUES)
LINES = st.binary() | st.text().map(str.encode) | EVENTS.map(lambda event: json.dumps(event).encode())
OUTCOMES = st.builds(
    Exit,
    code=st.none() | st.just(0) | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    reason=st.sampled_from(["exited", "timeout", "stopped", "not-started"]),
    seconds=st.floats(0, 1e9),
    detail=st.text(),
)

every_executor = pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)


def assert_one_clean_line(text: str) -> None:
    assert len(text) <= 200
    assert not [char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@every_executor
@given(line=LINES)
def test_any_line_is_shown_as_one_clean_line(executor: Executor, line: bytes) -> None:
    progress = executor.progress(line)
    if progress is not None:
        assert progress.kind in get_args(ProgressKind)
        assert_one_clean_line(progress.text)


@every_executor
@given(stream=st.lists(LINES, max_size=8), outcome=OUTCOMES)
def test_any_stream_has_an_ending(executor: Executor, stream: list[bytes], outcome: Exit) -> None:
    told = executor.ending(stream, outcome)
    assert_one_clean_line(told.reason)
    # A done that is not one loses work; everything else must say why.
    assert told.state != "done" or (outcome.code == 0 and outcome.reason == "exited")
    assert told.state == "done" or told.reason
    assert told.retry_after is None or (told.state == "rate-limited" and told.retry_after >= 0)
    assert told.message.encode().decode() == told.message


@every_executor
@pytest.mark.parametrize(
    "line",
    [
        b'{"type":' * 100_000,
        b"\x00" * 1000,
        b"x" * (1 << 20),
        b'{"type":"error","message":"' + b"503 " * (1 << 18) + b'"}',
    ],
    ids=["deep", "nul", "mebibyte", "error"],
)
def test_lines_of_any_size(executor: Executor, line: bytes) -> None:
    progress = executor.progress(line)
    assert progress is None or len(progress.text) <= 200
    outcome = Exit(code=3, signal=None, reason="exited", seconds=1.0)
    assert executor.ending([line], outcome).state in ("failed", "rate-limited")
