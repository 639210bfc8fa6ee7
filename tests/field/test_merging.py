"""Landings beside somebody's unfinished work: what is refused, what is said, what stays as it was."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

import gitprun.landing.commit
from gitprun.supervisor.process import probe_identity
from tests.support.inside import inside
from tests.support.landing import land_branches, states
from tests.support.processes import start_program
from tests.support.repos import Repo, make_repo
from tests.support.runs import run_units, sh, unit_of, workspace


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def reason(repo: Repo, branch: str) -> tuple[str, str]:
    """Try to land a branch, and give its state and why."""
    [item] = land_branches(repo, branch).items
    return item.state, item.reason


def test_commits_on_a_detached_head_are_not_taken_for_nothing(repo: Repo, tmp_path: Path) -> None:
    made = repo.worktree(tmp_path / "wt-a", "agent/a", new=True)
    made.git("checkout", "-q", "--detach")
    made.commit("c1", b="1\n")
    tip = made.commit("c2", c="1\n")
    ahead = f"the detached HEAD of {made.path} has 2 commits that it has not"
    assert reason(repo, "agent/a") == (
        "refused",
        f"it has no commit of its own, but {ahead} (git branch -f agent/a {tip[:10]} takes them)",
    )
    repo.git("branch", "-f", "agent/a", f"{tip}~1")
    report = land_branches(repo, "agent/a", dry_run=True)
    assert (states(report), report.notes) == (
        {"agent/a": "would-land"},
        (f"agent/a: {ahead.replace('2 commits', '1 commit')} (git branch -f agent/a {tip[:10]} takes them)",),
    )
    repo.git("branch", "-f", "agent/a", tip)
    assert land_branches(repo, "agent/a").notes == ()


def test_a_head_that_was_detached_elsewhere_has_nothing_to_do_with_a_branch(repo: Repo, tmp_path: Path) -> None:
    repo.branch("agent/a")
    made = repo.worktree(tmp_path / "wt", "other", new=True)
    made.git("checkout", "-q", "--detach")
    made.commit("c1", b="1\n")
    assert reason(repo, "agent/a") == ("nothing-to-merge", "it has no commit of its own")


def test_parted_from_the_detached_head(repo: Repo, tmp_path: Path) -> None:
    made = repo.worktree(tmp_path / "wt-a", "agent/a", new=True)
    made.git("checkout", "-q", "--detach")
    made.commit("c1", b="1\n")
    repo.git("branch", "-f", "agent/a", repo.git("commit-tree", "-p", "main", "-m", "x", "main^{tree}"))
    report = land_branches(repo, "agent/a", dry_run=True)
    assert [(item.state, item.reason) for item in report.items] == [("empty", "its commits change nothing")]
    repo.git("branch", "-f", "agent/a", "main")
    assert reason(repo, "agent/a")[0] == "refused"


def test_what_merges_nothing_is_told_apart(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo.branch("agent/c")
    dirty = repo.worktree(tmp_path / "wt-a", "agent/a", new=True)
    dirty.write("only.py", "uncommitted work\n")
    squashed = repo.worktree(tmp_path / "wt-b", "agent/b", new=True)
    squashed.commit("b1", b1="1\n"), squashed.commit("b2", b2="2\n")
    repo.git("merge", "-q", "--squash", "agent/b")
    repo.git("commit", "-q", "-m", "squashed b")
    tip = repo.head
    said = inside(capsys, repo.path, "merge", "agent/a", "agent/b", "agent/c", "--no-verify")
    assert (said.code, repo.head) == (1, tip)
    beside = f"work that is not committed in {dirty.path}"
    assert said.out.splitlines()[1:] == [
        f"agent/a  refused            -       it has no commit of its own, but {beside}",
        "agent/b  already-contained  -       its changes are already in main",
        "agent/c  nothing-to-merge   -       it has no commit of its own",
    ]
    assert inside(capsys, repo.path, "merge", "agent/b", "agent/c").code == 0


HALF = (
    "echo unit >a.txt; git commit -qam unit; git checkout -q -b other HEAD~1; echo other >a.txt;"
    " git commit -qam other; git checkout -q -; git merge -q other || true"
)


@pytest.fixture
def people(repo: Repo) -> Repo:
    """Let workers commit: they see no GIT_* variables."""
    repo.git("config", "user.name", "Wanda Worker")
    repo.git("config", "user.email", "wanda@example.test")
    return repo


def test_a_merge_left_half_done_does_not_land_under_any_name(people: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(people, sh("a", HALF))
    assert unit_of(people, "a").unfinished == "merge"
    said = inside(capsys, people.path, "merge", "a", "--allow-unverified")
    place = workspace(people, "r1", "a")
    assert (said.code, said.out.splitlines()[1:]) == (
        1,
        [f"prun/r1/a  skipped  -       its worker left a merge half done: finish it in {place}"],
    )
    assert people.git("ls-files", "-u") == ""
    assert Repo(place).read("a.txt").startswith("<<<<<<< ")


def test_a_merge_that_was_committed_with_its_markers(repo: Repo, tmp_path: Path) -> None:
    markers = "Example:\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"
    repo.commit("docs", docs=markers)
    made = repo.worktree(tmp_path / "wt-a", "agent/a", new=True)
    made.commit("unit", a_dot_txt="unit\n", docs=markers + "more\n")
    other = repo.worktree(tmp_path / "wt-b", "other", new=True)
    other.commit("other", a_dot_txt="other\n", docs="first\n" + markers)
    made.git("merge", "-q", "other", ok=(1,))
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "auto")
    merge = made.head[:10]
    [item] = land_branches(repo, "agent/a").items
    assert (item.state, [(one.path, one.reason) for one in item.suspects]) == (
        "suspect",
        [("a.txt", f"the merge {merge} in the branch left markers in it")],
    )
    made.commit("resolved", a_dot_txt="both\n")
    assert states(land_branches(repo, "agent/a")) == {"agent/a": "landed"}


def test_an_old_lock_that_nobody_holds_is_set_aside(repo: Repo) -> None:
    make_topic(repo)
    lock = repo.path / ".git" / "index.lock"
    lock.write_bytes(b"")
    os.utime(lock, (time.time() - 1200,) * 2)
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert report.notes == (f"{lock} was left by a git program that is gone; it is index.lock.stale-1 now",)
    assert ((repo.path / ".git" / "index.lock.stale-1").exists(), lock.exists(), repo.status()) == (True, False, [])


@pytest.mark.slow
def test_a_lock_that_may_be_somebodys_stays(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_topic(repo)
    lock = repo.path / ".git" / "index.lock"
    refused = f"error: another git program works in {repo.path}"
    lock.write_bytes(b"")
    said = inside(capsys, repo.path, "merge", "topic", "--no-verify")
    assert (said.code, said.err.splitlines()[0], lock.exists()) == (1, refused, True)
    os.utime(lock, (time.time() - 1200,) * 2)
    with open(lock, "rb"):
        said = inside(capsys, repo.path, "merge", "topic", "--no-verify")
    assert (said.code, said.err.splitlines()[0], lock.exists()) == (1, refused, True)
    # A program of git's name that works in there, such as a commit that waits for its editor.
    (tmp_path / "git-sleep").symlink_to("/bin/sleep")
    waiting = start_program([str(tmp_path / "git-sleep"), "60"], cwd=repo.path)
    try:
        said = inside(capsys, repo.path, "merge", "topic", "--no-verify")
        assert (said.code, said.err.splitlines()[0], lock.exists()) == (1, refused, True)
    finally:
        waiting.kill()
        waiting.wait()
    assert inside(capsys, repo.path, "merge", "topic", "--no-verify", "--dry-run").code == 1
    assert inside(capsys, repo.path, "merge", "topic", "--no-verify").code == 0


def make_topic(repo: Repo) -> None:
    repo.switch("topic", new=True)
    repo.commit("topic", new="n\n")
    repo.switch("main")


def test_what_does_not_come_along_is_said(people: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    people.commit("more", b_dot_txt="1\n")
    script = (
        "echo x >done; git add -A; git commit -qm done; git checkout -q -b side; echo s >side; git add -A;"
        " git commit -qm side; git checkout -q -; echo stashed >a.txt; git stash -q; echo KEY=1 >.env; ln -s /etc away"
    )
    run_units(people, sh("a", script))
    said = inside(capsys, people.path, "merge", "a")
    assert said.code == 0
    assert [line for line in said.err.splitlines() if "come along" in line] == [
        "warning: r1/a: its worker's branch/side, stash did not come along; see refs/prun/kept/r1/a/",
        "warning: r1/a: .env and 1 more did not come along; git prun show a says why",
    ]
    assert people.files("refs/prun/kept/r1/a/branch/side")["side"] == "s"
    assert people.files("refs/prun/kept/r1/a/stash")["a.txt"] == "stashed"
    assert sorted(people.files()) == ["a.txt", "b.txt", "done"]


def test_merge_messages_as_the_project_words_them(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.hook(
        "commit-msg", r"""grep -Eq '^(feat|fix|chore)(\([a-z]+\))?: ' "$1" || { echo bad subject >&2; exit 1; }"""
    )
    repo.git("checkout", "-q", "-b", "agent/a")
    repo.git("commit", "-q", "--allow-empty", "-m", "feat: a"), repo.commit("feat: a", a="1\n")
    repo.switch("main")
    before = ((repo.path / ".git" / "index").read_bytes(), repo.head)
    said = inside(capsys, repo.path, "merge", "agent/a", "--no-verify")
    assert (said.code, "the commit-msg hook refused: bad subject" in said.out) == (1, True)
    assert ((repo.path / ".git" / "index").read_bytes(), repo.head) == before
    assert not (repo.path / ".git" / "MERGE_HEAD").exists()
    repo.write("prun.toml", '[merge]\nmessage = "chore: bring {branch}"\n')
    assert inside(capsys, repo.path, "merge", "agent/a", "--no-verify").code == 0
    assert repo.git("log", "-1", "--format=%s") == "chore: bring agent/a"


def test_changes_of_line_ends_alone_are_called_that(repo: Repo) -> None:
    repo.commit("crlf", w_dot_txt="a\r\nb\r\n")
    repo.write(".gitattributes", "*.txt text eol=lf\n")
    repo.git("add", ".gitattributes")
    repo.git("commit", "-q", "-m", "rules")
    repo.switch("topic", new=True)
    repo.commit("topic", w_dot_txt="a\nb\nc\n")
    repo.git("checkout", "-q", "-f", "main")
    os.utime(repo.path / "w.txt", (1, 1))
    assert repo.status() == [" M w.txt"]
    way_out = "git would only store other line ends: git add --renormalize, commit"
    assert reason(repo, "topic") == ("refused", f"uncommitted changes are in the way: w.txt ({way_out})")
    repo.write("w.txt", "mine\n")
    assert reason(repo, "topic") == ("refused", "uncommitted changes are in the way: w.txt")


def test_a_signer_that_waits_leaves_the_work_and_says_what_helps(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gitprun.landing.commit, "SIGNING_TIMEOUT", 0.3)
    signer = tmp_path / "slow"
    signer.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nsleep 60\n")
    signer.chmod(0o755)
    for key, value in (("commit.gpgSign", "true"), ("gpg.program", str(signer)), ("user.signingKey", "ABCD")):
        repo.git("config", key, value)
    assert inside(capsys, repo.path, "new", "n", "n").code == 0
    said = inside(capsys, repo.path, "exec", "n", "s", "x", "--command", "sh -c 'echo 2 >a.txt'")
    assert said.code == 1
    assert (
        "[wrapper s] not committed: signing the commit did not finish within 0.3 s; nothing was changed;"
        " the work is pinned as refs/prun/kept/named/n/attempt-1"
    ) in said.out.splitlines()
    assert "unlock the key first (nobody sees a prompt here), or set commit.gpgSign to false" in said.err
    assert repo.files("refs/prun/kept/named/n/attempt-1")["a.txt"] == "2"
    assert repo.oid("n") == repo.head
    pid = int((tmp_path / "pid").read_text())
    assert (gone := probe_identity(pid)) is None or not Path(f"/proc/{gone.pid}/cmdline").read_bytes()


def test_bytes_that_are_no_utf8_land_as_they_are(repo: Repo, tmp_path: Path) -> None:
    repo.commit("latin", l1_dot_py=b"caf\xe9 = 1\n")
    made = repo.worktree(tmp_path / "wt", "agent/a", new=True)
    made.write("l1.py", b"caf\xe9 = 2\n")
    (tmp_path / "msg").write_bytes(b"chang\xe9 valeur\n")
    made.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "-a", "-F", str(tmp_path / "msg"))
    assert states(land_branches(repo, "agent/a")) == {"agent/a": "landed"}
    assert (repo.path / "l1.py").read_bytes() == b"caf\xe9 = 2\n"
    raw = subprocess.run(["git", "cat-file", "commit", "HEAD^2"], cwd=repo.path, capture_output=True, check=True).stdout
    assert (b"\nencoding ISO-8859-1\n" in raw, raw.endswith(b"chang\xe9 valeur\n")) == (True, True)


def test_what_a_unit_made_lands_bit_for_bit(repo: Repo) -> None:
    repo.write("run.sh", "#!/bin/sh\n")
    repo.commit(
        "files", i_dot_png=b"\x89PNG\0\1\2", w_dot_txt="a\r\nb\r\n", old_dot_txt="1\n2\n3\n4\n", nonl_dot_txt="x"
    )
    script = (
        r"printf '\211PNG\0\3\4\5' >i.png; chmod +x run.sh; ln -s run.sh go; mv old.txt moved.txt;"
        r" printf 'a\r\nB\r\n' >w.txt; printf y >nonl.txt"
    )
    run_units(repo, sh("a", script))
    place = Repo(workspace(repo, "r1", "a"))
    place.git("add", "-A")
    tree = place.git("write-tree")
    assert states(land_branches(repo, "refs/prun/r1/a")) == {"refs/prun/r1/a": "landed"}
    assert (repo.git("rev-parse", "HEAD^{tree}"), repo.status()) == (tree, [])


def test_a_merge_that_was_reverted_by_hand_is_not_called_contained(repo: Repo) -> None:
    make_topic(repo)
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    repo.git("revert", "-m", "1", "--no-edit", "HEAD")
    merge, undone = repo.oid("HEAD^")[:10], repo.head[:10]
    said = f"main had it: {undone} took {merge} back, so that new would stay away; git revert {undone} brings it back"
    assert reason(repo, "topic") == ("refused", said)
    repo.git("revert", "--no-edit", "HEAD")
    assert reason(repo, "topic") == ("already-contained", "main already has its commits")


def test_a_tag_of_the_same_name_is_not_taken_for_the_branch(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.git("tag", "topic")
    make_topic(repo)
    for command in (("forecast",), ("merge", "--no-verify")):
        said = inside(capsys, repo.path, *command, "topic")
        assert (said.code, said.err.partition(" (")[0]) == (128, "error: 'topic' is the name of a branch")
    assert inside(capsys, repo.path, "forecast", "refs/heads/topic").out.splitlines()[2:4] == [
        "   branch  paths  target  1",
        "1  topic   1      .       -",
    ]
    said = inside(capsys, repo.path, "merge", "refs/heads/topic", "--no-verify")
    assert (said.code, repo.read("new")) == (0, "n\n"), said.out
