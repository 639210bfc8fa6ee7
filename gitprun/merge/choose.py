"""Which branches are meant: the words of a command line, or the last run, become candidates for landing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitprun.errors import PrunError
from gitprun.git.command import Git
from gitprun.git.repo import Repository, resolve_commit
from gitprun.merge.plan import Candidate
from gitprun.names import Oid, is_run_id, nearest, unit_branch
from gitprun.runs.events import History, RunState, UnitState
from gitprun.runs.lookup import NotKnown, find_run, find_unit, probe_unit

_OID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Choice:
    """What asks to land, and what does not with the reason; ``runs`` are those whose settings hold."""

    candidates: tuple[Candidate, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    runs: tuple[str, ...] = ()


def choose(repository: Repository, history: History, names: Sequence[str], *, allow_unverified: bool) -> Choice:
    """Find what is meant by ``names``: units, runs, branches; nothing means every verified unit of the last run."""
    candidates: list[Candidate] = []
    skipped: list[tuple[str, str]] = []
    runs: list[str] = []
    asked = names or (find_run(history, None).id,)
    tips = _read_tips(repository.git, asked)
    for name in asked:
        if is_run_id(name) and name in history.runs:
            _require_one_meaning(repository.git, name, "a run")
            run = history.runs[name]
            runs.append(run.id)
            for unit in run.units.values():
                _add_unit(run, unit, candidates, skipped, allow_unverified=allow_unverified)
        elif (found := _find_unit(history, name)) is not None:
            _require_one_meaning(repository.git, name, "a unit")
            run, unit = found
            runs.append(run.id)
            _add_unit(run, unit, candidates, skipped, allow_unverified=allow_unverified, named=True)
        else:
            candidates.append(_branch(repository, history, name, tips.get(name)))
    if history.undoings:
        from gitprun.merge.undo_plan import reverted

        candidates = [replace(one, reverted=tuple(reverted(history, one.tip).items())) for one in candidates]
    distinct = {(c.branch, c.tip): c for c in candidates}
    return Choice(tuple(distinct.values()), tuple(skipped), tuple(dict.fromkeys(runs)))


def _find_unit(history: History, name: str) -> tuple[RunState, UnitState] | None:
    try:
        unit = find_unit(history, name)
    except NotKnown:
        return None
    return history.runs[unit.run], unit


def _add_unit(
    run: RunState,
    known: UnitState,
    candidates: list[Candidate],
    skipped: list[tuple[str, str]],
    *,
    allow_unverified: bool,
    named: bool = False,
) -> None:
    """Take a unit that is ready; with ``allow_unverified`` an unverified one, and a failed one only by its name."""
    unit = probe_unit(run, known)
    label = f"{unit.run}/{unit.id}"
    wanted = ("ready", "landed", *(("unverified",) if allow_unverified else ()))
    willing = named and allow_unverified and not unit.live
    if unit.facts.get("mode") == "read" and unit.state == "done" and not named:
        # It has nothing to land, and did what it was there for.
        return
    if unit.commit is None or (unit.state not in wanted and not willing):
        reason = str(unit.facts.get("reason") or "")
        skipped.append((label, f"{unit.state}{': ' + reason if reason else ''}"))
        return
    verdict: dict[str, Any] = dict(unit.facts.get("verdict") or {})
    candidates.append(
        Candidate(
            branch=unit_branch(unit.run, unit.id),
            tip=Oid(unit.commit),
            run=unit.run,
            unit=unit.id,
            verdict=str(verdict.get("state") or "absent"),
            tree=str(unit.facts.get("tree", "")),
            since=unit.ended or unit.since,
        )
    )


def _read_tips(git: Git, names: Sequence[str]) -> dict[str, Oid]:
    """Resolve many names at once; what is no plain name, or no commit, is left to whoever explains why."""
    plain = [name for name in dict.fromkeys(names) if not any(sign in name for sign in " \n\t") and name]
    if len(plain) < 2:
        return {}
    asked = "".join(f"{name}^{{commit}}\n" for name in plain)
    rows = git.run("cat-file", "--batch-check=%(objectname)", stdin=asked.encode("utf-8", "surrogateescape")).text
    found = {name: row for name, row in zip(plain, rows.split("\n"), strict=False) if _OID.fullmatch(row)}
    return {name: Oid(row) for name, row in found.items()}


def _branch(repository: Repository, history: History, name: str, tip: Oid | None) -> Candidate:
    try:
        tip = tip or resolve_commit(repository.git, name)
    except PrunError:
        branches = repository.git.run("for-each-ref", "--format=%(refname:short)", "refs/heads").text.splitlines()
        units = {unit for run in history.runs.values() for unit in run.units}
        meant = nearest(name, {*branches, *units})
        raise NotKnown(
            f"{name!r} is no unit, no run and no branch",
            f"did you mean {meant!r}?" if meant else "git prun status lists units, git branch lists branches",
        ) from None
    return Candidate(branch=name.removeprefix("refs/heads/"), tip=tip)


def _require_one_meaning(git: Git, name: str, other: str) -> None:
    if git.run("show-ref", "--verify", "--quiet", f"refs/heads/{name}", ok=(0, 1, 128)).code == 0:
        raise NotKnown(
            f"{name!r} is both a branch and {other}",
            f"write refs/heads/{name} for the branch, or RUN/UNIT (see git prun status) for the unit",
        )
