"""``git prun undo --drift``: put back what changed in the user's repository while a worker ran, or accept it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.ledger.drift_findings import UNREADABLE, Change, DriftFinding, describe, read_finding
from gitprun.ledger.drift_record import Drift, awaits, open_drifts, over_rows, read_drifts
from gitprun.ledger.events import Event, fold
from gitprun.ledger.house_events import DriftSettled, DriftUndoing
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.roster import NAMED
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import nearest, parse_oid
from gitprun.observe.keep import drop_keep, keep_folder, pin_prefix
from gitprun.observe.safe_mode import settle_trust
from gitprun.observe.snapshot import read_json, read_snapshot
from gitprun.recovery.history import Refs
from gitprun.recovery.restore import Busy, KeptState, RestoreOutcome, Restorer
from gitprun.registry.trash import keep_in_trash
from gitprun.system.content_store import ContentStore
from gitprun.system.files import Held, locked
from gitprun.workspaces.rulebook import STORE

# What --only names, by the kinds of changes.
GROUPS = {"refs": ("ref", "reflog", "head", "worktree"), "config": ("config", "info"), "hooks": ("hook",)}
# After the settings: git must be able to read the repository before refs move.
ORDER = ("hook", "info", "worktree", "ref", "reflog", "head", "checkout")


class NothingFound(OperationRefused):
    """No drift of that unit is open."""


@dataclass(frozen=True, slots=True)
class UndoItem:
    """What came of one thing."""

    drift: str
    finding: DriftFinding
    outcome: RestoreOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """What an undo of drift did, or would do; ``notes`` are differences that are only told, and left as they are."""

    units: tuple[str, ...]
    items: tuple[UndoItem, ...]
    notes: tuple[str, ...] = ()
    brought: int = 0
    accepted: bool = False

    @property
    def is_done(self) -> bool:
        """Check whether nothing is left that waits for the user."""
        return all(item.outcome.state != "refused" for item in self.items)

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        items = [
            {
                **item.finding.as_json(),
                "drift": item.drift,
                "text": describe(item.finding.thing),
                "state": item.outcome.state,
                "because": item.outcome.why,
            }
            for item in self.items
        ]
        return {
            "units": list(self.units),
            "items": items,
            "notes": list(self.notes),
            "objects": self.brought,
            "accepted": self.accepted,
        }


def choose_drifts(events: Sequence[Event], name: str) -> tuple[Drift, ...]:
    """Find the open drifts of a unit, the newest first; raises NothingFound."""
    found = read_drifts(events)
    known = {unit for drift in found for unit in drift.units}
    # A whole name, a user workspace's, or a unit's of the latest run that has one of that name.
    wanted = next((unit for unit in (name, f"{NAMED}/{name}") if unit in known), None)
    if wanted is None:
        runs = [unit for drift in found for unit in drift.units if unit.partition("/")[2] == name]
        wanted = runs[-1] if runs else None
    drifts = tuple(drift for drift in reversed(found) if wanted in drift.units and drift.is_open)
    if not drifts:
        open_units = sorted({unit for drift in open_drifts(events) for unit in drift.units})
        meant = nearest(name, open_units) or (open_units[0] if open_units else None)
        hint = f"did you mean {meant}?" if meant and not wanted else "git prun undo --list shows what there is"
        raise NothingFound(f"nothing is to be put back for {name}", hint)
    return drifts


def accept(repository: Repository, ledger: Ledger, name: str) -> DriftReport:
    """Accept what changed: the units may land."""
    with _alone(repository):
        drifts = choose_drifts(ledger.read().events, name)
        for drift in drifts:
            ledger.append(DriftSettled(id=drift.id, how="accepted"), run=drift.run)
            # From now on safe mode takes what is there for the user's.
            settle_trust(repository, Path(drift.place).parent)
        _close(repository, ledger, drifts)
    items = tuple(UndoItem(d.id, one, RestoreOutcome("left", "accepted")) for d in drifts for one in d.open)
    return DriftReport(units=_units(drifts), items=items, accepted=True)


def put_back(
    repository: Repository, ledger: Ledger, name: str, *, only: Sequence[str] = (), dry_run: bool = False
) -> DriftReport:
    """Put back what changed while a unit ran; ``only`` are groups (refs, config, hooks) or names of single things.

    What was killed half way is finished by calling it again. Raises NothingFound.
    """
    # Nothing is changed, so nobody has to be waited for.
    if dry_run:
        return _put_back(repository, ledger, name, only, True)
    with _alone(repository):
        report = _put_back(repository, ledger, name, only, False)
        _close(repository, ledger, choose_all(ledger.read().events, report.units))
        return report


def _alone(repository: Repository) -> AbstractContextManager[Held]:
    return locked(repository.state / "locks" / "drift.lock", doing="putting things back")


def choose_all(events: Sequence[Event], units: Sequence[str]) -> tuple[Drift, ...]:
    """List all drifts of some units, open or not."""
    return tuple(drift for drift in read_drifts(events) if set(drift.units) & set(units))


def _units(drifts: Sequence[Drift]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(unit for drift in drifts for unit in drift.units))


def _put_back(repository: Repository, ledger: Ledger, name: str, only: Sequence[str], dry: bool) -> DriftReport:
    drifts = choose_drifts(ledger.read().events, name)
    items: list[UndoItem] = []
    notes: list[str] = []
    brought = 0
    # The newest first, so that each finds things as it left them.
    for drift in drifts:
        kept, listed = _recall(repository, drift)
        chosen = [one for one in listed if _is_wanted(one, drift, only)]
        notes += [one.text for one in listed if not one.gate and one not in chosen]
        if not chosen:
            continue
        if not dry:
            # Before anything changes; a thousand keys say enough of what was meant, and an event stays readable.
            keys = [one.thing.key for one in chosen]
            ledger.append(DriftUndoing(id=drift.id, keys=tuple(keys[:1000])), run=drift.run)
        found, count = _restore(repository, ledger, drift, kept, chosen, dry)
        items += found
        brought += count
    if not items:
        way = f"git prun undo --drift {name} --dry-run lists it"
        raise OperationRefused(f"nothing of what changed is among {', '.join(only)}", way)
    return DriftReport(units=_units(drifts), items=tuple(items), notes=tuple(notes), brought=brought)


def _is_wanted(one: DriftFinding, drift: Drift, only: Sequence[str]) -> bool:
    if one.thing.key in drift.settled:
        return False
    # By its whole name even what holds nobody up is put back.
    if one.thing.name in only:
        return True
    groups = [kind for name in only for kind in GROUPS.get(name, ())]
    return one.gate and (not only or one.thing.kind in groups)


def _recall(repository: Repository, drift: Drift) -> tuple[KeptState, tuple[DriftFinding, ...]]:
    """Read what was kept with a drift; raises PrunError where it is gone."""
    place = Path(drift.place)
    try:
        record = read_json(place)
        before, after = read_snapshot(record["before"]), read_snapshot(record["after"])
        listed = tuple(read_finding(row) for row in record["findings"])
    except (ValueError, KeyError, TypeError):
        before = after = None
        listed = ()
    if before is None or after is None:
        raise PrunError(
            f"what was kept to put things back ({place}) is gone or damaged",
            f"git prun undo --drift {drift.units[0]} --accept, and put back by hand what you do not want",
        )
    aside = repository.state / "runs" / drift.run / f"drift-{drift.id}"
    return KeptState(before=before, after=after, store=ContentStore(place.parent / STORE), aside=aside), listed


def _restore(
    repository: Repository, ledger: Ledger, drift: Drift, kept: KeptState, chosen: Sequence[DriftFinding], dry: bool
) -> tuple[list[UndoItem], int]:
    """Put back the chosen things of one drift; each is in the ledger before the next begins."""
    why = f"undo of {drift.run} {drift.id}"

    def pin(ref: str, oid: str) -> str:
        return keep_in_trash(repository, ledger, ref, parse_oid(oid), why=why, of=drift.units[0])

    files = Restorer(repository, kept, dry=dry)
    refs = Refs(repository, kept, files, pin, dry=dry)
    items: list[UndoItem] = []

    def note(one: DriftFinding, outcome: RestoreOutcome) -> None:
        items.append(UndoItem(drift.id, one, outcome))
        # What was refused stays open: there is something the user has to do first.
        if not dry and outcome.state != "refused":
            settled = DriftSettled(id=drift.id, key=one.thing.key, how=outcome.state)
            if one.thing.kind == "ref":
                settled = settled.into(DriftSettled, ref=one.thing.name, value=outcome.value)
            ledger.append(settled, run=drift.run)

    # Settings first, file by file: git must be able to read them before anything else can be put back.
    for file in dict.fromkeys(one.thing.file for one in chosen if one.thing.kind == "config"):
        same = [one for one in chosen if one.thing.kind == "config" and one.thing.file == file]
        # Git holds the lock of a file for moments: the rest goes on, and this may be tried again.
        try:
            outcomes = files.restore_settings(file, same)
        except Busy as problem:
            outcomes = dict.fromkeys((one.thing.key for one in same), _held(problem))
        for one in same:
            note(one, outcomes[one.thing.key])
    rest = sorted((one for one in chosen if one.thing.kind != "config"), key=_rank)
    # -1: not asked for yet; 0 is that none was missing.
    brought = -1
    for one in rest:
        # Objects once, before the first ref that may need them, and not where there is none.
        if brought < 0 and one.thing.kind in ("ref", "reflog"):
            brought = refs.bring_objects([other.thing for other in rest])
        try:
            outcome = _restore_one(one.thing, files, refs)
        except Busy as problem:
            outcome = _held(problem)
        note(one, outcome)
    return items, max(brought, 0)


def _rank(one: DriftFinding) -> int:
    """Order the steps: a HEAD git cannot read comes first, for git refuses the repository because of it."""
    broken = one.thing.kind == "head" and one.thing.new in ("", UNREADABLE)
    return -1 if broken else ORDER.index(one.thing.kind)


def _held(problem: Busy) -> RestoreOutcome:
    """Refuse what another program holds; it may be tried again."""
    return RestoreOutcome("refused", problem.message)


def _restore_one(thing: Change, files: Restorer, refs: Refs) -> RestoreOutcome:
    if thing.kind == "ref":
        return refs.restore_ref(thing)
    if thing.kind == "reflog":
        return refs.restore_reflog(thing)
    if thing.kind == "head":
        return files.restore_head(thing)
    if thing.kind == "worktree":
        return files.restore_worktree(thing)
    if thing.kind == "checkout":
        return RestoreOutcome("refused", "files of your checkout are yours to change")
    return files.restore_file(thing)


def _close(repository: Repository, ledger: Ledger, drifts: Sequence[Drift]) -> None:
    """Write down for the units that nothing holds them up any more, and drop what was kept for nobody."""
    events = ledger.read().events
    rows = over_rows(events, drifts)
    if rows:
        ledger.append_all(rows)
    for run, unit in {(drift.run, _named(drift)) for drift in drifts}:
        drop_settled(repository, events, run, unit)


def _named(drift: Drift) -> str:
    return drift.units[0].partition("/")[2] if drift.run == NAMED else ""


def drop_settled(repository: Repository, events: Sequence[Event], run: str, unit: str = "") -> None:
    """Remove what was kept for a run (or a named workspace) that is over and whose drifts are settled."""
    if awaits(events, run, unit):
        return
    # While a run goes on its observer needs what it kept.
    known = fold(events).runs.get(run)
    if known is None or known.ended is not None:
        drop_keep(repository, keep_folder(repository.state, run, unit), pin_prefix(run, unit))
