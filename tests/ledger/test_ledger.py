"""The ledger: many writers, torn lines, killed writers; what was acknowledged is there."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from gitprun.ledger import ledger as ledger_module
from gitprun.ledger.archive import Compaction, read_archived
from gitprun.ledger.events import Event, History, encode, fold
from gitprun.ledger.ledger import Ledger, LedgerProblem, Reading
from gitprun.system.journal import JournalReplaced
from tests.support.cli import program_environment
from tests.support.processes import start_program
from tests.support.rows import event_of, payload_of
from tests.support.small_disk import fill, small_disk

__all__ = ["small_disk"]

# One process a name, forked after the imports, which cost more than the writing.
WRITERS = """
import os, sys
from pathlib import Path
from gitprun.ledger.ledger import Ledger, LedgerProblem, Reading
from gitprun.ledger.unit_events import UnitFinished
children = []
for name in sys.argv[3:]:
    pid = os.fork()
    if pid:
        children.append(pid)
        continue
    ledger = Ledger(Path(sys.argv[1]))
    for number in range(int(sys.argv[2])):
        ledger.append(UnitFinished(hint=str(number), reason="x" * 6000), run=name)
        os.write(1, f"{os.getpid()} {number}\\n".encode())
    os._exit(0)
sys.exit(sum(os.waitpid(pid, 0)[1] for pid in children) != 0)
"""


class Ticks:
    """A clock that counts."""

    def __init__(self, time: float = 0.0) -> None:
        self.time = time

    def now(self) -> float:
        self.time += 1
        return self.time

    def monotonic(self) -> float:
        return self.time


def writers(state: Path, rows: int, *names: str) -> subprocess.Popen[bytes]:
    return start_program(
        [sys.executable, "-c", WRITERS, str(state), str(rows), *names],
        env=program_environment(),
        stdout=subprocess.PIPE,
    )


def test_one_line_an_event(tmp_path: Path) -> None:
    ledger, heard = Ledger(tmp_path, Ticks()), []
    ledger.listeners.append(heard.append)
    first = ledger.append(payload_of("run.started", {"base": "b"}), run="r1")
    second = ledger.append(payload_of("unit.queued"), run="r1", unit="a")
    assert (first, second) == (
        event_of("run.started", 1.0, "r1", "", {"base": "b"}),
        event_of("unit.queued", 2.0, "r1", "a"),
    )
    assert ledger.path.read_bytes() == encode(first) + encode(second)
    assert ledger.read().events == (first, second)
    assert heard == [first, second]
    assert ledger.path.stat().st_mode & 0o777 == 0o600


def test_no_ledger_is_an_empty_one(tmp_path: Path) -> None:
    reading = Ledger(tmp_path / "nowhere").read()
    assert (reading.events, reading.unreadable, reading.history.last) == ((), (), None)
    assert list(tmp_path.iterdir()) == []


def test_many_writers_lose_and_tear_nothing(tmp_path: Path) -> None:
    names = [f"r{number}" for number in range(1, 25)]
    process = writers(tmp_path, 5, *names)
    process.communicate()
    assert process.returncode == 0
    reading = Ledger(tmp_path).read()
    assert reading.unreadable == ()
    rows = [(event.run, int(event.payload.as_json()["hint"])) for event in reading.events]
    assert sorted(rows) == sorted((name, n) for name in names for n in range(5))
    for name in names:
        assert [n for run, n in rows if run == name] == [0, 1, 2, 3, 4]
    times = [event.time for event in reading.events]
    assert times == sorted(times)


def test_a_torn_last_line_is_reported_and_closed_by_the_next_append(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Ticks())
    first, lost = ledger.append(payload_of("row"), run="r1"), ledger.append(payload_of("row"), run="r2")
    whole = ledger.path.read_bytes()
    torn = whole[: len(encode(first)) + len(encode(lost)) // 2]
    ledger.path.write_bytes(torn)
    ledger = Ledger(tmp_path, Ticks())
    assert (ledger.read().events, ledger.read().unreadable) == ((first,), (2,))
    third = ledger.append(payload_of("row"), run="r3")
    assert ledger.path.read_bytes() == torn + b"\n" + encode(third)
    assert (ledger.read().events, ledger.read().unreadable) == ((first, third), (2,))


def test_what_a_writer_wrote_and_is_gone_is_no_torn_line(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Ticks())
    ledger.append(payload_of("row"), run="r1")
    ledger.path.write_bytes(ledger.path.read_bytes()[:-5])
    with pytest.raises(JournalReplaced, match="was changed by something else meanwhile"):
        ledger.append(payload_of("row"), run="r2")


def test_a_whole_line_without_its_end_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Ticks())
    first = ledger.append(payload_of("row"), run="r1")
    ledger.path.write_bytes(encode(first)[:-1])
    ledger = Ledger(tmp_path, Ticks())
    second = ledger.append(payload_of("row"), run="r2")
    assert (ledger.read().events, ledger.read().unreadable) == ((first, second), ())


def test_altered_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Ticks())
    first, second = ledger.append(payload_of("row"), run="r1"), ledger.append(payload_of("row"), run="r2")
    altered = encode(first).replace(b'"r1"', b'"r7"')
    ledger.path.write_bytes(altered + b"\n" + b"garbage \xff\n" + b"[1]\n" + encode(second))
    assert (ledger.read().events, ledger.read().unreadable) == ((second,), (1, 3, 4))


def test_a_ledger_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.path.mkdir()
    with pytest.raises(LedgerProblem) as caught:
        ledger.append(payload_of("row"))
    assert (caught.value.message, caught.value.hint) == (
        f"the ledger {ledger.path} cannot be written: Is a directory",
        "is it yours to write?",
    )
    with pytest.raises(LedgerProblem) as caught:
        ledger.read()
    assert caught.value.message == f"the ledger {ledger.path} cannot be read: Is a directory"


def test_what_a_killed_writer_acknowledged_is_there(tmp_path: Path) -> None:
    names = [f"r{number}" for number in range(1, 9)]
    # Eight at once, killed one after the other while the others write on.
    process = writers(tmp_path, 10_000, *names)
    assert process.stdout is not None
    acknowledged: dict[int, int] = {}
    killed: set[int] = set()
    for line in process.stdout:
        pid, number = map(int, line.split())
        acknowledged[pid] = number + 1
        if number >= 2 and pid not in killed:
            killed.add(pid)
            os.kill(pid, signal.SIGKILL)
    assert process.wait() == 1
    process.stdout.close()
    ledger = Ledger(tmp_path)
    last = ledger.append(payload_of("row"), run="r99")
    reading = ledger.read()
    assert reading.events[-1] == last
    written = [
        [int(event.payload.as_json()["hint"]) for event in reading.events if event.run == name] for name in names
    ]
    assert [seen == list(range(len(seen))) for seen in written] == [True] * 8
    # One more may be on disk whose acknowledgement was cut off, never one less.
    spare = [
        len(seen) - count for seen, count in zip(sorted(written, key=len), sorted(acknowledged.values()), strict=True)
    ]
    assert set(spare) <= {0, 1}
    assert os.listdir(tmp_path / "locks") in ([], ["ledger.lock"])


def test_reading_again_sees_what_others_wrote_and_a_replaced_file(tmp_path: Path) -> None:
    ours, theirs = Ledger(tmp_path), Ledger(tmp_path)
    assert ours.read() == Reading(())
    first = theirs.append(payload_of("run.started"), run="r1")
    assert ours.read() == Reading((first,))
    with open(ours.path, "ab") as torn:
        torn.write(b'{"v":1,"t":')
    assert ours.read() == Reading((first,), (2,))
    second = theirs.append(payload_of("run.finished"), run="r1")
    assert ours.read() == Reading((first, second), (2,))
    assert ours.read() == Ledger(tmp_path).read()
    ours.path.unlink()
    # Gone is not the same as empty.
    with pytest.raises(LedgerProblem, match="was deleted meanwhile"):
        ours.read()
    # Whoever wrote to it has it still, and puts it back.
    assert theirs.read().events == (first, second)
    assert ours.read() == Reading((first, second), (2,))


def test_what_was_read_before_is_folded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[tuple[Event, ...]] = []

    def counted(events: tuple[Event, ...]) -> History:
        folded.append(events)
        return fold(events)

    monkeypatch.setattr(ledger_module, "fold", counted)
    ours, theirs = Ledger(tmp_path), Ledger(tmp_path)
    theirs.append(payload_of("run.started"), run="r1")
    before = ours.read()
    assert before.history is before.history
    assert ours.read() is before
    assert len(folded) == 1
    theirs.append(payload_of("run.started"), run="r2")
    after = ours.read()
    assert list(after.history.runs) == ["r1", "r2"]
    # Who holds the earlier reading goes on with what it said then.
    assert (list(before.history.runs), len(folded)) == (["r1"], 2)
    # A torn line is no new event, and is reported all the same; another file in its place is read anew.
    with open(ours.path, "ab") as torn:
        torn.write(b'{"v":1,"t":')
    assert ours.read().unreadable == (3,)
    again = tmp_path / "again"
    again.write_bytes(ours.path.read_bytes())
    known = ours.read()
    again.replace(ours.path)
    assert ours.read() == known
    assert ours.read() is not known


def test_a_deleted_ledger_is_put_back_by_the_next_event(tmp_path: Path) -> None:
    ours, theirs = Ledger(tmp_path, Ticks()), Ledger(tmp_path, Ticks())
    first = ours.append(payload_of("run.started"), run="r1")
    second = theirs.append(payload_of("unit.queued"), run="r1", unit="a")
    ours.path.unlink()
    (tmp_path / "locks" / "ledger.lock").unlink()
    third = ours.append(payload_of("run.finished"), run="r1")
    fourth = theirs.append(payload_of("run.resumed"), run="r1")
    events = [event for event in theirs.read().events if event.kind != "ledger.restored"]
    assert events == [first, second, third, fourth]
    assert [event.kind for event in ours.read().events].count("ledger.restored") == 1


def test_a_ledger_that_was_only_read_is_not_begun_anew(tmp_path: Path) -> None:
    Ledger(tmp_path).append(payload_of("run.started"), run="r1")
    reader = Ledger(tmp_path)
    reader.read()
    reader.path.unlink()
    with pytest.raises(LedgerProblem) as caught:
        reader.append(payload_of("run.finished"), run="r1")
    assert caught.value.message == f"the ledger {reader.path} was deleted meanwhile"
    assert not reader.path.exists()


def test_another_ledger_in_its_place_is_read_from_its_start(tmp_path: Path) -> None:
    ours, other = Ledger(tmp_path), Ledger(tmp_path / "other")
    ours.append(payload_of("run.started"), run="r1")
    ours.read()
    for run in ("r7", "r8"):
        other.append(payload_of("run.started"), run=run)
    other.path.replace(ours.path)
    assert list(ours.read().history.runs) == ["r7", "r8"]
    # In place, longer than before, with the same inode: the last bytes that were read are not there any more.
    ours.path.write_bytes(ours.path.read_bytes().replace(b"r8", b"r5") + b"x" * 100)
    assert ours.read().unreadable == (2, 3)


def newer(state: Path) -> bytes:
    """Write a line that a later version of the format would."""
    body = '{"v":2,"t":1.0,"what":"new"}'
    line = f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'.encode()
    with open(state / "ledger.jsonl", "ab") as target:
        target.write(line)
    return line


@pytest.mark.parametrize("read_first", [False, True])
def test_nothing_is_written_after_a_later_format(tmp_path: Path, read_first: bool) -> None:
    first = Ledger(tmp_path).append(payload_of("run.started"), run="r1")
    newer(tmp_path)
    ledger = Ledger(tmp_path)
    before = ledger.path.read_bytes()
    if read_first:
        assert ledger.read() == Reading((first,), (), (2,))
    for write in (lambda: ledger.append(payload_of("run.finished"), run="r1"), lambda: ledger.compact(days=0)):
        with pytest.raises(LedgerProblem) as caught:
            write()
        assert (caught.value.message, caught.value.hint) == (
            f"the ledger {ledger.path} was written by a newer git prun (its format is later than 1)",
            "use that version, or a newer one; nothing was written",
        )
    assert ledger.path.read_bytes() == before


class Full:
    """A disk with room for so many bytes of the ledger; the reserve has its own room, which comes back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room, self.reserve = room, 0
        self._write, self._release = os.write, ledger_module.release_reserve
        monkeypatch.setattr(os, "write", self.write)
        monkeypatch.setattr(ledger_module, "release_reserve", self.release)
        monkeypatch.setattr(ledger_module, "ensure_reserve", self.ensure)

    def write(self, descriptor: int, content: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._write(descriptor, bytes(content)[: self.room])
        self.room -= written
        return written

    def release(self, place: Path) -> bool:
        found = self._release(place)
        self.room += 2000 if found else 0
        return found

    def ensure(self, place: Path) -> bool:
        if place.exists():
            return False
        if self.room < 2000:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= 2000
        place.touch()
        return True


def test_on_a_full_disk_the_ends_are_recorded_and_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Full(monkeypatch, 2250)
    ledger, heard = Ledger(tmp_path, Ticks()), []
    ledger.listeners.append(heard.append)
    first = ledger.append(payload_of("run.started"), run="r1")
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerProblem) as caught:
        ledger.append(payload_of("unit.preparing", {"slug": "x" * 300}), run="r1", unit="b")
    assert (caught.value.message, caught.value.hint) == (
        f"the disk is full, so nothing new is begun: {ledger.path} cannot be written",
        "free some space, then try again",
    )
    # The torn line is taken back, and the reserve pays for the word about it.
    said = {"state": "released", "error": "No space left on device", "kinds": ["unit.preparing"]}
    released = event_of("ledger.reserve", 2.0, facts=said)
    assert ledger.path.read_bytes() == before + encode(released)
    assert heard == [first, released]
    # Ends are written still; beginnings are refused before they are tried.
    end = ledger.append(payload_of("unit.finished", {"state": "ready"}), run="r1", unit="a")
    size = ledger.path.stat().st_size
    with pytest.raises(LedgerProblem, match="nothing new is begun"):
        ledger.append(payload_of("unit.preparing"), run="r1", unit="c")
    assert ledger.path.stat().st_size == size
    disk.room = 10
    with pytest.raises(LedgerProblem, match="cannot be written: No space left on device"):
        ledger.append(payload_of("unit.finished", {"state": "broken"}), run="r1", unit="b")
    assert ledger.path.stat().st_size == size
    disk.room = 10_000
    resumed = ledger.append(payload_of("run.resumed"), run="r1")
    again = event_of("ledger.reserve", 6.0, facts={"state": "made again"})
    assert Ledger(tmp_path).read() == Reading((first, released, end, again, resumed))
    assert (tmp_path / "ledger.reserve").exists()


