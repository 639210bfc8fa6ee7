"""Git programs connected by pipes: nothing of what they pass lies with us, and both end when one does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.git.command import Bounds, Git
from gitprun.git.pipe import MOST_SAID, pipe
from gitprun.model.errors import GitFailed, GitTimeout
from tests.support.repos import make_repo


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Put a program called git on PATH that runs the words it is given as a shell script."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nwhile [ "$1" = -c ]; do shift 2; done\neval "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return Git(cwd=tmp_path)


def test_two_programs_and_what_the_last_one_says(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.commit("second")
    git, heard = Git(cwd=repo.path), bytearray()
    pipe((git, ("rev-list", "--stdin")), (git, ("cat-file", "--batch-check")), stdin=b"main\n", sink=heard.extend)
    rows = [f"{repo.oid(name)} commit" for name in ("main", "main~1")]
    assert [row.rsplit(" ", 1)[0] for row in heard.decode().splitlines()] == rows


def test_one_program_much_to_read(fake: Git) -> None:
    sizes: list[int] = []
    pipe((fake, ("cat",)), stdin=b"x" * 3_000_000, sink=lambda chunk: sizes.append(len(chunk)))
    assert (sum(sizes), max(sizes) <= 1 << 16) == (3_000_000, True)


def test_input_nobody_reads_to_the_end(fake: Git) -> None:
    pipe((fake, ("exit 0",)), stdin=b"x" * 3_000_000)


@pytest.mark.parametrize(
    ("first", "second", "code", "said"),
    [
        ("echo first broke >&2; exit 3", "cat; exit 0", 3, "git echo first broke >&2; exit 3 failed: first broke"),
        ("yes", "echo second broke >&2; exit 4", 4, "git echo second broke >&2; exit 4 failed: second broke"),
        ("exit 3", "exit 4", 3, "git exit 3 failed: exit code 3"),
    ],
)
def test_who_broke_it_is_named(fake: Git, first: str, second: str, code: int, said: str) -> None:
    with pytest.raises(GitFailed) as caught:
        pipe((fake, (first,)), (fake, (second,)))
    assert (caught.value.code, caught.value.message) == (code, said)


@pytest.mark.slow
def test_both_are_ended_when_time_is_up(fake: Git, tmp_path: Path) -> None:
    with pytest.raises(GitTimeout):
        pipe((fake, ("echo $$ >a; exec yes",)), (fake, ("echo $$ >b; exec sleep 60",)), timeout=2.0)
    for name in ("a", "b"):
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / name).read_text()), 0)


def test_a_program_that_never_stops_talking_is_ended_in_time(fake: Git) -> None:
    with pytest.raises(GitTimeout):
        pipe((fake, ("exec yes",)), sink=lambda _: None, timeout=0.3)


def test_both_are_ended_when_what_is_heard_is_refused(fake: Git, tmp_path: Path) -> None:
    def refuse(_: bytes) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        pipe((fake, ("echo $$ >a; exec yes",)), (fake, ("echo $$ >b; exec cat",)), sink=refuse)
    for name in ("a", "b"):
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / name).read_text()), 0)


def test_complaints_without_end_are_cut(fake: Git) -> None:
    with pytest.raises(GitFailed) as caught:
        pipe((fake, ("head -c 5000000 /dev/zero >&2; exit 1",)))
    assert len(caught.value.stderr) == MOST_SAID


def test_bounds_hold(fake: Git) -> None:
    bounded = Git(cwd=fake.cwd, bounds=Bounds(memory=256 << 20, processor=7))
    assert bounded.run("ulimit -d; ulimit -t; ulimit -c").text == "262144\n7\n0"
    assert bounded.run('printf "%s|"', "'a  b'", "'*'", stdin=b"x").text == "a  b|*|"


def test_a_program_that_spins_is_ended(fake: Git) -> None:
    with pytest.raises(GitFailed) as caught:
        Git(cwd=fake.cwd, bounds=Bounds(memory=256 << 20, processor=1)).run("while :; do :; done")
    assert caught.value.code == -24


def test_a_program_that_takes_all_memory_is_ended(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_bin=bytes(80_000_000))
    bounded = Git(cwd=repo.path, bounds=Bounds(memory=40 << 20, processor=20))
    with pytest.raises(GitFailed) as caught:
        bounded.run("diff-tree", "-p", "--text", "--root", "HEAD")
    assert "Out of memory" in caught.value.stderr
