"""Telling limits of the model service from other failures."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.executors.limits import ServiceLimit, error_text, find_limit, limit_of, readable, stated_wait

USAGE = (
    "You\u2019ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit "
    "https://chatgpt.com/settings/usage to purchase more credits or try again at Jan 30th, 2030 1:43 AM."
)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", None),
        ("exceeded retry limit, last status: 429 Too Many Requests, request id: 9c84b52ce87fbe62-SJC", None),
        (USAGE, None),
        ("Usage limit reached for this account. Try again at 5:31 PM.", None),
        ("Quota exceeded. Check your plan and billing details.", None),
        ("Selected model is at capacity. Please try a different model.", None),
        ("rate limit exceeded: Rate limit reached for gpt-5 in org. Please try again in 1.5s. Visit x", 1.5),
        ("unexpected status 503 Service Unavailable: stub says 503, url: http://127.0.0.1:3/v1/responses", None),
        ("We\u2019re currently experiencing high demand, which may cause temporary errors.", None),
        ("stream error: 503 Service Unavailable; retry 1/3", None),
        ("API Error: Request rejected (429) · The usage limit has been reached", None),
        ("API Error: 529 Overloaded. This is a server-side issue, usually temporary", None),
        ("API Error: Overloaded", None),
        ("API Error: Rate limit reached", None),
        ("You've hit your limit · resets 4pm (Asia/Kuala_Lumpur)", None),
        ("You've hit your weekly limit · resets in 2 days, 3 hours", 183_600.0),
        ("You're out of extra usage · resets 4am (America/Denver)", None),
        ("Claude AI usage limit reached|1762952400", None),
        ("5-hour limit reached ∙ resets 9pm", None),
        ("HTTP/1.1 429\r\nRetry-After: 30", 30.0),
        ("got HTTP 503, retrying in 2892 seconds (attempt 1/10)", 2892.0),
    ],
)
def test_notices_of_limits(said: str, seconds: float | None) -> None:
    limit = find_limit(said)
    assert limit is not None
    assert (limit.reason, limit.retry_after) == (" ".join(said.split()), seconds)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "unexpected status 401 Unauthorized: stub says 401, url: http://127.0.0.1:44871/v1/responses",
        "stream disconnected before completion: stream closed before response.completed",
        "Codex ran out of room in the model's context window. Start a new thread.",
        "Incomplete response returned, reason: max_output_tokens",
        "Reconnecting... waiting for network (Connection failed: error sending request)",
        "src/app.c:429: error: call of overloaded 'f(int)' is ambiguous",
        "line 503 of 529",
        "the time limit of 429 s was reached",
        "Try again in 5 minutes.",
        "Prompt is too long",
    ],
)
def test_other_failures_are_no_limits(said: str) -> None:
    assert find_limit(said) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("try again in 1.5s. visit x", 1.5),
        ("try again in 20 seconds", 20.0),
        ("try again in 250ms", 0.25),
        ("try again in 5 minutes.", 300.0),
        ("try again in 1 hour and 30 minutes", 5400.0),
        ("try again in 3 days 4 hours 12 minutes", 274_320.0),
        ("resets in 1h30m", 5400.0),
        ("retry-after: 900", 900.0),
        ("retry_after=900", 900.0),
        ('"retry_after":900}', 900.0),
        ("retry after 30. then again", 30.0),
        ("retry 1/3", None),
        ("retry after 5:31 pm", None),
        ("retry after 2030-01-30", None),
        ("retry after 5 pm", None),
        ("try again at jan 30th, 2030 1:43 am", None),
        ("try again in 5", None),
        ("try again in 5 business days", None),
        ("try again in an hour", None),
        ("resets 4pm", None),
    ],
)
def test_only_a_length_of_time_is_a_wait(text: str, seconds: float | None) -> None:
    assert stated_wait(text) == seconds


@pytest.mark.parametrize(
    ("event", "limit"),
    [
        ('{"type":"error","status":429,"retry_after":900}', ServiceLimit("status 429", 900.0, "429")),
        ('{"type":"error","status":503,"message":"busy"}', ServiceLimit("busy", None, "503")),
        ('{"error":{"type":"rate_limit_error","message":"slow down"}}', ServiceLimit("slow down", None, "429")),
        (
            '{"error":{"type":"usage_limit_reached","message":"The limit","resets_in_seconds":3600}}',
            ServiceLimit("The limit", 3600.0, "usage-limit"),
        ),
        ('{"error":{"code":"server_is_overloaded"}}', ServiceLimit("server_is_overloaded", None, "capacity")),
        (
            '{"error":{"message":"rate limit, try again in 2s","retry_after":7.5}}',
            ServiceLimit("rate limit, try again in 2s", 7.5, "429"),
        ),
        (
            '{"type":"error","message":"{\\"error\\":{\\"message\\":\\"Too many requests\\"}}"}',
            ServiceLimit("Too many requests", None, "429"),
        ),
        ('{"type":"error","status":500,"retry_after":900}', None),
        ('{"type":"error","message":"boom"}', None),
        ('{"type":"error","status":true,"error":[429]}', None),
        ('{"type":"error","status":429,"retry_after":true}', ServiceLimit("status 429", None, "429")),
        ('{"type":"error","status":429,"retry_after":-5}', ServiceLimit("status 429", None, "429")),
        ('{"type":"error","status":429,"retry_after":NaN}', ServiceLimit("status 429", None, "429")),
        ('{"type":"error","status":429,"retry_after":1e400}', ServiceLimit("status 429", None, "429")),
        ('{"type":"error","status":429,"retry_after":"soon"}', ServiceLimit("status 429", None, "429")),
    ],
)
def test_limits_in_error_events(event: str, limit: ServiceLimit | None) -> None:
    assert limit_of(json.loads(event)) == limit


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ('{"message":"a","error":{"message":"b"}}', "a"),
        ('{"error":{"message":"b"}}', "b"),
        ('{"error":"c"}', "c"),
        ('{"error":{"error":{"message":"d"}}}', "d"),
        ("{}", ""),
    ],
)
def test_the_message_is_found_wherever_a_program_puts_it(event: str, message: str) -> None:
    assert error_text(json.loads(event)) == message


def test_a_message_that_is_a_json_body_is_unpacked() -> None:
    assert readable('{"error": {"message": "stub says 400", "code": null}}') == "stub says 400"
    assert readable('{"detail": 1}') == '{"detail": 1}'
    assert readable("{not json\nat all") == "{not json at all"


@given(
    st.text()
    | st.sampled_from(["retry after ", "again in ", "429 ", "rate limit ", "http/1"]).flatmap(
        lambda start: st.text(alphabet="0123456789 .,smhd:/-").map(lambda rest: start + rest)
    )
)
def test_any_text_is_judged_without_raising(text: str) -> None:
    limit = find_limit(text)
    assert limit is None or limit.retry_after is None or 0 <= limit.retry_after < 1e15
