"""Units and runs as the ledger has them, copied into the values that are published: the one place that does so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gitprun.api.details import CheckOutcome, RejectedCommit, TrustTouch, UnitDetails
from gitprun.api.schema import Json
from gitprun.api.values import (
    EarlierAttempt,
    HeldStatus,
    LeftOutPath,
    NamedStatus,
    PathReason,
    PinnedRef,
    RunStatus,
    UnitDrift,
    UnitStatus,
    WorkerExit,
)
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.held import HeldBranch
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.outcome import describe_exit
from gitprun.ledger.review import read_claims
from gitprun.ledger.stall import stalled_for
from gitprun.model.names import unit_branch

Facts = Mapping[str, Any]


def run_status(run: RunState, now: float, state: Path, *, claims: bool = True) -> RunStatus:
    """Return a run with the states its units really have; ``state`` is the repository's prun folder.

    Without ``claims`` the result files are not read: they are many, and a list of units does not show them.
    """
    units = (probe_unit(run, unit) for unit in run.units.values())
    return RunStatus(
        run=run.id,
        base=run.base,
        started=run.started,
        ended=run.ended,
        root=run.facts.get("root"),
        units=tuple(unit_status(unit, now, state, claims=claims) for unit in units),
    )


def unit_status(unit: UnitState, now: float, state: Path, *, claims: bool = True) -> UnitStatus:
    """Return a unit, whose ``state`` is taken as it is."""
    return UnitStatus(**_common(unit, now, state, claims=claims))


def _common(unit: UnitState, now: float, state: Path, *, claims: bool = True) -> dict[str, Any]:
    facts = unit.facts
    stall, ending = facts.get("stalled") or {}, facts.get("ending") or {}
    seconds = stalled_for(facts, unit.state, now)
    undone = facts.get("undone") or {}
    return {
        "id": unit.id,
        "run": unit.run,
        "state": unit.state,
        "reason": _text(facts, "reason"),
        "kind": _text(facts, "failure"),
        "attempt": unit.attempt,
        "earlier": tuple(_earlier(row) for row in facts.get("earlier", ())),
        "until": facts.get("until") if unit.state == "waiting" else None,
        "stalled": None if seconds is None else round(seconds, 3),
        "age": round(now - unit.since, 3),
        "seconds": (facts.get("exit") or {}).get("seconds"),
        "executor": facts.get("executor"),
        "mode": facts.get("mode"),
        "files": facts.get("files"),
        "outside": _texts(facts, "outside"),
        "left_out": _left_out(facts),
        "fallback": facts.get("fallback"),
        "drift": facts.get("drift"),
        "verdict": unit.verdict,
        "branch": unit_branch(unit.run, unit.id) if unit.commit else None,
        "commit": unit.commit,
        "ref": facts.get("ref"),
        "workspace": None if facts.get("removed") else facts.get("path"),
        "claims": tuple(read_claims(state, unit)) if claims else (),
        "hint": _text(facts, "hint"),
        "stall": str(stall.get("hint") or stall.get("last") or "") if seconds is not None else "",
        "gate": _texts(facts, "gate"),
        "verify_changed": _texts(facts, "verify_changed"),
        "result_problems": _texts(facts, "result_problems"),
        "kept": tuple(PinnedRef(ref=str(row[0]), commit=str(row[1])) for row in facts.get("kept") or ()),
        "exit": _exit(facts.get("exit")),
        "retry_after": ending.get("retry_after"),
        "reverted_by": str(undone.get("by", "")) if undone.get("way") == "reverted" else "",
        "drift_shown": _drift(facts.get("drift")),
        "confined": str((facts.get("verdict") or {}).get("confined") or ""),
    }


def unit_details(
    unit: UnitState, now: float, state: Path, *, landing: HeldStatus | None, trust: tuple[TrustTouch, ...], result: str
) -> UnitDetails:
    """Return all that is known of a unit; ``result`` is the text of its result file."""
    facts = unit.facts
    more = facts.get("linked_more") or 0
    unseen = tuple(str(facts[name]) for name in ("drift_note", "linked_note") if facts.get(name))
    return UnitDetails(
        **_common(unit, now, state),
        landing=landing,
        trust=trust,
        facts=facts_of(unit),
        result=result,
        path=_text(facts, "path"),
        removed=bool(facts.get("removed")),
        log=_text(facts, "log"),
        workspace_kind=_text(facts, "workspace"),
        checks=checks_of(unit),
        changed=_texts(facts, "changed"),
        linked=(*_texts(facts, "linked"), *([f"... and {more} more"] if more else ())),
        rejected=tuple(_rejected(row) for row in facts.get("rejected") or ()),
        own_commits=_texts(facts, "own_commits"),
        check_notes=_texts(facts, "check_notes"),
        notes=(*_texts(facts, "notes"), *_texts(facts, "collect_notes"), *unseen),
    )


def facts_of(unit: UnitState) -> Mapping[str, Json]:
    """Return everything the ledger says of a unit, as plain values."""
    return cast("Mapping[str, Json]", json.loads(json.dumps(dict(unit.facts))))


def checks_of(unit: UnitState) -> tuple[CheckOutcome, ...]:
    """Return what the checks of a unit said, in the order in which they ran."""
    rows = (unit.facts.get("verdict") or {}).get("checks") or ()
    return tuple(
        CheckOutcome(
            command=str(row.get("command", "")),
            state=str(row.get("state", "")),
            code=row.get("code"),
            seconds=float(row.get("seconds") or 0.0),
            log=str(row.get("log") or ""),
            reason=str(row.get("reason") or ""),
            changed=tuple(map(str, row.get("changed") or ())),
            flaky=bool(row.get("flaky")),
        )
        for row in rows
    )


def has_worker(unit: UnitState) -> bool:
    """Check whether the worker of a unit was ever started."""
    return bool(unit.facts.get("process"))


def named_status(unit: UnitState, now: float) -> NamedStatus:
    """Return a workspace of the user's own, whose ``state`` is taken as it is."""
    facts = unit.facts
    keys = ("path", "branch", "workspace", "base", "setup", "commit", "ref", "files", "outcome", "log")
    return NamedStatus(
        name=unit.id,
        state=unit.state,
        reason=_text(facts, "reason"),
        age=round(now - unit.since, 3),
        verdict=unit.verdict,
        left_out=_left_out(facts),
        **{key: facts.get(key) for key in keys},
    )


