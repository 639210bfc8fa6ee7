"""Filters, line ends, sparse checkouts, submodules, hooks and the user's own configuration."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from gitprun.capture.capture import CaptureProblem
from gitprun.git.refs import NoIdentity, read_signatures
from gitprun.model.units import WorkspaceKind
from gitprun.workspaces.clone import make_clone, read_source
from tests.support.repos import Repo, make_repo
from tests.support.workshop import open_workshop

AWKWARD = """
[diff]
	external = true
	noprefix = true
	ignoreSubmodules = all
[color]
	ui = always
[status]
	showUntrackedFiles = no
[merge]
	ff = only
[core]
	pager = false
	quotePath = false
	ignoreStat = true
	trustctime = false
	checkStat = minimal
	splitIndex = true
	untrackedCache = true
	fsmonitor = true
	hooksPath = {home}/hooks
	excludesFile = {home}/ignore
	safecrlf = true
	logAllRefUpdates = false
[log]
	showSignature = true
	decorate = full
[index]
	version = 4
	sparse = true
[feature]
	manyFiles = true
[init]
	templateDir = {home}/template
	defaultBranch = other
	defaultRefFormat = reftable
[submodule]
	recurse = true
[branch]
	autoSetupMerge = always
[commit]
	gpgSign = true
[checkout]
	workers = 4
[worktree]
	useRelativePaths = true
