"""A look over a workspace opens nothing and follows nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.capture import tree_scan
from gitprun.capture.tree_scan import ScanProblem, TreeScan, look, scan_workspace


def test_scan(tmp_path: Path) -> None:
    for folder in ("a/b", "skipped/inner", "outside", "n/.git", "m", "a/deep"):
        (tmp_path / "w" / folder).mkdir(parents=True)
    top = tmp_path / "w"
    (top / "outside").rename(tmp_path / "outside")
    (tmp_path / "outside" / ".gitignore").touch()
    for name in (".gitignore", "a/b/.gitignore", "a/file", "skipped/inner/.gitignore", "m/.git"):
        (top / name).touch()
    (top / "link").symlink_to(tmp_path / "outside")
    (top / "a" / ".gitattributes").symlink_to("file")
    for name in ("a/pipe", "a/b/.gitattributes", "skipped/pipe", "n/.git/HEAD"):
        os.mkfifo(top / name)
    assert scan_workspace(top, frozenset({b".git", b"skipped"})) == TreeScan(
        repositories=(b"m", b"n"),
        specials=(b"a/pipe",),
        traps=(b"a/b/.gitattributes", b"n/.git/HEAD"),
        ignore_files=(b".gitignore", b"a/b/.gitignore"),
        entries=15,
    )


def test_what_git_could_not_follow_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c" / "file").touch()
    monkeypatch.setattr(tree_scan, "MAX_DEPTH", 4)
    assert scan_workspace(tmp_path, frozenset()) == TreeScan(entries=4)
    monkeypatch.setattr(tree_scan, "MAX_DEPTH", 3)
    cut = ((b"a/b/c", "folders nested more than 2 deep"),)
    assert scan_workspace(tmp_path, frozenset()) == TreeScan(cut=cut, entries=3)
    monkeypatch.setattr(tree_scan, "MAX_PATH", len(str(tmp_path)) + 2)
    assert scan_workspace(tmp_path, frozenset()) == TreeScan(cut=((b"a/b", "its path is too long"),), entries=2)


def test_crowds_are_counted_from_the_innermost_folder_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/few", "a/many/1", "a/many/2", "a/many/3"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(tree_scan, "CROWDED", 2)
    assert scan_workspace(tmp_path, frozenset()).crowded == ((b"a/many", 3), (b"a", 5), (b"", 6))


def test_a_look_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_scan, "TIMEOUT", 0.0)
    with pytest.raises(ScanProblem, match=r"could not be looked over: it took too long"):
        scan_workspace(tmp_path, frozenset())


def test_look(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("12345")
    (tmp_path / "link").symlink_to("/nowhere")
    os.chmod(tmp_path / "file", 0o640)
    assert look(tmp_path, "file") == (0o100640, 5, None)
    assert look(tmp_path, "link") == (0o120777, 8, "/nowhere")
    assert (look(tmp_path, "absent"), look(tmp_path, "file/below")) == (None, None)
