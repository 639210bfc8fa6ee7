"""The results of a run: does every unit have one that can be used, and does it agree with what was found?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitprun.ledger.claims import check_claims
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.outcome import NO_RESULT
from gitprun.model.contract import Result, parse_result
from gitprun.model.lists import listed
from gitprun.model.names import RunId, UnitId
from gitprun.system.files import read_plain

# A result is a page or two and is read whole; a worker gone astray may fill a disk with one.
MAX_RESULT = 4_000_000

# pending: its worker may still write one. missing: there is none, and none will come.
ResultKind = Literal["valid", "invalid", "fallback", "missing", "pending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What became of one unit's result: ``reason`` says why it cannot be used, ``folder`` holds its traces.

    ``outside`` are the paths that its worker changed outside of those it was given.
    """

    run: RunId
    unit: UnitId
    state: str
    kind: ResultKind
    folder: str
    reason: str = ""
    fields: Mapping[str, str]
    claims: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Check whether the worker's own result is there and follows the contract."""
        return self.kind == "valid"

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "run": self.run,
            "unit": self.unit,
            "state": self.state,
            "result": self.kind,
            "reason": self.reason,
            "state_dir": self.folder,
            "fields": dict(self.fields),
            "claims": list(self.claims),
            "outside": list(self.outside),
        }


def unit_folder(state: Path, unit: UnitState) -> Path:
    """Name the folder that keeps prompt, output and result of a unit; ``state`` is the repository's prun folder."""
    return state / "runs" / unit.run / unit.id


def review_run(state: Path, run: RunState) -> tuple[Review, ...]:
    """Review every unit that was dispatched, those too of which nothing but their name was ever written down."""
    units = {name: UnitState(id=UnitId(name), run=run.id, since=run.started) for name in run.names} | dict(run.units)
    return tuple(review_unit(state, probe_unit(run, unit)) for unit in units.values())


def review_unit(state: Path, unit: UnitState) -> Review:
    """Read one unit's result and judge it; ``unit`` has the state it really has."""
    folder = unit_folder(state, unit)
    text = read_result_text(folder)
    result = parse_result(text, unit.id)
    kind, reason = _judge(unit, text, result)
    return Review(
        run=unit.run,
        unit=unit.id,
        state=unit.state,
        kind=kind,
        folder=str(folder),
        reason=reason,
        # An invalid result may still say what a person wants to read; only its claims are not held to it.
        fields=result.fields if kind in ("valid", "invalid") else {},
        claims=claims_of(unit, result) if kind == "valid" else (),
        outside=() if unit.live else unit.outside or (),
    )


def read_result_text(folder: Path) -> str:
    """Read what a unit's folder keeps as its result; empty if there is none."""
    return (read_plain(folder / "result.md", MAX_RESULT) or b"").decode("utf-8", "replace")


def _judge(unit: UnitState, text: str, result: Result) -> tuple[ResultKind, str]:
    why = unit.reason
    if unit.live:
        # What lies there now may be left from an earlier attempt.
        return "pending", f"is still {unit.state}"
    if not text.strip():
        lost = "nobody works on it any more" if unit.state == "lost" else ""
        return "missing", f"{unit.state} without a result file" + (f": {lost or why}" if lost or why else "")
    # Before the problems, for a salvaged text follows no contract.
    if result.fallback:
        return "fallback", f"salvaged: {why if why and why != NO_RESULT else NO_RESULT}"
    if result.problems:
        return "invalid", listed(result.problems, 1)
    return "valid", ""


def claims_of(unit: UnitState, result: Result) -> tuple[str, ...]:
    """List where a result disagrees with the unit's capture and checks, as far as these are known."""
    # Before a capture there is nothing to hold the words against; a unit that only reads never has one.
    if unit.live or (not unit.captured and unit.mode != "read"):
        return ()
    checks = unit.checked.checks if unit.checked is not None else ()
    return check_claims(
        result,
        changed=unit.changed if unit.captured else None,
        left_out={row.path: row.reason for row in unit.left_out},
        verdict=unit.verdict,
        checks=[(check.command, check.state) for check in checks],
    )


def read_claims(state: Path, unit: UnitState) -> tuple[str, ...]:
    """Read a unit's result and list where it disagrees with what was found."""
    text = read_result_text(unit_folder(state, unit))
    return claims_of(unit, parse_result(text, unit.id)) if text.strip() else ()


def incomplete(reviews: Iterable[Review]) -> tuple[Review, ...]:
    """Pick the units without a result of their own that can be used."""
    return tuple(review for review in reviews if not review.complete)