def test_an_end_that_meets_a_full_disk_first_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Full(monkeypatch, 2250)
    ledger = Ledger(tmp_path, Ticks())
    first = ledger.append(payload_of("run.started"), run="r1")
    end = ledger.append(payload_of("unit.finished", {"reason": "x" * 300}), run="r1", unit="a")
    reading = ledger.read()
    assert (reading.events[0], reading.events[2], reading.unreadable) == (first, end, ())
    assert reading.events[1].payload.as_json()["kinds"] == ["unit.finished"]


def _write_until_it_fails(ledger: Ledger, written: list[Event]) -> str:
    for number in range(10_000):
        facts = {"state": "ready", "hint": str(number), "reason": "x" * 2000}
        try:
            written.append(ledger.append(payload_of("unit.finished", facts), run="r2", unit=f"u{number}"))
        except LedgerProblem as problem:
            return problem.message
    return "it never failed"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_really_full_disk(small_disk: Path) -> None:
    ledger = Ledger(small_disk / "state")
    (small_disk / "state").mkdir()
    over(ledger, "r1")
    ledger.append(payload_of("run.started"), run="r2")
    written = list(ledger.read().events)
    fill(small_disk / "filler")
    # Far more than the room the last page still has.
    message = _write_until_it_fails(ledger, written)
    assert message == f"the ledger {ledger.path} cannot be written: No space left on device"
    # Half a megabyte of ends went into the reserve.
    assert 200 < len(written) < 300
    with pytest.raises(LedgerProblem, match="the disk is full, so nothing new is begun"):
        ledger.append(payload_of("unit.preparing"), run="r1", unit="late")
    reading = Ledger(small_disk / "state").read()
    assert reading.unreadable == ()
    assert [event for event in reading.events if event.kind != "ledger.reserve"] == written
    assert [event.payload.as_json()["state"] for event in reading.events if event.kind == "ledger.reserve"] == [
        "released"
    ]
    with pytest.raises(LedgerProblem, match="cannot be written: No space left on device"):
        ledger.compact(days=-1)
    assert Ledger(small_disk / "state").read() == reading
    (small_disk / "filler").unlink()
    last = ledger.append(payload_of("run.resumed"), run="r1")
    assert ledger.read().events[-1] == last
    assert [event.payload.as_json()["state"] for event in ledger.read().events if event.kind == "ledger.reserve"] == [
        "released", "made again",
    ]  # fmt: skip
    assert (small_disk / "state" / "ledger.reserve").stat().st_size == 512 << 10


