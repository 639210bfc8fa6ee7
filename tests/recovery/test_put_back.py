"""Putting back: objects come back after a gc, what the user changed again is left alone, and his files always are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gitprun.observe.keep as keeping
from gitprun.ledger.drift_record import gates
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.recovery.undo_drift import NothingFound, accept, put_back
from tests.support.drifting import Scene, make_scene, reflog, state_of, untouched

PRUNE = "git reflog expire --expire=now --expire-unreachable=now --all; git gc -q --prune=now"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return make_scene(tmp_path)


def results(scene: Scene, **options: object) -> dict[str, str]:
    """Put back, and say what came of each thing."""
    report = put_back(scene.witness.repository, scene.ledger, "u", **options)  # type: ignore[arg-type]
    return {item.finding.thing.name: item.outcome.state for item in report.items}


def test_a_branch_and_the_stash_come_back_after_everything_was_pruned(scene: Scene) -> None:
    stash, before = scene.repo.git("stash", "list"), state_of(scene)
    tree = scene.repo.git("rev-parse", "stash@{1}^{tree}")
    scene.act(f"git tag -d v1; git branch -q -D topic; git stash clear; {PRUNE}")
    assert scene.repo.git("cat-file", "-e", scene.topic, ok=(1, 128)) == ""
    report = put_back(scene.repo.repository, scene.ledger, "u")
    assert report.is_done
    assert report.brought > 0
    assert scene.repo.git("stash", "list") == stash
    assert scene.repo.git("rev-parse", "stash@{1}^{tree}") == tree
    assert scene.repo.files("topic") == {"a": "2", "t": "t"}
    assert state_of(scene) == before
    assert scene.repo.git("fsck", "--strict", "--no-dangling") == ""


def test_commits_made_after_the_first_worker_started_come_back_too(scene: Scene) -> None:
    scene.act("true")
    scene.repo.git("branch", "later", scene.repo.git("commit-tree", "-p", "main", "-m", "later", "main^{tree}"))
    later = scene.repo.oid("later")
    scene.act(f"git branch -q -D later; {PRUNE}")
    put_back(scene.repo.repository, scene.ledger, "u", only=["refs/heads/later"])
    assert scene.repo.oid("later") == later
    assert scene.repo.git("fsck", "--strict", "--no-dangling") == ""


def test_where_nothing_can_be_linked_commits_are_pinned(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_LINKED", 0)
    note = scene.witness.begin(scene.suspect)
    assert note == (
        "objects are not kept aside, only refs are pinned: more than 0 objects are not packed (git gc packs them)"
    )
    scene.sh(f"git tag -d v1; git branch -q -D topic; git stash clear; {PRUNE}")
    scene.witness.end("r1/u")
    before = scene.repo.git("for-each-ref", "refs/prun/keep/r1")
    assert before != ""
    assert put_back(scene.repo.repository, scene.ledger, "u").is_done
    assert scene.repo.git("fsck", "--strict", "--no-dangling", "--connectivity-only") == ""
    assert len(scene.repo.git("stash", "list").splitlines()) == 2
    assert scene.repo.git("for-each-ref", "refs/prun/keep") == ""


def test_what_was_not_kept_is_said(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_LINKED", 0)
    monkeypatch.setattr("gitprun.observe.drift_observer.pin_commits", lambda *args: None)
    scene.act(f"git tag -d v1; git branch -q -D topic; {PRUNE}")
    report = put_back(scene.repo.repository, scene.ledger, "u", only=["refs/heads/topic"])
    assert [(item.outcome.state, item.outcome.why) for item in report.items] == [
        ("refused", "its commits are gone, and were not kept")
    ]
    assert "r1/u" in gates(scene.ledger.read().events)


def test_what_the_user_moved_again_is_left_alone(scene: Scene) -> None:
    scene.act("git branch -q -f topic main; git config user.name Eve; echo evil >>.git/hooks/pre-commit")
    scene.sh("git branch -q -f topic main~1; git config user.name Me; echo mine >>.git/hooks/pre-commit")
    assert results(scene) == {"user.name": "left", "hooks/pre-commit": "left", "refs/heads/topic": "left"}
    assert scene.repo.git("rev-parse", "topic") == scene.first
    assert scene.repo.git("config", "user.name") == "Me"
    assert gates(scene.ledger.read().events) == {}


def test_a_setting_of_the_user_survives_beside_one_that_goes_back(scene: Scene) -> None:
    scene.act(
        "git config core.hooksPath /evil; git config --add remote.origin.url /evil; git config branch.main.remote o"
    )
    scene.repo.git("config", "my.own", "1")
    assert results(scene) == {"core.hookspath": "put-back", "remote.origin.url": "put-back"}
    assert scene.repo.git("config", "--get-all", "remote.origin.url") == "https://user:secret@example.test/x.git"
    assert scene.repo.git("config", "my.own") == "1"
    assert scene.repo.git("config", "branch.main.remote") == "o"
    assert scene.repo.git("config", "core.hooksPath", ok=(1,)) == ""


def test_what_a_ref_and_a_hook_held_meanwhile_is_kept(scene: Scene) -> None:
    scene.act("git branch -q -f topic main; echo evil >>.git/hooks/pre-commit")
    put_back(scene.repo.repository, scene.ledger, "u")
    (pin,) = scene.repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/prun/trash").splitlines()
    assert pin.split(" ")[1] == scene.base
    aside = scene.repo.path / ".git/prun/runs/r1/drift-d1/hooks+pre-commit"
    assert aside.read_text() == "#!/bin/sh\nexit 0\nevil\n"
    assert scene.repo.path.joinpath(".git/hooks/pre-commit").read_text() == "#!/bin/sh\nexit 0\n"


def test_a_checkout_whose_files_followed_is_told_how_to_go_back(scene: Scene) -> None:
    files = untouched(scene)
    scene.act("echo evil >>a; git -c core.hooksPath=/dev/null commit -qam evil; git reset -q --hard main~2")
    report = put_back(scene.repo.repository, scene.ledger, "u", only=["refs"])
    assert [(item.finding.thing.name, item.outcome.state, item.outcome.why) for item in report.items] == [
        (
            "refs/heads/main",
            "refused",
            f"the files of {scene.repo.path} have followed: git -C {scene.repo.path} reset --keep {scene.base[:10]}",
        )
    ]
    assert not report.is_done
    scene.sh(f"git -C {scene.repo.path} reset -q --keep {scene.base[:10]}")
    assert put_back(scene.repo.repository, scene.ledger, "u").is_done
    assert untouched(scene) == files
    assert gates(scene.ledger.read().events) == {}


def test_a_commit_on_the_branch_that_is_checked_out_is_put_back_when_it_is_named(scene: Scene) -> None:
    scene.act("git -c core.hooksPath=/dev/null commit -q --allow-empty -m maybe-mine; git branch -q -D topic")
    with pytest.raises(OperationRefused, match="nothing of what changed is among nonsense"):
        put_back(scene.repo.repository, scene.ledger, "u", only=["nonsense"])
    report = put_back(scene.repo.repository, scene.ledger, "u", dry_run=True)
    assert [note.partition(" moved")[0] for note in report.notes] == ["refs/heads/main"]
    assert results(scene, only=["refs/heads/main"]) == {"refs/heads/main": "put-back"}
    assert scene.repo.head == scene.base
    assert "r1/u" in gates(scene.ledger.read().events)


def test_hooks_in_the_users_checkout_are_his_to_change(scene: Scene) -> None:
    scene.repo.write(".husky/pre-push", "#!/bin/sh\n", executable=True)
    scene.repo.git("config", "core.hooksPath", ".husky")
    scene.act("echo evil >>.husky/pre-push")
    report = put_back(scene.repo.repository, scene.ledger, "u")
    (item,) = report.items
    assert item.outcome.state == "refused"
    assert item.outcome.why.startswith("it is a file of your checkout, which is yours to change; it was ")
    assert Path(item.outcome.why.rpartition("it was ")[2]).read_text() == "#!/bin/sh\n"
    assert scene.repo.read(".husky/pre-push") == "#!/bin/sh\nevil\n"


def test_what_a_linked_hook_leads_to_counts(scene: Scene) -> None:
    script = scene.repo.path.parent / "shared-hook"
    script.write_text("#!/bin/sh\n")
    (scene.repo.path / ".git/hooks/commit-msg").symlink_to(script)
    scene.act("echo evil >>../shared-hook")
    assert scene.told() == ["! hooks/commit-msg changed"]
    assert results(scene) == {"hooks/commit-msg": "put-back"}
    assert script.read_text() == "#!/bin/sh\n"
    assert os.readlink(scene.repo.path / ".git/hooks/commit-msg") == str(script)


def test_a_worktree_whose_folder_is_gone_is_not_pretended_to_be_there(scene: Scene) -> None:
    scene.act("git worktree remove --force ../other; git branch -q -D side")
    report = put_back(scene.repo.repository, scene.ledger, "u")
    assert {item.finding.thing.name: (item.outcome.state, scene.plain(item.outcome.why)) for item in report.items} == {
        "other": ("refused", "its folder is gone with what was not committed: git worktree add OTHER side"),
        "refs/heads/side": ("put-back", ""),
    }
    scene.repo.git("worktree", "add", "-q", str(scene.other.path), "side")
    assert put_back(scene.repo.repository, scene.ledger, "u").is_done


def test_a_stash_made_since_stays_on_top_of_the_list_that_comes_back(scene: Scene) -> None:
    scene.act("git stash clear")
    scene.repo.write("a", "since\n")
    scene.repo.git("stash", "-q", "-m", "since")
    assert results(scene) == {"refs/stash": "left"}
    assert [row.rpartition(": ")[2] for row in scene.repo.git("stash", "list").splitlines()] == [
        "since",
        f"{scene.base[:7]} second",
        f"{scene.base[:7]} second",
    ]
    assert scene.repo.git("fsck", "--strict", "--no-dangling") == ""


def test_a_reflog_gets_its_lost_lines_back_and_keeps_what_came_after(scene: Scene) -> None:
    log = scene.repo.path / ".git/logs/refs/heads/main"
    before = reflog(log)
    scene.act("git reflog expire --expire=now refs/heads/main")
    scene.repo.git("commit", "-q", "--allow-empty", "--no-verify", "-m", "since")
    since = reflog(log)
    assert results(scene) == {"refs/heads/main": "put-back"}
    assert reflog(log) == [*before, *since]


def test_a_lock_of_another_program_is_waited_for_by_the_user(scene: Scene) -> None:
    scene.act("echo evil >>.git/hooks/pre-commit")
    lock = scene.repo.path / ".git/hooks/pre-commit.lock"
    lock.touch()
    assert results(scene) == {"hooks/pre-commit": "refused"}
    lock.unlink()
    assert results(scene) == {"hooks/pre-commit": "put-back"}


def test_accepting_lets_the_unit_land_and_changes_nothing(scene: Scene) -> None:
    scene.act("git branch -q -D topic; git config alias.x y")
    refs, config = scene.repo.git("for-each-ref"), scene.repo.path.joinpath(".git/config").read_bytes()
    report = accept(scene.repo.repository, scene.ledger, "u")
    assert (report.accepted, len(report.items), report.is_done) == (True, 2, True)
    assert gates(scene.ledger.read().events) == {}
    assert (scene.repo.git("for-each-ref"), scene.repo.path.joinpath(".git/config").read_bytes()) == (refs, config)
    assert not scene.witness.folder.exists()
    with pytest.raises(NothingFound, match="nothing is to be put back for u"):
        put_back(scene.repo.repository, scene.ledger, "u")


def test_what_was_kept_is_gone(scene: Scene) -> None:
    scene.act("git branch -q -D topic")
    (scene.witness.folder / "d1.json").write_text("{")
    with pytest.raises(PrunError, match=r"what was kept to put things back \(.*d1\.json\) is gone or damaged"):
        put_back(scene.repo.repository, scene.ledger, "u")


def test_the_user_who_is_at_work_in_a_dirty_checkout_keeps_every_byte(scene: Scene) -> None:
    scene.repo.write("a", "mine, not staged\n")
    scene.repo.write("b", "staged\n")
    scene.repo.git("add", "b")
    files = untouched(scene)
    scene.act(f"cd $WORK; git update-ref refs/heads/main main~1; git -C $REPO branch -q -D topic; {PRUNE}")
    report = put_back(scene.repo.repository, scene.ledger, "u")
    assert report.is_done
    assert untouched(scene) == files
    assert scene.repo.head == scene.base


def test_no_entry_of_the_stash_is_too_old_to_count(scene: Scene) -> None:
    then = {"GIT_COMMITTER_DATE": "@1000000000 +0000", "GIT_AUTHOR_DATE": "@1000000000 +0000"}
    scene.repo.write("a", "old\n")
    scene.repo.git("stash", env=then)
    stash = scene.repo.git("stash", "list")
    scene.act("git stash drop -q")
    assert "refs/stash moved from" in gates(scene.ledger.read().events)["r1/u"]
    assert results(scene)["refs/stash"] == "put-back"
    assert scene.repo.git("stash", "list") == stash
