"""A program that uses the interface: never run, its types are checked as those of a stranger's program are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitprun.api import (
    BackgroundRun,
    Json,
    Landing,
    LedgerEvent,
    Merged,
    MergeRequest,
    Plan,
    PrunError,
    Refused,
    Repo,
    RunStatus,
    Settings,
    Status,
    Unit,
    UnitDetails,
    UnitId,
    UnitStatus,
    envelope,
    merge_text,
)


def run(repo: Repo, command: Sequence[str]) -> RunStatus:
    """Run one unit and return its run."""
    unit = Unit(id=UnitId("a"), prompt="do it", executor="command", command=tuple(command))
    handle: BackgroundRun = repo.start(Plan(units=(unit,), settings=Settings(verify=("true",))))
    kinds: list[str] = [one.kind for one in handle.events() if isinstance(one, LedgerEvent)]
    if not kinds:
        handle.stop()
    return handle.wait(60.0)


def land(repo: Repo, names: Sequence[str]) -> dict[str, str]:
    """Land branches and say what became of each."""
    landing: Landing = repo.merge(names, MergeRequest(into="main", order="safe"))
    return {item.name: item.reason or item.state for item in landing.items}


def text_of(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge three texts, or give ours."""
    match merge_text(base, ours, theirs, "a.py"):
        case Merged(text=text):
            return text
        case Refused():
            return ours


def look(path: str) -> Mapping[str, Json]:
    """Return a status as JSON; raises PrunError."""
    try:
        status: Status = Repo.open(path).status()
    except PrunError as problem:
        return {"error": problem.message, "hint": problem.hint}
    units: list[UnitStatus] = [unit for found in status.runs for unit in found.units]
    commits: list[str] = [unit.commit for unit in units if unit.commit is not None]
    return envelope("status", status) | {"commits": commits}


def checks(details: UnitDetails) -> float:
    """Add up what checks took."""
    return sum(check.seconds for check in details.checks)
