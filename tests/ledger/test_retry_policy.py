"""Whether and when a failed worker is tried again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.executors.base import Ending
from gitprun.ledger.retry_policy import (
    DEFAULT_LONGEST,
    DEFAULT_RETRIES,
    SHARED_KINDS,
    NextTry,
    RetryPolicy,
    judge_next_try,
    kind_of_failure,
    read_retry_policy,
)
from gitprun.model.plan import Settings

NOW = datetime(2029, 12, 31, 12, 0, tzinfo=UTC)
KINDS = sorted(SHARED_KINDS | {"bail", "failed", "no-thread", "lost", ""})


def judge(
    kind: str, tried: int = 1, executor: str = "codex", patience: RetryPolicy | None = None, **said: Any
) -> NextTry:
    return judge_next_try(patience or RetryPolicy(), executor, kind, Ending("rate-limited", "x", **said), tried, NOW)


def test_the_seed_s_numbers() -> None:
    assert read_retry_policy(Settings()) == RetryPolicy(retries=2, wait=780.0, longest=3600.0)
    assert read_retry_policy(Settings(retries=0, retry_wait=1.0, retry_wait_max=2.0)) == RetryPolicy(
        retries=0, wait=1.0, longest=2.0
    )


@pytest.mark.parametrize(
    ("kind", "said", "answer"),
    [
        ("503", {}, NextTry(780.0)),
        ("503", {"retry_after": 2892.0}, NextTry(2892.0)),
        ("503", {"retry_after": -1.0}, NextTry(0.0)),
        ("429", {"retry_after": 3600.0}, NextTry(3600.0)),
        ("429", {"retry_after": 3601.0}, NextTry(None, "not waited for until 2029-12-31 13:00")),
        ("usage-limit", {"retry_at": "12:30 PM"}, NextTry(1860.0)),
        ("usage-limit", {"retry_at": "11:55 AM"}, NextTry(0.0)),
        ("usage-limit", {"retry_at": "9am"}, NextTry(None, "not waited for until 2030-01-01 09:01")),
        ("usage-limit", {"retry_at": "Feb 31st, 2030 1:00 PM"}, NextTry(780.0)),
        ("quota", {}, NextTry(None, "not tried again: a quota does not come back by waiting")),
        ("quota", {"retry_after": 60.0}, NextTry(60.0)),
        ("network", {}, NextTry(60.0)),
        ("bail", {}, NextTry(0.0)),
        ("failed", {"retry_after": 1.0}, NextTry(None)),
        ("", {}, NextTry(None)),
    ],
)
def test_how_long(kind: str, said: dict[str, Any], answer: NextTry) -> None:
    assert judge(kind, **said) == answer


def test_how_often() -> None:
    assert [judge("bail", tried) for tried in (1, 2, 3)] == [NextTry(0.0), NextTry(0.0), NextTry(None, "tried 3 times")]
    assert judge("503", 1, patience=RetryPolicy(retries=0)) == NextTry(None)


def test_a_short_patience_is_not_stretched_for_the_network() -> None:
    assert judge("network", patience=RetryPolicy(wait=5.0)) == NextTry(5.0)


@given(
    kind=st.sampled_from(KINDS),
    tried=st.integers(1, 5),
    executor=st.sampled_from(["codex", "claude", "command"]),
    after=st.none() | st.floats(-1e9, 1e9),
    at=st.sampled_from(["", "5pm", "Jan 1st, 2031 1:00 AM", "nonsense", "9999999999"]),
)
def test_nobody_is_tried_without_end(kind: str, tried: int, executor: str, after: float | None, at: str) -> None:
    answer = judge(kind, tried, executor, retry_after=after, retry_at=at)
    if answer.wait is not None:
        assert 0 <= answer.wait <= DEFAULT_LONGEST
        assert tried <= DEFAULT_RETRIES
        assert executor != "command"
        assert not answer.why


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (("codex", "write", None, Ending("done")), "bail"),
        (("claude", "write", None, Ending("done")), "bail"),
        (("command", "write", None, Ending("done")), ""),
        (("codex", "write", "failed", Ending("failed", "x", kind="network")), "network"),
        (("codex", "write", "failed", Ending("failed", "x")), "failed"),
        (("codex", "write", "rate-limited", Ending("rate-limited", "x", kind="503")), "503"),
        (("codex", "write", "timed-out", Ending("failed", "x")), ""),
        (("codex", "write", "timed-out", Ending("failed", "x", kind="network")), "network"),
        (("codex", "write", "stopped", Ending("failed", "x")), ""),
    ],
)
def test_what_kind_of_failure(facts: tuple[Any, ...], kind: str) -> None:
    assert kind_of_failure(*facts, changed=False, result=False) == kind


@pytest.mark.parametrize(
    ("mode", "changed", "result", "kind"),
    [
        ("write", True, False, ""),
        ("write", False, True, ""),
        ("write", False, False, "bail"),
        ("read", False, False, "bail"),
        ("read", False, True, ""),
    ],
)
def test_who_has_bailed_out(mode: Any, changed: bool, result: bool, kind: str) -> None:
    assert kind_of_failure("codex", mode, None, Ending("done"), changed=changed, result=result) == kind


def test_a_day_is_told_with_its_date() -> None:
    late = judge("503", retry_after=timedelta(days=40).total_seconds())
    assert late == NextTry(None, "not waited for until 2030-02-09 12:00")
