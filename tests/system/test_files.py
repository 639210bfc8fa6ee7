"""Files of our own: replaced whole, appended and synced, locked, read and removed without following anybody."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gitprun.system import files
from gitprun.system.files import (
    LockBusy,
    UnsafeRemoval,
    folder_identity,
    locked,
    mounts_below,
    read_plain,
    remove_tree,
    tail,
    write_whole,
)


def identity(path: Path) -> tuple[int, int]:
    found = folder_identity(path)
    assert found is not None
    return found


def test_write_whole_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "state"
    write_whole(target, b"one")
    write_whole(target, b"two", mode=0o644)
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"two", ["state"])
    assert target.stat().st_mode & 0o777 == 0o644


def test_write_whole_replaces_a_link_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "state").symlink_to("precious")
    write_whole(tmp_path / "state", b"new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "state").is_symlink()


def test_write_whole_that_fails_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_whole(tmp_path / "folder", b"x")
    assert os.listdir(tmp_path) == ["folder"]


def test_write_whole_that_is_stopped_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "state", b"old")

    def stopped(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "state", b"new")
    assert ((tmp_path / "state").read_bytes(), os.listdir(tmp_path)) == (b"old", ["state"])


def test_read_plain_reads_plain_files_only(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("plain")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    names = ("plain", "link", "folder", "fifo", "absent", "plain/below")
    assert [read_plain(tmp_path / name, 100) for name in names] == [b"12345", None, None, None, None, None]
    assert read_plain(Path("/dev/zero"), 100) is None
    assert (read_plain(tmp_path / "plain", 2), read_plain(tmp_path / "plain", 0)) == (b"12", b"")


def test_tail(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"123456")
    assert [tail(tmp_path / "log", n) for n in (2, 100)] == [b"56", b"123456"]
    assert tail(tmp_path / "absent", 5) == b""


def test_folder_identity_is_of_real_folders(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    assert [folder_identity(tmp_path / name) for name in ("link", "file", "absent")] == [None, None, None]
    assert identity(tmp_path) == (tmp_path.stat().st_dev, tmp_path.stat().st_ino)


def test_locked_between_threads(tmp_path: Path) -> None:
    path, order = tmp_path / "locks" / "l", []

    def second() -> None:
        with locked(path):
            order.append("second")

    with locked(path):
        thread = threading.Thread(target=second)
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_locked_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "l"
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(LockBusy) as caught, locked(path, timeout=0.05, doing="making a worktree"):
            pass
        holder.kill()
    assert caught.value.message == "another git prun is busy making a worktree in this repository"
    with locked(path, timeout=5):
        pass


def test_a_lock_whose_file_was_deleted_has_one_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, order = tmp_path / "locks" / "l", []
    is_ours = files.Held.is_ours

    def deleted_meanwhile(held: files.Held) -> bool:
        if not order:
            order.append("deleted")
            os.unlink(path)
            path.touch()
        return is_ours(held)

    monkeypatch.setattr(files.Held, "is_ours", deleted_meanwhile)
    with locked(path) as held:
        order.append("held")
        assert is_ours(held)
        # What lies at the path is what is held: nobody else gets in.
        with pytest.raises(LockBusy), locked(path, timeout=0.05):
            pass
        os.unlink(path)
        assert not is_ours(held)
    assert order == ["deleted", "held"]


def test_a_lock_whose_folder_was_deleted_is_made_again(tmp_path: Path) -> None:
    with locked(tmp_path / "locks" / "l"):
        os.unlink(tmp_path / "locks" / "l")
        (tmp_path / "locks").rmdir()
    with locked(tmp_path / "locks" / "l") as held:
        assert held.is_ours()


def test_remove_tree_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file").touch()
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "file").touch()
    (top / "a" / "link").symlink_to(tmp_path / "shared")
    (top / "b").symlink_to(tmp_path / "shared", target_is_directory=True)
    os.mkfifo(top / "fifo")
    remove_tree(top, identity(top))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "shared"]


def test_remove_tree_refuses_what_prun_did_not_make(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    made = identity(tmp_path / "made")
    (tmp_path / "made").rename(tmp_path / "moved")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "file").touch()
    with pytest.raises(UnsafeRemoval, match="is not the folder prun made"):
        remove_tree(tmp_path / "made", made)
    (tmp_path / "link").symlink_to("moved")
    with pytest.raises(UnsafeRemoval, match="is not the folder prun made"):
        remove_tree(tmp_path / "link", made)
    assert sorted(os.listdir(tmp_path)) == ["link", "made", "moved"]
    assert os.listdir(tmp_path / "made") == ["file"]


def test_remove_tree_at_any_depth(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    remove_tree(top, identity(top))
    assert os.listdir(tmp_path) == []


def test_remove_tree_with_closed_folders(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in ("closed", "read-only"):
        (top / name / "inner").mkdir(parents=True)
        (top / name / "file").touch()
    (top / "closed").chmod(0)
    (top / "read-only" / "inner").chmod(0o555)
    (top / "read-only").chmod(0o555)
    top.chmod(0o500)
    remove_tree(top, identity(top))
    assert os.listdir(tmp_path) == []


def test_mounts_below_reads_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b"".join(
        b"1 2 0:3 / %s rw - tmpfs none rw\n" % place for place in (b"/", b"/w/a\\040b\\012c", b"/w/a", b"/wide", b"/w")
    )
    monkeypatch.setattr(Path, "read_bytes", lambda _: rows)
    assert mounts_below(Path("/w/a b\nc")) == ["/w/a b\nc"]
    assert mounts_below(Path("/w")) == ["/w/a b\nc", "/w/a", "/w"]
    assert mounts_below(Path("/elsewhere")) == []


def test_remove_tree_refuses_mounts_before_it_changes_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "file").touch()
    monkeypatch.setattr(files, "mounts_below", lambda _: ["/somewhere/inside"])
    with pytest.raises(UnsafeRemoval, match="something is mounted at /somewhere/inside"):
        remove_tree(tmp_path / "top", identity(tmp_path / "top"))
    assert os.listdir(tmp_path / "top") == ["file"]


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_remove_tree_refuses_a_real_mount(tmp_path: Path) -> None:
    inner = tmp_path / "top" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file").touch()
    if subprocess.run(["mount", "--bind", str(tmp_path / "shared"), str(inner)], capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(UnsafeRemoval, match="something is mounted at"):
            remove_tree(tmp_path / "top", identity(tmp_path / "top"))
    finally:
        subprocess.run(["umount", str(inner)], check=True)
    assert (tmp_path / "shared" / "file").exists()
