"""What the facts of events must look like to be read: one table, so that nobody who reads them has to ask again. Pure.

A fact of another shape, from a hand that edited the ledger or from a version to come, counts as not said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _rows(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list | tuple) and all(map(shape, value))


def _tuple(*shapes: Shape) -> Shape:
    """Check for a list of just these."""

    def fits(value: Any) -> bool:
        long = isinstance(value, list | tuple) and len(value) == len(shapes)
        return long and all(shape(part) for shape, part in zip(shapes, value, strict=True))

    return fits


def _record(needed: Mapping[str, Shape], more: Mapping[str, Shape] | None = None) -> Shape:
    """Check for an object: what is needed is there, what else is known is as it should be or null."""
    rest = more or {}

    def fits(value: Any) -> bool:
        if not isinstance(value, Mapping) or not all(name in value for name in needed):
            return False
        known = {**needed, **rest}
        return all(
            known[name](part) or (part is None and name in rest) for name, part in value.items() if name in known
        )

    return fits


def _anything(_value: Any) -> bool:
    return True


def _or_empty(shape: Shape) -> Shape:
    return lambda value: value == {} or shape(value)


_texts = _rows(_text)
_identity = _tuple(_whole, _whole)
_who = _record({"pid": _whole, "start": _text, "boot": _text})
_process = _or_empty(lambda value: _who(value) and len(value) == 3)
_exit = _record(
    {"seconds": _number},
    {
        "reason": _text,
        "code": _whole,
        "signal": _whole,
        "detail": _text,
        "leftovers": _whole,
        "survivors": _rows(_whole),
        "unproved": _text,
        "dropped": _whole,
    },
)
_ending = _record(
    {}, {**dict.fromkeys(("kind", "state", "reason", "message", "thread", "retry_at"), _text), "retry_after": _number}
)
_check = _record({"state": _text, "command": _text, "seconds": _number, "reason": _text}, {"log": _text})
_verdict = _record({"state": _text}, {"reason": _text, "confined": _text, "checks": _rows(_check)})
_earlier = _record(
    {"attempt": _whole, "state": _text, "folder": _text},
    dict.fromkeys(("kind", "reason", "base", "commit", "ref"), _text),
)
_spec = _record(
    {},
    {
        **dict.fromkeys(("id", "executor", "mode", "model", "reasoning", "sandbox", "workspace"), _text),
        "command": _texts,
        "paths": _texts,
        "timeout": _number,
        "bypass": _flag,
        "walled": _flag,
    },
)
_left_out = _record({"path": _text, "reason": _text}, {"size": _whole})
_rejected = _record({"name": _text, "oid": _text, "reason": _text}, {"place": _text})

_finding = _record(
    {"kind": _text, "name": _text, "old": _text, "new": _text, "gate": _flag},
    {"file": _text, "why": _text, "by": _texts},
)
_drift = _record(
    {"id": _text},
    {
        **dict.fromkeys(("text", "place"), _text),
        **dict.fromkeys(("shown", "sure", "holds"), _flag),
        "units": _texts,
        "lines": _texts,
        "more": _whole,
        "findings": _rows(_finding),
    },
)

# Of units, workspaces, runs and landings; null always means that nothing is said.
_SHAPES: Mapping[str, Shape] = {
    **dict.fromkeys(
        (
            *("path", "branch", "base", "workspace", "commit", "tree", "ref", "state", "reason", "hint", "failure"),
            *("executor", "mode", "log", "mark", "program", "plan", "root", "version", "setup", "saved", "stray"),
            *(
                "unfinished",
                "thread",
                "slug",
                "sandbox",
                "verify_in",
                "kept_files",
                "drift_note",
                "linked_note",
                "target",
                "old",
                "new",
                "checkout",
                "tip",
            ),
        ),
        _text,
    ),
    **dict.fromkeys(("changed", "outside", "gate", "provided", "notes", "collect_notes", "own_commits"), _texts),
    **dict.fromkeys(
        ("result_problems", "verify_changed", "check_notes", "linked", "ignored", "units", "again"), _texts
    ),
    **dict.fromkeys(("files", "attempt", "jobs", "birth", "linked_more"), _whole),
    **dict.fromkeys(("until", "seconds"), _number),
    **dict.fromkeys(("fallback", "removed", "walled"), _flag),
    "identity": _identity,
    "process": _process,
    "coordinator": _process,
    "exit": _exit,
    "ending": _ending,
    "verdict": _verdict,
    "earlier": _rows(_earlier),
    "kept": _rows(_tuple(_text, _text)),
    "left_out": _rows(_left_out),
    "rejected": _rows(_rejected),
    "spec": _spec,
    "lock": _record({}, {"reason": _text}),
    "moving": _record({"from": _text, "to": _text}),
    "trash": _tuple(_text, _whole, _whole),
    "drift": _drift,
    "findings": _rows(_finding),
    "branches": _texts,
    "landings": _rows(_record({"branch": _text, "commit": _text, "tip": _text}, {"run": _text, "unit": _text})),
    "resolved": _rows(_anything),
    "suspects": _rows(_anything),
    "dropped": _rows(_anything),
    "present": _record({}, {"whole": _whole, "united": _texts, "missing": _texts}),
    "stalled": _record({}, {"hint": _text, "last": _text, "seconds": _number, "since": _number, "time": _number}),
}
# What landings say under a name that means something else for units.
_accepted = _rows(_record({"path": _text}, {"accepted": _text, "what": _text, "old": _text, "new": _text}))
_OF_LANDINGS: Mapping[str, Shape] = {
    **_SHAPES,
    **dict.fromkeys(("outside", "gate", "trust"), _accepted),
    **dict.fromkeys(("accept", "with_base"), _texts),
    **dict.fromkeys(("of", "command"), _text),
    "findings": _rows(_tuple(_text, _text)),
}
# A list is there or not; for anything else null takes back what was said before.
_LISTS = frozenset(name for name, shape in _OF_LANDINGS.items() if shape([]) or name == "identity")
# Without all of these nobody can tell which folder is meant.
_PLACE = ("path", "workspace", "identity")
# What an event is nothing without.
_NEEDED = {"workspace.made": (*_PLACE, "branch"), "landing.started": ("target", "old", "new")}
_KINDS = ("unit.", "workspace.", "run.", "drift.", "landing.", "undo.")
# A whole run as one event: its facts lie deeper, and are read one by one.
_WHOLE_RUNS = ("run.summed",)


def sound_facts(kind: str, facts: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the facts of an event without those that are not what they must be; None where nothing is left to say."""
    if not kind.startswith(_KINDS) or kind.startswith(_WHOLE_RUNS):
        return facts
    shapes = _OF_LANDINGS if kind.startswith("landing.") else _SHAPES
    known = [(name, value) for name, value in facts.items() if name in shapes]
    wrong = {name for name, value in known if not (shapes[name](value) or (value is None and name not in _LISTS))}
    if wrong.intersection(_PLACE):
        wrong.update(_PLACE)
    sound = {name: value for name, value in facts.items() if name not in wrong} if wrong else facts
    return sound if all(sound.get(name) is not None for name in _NEEDED.get(kind, ())) else None
