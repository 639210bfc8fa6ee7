"""How the program is called: closed streams, other character sets, no home, repositories it cannot work in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cases import slow
from tests.support.cli import program_environment, prun
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import run_units, sh

RUN = ("run", "--unit", "id=a", "--executor", "command", "--prompt", "x", "--verify", "true", "--command")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&- <&-", *slow(">&-", "<&-")])
def test_closed_streams_are_no_error_and_no_file_takes_their_place(repo: Repo, closed: str) -> None:
    program = f"{sys.executable} -m gitprun"
    for words in (f"{program} {' '.join(RUN)} 'sh -c \"echo said; echo x >n\"'", f"{program} status"):
        done = subprocess.run(["sh", "-c", f"{words} {closed}"], cwd=repo.path, env=program_environment(), check=False)
        assert done.returncode == 0
    ledger = repo.ledger.read()
    assert (ledger.unreadable, ledger.history.runs["r1"].units["a"].state) == ((), "ready")
    assert (repo.path / ".git" / "prun" / "runs" / "r1" / "a" / "output.log").read_text() == "said\n"


def test_another_character_set(repo: Repo) -> None:
    narrow = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = prun(repo.path, *RUN, "sh -c 'echo \u00e9 >\u00e9'", env=narrow)
    assert said.code == 0, said.err
    assert repo.files("refs/prun/r1/a") == {"a.txt": "1", "\u00e9": "\u00e9"}
    assert prun(repo.path, "new", "n", "n", env=narrow).code == 0
    said = prun(repo.path, "exec", "n", "s", "x", "--command", "sh -c 'echo \u00e9 >\u00e9'", env=narrow)
    assert said.code == 0, said.err
    for words in (("show", "a"), ("status",), ("merge", "a", "n", "--no-verify")):
        assert prun(repo.path, *words, env=narrow).code == 0


def test_no_home(repo: Repo) -> None:
    bare = {key: value for key, value in program_environment().items() if key not in ("HOME", "XDG_CACHE_HOME")}
    argv = [sys.executable, "-m", "gitprun", *RUN, "sh -c 'echo x >n'"]
    done = subprocess.run(argv, cwd=repo.path, env=bare, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "n" in repo.files("refs/prun/r1/a")


def test_a_repository_of_sha256(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = Repo(tmp_path)
    repo.git("init", "-q", "-b", "main", "--object-format=sha256")
    repo.commit("base", a="1\n")
    for words in ((*RUN, "true"), ("new", "n", "n"), ("merge", "main"), ("init",)):
        said = inside(capsys, repo.path, *words)
        assert (said.code, said.err.splitlines()[-2:]) == (
            128,
            [
                "error: this repository names its objects by SHA-256",
                "hint: git prun works where they are named by SHA-1",
            ],
        )
    assert repo.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_a_repository_of_somebody_else(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    for folder, folders, files in os.walk(repo.path):
        for name in (".", *folders, *files):
            os.lchown(os.path.join(folder, name), 12345, 12345)
    said = inside(capsys, repo.path, "status")
    assert said.code == 128
    assert said.err.splitlines()[0].startswith("error: git refuses this repository: detected dubious ownership")


@pytest.mark.parametrize("name", ["-dash sp ace", "new\nline", "co:lon", "\u00e9\u00e8 per%cent 'quote\""])
def test_folders_of_any_name(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    repo = make_repo(tmp_path / name / "repo")
    run_units(repo, sh("a", "echo x >n"), sh("b", "echo y >m", workspace="worktree"))
    assert inside(capsys, repo.path, "new", "c", "w/c", "--clone").code == 0
    assert inside(capsys, repo.path, "exec", "c", "s", "x", "--command", "touch o").code == 0
    said = inside(capsys, repo.path, "merge", "a", "b", "w/c", "--no-verify")
    assert (said.code, sorted(repo.files())) == (0, ["a.txt", "m", "n", "o"]), said.out + said.err
    assert inside(capsys, repo.path, "remove", "a", "b", "c").code == 0
    assert (repo.status(), (tmp_path / name / "repo.prun").exists()) == ([], False)


def test_a_shallow_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    up = make_repo(tmp_path / "up")
    up.commit("two", b="2\n"), up.commit("three", c="3\n")
    up.git("clone", "-q", "--depth=1", f"file://{up.path}", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    run_units(repo, sh("a", "git log --format=%s >said; echo x >n"))
    assert repo.files("refs/prun/r1/a")["said"] == "three"
    assert inside(capsys, repo.path, "merge", "a", "--no-verify").code == 0
    assert repo.git("fsck", "--no-dangling") == ""
