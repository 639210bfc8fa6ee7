"""``git prun resolve`` killed at any step goes on or is thrown away by the next command, and no text is lost."""

from __future__ import annotations

import itertools
import os
import select
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitprun.landing.resolution import read_resolutions
from gitprun.registry.state_folder import read_state_dir
from tests.support.cli import Said, start_prun
from tests.support.inside import inside
from tests.support.killed_step import prun_and_die
from tests.support.repos import Repo, make_repo

pytestmark = [pytest.mark.kill, pytest.mark.slow]

TEXT = "both, by hand\n"
LINES = '{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4\n}\n'
TWICE = '{\n  "x": 5,\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4,\n  "x": 9\n}\n'
ONCE = TWICE.replace('  "x": 5,\n', "")

Prun = Callable[..., Said]


def conflict(path: Path) -> Repo:
    repo = make_repo(path, f="1\n", other="o\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f="topic\n", more="m\n")
    repo.switch("main")
    repo.commit("main", f="main\n")
    return repo


def suspect(path: Path) -> Repo:
    repo = make_repo(path, f_dot_json=LINES)
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_json=LINES.replace(": 4\n", ': 4,\n  "x": 9\n'))
    repo.switch("main")
    repo.commit("main", f_dot_json=LINES.replace("{\n", '{\n  "x": 5,\n'))
    return repo


KINDS = {"conflict": (conflict, "f", TEXT), "suspect": (suspect, "f.json", ONCE)}


def place_of(repo: Repo, name: str) -> Path:
    return repo.path.parent / f"{repo.path.name}.prun" / "resolve" / "topic" / name


def require_nothing_left(repo: Repo) -> None:
    """Check that no workspace, record or ref of a resolution is there, nor rests of any."""
    room, records = place_of(repo, "").parent, repo.path / ".git" / "prun" / "resolve"
    assert ([*room.iterdir()] if room.exists() else []) == []
    assert ([*records.iterdir()] if records.exists() else []) == []
    assert repo.git("for-each-ref", "refs/prun/resolve") == ""
    repo.git("fsck", "--strict")


def wait_for_end(pid: int) -> None:
    """Wait until a process that is no child of ours has ended."""
    descriptor = os.pidfd_open(pid)
    try:
        assert select.select([descriptor], [], [], 60)[0]
    finally:
        os.close(descriptor)


def holders(repo: Repo, name: str, text: str) -> Iterator[str]:
    """Name where a text is kept: in the workspace, on main, in the trash."""
    if place_of(repo, name).is_file() and place_of(repo, name).read_text() == text:
        yield "workspace"
    trash = repo.git("for-each-ref", "--format=%(refname)", "refs/prun/trash").splitlines()
    for ref in ("main", *trash):
        if repo.files(ref).get(name, "") + "\n" == text:
            yield "main" if ref == "main" else "trash"


