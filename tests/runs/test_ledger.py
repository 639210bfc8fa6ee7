"""The ledger: many writers, torn lines, killed writers; what was acknowledged is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.runs.events import Event, encode
from gitprun.runs.ledger import Ledger, LedgerProblem, Reading
from tests.support.cli import program_environment

# One process a name, forked after the imports, which cost more than the writing.
WRITERS = """
import os, sys
from pathlib import Path
from gitprun.runs.ledger import Ledger, LedgerProblem, Reading
children = []
for name in sys.argv[3:]:
    pid = os.fork()
    if pid:
        children.append(pid)
        continue
    ledger = Ledger(Path(sys.argv[1]))
    for number in range(int(sys.argv[2])):
        ledger.append("row", run=name, facts={"n": number, "filler": "x" * 6000})
        os.write(1, f"{os.getpid()} {number}\\n".encode())
    os._exit(0)
sys.exit(sum(os.waitpid(pid, 0)[1] for pid in children) != 0)
"""


class Ticks:
    """A clock that counts."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        self.time += 1
        return self.time

    def monotonic(self) -> float:
        return self.time


def writers(state: Path, rows: int, *names: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITERS, str(state), str(rows), *names],
        env=program_environment(),
        stdout=subprocess.PIPE,
    )


def test_one_line_an_event(tmp_path: Path) -> None:
    ledger, heard = Ledger(tmp_path, Ticks()), []
    ledger.listeners.append(heard.append)
    first = ledger.append("run.started", run="r1", facts={"base": "b"})
    second = ledger.append("unit.queued", run="r1", unit="a")
    assert (first, second) == (Event("run.started", 1.0, "r1", "", {"base": "b"}), Event("unit.queued", 2.0, "r1", "a"))
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
    rows = [(event.run, event.facts["n"]) for event in reading.events]
    assert sorted(rows) == sorted((name, n) for name in names for n in range(5))
    for name in names:
        assert [n for run, n in rows if run == name] == [0, 1, 2, 3, 4]
    times = [event.time for event in reading.events]
    assert times == sorted(times)


def test_a_torn_last_line_is_reported_and_closed_by_the_next_append(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Ticks())
    first, lost = ledger.append("row", run="r1"), ledger.append("row", run="r2")
    whole = ledger.path.read_bytes()
    torn = whole[: len(encode(first)) + len(encode(lost)) // 2]
    ledger.path.write_bytes(torn)
    assert (ledger.read().events, ledger.read().unreadable) == ((first,), (2,))
    third = ledger.append("row", run="r3")
    assert ledger.path.read_bytes() == torn + b"\n" + encode(third)
    assert (ledger.read().events, ledger.read().unreadable) == ((first, third), (2,))


def test_a_whole_line_without_its_end_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Ticks())
    first = ledger.append("row", run="r1")
    ledger.path.write_bytes(encode(first)[:-1])
    second = ledger.append("row", run="r2")
    assert (ledger.read().events, ledger.read().unreadable) == ((first, second), ())


def test_altered_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Ticks())
    first, second = ledger.append("row", run="r1"), ledger.append("row", run="r2")
    altered = encode(first).replace(b'"r1"', b'"r7"')
    ledger.path.write_bytes(altered + b"\n" + b"garbage \xff\n" + b"[1]\n" + encode(second))
    assert (ledger.read().events, ledger.read().unreadable) == ((second,), (1, 3, 4))


def test_a_ledger_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.path.mkdir()
    with pytest.raises(LedgerProblem) as caught:
        ledger.append("row")
    assert (caught.value.message, caught.value.hint) == (
        f"the ledger {ledger.path} cannot be written: Is a directory",
        "is the disk full, or not yours to write?",
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
    last = ledger.append("row", run="r99")
    reading = ledger.read()
    assert reading.events[-1] == last
    written = [[event.facts["n"] for event in reading.events if event.run == name] for name in names]
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
    first = theirs.append("run.started", run="r1")
    assert ours.read() == Reading((first,))
    with open(ours.path, "ab") as torn:
        torn.write(b'{"v":1,"t":')
    assert ours.read() == Reading((first,), (2,))
    second = theirs.append("run.finished", run="r1")
    assert ours.read() == Reading((first, second), (2,))
    assert ours.read() == Ledger(tmp_path).read()
    ours.path.unlink()
    assert ours.read() == Reading(())
    third = theirs.append("run.started", run="r2")
    assert ours.read() == Reading((third,))
