"""Look now and then at all workers of a run and say which of them have stalled, and when they go on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.executors.lines import one_line, plain_text
from gitprun.ledger.stall import Quiet, WorkerSight, has_moved, observe, stall_row, watch_begins
from gitprun.ledger.unit_events import UnitMoving, UnitStalled
from gitprun.model.errors import PrunError
from gitprun.model.plan import DEFAULT_STALL, Settings, StallAction
from gitprun.supervisor.process import ProcessIdentity, ask_to_end
from gitprun.system.clock import Clock, SystemClock
from gitprun.system.files import tail

# However long the limit, what goes on again is to be said within a minute; a look costs little (see SHARE).
SELDOM = 30.0
# No more than a twentieth of one processor is spent on looking.
SHARE = 20.0
# A walk over more takes seconds each time; then the output alone has to tell.
MOST_FILES = 1_000_000
# Its last line is shown, of which no terminal has more.
TAIL = 4096
StallEvent = UnitStalled | UnitMoving


@dataclass(slots=True)
class Subject:
    """One worker that is watched: where it prints and works, and who hears of it.

    ``say`` writes an event; ``stalled`` says that the ledger knows already; ``ended``
    that it was told to end for it.
    """

    output: Path
    places: tuple[Path, ...]
    say: Callable[[StallEvent], None]
    supervisor: ProcessIdentity | None = None
    stalled: bool = False
    ended: bool = False
    known: Quiet | None = None
    gone: bool = False
    guard: threading.Lock = field(default_factory=threading.Lock)


class StallWatch:
    """Watches workers from a thread of its own, which is there only while there is anybody to watch."""

    def __init__(
        self, limit: float = DEFAULT_STALL, action: StallAction = "report", clock: Clock | None = None
    ) -> None:
        self.limit, self.action, self.clock = limit, action, clock or SystemClock()
        self._subjects: list[Subject] = []
        self._guard, self._wake = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, subject: Subject) -> Iterator[Subject]:
        """Watch a worker while the block runs; nothing is said about it after that."""
        subject.known = watch_begins(self.clock.monotonic(), self.clock.now())
        with self._guard:
            self._subjects.append(subject)
            if self._thread is None:
                self._thread = threading.Thread(target=self._go, name="prun-stall", daemon=True)
                self._thread.start()
        try:
            yield subject
        finally:
            with subject.guard:
                subject.gone = True
            with self._guard:
                self._subjects.remove(subject)
                self._wake.set()

    def _go(self) -> None:
        pause = 0.0
        while True:
            # An eighth of the limit: a stall is told of that much late at most.
            self._wake.wait(max(pause, min(SELDOM, self.limit / 8)))
            with self._guard:
                if not self._subjects:
                    self._thread = None
                    return
                self._wake.clear()
            began = self.clock.monotonic()
            self.look()
            pause = SHARE * (self.clock.monotonic() - began)

    def look(self) -> None:
        """Look at everybody once."""
        with self._guard:
            subjects = list(self._subjects)
        for subject in subjects:
            self._look_at(subject)

    def _look_at(self, subject: Subject) -> None:
        before = subject.known
        assert before is not None
        at, wall = self.clock.monotonic(), self.clock.now()
        sight = WorkerSight(at=at, wall=wall, output=_state_of(subject.output))
        known = observe(before, sight)
        # Output is a stat; the files are a walk, which is made only once half the time has passed.
        if known.wants_files(at, self.limit):
            found = survey_files(subject.places)
            if found is not None:
                sight = WorkerSight(at=at, wall=wall, output=sight.output, files=found, newest=found[1] / 1e9)
                known = observe(known, sight)
        subject.known = known
        moved = has_moved(before, known)
        stalled = not moved and (subject.stalled or known.for_seconds(at) >= self.limit)
        if stalled == subject.stalled:
            return
        with subject.guard, suppress(PrunError, OSError):
            # A ledger that cannot be written is told of elsewhere; here it is tried again at the next look.
            if subject.gone:
                return
            if not stalled:
                subject.say(UnitMoving(stalled=None))
            else:
                self._say_stalled(subject, known, sight)
            subject.stalled = stalled

    def _say_stalled(self, subject: Subject, known: Quiet, sight: WorkerSight) -> None:
        end = tail(subject.output, TAIL)
        words = [line for line in map(one_line, plain_text(end).split("\n")) if line]
        # Before it is told: it may end at once, and whoever waits for it then asks why.
        ends = self.action == "end" and subject.supervisor is not None
        row = stall_row(known, sight, ends=ends, last=words[-1] if words else "", tail=end)
        subject.say(UnitStalled(stalled=row))
        if ends and subject.supervisor is not None:
            subject.ended = True
            ask_to_end(subject.supervisor)


def stall_watch_of(settings: Settings) -> StallWatch:
    """Return the watch that settings ask for."""
    return StallWatch(settings.stall or DEFAULT_STALL, settings.stall_action or "report")


def describe_stall(name: str, event: StallEvent) -> str:
    """Return in one line that a worker has stalled, or goes on."""
    row = event.stalled
    if row is None:
        return f"{name} goes on"
    last = row.hint or row.last
    said = f"{name} stalled: no output and no change of a file for {row.quiet:.0f} s"
    return said + (f" ({last})" if last else "") + ("; it is ended" if row.ends else "")


def _state_of(output: Path) -> object | None:
    try:
        found = os.stat(output)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def survey_files(places: tuple[Path, ...]) -> tuple[int, int, int] | None:
    """Sum up all files below some folders: how many, the newest change (ns since 1970), and what stands for them all.

    Goes by the time of the last change of the inode, which nobody can set. None if there are too many to tell.
    """
    count = newest = mixed = 0
    queue = [os.fspath(place) for place in places]
    for place in places:
        with suppress(OSError):
            newest = max(newest, os.stat(place).st_ctime_ns)
    mixed += newest
    while queue:
        try:
            with os.scandir(queue.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    count += 1
                    newest = max(newest, found.st_ctime_ns)
                    # A sum, so that the order in which folders list their files says nothing.
                    mixed += hash((found.st_ino, found.st_ctime_ns, found.st_size))
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
        except OSError:
            # It went away under our eyes, or lies too deep for any path.
            continue
        if count > MOST_FILES:
            return None
    return count, newest, mixed
