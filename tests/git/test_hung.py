"""A git program that hangs: it has a limit, is ended with all it started, is named, and leaves nothing behind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitprun.git import command, limits
from gitprun.git.command import Git
from gitprun.git.limits import DEFAULT_TIMEOUT, keeping_work, limit_of
from gitprun.git.pipe import pipe
from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref
from gitprun.git.store import ObjectStore
from gitprun.model.errors import GitFailed, GitStopped, GitTimeout, PrunError
from gitprun.model.names import ZERO
from gitprun.supervisor.process import probe_identity
from gitprun.system.stop import Stop, stops_everything
from tests.support.cases import slow
from tests.support.repos import Repo, make_repo

SHORT = 0.6


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "STEP", 0.1)
    monkeypatch.setattr(limits, "POLL", 0.02)


@pytest.fixture
def stop() -> Iterator[Stop]:
    found = Stop()
    with stops_everything(found):
        yield found


def forked(tmp_path: Path, driver: str) -> Repo:
    """Two branches that meet in a file with a merge driver; what it runs writes its pid into ``pids``."""
    repo = make_repo(tmp_path / "r", _dot_gitattributes="*.w merge=slow\n", f_dot_w="1\n\n\n2\n")
    repo.switch("b", new=True)
    repo.commit("b", f_dot_w="B\n\n\n2\n")
    repo.switch("main")
    repo.commit("m", f_dot_w="1\n\n\nM\n")
    repo.git("config", "merge.slow.driver", driver)
    return repo


def require_gone(tmp_path: Path, repo: Repo) -> None:
    """Check that no process, lock or temporary file is left."""
    pids = [int(row) for row in (tmp_path / "pids").read_text().split()] if (tmp_path / "pids").exists() else []
    assert [pid for pid in pids if probe_identity(pid) is not None] == []
    assert repo.status() == []
    assert list((repo.path / ".git").rglob("*.lock")) == []


MERGE = ("merge-tree", "--write-tree", "main", "b")
DRIVERS = {
    "plain": "echo $$ >>{0}/pids; exec sleep 600",
    "deaf": "echo $$ >>{0}/pids; trap '' INT TERM; while :; do sleep 0.05; done",
    "gone from the group": "setsid sh -c 'echo $$ >>{0}/pids; exec sleep 600' & echo $$ >>{0}/pids; exec sleep 600",
    "orphaned": "(setsid sh -c 'echo $$ >>{0}/pids; trap \"\" INT TERM; sleep 600; :' &) ; exec sleep 600",
}


@pytest.mark.parametrize("shape", ["plain", "orphaned", *slow("deaf", "gone from the group")])
def test_a_merge_driver_that_hangs(tmp_path: Path, shape: str) -> None:
    driver = DRIVERS[shape].format(tmp_path)
    repo = forked(tmp_path, driver)
    with pytest.raises(GitTimeout) as caught:
        Git(cwd=repo.path).run(*MERGE, timeout=SHORT)
    said = f"git merge-tree did not finish within 0.6 s; it waited for the merge driver 'slow' ({driver})"
    hint = "git config merge.slow.driver shows it; the program it names does not end"
    assert (caught.value.message, caught.value.hint) == (said, hint)
    require_gone(tmp_path, repo)


def test_of_several_drivers_the_one_that_runs_is_named(tmp_path: Path) -> None:
    program = tmp_path / "slow.sh"
    program.write_text(f"echo $$ >>{tmp_path}/pids; sleep 600; :\n")
    repo = forked(tmp_path, f"sh {program} %O %A %B")
    repo.git("config", "merge.other.driver", "other %A")
    with pytest.raises(GitTimeout, match=rf"it waited for the merge driver 'slow' \(sh {program} %O %A %B\)$"):
        Git(cwd=repo.path).run(*MERGE, timeout=SHORT)
    repo.git("config", "merge.slow.driver", f"exec sh {program}")
    with pytest.raises(GitTimeout, match=rf"it waited for 'sh {program}'$"):
        Git(cwd=repo.path).run(*MERGE, timeout=SHORT)
    require_gone(tmp_path, repo)


def test_a_filter_that_hangs_leaves_no_lock(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", a="1\n")
    repo.git("config", "filter.wait.clean", f"echo $$ >>{tmp_path}/pids; sleep 600; :")
    repo.write(".git/info/attributes", "*.f filter=wait\n")
    repo.write("x.f", "1\n")
    with pytest.raises(GitTimeout, match=r"git add did not finish within 0\.6 s; it waited for the filter 'wait'"):
        Git(cwd=repo.path).run("add", "x.f", timeout=SHORT)
    assert repo.status() == ["?? x.f"]
    (repo.path / "x.f").unlink()
    require_gone(tmp_path, repo)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (".git/refs/heads/pipe", ("for-each-ref",)),
        (".git/packed-refs", ("for-each-ref",)),
        (".git/info/attributes", ("check-attr", "-a", "a")),
        (".gitattributes", ("check-attr", "-a", "a")),
    ],
)
def test_a_named_pipe_where_git_reads_a_file(tmp_path: Path, place: str, words: tuple[str, ...]) -> None:
    repo = make_repo(tmp_path / "r", a="1\n")
    (repo.path / place).unlink(missing_ok=True)
    os.mkfifo(repo.path / place)
    with pytest.raises(GitTimeout) as caught:
        Git(cwd=repo.path).run(*words, timeout=SHORT)
    said = f"git {words[0]} did not finish within 0.6 s; it waited for {repo.path / place}, which is no plain file"
    assert (caught.value.message, caught.value.hint) == (said, f"look at {repo.path / place}, and remove it")


@pytest.mark.parametrize("place", ["refs/prun/r1/a", "packed-refs"])
def test_libgit2_opens_no_named_pipe(tmp_path: Path, place: str) -> None:
    repo = make_repo(tmp_path / "r", a="1\n")
    work = repo.worktree(tmp_path / "w", "w", new=True)
    target = repo.path / ".git" / place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    os.mkfifo(target)
    name, head = "refs/prun/r1/a", repo.oid("HEAD^{commit}") if place != "packed-refs" else ZERO
    said = f"{target} is no plain file, so {name} cannot be read"
    for git_dir in (repo.path / ".git", repo.path / ".git" / "worktrees" / "w"):
        opened = open_repository(git_dir)
        with pytest.raises(PrunError) as caught:
            read_ref(opened, name)
        assert caught.value.message == said
        with pytest.raises(PrunError, match="is no plain file"):
            delete_ref(opened, name, head)
    if place != "packed-refs":
        with pytest.raises(PrunError, match="is no plain file"):
            move_ref(open_repository(repo.path / ".git"), name, head, ZERO, "test")
    assert work.path.is_dir()


def begun(tmp_path: Path) -> threading.Thread:
    """Make the pipe a driver writes to when it begins, and a thread that waits for that."""
    os.mkfifo(tmp_path / "begun")
    return threading.Thread(target=(tmp_path / "begun").read_bytes)


WAITS = "echo $$ >>{0}/pids; echo >{0}/begun; exec sleep 600"


def test_a_stop_ends_git(tmp_path: Path, stop: Stop) -> None:
    repo, waiting = forked(tmp_path, WAITS.format(tmp_path)), begun(tmp_path)
    waiting.start()
    thread = threading.Thread(target=lambda: (waiting.join(), stop.set()))
    thread.start()
    with pytest.raises(GitStopped, match="git merge-tree was stopped; it waited for the merge driver 'slow'"):
        Git(cwd=repo.path).run(*MERGE)
    thread.join()
    require_gone(tmp_path, repo)


def test_what_starts_after_a_stop_tidies_up_and_does_not_stay(
    tmp_path: Path, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TIDY_TIMEOUT", SHORT)
    repo = forked(tmp_path, "sleep 600; :")
    stop.set()
    git = Git(cwd=repo.path)
    assert git.run("rev-parse", "HEAD").text == repo.head
    with pytest.raises(GitTimeout, match=r"did not finish within 0\.6 s"):
        git.run(*MERGE)


def test_what_keeps_work_outlives_a_stop_but_not_a_second_one(
    tmp_path: Path, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, waiting = forked(tmp_path, f"echo >{tmp_path}/begun; read line <{tmp_path}/go; cp %B %A"), begun(tmp_path)
    os.mkfifo(tmp_path / "go")
    waiting.start()
    thread = threading.Thread(
        target=lambda: (waiting.join(), stop.set(), (tmp_path / "go").write_text("go\n")),
    )
    thread.start()
    with keeping_work():
        assert Git(cwd=repo.path).run(*MERGE, ok=(0, 1)).code == 0
    thread.join()
    monkeypatch.setattr(limits, "KEEP_TIMEOUT", 0.1)
    again = threading.Thread(target=lambda: ((tmp_path / "begun").read_bytes(), stop.set()))
    again.start()
    with keeping_work(), pytest.raises(GitTimeout, match="did not finish"):
        Git(cwd=repo.path).run(*MERGE)
    again.join()


def test_a_pipe_and_a_conversation_have_limits_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 600\n")
    fake.chmod(0o755)
    repo = make_repo(tmp_path / "r", a="1\n")
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    git = Git(cwd=repo.path)
    with pytest.raises(GitTimeout, match=r"git index-pack did not finish within 0\.6 s"):
        pipe((git, ("pack-objects",)), (git, ("index-pack",)), timeout=SHORT)
    monkeypatch.setattr("gitprun.git.store._TIMEOUT", SHORT)
    store = ObjectStore(git, tmp_path / "none", lambda: open_repository(repo.path / ".git"))
    with pytest.raises(GitTimeout, match=r"git cat-file did not finish within 0\.6 s"):
        store.content("0" * 40)
    store.close()
    pids = [int(row) for row in (tmp_path / "pids").read_text().split()]
    assert (len(pids), [pid for pid in pids if probe_identity(pid)]) == (3, [])


def test_a_git_that_fails_in_time_is_no_hang(tmp_path: Path, stop: Stop) -> None:
    repo = make_repo(tmp_path / "r", a="1\n")
    with pytest.raises(GitFailed):
        Git(cwd=repo.path).run("rev-parse", "--verify", "nothing")
    assert not stop.is_set()


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (("merge-tree", "--write-tree"), 120.0),
        (("for-each-ref",), 60.0),
        (("worktree", "list", "-z"), 60.0),
        (("worktree", "add"), DEFAULT_TIMEOUT),
        (("checkout-index",), DEFAULT_TIMEOUT),
        ((), DEFAULT_TIMEOUT),
    ],
)
def test_limits(words: tuple[str, ...], seconds: float) -> None:
    assert limit_of(words) == seconds


def test_files_of_another_merge_are_left_alone(tmp_path: Path) -> None:
    repo = forked(tmp_path, "sleep 600; :")
    old = repo.write(".merge_file_AAAAAA", "the user's\n")
    other = repo.write(".merge_file_of_mine", "1\n")
    while time.time() < os.stat(old).st_ctime + 0.2:
        repo.status()
    with pytest.raises(GitTimeout):
        Git(cwd=repo.path).run(*MERGE, timeout=SHORT)
    assert sorted(row[3:] for row in repo.status()) == [old.name, other.name]


def test_a_stop_between_the_start_and_the_wait(tmp_path: Path, stop: Stop) -> None:
    repo = forked(tmp_path, f"echo $$ >{tmp_path}/begun; exec sleep 600")
    os.mkfifo(tmp_path / "begun")
    running = Git(cwd=repo.path).start(*MERGE)
    (tmp_path / "pids").write_text((tmp_path / "begun").read_text())
    stop.set()
    with pytest.raises(GitStopped):
        running.wait()
    require_gone(tmp_path, repo)
    # What only begins after the stop tidies up, and may end by itself.
    assert Git(cwd=repo.path).run("rev-parse", "HEAD").text == repo.head
