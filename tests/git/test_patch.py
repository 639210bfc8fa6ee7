"""Patches that can be applied, and printed wherever they go."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.git.command import Git
from gitprun.git.patch import read_difference
from tests.support.repos import Repo, make_repo

ESC = "\x1b]8;;http://x.test\x07hidden\x1b]8;;\x07\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a="a\n", z="z\n", gone=ESC)


def changed(repo: Repo) -> tuple[str, str]:
    base = repo.head
    repo.write("plain", "one\n\ftwo\r\n")
    repo.write("sub/we*ird na[m]e", ESC * 2)
    repo.write("bidi", "x \u202e y\n")
    repo.write("c1", "\u009b31m\n")
    repo.git("mv", "gone", "moved")
    repo.write("moved", ESC + "more\n")
    (repo.path / "blob").write_bytes(b"\0\x1b[31m")
    repo.write("z", "")
    return base, repo.commit("work")


def test_what_a_terminal_would_obey_is_binary_and_nothing_is_lost(repo: Repo, tmp_path: Path) -> None:
    base, tip = changed(repo)
    git = Git(cwd=repo.path)
    patch = read_difference(git, base, tip)
    assert [sign for sign in (b"\x1b", b"\x07", "\u202e".encode(), "\u009b".encode()) if sign in patch] == []
    sections = [line.split(b" b/")[1] for line in patch.splitlines() if line.startswith(b"diff --git ")]
    assert sections == [b"bidi", b"blob", b"c1", b"gone", b"moved", b"plain", b"sub/we*ird na[m]e", b"z"]
    assert patch.count(b"GIT binary patch\n") == 6
    assert b"+one\n" in patch
    other = tmp_path / "other"
    repo.git("worktree", "add", "-q", "--detach", str(other), base)
    (tmp_path / "patch").write_bytes(patch)
    Git(cwd=other).run("apply", "--index", str(tmp_path / "patch"))
    assert Git(cwd=other).run("write-tree").text == repo.git("rev-parse", f"{tip}^{{tree}}")


def test_for_a_person_it_is_written_out(repo: Repo) -> None:
    base, tip = changed(repo)
    shown = read_difference(Git(cwd=repo.path), base, tip, colour=True).decode()
    assert ("\x1b" in shown, "+x \\u202e y\n" in shown, "+\\x9b31m\n" in shown) == (False, True, True)
    plain = repo.commit("plain", a="b\n")
    assert b"\x1b[32m+" in read_difference(Git(cwd=repo.path), tip, plain, colour=True)


def test_a_plain_patch_is_gits_own(repo: Repo) -> None:
    base, tip = repo.head, repo.commit("plain", a="b\n")
    assert read_difference(Git(cwd=repo.path), base, tip).decode() == repo.git("diff", "--binary", base, tip) + "\n"
    assert read_difference(Git(cwd=repo.path), base, tip, "--name-only") == b"a\n"
    stat = read_difference(Git(cwd=repo.path), base, tip, "--stat")
    assert stat == b" a | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"
