"""When a flag is raised: rules over two looks, and nothing else. references/monitor.md says what to do about each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gitprun.ledger.drift_findings import Change
from gitprun.ledger.events import ENDED
from gitprun.observe.changes import CONFIGS, compare, stamp_in
from gitprun.observe.own_changes import OwnChanges, user_heads
from gitprun.observe.snapshot import RepositorySnapshot, Stamp

# As the seed's monitor did: the third tick that says the same is the first that says that nothing goes on.
WARN_AT = 3
# Models think for minutes; ten without a word or a file is when people began to look, in the seed's own runs.
STALLED_AFTER = 600.0
# So many units fit a line; the rest is counted.
MOST_NAMED = 3
# Settings beside those below ``info``. Where a history was cut (``shallow``) the user does by fetching.
SETTINGS = (*CONFIGS, "objects/info/alternates")
# Every new repository has a dozen of them, and git runs none.
NEVER_RUN = ".sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReading:
    """One unit as it was seen.

    ``commits`` counts what its branch has past the base, ``committed`` says that its last work ended in one,
    ``dirty`` is what differs from there in its workspace
    (None: could not be told), ``outside`` what of its work lies outside its fence, ``quiet`` the seconds without
    output or change of a file, ``limited`` what the service said when it turned the worker away, ``drift`` what
    changed in the user's repository while it ran and waits for an answer.
    """

    run: str
    id: str
    state: str
    live: bool = False
    worker: bool = False
    commits: int | None = 0
    committed: bool = False
    dirty: Mapping[str, Stamp] | None = field(default_factory=dict)
    outside: tuple[str, ...] = ()
    began: float | None = None
    ended: float | None = None
    quiet: float = 0.0
    limited: str = ""
    drift: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return what tells it from all others."""
        return self.run, self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look of the monitor at everything.

    ``start`` is how the repository was when the run began, ``ours`` what the ledger explains of its changes since,
    ``root`` where units have their workspaces, ``writers`` who wrote a path of the user's checkout (with a ``?``: told
    by the time alone).
    """

    time: float
    base: str = ""
    units: tuple[UnitReading, ...] = ()
    codex: int = 0
    wrap: int = 0
    main_commits: int | None = 0
    all_commits: int | None = 0
    repository: RepositorySnapshot | None = None
    start: RepositorySnapshot | None = None
    ours: OwnChanges = field(default_factory=OwnChanges)
    root: str = ""
    writers: Mapping[str, str] = field(default_factory=dict)
    runaway: int = 0

    def unit(self, key: tuple[str, str]) -> UnitReading | None:
        """Return a unit; None if it was not looked at."""
        return next((unit for unit in self.units if unit.key == key), None)

    @property
    def working(self) -> bool:
        """Check whether any unit is not at its end."""
        return any(unit.live for unit in self.units)


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

    now: Observation
    note: str
    streak: int
    flags: tuple[Flag, ...]


def judge(before: Tick | None, now: Observation, limits: FlagLimits = FlagLimits()) -> Tick:
    """Judge a look by the one before it (None: it is the first)."""
    # The first look has no streak to go on with, and is its own first.
    note = note_of(before.now if before else None, now)
    streak = before.streak + 1 if before and before.note == note else 1
    return Tick(now, note, streak, tuple(_flags(before.now if before else None, now, streak, limits)))


def note_of(before: Observation | None, now: Observation) -> str:
    """Sum a tick up: commits that came or went, else whether anybody works."""
    old = before.all_commits if before else 0
    if old is not None and now.all_commits is not None and old != now.all_commits:
        return f"{now.all_commits - old:+d}commit"
    return "working/no-commit-yet" if now.codex else "idle"


def _flags(before: Observation | None, now: Observation, streak: int, limits: FlagLimits) -> Iterator[Flag]:
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


def silent_edit(before: Observation | None, now: Observation) -> Iterator[Flag]:
    """A running unit's workspace holds other content than at the last tick, and the unit has no new commit."""
    if before is None:
        # On a first tick everything would be an edit.
        return
    edited = tuple(unit for unit in now.units if unit.state == "running" and _edited(before.unit(unit.key), unit))
    if edited:
        yield Flag("silent-edit", unit=edited[0].id, about=tuple(unit.id for unit in edited))


def _edited(before: UnitReading | None, now: UnitReading) -> bool:
    if now.dirty is None or (before is not None and before.dirty is None):
        return False
    # Who commits may have edited before: that is no silence.
    same_commits = now.commits == (before.commits if before else 0)
    return same_commits and dict(now.dirty) != dict(before.dirty or {} if before else {})


def main_dirty(now: Observation) -> Iterator[Flag]:
    """Paths of the user's checkout are uncommitted that were not, or not like that, when the run began."""
    changed = changed_in_checkout(now.start, now.repository)
    if changed:
        writers = sorted({now.writers[path] for path in changed if path in now.writers})
        named = f"({'+'.join(writers)})" if writers else ""
        yield Flag("main-dirty", f"{len(changed)}{named}", "+".join(writers), changed)


