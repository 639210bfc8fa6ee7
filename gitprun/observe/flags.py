"""When a flag is raised: rules over two looks, and nothing else. references/monitor.md says what to do about each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitprun.ledger.events import ENDED
from gitprun.observe.snapshot import GONE, Shared, Snapshot, Stamp, UnitReading

# Branches of linked worktrees move when their unit commits; what lands of them is checked commit by commit.
OWN_REFS = ("refs/prun/", "refs/heads/prun/")
WARN_AT = 3
STALLED_AFTER = 600.0
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class FlagLimits:
    """From how many ticks with the same note on, and after how many quiet seconds, a flag is raised."""

    warn_at: int = WARN_AT
    stalled_after: float = STALLED_AFTER


@dataclass(frozen=True, slots=True)
class Flag:
    """One thing to know: ``value`` follows the name on the line, ``unit`` and ``about`` say more to programs."""

    name: str
    value: str = ""
    unit: str = ""
    about: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Write it as it stands on the line."""
        return f"{self.name}:{self.value}" if self.value else self.name


@dataclass(frozen=True, slots=True)
class Tick:
    """One look with what the rules say about it; ``streak`` counts the ticks with this note."""

    now: Snapshot
    note: str
    streak: int
    flags: tuple[Flag, ...]


def judge(before: Tick | None, now: Snapshot, limits: FlagLimits = FlagLimits()) -> Tick:
    """Judge a look by the one before it (None: it is the first)."""
    note = note_of(before.now if before else None, now)
    streak = before.streak + 1 if before and before.note == note else 1
    return Tick(now, note, streak, tuple(_flags(before.now if before else None, now, streak, limits)))


def note_of(before: Snapshot | None, now: Snapshot) -> str:
    """Sum a tick up: commits that came or went, else whether anybody works."""
    old = before.all_commits if before else 0
    if old is not None and now.all_commits is not None and old != now.all_commits:
        return f"{now.all_commits - old:+d}commit"
    return "working/no-commit-yet" if now.codex else "idle"


def _flags(before: Snapshot | None, now: Snapshot, streak: int, limits: FlagLimits) -> Iterator[Flag]:
    if streak >= limits.warn_at:
        yield Flag("streak", f"{streak}x")
    yield from silent_edit(before, now)
    yield from main_dirty(now)
    yield from main_reverted(before, now)
    yield from done_committed(before, now)
    yield from size_drift(before, now)
    yield from ref_drift(before, now)
    yield from settings_drift(now)
    for unit in now.units:
        yield from unit_flags(unit, limits)
    yield from drift(now)
    if now.runaway:
        yield Flag("runaway", str(now.runaway))


def silent_edit(before: Snapshot | None, now: Snapshot) -> Iterator[Flag]:
    """A running unit's workspace holds other content than at the last tick, and the unit has no new commit."""
    if before is None:
        return
    edited = tuple(unit for unit in now.units if unit.state == "running" and _edited(before.unit(unit.key), unit))
    if edited:
        yield Flag("silent-edit", unit=edited[0].id, about=tuple(unit.id for unit in edited))


def _edited(before: UnitReading | None, now: UnitReading) -> bool:
    if now.dirty is None or (before is not None and before.dirty is None):
        return False
    same_commits = now.commits == (before.commits if before else 0)
    return same_commits and dict(now.dirty) != dict(before.dirty or {} if before else {})


def main_dirty(now: Snapshot) -> Iterator[Flag]:
    """Paths of the user's checkout are uncommitted that were not, or not like that, when the run began."""
    changed = changed_in_checkout(now)
    if changed:
        writers = sorted({now.writers[path] for path in changed if path in now.writers})
        named = f"({'+'.join(writers)})" if writers else ""
        yield Flag("main-dirty", f"{len(changed)}{named}", "+".join(writers), changed)


def changed_in_checkout(now: Snapshot) -> tuple[str, ...]:
    """List what is uncommitted in the checkout and was not, or not like that, when the run began."""
    old, new = _dirty_of(now.start, now.shared)
    return tuple(sorted(path for path, stamp in new.items() if old.get(path) != stamp))


