"""What units share with the user is seen to change, whatever was changed, and looking changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.observe.flags import FlagLimits, Observation, judge
from gitprun.observe.snapshot import (
    BASELINE,
    FINAL,
    RepositorySnapshot,
    read_snapshot,
    record_snapshot,
    recorded_snapshot,
    write_snapshot,
)
from gitprun.observe.snapshotter import Snapshotter
from gitprun.observe.touched import FolderWatcher
from tests.support.repos import Repo, make_bare, make_repo
from tests.support.workshop import fingerprint


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r", a_dot_txt="1\n", b_dot_txt="1\n")
    repo.git("tag", "v1")
    repo.branch("topic")
    return repo


def look(repo: Repo, root: Path | None = None) -> RepositorySnapshot:
    return Snapshotter(repo.repository, root=root).look_closely(5.0)


def drift(
    start: RepositorySnapshot, now: RepositorySnapshot, root: Path | None = None
) -> list[tuple[str, tuple[str, ...]]]:
    snapshot = Observation(time=0.0, start=start, repository=now, root=str(root or ""))
    return [(flag.text, flag.about) for flag in judge(None, snapshot, FlagLimits(warn_at=9)).flags]


def orphan(repo: Repo) -> str:
    return repo.git("commit-tree", "HEAD^{tree}", "-m", "x")


def replaced(repo: Repo) -> None:
    repo.git("replace", "v1", repo.commit("other", c_dot_txt="2\n"))


TAMPERING: dict[str, tuple[Callable[[Repo], object], list[str]]] = {
    "main moved": (lambda r: r.git("update-ref", "refs/heads/main", orphan(r)), ["ref-drift"]),
    "branch deleted": (lambda r: r.git("branch", "-D", "topic"), ["ref-drift"]),
    "tag moved": (lambda r: r.git("tag", "-f", "v1", orphan(r)), ["ref-drift"]),
    "stash made": (lambda r: (r.write("a.txt", "wip\n"), r.git("stash", "-q")), ["ref-drift"]),
    "note made": (lambda r: r.git("notes", "add", "-m", "x"), ["ref-drift"]),
    "other branch checked out": (lambda r: r.switch("topic"), ["ref-drift"]),
    "object replaced": (replaced, ["ref-drift"]),
    "setting": (lambda r: r.git("config", "core.hooksPath", "/tmp/evil"), ["config-drift", "hook-drift"]),
    "bare": (lambda r: r.git("config", "core.bare", "true"), ["config-drift"]),
    "worktree settings": (lambda r: r.write(".git/config.worktree", "[core]\n\tbare = true\n"), ["config-drift"]),
    "exclude": (lambda r: r.write(".git/info/exclude", "*\n"), ["config-drift"]),
    "attributes": (lambda r: r.write(".git/info/attributes", "* -text\n"), ["config-drift"]),
    "grafts": (lambda r: r.write(".git/info/grafts", ""), ["config-drift"]),
    "alternates": (lambda r: r.write(".git/objects/info/alternates", "/tmp\n"), ["config-drift"]),
    "hook": (lambda r: r.hook("pre-commit", "exit 0"), ["hook-drift"]),
    "sample": (lambda r: (r.path / ".git/hooks/post-merge.sample").chmod(0o755), []),
}  # fmt: skip


@pytest.mark.parametrize("act", TAMPERING)
def test_tampering_is_flagged_for_its_own_reason(repo: Repo, act: str) -> None:
    repo.write(".git/hooks/post-merge.sample", "#!/bin/sh\n")
    start = look(repo)
    change, flags = TAMPERING[act]
    change(repo)
    assert [text for text, _ in drift(start, look(repo))] == flags


def test_hooks_elsewhere_are_watched_too(repo: Repo) -> None:
    repo.write(".husky/_/pre-commit", "#!/bin/sh\n")
    repo.write(".git/info/exclude", ".husky/_\n")
    repo.git("config", "core.hooksPath", ".husky/_")
    start = look(repo)
    repo.write(".husky/_/pre-commit", "#!/bin/sh\nevil\n")
    assert drift(start, look(repo)) == [("hook-drift", (f"{repo.path}/.husky/_/pre-commit",))]


def test_samples_are_no_news_when_hooks_come_from_elsewhere(repo: Repo) -> None:
    repo.write(".git/hooks/pre-push.sample", "#!/bin/sh\n")
    start = look(repo)
    repo.git("config", "core.hooksPath", "/tmp/evil")
    assert drift(start, look(repo)) == [("config-drift", ("config",)), ("hook-drift", ("/tmp/evil/",))]


def test_another_worktree_that_vanished(repo: Repo, tmp_path: Path) -> None:
    repo.worktree(tmp_path / "w", "topic")
    start = look(repo)
    repo.git("worktree", "remove", str(tmp_path / "w"))
    assert drift(start, look(repo)) == [("ref-drift", ("worktrees/w/HEAD ref: refs/heads/topic -> gone",))]


def test_our_own_refs_and_worktrees_are_no_drift(repo: Repo, tmp_path: Path) -> None:
    start = look(repo)
    repo.git("update-ref", "refs/prun/r1/alpha", "HEAD")
    repo.worktree(tmp_path / "w", "prun/r1/alpha", new=True)
    assert drift(start, look(repo)) == []


def test_a_unit_that_stands_on_no_branch_is_no_drift(repo: Repo, tmp_path: Path) -> None:
    root = tmp_path / "w"
    start = look(repo, root)
    repo.git("worktree", "add", "-q", "--detach", str(root / "r1" / "alpha"))
    assert drift(start, look(repo, root), root) == []
    # Of nobody's run, or on a branch of the user's: that is told.
    repo.git("worktree", "add", "-q", "--detach", str(root / "named" / "beta"))
    repo.git("worktree", "add", "-q", "-b", "side", str(root / "r1" / "gamma"))
    (flag,) = drift(start, look(repo, root), root)
    assert [row.split(" ")[0] for row in flag[1]] == ["refs/heads/side", "worktrees/beta/HEAD", "worktrees/gamma/HEAD"]


def test_housekeeping_is_no_drift(repo: Repo) -> None:
    start = look(repo)
    repo.git("gc", "-q")
    repo.git("update-server-info")
    assert drift(start, look(repo)) == []


def test_what_the_checkout_holds(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.txt", "wip\n")
    repo.write("deep/er/new.txt", "x")
    repo.write("dist/bundle.js", "x")
    repo.write("node_modules/x/index.js", "x")
    repo.write(".git/info/exclude", "*.cache\ndist\nnode_modules\nwork\n")
    repo.write("t.cache", "x")
    repo.write("work/r1/u/file", "x")
    (repo.path / "b.txt").unlink()
    seen = look(repo, repo.path / "work").checkout
    assert seen is not None
    assert seen.dirty is not None
    assert sorted(seen.dirty) == ["a.txt", "b.txt", "deep/er/new.txt"]
    assert (seen.dirty["b.txt"].stamp, seen.dirty["a.txt"].size) == ((-1, 0), 4)
    assert seen.files == 3


def test_a_bare_repository_has_no_checkout(repo: Repo, tmp_path: Path) -> None:
    bare = look(make_bare(tmp_path / "b.git", repo))
    assert bare.checkout is None
    assert {*bare.refs, *bare.heads} == {"HEAD", "refs/heads/main", "refs/heads/topic", "refs/tags/v1"}


def test_an_attentive_look_sees_what_a_fresh_one_sees(repo: Repo) -> None:
    watcher = FolderWatcher()
    eye = Snapshotter(repo.repository, watcher=watcher)

    def see() -> RepositorySnapshot:
        watcher.pump()
        return eye.look_closely(5.0, whole=False)

    assert see() == look(repo)
    for change in (
        lambda: repo.write("a.txt", "1\n2\n"),
        lambda: repo.write("new/x", "x"),
        lambda: repo.write("new/y", "x"),
        lambda: repo.git("add", "-A"),
        lambda: repo.git("commit", "-qm", "x"),
        lambda: (repo.path / "new" / "x").unlink(),
        lambda: repo.git("checkout", "-q", "topic", "--force"),
        lambda: None,
    ):
        change()
        assert see() == look(repo)
    eye.close()
    watcher.close()


def test_looking_writes_nothing_and_heeds_no_lock(repo: Repo) -> None:
    # git status would like to write this index: the file's time is not what it remembers.
    os.utime(repo.path / "a.txt", (1, 1))
    for name in ("index.lock", "config.lock", "packed-refs.lock", "HEAD.lock"):
        (repo.path / ".git" / name).touch()
    before = fingerprint(repo.path), os.stat(repo.path / ".git" / "index").st_mtime_ns
    look(repo)
    assert (fingerprint(repo.path), os.stat(repo.path / ".git" / "index").st_mtime_ns) == before


def test_a_fifo_among_the_settings_is_not_waited_for(repo: Repo) -> None:
    start = look(repo)
    os.mkfifo(repo.path / ".git" / "info" / "sparse-checkout")
    os.mkfifo(repo.path / ".git" / "hooks" / "pre-push")
    assert [text for text, _ in drift(start, look(repo))] == ["config-drift", "hook-drift"]


def test_records_come_back_as_they_were(repo: Repo) -> None:
    repo.write("sp ace\udcff", "x")
    seen, folder = look(repo), repo.repository.state / "runs" / "r1"
    folder.mkdir(parents=True)
    record_snapshot(repo.repository.state, "r1", BASELINE, seen)
    record_snapshot(repo.repository.state, "r1", BASELINE, RepositorySnapshot())
    assert recorded_snapshot(repo.repository.state, "r1", BASELINE) == seen
    for said in (RepositorySnapshot(), seen):
        record_snapshot(repo.repository.state, "r1", FINAL, said)
        assert recorded_snapshot(repo.repository.state, "r1", FINAL) == said
    assert recorded_snapshot(repo.repository.state, "r2", BASELINE) is None


@pytest.mark.parametrize(
    "record", [None, 5, [], {}, {"v": 1}, {**write_snapshot(RepositorySnapshot()), "refs": 3}, {"v": 2}, {"v": 3}]
)
def test_other_records_are_none(record: object) -> None:
    assert read_snapshot(record) is None
