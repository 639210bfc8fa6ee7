"""Fifos, depths and other shapes that would make git wait or break."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitprun.capture.capture import CaptureProblem
from gitprun.git.command import Git
from gitprun.model.units import WorkspaceKind
from gitprun.system.files import remove_tree
from tests.support.cases import slow
from tests.support.repos import Repo, make_repo
from tests.support.workshop import Workshop, open_workshop


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a git that waits for a fifo fail the test at once."""
    run = Git.run

    def quick(self: Git, *args: str | bytes, timeout: float = 5.0, **more: object) -> object:
        return run(self, *args, timeout=min(timeout, 5.0), **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "run", quick)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", _dot_gitignore="*.o\n", _dot_gitattributes="*.x -text\n", a_dot_txt="1\n")


def fifo(shop: Workshop, name: str) -> None:
    target = shop.path / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    os.mkfifo(target)


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_fifos_that_git_would_read(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    for name in (".gitignore", ".gitattributes", ".gitmodules", "sub/.gitignore", "sub/.gitattributes"):
        fifo(shop, name)
    shop.work.write("sub/new.txt", "x\n")
    shop.work.write("made.o", "x\n")
    first = shop.capture()
    assert (first.changed, first.left_out) == (("sub/new.txt",), ())
    assert first.notes == tuple(
        f"{name} was no plain file and was removed, since git would wait for it"
        for name in (".gitattributes", ".gitignore", ".gitmodules", "sub/.gitattributes", "sub/.gitignore")
    )
    assert (shop.work.read(".gitignore"), shop.work.read(".gitattributes")) == ("*.o\n", "*.x -text\n")
    assert (shop.capture().tree, shop.capture().notes) == (first.tree, ())


def test_other_special_files_are_left_out(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    fifo(shop, "a.txt")
    fifo(shop, "sub/pipe")
    with socket.socket(socket.AF_UNIX) as listener, monkeypatch.context() as here:
        # The path of a socket must be short.
        here.chdir(shop.path)
        listener.bind("sock")
    shop.work.write("new.txt", "x\n")
    found = shop.capture()
    assert found.changed == ("new.txt",)
    assert [(row.path, row.reason) for row in found.left_out] == [
        (name, "a fifo, socket, device or unreadable folder") for name in ("a.txt", "sock", "sub/pipe")
    ]


@pytest.mark.parametrize("name", ["HEAD", "commondir", "refs/heads/main", "packed-refs"])
def test_fifos_in_a_repository_inside(repo: Repo, tmp_path: Path, name: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    make_repo(shop.path / "inner", x_dot_txt="x\n")
    fifo(shop, f"inner/.git/{name}")
    shop.work.write("a.txt", "2\n")
    found = shop.capture()
    assert found.changed == ("a.txt",)
    assert found.notes[0] == f"inner/.git/{name} was no plain file and was removed, since git would wait for it"


@pytest.mark.parametrize("pointer", ["file", "link"])
def test_a_pointer_to_a_repository_with_a_fifo(repo: Repo, tmp_path: Path, pointer: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    outside = tmp_path / "outside"
    outside.mkdir()
    os.mkfifo(outside / "HEAD")
    (shop.path / "inner").mkdir()
    if pointer == "file":
        shop.work.write("inner/.git", "gitdir: ../../../../outside\n")
    else:
        (shop.path / "inner" / ".git").symlink_to(outside)
    shop.work.write("a.txt", "2\n")
    assert shop.capture().changed == ("a.txt",)
    assert os.path.lexists(outside / "HEAD")


@pytest.mark.parametrize(
    "name", ["HEAD", "packed-refs", "refs/heads/x", "logs/HEAD", "config", "objects/info/alternates", "commondir",
             "objects/info/commit-graph", "objects/pack/x.idx"],
)  # fmt: skip
def test_fifos_in_the_clones_own_repository(repo: Repo, tmp_path: Path, name: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.commit("own", b_dot_txt="b\n")
    fifo(shop, f".git/{name}")
    shop.work.write("a.txt", "2\n")
    assert shop.capture().changed == ("a.txt", "b.txt")


@pytest.fixture
def shops(tmp_path: Path, repo: Repo) -> Iterator[Callable[[WorkspaceKind], Workshop]]:
    """Open workspaces that are removed by us: pytest cannot remove deep ones."""
    made: list[Workshop] = []

    def shop(kind: WorkspaceKind = "clone") -> Workshop:
        made.append(open_workshop(repo, tmp_path / "w", kind))
        return made[-1]

    yield shop
    for one in made:
        if one.path.exists():
            remove_tree(one.path, one.site.workspace.identity)


def nest(path: Path, depth: int) -> None:
    """Make folders in folders, deeper than a path may be long."""
    here = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("n", dir_fd=here)
        below = os.open("n", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


@pytest.mark.parametrize("kind", ["clone", *slow("worktree")])
def test_a_tree_deeper_than_a_path_may_be_long(shops: Callable[[WorkspaceKind], Workshop], kind: WorkspaceKind) -> None:
    shop = shops(kind)
    own = shop.work.commit("own", b_dot_txt="b\n")
    nest(shop.path, 5000)
    shop.work.write("n/n/n/file.txt", "x\n")
    shop.work.write("a.txt", "2\n")
    found = shop.finish()
    assert shop.files(found) == {"a.txt": "100644 2", "b.txt": "100644 b", "n/n/n/file.txt": "100644 x"}
    assert [(row.path, row.reason) for row in found.left_out] == [
        ("/".join(["n"] * 512) + "/", "folders nested more than 511 deep")
    ]
    assert set(shop.refs().values()) == {own}
    assert shop.remove(discard=True).removed
    assert not os.path.lexists(shop.path)


def test_a_path_too_long_for_git(shops: Callable[[WorkspaceKind], Workshop]) -> None:
    shop = shops("clone")
    here = os.open(shop.path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("l" * 250, dir_fd=here)
        below = os.open("l" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    shop.work.write("a.txt", "2\n")
    found = shop.capture()
    assert found.changed == ("a.txt",)
    assert [(set(row.path), row.reason) for row in found.left_out] == [({"l", "/"}, "its path is too long")]


def test_more_deep_folders_than_words_fit(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitprun.capture.tree_scan.MAX_DEPTH", 3)
    monkeypatch.setattr("gitprun.capture.stage.MOST_EXCLUDED", 2)
    shop = open_workshop(repo, tmp_path / "w")
    for name in ("x/1/2", "x/1/3", "y/1/2", "z/1"):
        shop.work.write(f"{name}/f", "f\n")
    found = shop.capture()
    assert found.changed == ("z/1/f",)
    assert [(row.path, row.reason) for row in found.left_out] == [
        ("x/", "3 folders git cannot follow"),
        ("y/", "3 folders git cannot follow"),
    ]


def test_another_folder_in_its_place(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.path.rename(tmp_path / "moved")
    shop.path.symlink_to(tmp_path / "moved")
    with pytest.raises(CaptureProblem, match="is not the folder prun made"):
        shop.capture()


def test_without_its_index(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    assert shop.site.workspace.index is not None
    shop.site.workspace.index.unlink()
    with pytest.raises(CaptureProblem, match="the index kept for r1/u is gone"):
        shop.capture()


def test_more_refusals_than_one_can_search(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".gitattributes", "*.utf working-tree-encoding=UTF-16\n")
    for number in range(40):
        shop.work.write(f"{number}.utf", b"\xff\xfe\x00")
    with pytest.raises(CaptureProblem, match=r"the work in .* could not be captured: git update-index failed"):
        shop.capture()


def test_unreadable_things_are_left_out(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("closed/x.txt", "x\n")
    shop.work.write("closed.txt", "x\n")
    shop.work.write("new.txt", "x\n")
    (shop.path / "closed").chmod(0)
    (shop.path / "closed.txt").chmod(0)
    if os.access(shop.path / "closed.txt", os.R_OK):
        pytest.skip("this user reads everything")
    found = shop.capture()
    assert (found.changed, [row.path for row in found.left_out]) == (("new.txt",), ["closed", "closed.txt"])


def test_five_gibibytes_of_nothing_are_not_read(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    for name in ("a.txt", "new.bin", "sub/.gitignore2"):
        shop.work.write(name, "")
        os.truncate(shop.path / name, 5 << 30)
    shop.work.write("small.txt", "x\n")
    found = shop.capture()
    assert found.changed == ("small.txt",)
    assert {(row.path, row.size) for row in found.left_out} == {
        (name, 5 << 30) for name in ("a.txt", "new.bin", "sub/.gitignore2")
    }
