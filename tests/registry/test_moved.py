"""A repository, or what lies beside it, that was moved: workspaces are known by what they are, not where they were."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, sh, unit_of

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with units in a clone and in a worktree, and workspaces of the user's own."""
    repo = make_repo(tmp_path / "old" / "repo", a_dot_txt="1\n")
    run_units(
        repo,
        sh("one", f"echo 2 >a.txt; {RESULT}"),
        sh("two", f"echo 3 >b.txt; {RESULT}", workspace="worktree"),
    )
    return repo


def moved(repo: Repo, tmp_path: Path, what: str) -> Repo:
    if what == "all":
        os.rename(tmp_path / "old", tmp_path / "new")
        return Repo(tmp_path / "new" / "repo")
    if what == "repository":
        (tmp_path / "new").mkdir()
        os.rename(repo.path, tmp_path / "new" / "repo")
        return Repo(tmp_path / "new" / "repo")
    os.rename(tmp_path / "old" / "repo", tmp_path / "old" / "other")
    os.rename(tmp_path / "old" / "repo.prun", tmp_path / "old" / "other.prun")
    return Repo(tmp_path / "old" / "other")


@pytest.mark.parametrize("what", ["all", "repository", "renamed"])
def test_work_in_them_is_kept_and_they_go(
    repo: Repo, tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [Path(str(unit_of(repo, name).as_json()["path"])) for name in ("one", "two")]
    later = moved(repo, tmp_path, what)
    there = [next(tmp_path.glob(f"*/*.prun/r1/{path.name}")) for path in places]
    for path in there:
        (path / "later.txt").write_text("later\n")
        (path / ".env").write_text("left out\n")
    (there[0] / ".env").unlink()
    (there[1] / ".env").unlink()
    said = inside(capsys, later.path, "clean")
    assert (said.code, [path.exists() for path in there]) == (0, [False, False]), said.err
    for path in there:
        assert f"removed {path}\n" in said.err
    for name in ("one", "two"):
        assert later.files(f"refs/prun/kept/r1/{name}/left-in-workspace")["later.txt"] == "later"
    assert later.git("worktree", "list", "--porcelain").count("worktree ") == 1


def test_a_named_workspace_goes_on_where_it_is_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = make_repo(tmp_path / "old" / "repo", a_dot_txt="1\n")
    for name, kind in (("c", ["--clone"]), ("w", [])):
        assert inside(capsys, repo.path, "new", name, f"topic-{name}", *kind).code == 0
    later = moved(repo, tmp_path, "all")
    listed = inside(capsys, later.path, "workspace", "list")
    paths = [tmp_path / "new" / "repo.prun" / "named" / name for name in ("c", "w")]
    assert [f"the workspace of {path.name} was moved; it is {path} now" for path in paths] == listed.err.splitlines()
    assert all(str(path) in listed.out for path in paths)
    for path in paths:
        assert Repo(path).git("status", "--porcelain") == ""
        assert Repo(path).git("log", "-1", "--format=%s") == "base"
    assert inside(capsys, later.path, "workspace", "list").err == ""


def test_nothing_is_called_removed_that_is_still_there(
    repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(str(unit_of(repo, "one").as_json()["path"]))
    os.rename(path, tmp_path / "mine")
    said = inside(capsys, repo.path, "remove", "one")
    assert (said.code, said.err.splitlines()[0], (tmp_path / "mine").is_dir()) == (
        0,
        f"r1/one is forgotten: {path} was not there; if you moved it, it is yours now",
        True,
    )
    shutil.rmtree(Path(str(unit_of(repo, "two").as_json()["path"])))
    said = inside(capsys, repo.path, "clean")
    assert not [row for row in said.err.splitlines() if row.startswith("removed")]


def test_a_copy_is_not_the_workspace(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(str(unit_of(repo, "one").as_json()["path"]))
    shutil.copytree(path, tmp_path / "old" / "repo.prun" / "r1" / "copy")
    shutil.rmtree(path)
    assert inside(capsys, repo.path, "remove", "one").code == 0
    assert (tmp_path / "old" / "repo.prun" / "r1" / "copy" / "a.txt").read_text() == "2\n"


def test_what_a_worker_put_in_the_way_is_not_written_through(
    repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(str(unit_of(repo, "one").as_json()["path"]))
    (tmp_path / "outside").mkdir()
    shutil.copy(path / ".git" / "objects" / "info" / "alternates", tmp_path / "outside" / "alternates")
    before = (tmp_path / "outside" / "alternates").read_bytes()
    shutil.rmtree(path / ".git" / "objects" / "info")
    (path / ".git" / "objects" / "info").symlink_to(tmp_path / "outside")
    later = moved(repo, tmp_path, "repository")
    inside(capsys, later.path, "workspace", "list")
    assert (tmp_path / "outside" / "alternates").read_bytes() == before
