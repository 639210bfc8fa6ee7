"""How git is called: with a clean environment, a limit of time and exit codes told apart."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from gitprun.git import command
from gitprun.git.command import Git, GitMissing, parse_version, require_git
from gitprun.git.environment import git_environment
from gitprun.model.errors import GitFailed, GitTimeout, PrunError
from tests.support.repos import make_repo


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program called git on PATH, to be filled by the test."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def test_environment_of_git() -> None:
    caller = {
        "PATH": "/bin",
        "GIT_DIR": "/elsewhere",
        "GIT_WORK_TREE": "/elsewhere",
        "GIT_INDEX_FILE": "/elsewhere",
        "GIT_OBJECT_DIRECTORY": "/elsewhere",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/elsewhere",
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_PREFIX": "sub/",
        "GIT_EXTERNAL_DIFF": "evil",
        "GIT_SSH_COMMAND": "evil",
        "GIT_TRACE": "1",
        "GIT_EDITOR": "vi",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_COMMITTER_DATE": "now",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "LC_ALL": "de_DE.UTF-8",
    }
    assert git_environment(caller, {"GIT_INDEX_FILE": "/ours"}) == {
        "PATH": "/bin",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_COMMITTER_DATE": "now",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_INDEX_FILE": "/ours",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_EDITOR": ":",
        "GIT_PAGER": "cat",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "",
    }


def test_no_variable_that_git_calls_local_gets_through(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    local = repo.git("rev-parse", "--local-env-vars").splitlines()
    kept = set(git_environment(dict.fromkeys(local, "x"))) & set(local)
    assert kept == {"GIT_NO_REPLACE_OBJECTS"}


def test_answers(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", b="2\n")
    git = Git(cwd=repo.path)
    assert git.run("ls-files", "-z").fields == [b"a", b"b"]
    assert git.run("ls-files", "-z", "absent").fields == []
    assert git.run("cat-file", "blob", "HEAD:a").text == "1"
    assert git.run("hash-object", "--stdin", stdin=b"").text == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert git.run("config", "--get", "no.such", ok=(0, 1)).code == 1


def test_failures_tell_what_git_said(tmp_path: Path) -> None:
    git = Git(cwd=make_repo(tmp_path / "repo").path)
    with pytest.raises(GitFailed) as caught:
        git.run("rev-parse", "--verify", "nothing")
    assert (caught.value.message, caught.value.code) == ("git rev-parse failed: fatal: Needed a single revision", 128)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PrunError, match="absent: no such folder"):
        Git(cwd=tmp_path / "absent").run("version")
    with pytest.raises(PrunError, match="file: not a folder"):
        Git(cwd=tmp_path / "file").run("version")


def test_no_git_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissing, match="git is not on PATH"):
        Git(cwd=tmp_path).run("version")


@pytest.mark.slow
def test_a_timeout_ends_the_whole_group(fake_git: Path, tmp_path: Path) -> None:
    fake_git.write_text(f"#!/bin/sh\nsleep 100 & echo $! >{tmp_path}/child\nwait\n")
    with pytest.raises(GitTimeout, match=r"git status did not finish within 2 s"):
        Git(cwd=tmp_path).run("status", timeout=2.0)
    assert ends(int((tmp_path / "child").read_text()))


def ends(pid: int) -> bool:
    """Wait for the end of a process that is no child of ours; a signal takes its time to arrive."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 60.0)[0])
    finally:
        os.close(handle)


@pytest.mark.slow
def test_what_left_the_group_is_not_waited_for(fake_git: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LAST_WORDS", 0.1)
    fake_git.write_text(f"#!/bin/sh\nsetsid sh -c 'echo $$ >{tmp_path}/child; exec sleep 100' &\nwait\n")
    with pytest.raises(GitTimeout):
        Git(cwd=tmp_path).run("status", timeout=2.0)
    os.kill(int((tmp_path / "child").read_text()), 9)


def test_large_input_and_output_do_not_block(fake_git: Path, tmp_path: Path) -> None:
    fake_git.write_text("#!/bin/sh\nexec cat\n")
    assert len(Git(cwd=tmp_path).run("x", stdin=b"x" * 3_000_000).out) == 3_000_000


def test_a_program_that_does_not_read_its_input(fake_git: Path, tmp_path: Path) -> None:
    fake_git.write_text("#!/bin/sh\necho early\n")
    assert Git(cwd=tmp_path).run("x", stdin=b"x" * 3_000_000).text == "early"


def test_neutral_takes_programs_out_of_play(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    program = repo.write("../evil", f"#!/bin/sh\ntouch {tmp_path}/canary\n", executable=True)
    for key in ("core.fsmonitor", "diff.external", "core.pager", "gpg.program"):
        repo.git("config", key, str(program))
    repo.hook("post-index-change", f"touch {tmp_path}/canary")
    repo.write("a", "2\n")
    git = Git(cwd=repo.path, neutral=True)
    assert "+2" in git.run("diff", "--no-ext-diff").text
    with pytest.raises(GitFailed):
        git.run("diff")
    git.run("update-index", "--refresh", ok=(0, 1))
    git.run("status")
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    ("text", "version"),
    [("git version 2.39.5", (2, 39, 5)), ("git version 2.50.1 (Apple Git-155)", (2, 50, 1)), ("nonsense", ()),
     ("git version 2.45.GIT", (2, 45))],
)  # fmt: skip
def test_parse_version(text: str, version: tuple[int, ...]) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(("said", "shown"), [("git version 2.37.9", "2.37.9"), ("nonsense", "unknown")])
def test_require_git(fake_git: Path, tmp_path: Path, said: str, shown: str) -> None:
    fake_git.write_text(f"#!/bin/sh\necho {said}\n")
    with pytest.raises(GitMissing, match=f"git {shown} is too old"):
        require_git(tmp_path)
    fake_git.write_text("#!/bin/sh\necho git version 2.38.0\n")
    assert require_git(tmp_path) == (2, 38, 0)
