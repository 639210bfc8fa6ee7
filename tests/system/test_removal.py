"""Removal in two steps: renamed into a trash folder first, emptied after, and finished by whoever comes next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.system.btime import folder_birth
from gitprun.system.files import UnsafeRemoval, empty_trash, folder_identity, is_held, remove_tree


def identity(path: Path) -> tuple[int, int]:
    found = folder_identity(path)
    assert found is not None
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "file").write_text("x")
    (top / "a" / "1").mkdir()
    return top


def test_the_trash_is_told_before_anything_moves(tree: Path, tmp_path: Path) -> None:
    heard = []
    remove_tree(tree, identity(tree), noted=lambda place, found: heard.append((place, found, tree.is_dir())))
    [(trash, found, there)] = heard
    assert (trash.parent, trash.name[:12], there) == (tmp_path, ".prun-trash-", True)
    assert (found[0], list(tmp_path.iterdir())) == (os.stat(tmp_path).st_dev, [])


def test_the_trash_may_lie_elsewhere(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    heard: list[Path] = []
    remove_tree(tree, identity(tree), room=tmp_path / "room", noted=lambda place, _: heard.append(place))
    assert (heard[0].parent, list((tmp_path / "room").iterdir())) == (tmp_path / "room", [])


def test_who_listens_may_say_no(tree: Path, tmp_path: Path) -> None:
    def refuse(place: Path, found: tuple[int, int]) -> None:
        raise OSError("the ledger is full")

    with pytest.raises(OSError, match="the ledger is full"):
        remove_tree(tree, identity(tree), noted=refuse)
    assert (sorted(path.name for path in tmp_path.iterdir()), (tree / "a" / "b" / "file").read_text()) == (["top"], "x")


def test_what_takes_the_place_at_the_last_moment_is_put_back(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()

    def swap(place: Path, found: tuple[int, int]) -> None:
        tree.rename(tmp_path / "away")
        (tmp_path / "precious").rename(tree)

    with pytest.raises(UnsafeRemoval, match="is not the folder prun made"):
        remove_tree(tree, identity(tree), noted=swap)
    assert (os.listdir(tree), (tmp_path / "away" / "a" / "b" / "file").read_text()) == (["file"], "x")
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".prun-trash")]


def test_a_link_that_takes_the_place_at_the_last_moment(tree: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o750)
    (precious / "file").touch()

    def swap(place: Path, found: tuple[int, int]) -> None:
        tree.rename(tmp_path / "away")
        tree.symlink_to(precious)

    with pytest.raises((UnsafeRemoval, OSError)):
        remove_tree(tree, identity(tree), noted=swap)
    assert (os.listdir(precious), precious.stat().st_mode & 0o777, os.readlink(tree)) == (
        ["file"],
        0o750,
        str(precious),
    )


def half_removed(tmp_path: Path) -> Path:
    """Make what a killed removal leaves: some folders moved up, some not."""
    trash = tmp_path / ".prun-trash-0123456789ab"
    (trash / "0" / "inner" / "deeper").mkdir(parents=True)
    (trash / "7").mkdir()
    (trash / "7" / "file").touch()
    (trash / "0" / "2").mkdir()
    (trash / "0" / "2" / "other").touch()
    return trash


def test_a_rest_is_emptied(tmp_path: Path) -> None:
    trash = half_removed(tmp_path)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file").touch()
    (trash / "7" / "link").symlink_to(tmp_path / "shared")
    (trash / "link").symlink_to(tmp_path / "shared")
    assert empty_trash(trash, identity(trash))
    assert (os.listdir(tmp_path), os.listdir(tmp_path / "shared")) == (["shared"], ["file"])


def test_a_rest_that_is_gone_or_another_folder(tmp_path: Path) -> None:
    trash = half_removed(tmp_path)
    with pytest.raises(UnsafeRemoval, match="is not the folder prun made"):
        empty_trash(trash, (1, 2))
    before = identity(trash)
    trash.rename(tmp_path / "moved")
    assert not empty_trash(trash, before)
    trash.symlink_to(tmp_path / "moved")
    with pytest.raises(UnsafeRemoval, match="is no folder"):
        empty_trash(trash, before)
    assert (tmp_path / "moved" / "7" / "file").exists()


def test_nobody_empties_what_somebody_empties(tree: Path) -> None:
    asked = []

    def other(place: Path, found: tuple[int, int]) -> None:
        asked.append((is_held(place), empty_trash(place, found), place.is_dir()))

    remove_tree(tree, identity(tree), noted=other)
    assert asked == [(True, False, True)]


def _born(folder: Path) -> int:
    folder.mkdir()
    return folder_birth(folder) or 0


def test_the_birth_of_a_folder_stays_the_same(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    born = folder_birth(first)
    (first / "file").touch()
    os.utime(first, (1, 1))
    first.rename(tmp_path / "renamed")
    assert folder_birth(tmp_path / "renamed") == born
    if born is None:
        pytest.skip("this file system does not record when a folder was made")
    later = (_born(tmp_path / f"later{number}") for number in range(100_000))
    # The kernel's clock of files ticks a few hundred times a second.
    assert next(birth for birth in later if birth != born) > born
    (tmp_path / "link").symlink_to(tmp_path / "renamed")
    assert folder_birth(tmp_path / "link") not in (None, born)
    assert folder_birth(tmp_path / "none") is None
