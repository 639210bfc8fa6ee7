"""Every kind of change to a file arrives as git itself would have recorded it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.model.units import WorkspaceKind
from tests.support.repos import Repo, make_repo
from tests.support.workshop import Workshop, open_workshop


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="a\n", d__x="1\n", d__y="2\n")


def git_add_all(shop: Workshop) -> str:
    """Give the tree the worker's own git would make of everything, leaving its index as it was."""
    index = shop.path.parent / "test-index"
    env = {"GIT_INDEX_FILE": str(index)}
    shop.work.git("read-tree", "HEAD", env=env)
    shop.work.git("add", "-A", env=env)
    tree = shop.work.git("write-tree", env=env)
    index.unlink()
    return tree


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_binary_mode_link_rename_line_ends(tmp_path: Path, kind: WorkspaceKind) -> None:
    repo = make_repo(tmp_path / "repo", i_dot_png=b"\x89PNG\0\1\2", run_dot_sh="#!/bin/sh\n", w_dot_txt="a\r\nb\r\n",
                     old_dot_txt="1\n2\n3\n4\n", nonl_dot_txt="x", gone_dot_txt="", same="s\n")  # fmt: skip
    shop = open_workshop(repo, tmp_path / "w", kind)
    path = shop.path
    shop.work.write("i.png", b"\x89PNG\0\3\4\5")
    (path / "run.sh").chmod(0o755)
    (path / "go").symlink_to("run.sh")
    (path / "old.txt").rename(path / "moved.txt")
    shop.work.write("w.txt", b"a\r\nB\r\n")
    shop.work.write("nonl.txt", "y")
    shop.work.write("empty", "")
    (path / "gone.txt").unlink()
    found = shop.capture()
    assert found.tree == git_add_all(shop)
    assert shop.files(found) == {
        "empty": "100644 ",
        "go": "120000 run.sh",
        "gone.txt": "-",
        "i.png": "100644 \udc89PNG\0\3\4\5",
        "moved.txt": "100644 1\n2\n3\n4",
        "nonl.txt": "100644 y",
        "old.txt": "-",
        "run.sh": "100755 #!/bin/sh",
        "w.txt": "100644 a\r\nB\r",
    }
    assert found.left_out == ()


def test_tracked_though_ignored_and_type_changes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", _dot_gitignore="dist/\n", conf="c\n", data_dot_txt="d\n", real_dot_txt="r\n")
    repo.write("dist/keep.js", "1\n")
    repo.git("add", "-f", "dist/keep.js")
    repo.commit("keep")
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("dist/keep.js", "2\n")
    shop.work.write("dist/junk.js", "j\n")
    (shop.path / "conf").unlink()
    shop.work.write("conf/a", "a\n")
    (shop.path / "data.txt").unlink()
    (shop.path / "data.txt").symlink_to("real.txt")
    found = shop.capture()
    assert shop.files(found) == {
        "conf": "-",
        "conf/a": "100644 a",
        "data.txt": "120000 real.txt",
        "dist/keep.js": "100644 2",
    }
    assert found.tree == git_add_all(shop)


