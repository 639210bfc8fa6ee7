"""Where workspaces go, what prun puts into them, and the scratch folders of units that only read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.model.errors import GitFailed, GitTimeout
from gitprun.workspaces.base import WorkspaceProblem, explain_checkout, make_outbox, provide
from gitprun.workspaces.root import choose_root
from gitprun.workspaces.scratch import make_scratch


def test_choose_root(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    home = tmp_path / "repo"
    assert choose_root(None, home, cache) == tmp_path / "repo.prun"
    assert choose_root(None, tmp_path / "hub.git", cache) == tmp_path / "hub.prun"
    assert choose_root(None, tmp_path / ".git", cache) == tmp_path / "repository.prun"
    assert choose_root("../other", home, cache) == tmp_path / "other"
    assert choose_root("/elsewhere", home, cache) == Path("/elsewhere")
    (tmp_path / "repo.prun").touch()
    assert choose_root(None, home, cache) == cache / "git-prun" / "-".join(home.parts[1:])


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "top" / "venv" / "lib").mkdir(parents=True)
    (tmp_path / "top" / "venv" / "lib" / "x.py").write_text("x\n")
    (tmp_path / "top" / "venv" / "link").symlink_to("lib")
    (tmp_path / "top" / ".env").write_text("KEY=1\n")
    (tmp_path / "top" / "venv-link").symlink_to("venv")
    (tmp_path / "workspace").mkdir()
    return tmp_path / "top"


def test_provide(top: Path, tmp_path: Path) -> None:
    path = tmp_path / "workspace"
    provided, notes = provide(top, path, ("venv", ".env", "conf/absent"), ("venv-link", "venv/lib/x.py"))
    assert provided == ["venv", ".env", "venv-link"]
    assert notes == [
        "conf/absent is configured to be copied but is not in your checkout",
        "venv/lib/x.py is tracked, so the workspace has its own: neither copied nor linked",
    ]
    assert (os.readlink(path / "venv-link"), os.readlink(path / "venv" / "link")) == (str(top / "venv-link"), "lib")
    (path / "venv" / "lib" / "x.py").write_text("changed\n")
    assert (top / "venv" / "lib" / "x.py").read_text() == "x\n"


def test_provide_copies_what_a_link_means(top: Path, tmp_path: Path) -> None:
    assert provide(top, tmp_path / "workspace", ("venv-link",), ()) == (["venv-link"], [])
    assert not (tmp_path / "workspace" / "venv-link").is_symlink()
    assert (tmp_path / "workspace" / "venv-link" / "lib" / "x.py").read_text() == "x\n"


def test_provide_makes_the_folders_above(top: Path, tmp_path: Path) -> None:
    assert provide(top, tmp_path / "workspace", (), ("venv/lib/x.py",)) == (["venv/lib/x.py"], [])
    assert os.readlink(tmp_path / "workspace" / "venv" / "lib" / "x.py") == str(top / "venv" / "lib" / "x.py")


def test_provide_stays_in_the_workspace(top: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "workspace" / "venv").symlink_to(tmp_path / "outside")
    provided, notes = provide(top, tmp_path / "workspace", ("venv/lib",), ())
    assert (provided, os.listdir(tmp_path / "outside")) == ([], [])
    assert notes == ["venv/lib lies behind a link of the workspace: neither copied nor linked"]


@pytest.mark.parametrize("name", ["pipe", "venv"])
def test_provide_says_what_cannot_be_copied(top: Path, tmp_path: Path, name: str) -> None:
    os.mkfifo(top / "pipe")
    os.mkfifo(top / "venv" / "pipe")
    with pytest.raises(WorkspaceProblem, match=f"{name} (in your checkout is no plain file|could not be copied)"):
        provide(top, tmp_path / "workspace", (name,), ())


def test_provide_without_a_checkout(tmp_path: Path) -> None:
    assert provide(None, tmp_path, (".env",), ()) == (
        [],
        [".env is configured to be copied but is not in your checkout"],
    )


def test_make_outbox(tmp_path: Path) -> None:
    make_outbox(tmp_path)
    assert (tmp_path / ".prun" / ".gitignore").read_text() == "*\n"
    with pytest.raises(WorkspaceProblem, match=r"the base holds a path \.prun"):
        make_outbox(tmp_path)


@pytest.mark.parametrize(
    ("stderr", "message", "hint"),
    [
        (
            "lfs: not found\nerror: external filter 'lfs smudge' failed 127\nfatal: a: smudge filter lfs failed\n",
            "the checkout needs a filter program that does not work: external filter 'lfs smudge' failed 127",
            "install it (lfs: not found)",
        ),
        (
            "error: unable to write file a\nfatal: No space left on device\n",
            "the checkout in /w failed: error: unable to write file a",
            "free some space, then run again",
        ),
        ("fatal: something\n", "the checkout in /w failed: fatal: something", ""),
        ("", "the checkout in /w failed: git reset failed: exit code 1", ""),
    ],
)
def test_explain_checkout(stderr: str, message: str, hint: str) -> None:
    problem = explain_checkout(GitFailed(("reset",), 1, stderr), Path("/w"))
    assert (problem.message, problem.hint) == (message, hint)


def test_explain_a_checkout_without_end() -> None:
    problem = explain_checkout(GitTimeout(("reset",), 600.0), Path("/w"))
    assert problem.message == "the checkout in /w did not end: git reset did not finish within 600 s"


def test_scratch(tmp_path: Path) -> None:
    workspace = make_scratch(tmp_path / "r1" / "u")
    assert (workspace.kind, workspace.branch, os.listdir(workspace.path)) == (None, None, [])
    with pytest.raises(WorkspaceProblem, match="is already there"):
        make_scratch(tmp_path / "r1" / "u")
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceProblem, match="cannot be used: "):
        make_scratch(tmp_path / "file" / "r1" / "u")
