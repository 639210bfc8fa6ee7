"""What lands is what ``git merge --no-ff`` would have made, bit for bit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import crossed
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

BODY = "".join(f"{n}\n" for n in range(12))


def plain(repo: Repo) -> None:
    repo.switch("topic", new=True)
    repo.commit("topic", new_dot_txt="n\n", dir__deep_dot_txt="d\n")
    repo.switch("main")
    repo.commit("main", a_dot_txt="2\n")


def fast_forward(repo: Repo) -> None:
    repo.switch("topic", new=True)
    repo.commit("one", a_dot_txt="2\n")
    repo.commit("two", b_dot_txt="2\n")
    repo.switch("main")


def same_file(repo: Repo) -> None:
    repo.commit("body", f_dot_txt=BODY)
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_txt=BODY.replace("1\n", "one\n", 1))
    repo.switch("main")
    repo.commit("main", f_dot_txt=BODY.replace("9\n", "nine\n"))


def renames(repo: Repo) -> None:
    repo.commit("body", f_dot_txt=BODY, lib__x_dot_py=BODY + "x", lib__y_dot_py=BODY + "y")
    repo.switch("topic", new=True)
    repo.git("mv", "f.txt", "g.txt")
    repo.commit("edit in lib", lib__y_dot_py=BODY + "why")
    repo.switch("main")
    repo.git("mv", "lib", "core")
    repo.commit("main", f_dot_txt=BODY + "end\n")


def directory_renames(repo: Repo) -> None:
    repo.git("config", "merge.directoryRenames", "true")
    renames(repo)
    repo.switch("topic")
    repo.commit("add to lib", lib__z_dot_py="z\n")
    repo.switch("main")


def kinds(repo: Repo) -> None:
    repo.commit("base", old_dot_txt="o\n", tool="#!/bin/sh\n", swap="file\n", folder__inner="i\n")
    repo.switch("topic", new=True)
    repo.git("rm", "-q", "old.txt", "swap", "folder/inner")
    (repo.path / "swap").symlink_to("a.txt")
    (repo.path / "tool").chmod(0o755)
    repo.write("folder", "now a file\n")
    repo.write("bin", b"\0\1\2" * 50)
    repo.commit("topic")
    repo.switch("main")
    repo.commit("main", other="o\n")


def criss_cross(repo: Repo) -> None:
    repo.commit("body", f_dot_txt="1\n2\n3\n4\n5\n6\n7\n8\n")
    repo.switch("topic", new=True)
    a1 = repo.commit("a1", f_dot_txt="1\n2\n3\n4\n5\n6\n7\nAGENT\n")
    repo.switch("main")
    m1 = repo.commit("m1", f_dot_txt="MAIN\n2\n3\n4\n5\n6\n7\n8\n")
    repo.git("merge", "-q", "--no-ff", "-m", "main<-a", a1)
    repo.switch("topic")
    repo.git("merge", "-q", "--no-ff", "-m", "a<-main", m1)
    repo.commit("a2", f_dot_txt="MAIN\n2\n3\nagent-two\n5\n6\n7\nAGENT\n")
    repo.switch("main")
    repo.commit("m2", f_dot_txt="MAIN\n2\n3\n4\n5\n6\n7\nAGENT\n9\n")


def union_attribute(repo: Repo) -> None:
    repo.commit("base", _dot_gitattributes="list merge=union\n", list="a\n")
    repo.switch("topic", new=True)
    repo.commit("topic", list="a\ntopic\n")
    repo.switch("main")
    repo.commit("main", list="a\nmain\n")


def driver(repo: Repo) -> None:
    repo.git("config", "merge.mine.driver", "cat %B >>%A")
    repo.commit("base", _dot_gitattributes="list merge=mine\n", list="a\n")
    repo.switch("topic", new=True)
    repo.commit("topic", list="b\n")
    repo.switch("main")
    repo.commit("main", list="c\n")


SHAPES = [plain, fast_forward, same_file, renames, directory_renames, kinds, criss_cross, union_attribute, driver]
CONFIGS: dict[str, dict[str, str]] = {
    "default": {},
    "log": {"merge.log": "true"},
    "log of two": {"merge.log": "1"},
    "strip": {"commit.cleanup": "strip"},
    "verbatim": {"commit.cleanup": "verbatim"},
    "scissors": {"commit.cleanup": "scissors"},
    "latin1": {"i18n.commitEncoding": "ISO-8859-1"},
    "no renames": {"merge.renames": "false"},
    "ff only": {"merge.ff": "only", "color.ui": "always", "diff.noprefix": "true", "core.quotePath": "false"},
    "hides": {"status.showUntrackedFiles": "no", "diff.external": "false", "diff.mnemonicPrefix": "true"},
    "submodule.recurse": {"submodule.recurse": "true", "status.branch": "true", "status.renames": "copies"},
}


def merged_by_git(repo: Repo, twin: Path, message: str, *branches: str) -> Repo:
    """Do the same with the git program in a copy."""
    shutil.copytree(repo.path, twin, symlinks=True)
    other = Repo(twin)
    for branch in branches:
        other.git("merge", "-q", "--no-ff", "-m", message.replace("{branch}", branch), branch)
    return other


def compare(repo: Repo, twin: Repo) -> None:
    assert repo.raw() == twin.raw()
    assert repo.status() == twin.status() == []
    assert repo.git("ls-files", "-s") == twin.git("ls-files", "-s")
    for checkout in (repo, twin):
        checkout.git("fsck", "--strict")


@pytest.mark.parametrize("build", SHAPES, ids=lambda build: build.__name__)
def test_same_commit_and_checkout(tmp_path: Path, build: Callable[[Repo], None]) -> None:
    repo = make_repo(tmp_path / "repo")
    build(repo)
    twin = merged_by_git(repo, tmp_path / "twin", "merge: ship topic", "topic")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert report.new == repo.head == report.items[0].commit
    compare(repo, twin)
    reflogs = [one.git("reflog", "-1", "--format=%gs", name) for one in (repo, twin) for name in ("HEAD", "main")]
    assert reflogs == ["merge topic: Merge made by the 'ort' strategy."] * 4
    assert repo.oid("ORIG_HEAD") == twin.oid("ORIG_HEAD") == report.old


@pytest.mark.parametrize(
    ("named", "message"),
    crossed(tuple(CONFIGS), ("merge: ship {branch}", "one\n\n\n# two  \n{branch}: three\n\n", "#hash only first\nx")),
)
def test_same_commit_under_the_users_configuration(tmp_path: Path, named: str, message: str) -> None:
    config = CONFIGS[named]
    repo = make_repo(tmp_path / "repo")
    renames(repo)
    repo.git("branch", "twig", "topic~1")
    for key, value in config.items():
        repo.git("config", key, value)
    ff = {"merge.ff": "true"} if "merge.ff" in config else {}
    twin = tmp_path / "twin"
    shutil.copytree(repo.path, twin, symlinks=True)
    for key, value in ff.items():
        Repo(twin).git("config", key, value)
    Repo(twin).git("merge", "-q", "--no-ff", "-m", message.replace("{branch}", "topic"), "topic")
    report = land_branches(repo, "topic", message=message)
    assert states(report) == {"topic": "landed"}
    assert repo.raw() == Repo(twin).raw()


def test_several_branches_are_the_same_merges_in_order(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f_dot_txt=BODY)
    for name, line in (("one", "1\n"), ("two", "5\n"), ("three", "9\n")):
        repo.switch(name, new=True, start="main")
        repo.commit(name, f_dot_txt=BODY.replace(line, f"{name}\n", 1), **{f"{name}_dot_txt": "x\n"})
    repo.switch("main")
    twin = merged_by_git(repo, tmp_path / "twin", "merge: ship {branch}", "one", "two", "three")
    report = land_branches(repo, "one", "two", "three")
    assert states(report) == {"one": "landed", "two": "landed", "three": "landed"}
    compare(repo, twin)
    assert (
        repo.git("reflog", "-1", "--format=%gs", "main") == "merge one, two, three: Merge made by the 'ort' strategy."
    )


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.git("config", "user.name", "x")
    repo.switch("topic", new=True)
    repo.commit("topic", b="b\n")
    repo.switch("main")
    env = {"GIT_AUTHOR_NAME": "J\udcf6rg"}
    twin = tmp_path / "twin"
    shutil.copytree(repo.path, twin)
    Repo(twin).git("merge", "-q", "--no-ff", "-m", "merge: ship topic", "topic", env=env)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_AUTHOR_NAME", "J\udcf6rg")
        assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    assert repo.raw() == Repo(twin).raw()