def test_folder_turned_file_and_back(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    for name in ("x", "y"):
        (shop.path / "d" / name).unlink()
    (shop.path / "d").rmdir()
    shop.work.write("d", "a file\n")
    assert shop.files(shop.capture()) == {"d": "100644 a file", "d/x": "-", "d/y": "-"}
    (shop.path / "d").unlink()
    shop.work.write("d/x", "1\n")
    assert shop.files(shop.capture()) == {"d/y": "-"}


@pytest.mark.parametrize("inside", [False, True])
def test_file_turned_folder_without_work_in_it(repo: Repo, tmp_path: Path, inside: bool) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    (shop.path / "a.txt").unlink()
    (shop.path / "a.txt").mkdir()
    if inside:
        shop.work.write("a.txt/key.pem", "k\n")
    assert shop.files(shop.capture()) == {"a.txt": "-"}


def test_folder_turned_link_inside(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    (shop.path / "d").rename(shop.path / "e")
    (shop.path / "d").symlink_to("e")
    expected = {"d": "120000 e", "d/x": "-", "d/y": "-", "e/x": "100644 1", "e/y": "100644 2"}
    assert shop.files(shop.capture()) == expected


def test_folder_turned_link_outside_keeps_the_base(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "x").write_text("private\n")
    shop = open_workshop(repo, tmp_path / "w")
    for name in ("x", "y"):
        (shop.path / "d" / name).unlink()
    (shop.path / "d").rmdir()
    (shop.path / "d").symlink_to(tmp_path / "private")
    shop.work.write("a.txt", "2\n")
    found = shop.capture()
    assert shop.files(found) == {"a.txt": "100644 2"}
    assert [(row.path, row.reason) for row in found.left_out] == [
        ("d", f"a link that leaves the workspace (to {tmp_path / 'private'})")
    ]


def test_file_turned_link(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    (shop.path / "a.txt").unlink()
    (shop.path / "a.txt").symlink_to("/etc/passwd")
    (shop.path / "d" / "x").unlink()
    (shop.path / "d" / "x").symlink_to("y")
    found = shop.capture()
    assert shop.files(found) == {"d/x": "120000 y"}
    assert [row.path for row in found.left_out] == ["a.txt"]


STRANGE = [
    b"sp ace", b"new\nline", b"ta\tb", b'quo"te', b"back\\slash", b"-rf", b" lead", b"trail ", b"emoji\xf0\x9f\x90\x8d",
    b"caf\xc3\xa9", b"latin\xe9", b"*", b"[x]", b":!x", b"#hash", b"a:b", b"!bang", b"u\xe2\x80\xa8sep", b"n\xc2\x85el",
]  # fmt: skip


def test_strange_names(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", **{"old name_dot_txt": "1\n2\n3\n4\n"})
    shop = open_workshop(repo, tmp_path / "w")
    top = os.fsencode(shop.path)
    os.rename(os.path.join(top, b"old name.txt"), os.path.join(top, b"new -> name.txt"))
    for name in STRANGE:
        with open(os.path.join(top, name), "wb") as file:
            file.write(name)
    found = shop.capture()
    expected = {os.fsdecode(name) for name in STRANGE} | {"new -> name.txt", "old name.txt"}
    assert set(found.changed) == expected
    assert found.left_out == ()
    assert shop.files(found)["latin\udce9"] == "100644 latin\udce9"
    assert found.tree == git_add_all(shop)
    for name in STRANGE:
        with open(os.path.join(top, name), "ab") as file:
            file.write(b"!")
    os.unlink(os.path.join(top, b"latin\xe9"))
    again = shop.capture()
    assert set(again.changed) == expected - {"latin\udce9"}
    assert again.tree == git_add_all(shop)


def test_an_edit_of_the_same_size_in_the_same_moment(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    target = shop.path / "a.txt"
    before = os.stat(target)
    target.write_text("b\n")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert shop.files(shop.capture()) == {"a.txt": "100644 b"}
    target.write_text("c\n")
    assert shop.files(shop.capture()) == {"a.txt": "100644 c"}


def test_capturing_twice_gives_the_same(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("a.txt", "2\n")
    shop.work.write("n/new.txt", "n\n")
    shop.work.write("key.pem", "secret\n")
    (shop.path / "d" / "x").unlink()
    first = shop.capture()
    assert shop.capture() == first
    assert first.changed == ("a.txt", "d/x", "n/new.txt")


def test_a_change_taken_back_is_taken_back(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("a.txt", "2\n")
    shop.work.write("new.txt", "n\n")
    shop.capture()
    shop.work.write("a.txt", "a\n")
    (shop.path / "new.txt").unlink()
    assert shop.capture().tree == repo.oid("HEAD^{tree}")


def test_many_files(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    for number in range(50):
        os.mkdir(f"{shop.path}/many{number}")
        for inner in range(100):
            os.close(os.open(f"{shop.path}/many{number}/{inner}.txt", os.O_CREAT | os.O_WRONLY))
    found = shop.capture()
    assert (len(found.changed), found.left_out) == (5000, ())


def test_deep_but_bearable(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    name = "/".join(["n"] * 200) + "/deep.txt"
    shop.work.write(name, "deep\n")
    assert shop.capture().changed == (name,)