def main_reverted(before: Snapshot | None, now: Snapshot) -> Iterator[Flag]:
    """What was uncommitted in the user's checkout at the last look is clean, and no commit can have taken it in."""
    last = (before.shared if before else None) or now.start
    old, new = _dirty_of(last, now.shared)
    if last is None or now.shared is None or _tip(last.refs) != _tip(now.shared.refs):
        return
    gone = tuple(sorted(path for path, stamp in old.items() if path not in new and stamp != GONE))
    if gone:
        yield Flag("main-reverted", str(len(gone)), about=gone)


def _dirty_of(then: Shared | None, now: Shared | None) -> tuple[Mapping[str, Stamp], Mapping[str, Stamp]]:
    """Return what was uncommitted at two looks; nothing where they cannot be compared."""
    old, new = then.checkout if then else None, now.checkout if now else None
    if old is None or new is None or old.dirty is None or new.dirty is None or old.path != new.path:
        return {}, {}
    return old.dirty, new.dirty


def _tip(refs: Mapping[str, str]) -> str:
    """Give the commit that is checked out."""
    head = refs.get("HEAD", "")
    return refs.get(head.removeprefix("ref: "), head)


def done_committed(before: Snapshot | None, now: Snapshot) -> Iterator[Flag]:
    """A unit that was at work at the last tick (or was not there yet) has ended with a commit."""
    done = []
    for unit in now.units:
        old = before.unit(unit.key) if before else None
        if unit.state in ENDED and unit.committed and (old is None or old.state not in ENDED):
            done.append(unit.id)
    if done:
        yield Flag("agent-done-committed", unit=done[0], about=tuple(done))


def size_drift(before: Snapshot | None, now: Snapshot) -> Iterator[Flag]:
    """The number of files in the user's checkout changed, and no commit came or went."""
    if before is None or before.shared is None or now.shared is None or before.all_commits != now.all_commits:
        return
    old, new = before.shared.checkout, now.shared.checkout
    if old is None or new is None or old.files is None or new.files is None or old.path != new.path:
        return
    if old.files != new.files:
        yield Flag("size-drift", f"{new.files - old.files:+d}files")


def ref_drift(before: Snapshot | None, now: Snapshot) -> Iterator[Flag]:
    """A ref, or what is checked out somewhere, changed since the last tick, and the ledger does not explain it."""
    old = (before.shared if before else None) or now.start
    # A run of our own that has ended since is compared with its own end; a later one starts from there.
    if old is None or now.shared is None or now.start is None:
        return
    moved = []
    for name in sorted({*old.refs, *now.shared.refs}):
        was, is_now = old.refs.get(name), now.shared.refs.get(name)
        if was == is_now or name.startswith(OWN_REFS) or (name, is_now or "") in now.moves:
            continue
        if name in now.branches or (is_now or was or "").removeprefix("ref: ") in now.branches:
            continue
        moved.append(f"{name} {was or 'new'} -> {is_now or 'gone'}")
    if moved:
        yield Flag("ref-drift", about=tuple(moved))


def settings_drift(now: Snapshot) -> Iterator[Flag]:
    """Settings or hooks of the shared repository are not what they were when the run began."""
    if now.start is None or now.shared is None:
        return
    old, new = now.start, now.shared
    for name, then, today in (("config-drift", old.settings, new.settings), ("hook-drift", old.hooks, new.hooks)):
        changed = tuple(sorted(key for key in {*then, *today} if then.get(key) != today.get(key)))
        if changed:
            yield Flag(name, about=changed)


def drift(now: Snapshot) -> Iterator[Flag]:
    """Something of the user's changed while units ran; where several did and nobody knows whose doing it is, once."""
    told: dict[str, list[str]] = {}
    for unit in now.units:
        if unit.drift:
            told.setdefault(unit.drift, []).append(unit.id)
    for text, units in told.items():
        names = units if len(units) == 1 else [f"{name}?" for name in units]
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        yield Flag("drift", "+".join([*names[:MOST_NAMED], *more]), "+".join(units), (text,))


def unit_flags(unit: UnitReading, limits: FlagLimits) -> Iterator[Flag]:
    """What is wrong with one unit as it is now."""
    if unit.outside:
        yield Flag("fence", unit.id, unit.id, unit.outside)
    if unit.worker and unit.quiet >= limits.stalled_after and not unit.limited:
        yield Flag("stalled", unit.id, unit.id, (f"{unit.quiet:.0f} s",))
    if unit.limited:
        yield Flag("rate-limited", unit.id, unit.id, (unit.limited,))
    if unit.state == "lost":
        yield Flag("lost", unit.id, unit.id)
