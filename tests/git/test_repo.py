"""Finding the repository one was called in, whatever shape it has."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from gitprun.git.command import Git
from gitprun.git.repo import (
    NoCommit,
    NoRepository,
    Repository,
    find_repository,
    read_checkouts,
    read_config,
    resolve_commit,
)
from tests.support.repos import Repo, make_bare, make_repo


@pytest.mark.parametrize("name", ["plain", "with space", "quo'te\"s", "new\nline", "tr\n", "grün", "\U0001f40d", "-x"])
def test_every_kind_of_path(tmp_path: Path, name: str) -> None:
    repo = make_repo(tmp_path / name)
    (repo.path / "sub").mkdir()
    git_dir = repo.path / ".git"
    for start in (repo.path, repo.path / "sub"):
        assert find_repository(start) == Repository(repo.path, git_dir, git_dir)
    assert find_repository(git_dir) == Repository(None, git_dir, git_dir)
    bare = make_bare(tmp_path / f"{name}.git", repo)
    assert find_repository(bare.path) == Repository(None, bare.path, bare.path)


def test_a_linked_worktree(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    linked = repo.worktree(tmp_path / "linked", "wip", new=True)
    found = find_repository(linked.path)
    assert found == Repository(linked.path, repo.path / ".git" / "worktrees" / "linked", repo.path / ".git")
    assert (found.home, found.state) == (repo.path, repo.path / ".git" / "prun")


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "plain").mkdir()
    with pytest.raises(NoRepository) as caught:
        find_repository(tmp_path / "plain")
    assert caught.value.message == f"{tmp_path / 'plain'} is not in a git repository"


def test_what_git_says_in_several_lines_is_told_whole(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.frobnicate", "true")
    with pytest.raises(NoRepository) as caught:
        find_repository(repo.path)
    assert caught.value.message == "git cannot use this repository: unknown repository extension found: frobnicate"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_remedy_for_somebody_elses_repository_can_be_pasted(tmp_path: Path) -> None:
    other = make_repo(tmp_path / "some one's")
    for place in (other.path, other.path / ".git"):
        os.chown(place, 65534, 65534)
    with pytest.raises(NoRepository) as caught:
        find_repository(other.path)
    said = f"git refuses this repository: detected dubious ownership in repository at '{other.path}/.git'"
    assert caught.value.message.replace("/.git'", "'") == said.replace("/.git'", "'")
    words = shlex.split(caught.value.hint)
    assert (words[:-1], words[-1].removesuffix("/.git")) == (
        ["git", "config", "--global", "--add", "safe.directory"],
        str(other.path),
    )


def test_a_repository_git_does_not_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.git("config", "core.repositoryFormatVersion", "99")
    with pytest.raises(NoRepository, match="git cannot use this repository: Expected git repo version"):
        find_repository(repo.path)


def test_a_worktree_that_a_shared_setting_calls_bare(tmp_path: Path) -> None:
    seed = make_repo(tmp_path / "seed")
    hub = make_bare(tmp_path / "hub.git", seed)
    linked = hub.worktree(tmp_path / "wt-a", "wip", new=True)
    hub.git("config", "core.repositoryFormatVersion", "1")
    hub.git("config", "extensions.worktreeConfig", "true")
    with pytest.raises(NoRepository) as caught:
        find_repository(linked.path)
    assert caught.value.message == (
        f"{linked.path} is a linked worktree, but git calls it bare: the shared configuration says core.bare=true and"
        " extensions.worktreeConfig=true, and the worktree's own says nothing of core.bare"
    )
    linked.git("config", "--worktree", "core.bare", "false")
    assert find_repository(linked.path).top == linked.path


def test_resolve_commit(tmp_path: Path) -> None:
    up = make_repo(tmp_path / "up")
    up.git("tag", "-a", "v1", "-m", "one")
    up.git("clone", "-q", ".", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    repo.switch("feature/x", new=True)
    head = repo.commit("ahead")
    git = repo.repository.git
    assert resolve_commit(git, "HEAD") == head
    assert [resolve_commit(git, name) for name in ("origin/main", "v1", "HEAD^")] == [up.head] * 3
    for revision in ("nothing", "--help", "HEAD:a.txt", "-x", ""):
        with pytest.raises(NoCommit) as caught:
            resolve_commit(git, revision)
        assert caught.value.message == f"{revision!r} names no commit here"


def test_a_bare_hub_has_no_remote_branches(tmp_path: Path) -> None:
    hub = make_bare(tmp_path / "hub.git", make_repo(tmp_path / "up"))
    with pytest.raises(NoCommit) as caught:
        resolve_commit(hub.repository.git, "origin/main")
    assert caught.value.hint == "there is no remote-tracking branch of that name; the local branch is 'main'"


def test_no_commits_yet(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    repo.git("init", "-q")
    repo.write("a.txt", "1\n")
    with pytest.raises(NoCommit) as caught:
        resolve_commit(repo.repository.git, "HEAD")
    assert caught.value.message == "this repository has no commits yet"
    assert repo.git("for-each-ref") == ""


def test_read_checkouts(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.worktree(tmp_path / "a\nb", "wip", new=True)
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "gone"))
    repo.git("worktree", "add", "-q", "--detach", "--lock", "--reason", "usb disk", str(tmp_path / "locked"))
    os.rename(tmp_path / "gone", tmp_path / "moved")
    found = read_checkouts(repo.repository.git)
    assert [(row.path.name, row.branch, row.locked, row.prunable is not None) for row in found] == [
        ("repo", "refs/heads/main", None, False),
        ("a\nb", "refs/heads/wip", None, False),
        ("gone", None, None, True),
        ("locked", None, "usb disk", False),
    ]
    bare = make_bare(tmp_path / "hub.git", repo)
    assert [(row.bare, row.branch) for row in read_checkouts(bare.repository.git)] == [(True, None)]


def test_read_config(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.write(".git/config", '[core]\n\tbare\n[x "A.b"]\n\tkey = one\n\tKey = "two\\nlines"\n\tempty =\n')
    found = read_config(Git(cwd=repo.path))
    assert {key: found[key] for key in ("core.bare", "x.A.b.key", "x.A.b.empty")} == {
        "core.bare": "true",
        "x.A.b.key": "two\nlines",
        "x.A.b.empty": "",
    }
