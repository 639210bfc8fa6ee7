"""Commits made inside a submodule: kept and named, never as plain files, and never without a word."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.capture.capture import Capture
from gitprun.capture.preview import noting_setup
from gitprun.model.units import WorkspaceKind
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import run_units, sh, unit_of
from tests.support.workshop import Workshop, open_workshop

ALLOW = ("-c", "protocol.file.allow=always")
OUT = "inside a submodule: not captured"


@pytest.fixture
def library(tmp_path: Path) -> Repo:
    library = make_repo(tmp_path / "lib", f_dot_h="1\n")
    library.commit("second", f_dot_h="2\n")
    return library


@pytest.fixture
def repo(tmp_path: Path, library: Repo) -> Repo:
    repo = make_repo(tmp_path / "repo", use_dot_c="x\n")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{library.oid('HEAD^')},deps/lib")
    repo.write(".gitmodules", f'[submodule "lib"]\n\tpath = deps/lib\n\turl = {library.path}\n')
    repo.git("add", ".gitmodules")
    repo.git("commit", "-q", "-m", "submodule")
    return repo


def left_out(found: Capture) -> dict[str, str]:
    return {row.path: row.reason for row in found.left_out}


def populate(shop: Workshop) -> Repo:
    shop.work.git(*ALLOW, "submodule", "update", "--init", "-q")
    return Repo(shop.path / "deps" / "lib")


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_commits_are_kept_and_named(repo: Repo, library: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    inner = populate(shop)
    assert (shop.capture().kept, shop.refs()) == ((), {})
    inner.switch("main")
    inner.commit("fix", f_dot_h="3\n")
    tip = inner.commit("more", g_dot_h="4\n")
    inner.switch("topic", new=True, start=f"{library.head}")
    other = inner.commit("other", h_dot_h="5\n")
    found = shop.capture()
    assert (found.changed, found.inner, left_out(found)) == ((), ("deps/lib",), {"deps/lib/": OUT})
    assert shop.refs() == {"submodule/deps/lib/branch/main": tip, "submodule/deps/lib/head": other}
    assert found.notes[-1] == (
        "commits were made inside the submodule deps/lib: 2 of its tips are kept as submodule/deps/lib,"
        " and are no part of the commit"
    )
    repo.git("gc", "-q", "--prune=now")
    assert repo.files(tip) == {"f.h": "3", "g.h": "4"}
    assert repo.git("log", "--format=%s", tip).split("\n")[:2] == ["more", "fix"]


def test_what_the_submodule_began_with_is_nobodys_work(repo: Repo, library: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    inner = populate(shop)
    inner.switch("old", new=True, start=library.git("rev-list", "--max-parents=0", "HEAD"))
    inner.switch("new", new=True, start="origin/main")
    found = shop.capture()
    assert (found.kept, found.inner, left_out(found)) == ((), (), {"deps/lib/": OUT})


def test_files_of_a_submodule_are_not_brought_as_plain_ones(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    populate(shop).write("new.h", "n\n")
    shop.work.write("use.c", "y\n")
    shop = replace(shop, site=replace(shop.site, include=("deps/lib/**", "deps/**", "*.h")))
    found = shop.capture()
    assert (found.changed, left_out(found)) == (("use.c",), {"deps/lib/": OUT})
    # The same without its .git, and beside settings that name a new one.
    (shop.path / "deps" / "lib" / ".git").unlink()
    shop.work.git("init", "-q", "new")
    shop.work.write(".gitmodules", '[submodule "new"]\n\tpath = new\n\turl = ../new\n')
    shop.work.write("new/x.h", "x\n")
    found = shop.capture()
    assert found.changed == (".gitmodules", "use.c")
    assert left_out(found) == {"deps/lib/": OUT, "new/": OUT}


def test_a_submodule_that_setup_populated_keeps_no_workspace(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    with noting_setup(shop.site, fresh=True):
        inner = populate(shop)
    inner.git("status")
    assert left_out(shop.finish()) == {}
    inner.write("f.h", "edited\n")
    assert left_out(shop.capture()) == {"deps/lib/": OUT}
    inner.git("checkout", "-q", "--", "f.h")
    (shop.path / "deps" / "lib" / "f.h").unlink()
    inner.git("commit", "-qam", "own")
    assert (shop.capture().inner, left_out(shop.capture())) == (("deps/lib",), {"deps/lib/": OUT})


def test_a_git_folder_elsewhere_is_not_read(repo: Repo, library: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    library.commit("nobody asked for it", f_dot_h="9\n")
    for way in ("pointer", "link"):
        place = shop.path / "deps" / "lib" / ".git"
        if way == "pointer":
            place.write_text(f"gitdir: {library.path}/.git\n")
        else:
            place.unlink()
            modules = shop.path / ".git" / "modules"
            modules.mkdir()
            (modules / "lib").symlink_to(library.path / ".git")
            place.write_text("gitdir: ../../.git/modules/lib\n")
        assert (shop.capture().kept, shop.refs()) == ((), {})


def test_a_unit_that_worked_in_a_submodule_only_is_not_empty(
    repo: Repo, library: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    script = (
        f"git {' '.join(ALLOW)} submodule update --init -q; cd deps/lib; echo 3 >f.h;"
        " git -c user.name=w -c user.email=w@example.test commit -qam fix"
    )
    run_units(repo, sh("u", script), sh("idle", "true"))
    unit = unit_of(repo, "u")
    assert (unit.state, unit.reason, unit_of(repo, "idle").state) == (
        "unverified", "its commits are inside the submodule deps/lib, kept and in no tree", "empty"
    )  # fmt: skip
    assert "commits in a submodule kept" in inside(capsys, repo.path, "status").out
    assert inside(capsys, repo.path, "merge", "u").code != 70
    removed = inside(capsys, repo.path, "remove", "--discard-left-out", "u")
    assert (removed.code, os.path.lexists(unit.as_json()["path"])) == (0, False)
    refs = repo.git("for-each-ref", "--format=%(contents:subject)", "refs/prun").split("\n")
    assert "fix" in refs
