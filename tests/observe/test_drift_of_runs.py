"""Whole runs with workers that spoil what is the user's: told everywhere, held back, put back, landed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.ledger.drift_record import gates, read_drifts
from tests.support.cli import prun
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, sh, unit_of

# What a worker does that sheds its guards.
SPOIL = "unset GIT_CONFIG_PARAMETERS; git -C $PRUN_REPO branch -q -D topic; echo '*.o' >>$PRUN_REPO/.git/info/exclude"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r")
    repo.branch("topic")
    return repo


def test_a_worker_that_spoils_nothing_leaves_nothing_behind(repo: Repo) -> None:
    run_units(repo, sh("u", "echo x >n.txt", workspace="worktree"), sh("c", "echo y >y.txt"))
    assert read_drifts(repo.ledger.read().events) == ()
    assert not (repo.path / ".git/prun/runs/r1/keep").exists()


def test_the_guards_hold_a_worker_that_only_errs(repo: Repo) -> None:
    script = "echo x >n.txt; git -C $PRUN_REPO commit -q --allow-empty -m oops || true; git branch -D topic || true"
    run_units(repo, sh("u", script, workspace="worktree"))
    assert read_drifts(repo.ledger.read().events) == ()
    assert repo.git("branch", "--list", "topic") == "  topic"


def test_its_work_does_not_land_until_the_drift_is_undone(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    topic = repo.oid("topic")
    run_units(
        repo,
        sh("u", f"echo x >n.txt; {SPOIL}; {RESULT}", workspace="worktree"),
        sh("c", f"echo y >y.txt; {RESULT}"),
        jobs=1,
    )
    lines = [f"refs/heads/topic is gone (it was at {topic[:10]})", "info/exclude changed"]
    assert unit_of(repo, "u").state == "ready"
    assert unit_of(repo, "u").as_json()["drift"]["lines"] == lines
    why = f"your repository changed while it ran: {lines[0]} and 1 more"
    way = "git prun undo --drift r1/u puts it back, with --accept it stays as it is"
    status = inside(capsys, repo.path, "status")
    assert why in status.out
    assert "hint: git prun undo --drift r1/u puts it back; with --accept it stays, and the unit may land" in status.err
    assert (
        "\nchanged in your repository while it ran:\n  " + "\n  ".join(lines)
        in inside(capsys, repo.path, "show", "u").out
    )
    merged = inside(capsys, repo.path, "merge", "u", "c", "--no-verify")
    assert merged.code == 1
    assert f"{why}; {way}" in merged.out + merged.err
    assert repo.files("main").keys() == {"a.txt", "y.txt"}
    listed = inside(capsys, repo.path, "undo", "--list")
    assert "changed in your repository while workers ran:" in listed.out
    assert [row.split()[:1] for row in listed.out.splitlines()[-2:]] == [["r1/u"], ["info/exclude"]]
    undone = inside(capsys, repo.path, "undo", "--drift", "u")
    assert undone.code == 0
    assert undone.out.splitlines() == [f"put back: {lines[1]}", f"put back: {lines[0]}"]
    assert undone.err == "nothing of it keeps r1/u from landing any more\n"
    assert repo.oid("topic") == topic
    assert gates(repo.ledger.read().events) == {}
    assert why not in inside(capsys, repo.path, "status").out
    assert inside(capsys, repo.path, "merge", "u", "--no-verify").code == 0
    assert repo.files("main").keys() == {"a.txt", "y.txt", "n.txt"}


def test_what_is_accepted_stays_and_the_unit_lands(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("u", f"echo x >n.txt; {SPOIL}; {RESULT}", workspace="worktree"))
    rehearsed = inside(capsys, repo.path, "undo", "--drift", "u", "--dry-run", "--only", "refs")
    assert rehearsed.out.startswith("would be put back: refs/heads/topic is gone")
    assert repo.git("branch", "--list", "topic") == ""
    said = inside(capsys, repo.path, "undo", "--drift", "r1/u", "--accept")
    assert (said.code, said.err) == (0, "accepted; r1/u can land now\n")
    assert inside(capsys, repo.path, "merge", "u", "--no-verify").code == 0
    assert inside(capsys, repo.path, "undo", "--drift", "u").err == (
        "error: nothing is to be put back for u\nhint: git prun undo --list shows what there is\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--accept",), "--accept and --only are for --drift"),
        (("--only", "refs"), "--accept and --only are for --drift"),
        (("--drift", "u", "--redo"), "--drift goes with --only and --dry-run, or with --accept, and with --json"),
        (("--drift", "u", "x"), "--drift goes with --only and --dry-run, or with --accept, and with --json"),
        (
            ("--drift", "u", "--accept", "-n"),
            "--drift goes with --only and --dry-run, or with --accept, and with --json",
        ),
    ],
)
def test_words_that_do_not_go_together(
    repo: Repo, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    found = inside(capsys, repo.path, "undo", *words)
    assert (found.code, found.err.splitlines()[0]) == (129, f"error: {said}")


def test_settings_git_cannot_read_are_put_back_all_the_same(repo: Repo) -> None:
    before = (repo.path / ".git" / "config").read_bytes()
    run_units(repo, sh("u", "echo x >n.txt; echo '[oops' >>$PRUN_REPO/.git/config", workspace="worktree"))
    said = prun(repo.path, "undo", "--drift", "u")
    assert (said.code, said.out) == (0, "put back: config cannot be read by git any more\n")
    assert said.err.startswith("warning: git cannot read ")
    assert (repo.path / ".git" / "config").read_bytes() == before


def test_a_worker_in_a_named_workspace_is_watched_too(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert inside(capsys, repo.path, "new", "mine", "feature").code == 0
    worker = repo.path.parent / "worker.sh"
    worker.write_text(f"cat >/dev/null; echo x >n.txt; {SPOIL}")
    said = prun(repo.path, "exec", "mine", "slug", "Do.", "--executor", "command", "--command", f"sh {worker}")
    assert "changed in your repository while it ran: info/exclude changed" in said.err
    merged = inside(capsys, repo.path, "merge", "feature", "--no-verify")
    assert merged.code == 1
    assert "git prun undo --drift mine puts it back" in merged.out + merged.err
    assert inside(capsys, repo.path, "undo", "--drift", "mine").code == 0
    assert repo.git("branch", "--list", "topic") == "  topic"
    assert inside(capsys, repo.path, "merge", "feature", "--no-verify").code == 0
