"""What a worker prints stays within bounds on disk, and whoever reads it does too."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.supervisor import libc
from gitprun.supervisor.orphans import read_record
from gitprun.supervisor.output_limit import BLOCK, NEAR, OutputLimit
from tests.support.bench import Bench

LINUX = sys.platform.startswith("linux")
needs_linux = pytest.mark.skipif(not LINUX, reason="holes are punched on Linux only")
needs_root = pytest.mark.skipif(not LINUX or os.geteuid() != 0, reason="mounts a small disk")
MOST = 1 << 20
NOTICE = b"[git prun: %d bytes of output dropped here]\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class Printed:
    """A file that is printed into, watched by a cap that looks after every piece."""

    def __init__(self, path: Path, before: bytes = b"", most: int = MOST) -> None:
        self.path = path
        path.write_bytes(before)
        self.cap = OutputLimit(str(path), most)
        self.whole = before
        self.peak = 0

    def add(self, piece: bytes) -> None:
        with open(self.path, "ab") as target:
            target.write(piece)
        self.whole += piece
        self.cap.due = 0.0
        self.cap.look()
        self.peak = max(self.peak, os.stat(self.path).st_blocks * 512)

    def end(self) -> tuple[int, str, bytes]:
        dropped, note = self.cap.finish()
        return dropped, note, self.path.read_bytes()


def lines(start: int, end: int) -> bytes:
    return b"".join(b"line %010d\n" % number for number in range(start, end))


@needs_linux
def test_the_middle_goes_and_the_ends_stay(tmp_path: Path) -> None:
    printed = Printed(tmp_path / "out")
    for start in range(0, 400_000, 5_000):
        printed.add(lines(start, start + 5_000))
    dropped, note, left = printed.end()
    head, tail = left.split(NOTICE % dropped)
    assert (printed.whole[: len(head)], printed.whole[-len(tail) :], note) == (head, tail, "")
    assert len(head) + len(tail) + dropped == len(printed.whole) == 6_400_000
    assert (head[-1:], tail[:5]) == (b"\n", b"line ")
    assert MOST // 4 - NEAR <= len(head) <= MOST // 4 + BLOCK
    assert MOST // 2 - NEAR <= len(tail) <= MOST
    assert printed.peak <= MOST + 5_000 * 16 + 2 * BLOCK


@pytest.mark.parametrize("holes", [True, False])
def test_what_was_there_before_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holes: bool) -> None:
    if not holes:
        monkeypatch.setattr(libc, "call", lambda *_: -1)
    before = lines(0, 100_000)
    printed = Printed(tmp_path / "out", before)
    for start in range(0, 200_000, 10_000):
        printed.add(lines(start, start + 10_000))
    dropped, note, left = printed.end()
    assert left.startswith(before + lines(0, 1000))
    assert left.endswith(lines(199_000, 200_000))
    assert len(left) == len(printed.whole) - dropped + len(NOTICE % dropped)
    assert len(left) - len(before) <= MOST + 100
    assert note == ("" if holes and LINUX else "the output could only be cut at the end: no holes here")


def test_what_is_not_too_much_stays_as_it_is(tmp_path: Path) -> None:
    printed = Printed(tmp_path / "out", b"before")
    printed.add(b"x" * MOST)
    assert printed.end() == (0, "", b"before" + b"x" * MOST)


def test_output_without_any_line_is_cut_too(tmp_path: Path) -> None:
    printed = Printed(tmp_path / "out")
    for _ in range(40):
        printed.add(b"x" * 100_000)
    dropped, _, left = printed.end()
    assert left.replace(b"x", b"") == b"\n" + NOTICE % dropped
    assert left.count(b"x") == 4_000_000 - dropped


def test_a_worker_that_cuts_its_output_itself(tmp_path: Path) -> None:
    printed = Printed(tmp_path / "out")
    for _ in range(30):
        printed.add(b"x" * 99_999 + b"\n")
    os.truncate(printed.path, 10)
    printed.add(b"short\n")
    assert printed.end() == (0, "", b"xxxxxxxxxxshort\n")


@given(st.integers(0, 30_000), st.lists(st.integers(0, 200_000), max_size=12), st.sampled_from([1 << 18, 1 << 19]))
def test_any_output_is_its_two_ends(
    tmp_path_factory: pytest.TempPathFactory, before: int, sizes: list[int], most: int
) -> None:
    printed = Printed(tmp_path_factory.mktemp("cap") / "out", os.urandom(before), most)
    for size in sizes:
        printed.add(os.urandom(size))
    dropped, note, left = printed.end()
    assert note == ""
    if not dropped:
        assert left == printed.whole
        assert sum(sizes) <= most
        return
    head, tail = left.split(NOTICE % dropped)
    assert len(left) - before <= most + 100
    assert dropped > 0
    assert printed.whole.endswith(tail)
    kept = head if printed.whole.startswith(head) else head[:-1]
    assert printed.whole.startswith(kept)
    assert len(kept) + dropped + len(tail) == len(printed.whole)
    assert len(kept) >= before


@needs_linux
def test_a_flood_is_cut_while_it_runs(bench: Bench) -> None:
    ended = bench.sh("yes 'one line of many' | head -c 300000000; echo; echo over", output_max=16 << 20)
    left = bench.out
    assert (ended.code, left.count(b"bytes of output dropped here]"), left[-5:]) == (0, 1, b"over\n")
    assert ended.dropped == 300_000_006 + len(NOTICE % ended.dropped) - len(left)
    assert len(left) < 17 << 20


@pytest.mark.kill
@needs_linux
def test_two_gigabytes_of_output(bench: Bench) -> None:
    path, peak, over = bench.path / "out", [0], threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            if path.exists():
                peak[0] = max(peak[0], path.stat().st_blocks * 512)

    looking = threading.Thread(target=look)
    looking.start()
    ended = bench.sh("yes 'one line of many' | head -c 2000000000", timeout=300.0)
    over.set()
    looking.join()
    assert (ended.code, ended.dropped > 1_700_000_000) == (0, True)
    assert path.stat().st_size < 260_000_000
    assert peak[0] < 512_000_000


@needs_linux
def test_a_flood_that_will_not_end_is_bounded_to_its_end(bench: Bench) -> None:
    ended = bench.sh("trap '' INT TERM; yes", timeout=0.3, grace=0.3, output_max=4 << 20)
    assert (ended.reason, ended.signal, ended.survivors) == ("timeout", 9, ())
    assert ended.dropped > 1 << 20
    assert (bench.path / "out").stat().st_size < 5 << 20


@needs_linux
def test_two_files_are_bounded_each(bench: Bench) -> None:
    script = "yes out | head -c 9000000; yes err | head -c 9000000 >&2"
    ended = bench.sh(script, stderr=bench.path / "err", output_max=MOST)
    sizes = [len(bench.out), (bench.path / "err").stat().st_size]
    assert all(size < 2 * MOST for size in sizes)
    assert ended.dropped + sum(sizes) - 18_000_000 < 200


def test_a_device_is_no_file(bench: Bench) -> None:
    ended = bench.run(["sh", "-c", "yes | head -c 1000000"], stdout=Path(os.devnull), output_max=1000)
    assert (ended.code, ended.dropped) == (0, 0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", place], check=True)
    return place


@pytest.mark.root
@needs_root
def test_a_full_disk_takes_no_exit_record_away(bench: Bench, small_disk: Path) -> None:
    try:
        record = small_disk / "record"
        record.mkdir()
        ended = bench.sh(f"cat /dev/zero >{small_disk}/filled; exit 3", record=record)
        assert (ended.reason, ended.code, ended.detail) == ("exited", 3, "")
        assert read_record(record / "exit.json")["code"] == 3
        assert os.statvfs(small_disk).f_bavail == 0 or (small_disk / "filled").stat().st_size > 7 << 20
    finally:
        subprocess.run(["umount", small_disk], check=True)


@pytest.mark.root
@needs_root
def test_output_on_a_full_disk_is_cut_in_place(bench: Bench, small_disk: Path) -> None:
    try:
        out = small_disk / "out"
        script = f"yes 'a line' | head -c 20000000; cat /dev/zero >{small_disk}/filled 2>/dev/null; echo over"
        ended = bench.sh(script, stdout=out, output_max=2 << 20)
        left = out.read_bytes()
        assert left.count(NOTICE % ended.dropped) == 1
        assert b"\0" not in left
        assert ended.dropped > 1_000_000
    finally:
        subprocess.run(["umount", small_disk], check=True)
