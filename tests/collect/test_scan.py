"""A look over a workspace opens nothing and follows nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.collect import scan
from gitprun.collect.scan import Scan, ScanProblem, look, scan_workspace


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
    assert scan_workspace(top, frozenset({b".git", b"skipped"})) == Scan(
        repositories=(b"m", b"n"),
        specials=(b"a/pipe",),
        traps=(b"a/b/.gitattributes", b"n/.git/HEAD"),
        ignore_files=(b".gitignore", b"a/b/.gitignore"),
        entries=15,
    )


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    monkeypatch.setattr(scan, "MAX_DEPTH", 3)
    assert scan_workspace(tmp_path, frozenset()).entries == 3
    monkeypatch.setattr(scan, "MAX_DEPTH", 2)
    with pytest.raises(ScanProblem, match="folders are nested more than 2 deep"):
        scan_workspace(tmp_path, frozenset())
    monkeypatch.setattr(scan, "MAX_ENTRIES", 1)
    with pytest.raises(ScanProblem, match="more than 1 entries"):
        scan_workspace(tmp_path, frozenset())


def test_look(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("12345")
    (tmp_path / "link").symlink_to("/nowhere")
    os.chmod(tmp_path / "file", 0o640)
    assert look(tmp_path, "file") == (0o100640, 5, None)
    assert look(tmp_path, "link") == (0o120777, 8, "/nowhere")
    assert (look(tmp_path, "absent"), look(tmp_path, "file/below")) == (None, None)
