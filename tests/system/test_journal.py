"""A file of lines: whole or not there, put back when it is deleted, never mistaken for another one."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.system import journal as module
from gitprun.system.journal import Journal, JournalReplaced, ensure_reserve, mark_before, release_reserve
from tests.support.cli import program_environment


def follows(old: bytes, new: bytes) -> bool:
    return new.startswith(b"later") and not old.startswith(b"later")


def nothing(_line: bytes) -> None:
    """Object to nothing."""


def journal(path: Path) -> Journal:
    return Journal(path, follows)


@pytest.mark.parametrize(
    ("before", "after"), [(b"", b"row\n"), (b"a\n", b"a\nrow\n"), (b"a\ntorn", b"a\ntorn\nrow\n"), (b"t", b"t\nrow\n")]
)
def test_a_torn_line_is_closed(tmp_path: Path, before: bytes, after: bytes) -> None:
    target = tmp_path / "ledger"
    target.write_bytes(before)
    journal(target).append(b"row\n", last=nothing)
    assert target.read_bytes() == after


def test_all_is_written_even_in_small_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, bytes(content)[:3]))
    journal(tmp_path / "ledger").append(b"a long row\n", last=nothing)
    assert (tmp_path / "ledger").read_bytes() == b"a long row\n"
    assert (tmp_path / "ledger").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("where", ["write", "fdatasync"])
@pytest.mark.parametrize("before", [b"", b"first\n", b"first\ntorn"])
def test_what_cannot_be_written_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, before: bytes
) -> None:
    target = tmp_path / "ledger"
    target.write_bytes(before)
    write, sync, seen = os.write, os.fdatasync, list[int]()

    def full(descriptor: int, content: bytes) -> int:
        if seen:
            raise OSError(errno.ENOSPC, "No space left on device")
        seen.append(write(descriptor, bytes(content)[:5]))
        return seen[0]

    def broken(descriptor: int) -> None:
        if seen:
            return sync(descriptor)
        seen.append(1)
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, where, full if where == "write" else broken)
        with pytest.raises(OSError, match=r"No space left|Input/output"):
            journal(target).append(b"a row that is too long\n", last=nothing)
    assert target.read_bytes() == before


@pytest.mark.parametrize("size", [0, 1, 8190, 8191, 8192, 20_000])
def test_the_last_line_is_shown_whole(tmp_path: Path, size: int) -> None:
    shown: list[bytes] = []
    target = tmp_path / "ledger"
    target.write_bytes(b"first\n" + b"x" * size + b"\n")
    one = journal(target)
    one.append(b"mine\n", last=shown.append)
    one.append(b"mine again\n", last=shown.append)
    # Its own line needs no look; that of another one does.
    journal(target).append(b"theirs\n", last=nothing)
    one.append(b"mine at last\n", last=shown.append)
    assert shown == [b"x" * size, b"theirs"]


def test_an_objection_to_the_last_line_leaves_all_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "ledger"
    target.write_bytes(b"strange\n")

    def object_to(line: bytes) -> None:
        raise ValueError(line)

    with pytest.raises(ValueError, match="strange"):
        journal(target).append(b"row\n", last=object_to)
    assert target.read_bytes() == b"strange\n"


def test_a_deleted_file_is_put_back(tmp_path: Path) -> None:
    target = tmp_path / "state" / "ledger"
    target.parent.mkdir()
    mine, theirs = journal(target), journal(target)
    assert not mine.append(b"one\n", last=nothing)
    theirs.append(b"two\n", last=nothing)
    target.unlink()
    target.parent.rmdir()
    assert mine.append(b"three\n", last=nothing)
    assert target.read_bytes() == b"one\ntwo\nthree\n"
    # The other one goes on in the new file, for it holds all that it knows.
    assert not theirs.append(b"four\n", last=nothing)
    assert target.read_bytes() == b"one\ntwo\nthree\nfour\n"
    assert os.listdir(target.parent) == ["ledger"]


def test_a_file_that_goes_on_from_the_known_one_is_taken(tmp_path: Path) -> None:
    target = tmp_path / "ledger"
    mine = journal(target)
    mine.append(b"one\n", last=nothing)
    (tmp_path / "new").write_bytes(b"later: one\n")
    os.replace(tmp_path / "new", target)
    mine.append(b"two\n", last=nothing)
    assert target.read_bytes() == b"later: one\ntwo\n"


def test_another_file_is_refused_and_what_was_there_kept(tmp_path: Path) -> None:
    target = tmp_path / "ledger.jsonl"
    mine = journal(target)
    mine.append(b"one\n", last=nothing)
    (tmp_path / "new").write_bytes(b"backup\n")
    os.replace(tmp_path / "new", target)
    with pytest.raises(JournalReplaced) as caught:
        mine.append(b"two\n", last=nothing)
    beside = next(path for path in tmp_path.iterdir() if path != target)
    assert caught.value.message == f"{target} was replaced by another file meanwhile"
    assert caught.value.hint == f"what was in it is in {beside} now"
    assert (target.read_bytes(), beside.read_bytes()) == (b"backup\n", b"one\n")


@pytest.mark.parametrize("now", [b"", b"one\n", b"one\nTWO\n", b"one\nTWO\nmore\n"])
def test_a_file_that_was_changed_in_place_is_refused(tmp_path: Path, now: bytes) -> None:
    target = tmp_path / "ledger"
    mine = journal(target)
    mine.append(b"one\n", last=nothing)
    mine.append(b"two\n", last=nothing)
    target.write_bytes(now)
    with pytest.raises(JournalReplaced, match="was changed by something else meanwhile"):
        mine.append(b"three\n", last=nothing)
    assert target.read_bytes() == now


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "ledger").symlink_to("precious")
    with pytest.raises(OSError, match="symbolic links"):
        journal(tmp_path / "ledger").append(b"row\n", last=nothing)
    assert (tmp_path / "precious").read_text() == "precious"


WRITER = """
import os, sys
from pathlib import Path
from gitprun.system.journal import Journal
for name in sys.argv[2:]:
    if os.fork() == 0:
        mine = Journal(Path(sys.argv[1]), lambda old, new: True)
        for number in range(40):
            mine.append(f"{name} {number} {'x' * 5000}\\n".encode(), last=lambda line: None)
        os._exit(0)