def over(ledger: Ledger, run: str) -> None:
    """Write the rows of a run that is over, its workspace gone."""
    ledger.append(payload_of("run.started", {"base": "b" * 40}), run=run)
    ledger.append(payload_of("unit.preparing", {"attempt": 1}), run=run, unit="a")
    ledger.append(payload_of("unit.prepared", {"path": "/w/a"}), run=run, unit="a")
    ledger.append(payload_of("unit.finished", {"state": "ready", "reason": "x" * 500}), run=run, unit="a")
    ledger.append(payload_of("run.finished"), run=run)
    ledger.append(payload_of("workspace.removed", {"removed": True}), run=run, unit="a")


def test_compaction_keeps_what_is_read_and_what_was_there(tmp_path: Path) -> None:
    ledger, follower, writer = Ledger(tmp_path, Ticks()), Ledger(tmp_path, Ticks()), Ledger(tmp_path, Ticks())
    over(ledger, "r1")
    writer.append(payload_of("run.started"), run="r2")
    with open(ledger.path, "ab") as target:
        target.write(b"torn\n")
    ledger, before = Ledger(tmp_path, Ticks(100.0)), ledger.path.read_bytes()
    history = follower.read().history
    planned = ledger.compact(days=0, dry_run=True)
    assert ledger.path.read_bytes() == before
    assert not (tmp_path / "archive").exists()
    done = ledger.compact(days=0)
    archive = tmp_path / "archive" / "ledger-1.jsonl.gz"
    assert (done.runs, done.rows_before, done.rows_after, done.archive) == (("r1",), 8, 3, str(archive))
    assert (done.size_before, done.size_after) == (len(before), ledger.path.stat().st_size)
    assert (planned.runs, planned.rows_after, planned.size_after) == (("r1",), 3, done.size_after)
    reading = ledger.read()
    assert [event.kind for event in reading.events] == ["ledger.compacted", "run.summed", "run.started"]
    assert reading.unreadable == ()
    assert follower.read() == reading
    assert reading.history == history
    lines = before.splitlines(keepends=True)
    assert gzip.decompress(archive.read_bytes()) == b"".join([*lines[:6], lines[7]])
    assert [event.kind for event in read_archived(tmp_path, reading.events[0])] == [
        "run.started", "unit.preparing", "unit.prepared", "unit.finished", "run.finished", "workspace.removed",
    ]  # fmt: skip
    # One that wrote to the old file goes on in the new one.
    last = writer.append(payload_of("run.finished"), run="r2")
    assert follower.read().events[-1] == last
    assert (ledger.path.stat().st_mode & 0o777, sorted(os.listdir(tmp_path))) == (
        0o600, ["archive", "ledger.jsonl", "ledger.reserve", "locks"],
    )  # fmt: skip


