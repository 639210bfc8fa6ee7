"""A setting that hides the checkout from git: nothing is moved that would leave it behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.git.repo import NoRepository, find_repository, require_seen_checkout
from gitprun.model.errors import OperationRefused
from tests.support.inside import inside
from tests.support.repos import Repo, make_bare, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "a repo", f="1\n")
    made.switch("topic", new=True)
    made.commit("topic", w="w\n")
    made.switch("main")
    return made


def said(start: Path) -> tuple[str, str]:
    with pytest.raises(OperationRefused) as caught:
        require_seen_checkout(find_repository(start))
    return caught.value.message, caught.value.hint


def bare(repo: Repo) -> tuple[str, str]:
    file = repo.path / ".git" / "config"
    return (
        f"core.bare is true in {file}, but {repo.path} is a checkout: what moves here would leave it behind",
        f"git config --file '{file}' core.bare false",
    )


@pytest.mark.parametrize("value", ["true", "yes", "1", "ON"])
def test_bare_by_accident(repo: Repo, value: str) -> None:
    linked = repo.worktree(repo.path.parent / "linked", "side", new=True)
    repo.git("config", "core.bare", value)
    for start in (repo.path, repo.path / ".git", linked.path):
        assert said(start) == bare(repo)


def test_bare_in_the_settings_of_the_checkout_alone(repo: Repo) -> None:
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.bare", "true")
    assert said(repo.path)[1] == f"git config --file '{repo.path}/.git/config.worktree' core.bare false"


def test_bare_where_the_git_folder_lies_elsewhere(repo: Repo, tmp_path: Path) -> None:
    repo.git("init", "-q", f"--separate-git-dir={tmp_path / 'store'}")
    require_seen_checkout(find_repository(repo.path))
    repo.git("config", "core.bare", "true")
    assert said(repo.path)[0].endswith(f"but {repo.path} is a checkout: what moves here would leave it behind")
    # What is called a hub, with a file that leads there and no checkout of its own, is as it was meant.
    hub = make_bare(tmp_path / "hub" / ".bare", repo)
    (tmp_path / "hub" / ".git").write_text("gitdir: ./.bare\n")
    (tmp_path / "hub" / "f").write_text("1\n")
    assert find_repository(tmp_path / "hub").common == hub.path
    require_seen_checkout(find_repository(tmp_path / "hub"))


def test_bare_on_purpose(tmp_path: Path, repo: Repo) -> None:
    hub = make_bare(tmp_path / "hub.git", repo)
    inner = make_bare(tmp_path / "inner" / ".git", repo)
    (tmp_path / "inner" / "f").write_text("not a checkout: there is no index\n")
    linked = Repo(tmp_path / "inner" / "tree")
    inner.git("worktree", "add", "-q", str(linked.path), "topic")
    # Somebody made a bare one out of a clone, and its files are gone.
    repo.git("config", "core.bare", "true")
    (repo.path / "f").unlink()
    for start in (hub.path, inner.path, linked.path, repo.path / ".git"):
        require_seen_checkout(find_repository(start))


def test_a_work_tree_that_is_elsewhere(repo: Repo, tmp_path: Path) -> None:
    config = repo.path / ".git" / "config"
    hint = f"git config --file '{config}' --unset core.worktree, or name the right folder there"
    linked = repo.worktree(tmp_path / "linked", "side", new=True)
    repo.git("config", "core.worktree", "../gone")
    assert said(linked.path) == (f"core.worktree in {config} names ../gone, which is not there", hint)
    with pytest.raises(NoRepository) as caught:
        find_repository(repo.path)
    assert (caught.value.message, caught.value.hint) == (
        "core.worktree of this repository names '../gone', which is not there",
        f"git --git-dir='{repo.path}/.git' --work-tree=. config --unset core.worktree, or name the right folder there",
    )
    linked.git(f"--git-dir={repo.path}/.git", "--work-tree=.", "config", "--unset", "core.worktree")
    other = make_repo(tmp_path / "other")
    repo.git("config", "core.worktree", str(other.path))
    message = f"core.worktree in {config} names {other.path}, but the checkout is {repo.path}"
    for start in (repo.path, other.path.parent / "a repo" / ".git"):
        assert said(start) == (message, hint)


def test_a_work_tree_that_is_elsewhere_on_purpose(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "core.worktree", str(repo.path))
    require_seen_checkout(find_repository(repo.path))
    site = tmp_path / "site"
    site.mkdir()
    (repo.path / "f").rename(site / "f")
    repo.git("config", "core.worktree", str(site))
    require_seen_checkout(find_repository(repo.path))


def test_a_submodule_is_where_its_settings_say(repo: Repo, tmp_path: Path) -> None:
    outer = make_repo(tmp_path / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo.path), "sub")
    require_seen_checkout(find_repository(outer.path / "sub"))
    outer.git("config", "--file", ".git/modules/sub/config", "core.worktree", "../../../moved")
    with pytest.raises(NoRepository, match=r"core.worktree of this repository names '../../../moved'"):
        find_repository(outer.path / "sub")


@pytest.mark.parametrize(
    "words",
    [
        ("merge", "--no-verify", "topic"),
        ("merge", "--no-verify", "topic", "--into", "main"),
        ("merge", "--no-verify", "topic", "--dry-run"),
        ("forecast", "topic"),
        ("resolve", "topic", "--into", "main"),
        ("new", "place", "side"),
        ("run", "--unit", "id=u", "--prompt", "x", "--executor", "command", "--command", "true"),
    ],
)
def test_every_command_that_moves_refs_says_why(
    repo: Repo, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    repo.git("config", "core.bare", "true")
    before = repo.git("for-each-ref")
    message, hint = bare(repo)
    answer = inside(capsys, repo.path, *words)
    assert (answer.code, answer.out, answer.err) == (1, "", f"error: {message}\nhint: {hint}\n")
    assert repo.git("for-each-ref") == before
    repo.git("config", "core.bare", "false")
    assert repo.status() == []


def test_what_landed_is_not_taken_back_either(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert inside(capsys, repo.path, "merge", "--no-verify", "topic").code == 0
    assert inside(capsys, repo.path, "new", "place", "side").code == 0
    before = repo.git("for-each-ref")
    repo.git("config", "core.bare", "true")
    for words in (("undo",), ("exec", "place", "slug", "x", "--executor", "command", "--command", "true")):
        answer = inside(capsys, repo.path, *words)
        assert (answer.code, answer.err.splitlines()[0]) == (1, f"error: {bare(repo)[0]}")
    assert repo.git("for-each-ref") == before
