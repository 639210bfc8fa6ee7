"""Recorded resolutions taken back: by path, by branch, or with the landing that used them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.git.trees import Stage, merge_trees, show_path
from gitprun.judging.recorded_resolutions import choice_name, forget, is_recorded, recorded_for, text_name
from gitprun.judging.text import RECORDED
from gitprun.landing.undo_plan import read_landings
from gitprun.ledger.events import Event
from gitprun.ledger.landing_events import LandingLanded, ResolveForgotten, ResolveRecorded
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import GitFailed
from gitprun.model.names import Oid

# The path, as it is printed, and the name of the file that keeps what was recorded for it.
Row = tuple[str, str]


def forget_rows(repository: Repository, ledger: Ledger, rows: Sequence[Row], *, by: str) -> None:
    """Move recorded resolutions aside and write that down; ``by`` is what the user asked for."""
    # Written down first: killed in between, what is still there is forgotten by asking again.
    ledger.append(ResolveForgotten(by=by, rows=tuple(rows)))
    forget(repository.state, [name for _, name in rows])


def rows_of_path(repository: Repository, events: Iterable[Event], path: str) -> list[Row]:
    """List what is recorded for a path, or for paths in a folder."""
    found = recorded_for(events, path.rstrip("/"))
    return sorted((own, name) for name, own in found.items() if is_recorded(repository.state, name))


def rows_of_branch(
    repository: Repository, events: Sequence[Event], branch: str, tip: Oid | None, main: Oid | None
) -> list[Row]:
    """List what the merge of a branch would use, what its landings used, and what was recorded when it was resolved."""
    state, git = repository.state, repository.git
    found: dict[str, str] = {}
    for event in events:
        said = event.payload
        if isinstance(said, ResolveRecorded) and said.branch == branch:
            found |= {name: path for path, name in said.rows}
    merges = [(main, tip)] if main is not None and tip is not None else []
    landings = [one for landing in read_landings(events) for one in landing.merges if one.branch == branch]
    # Made again as it was made then: the conflicts of that merge name what answered them.
    merges += [(Oid(f"{one.commit}^1"), Oid(one.tip)) for one in landings]
    for one, other in merges:
        found |= {name: path for path, name in _rows_of_merge(repository, git, one, other)}
    return sorted((path, name) for name, path in found.items() if is_recorded(state, name))


def rows_of_landings(repository: Repository, events: Iterable[Event], git: Git, commits: Iterable[str]) -> list[Row]:
    """List the recorded resolutions that merge commits of landings used."""
    asked, found = {*commits}, dict[Row, None]()
    for event in events:
        landed = event.payload
        if not isinstance(landed, LandingLanded) or landed.commit not in asked:
            continue
        used = {row.path for row in landed.resolved if _is_recorded(row.resolver)}
        if used:
            rows = _rows_of_merge(repository, git, Oid(f"{landed.commit}^1"), Oid(landed.tip))
            found |= dict.fromkeys(row for row in rows if row[0] in used)
    return list(found)


def _is_recorded(resolver: str) -> bool:
    return resolver.partition(":")[0] == RECORDED


def _rows_of_merge(repository: Repository, git: Git, main: Oid, unit: Oid) -> list[Row]:
    """List what is recorded for the conflicts of a merge; nothing where it cannot be made."""
    try:
        merge = merge_trees(git, main, unit)
    # A commit that is gone (an undone landing, garbage-collected) has nothing left to forget.
    except GitFailed:
        return []
    stages: dict[bytes, dict[int, Stage]] = {}
    for stage in merge.stages:
        stages.setdefault(stage.path, {})[stage.number] = stage
    rows = []
    for path, sides in stages.items():
        versions = [sides.get(number) for number in (1, 2, 3)]
        base, one, other = (stage.oid if stage else None for stage in versions)
        names = [text_name(base, one, other)] if one and other else []
        # Both kinds: a conflict may have been settled by a text once, and by a side another time.
        names.append(choice_name(path, [f"{stage.mode} {stage.oid}" if stage else None for stage in versions]))
        rows += [(show_path(path), name) for name in names if is_recorded(repository.state, name)]
    return rows