def changed_in_checkout(start: RepositorySnapshot | None, now: RepositorySnapshot | None) -> tuple[str, ...]:
    """Return what is uncommitted in the checkout and was not, or not like that, at the start.

    What was only staged or unstaged since is the same work.
    """
    return tuple(
        one.name for one in _changes(start, now, "checkout") if one.new and stamp_in(one.old) != stamp_in(one.new)
    )


def main_reverted(before: Observation | None, now: Observation) -> Iterator[Flag]:
    """What was uncommitted in the user's checkout at the last look is clean, and no commit can have taken it in."""
    last = (before.repository if before else None) or now.start
    if last is None or now.repository is None or last.head != now.repository.head:
        return
    changes = _changes(last, now.repository, "checkout")
    gone = tuple(one.name for one in changes if not one.new and stamp_in(one.old) != "gone")
    if gone:
        yield Flag("main-reverted", str(len(gone)), about=gone)


def _changes(old: RepositorySnapshot | None, new: RepositorySnapshot | None, *kinds: str) -> list[Change]:
    return [one for one in compare(old, new) if one.kind in kinds] if old is not None and new is not None else []


def done_committed(before: Observation | None, now: Observation) -> Iterator[Flag]:
    """A unit that was at work at the last tick (or was not there yet) has ended with a commit."""
    done = []
    for unit in now.units:
        old = before.unit(unit.key) if before else None
        if unit.state in ENDED and unit.committed and (old is None or old.state not in ENDED):
            done.append(unit.id)
    if done:
        yield Flag("agent-done-committed", unit=done[0], about=tuple(done))


def size_drift(before: Observation | None, now: Observation) -> Iterator[Flag]:
    """The number of files in the user's checkout changed, and no commit came or went."""
    if before is None or before.repository is None or now.repository is None:
        return
    old, new = before.repository.checkout, now.repository.checkout
    if before.all_commits != now.all_commits or old is None or new is None or old.path != new.path:
        return
    if old.files is not None and new.files is not None and old.files != new.files:
        yield Flag("size-drift", f"{new.files - old.files:+d}files")


def ref_drift(before: Observation | None, now: Observation) -> Iterator[Flag]:
    """A ref, or what is checked out somewhere, changed since the last tick, and the ledger does not explain it."""
    old = (before.repository if before else None) or now.start
    # A run of our own that has ended since is compared with its own end; a later one starts from there.
    if old is None or now.repository is None or now.start is None:
        return
    moved = {one.name: one for one in _changes(old, now.repository, "ref") if not now.ours.explains(one)}
    then, today = (user_heads(seen, now.root) for seen in (old, now.repository))
    for one in _changes(old, now.repository, "head"):
        was, is_now = then.get(one.name, ""), today.get(one.name, "")
        # A workspace of somebody's is on the branch its work is committed to.
        if was != is_now and (is_now or was).removeprefix("ref: ") not in now.ours.refs:
            moved[one.name] = Change("head", one.name, was, is_now)
    if moved:
        rows = (f"{name} {one.old or 'new'} -> {one.new or 'gone'}" for name, one in sorted(moved.items()))
        yield Flag("ref-drift", about=tuple(rows))


def settings_drift(now: Observation) -> Iterator[Flag]:
    """Settings or hooks of the shared repository are not what they were when the run began."""
    if now.start is None or now.repository is None:
        return
    changes = _changes(now.start, now.repository, "info", "hook")
    settings = (one.name for one in changes if one.name in SETTINGS or one.name.startswith("info/"))
    folders = (now.start.hooks, now.repository.hooks)
    hooks = {
        one.name
        for one in changes
        if one.kind == "hook" and one.name.rpartition("/")[0] in folders and not one.name.endswith(NEVER_RUN)
    }
    # Another folder than before is news by itself, whatever lies in it.
    if folders[0] != folders[1] and not (now.start.narrow or now.repository.narrow):
        hooks |= {f"{folder}/" for folder in folders if folder != "hooks"}
    for name, changed in (("config-drift", tuple(sorted(settings))), ("hook-drift", tuple(sorted(hooks)))):
        if changed:
            yield Flag(name, about=changed)


def drift(now: Observation) -> Iterator[Flag]:
    """Something of the user's changed while units ran; where several did and nobody knows whose doing it is, once."""
    told: dict[str, list[str]] = {}
    # By what is told: one look finds one drift, whoever ran then.
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
    # Who is turned away is silent for a reason, and has a flag of its own.
    if unit.worker and unit.quiet >= limits.stalled_after and not unit.limited:
        yield Flag("stalled", unit.id, unit.id, (f"{unit.quiet:.0f} s",))
    if unit.limited:
        yield Flag("rate-limited", unit.id, unit.id, (unit.limited,))
    if unit.state == "lost":
        yield Flag("lost", unit.id, unit.id)
