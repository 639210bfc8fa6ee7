"""What a second look at a merged text finds, within a limit of time; what it could not look at is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from typing import TypeVar

from gitprun.resolvers.base import AUDIT_LIMIT, SIZE_LIMIT, TIME_LIMIT, FileConflict, Refused
from gitprun.resolvers.cascade import prepare
from gitprun.resolvers.kinds import why_unjudged
from gitprun.system.bugs import write_bug_report
from gitprun.system.limit import TimeLimit, limited

_T = TypeVar("_T")
NOT_SETTLED = f"no resolver settled it within {TIME_LIMIT:g} s of processor time"
NOT_FINISHED = f"not checked: not finished within {AUDIT_LIMIT:g} s of processor time"


class Late(Refused):
    """No answer came within the limit of time."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """What is wrong with a merged text that is wrong with neither side, and why more may be (empty: all was checked).

    A look that did not end in time is a fault (``late``): what nobody has seen to its end does not land by itself.
    """

    faults: tuple[str, ...] = ()
    unjudged: str = ""
    late: bool = False


def find_doubts(conflict: FileConflict, text: bytes, state: Path | None) -> Doubts:
    """Look at a text that was merged from two sides; ``state`` is where a bug of prun is reported."""

    def look() -> tuple[str, ...]:
        # Loaded when a file is to be looked at: most merges end before.
        from gitprun.resolvers import outline

        return outline.find_doubts(conflict, text)

    # What is too large is not even read: that is said, and no fault, for nobody can do better by hand.
    size = max(map(len, (conflict.main, conflict.unit, text)))
    unjudged = why_unjudged(conflict.path, size)
    if size > SIZE_LIMIT:
        return Doubts(unjudged=unjudged)
    doing, before = f"looking at {conflict.path!r}", lambda: prepare(conflict.path)
    found = guarded(look, state, doing, NOT_FINISHED, before, seconds=AUDIT_LIMIT)
    if isinstance(found, Late):
        return Doubts((found.reason,), late=True)
    return Doubts(unjudged=found.reason) if isinstance(found, Refused) else Doubts(found, unjudged)


def guarded(
    look: Callable[[], _T],
    state: Path | None,
    doing: str,
    late: str,
    before: Callable[[], None] = lambda: None,
    seconds: float | None = None,
) -> _T | Refused:
    """Have resolvers look at something within the limit of time, ``before`` aside; a failure is a report, and told."""
    try:
        before()
        with limited(TIME_LIMIT if seconds is None else seconds):
            return look()
    except TimeLimit:
        return Late(late)
    # Whatever a resolver raises, git's conflict must stay and the other files must be merged.
    except Exception as problem:
        # The module that failed says more to whoever reads the report than the line that called it.
        where = [frame.f_code.co_filename for frame, _ in walk_tb(problem.__traceback__)]
        name = next((Path(each).stem for each in reversed(where) if "/resolvers/" in each), "unknown")
        told = write_bug_report(problem, state / "bugs" if state is not None else None, doing)
        return Refused(f"the {name} resolver failed: {problem!r}; this is a bug, please report it: {told}")