"""


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_the_users_configuration_changes_nothing(
    tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch, kind: WorkspaceKind
) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n", b_dot_txt="1\n")
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit"):
        (sealed / "hooks").mkdir(exist_ok=True)
        (sealed / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {sealed}/ran-{hook}\n")
        (sealed / "hooks" / hook).chmod(0o755)
    (sealed / "template" / "hooks").mkdir(parents=True)
    (sealed / "template" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    (sealed / "ignore").write_text("*.log\n")
    (sealed / "gitconfig").write_text(AWKWARD.format(home=sealed))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(sealed / "gitconfig"))
    shop = open_workshop(repo, tmp_path / "w", kind)
    before = os.stat(shop.path / "a.txt")
    shop.work.write("a.txt", "2\n")
    os.utime(shop.path / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    shop.work.write("new.txt", "n\n")
    shop.work.write("noise.log", "n\n")
    found = shop.capture()
    assert shop.files(found) == {"a.txt": "100644 2", "new.txt": "100644 n"}
    assert found.notes == ("hooks not run: pre-commit",)
    assert sorted(path.name for path in sealed.glob("ran-*")) == []
    if kind == "clone":
        assert not (shop.path / ".git" / "hooks").exists()
        assert not (shop.path / ".git" / "reftable").exists()


def test_variables_of_a_calling_hook_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outer = make_repo(tmp_path / "outer")
    linked = outer.worktree(tmp_path / "outer-wt", "wip/x", new=True)
    linked.write("staged.txt", "s\n")
    linked.git("add", "staged.txt")
    inner = make_repo(tmp_path / "inner", i_dot_txt="1\n")
    index = outer.path / ".git" / "worktrees" / "outer-wt" / "index"
    before = hashlib.sha1(index.read_bytes()).hexdigest()
    shop, repository, head = open_workshop(inner, tmp_path / "w"), inner.repository, inner.head
    shop.work.write("i.txt", "2\n")
    leaked = {
        "GIT_DIR": str(index.parent),
        "GIT_INDEX_FILE": str(index),
        "GIT_WORK_TREE": str(linked.path),
        "GIT_OBJECT_DIRECTORY": str(outer.path / ".git" / "objects"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
    }
    with monkeypatch.context() as leak:
        for name, value in leaked.items():
            leak.setenv(name, value)
        assert inner.repository == repository
        made = make_clone(read_source(repository), tmp_path / "w" / "r1" / "other", head, "prun/r1/other")
        found = shop.capture()
    assert (found.changed, (made.path / "i.txt").read_text()) == (("i.txt",), "1\n")
    assert hashlib.sha1(index.read_bytes()).hexdigest() == before


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_line_end_noise_is_left_out(tmp_path: Path, kind: WorkspaceKind) -> None:
    repo = make_repo(tmp_path / "repo", w1_dot_txt="a\r\nb\r\n", w2_dot_txt="c\r\n", code_dot_py="x=1\n")
    repo.write(".gitattributes", "*.txt text eol=lf\n")
    repo.git("add", ".gitattributes")
    repo.git("commit", "-q", "-m", "attributes")
    shop = open_workshop(repo, tmp_path / "w", kind)
    for name in ("w1.txt", "w2.txt"):
        os.utime(shop.path / name, (1, 1))
    shop.work.write("code.py", "x=2\n")
    found = shop.capture()
    assert found.changed == ("code.py",)
    assert found.notes == ("2 files differ by line-end normalisation only and were left as they are in the base",)
    shop.work.write("w2.txt", "d\r\n")
    assert shop.files(shop.capture()) == {"code.py": "100644 x=2", "w2.txt": "100644 d"}
    shop.work.write("w2.txt", "c\r\n")
    assert shop.files(shop.capture())["w2.txt"] == "100644 c"


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_filters_of_the_user_run(tmp_path: Path, kind: WorkspaceKind) -> None:
    repo = make_repo(tmp_path / "repo")
    for way in ("clean", "smudge"):
        repo.git("config", f"filter.rot.{way}", "tr a-zA-Z n-za-mN-ZA-M")
    repo.git("config", "filter.rot.required", "true")
    repo.commit("filtered", _dot_gitattributes="*.sec filter=rot\n", keys_dot_sec="secret one\n")
    assert repo.git("cat-file", "-p", "HEAD:keys.sec") == "frperg bar"
    shop = open_workshop(repo, tmp_path / "w", kind)
    assert shop.work.read("keys.sec") == "secret one\n"
    shop.work.write("keys.sec", "secret two\n")
    shop.work.write("new.sec", "brand new\n")
    assert shop.files(shop.capture()) == {"keys.sec": "100644 frperg gjb", "new.sec": "100644 oenaq arj"}


def test_a_filter_inside_the_checkout_runs_only_as_it_was(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    repo.write("tools/clean.sh", "exec tr a-z A-Z\n")
    repo.git("config", "filter.up.clean", "sh ./tools/clean.sh")
    repo.commit("filtered", _dot_gitattributes="*.txt filter=up\n", a_dot_txt="abc\n")
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("a.txt", "def\n")
    assert shop.files(shop.capture()) == {"a.txt": "100644 DEF"}
    shop.work.write("tools/clean.sh", f"touch {tmp_path}/canary; exec cat\n")
    with pytest.raises(CaptureProblem) as caught:
        shop.capture()
    assert caught.value.message == (
        "the work could not be captured: filter.up.clean is the program tools/clean.sh of the checkout, "
        "and the worker changed it"
    )
    assert not (tmp_path / "canary").exists()


def test_a_filter_that_fails_costs_only_its_files(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    repo.git("config", "filter.bad.clean", "false")
    repo.git("config", "filter.bad.required", "true")
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(".gitattributes", "*.bad filter=bad\n")
    shop.work.write("x.bad", "x\n")
    shop.work.write("a.txt", "2\n")
    found = shop.capture()
    assert found.changed == (".gitattributes", "a.txt")
    assert [row.path for row in found.left_out] == ["x.bad"]


@pytest.mark.parametrize("cone", ["--cone", "--no-cone"])
@pytest.mark.parametrize("sparse_index", ["true", "false"])
def test_a_sparse_worktree_deletes_nothing(tmp_path: Path, cone: str, sparse_index: str) -> None:
    repo = make_repo(tmp_path / "repo", svc__s_dot_py="1\n", web__w1_dot_js="1\n", web__deep__w2_dot_js="2\n")
    repo.git("sparse-checkout", "set", cone, "svc")
    repo.git("config", "--worktree", "index.sparse", sparse_index)
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    assert sorted(path.name for path in shop.path.iterdir()) == [".git", ".prun", "svc"]
    shop.work.write("svc/s.py", "2\n")
    assert shop.files(shop.capture()) == {"svc/s.py": "100644 2"}
    shop.work.write("web/w3.js", "3\n")
    shop.work.write("web/w1.js", "changed\n")
    assert shop.files(shop.capture()) == {
        "svc/s.py": "100644 2",
        "web/w1.js": "100644 changed",
        "web/w3.js": "100644 3",
    }


def test_a_clone_of_a_sparse_checkout_is_whole(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", svc__s_dot_py="1\n", web__w1_dot_js="1\n")
    repo.git("sparse-checkout", "set", "svc")
    shop = open_workshop(repo, tmp_path / "w")
    assert shop.work.read("web/w1.js") == "1\n"
    shop.work.write("web/w1.js", "2\n")
    (shop.path / "svc" / "s.py").unlink()
    assert shop.files(shop.capture()) == {"svc/s.py": "-", "web/w1.js": "100644 2"}


def test_submodules(tmp_path: Path) -> None:
    library = make_repo(tmp_path / "lib", f_dot_h="1\n")
    repo = make_repo(tmp_path / "repo", use_dot_c="x\n")
    for name in ("lib", "other", "third", "fourth"):
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{library.head},{name}")
    repo.write(".gitmodules", '[submodule "lib"]\n\tpath = lib\n\turl = ../lib\n')
    repo.git("add", ".gitmodules")
    repo.git("commit", "-q", "-m", "submodules")
    shop = open_workshop(repo, tmp_path / "w")
    found = shop.capture()
    assert (found.changed, found.left_out) == ((), ())
    shop.work.write("lib/vendored.h", "x\n")
    shop.work.git("clone", "-q", str(library.path), "other")
    Repo(shop.path / "other").commit("moved on", f_dot_h="2\n")
    (shop.path / "third").rmdir()
    (shop.path / "fourth").rmdir()
    shop.work.write("fourth", "a file now\n")
    found = shop.capture()
    assert shop.files(found) == {"third": "-", "fourth": "100644 a file now"}
    assert [(row.path, row.reason) for row in found.left_out] == [
        ("lib/", "inside a submodule: not captured"),
        ("other/", "inside a submodule: not captured"),
    ]


@pytest.mark.parametrize("where", [".git/hooks", ".husky/_"])
def test_hooks_that_are_not_run_are_named(tmp_path: Path, where: str) -> None:
    repo = make_repo(tmp_path / "repo", _dot_gitignore=".husky/_/\n", a_dot_txt="1\n")
    for name in ("pre-commit", "commit-msg", "post-commit", "prepare-commit-msg"):
        active = name != "prepare-commit-msg"
        repo.write(f"{where}/{name}", f"#!/bin/sh\ntouch {tmp_path}/canary\nexit 1\n", executable=active)
    if where != ".git/hooks":
        repo.git("config", "core.hooksPath", where)
    shop = open_workshop(repo, tmp_path / "w")
    assert shop.capture().notes == ()
    shop.work.write("a.txt", "FORBIDDEN\n")
    found = shop.capture()
    shop.commit(found)
    assert found.notes == ("hooks not run: pre-commit, commit-msg",)
    assert not (tmp_path / "canary").exists()


def test_no_identity_is_said_and_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.git("config", "user.useConfigOnly", "true")
    before = (repo.path / ".git" / "config").read_bytes()
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    with pytest.raises(NoIdentity, match="git does not know who you are"):
        read_signatures(repo.repository.git)
    assert (repo.path / ".git" / "config").read_bytes() == before


def test_a_bare_repository_and_a_linked_worktree_as_source(tmp_path: Path) -> None:
    first = make_repo(tmp_path / "first", a_dot_txt="1\n")
    linked = first.worktree(tmp_path / "linked", "wip", new=True)
    linked.commit("ahead", b_dot_txt="1\n")
    first.git("clone", "-q", "--bare", str(first.path), str(tmp_path / "hub.git"))
    bare = Repo(tmp_path / "hub.git")
    for number, (repo, files) in enumerate([(linked, ["a.txt", "b.txt"]), (bare, ["a.txt"])]):
        shop = open_workshop(repo, tmp_path / f"w{number}")
        assert sorted(path.name for path in shop.path.glob("*.txt")) == files
        shop.work.write("new.txt", "n\n")
        assert shop.files(shop.capture()) == {"new.txt": "100644 n"}
