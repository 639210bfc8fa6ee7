"""Landings as the ledger tells them, what was taken back of each, and which of it a word of the user means; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from gitprun.ledger.events import Event, History
from gitprun.ledger.landing_events import LandingFinished, LandingStarted, UndoFacts
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.escapes import shell_word
from gitprun.model.names import nearest, short

Way = Literal["moved", "reverted", "redone"]
# Six digits: a longer number is more likely the beginning of a commit.
_NUMBER = re.compile(r"#?([1-9][0-9]{0,5})")
# Git takes four digits at least for the beginning of an id.
_COMMIT = re.compile(r"[0-9a-f]{4,40}")


class NoLanding(PrunError):
    """Nothing that landed goes by that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One branch of a landing; ``undone`` says how it was taken back (empty: it stands), ``by`` which commit did."""

    branch: str
    commit: str
    tip: str
    run: str = ""
    unit: str = ""
    undone: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """One landing: the merges in their order; ``after`` is a commit of generated files on top of them, if any."""

    number: int
    time: float
    target: str
    old: str
    new: str
    merges: tuple[Merge, ...] = ()
    after: str = ""

    @property
    def standing(self) -> tuple[Merge, ...]:
        """Return the merges that were not taken back."""
        return tuple(one for one in self.merges if not one.undone)


@dataclass(frozen=True, slots=True)
class UndoChoice:
    """What is to be taken back, or with ``redo`` brought back: some merges of one landing, in their order."""

    landing: Landed
    merges: tuple[Merge, ...]
    redo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneItem:
    """One branch taken (or brought) back; ``by`` is the commit that did so, empty where the branch was moved."""

    branch: str
    commit: str
    run: str = ""
    unit: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """What came of an undo; with a dry run, what would. ``forgotten`` are paths resolved by hand, to be asked anew."""

    landing: int
    target: str
    old: str
    new: str
    way: Way
    items: tuple[UndoneItem, ...]
    notes: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        items = [{key: getattr(one, key) for key in ("branch", "commit", "run", "unit", "by")} for one in self.items]
        ends = {key: getattr(self, key) for key in ("landing", "target", "old", "new", "way")}
        forgotten = {"forgotten": list(self.forgotten)} if self.forgotten else {}
        return {**ends, "items": items, "notes": list(self.notes), **forgotten}


def read_landings(events: Iterable[Event]) -> tuple[Landed, ...]:
    """List the landings that came to their end, numbered from 1 in the order in which they did."""
    found: list[Landed] = []
    begun: LandingStarted | None = None
    for event in events:
        one = event.payload
        if isinstance(one, LandingStarted):
            begun = one
        elif isinstance(one, LandingFinished) and one.outcome == "landed":
            # Ends are matched with their beginnings by the tip: what was killed in between has none.
            if begun is not None and begun.new == one.new:
                found.append(_landed(len(found) + 1, event.time, begun))
        elif isinstance(one, UndoFacts):
            found = [_mark(landing, one) for landing in found]
    return tuple(found)


def _landed(number: int, time: float, begun: LandingStarted) -> Landed:
    return Landed(
        number=number,
        time=time,
        target=begun.target,
        old=begun.old,
        new=begun.new,
        merges=tuple(
            Merge(branch=row.branch, commit=row.commit, tip=row.tip, run=row.run, unit=row.unit)
            for row in begun.landings
        ),
        after=begun.after.commit if begun.after is not None else "",
    )


def _mark(landing: Landed, undone: UndoFacts) -> Landed:
    """Note what became of one merge; a landing is known by its target and the merge commit."""
    if landing.target != undone.target:
        return landing
    # Brought back, it stands as if nothing had been.
    way, by = ("", "") if undone.way == "redone" else (undone.way, undone.by)
    merges = (replace(m, undone=way, by=by) if m.commit == undone.commit else m for m in landing.merges)
    return replace(landing, merges=tuple(merges))


def choose_landing(
    landings: Sequence[Landed], name: str | None, *, redo: bool, tips: Mapping[str, str] | None = None
) -> UndoChoice:
    """Find what is meant: the last landing that stands, or one by its number, a merge commit, a branch or a unit.

    The commit of a revert, or ``redo``, means to bring back; ``tips`` tells where the targets are now. Raises NoLanding
    when nothing is of that name, Refused when it was taken (or brought) back already.
    """
    tips = tips or {}
    if not landings:
        raise NoLanding("nothing has landed through git prun here", "git prun merge lands branches")
    if name is None:
        for landing in reversed(landings):
            merges = (_reverted(landing) or taken_off(landing, tips)) if redo else landing.standing
            if merges:
                return UndoChoice(landing, merges, redo)
        # Taken off the top and something else landed since: it can only be merged anew, and that is said.
        moved = tuple(one for one in landings[-1].merges if one.undone == "moved")
        if redo and moved:
            raise OperationRefused(*_settled(landings[-1], moved, redo=redo))
        raise OperationRefused(
            f"no landing is left to {'bring' if redo else 'take'} back", "git prun undo --list shows them all"
        )
    landing, merges, by = _named(landings, name)
    redo = redo or by
    left = tuple(one for one in merges if (one.undone == "reverted" if redo else not one.undone))
    off = taken_off(landing, tips) if redo and not left else ()
    if off and {*off} <= {*merges}:
        return UndoChoice(landing, off, redo)
    if not left:
        raise OperationRefused(*_settled(landing, merges, redo=redo))
    return UndoChoice(landing, left, redo)


def _reverted(landing: Landed) -> tuple[Merge, ...]:
    return tuple(one for one in landing.merges if one.undone == "reverted")


def taken_off(landing: Landed, tips: Mapping[str, str]) -> tuple[Merge, ...]:
    """List the merges that were the top of their target and were moved off, where it is right below them still."""
    first = next((n for n, one in enumerate(landing.merges) if one.undone == "moved"), len(landing.merges))
    off = landing.merges[first:]
    below = landing.merges[first - 1].commit if first else landing.old
    # Something on top means that putting it back would take that off.
    fits = tips.get(landing.target) == below and all(one.undone == "moved" for one in off)
    return off if fits else ()


def _settled(landing: Landed, merges: Sequence[Merge], *, redo: bool) -> tuple[str, str]:
    """Return why there is nothing left to do, and how to go on."""
    names = ", ".join(one.branch for one in merges)
    if any(one.undone == "moved" for one in merges):
        again = f"git prun merge {' '.join(shell_word(one.branch) for one in merges)}"
        return f"{names} of landing {landing.number} was taken back and is in no history", again
    if redo:
        return f"{names} of landing {landing.number} was never reverted", "there is nothing to bring back"
    by = next(one.by for one in merges if one.by)
    return f"{names} of landing {landing.number} was reverted already, by {short(by)}", _bring_back(by)


def _bring_back(by: str) -> str:
    return f"git prun undo {short(by)} brings it back"


def _named(landings: Sequence[Landed], name: str) -> tuple[Landed, tuple[Merge, ...], bool]:
    """Return the landing and its merges that a name means, and whether it is the name of a revert."""
    number = _NUMBER.fullmatch(name)
    # A number that no landing has may be the name of a branch, or a commit.
    if number and int(number[1]) <= len(landings):
        landing = landings[int(number[1]) - 1]
        return landing, landing.merges, False
    if _COMMIT.fullmatch(name):
        found = [hit for landing in landings for hit in _by_commit(landing, name)]
        if len({hit[1] for hit in found}) > 1:
            raise NoLanding(f"{name} is the beginning of several commits", "write more of it")
        if found:
            return found[-1]
    branch = name.removeprefix("refs/heads/")
    hits = [
        (landing, (one,), False)
        for landing in landings
        for one in landing.merges
        if branch in (one.branch, one.unit, f"{one.run}/{one.unit}")
    ]
    standing = [hit for hit in hits if not hit[1][0].undone]
    if hits:
        # One that stands is meant rather than a later one that was taken back.
        return (standing or hits)[-1]
    known = {one.branch for landing in landings for one in landing.merges}
    meant = nearest(name, known | {one.unit for landing in landings for one in landing.merges if one.unit})
    raise NoLanding(
        f"nothing that landed goes by the name {name!r}",
        f"did you mean {meant!r}?" if meant else "git prun undo --list shows all landings",
    )


def _by_commit(landing: Landed, prefix: str) -> list[tuple[Landed, tuple[Merge, ...], bool]]:
    found: list[tuple[Landed, tuple[Merge, ...], bool]] = []
    for one in landing.merges:
        if one.commit.startswith(prefix):
            found.append((landing, (one,), False))
    by = tuple(one for one in landing.merges if one.by and one.by.startswith(prefix))
    if by:
        found.append((landing, by, True))
    # The generated files belong to the landing as a whole.
    if landing.after and landing.after.startswith(prefix):
        found.append((landing, landing.merges, False))
    return found


def can_move_back(landing: Landed, merges: Sequence[Merge], tip: str, parents: Mapping[str, str]) -> bool:
    """Check whether nothing came after some merges: they are the top of the target, one right on the other.

    ``parents`` gives the first parent of commits.
    """
    if landing.after and (tip != landing.after or len(merges) != len(landing.merges)):
        return False
    top = landing.after or merges[-1].commit
    chain = [one.commit for one in merges] + ([landing.after] if landing.after else [])
    # A commit of somebody else's between two of them would go with the move.
    joined = all(parents.get(above) == below for below, above in pairwise(chain))
    return tip == top and joined


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOut:
    """A merge that ``by`` took out of a target (a full ref) without taking it out of the history, or brought back.

    ``branch`` is what had landed as ``commit``.
    """

    target: str
    branch: str
    commit: str
    by: str
    redone: bool


def taken_out(history: History) -> tuple[TakenOut, ...]:
    """List what was reverted, and brought back, in order: git merges nothing of it again, for it is in the history."""
    return tuple(
        TakenOut(target=one.target, branch=one.branch, commit=one.commit, by=one.by, redone=one.way == "redone")
        for one in history.undoings
        if one.way in ("reverted", "redone")
    )
