"""Which branches can meet at all, and what a forecast says about those that do; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations

from gitprun.judging.judged import Judged
from gitprun.model.findings import MergeState
from gitprun.model.names import Oid

# What stands in the way of landing two together, worst first.
BAD = (MergeState.SUSPECT, MergeState.CONFLICT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathForecast:
    """One path at which two branches meet badly.

    ``resolver`` names who would settle it; while it is empty, ``reasons`` say why nobody does. ``dropped`` counts the
    lines that a policy would leave out.
    """

    path: str
    kind: str
    detail: str = ""
    resolver: str = ""
    reasons: tuple[str, ...] = ()
    dropped: int = 0


def list_paths_of(judged: Judged) -> tuple[PathForecast, ...]:
    """List the paths of a merge that are not simply clean."""
    rows = [
        PathForecast(
            path=one.path,
            kind=one.kind,
            detail=one.detail,
            resolver=one.resolver,
            reasons=() if one.would_settle else (one.reason,),
        )
        for one in judged.conflicts
    ]
    rows += [
        PathForecast(path=one.path, kind="contents", resolver=one.resolver, dropped=len(one.dropped))
        for one in judged.resolved
    ]
    rows += [PathForecast(path=one.path, kind="suspect", resolver=one.resolver) for one in judged.replaced]
    rows += [PathForecast(path=one.path, kind="suspect", reasons=(one.reason,)) for one in judged.suspects]
    rows += [PathForecast(path=one.paths, kind="not checked", reasons=(one.reason,)) for one in judged.unchecked]
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a branch can meet another: the paths it changed, those of them it added, the folders it left empty."""

    paths: frozenset[bytes]
    added: frozenset[bytes] = frozenset()
    gone: frozenset[bytes] = frozenset()


def folders_left(removed: Iterable[bytes]) -> frozenset[bytes]:
    """List the folders from which paths were removed: those that are gone now may have been renamed."""
    return frozenset(folder for path in removed for folder in folders_above(path))


def folders_above(path: bytes) -> list[bytes]:
    """List the folders a path lies in, the top of the repository left out."""
    parts = path.split(b"/")
    return [b"/".join(parts[:number]) for number in range(1, len(parts))]


def plan_meetings(reaches: Mapping[int, Reach]) -> set[tuple[int, int]]:
    """Find the pairs (smaller number first) whose merge could be more than the sum of both.

    They do where both changed a path (a rename is a removal and an addition), where one has a file and the other a
    folder, and where one added something to a folder that the other left empty: git takes that for a renamed folder
    and moves the addition. All others are disjoint.
    """
    by_path = _index((path, side) for side, reach in reaches.items() for path in reach.paths)
    # From here on each path is asked once: compared pair by pair, a thousand branches are half a million questions.
    by_gone = _index((folder, side) for side, reach in reaches.items() for folder in reach.gone)
    met = {pair for sides in by_path.values() for pair in combinations(sorted(sides), 2)}
    for path, sides in by_path.items():
        for folder in folders_above(path):
            # A path that is another one's folder: both cannot be in one tree.
            met |= _cross(sides, by_path.get(folder, ()))
            if folder in by_gone:
                met |= _cross([side for side in sides if path in reaches[side].added], by_gone[folder])
    return met


def _index(rows: Iterable[tuple[bytes, int]]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for name, side in rows:
        found.setdefault(name, []).append(side)
    return found


def _cross(sides: Collection[int], others: Collection[int]) -> set[tuple[int, int]]:
    return {(min(one, other), max(one, other)) for one in sides for other in others if one != other}


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One branch of a forecast; ``paths`` is how many it changes, ``live`` says that this is work not committed yet.

    ``gate`` says what it changes of its own checks, ``named`` what may start programs elsewhere, ``suspect`` what of
    others' work it takes back, ``refused`` what of its own the target took back, ``held`` why a landing would hold it,
    and ``accept`` what would have to be accepted then.
    """

    name: str
    tip: Oid
    run: str = ""
    unit: str = ""
    live: bool = False
    paths: int = 0
    gate: str = ""
    named: str = ""
    suspect: str = ""
    refused: str = ""
    held: str = ""
    accept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """What becomes of two branches (``other`` may be the target) if both land."""

    one: str
    other: str
    state: MergeState
    paths: tuple[PathForecast, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        paths = [{name: getattr(row, name) for name in PathForecast.__slots__} for row in self.paths]
        return {"one": self.one, "other": self.other, "state": str(self.state), "paths": paths}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would happen if branches landed on a target.

    ``meetings`` are the pairs of branches that were merged to find out, ``against`` the branches that meet the
    target's own changes; all others are disjoint. ``left_out`` names what was not looked at, with the reason.
    """

    target: str
    tip: Oid
    branches: tuple[Branch, ...]
    meetings: tuple[Meeting, ...] = ()
    against: tuple[Meeting, ...] = ()
    order: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> int:
        """Count the pairs of branches."""
        return len(self.branches) * (len(self.branches) - 1) // 2

    @property
    def bad(self) -> tuple[Meeting, ...]:
        """Return the meetings that no resolver settles, those with the target first."""
        return tuple(one for one in (*self.against, *self.meetings) if one.state in BAD)

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "target": self.target,
            "tip": self.tip,
            "branches": [asdict(branch) for branch in self.branches],
            "pairs": [meeting.as_json() for meeting in self.meetings],
            "against": [meeting.as_json() for meeting in self.against],
            "order": list(self.order),
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
            "counts": {
                "pairs": self.pairs,
                "compared": len(self.meetings),
                "pruned": self.pairs - len(self.meetings),
                **{
                    str(state): sum(one.state == state for one in self.meetings)
                    for state in (*BAD, MergeState.UNITED, MergeState.CLEAN)
                },
            },
        }


def partners_of(meetings: Iterable[Meeting]) -> dict[str, set[str]]:
    """Return with whom each branch does not get along."""
    found: dict[str, set[str]] = {}
    for one in meetings:
        if one.state in BAD:
            found.setdefault(one.one, set()).add(one.other)
    return found