@pytest.mark.parametrize("kind", KINDS)
def test_opening(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    make, name, text = KINDS[kind]
    kills = 0
    for number in itertools.count(1, 3 if kind == "conflict" else 5):
        repo = make(tmp_path / f"{number}")
        code = prun_and_die(repo.path, number, "resolve", "topic")
        listed = inside(capsys, repo.path, "resolve")
        assert listed.code == 0, (number, listed)
        if code == 0:
            break
        kills += 1
        assert code == -signal.SIGKILL
        if number % 2:
            opened = inside(capsys, repo.path, "resolve", "topic")
            assert opened.code == 0, (number, opened)
            assert Path(opened.out.splitlines()[-1].removeprefix("brief: ")).is_file()
            place_of(repo, name).write_text(text)
            done = inside(capsys, repo.path, "resolve", "topic", "--continue", "--no-verify")
            assert (done.code, [*holders(repo, name, text)]) == (0, ["main"]), (number, done)
        elif "topic" in listed.out:
            assert inside(capsys, repo.path, "resolve", "topic", "--abort").code == 0
        assert repo.status() == []
        require_nothing_left(repo)
    assert kills >= 5


@pytest.mark.parametrize(
    ("kind", "then", "first"),
    [
        ("conflict", "--continue", 1),
        ("conflict", "--abort", 4),
        ("suspect", "--continue", 7),
        ("suspect", "--abort", 10),
    ],
)
def test_going_on(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, then: str, first: int) -> None:
    make, name, text = KINDS[kind]
    kills = 0
    # Each case takes other steps than the others.
    for number in itertools.count(first, 13):
        repo = make(tmp_path / f"{number}")
        assert inside(capsys, repo.path, "resolve", "topic").code == 0
        place_of(repo, name).write_text(text)
        code = prun_and_die(repo.path, number, "resolve", "topic", "--continue", "--no-verify")
        if code == 0:
            break
        kills += 1
        assert code == -signal.SIGKILL
        assert [*holders(repo, name, text)] != [], number
        listed = inside(capsys, repo.path, "resolve")
        assert listed.code == 0, (number, listed)
        if "topic" in listed.out:
            done = inside(
                capsys, repo.path, "resolve", "topic", then, *(["--no-verify"] if then == "--continue" else [])
            )
            assert done.code == 0, (number, done)
        kept = [*holders(repo, name, text)]
        assert "main" in kept if then == "--continue" else kept, number
        require_nothing_left(repo)
        # Whatever was half way is complete after the next landing; what was aborted is asked anew.
        after = inside(capsys, repo.path, "merge", "topic", "--no-verify")
        assert (after.code, repo.status()) == (0 if "main" in kept else 1, []), (number, after)
    assert kills >= 5


def test_aborting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kills = 0
    for number in itertools.count(1, 5):
        repo = conflict(tmp_path / f"{number}")
        assert inside(capsys, repo.path, "resolve", "topic").code == 0
        place_of(repo, "f").write_text(TEXT)
        assert inside(capsys, repo.path, "resolve", "--continue", "--verify", "false").code == 1
        code = prun_and_die(repo.path, number, "resolve", "topic", "--abort")
        if code == 0:
            break
        kills += 1
        assert [*holders(repo, "f", TEXT)] != [], number
        if number % 2:
            assert inside(capsys, repo.path, "resolve").code == 0
        # Either it is done already, or the next one does it.
        again = inside(capsys, repo.path, "resolve", "topic", "--abort")
        assert (again.code, "trash" in holders(repo, "f", TEXT)) in ((0, True), (1, True)), (number, again)
        # What was thrown away settles nothing.
        opened = inside(capsys, repo.path, "resolve", "topic")
        assert (opened.code, place_of(repo, "f").read_text().startswith("<<<<<<< ")) == (0, True), (number, opened)
        assert inside(capsys, repo.path, "resolve", "topic", "--abort").code == 0
        require_nothing_left(repo)
    assert kills >= 5


def test_undoing_forgets_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kills = 0
    for number in itertools.count(1, 3):
        repo = conflict(tmp_path / f"{number}")
        inside(capsys, repo.path, "resolve", "topic")
        place_of(repo, "f").write_text(TEXT)
        assert inside(capsys, repo.path, "resolve", "--continue", "--no-verify").code == 0
        code = prun_and_die(repo.path, number, "undo")
        if code == 0:
            break
        kills += 1
        if "landed" in inside(capsys, repo.path, "undo", "--list").out or repo.git("log", "-1", "--format=%P").count(
            " "
        ):
            # It never came to it, or is finished now.
            inside(capsys, repo.path, "undo")
        said = inside(capsys, repo.path, "merge", "topic", "--no-verify")
        assert (said.code, said.out.splitlines()[1].split()[:2]) == (1, ["topic", "conflict"]), (number, said)
        assert (repo.read("f"), repo.status()) == ("main\n", []), number
    assert kills >= 3


def test_a_worker_that_lives_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = conflict(tmp_path / "r")
    going, go = tmp_path / "going", tmp_path / "go"
    os.mkfifo(going)
    os.mkfifo(go)
    script = f"printf 'half of it' >f; echo on >{going}; read word <{go}; printf 'both, by hand\\n' >f"
    started = start_prun(repo.path, "resolve", "topic", "--no-verify", "--with", script)
    going.read_text()
    started.kill()
    started.communicate()
    for words in (("--continue", "--no-verify"), ("--abort",)):
        said = inside(capsys, repo.path, "resolve", *words)
        assert said.code == 1
        assert said.err.startswith(f"error: a worker is still at work in {place_of(repo, '').parent / 'topic'} (pid ")
    [one] = read_resolutions(repo.repository)
    warden = read_state_dir(Path(one.worker)).supervisor
    assert warden is not None
    go.write_text("on\n")
    wait_for_end(warden.pid)
    said = inside(capsys, repo.path, "resolve", "topic", "--continue", "--no-verify")
    assert (said.code, repo.read("f"), repo.status()) == (0, TEXT, [])
    require_nothing_left(repo)


def test_a_workspace_nobody_knows_is_moved_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = conflict(tmp_path / "r")
    inside(capsys, repo.path, "resolve", "topic")
    place_of(repo, "f").write_text(TEXT)
    # As version 0.1.0 could leave it: a folder, and no record.
    (repo.path / ".git" / "prun" / "resolve" / "topic" / "resolution.json").unlink()
    said = inside(capsys, repo.path, "resolve", "topic")
    folder = place_of(repo, "").parent / "topic"
    assert (said.code, said.err.splitlines()[0]) == (
        0,
        f"warning: {folder} was there, and no open resolution knows it: it is topic.stale-1 now",
    )
    assert folder.with_name("topic.stale-1").joinpath("f").read_text() == TEXT