sys.exit(sum(os.wait()[1] for _ in sys.argv[2:]) != 0)
"""


def test_many_writers_without_any_other_lock(tmp_path: Path) -> None:
    names = [f"w{number}" for number in range(6)]
    argv = [sys.executable, "-c", WRITER, str(tmp_path / "ledger"), *names]
    assert subprocess.run(argv, env=program_environment(), check=False).returncode == 0
    rows = [line.split() for line in (tmp_path / "ledger").read_bytes().splitlines()]
    for name in names:
        assert [int(row[1]) for row in rows if row[0] == name.encode()] == list(range(40))
    assert {(len(row), len(row[2])) for row in rows} == {(3, 5000)}


def test_mark_before(tmp_path: Path) -> None:
    target = tmp_path / "f"
    target.write_bytes(b"x" * 100 + b"abc")
    with open(target, "rb") as source:
        assert mark_before(source.fileno(), 103) == b"x" * 61 + b"abc"
        assert [mark_before(source.fileno(), end) for end in (0, 2)] == [b"", b"xx"]


def test_the_reserve_is_really_there_and_given_back(tmp_path: Path) -> None:
    place = tmp_path / "reserve"
    assert ensure_reserve(place)
    found = place.stat()
    assert (found.st_size, found.st_blocks * 512 >= 512 << 10, found.st_mode & 0o777) == (512 << 10, True, 0o600)
    assert not ensure_reserve(place)
    place.write_bytes(b"cut short")
    assert ensure_reserve(place)
    assert (release_reserve(place), release_reserve(place)) == (True, False)
    assert os.listdir(tmp_path) == []


def test_the_reserve_leaves_nothing_half_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: Path, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        ensure_reserve(tmp_path / "reserve")
    assert os.listdir(tmp_path) == []
