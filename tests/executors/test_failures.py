"""What kind of failure a worker ended with, and when its service may be asked again."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.executors.base import Ending
from gitprun.executors.claude import Claude
from gitprun.executors.codex import Codex
from gitprun.executors.dates import read_date, stated_date
from gitprun.executors.limits import find_limit, is_network
from gitprun.model.units import Exit

EXITED_1 = Exit(code=1, signal=None, reason="exited", seconds=1.0)
TIMED_OUT = Exit(code=None, signal=9, reason="timeout", seconds=60.0)
STARTED = b'{"type":"thread.started","thread_id":"t1"}'
USAGE = (
    "You\u2019ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit "
    "https://chatgpt.com/settings/usage to purchase more credits or try again at Jan 30th, 2030 1:43 AM."
)


def failed(message: str) -> bytes:
    return json.dumps({"type": "turn.failed", "error": {"message": message}}).encode()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", "429"),
        ("rate limit exceeded: Rate limit reached for gpt-5 in org. Please try again in 1.5s. Visit x", "429"),
        ("API Error: Request rejected (429) · stub says 429", "429"),
        ("unexpected status 503 Service Unavailable: stub says 503, url: http://127.0.0.1:3/v1/responses", "503"),
        ("stream error: 503 Service Unavailable; retry 1/3", "503"),
        ("API Error: Request rejected (429) · The usage limit has been reached", "usage-limit"),
        (USAGE, "usage-limit"),
        ("You've hit your limit · resets 4pm (Asia/Kuala_Lumpur)", "usage-limit"),
        ("You've hit your weekly limit · resets in 2 days, 3 hours", "usage-limit"),
        ("You're out of extra usage · resets 4am (America/Denver)", "usage-limit"),
        ("Claude AI usage limit reached|1762952400", "usage-limit"),
        ("5-hour limit reached ∙ resets 9pm", "usage-limit"),
        ("Quota exceeded. Check your plan and billing details.", "quota"),
        ("Selected model is at capacity. Please try a different model.", "capacity"),
        ("We\u2019re currently experiencing high demand, which may cause temporary errors.", "capacity"),
        ("API Error: 529 Overloaded. This is a server-side issue, usually temporary", "capacity"),
    ],
)
def test_kinds_of_limits(said: str, kind: str) -> None:
    limit = find_limit(said)
    assert limit is not None
    assert limit.kind == kind
    ending = Codex().ending([STARTED, failed(said)], EXITED_1)
    assert (ending.state, ending.kind, ending.thread) == ("rate-limited", kind, "t1")


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ('{"type":"error","status":429}', "429"),
        ('{"type":"error","status":503,"message":"busy"}', "503"),
        ('{"type":"error","status":529,"message":"busy"}', "capacity"),
        ('{"type":"error","status":503,"message":"we see high demand"}', "503"),
        ('{"error":{"type":"usage_limit_reached"},"status":429}', "usage-limit"),
        ('{"error":{"code":"insufficient_quota","message":"no"},"status":429}', "quota"),
    ],
)
def test_kinds_of_limits_in_error_events(event: str, kind: str) -> None:
    assert Codex().ending([STARTED, event.encode()], EXITED_1).kind == kind


@pytest.mark.parametrize(
    "said",
    [
        "stream disconnected before completion: stream closed before response.completed",
        "stream disconnected before completion: idle timeout waiting for SSE",
        "Reconnecting... waiting for network (Connection failed: error sending request)",
        "API Error: Unable to connect to API (ECONNREFUSED)",
        "API Error: Connection error.",
        "fetch failed",
        "getaddrinfo ENOTFOUND api.example.test",
    ],
)
def test_a_lost_network(said: str) -> None:
    assert is_network(said)
    assert Codex().ending([STARTED, failed(said)], EXITED_1) == Ending("failed", said, "t1", kind="network")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "unexpected status 401 Unauthorized: stub says 401",
        "Codex ran out of room in the model's context window. Start a new thread.",
        "could not connect the dots",
        "the network of roads",
        "Prompt is too long",
    ],
)
def test_failures_the_service_has_no_part_in(said: str) -> None:
    assert not is_network(said)
    assert Codex().ending([STARTED, failed(said)], EXITED_1).kind == ""


def test_a_time_limit_that_was_spent_waiting_for_the_network() -> None:
    waiting = b'{"type":"error","message":"Reconnecting... waiting for network (Connection failed)"}'
    assert Codex().ending([STARTED, waiting], TIMED_OUT).kind == "network"
    assert Codex().ending([STARTED], TIMED_OUT).kind == ""


def test_an_answer_of_claude_that_breaks_off() -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "stop_reason": None}
    ending = Claude().ending([json.dumps(result).encode()], Exit(code=0, signal=None, reason="exited", seconds=1.0))
    assert (ending.state, ending.kind) == ("failed", "network")
    result["stop_reason"] = "max_tokens"
    assert Claude().ending([json.dumps(result).encode()], EXITED_1).kind == ""


def test_what_went_well_is_no_failure() -> None:
    said = {"type": "item.completed", "item": {"type": "agent_message", "text": "error: connection refused, 503"}}
    lines = [STARTED, json.dumps(said).encode(), b'{"type":"turn.completed"}']
    assert Codex().ending(lines, Exit(code=0, signal=None, reason="exited", seconds=1.0)).kind == ""


NOON = datetime(2029, 12, 31, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "words", "time"),
    [
        (USAGE, "Jan 30th, 2030 1:43 AM", "2030-01-30T01:44:00+00:00"),
        ("Usage limit reached. Try again at 5:31 PM.", "5:31 PM", "2029-12-31T17:32:00+00:00"),
        ("Usage limit reached. Try again at 11:55 AM.", "11:55 AM", "2029-12-31T11:56:00+00:00"),
        ("Usage limit reached. Try again at 11:45 AM.", "11:45 AM", "2030-01-01T11:46:00+00:00"),
        ("resets 4pm (Asia/Kuala_Lumpur)", "4pm (Asia/Kuala_Lumpur)", "2030-01-01T16:01:00+08:00"),
        ("usage limit reached|1893500000", "1893500000", "2030-01-01T12:13:20+00:00"),
        ("limit reached ∙ resets 12am", "12am", "2030-01-01T00:01:00+00:00"),
        ("resets Jan 6 at 1pm (UTC)", "Jan 6 at 1pm (UTC)", "2030-01-06T13:01:00+00:00"),
        ("resets Dec 31, 1pm", "Dec 31, 1pm", "2029-12-31T13:01:00+00:00"),
        ("try again at 13:05", "13:05", "2029-12-31T13:06:00+00:00"),
        ("try again at 2030-01-30T01:43:00Z", "2030-01-30T01:43:00Z", "2030-01-30T01:43:00+00:00"),
        ("try again after 2030-01-30", "2030-01-30", "2030-01-30T00:00:00+00:00"),
    ],
)
def test_stated_times(said: str, words: str, time: str) -> None:
    assert stated_date(said) == words
    found = read_date(words, NOON)
    assert found is not None
    assert found.isoformat() == time


@pytest.mark.parametrize(
    "said",
    ["", "try again later", "try again in 5 minutes", "retry-after: 30", "resets in 2 days, 3 hours", "reached 5 of 6"],
)
def test_no_stated_time(said: str) -> None:
    assert stated_date(said) == ""


@pytest.mark.parametrize("words", ["Feb 31st, 2030 1:00 PM", "25:00", "13pm", "0am", "3pm (No/Where)", ""])
def test_times_that_cannot_be(words: str) -> None:
    assert read_date(words, NOON) is None


@given(st.text() | st.from_regex(r"resets (?:\d{1,5}[-: ,amp]*){1,6}"))
def test_any_text_can_be_asked_for_a_time(text: str) -> None:
    words = stated_date(text)
    assert words in text
    read_date(words, NOON)
    is_network(text)


def test_the_date_of_a_long_message_is_not_cut_off() -> None:
    said = USAGE.replace("purchase more credits", "purchase more credits" + ", and more" * 20)
    ending = Codex().ending([STARTED, failed(said)], EXITED_1)
    assert len(ending.reason) <= 200
    assert ending.retry_at == "Jan 30th, 2030 1:43 AM"
