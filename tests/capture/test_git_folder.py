"""The capture has a git folder of its own: what a worker says to git does not count, nothing is written early."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.capture.capture import CaptureProblem, capture
from gitprun.capture.import_objects import Imported, ImportRequest, Rejected
from gitprun.git.repo import Repository
from gitprun.model.units import WorkspaceKind
from gitprun.workspaces.gitdir import NAME, ensure_own_git, read_snapshot, renew_own_git
from tests.support.repos import Repo, make_repo
from tests.support.workshop import RUN, Workshop, fingerprint, open_workshop


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n", b_dot_txt="1\n")


def objects(repo: Repo) -> dict[str, str]:
    """Take down all objects of a repository, bit for bit."""
    return fingerprint(repo.path / ".git" / "objects")


def test_what_it_holds(repo: Repo, tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sealed / "ignore").write_text("*.log\n")
    (sealed / "gitconfig").write_text(
        f"[core]\n\texcludesFile = {sealed}/ignore\n\tpager = evil\n\tautocrlf = input\n"
        '[filter "up"]\n\tclean = "tr a-z A-Z"\n\trequired = true\n[alias]\n\tst = !evil\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(sealed / "gitconfig"))
    repo.git("config", "core.fsmonitor", "evil")
    repo.git("config", "core.hooksPath", ".husky")
    repo.write(".git/info/attributes", "*.x -text\n")
    shop = open_workshop(repo, tmp_path / "w")
    own = shop.site.own
    assert own == repo.path / ".git" / "prun" / "runs" / RUN / "u" / NAME
    assert sorted(str(path.relative_to(own)) for path in own.rglob("*") if path.is_file()) == [
        "HEAD", "config", "ignore", "info/attributes", "info/exclude", "objects/info/alternates", "snapshot.json",
    ]  # fmt: skip
    assert (own / "HEAD").read_text() == f"{repo.head}\n"
    assert (own / "objects/info/alternates").read_text() == f"{repo.path}/.git/objects\n"
    assert ((own / "ignore").read_text(), (own / "info/attributes").read_text()) == ("*.log\n", "*.x -text\n")
    said = repo.git("config", "--file", str(own / "config"), "--list")
    assert sorted(said.splitlines()) == sorted(
        [
            "core.autocrlf=input", f"core.attributesfile={own}/attributes", "core.bare=true",
            f"core.excludesfile={own}/ignore", "core.filemode=true", "core.repositoryformatversion=0", "gc.auto=0",
            "maintenance.auto=false",
        ]
    )  # fmt: skip
    snapshot = read_snapshot(own)
    assert snapshot.filters == {"up": {"clean": "tr a-z A-Z", "required": "true"}}
    assert (snapshot.hooks, snapshot.partial) == (".husky", False)


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_what_was_set_later_changes_nothing(
    repo: Repo, tmp_path: Path, kind: WorkspaceKind, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    canary = tmp_path / "canary"
    (sealed / "gitconfig").write_text(f'[filter "x"]\n\tclean = "touch {canary}; cat"\n[core]\n\tautocrlf = input\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(sealed / "gitconfig"))
    for key, value in {
        "filter.y.clean": f"touch {canary}; cat",
        "filter.y.required": "true",
        "core.autocrlf": "input",
        "core.fileMode": "false",
        "core.excludesFile": str(tmp_path / "hide"),
        "core.attributesFile": str(tmp_path / "attributes"),
        "core.fsmonitor": f"touch {canary}",
        "core.bare": "true",
        "core.worktree": "/nowhere",
        "core.sparseCheckout": "true",
        "core.ignoreCase": "true",
    }.items():
        repo.git("config", "--file", ".git/config", key, value)
    (tmp_path / "hide").write_text("*\n")
    (tmp_path / "attributes").write_text("* filter=y\n")
    for name, text in {
        "info/exclude": "*\n",
        "info/attributes": "* filter=y\n",
        "info/sparse-checkout": "/x\n",
    }.items():
        repo.write(f".git/{name}", text)
    shop.work.write("a.txt", "1\r\n")
    (shop.path / "b.txt").chmod(0o755)
    shop.work.write("new.txt", "n\n")
    found = capture(shop.site, RUN, shop.unit)
    assert shop_files(shop, found.tree) == {"a.txt": "100644 1\r", "b.txt": "100755 1", "new.txt": "100644 n"}
    assert not canary.exists()


def shop_files(shop: Workshop, tree: str) -> dict[str, str]:
    """Read a captured tree with nothing of the altered settings."""
    found = {}
    plain = {"GIT_DIR": str(shop.site.own), "GIT_CONFIG_GLOBAL": "/dev/null"}
    elsewhere = Repo(shop.path.parent)
    for row in elsewhere.git("ls-tree", "-r", "-z", tree, env=plain).split("\0")[:-1]:
        head, _, name = row.partition("\t")
        mode, _, oid = head.split(" ")
        found[name] = f"{mode} {elsewhere.git('cat-file', '-p', oid, env=plain)}"
    return found


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_nothing_is_written_to_the_users_objects_before_it_crossed(
    repo: Repo, tmp_path: Path, kind: WorkspaceKind
) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    before = objects(repo)
    shop.work.write("a.txt", "2\n")
    found = shop.capture()
    assert objects(repo) == before
    commit = shop.commit(found)
    assert objects(repo) != before
    assert repo.files(commit) == {"a.txt": "2", "b.txt": "1"}
    repo.git("fsck", "--strict")


def test_a_capture_that_may_not_cross_is_kept_and_named(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("a.txt", "2\n")
    found, before = shop.capture(), objects(repo)

    def refuse(_: Repository, request: ImportRequest) -> Imported:
        return Imported({}, (Rejected("capture", request.tips["capture"], "a.txt: a name git refuses", "/q/1"),))

    monkeypatch.setattr("gitprun.capture.capture.import_objects", refuse)
    with pytest.raises(CaptureProblem) as caught:
        shop.commit(found)
    assert caught.value.message == (
        "the work of r1/u was captured, but is not fit for your repository: a.txt: a name git refuses"
    )
    assert caught.value.hint == f"it is kept in /q/1, and lies untouched in {shop.path}"
    assert objects(repo) == before
    assert repo.git("for-each-ref", "refs/prun/r1") == ""


def test_one_of_an_older_prun_gets_its_folder_when_it_is_captured(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    own = shop.site.own
    assert own is not None
    for path in sorted(own.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    own.rmdir()
    shop.work.write("a.txt", "2\n")
    assert shop.files(shop.capture()) == {"a.txt": "100644 2"}


def test_one_that_is_half_made_is_made_anew(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    own, index = shop.site.own, shop.site.workspace.index
    assert own is not None
    assert index is not None
    whole = {path.name: path.read_bytes() for path in own.iterdir() if path.is_file()}
    for name in whole:
        (own / name).unlink()
        ensure_own_git(repo.repository, index, repo.head, "clone")
        if name == "config":
            assert {path.name: path.read_bytes() for path in own.iterdir() if path.is_file()} == whole


def test_it_is_renewed_for_another_worker(repo: Repo, tmp_path: Path) -> None:
    repo.git("sparse-checkout", "set", "d")
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    own, index = shop.site.own, shop.site.workspace.index
    assert own is not None
    assert index is not None
    before = repo.git("config", "--file", str(own / "config"), "--list").splitlines()
    repo.git("sparse-checkout", "disable")
    repo.git("config", "core.autocrlf", "input")
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    renew_own_git(repo.repository, index, repo.head)
    after = repo.git("config", "--file", str(own / "config"), "--list").splitlines()
    assert sorted(after) == sorted([*before, "core.autocrlf=input"])
    assert "core.sparsecheckout=true" in after
    assert read_snapshot(own).filters == {"up": {"clean": "tr a-z A-Z"}}


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_the_users_large_files_stay_where_his_checkout_looks_for_them(
    repo: Repo, tmp_path: Path, kind: WorkspaceKind
) -> None:
    repo.write("bin/keep", 'cat >"$(git rev-parse --git-dir)/lfs/kept"; git config lfs.storage\n')
    repo.git("config", "filter.lfs.clean", f"sh {repo.path}/bin/keep")
    (repo.path / ".git" / "lfs").mkdir()
    repo.commit("lfs", _dot_gitattributes="*.bin filter=lfs\n")
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.write("x.bin", "content\n")
    assert shop.files(shop.capture()) == {"x.bin": f"100644 {repo.path}/.git/lfs"}
    assert repo.read(".git/lfs/kept") == "content\n"


def test_a_folder_of_rules_may_be_a_link_of_the_users(
    repo: Repo, tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "ignore").write_text("*.log\n")
    config = tmp_path / "config" / "git"
    config.mkdir(parents=True)
    (config / "ignore").symlink_to(tmp_path / "dotfiles" / "ignore")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("a.log", "x\n")
    shop.work.write("a.new", "x\n")
    os.unlink(config / "ignore")
    assert shop.capture().changed == ("a.new",)