def test_a_second_compaction_has_an_archive_of_its_own(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Ticks())
    for number in (1, 2):
        over(ledger, f"r{number}")
        assert ledger.compact(days=0).archive == str(tmp_path / "archive" / f"ledger-{number}.jsonl.gz")
    assert not ledger.compact(days=0).saves
    events = ledger.read().events
    assert [event.kind for event in events] == ["ledger.compacted", "run.summed", "run.summed"]
    archived = list(read_archived(tmp_path, events[0]))
    assert next(event.kind for event in archived if event.run == "r2") == "run.started"
    assert len([event for event in archived if event.run]) == 12


def test_what_is_not_that_old_stays(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert ledger.compact(days=0) == Compaction()
    over(ledger, "r1")
    before = ledger.path.read_bytes()
    assert not ledger.compact(days=1).saves
    assert ledger.path.read_bytes() == before


COMPACTOR = """
import sys
from pathlib import Path
from gitprun.ledger.house_events import RunFinished, RunStarted
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.unit_events import UnitFinished
ledger = Ledger(Path(sys.argv[1]))
for number in range(int(sys.argv[2]), 10_000):
    run = f"r{number}"
    ledger.append(RunStarted(), run=run)
    ledger.append(UnitFinished(final="ready", hint=str(number), reason="x" * 20_000), run=run, unit="a")
    ledger.append(RunFinished(), run=run)
    print(number, flush=True)
    ledger.compact(days=0)
"""


def test_a_compaction_that_is_killed_leaves_the_old_ledger_or_the_new_one(tmp_path: Path) -> None:
    known = 0
    for trial in range(12):
        argv = [sys.executable, "-c", COMPACTOR, str(tmp_path), str(known)]
        with subprocess.Popen(argv, env=program_environment(), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) == known + trial % 3:
                    break
            # Somewhere in the compaction that follows: further on from trial to trial.
            for _ in range(trial * 40):
                os.stat(tmp_path)
            process.kill()
            rest = process.stdout.read()
        known = int((line + rest).split()[-1]) + 1
        reading = Ledger(tmp_path).read()
        assert reading.unreadable == ()
        runs = reading.history.runs
        assert [runs[f"r{number}"].units["a"].hint for number in range(known)] == [
            str(number) for number in range(known)
        ]
        # Every row is there still, in the ledger or in an archive it names, and in no two of them.
        rows = (*read_archived(tmp_path, reading.events[0]), *reading.events)
        ends = [event.run for event in rows if event.kind == "run.finished"]
        assert ends[:known] == [f"r{number}" for number in range(known)]
        assert len(set(ends)) == len(ends)
    ledger = Ledger(tmp_path)
    ledger.append(payload_of("run.started"), run="r99999")
    ledger.append(payload_of("run.finished"), run="r99999")
    ledger.compact(days=0)
    assert [name for name in os.listdir(tmp_path) if name.startswith(".ledger")] == []
