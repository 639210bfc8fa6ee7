"""Object folders as a worker may leave them: nothing in them is believed, and nothing waits for them."""

from __future__ import annotations

import os
import shutil
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.capture.quarantine import list_quarantine
from gitprun.model.names import Oid
from tests.support.repos import Repo, make_repo
from tests.support.workshop import fingerprint
from tests.support.yard import Yard, make_yard

MOVED = "the worker changed where its objects lie"


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """Make a repository, and a folder with one commit of a worker's."""
    made = make_yard(tmp_path)
    made.file(b"new", b"work\n" * 1000)
    return made


def work(yard: Yard) -> Oid:
    return yard.file(b"new", b"work\n" * 1000)


def packed(yard: Yard) -> Path:
    """Put the worker's objects into one pack, and give its index."""
    git = Repo(yard.repo.path)
    env = {"GIT_OBJECT_DIRECTORY": str(yard.store.path)}
    names = "".join(f"{path.parent.name}{path.name}\n" for path in yard.store.path.glob("??/*")).encode()
    git.git("pack-objects", "-q", str(yard.store.path / "pack" / "pack"), stdin=names, env=env)
    for folder in yard.store.path.glob("??"):
        shutil.rmtree(folder)
    (index,) = yard.store.path.glob("pack/*.idx")
    for path in yard.store.path.glob("pack/*"):
        path.chmod(0o600)
    return index


def _fifo(yard: Yard) -> None:
    os.mkfifo(yard.store.path / "pack" / "pack-1.idx")


def _socket(yard: Yard) -> None:
    old = os.getcwd()
    os.chdir(yard.store.path)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    os.chdir(old)


def _linked_pack(yard: Yard) -> None:
    pack = packed(yard).with_suffix(".pack")
    shutil.move(pack, yard.store.path.parent / "elsewhere.pack")
    pack.symlink_to(yard.store.path.parent / "elsewhere.pack")


def _linked_folder(yard: Yard) -> None:
    private = make_repo(yard.repo.path.parent / "private", secret="s\n")
    (yard.store.path / "ab").symlink_to(private.path / ".git" / "objects")


def _alternates(yard: Yard) -> None:
    private = make_repo(yard.repo.path.parent / "private", secret="s\n")
    with open(yard.store.path / "info" / "alternates", "ab") as out:
        out.write(os.fsencode(private.path / ".git" / "objects") + b"\n")


def _fifo_alternates(yard: Yard) -> None:
    (yard.store.path / "info" / "alternates").unlink()
    os.mkfifo(yard.store.path / "info" / "alternates")


def _http(yard: Yard) -> None:
    (yard.store.path / "info" / "http-alternates").write_text("http://localhost:1/\n")


def _deep(yard: Yard) -> None:
    (yard.store.path / "a/b/c/d/e/f").mkdir(parents=True)


STRANGE: dict[str, tuple[Callable[[Yard], None], str]] = {
    "fifo": (_fifo, f"{MOVED} (pack/pack-1.idx is no plain file)"),
    "socket": (_socket, f"{MOVED} (socket is no plain file)"),
    "linked pack": (_linked_pack, f"{MOVED} (pack/NAME.pack is no plain file)"),
    "linked folder": (_linked_folder, f"{MOVED} (ab is no plain file)"),
    "more alternates": (_alternates, f"{MOVED} (info/alternates)"),
    "fifo for alternates": (_fifo_alternates, f"{MOVED} (info/alternates)"),
    "alternates by http": (_http, f"{MOVED} (info/http-alternates)"),
    "deep": (_deep, "folders in the worker's objects lie more than 4 deep (a/b/c/d/e)"),
}


@pytest.mark.parametrize("shape", STRANGE)
def test_a_folder_that_is_not_plain_is_not_read(yard: Yard, shape: str) -> None:
    build, reason = STRANGE[shape]
    tip = work(yard)
    build(yard)
    before = fingerprint(yard.repo.path, without=(".git/prun",))
    (rejected,) = yard.cross(tip).rejected
    (kept,) = list_quarantine(yard.repo.repository)
    name = next((path.stem for path in yard.store.path.glob("pack/pack-?*.pack")), "none")
    assert (rejected.reason.replace(name, "NAME"), rejected.place) == (reason, str(kept.place))
    assert fingerprint(yard.repo.path, without=(".git/prun",)) == before
    # The plain files are kept all the same.
    assert (kept.place / "files" / tip[:2] / tip[2:]).is_file() or (kept.place / f"files/pack/{name}.idx").is_file()
    assert not any(path.is_symlink() or path.is_fifo() for path in kept.place.rglob("*"))


