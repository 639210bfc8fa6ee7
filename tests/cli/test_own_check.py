"""What a unit does to its own check, as a user is told: with the run, by show, forecast and merge, and the way out."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.cli import prun
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow


def project(path: Path) -> Repo:
    repo = make_repo(path)
    repo.write("app.txt", "good\n")
    repo.write("tests/test_app.sh", "grep -q good app.txt\n")
    repo.write("tests/test_more.sh", "true\n")
    repo.write("check.sh", 'for t in tests/test_*.sh; do sh "$t" || exit 1; done\n')
    repo.write("prun.toml", '[run]\nverify = ["sh check.sh"]\n')
    repo.commit("base")
    return repo


def test_a_unit_that_deletes_its_test(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    script = tmp_path / "worker.sh"
    script.write_text("cat >/dev/null; echo bug >app.txt; rm tests/test_app.sh\n")
    command = shlex.join(["sh", str(script)])
    said = prun(repo.path, "run", "--unit", "id=gone", "--prompt", "x", "--executor", "command", "--command", command)
    assert said.code == 0, said.err
    told = "changes its own check: tests/test_app.sh deleted"
    assert [line for line in said.out.splitlines() if "gone" in line and told in line] != []
    assert f"\n{told.replace(': ', ':' + chr(10) + '  ')}\n" in prun(repo.path, "show", "gone").out
    said = prun(repo.path, "forecast")
    assert (said.code, [line for line in said.out.splitlines() if told in line]) == (0, [f"prun/r1/gone {told}"])
    said = prun(repo.path, "merge", "gone")
    assert said.code == 1
    assert said.out.splitlines()[1].split()[:3] == ["prun/r1/gone", "held", "-"]
    assert "changed its own check: tests/test_app.sh deleted; with it put back: sh check.sh: exit 1" in said.out
    assert (
        "hint: git prun resolve r1/gone opens it to be mended;"
        " git prun merge --accept tests/test_app.sh r1/gone lands it as it is\n"
    ) in said.err
    assert repo.read("app.txt") == "good\n"
    said = prun(repo.path, "merge", "gone", "--accept", "tests/test_app.sh")
    assert said.code == 0, said.err
    assert f"warning: prun/r1/gone {told}\n" in said.err
    assert repo.read("app.txt") == "bug\n"


def test_a_branch_that_deletes_much(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    repo.commit("docs", **{f"docs__{number}": f"{number}\n" for number in range(30)})
    # All in one commit: to delete just what a later one added would be to take that one back.
    repo.git("reset", "-q", "--soft", repo.git("rev-list", "--max-parents=0", "HEAD"))
    repo.git("commit", "-q", "--amend", "-m", "base")
    repo.switch("less", new=True)
    repo.git("rm", "-rq", "docs")
    repo.commit("less")
    repo.switch("main")
    said = prun(repo.path, "forecast", "less")
    assert said.code == 1
    assert "less: held: it deletes 30 of 36 files, such as docs/0; --accept deletions lands it\n" in said.out
    said = prun(repo.path, "merge", "--no-verify", "less")
    assert said.code == 1
    assert "hint: git prun merge --accept deletions less lands it as it is\n" in said.err
    repo.write("prun.toml", '[merge]\nmax_deleted = "none"\n')
    said = prun(repo.path, "forecast", "less")
    assert said.code == 0
    said = prun(repo.path, "merge", "--no-verify", "less")
    assert said.code == 0, said.err
