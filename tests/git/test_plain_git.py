"""What tests write quickly is bit for bit what git writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.git.repo import Repository, find_repository
from tests.support.plain_git import WHO, commit_plainly, find_plainly, init_plainly
from tests.support.repos import Repo, make_repo


def work(repo: Repo, commit: Callable[[str], object]) -> None:
    """Commit every kind of change that is plain."""
    repo.write("a.txt", "1\n")
    repo.write("src/deep/b.py", b"\0\r\n")
    repo.write("run.sh", "true\n", executable=True)
    os.symlink("a.txt", repo.path / "link")
    os.symlink("src", repo.path / "folder")
    os.mkdir(repo.path / "empty")
    commit("base")
    commit("nothing")
    repo.write("a.txt", "2\n")
    (repo.path / "src" / "deep" / "b.py").unlink()
    (repo.path / "src" / "deep").rmdir()
    repo.write("src/deep", "now a file\n")
    (repo.path / "link").unlink()
    repo.write("link/inside", "now a folder\n")
    (repo.path / "run.sh").chmod(0o644)
    repo.write("größe", "ä\n")
    commit("all at once: über\ntwo lines\n\nand a body\nwith two")
    repo.switch("deep/topic", new=True)
    repo.git("rm", "-rq", "--cached", "src")
    repo.git("pack-refs", "--all")
    commit("on another branch")


def git_folder(repo: Repo) -> dict[str, object]:
    """Read a git folder by name, mode and content; of the index, which tells when and where, what it names."""
    places = sorted(place for place in (repo.path / ".git").rglob("*") if place.suffix != ".sample")
    found: dict[str, object] = {
        str(place.relative_to(repo.path)): (
            oct(stat.S_IMODE(place.stat().st_mode)),
            place.read_bytes() if place.is_file() and place.name != "index" else b"",
        )
        for place in places
    }
    found["staged"] = repo.git("ls-files", "--stage", "-v")
    # Plumbing believes the index: nothing that is there may have to be looked at again.
    found["differs"] = repo.git("diff-files"), repo.git("diff-index", "HEAD"), repo.status()
    return found


def test_git_writes_the_same(tmp_path: Path) -> None:
    ours, theirs = Repo(tmp_path / "ours"), Repo(tmp_path / "theirs")
    for repo in (ours, theirs):
        repo.path.mkdir()
    assert init_plainly(ours.path)
    theirs.git("init", "-q", "-b", "main")
    assert git_folder_before(ours) == git_folder_before(theirs)

    def plainly(message: str) -> None:
        assert commit_plainly(ours.path, message) == ours.git("rev-parse", "HEAD")

    def with_git(message: str) -> None:
        theirs.git("add", "-A")
        theirs.git("commit", "-q", "--allow-empty", "-m", message)

    work(ours, plainly)
    work(theirs, with_git)
    assert git_folder(ours) == git_folder(theirs)
    assert ours.git("fsck", "--strict") == ""
    assert ours.files("main") == {
        "a.txt": "2",
        "folder": "src",
        "größe": "ä",
        "link/inside": "now a folder",
        "run.sh": "true",
        "src/deep": "now a file",
    }
    for revision in ("HEAD", "main~1", "main^{tree}", ":run.sh", "HEAD:link", "@{-1}", "main@{1}", "deep/topic"):
        assert ours.oid(revision) == ours.git("rev-parse", "--verify", revision)


def git_folder_before(repo: Repo) -> list[tuple[str, int, bytes]]:
    """Read a git folder without commits, and without the examples of hooks."""
    found = sorted(place for place in (repo.path / ".git").rglob("*") if place.suffix != ".sample")
    return [(str(p.relative_to(repo.path)), p.stat().st_mode, p.read_bytes() if p.is_file() else b"") for p in found]


def hook(repo: Repo) -> None:
    repo.hook("pre-commit", "true")


def merging(repo: Repo) -> None:
    repo.write(".git/MERGE_HEAD", f"{repo.head}\n")


@pytest.mark.parametrize(
    "change",
    [
        hook,
        merging,
        lambda repo: repo.git("config", "core.autocrlf", "input"),
        lambda repo: repo.write("sub/.gitattributes", "* text\n"),
        lambda repo: repo.write(".gitignore", "*.log\n"),
        lambda repo: repo.write(".git/info/exclude", "*.log\n"),
        lambda repo: repo.write(".git/info/attributes", "* text\n"),
        lambda repo: repo.git("init", "-q", "inner"),
        lambda repo: repo.git("checkout", "-q", "--detach"),
        lambda repo: os.mkfifo(repo.path / "fifo"),
    ],
)
def test_what_is_not_plain_is_left_to_git(change: Callable[[Repo], object], tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    change(repo)
    before = (tmp_path / ".git" / "index").read_bytes()
    assert commit_plainly(tmp_path, "more") is None
    assert (tmp_path / ".git" / "index").read_bytes() == before


def test_it_is_found_where_git_finds_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    found = find_plainly(repo.path)
    assert found == find_repository(repo.path)
    assert found == Repository(repo.path, repo.path / ".git", repo.path / ".git")


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("config", "core.bare", "true"), "."),
        (("config", "core.worktree", ".."), "."),
        (("config", "core.sharedRepository", "group"), "."),
        (("init", "-q", "--separate-git-dir=../apart"), "."),
        (("worktree", "add", "-q", "../linked"), "../linked"),
        (("init", "-q", "inner"), "no"),
        (("init", "-q", "--bare", "../bare"), "../bare"),
    ],
)
def test_another_is_left_to_git(words: tuple[str, ...], where: str, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.git(*words)
    assert find_plainly(Path(os.path.normpath(repo.path / where))) is None


def test_so_is_one_behind_a_link(tmp_path: Path) -> None:
    make_repo(tmp_path / "repo")
    (tmp_path / "way").symlink_to("repo")
    assert find_plainly(tmp_path / "way") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_AUTHOR_DATE", "yesterday"),
        ("GIT_COMMITTER_NAME", "Ada <a>"),
        ("GIT_CONFIG_GLOBAL", "other"),
        ("GIT_INDEX_FILE", "other"),
        ("GIT_AUTHOR_EMAIL", None),
    ],
)
def test_so_is_what_the_environment_says(
    name: str, value: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repo(tmp_path)
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    assert commit_plainly(tmp_path, "more") is None
    assert (find_plainly(tmp_path) is None) == (name not in WHO or value is None)


@pytest.mark.parametrize("message", ["", " led", "trailed ", "# a comment", "a\n\n\nb", "a\n", "a\n#b"])
def test_so_is_a_message_that_git_would_tidy(message: str, tmp_path: Path) -> None:
    make_repo(tmp_path)
    assert commit_plainly(tmp_path, message) is None
