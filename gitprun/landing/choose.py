"""Which branches are meant: the words of a command line, or the last run, become candidates for landing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gitprun.git.command import Git
from gitprun.git.repo import NoCommit, Repository, resolve_commit
from gitprun.git.revision import read_tips
from gitprun.landing.guard import list_paths
from gitprun.landing.plan import Candidate
from gitprun.ledger.events import History, RunState, UnitState, base_of
from gitprun.ledger.lookup import NotKnown, find_run, find_unit, probe_unit
from gitprun.model.errors import PrunError
from gitprun.model.lists import listed
from gitprun.model.names import Oid, UnitId, is_run_id, nearest, unit_branch
from gitprun.registry.standing import describe_later

_OID = re.compile(r"[0-9a-f]{40}")
# As git words it where a branch is made, or put somewhere else with all that is checked out.
_MADE = ("branch: Created from", "branch: Reset to")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What asks to land, and what does not with the reason; ``runs`` are those whose settings hold.

    ``ahead`` is what workers may have done to the user's checkout, to be told before anything lands.
    """

    candidates: tuple[Candidate, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    runs: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()


@dataclass(slots=True)
class _Found:
    """What was chosen so far, and what was not, with the reason."""

    candidates: list[Candidate] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def choose(repository: Repository, history: History, names: Sequence[str], *, allow_unverified: bool) -> Chosen:
    """Find what is meant by ``names``: units, runs, branches; nothing means every verified unit of the last run."""
    chosen, runs = _Found(), list[str]()
    asked = names or (find_run(history, None).id,)
    others = [name for name in asked if name not in history.runs and _find_unit(history, name) is None]
    # All names in one call: a landing of a hundred branches would start git a hundred times.
    tips = read_tips(repository.git, others)
    for name in asked:
        if is_run_id(name) and name in history.runs:
            require_one_meaning(repository.git, name, "a run")
            run = history.runs[name]
            runs.append(run.id)
            for unit in run.units.values():
                _add_unit(repository, run, unit, chosen, allow_unverified=allow_unverified)
        elif (found := _find_unit(history, name)) is not None:
            require_one_meaning(repository.git, name, "a unit")
            run, unit = found
            runs.append(run.id)
            _add_unit(repository, run, unit, chosen, allow_unverified=allow_unverified, named=True)
        else:
            chosen.candidates.append(_branch(repository, history, name, tips.get(name)))
    candidates = chosen.candidates
    if history.undoings:
        from gitprun.landing.undo_plan import taken_out

        candidates = [replace(one, reverted=taken_out(history)) for one in candidates]
    stashed = _stashed(repository, history, candidates)
    candidates = [replace(one, notes=(*one.notes, *stashed.get(one.tip, ()))) for one in candidates]
    # A unit and its branch may both be named: the last word on it, landed once.
    distinct = {(c.branch, c.tip): c for c in candidates}
    landing = {one.run for one in distinct.values() if one.run}
    ahead = [text for run_id in dict.fromkeys(runs) if run_id in landing for text in _meanwhile(repository, run_id)]
    for one in distinct.values():
        if one.unit:
            ahead += _in_checkout(history.runs[one.run].units[UnitId(one.unit)])
    return Chosen(tuple(distinct.values()), tuple(chosen.skipped), tuple(dict.fromkeys(runs)), tuple(ahead))


def _find_unit(history: History, name: str) -> tuple[RunState, UnitState] | None:
    try:
        unit = find_unit(history, name)
    except NotKnown:
        return None
    return history.runs[unit.run], unit


def _add_unit(
    repository: Repository,
    run: RunState,
    known: UnitState,
    chosen: _Found,
    *,
    allow_unverified: bool,
    named: bool = False,
) -> None:
    """Take a unit that is ready; with ``allow_unverified`` an unverified one, and a failed one only by its name."""
    unit = probe_unit(run, known)
    label = f"{unit.run}/{unit.id}"
    wanted = ("ready", "landed", *(("unverified",) if allow_unverified else ()))
    # A unit at work has nothing that could be meant: its files change while they are merged.
    willing = named and allow_unverified and not unit.live
    if unit.mode == "read" and unit.state == "done" and not named:
        # It has nothing to land, and did what it was there for.
        return
    if unit.commit is None or (unit.state not in wanted and not willing):
        chosen.skipped.append((label, f"{unit.state}{': ' + unit.reason if unit.reason else ''}"))
        return
    # Its files are half of two versions; what it is to become, only its worker knew.
    if unit.unfinished:
        where = f"finish it in {unit.path}"
        chosen.skipped.append((label, f"its worker left a {unit.unfinished} half done: {where}"))
        return
    chosen.candidates.append(
        Candidate(
            branch=unit_branch(unit.run, unit.id),
            tip=Oid(unit.commit),
            run=unit.run,
            unit=unit.id,
            verdict=unit.verdict or "absent",
            tree=unit.tree or "",
            since=unit.ended or unit.since,
            confined=unit.spec is not None and unit.spec.confined,
            notes=tuple(_beside(unit)),
            diverged=unit.stray,
            fence=unit.fence,
            base=base_of(run, unit),
            later=describe_later(repository, unit),
        )
    )


def _beside(unit: UnitState) -> Iterator[str]:
    """Yield what a worker did that is not in its commit, and which hook never saw it."""
    own, label = f"refs/prun/kept/{unit.run}/{unit.id}/", f"{unit.run}/{unit.id}"
    refs = [name.removeprefix(own) for name, _ in unit.kept if name.startswith(own)]
    # What HEAD led to is in the commit, file by file; of earlier attempts, and of versions that were staged on the way,
    # nobody asks here.
    apart = [name for name in refs if not name.startswith(("head", "staged", "attempt-", "left-in-workspace"))]
    if apart:
        yield f"{label}: its worker's {', '.join(apart)} did not come along; see {own}"
    left = [row.path for row in unit.left_out]
    if left:
        yield f"{label}: {listed(left, 1)} did not come along; git prun show {unit.id} says why"
    if any(text.startswith("hooks not run: ") and "pre-commit" in text for text in unit.collect_notes):
        yield "the pre-commit hook has not seen what units did: git runs it for no merge"


def _in_checkout(unit: UnitState) -> Iterator[str]:
    """Return what a worker did to what is the user's: through links, or (where it is known to be its doing) beside."""
    label, drift = f"{unit.run}/{unit.id}", unit.drift
    if unit.linked:
        count = len(unit.linked) + unit.linked_more - 1
        more = f" and {count} more" if count else ""
        yield f"{label}: {unit.linked[0]}{more} changed in your checkout while it ran, through what is linked"
    # What holds it is said where it does not land.
    if drift is not None and drift.sure and not drift.holds:
        yield f"{label}: {drift.text}"


def _stashed(repository: Repository, history: History, candidates: Sequence[Candidate]) -> dict[Oid, tuple[str, ...]]:
    """Return what of units' work is in the user's stash as well, for those whose workers could reach it."""
    if not os.path.lexists(repository.common / "logs" / "refs" / "stash"):
        return {}
    from gitprun.git.stash import shared_with_stash

    said: dict[Oid, tuple[str, ...]] = {}
    for one in candidates:
        unit = history.runs[one.run].units.get(one.unit) if one.run in history.runs else None
        # A clone has a stash of its own.
        if unit is None or unit.workspace != "worktree":
            continue
        base = Oid(base_of(history.runs[one.run], unit))
        try:
            found = shared_with_stash(repository.git, base, one.tip)
        except PrunError:
            # A base that is gone, say: the landing itself finds out what that means.
            continue
        if found:
            paths, entries = list_paths([path for path, _ in found]), ", ".join(sorted({name for _, name in found}))
            said[one.tip] = (f"{one.run}/{one.unit}: {paths} is what you stashed ({entries}): did its worker take it?",)
    return said


def _meanwhile(repository: Repository, run: str) -> tuple[str, ...]:
    """Return what changed in the user's checkout while a run was at work, and is committed nowhere."""
    from gitprun.observe.flags import changed_in_checkout
    from gitprun.observe.snapshot import BASELINE, FINAL, recorded_snapshot

    start, end = (recorded_snapshot(repository.state, run, name) for name in (BASELINE, FINAL))
    changed = changed_in_checkout(start, end)
    if not changed:
        return ()
    return (
        f"while {run} ran, {listed(changed, 1)} changed in your checkout: if that was not you, a worker left its place",
    )


def _branch(repository: Repository, history: History, name: str, tip: Oid | None) -> Candidate:
    try:
        tip = tip or resolve_commit(repository.git, name)
    except NoCommit:
        branches = repository.git.run("for-each-ref", "--format=%(refname:short)", "refs/heads").text.splitlines()
        units = {unit for run in history.runs.values() for unit in run.units}
        meant = nearest(name, {*branches, *units})
        raise NotKnown(
            f"{name!r} is no unit, no run and no branch",
            f"did you mean {meant!r}?" if meant else "git prun status lists units, git branch lists branches",
        ) from None
    branch = name.removeprefix("refs/heads/")
    return Candidate(branch=branch, tip=tip, made=read_made(repository, branch))


def read_made(repository: Repository, branch: str) -> str:
    """Return the commit at which a branch was made, or made anew; else that of the oldest entry of its reflog."""
    try:
        log = (repository.common / "logs" / "refs" / "heads" / branch).read_bytes()
    # ValueError: a name with a NUL is no path. Without a reflog it is not known where the branch began.
    except (OSError, ValueError):
        return ""
    rows = log.decode("utf-8", "replace").split("\n")
    made = next((row for row in reversed(rows) if row.partition("\t")[2].startswith(_MADE)), "")
    old, _, rest = (made or rows[0]).partition(" ")
    # An oldest entry that tells of a move tells what was before, too.
    found = old if old.strip("0") and not made else rest.partition(" ")[0]
    return found if _OID.fullmatch(found) and found.strip("0") else ""


def require_one_meaning(git: Git, name: str, other: str) -> None:
    """Raise NotKnown where a name is that of a branch, and of something else too."""
    if git.run("show-ref", "--verify", "--quiet", f"refs/heads/{name}", ok=(0, 1, 128)).code == 0:
        raise NotKnown(
            f"{name!r} is both a branch and {other}",
            f"write refs/heads/{name} for the branch, or RUN/UNIT (see git prun status) for the unit",
        )