def test_what_the_user_has_anyway_is_taken_from_a_strange_folder(yard: Yard) -> None:
    tip = work(yard)
    yard.repo.switch("other", new=True)
    there = yard.repo.commit("mine", mine="m\n")
    _fifo(yard)
    found = yard.cross({"head": tip, "branch/other": there})
    assert (found.taken, [row.name for row in found.rejected]) == ({"branch/other": there}, ["head"])


def _zeros(yard: Yard) -> None:
    index = packed(yard)
    index.write_bytes(bytes(index.stat().st_size))


def _other_offsets(yard: Yard) -> None:
    index = packed(yard)
    raw = bytearray(index.read_bytes())
    count = struct.unpack(">I", raw[1028:1032])[0]
    start = 1032 + 24 * count
    raw[start : start + 4 * count] = struct.pack(">I", 0x7FFFFF00) * count
    index.write_bytes(raw)


def _truncated(yard: Yard) -> None:
    pack = packed(yard).with_suffix(".pack")
    pack.write_bytes(pack.read_bytes()[:-60])


def _flipped(yard: Yard) -> None:
    pack = packed(yard).with_suffix(".pack")
    raw = bytearray(pack.read_bytes())
    raw[len(raw) // 2] ^= 255
    pack.write_bytes(raw)


def _no_pack(yard: Yard) -> None:
    packed(yard).with_suffix(".pack").unlink()


def _sparse(yard: Yard) -> None:
    index = packed(yard)
    os.truncate(index, 1 << 40)


@pytest.mark.parametrize("spoil", [_zeros, _other_offsets, _truncated, _flipped, _no_pack, _sparse])
def test_a_broken_pack_changes_nothing(yard: Yard, spoil: Callable[[Yard], None]) -> None:
    tip = work(yard)
    spoil(yard)
    before = fingerprint(yard.repo.path, without=(".git/prun",))
    found = yard.cross(tip)
    assert (found.taken, [row.name for row in found.rejected]) == ({}, ["head"])
    assert fingerprint(yard.repo.path, without=(".git/prun",)) == before


def _graph(yard: Yard) -> None:
    (yard.store.path / "info" / "commit-graph").write_bytes(b"CGPH\1\1\3\0" + b"\xff" * 400)


def _midx(yard: Yard) -> None:
    packed(yard)
    (yard.store.path / "pack" / "multi-pack-index").write_bytes(b"MIDX\1\1\4\0" + b"\xff" * 400)


def _bitmap(yard: Yard) -> None:
    packed(yard).with_suffix(".bitmap").write_bytes(b"BITM" + b"\xff" * 400)


def _garbage(yard: Yard) -> None:
    for name in ("pack/pack-x.idx", "pack/tmp_idx", "ab/short", "info/packs", "garbage"):
        (yard.store.path / name).parent.mkdir(exist_ok=True)
        (yard.store.path / name).write_bytes(b"\xff" * 400)
    os.truncate(yard.store.path / "garbage", 1 << 40)


@pytest.mark.parametrize("plant", [packed, _graph, _midx, _bitmap, _garbage])
def test_what_is_planted_beside_objects_is_not_believed(yard: Yard, plant: Callable[[Yard], object]) -> None:
    tip = work(yard)
    plant(yard)
    found = yard.cross(tip)
    assert (found.taken, found.rejected, found.notes) == ({"head": tip}, (), ())
    yard.repo.git("update-ref", "refs/heads/taken", tip)
    assert yard.repo.git("fsck", "--strict") == ""
    assert yard.repo.files("taken")["new"] == "work\n" * 999 + "work"


def test_a_wrong_order_of_a_pack_is_found_out(yard: Yard) -> None:
    tip = work(yard)
    index = packed(yard)
    count = struct.unpack(">I", index.read_bytes()[1028:1032])[0]
    order = b"RIDX" + struct.pack(">II", 1, 1) + struct.pack(">I", 0) * count
    index.with_suffix(".rev").write_bytes(order + index.with_suffix(".pack").read_bytes()[-20:] + bytes(20))
    found = yard.cross(tip)
    # Whether git reads that file depends on its version; what arrives is right, or rejected.
    assert {**found.taken, **{row.name: row.oid for row in found.rejected}} == {"head": tip}
    if found.taken:
        yard.repo.git("update-ref", "refs/heads/taken", tip)
    assert yard.repo.git("fsck", "--strict") == ""
