"""What a worker may spoil in the user's repository: each act is told for the right reason, and each is put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.recovery.undo_drift import put_back
from tests.support.drifting import Scene, fits, make_scene, state_of, untouched

MOVED_ELSEWHERE = "not by a commit in the checkout that is on it"
EVIL = "$(git commit-tree -p main -m evil main^{tree})"

# What the worker does in the user's checkout; what is told (``!``: it keeps the unit from landing).
ACTS = {
    "main is moved on": (
        f"cd $WORK; git update-ref refs/heads/main {EVIL}",
        [f"! refs/heads/main moved from <main> to ... (1 commit on top; {MOVED_ELSEWHERE})"],
    ),
    "main is moved back": (
        "cd $WORK; git update-ref refs/heads/main main~1",
        ["! refs/heads/main moved from <main> to <first> (not on top of what it was)"],
    ),
    "a branch is deleted": (
        "git branch -q -D topic",
        ["! refs/heads/topic is gone (it was at <topic>)"],
    ),
    "a branch is forced elsewhere": (
        "git branch -q -f topic main",
        ["! refs/heads/topic moved from <topic> to <main> (not on top of what it was; reflog: branch: Reset to main)"],
    ),
    "a branch is renamed": (
        "git branch -m topic elsewhere",
        [
            "! refs/heads/topic is gone (it was at <topic>)",
            "  refs/heads/elsewhere is new, at <topic> (reflog: Branch: renamed ... to refs/heads/elsewhere)",
        ],
    ),
    "a tag is moved": ("git tag -f v1 main", ["! refs/tags/v1 moved from ... to <main> (tags stay where they are)"]),
    "a tag is deleted": ("git tag -d v1", ["! refs/tags/v1 is gone (it was at ...) (tags stay where they are)"]),
    "a stash is dropped": (
        "git stash drop -q",
        [
            "! refs/stash moved from ... to ... (what was stashed is not in the list any more)",
            "! the reflog of refs/stash was cut (1 entry less)",
        ],
    ),
    "all stashes are dropped": (
        "git stash clear",
        ["! refs/stash is gone (it was at ...) (what was stashed is not in the list any more)"],
    ),
    "a hook is planted": (
        "printf '#!/bin/sh\\n' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push",
        ["! hooks/pre-push is new"],
    ),
    "a hook is changed": ("echo evil >>.git/hooks/pre-commit", ["! hooks/pre-commit changed"]),
    "a hook is switched off": ("chmod -x .git/hooks/pre-commit", ["! hooks/pre-commit has another mode"]),
    "a hook is removed": ("rm .git/hooks/pre-commit", ["! hooks/pre-commit is gone"]),
    "hooks are looked for elsewhere": ("git config core.hooksPath /evil", ["! config: core.hookspath is new"]),
    "the repository is called bare": ("git config core.bare true", ["! config: core.bare has another value"]),
    "somebody else commits": ("git config user.name Eve", ["! config: user.name has another value"]),
    "an alias is planted": ("git config alias.st '!evil'", ["! config: alias.st is new"]),
    "pushes go elsewhere": ("git config remote.origin.url /evil", ["! config: remote.origin.url has another value"]),
    "a setting is removed": ("git config --unset user.name", ["! config: user.name is gone"]),
    "settings are garbage": ("echo '[oops' >>.git/config", ["! config cannot be read by git any more"]),
    "HEAD of the checkout": (
        "git symbolic-ref HEAD refs/heads/topic",
        ["! HEAD is refs/heads/topic, it was refs/heads/main (by no command that changes branches)"],
    ),
    "HEAD of another worktree": (
        "git -C $OTHER symbolic-ref HEAD refs/heads/topic",
        ["! worktrees/other/HEAD is refs/heads/topic, it was refs/heads/side (by no command that changes branches)"],
    ),
    "HEAD is garbage": (
        "echo oops >.git/HEAD",
        ["! HEAD is ?, it was refs/heads/main (by no command that changes branches)"],
    ),
    "an object is replaced": (
        "git replace main topic",
        ["! refs/replace/... is new, at <topic> (git shows another object in its place)"],
    ),
    "objects are borrowed": ("echo /evil >.git/objects/info/alternates", ["! objects/info/alternates is new"]),
    "files are ignored": (
        "echo '*' >>.git/info/exclude",
        ["! info/exclude changed", "  mine is not among the changes in your checkout any more"],
    ),
    "attributes are planted": ("echo '* filter=x' >.git/info/attributes", ["! info/attributes is new"]),
    "history is grafted": ("git rev-parse main >.git/info/grafts", ["! info/grafts is new"]),
    "history is cut": ("git rev-parse main >.git/shallow", ["! shallow is new"]),
    "reflogs expire": (
        "git reflog expire --expire=now --all; git gc -q --prune=now",
        [
            "! the reflog of HEAD was cut (7 entries less)",
            "! the reflog of refs/heads/main was cut (2 entries less)",
            "! the reflog of refs/heads/side was cut (1 entry less)",
            "! the reflog of refs/heads/topic was cut (2 entries less)",
            "! the reflog of refs/stash was cut (2 entries less)",
            "! the reflog of worktrees/other/HEAD was cut (2 entries less)",
        ],
    ),
    "another worktree is forgotten": (
        "rm -rf .git/worktrees/other",
        ["! the worktree other is no longer registered (it lay at OTHER)"],
    ),
    "a packed ref is edited": (
        "git pack-refs --all; grep -v topic .git/packed-refs >p; mv p .git/packed-refs",
        ["! refs/heads/topic is gone (it was at <topic>)"],
    ),
    "a branch is written by hand": (
        "git rev-parse topic >.git/refs/heads/byhand",
        ["! refs/heads/byhand is new, at <topic> (made without git's own commands: it has no reflog)"],
    ),
    "a branch is pushed": (
        "git -C $WORK push -q --no-verify $REPO main:refs/heads/surprise",
        ["! refs/heads/surprise is new, at <main> (pushed into this repository)"],
    ),
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return make_scene(tmp_path)


@pytest.mark.parametrize("act", ACTS)
def test_an_act_is_told_and_put_back(scene: Scene, act: str) -> None:
    script, wanted = ACTS[act]
    before, files = state_of(scene), untouched(scene)
    scene.act(script)
    told = scene.told()
    assert len(told) == len(wanted), told
    assert [one for one, text in zip(told, wanted, strict=True) if not fits(one, text)] == [], told
    assert {drift.units for drift in scene.drifts} == {("r1/u",)}
    rehearsed = put_back(scene.witness.repository, scene.ledger, "u", dry_run=True)
    report = put_back(scene.witness.repository, scene.ledger, "r1/u")
    assert [item.outcome.why for item in report.items if item.outcome.state != "put-back"] == []
    assert [item.outcome.state for item in rehearsed.items] == [item.outcome.state for item in report.items]
    after = state_of(scene)
    if act == "a branch is renamed":
        scene.repo.git("branch", "-D", "elsewhere")
        after = state_of(scene)
    assert after == before
    assert untouched(scene) == files
    assert scene.repo.git("fsck", "--strict", "--no-dangling", "--connectivity-only") == ""
    assert not any(drift.is_open for drift in scene.drifts)
    assert not scene.witness.folder.exists()


def test_what_prun_and_the_unit_itself_change_is_no_drift(scene: Scene) -> None:
    scene.act(
        "cd $WORK; git commit -q --allow-empty -m own; git checkout -q --detach; git bisect start;"
        " git -C $REPO update-ref refs/prun/r1/x main; git -C $REPO update-ref refs/heads/prun/r1/other main;"
        " git -C $REPO pack-refs --all; git -C $REPO -c gc.reflogExpire=never -c gc.reflogExpireUnreachable=never gc -q"
    )
    assert scene.told() == []


def test_nothing_of_an_address_is_written_down(scene: Scene) -> None:
    scene.act("git config url.https://me:word@h.test/.insteadOf x; git config remote.origin.url https://a:pass@b.test/")
    assert scene.told() == [
        "! config: remote.origin.url has another value",
        "! config: url.https://***@h.test/.insteadof is new",
    ]
    kept = [path for path in scene.witness.folder.rglob("*") if path.suffix == ".json"]
    text = b"".join(path.read_bytes() for path in [*kept, scene.ledger.path])
    assert [word for word in (b"secret", b"word@", b"pass@") if word in text] == []
    put_back(scene.witness.repository, scene.ledger, "u")
    assert scene.repo.git("config", "remote.origin.url") == "https://user:secret@example.test/x.git"
    assert scene.repo.git("config", "--get-regexp", "^url", ok=(1,)) == ""
