"""Reading what workers print, whatever it is, with little memory and in little time."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from gitprun.executors.claude import Claude
from gitprun.executors.codex import Codex
from gitprun.executors.command import Command
from gitprun.model.units import Exit
from gitprun.runs.listen import END, HEAD, Listener, read_output

GIGABYTE = 1 << 30
FAILED = Exit(code=1, signal=None, reason="exited", seconds=1.0)


def hear_all(path: Path) -> list[bytes]:
    """Follow a file that has ended."""
    heard: list[bytes] = []
    listener = Listener(path, heard.append)
    listener.over.set()
    with listener:
        pass
    return heard


def with_hole(path: Path, before: bytes, after: bytes) -> None:
    with open(path, "wb") as target:
        target.write(before)
        target.seek(4 * GIGABYTE)
        target.write(after)


def test_lines_are_heard(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"one\ntwo\r\n\xff\xfe caf\xe9\nnul\0 in it\nstep 1\rstep 2\rlast")
    assert hear_all(path) == [b"one", b"two", b"\xff\xfe caf\xe9", b"nul\0 in it", b"step 1", b"step 2"]


def test_a_file_that_never_comes(tmp_path: Path) -> None:
    assert hear_all(tmp_path / "none") == []


def test_a_hole_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with_hole(path, b"begun\n", b"\nafter the hole\n")
    assert hear_all(path) == [b"", b"after the hole"]


def test_a_hole_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"begun\n")
    os.truncate(path, 100_000)
    assert hear_all(path) == [b"begun"]


def test_behind_a_flood_only_the_newest_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"".join(b"%07d\n" % number for number in range(1_000_000)))
    heard = hear_all(path)
    assert len(heard) == Listener.NEWEST // 8
    assert heard[-1] == b"0999999"


def test_a_line_of_any_length_takes_little(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"x" * (9 << 20) + b"\nover\n")
    tracemalloc.start()
    heard = hear_all(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert heard[-1] == b"over"
    assert peak < 8 << 20


def test_all_of_an_output_is_read(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"before\none\n\n\0\0zeros\0\nlast")
    assert list(read_output(path)) == [b"before", b"one", b"", b"zeros", b"last"]
    assert list(read_output(path, 7)) == [b"one", b"", b"zeros", b"last"]
    assert list(read_output(path, 1000)) == []


def test_of_a_long_output_the_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "out"
    row = b"x" * 1023 + b"\n"
    path.write_bytes(b"first\n" + row * (40 << 10) + b"last\n")
    rows = list(read_output(path))
    assert (rows[0], rows[-1]) == (b"first", b"last")
    assert (HEAD + END) // 1024 - 2 <= len(rows) <= (HEAD + END) // 1024 + 2


@pytest.mark.parametrize("executor", [Command(), Codex(), Claude()], ids=lambda executor: executor.name)
def test_every_executor_reads_any_output_to_its_end(tmp_path: Path, executor: Command | Codex | Claude) -> None:
    path = tmp_path / "out"
    ugly = (
        b"\xff\xfe\0" * 1000 + b"\r" * 1000 + b'{"type":"item.completed","item":{"text":"' + b"y" * (8 << 20) + b'"}}\n'
    )
    with_hole(path, ugly, b"\n" + ugly + b"z" * (5 << 20) + b"\nthe last words\n")
    tracemalloc.start()
    ending = executor.ending(read_output(path), FAILED)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (ending.state, ending.reason) == ("failed", "exit code 1: the last words")
    # A few copies of one part of a line.
    assert peak < 64 << 20
