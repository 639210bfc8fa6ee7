"""Telling a rate, usage or capacity limit of the model service from other failures."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from gitprun.executors.dates import stated_date
from gitprun.executors.lines import number_at, object_at, one_line, parse_object, text_at

# What kind of failure the service answered with; ``network``: there was no answer.
FailureKind = Literal["503", "429", "usage-limit", "quota", "capacity", "network"]

# 529 is Anthropic's "overloaded".
LIMIT_STATUSES = frozenset({429, 503, 529})

_LIMIT = re.compile(
    r"""
    (?: \b (?: status | http | error | code | rejected ) \W{0,4} | \b http/\d\S*\s+ ) (?: 429 | 503 | 529 ) \b
    | \b too\ many\ requests \b | \b service\ unavailable \b
    | \b usage[ _]limit | \b rate[ _-]?limit | \b limit\ reached \b
    | \b (?: hit | reached )\ your\ (?: [\w-]+\ ){0,3} limit \b
    | \b out\ of\ (?: extra\ usage | credits ) \b
    | \b quota\ exceeded \b | \b exceeded\ your\ (?: current\ )? quota \b | \b insufficient_quota \b
    | \b at\ capacity \b | \b high\ demand \b
    | \b overloaded_error \b | \b server_is_overloaded \b
    | \b servers?\ (?: is | are )\ (?: currently\ )? overloaded \b | \b api\ error \W{1,4} overloaded \b
    """,
    re.VERBOSE,
)
# The first that fits: an account's limit is told with a status of 429 too.
_KINDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    ("quota", re.compile(r"quota")),
    ("usage-limit", re.compile(r"usage[ _]limit|out of (?:extra usage|credits)")),
    ("429", re.compile(r"\b429\b|too many requests|rate[ _-]?limit")),
    ("503", re.compile(r"\b503\b|service unavailable")),
    ("usage-limit", re.compile(r"limit reached|(?:hit|reached) your .{0,60}limit")),
    ("capacity", re.compile(r"")),
)
_NETWORK = re.compile(
    r"""
    \b waiting\ for\ network \b | \b error\ sending\ request \b | \b stream\ disconnected \b | \b idle\ timeout \b
    | \b connection\ (?: error | failed | refused | reset | closed | aborted | timed\ out | was\ lost ) \b
    | \b (?: econnrefused | econnreset | econnaborted | enotfound | etimedout | eai_again | epipe ) \b
    | \b dns\ (?: error | lookup ) | \b failed\ to\ lookup\ address \b | \b socket\ hang\ up \b | \b fetch\ failed \b
    | \b stop_reason\ missing \b
    | \b unable\ to\ connect \b | \b network\ (?: error | is\ unreachable ) \b | \b request\ timed\ out \b
    """,
    re.VERBOSE,
)
# Only right before a number: "retry after login" names no time.
_WAIT = re.compile(r"\b(?:again|retry|retrying|resets?)[ _-](in|after)\W{1,4}(?=\d)")
_STEP = re.compile(r"[\s,]*(?:and\s+)?(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]*)")
_SECONDS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
_STATED = ("retry_after", "retry_after_seconds", "resets_in_seconds")
# Thirty years: a larger number is no length of time in seconds.
_LONGEST = 1e9
# A notice is short; the text around it may not be.
_WINDOW = 4096


@dataclass(frozen=True, slots=True)
class ServiceLimit:
    """A limit of the service; ``retry_after`` in seconds where a length of time was stated, ``retry_at`` a time."""

    reason: str
    retry_after: float | None = None
    kind: FailureKind = "capacity"
    retry_at: str = ""


def find_limit(text: str) -> ServiceLimit | None:
    """Find a notice of a limit in what a program said about itself, None where there is none.

    Not meant for what the worker's own tools printed: there such words say nothing about the worker.
    """
    # Services write "You've" with either apostrophe.
    shown = text[:_WINDOW].replace("\u2019", "'").lower()
    if not _LIMIT.search(shown):
        return None
    return ServiceLimit(one_line(text), stated_wait(shown), _kind_of(shown), stated_date(text[:_WINDOW]))


def is_network(text: str) -> bool:
    """Check whether a program says that it could not talk to its service, or was cut off."""
    return bool(_NETWORK.search(text[:_WINDOW].lower()))


def failure_kind(reason: str, limit: ServiceLimit | None) -> FailureKind | Literal[""]:
    """Return the kind of a failure of the service; empty where the service had no part in it."""
    return limit.kind if limit else "network" if is_network(reason) else ""


def _kind_of(shown: str) -> FailureKind:
    return next(kind for kind, pattern in _KINDS if pattern.search(shown))


def limit_of(event: dict[str, object]) -> ServiceLimit | None:
    """Find a limit in an error event: by its words, its error code or its status number."""
    said = error_text(event)
    places = (event, object_at(event, "error"))
    codes = " ".join(text_at(place, key) for place in places for key in ("type", "code"))
    # The words first: they may state when to come back, which a code never does.
    found = find_limit(said) or find_limit(codes)
    status = next((number for place in places if (number := _limit_status(place))), None)
    if found is None:
        if status is None:
            return None
        found = ServiceLimit(f"status {status}", kind=_kind_of(str(status)))
    elif status is not None and found.kind == "capacity":
        found = replace(found, kind=_kind_of(str(status)))
    stated = next((wait for place in places if (wait := _stated_seconds(place)) is not None), None)
    return replace(
        found,
        reason=readable(said) or found.reason,
        retry_after=found.retry_after if stated is None else stated,
        retry_at=found.retry_at or stated_date(unpacked(said)[:_WINDOW]),
    )


def error_text(event: dict[str, object]) -> str:
    """Take the message out of an error event, wherever this program puts it."""
    error = object_at(event, "error")
    return (
        text_at(event, "message")
        or text_at(error, "message")
        or text_at(event, "error")
        or text_at(object_at(error, "error"), "message")
    )


def readable(message: str) -> str:
    """Make one line of an error message."""
    return one_line(unpacked(message))


def unpacked(message: str) -> str:
    """Take the words out of the JSON body that some error messages consist of."""
    body = parse_object(message.encode("utf-8", "replace")) if message.startswith("{") else None
    return (error_text(body) if body else "") or message


def stated_wait(text: str) -> float | None:
    """Read the seconds in a lower-case "again in 1.5s" or "retry-after: 30"; None for a clock time."""
    found = _WAIT.search(text)
    if found is None:
        return None
    total: float | None = None
    position = found.end()
    while step := _STEP.match(text, position):
        number, unit = float(step[1]), step[2]
        position = step.end()
        if unit not in _SECONDS:
            # Only "retry-after" goes without a unit, and "after 5:31" or "after 2030-01-30" is a time.
            is_time = text[position : position + 1] in (":", "-", "/")
            return number if found[1] == "after" and not unit and total is None and not is_time else total
        total = (total or 0.0) + number * _SECONDS[unit]
    return total


def _stated_seconds(event: dict[str, object]) -> float | None:
    for key in _STATED:
        value = event.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LONGEST:
            return float(value)
    return None


def _limit_status(event: dict[str, object]) -> int | None:
    numbers = (number_at(event, key) for key in ("status", "status_code", "code", "api_error_status"))
    return next((number for number in numbers if number in LIMIT_STATUSES), None)