def held_status(one: HeldBranch) -> HeldStatus:
    """Return what the last landing of a branch said."""
    return HeldStatus(
        branch=one.branch,
        name=one.name,
        target=one.target,
        state=one.state,
        reason=one.reason,
        moved=one.moved,
        time=one.time,
        command=one.command,
        log=one.log,
        findings=tuple(PathReason(path=path, reason=reason) for path, reason in one.findings),
        next=one.next_step,
    )


def _text(facts: Facts, key: str) -> str:
    return str(facts.get(key) or "")


def _texts(facts: Facts, key: str) -> tuple[str, ...]:
    found = facts.get(key) or ()
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()


def _left_out(facts: Facts) -> tuple[LeftOutPath, ...]:
    rows = facts.get("left_out") or ()
    return tuple(
        LeftOutPath(path=str(row["path"]), reason=str(row.get("reason", "")), size=int(row.get("size") or 0))
        for row in rows
    )


def _rejected(row: Facts) -> RejectedCommit:
    return RejectedCommit(**{key: str(row.get(key) or "") for key in ("name", "oid", "reason", "place")})


def _earlier(row: Facts) -> EarlierAttempt:
    texts = {key: str(row.get(key) or "") for key in ("state", "reason", "kind", "folder", "base", "commit")}
    return EarlierAttempt(attempt=int(row.get("attempt") or 0), ref=row.get("ref"), **texts)


def _exit(said: Facts | None) -> WorkerExit | None:
    if not said:
        return None
    return WorkerExit(
        words=describe_exit(said),
        reason=str(said.get("reason") or ""),
        code=said.get("code"),
        signal=said.get("signal"),
        seconds=float(said.get("seconds") or 0.0),
        leftovers=int(said.get("leftovers") or 0),
        survivors=tuple(said.get("survivors") or ()),
        unproved=str(said.get("unproved") or ""),
        dropped=int(said.get("dropped") or 0),
    )


def _drift(said: Facts | None) -> UnitDrift | None:
    if not said:
        return None
    return UnitDrift(
        text=str(said.get("text") or ""),
        lines=tuple(map(str, said.get("lines") or ())),
        holds=bool(said.get("holds")),
        sure=bool(said.get("sure")),
        shown=bool(said.get("shown")),
    )
