"""Named workspaces: made only where nothing is in the way, and taken away without losing anything."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.events import UnitState
from gitprun.ledger.roster import parse_name, roster
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.registry.make import WorkspaceSpec, make_user_workspace
from gitprun.registry.open_workspace import alone, open_workspace_capture
from gitprun.registry.remove import Removal
from gitprun.registry.remove_user_workspace import remove_user_workspace
from tests.support.repos import Repo, make_bare, make_repo

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def make(repo: Repo, name: str, branch: str, base: str | None = None, **rest: Any) -> UnitState:
    root = repo.path.parent / "w"
    return make_user_workspace(
        repo.repository, repo.ledger, WorkspaceSpec(name=parse_name(name), branch=branch, base=base, root=root, **rest)
    )


def work(unit: UnitState) -> Repo:
    return Repo(Path(unit.as_json()["path"]))


def known(repo: Repo) -> dict[str, UnitState]:
    return dict(roster(repo.ledger.read().events).units)


def take(repo: Repo, name: str, *, discard: bool = False) -> Removal:
    return remove_user_workspace(repo.repository, repo.ledger, known(repo)[name], discard_left_out=discard)


def traces(repo: Repo) -> tuple[list[str], list[str], list[str], list[str]]:
    """List everything that making a workspace could leave."""
    root, kept = repo.path.parent / "w", repo.path / ".git" / "prun" / "runs"
    rows = repo.git("worktree", "list", "--porcelain").splitlines()
    return (
        repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines(),
        [row for row in rows if row.startswith("worktree ")],
        sorted(os.listdir(root / "named")) if (root / "named").is_dir() else [],
        [event.kind for event in repo.ledger.read().events] + [p.name for p in kept.rglob("index")],
    )


def refuses(repo: Repo, name: str, branch: str, base: str | None = None, **rest: Any) -> tuple[str, str]:
    """Try to make a workspace, and check that the refusal left nothing."""
    before = traces(repo)
    with pytest.raises(PrunError) as problem:
        make(repo, name, branch, base, **rest)
    assert traces(repo) == before
    return problem.value.message, problem.value.hint


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_a_workspace_on_a_branch_of_its_own(repo: Repo, kind: str) -> None:
    unit = make(repo, "wave1/x", "wave1/reports", kind=kind)
    place = work(unit)
    assert place.path == repo.path.parent / "w" / "named" / "wave1" / "x"
    assert (place.git("branch", "--show-current"), place.head, place.status()) == ("wave1/reports", repo.head, [])
    assert repo.oid("refs/heads/wave1/reports") == repo.oid("refs/prun/base/named/wave1/x") == repo.head
    assert (unit.state, unit.as_json()["setup"], unit.base) == ("idle", "none", repo.head)
    assert repo.status() == []
    assert repo.git("config", "--get-regexp", "^branch", ok=(1,)) == ""


def test_the_base_is_head_not_main(repo: Repo) -> None:
    repo.switch("feature", new=True)
    ahead = repo.commit("ahead", b_dot_txt="2\n")
    assert work(make(repo, "a", "x")).head == ahead
    assert work(make(repo, "b", "y", "main")).head != ahead


def test_a_bad_base_fails_loudly(repo: Repo) -> None:
    assert refuses(repo, "a", "x", "nowhere") == (
        "'nowhere' names no commit here",
        "git log --oneline -5 shows commits; git branch, names",
    )
    assert refuses(repo, "a", "x", "origin/main")[1] == (
        "there is no remote-tracking branch of that name; the local branch is 'main'"
    )


def test_no_commit_yet(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    empty = Repo(tmp_path / "r")
    empty.git("init", "-q", "-b", "trunk")
    assert refuses(empty, "a", "x")[0] == "this repository has no commits yet"


@pytest.mark.parametrize("branch", ["", "a..b", "-x", "HEAD", "a b", "x.lock", "a~1", "@{-1}", "x\n"])
def test_no_name_for_a_branch(repo: Repo, branch: str) -> None:
    assert refuses(repo, "a", branch)[0] == f"invalid branch name {branch!r}"


def test_branches_of_runs_are_theirs(repo: Repo) -> None:
    assert refuses(repo, "a", "prun/r1/x")[0] == "branches below prun/ belong to the units of runs"


def test_a_branch_that_exists(repo: Repo) -> None:
    repo.branch("x")
    assert refuses(repo, "a", "x") == (
        "the branch x already exists",
        "git prun new a x --resume goes on with it; or choose another name",
    )
    repo.commit("ahead", b_dot_txt="2\n")
    place = work(make(repo, "a", "x", resume=True))
    assert (place.head, place.git("branch", "--show-current")) == (repo.oid("x"), "x")
    assert place.head != repo.head


def test_a_branch_that_another_worktree_holds(repo: Repo, tmp_path: Path) -> None:
    other = repo.worktree(tmp_path / "wt-a", "agent/a", new=True)
    hint = "go on there, or choose another name for the branch"
    assert refuses(repo, "a", "agent/a") == (f"the branch agent/a is checked out in {other.path} (clean)", hint)
    other.write("a.txt", "agent work\n")
    message = f"the branch agent/a is checked out in {other.path} (1 uncommitted change)"
    assert refuses(repo, "a", "agent/a", resume=True) == (message, hint)
    assert refuses(repo, "a", "agent/a", kind="clone")[0] == message
    other.write("new.txt", "more\n")
    repo.git("worktree", "lock", "--reason", "mine", str(other.path))
    assert refuses(repo, "a", "agent/a")[0] == (
        f"the branch agent/a is checked out in {other.path} (2 uncommitted changes, locked: mine)"
    )
    assert refuses(repo, "a", "main")[0] == f"the branch main is checked out in {repo.path} (clean)"


def test_a_look_at_another_worktree_starts_none_of_its_programs(repo: Repo, tmp_path: Path) -> None:
    other = repo.worktree(tmp_path / "wt-a", "agent/a", new=True)
    repo.git("config", "core.fsmonitor", f"touch {tmp_path}/started; false")
    refuses(repo, "a", "agent/a")
    assert not (tmp_path / "started").exists()
    assert other.path.is_dir()


def test_names_that_begin_one_another(repo: Repo) -> None:
    repo.branch("billing/per-seat")
    repo.branch("release/1")
    hint = "choose another name"
    assert refuses(repo, "a", "billing") == (
        "the branch billing cannot be made beside billing/per-seat: one name is the beginning of the other",
        hint,
    )
    assert refuses(repo, "a", "release/1/hotfix") == (
        "the branch release/1/hotfix cannot be made beside release/1: one name is the beginning of the other",
        hint,
    )
    make(repo, "a", "release/2")


def test_names_of_workspaces_that_begin_one_another(repo: Repo) -> None:
    place = work(make(repo, "wave1/x", "x")).path
    assert refuses(repo, "wave1", "y")[0] == f"the workspace wave1/x is in the way of wave1 ({place})"
    assert refuses(repo, "wave1/x/y", "y")[0] == f"the workspace wave1/x is in the way of wave1/x/y ({place})"
    assert refuses(repo, "Wave1/X", "y")[0] == f"the workspace wave1/x is in the way of Wave1/X ({place})"
    assert refuses(repo, "wave1/x", "y")[0] == f"the workspace wave1/x is there already, on the branch x ({place})"
    assert refuses(repo, "wave1/x", "x")[0] == f"the workspace wave1/x is there already ({place})"
    assert make(repo, "wave1/x", "x", resume=True).as_json()["path"] == str(place)
    assert work(make(repo, "wave1-x", "y")).path != place


def test_a_worktree_whose_folder_is_gone(repo: Repo, tmp_path: Path) -> None:
    other = repo.worktree(tmp_path / "wt-a", "agent/a", new=True)
    tip = other.commit("agent work", b_dot_txt="unmerged\n")
    bystander = repo.worktree(tmp_path / "wt-b", "agent/b", new=True)
    shutil.rmtree(other.path)
    shutil.rmtree(bystander.path)
    assert refuses(repo, "a", "agent/a") == (
        f"the branch agent/a belongs to the worktree {other.path}, whose folder is gone",
        "git prun new a agent/a --resume drops that registration and goes on with the branch",
    )
    unit = make(repo, "a", "agent/a", resume=True)
    assert (work(unit).head, work(unit).read("b.txt")) == (tip, "unmerged\n")
    assert unit.as_json()["notes"] == [
        f"the registration of {other.path}, whose folder is gone, was dropped; the branch agent/a is kept"
    ]
    rows = repo.git("worktree", "list", "--porcelain")
    assert (str(other.path) in rows, str(bystander.path) in rows) == (False, True)


def test_what_only_a_dropped_registration_knew_is_pinned(repo: Repo, tmp_path: Path) -> None:
    other = repo.worktree(tmp_path / "wt-a", "agent/a", new=True)
    lost = other.commit("thrown away", b_dot_txt="1\n")
    other.git("reset", "-q", "--hard", "HEAD^")
    shutil.rmtree(other.path)
    make(repo, "a", "agent/a", resume=True)
    assert repo.oid(f"refs/prun/kept/named/a/lost/{lost[:12]}") == lost


def test_a_worktree_that_is_locked_and_not_there(repo: Repo, tmp_path: Path) -> None:
    other = repo.worktree(tmp_path / "wt-usb", "agent/usb", new=True)
    repo.git("worktree", "lock", "--reason", "usb disk", str(other.path))
    os.rename(other.path, tmp_path / "unmounted")
    for resume in (False, True):
        assert refuses(repo, "a", "agent/usb", resume=resume) == (
            f"the worktree {other.path} is not there, but it is locked (usb disk), and holds the branch agent/usb",
            f"bring its disk back, or: git worktree unlock {other.path}",
        )


def test_a_named_workspace_whose_folder_is_gone(repo: Repo) -> None:
    place = work(make(repo, "a", "x"))
    tip = place.commit("mine", b_dot_txt="2\n")
    shutil.rmtree(place.path)
    assert refuses(repo, "a", "x") == (
        f"the folder {place.path} of the workspace a is gone; its branch x is kept",
        "git prun new a x --resume makes it anew; git prun remove a forgets it",
    )
    assert work(make(repo, "a", "x", resume=True)).head == tip


def test_a_registration_at_the_very_path_is_dropped(repo: Repo) -> None:
    path = repo.path.parent / "w" / "named" / "a"
    repo.git("worktree", "add", "-q", "-b", "old", str(path))
    shutil.rmtree(path)
    unit = make(repo, "a", "x")
    assert unit.as_json()["notes"] == [
        f"the registration of {path}, whose folder is gone, was dropped; the branch old is kept"
    ]
    assert repo.oid("old") == repo.head


def test_a_folder_that_is_not_ours(repo: Repo) -> None:
    path = repo.path.parent / "w" / "named" / "a"
    path.mkdir(parents=True)
    (path / "mine").touch()
    assert refuses(repo, "a", "x")[0] == f"{path} is already there"
    assert refuses(repo, "a", "x", kind="clone")[0] == f"{path} is already there"


def test_resume_needs_a_branch_and_takes_no_base(repo: Repo) -> None:
    assert refuses(repo, "a", "x", resume=True)[0] == "'refs/heads/x' names no commit here"
    assert (
        refuses(repo, "a", "x", "main", resume=True)[0] == "--resume goes on where the branch is, so it takes no BASE"
    )


def test_a_failure_half_way_leaves_nothing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device", "index")

    monkeypatch.setattr("gitprun.registry.make.furnish", full)
    repo.branch("old")
    for kind in ("worktree", "clone"):
        before = traces(repo)
        with pytest.raises(OSError, match="No space left"):
            make(repo, "a", "x", kind=kind)
        assert traces(repo) == before
    before = traces(repo)
    with pytest.raises(OSError, match="No space left"):
        make(repo, "a", "old", resume=True)
    assert traces(repo) == before


def test_two_at_once_with_one_branch(repo: Repo) -> None:
    ended: list[str] = []

    def one(name: str) -> None:
        try:
            make(repo, name, "x")
            ended.append("made")
        except OperationRefused as problem:
            ended.append(problem.message.partition(" in ")[0])

    threads = [threading.Thread(target=one, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == ["made", "the branch x is checked out"]
    assert len(known(repo)) == 1


def test_from_a_linked_worktree(repo: Repo, tmp_path: Path) -> None:
    other = repo.worktree(tmp_path / "other", "other", new=True)
    ahead = other.commit("ahead", b_dot_txt="2\n")
    assert work(make(other, "a", "x")).head == ahead
    assert list(known(repo)) == ["a"]


def test_from_a_submodule(repo: Repo, tmp_path: Path) -> None:
    above = make_repo(tmp_path / "super")
    above.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo.path), "lib")
    module = Repo(above.path / "lib")
    unit = make_user_workspace(
        module.repository, module.ledger, WorkspaceSpec(name=parse_name("a"), branch="x", root=tmp_path / "modules")
    )
    place = work(unit)
    assert (place.head, place.status(), place.read("a.txt")) == (module.head, [], "1\n")
    place.write("b.txt", "2\n")
    removal = remove_user_workspace(module.repository, module.ledger, unit)
    assert removal.saved == "refs/prun/kept/named/a/left-in-workspace-1"
    assert module.files(removal.saved)["b.txt"] == "2"


def test_from_a_bare_repository(repo: Repo, tmp_path: Path) -> None:
    hub = make_bare(tmp_path / "hub.git", repo)
    place = work(make(hub, "a", "x", "main"))
    assert (place.head, place.status()) == (repo.head, [])


def test_names_that_need_quoting(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "a b 'c' \"d\"")
    place = work(make(repo, "a", "fürst/x'y"))
    assert place.git("branch", "--show-current") == "fürst/x'y"


def test_what_is_copied_and_linked(repo: Repo) -> None:
    repo.commit("ignore", _dot_gitignore="node_modules\n.env\n")
    repo.write("node_modules/dep/index.js", "x\n")
    repo.write(".env", "KEY=1\n")
    for name, kind in (("a", "worktree"), ("wave/b", "clone")):
        unit = make(repo, name, name, kind=kind, copy=(".env", "gone"), link=("node_modules",))
        place = work(unit).path
        assert os.readlink(place / "node_modules") == str(repo.path / "node_modules")
        assert ((place / ".env").read_text(), (place / ".env").is_symlink()) == ("KEY=1\n", False)
        assert unit.as_json()["provided"] == [".env", "node_modules"]
        assert unit.as_json()["notes"] == ["gone is configured to be copied but is not in your checkout"]
        take(repo, name)
    assert (repo.path / "node_modules" / "dep" / "index.js").read_text() == "x\n"


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_removal_pins_what_is_in_no_commit_and_keeps_the_branch(repo: Repo, kind: str) -> None:
    place = work(make(repo, "wave1/x", "x", kind=kind))
    place.write("a.txt", "changed\n")
    place.write("new.txt", "new\n")
    removal = take(repo, "wave1/x")
    assert (removal.removed, removal.saved) == (True, "refs/prun/kept/named/wave1/x/left-in-workspace-1")
    assert repo.files(removal.saved or "") == {"a.txt": "changed", "new.txt": "new"}
    assert repo.oid("x") == repo.head
    assert not (repo.path.parent / "w").exists()
    assert not (repo.path / ".git" / "prun" / "runs" / "named").exists()
    assert (known(repo), len(repo.git("worktree", "list").splitlines())) == ({}, 1)
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/prun").splitlines()
    assert refs == ["refs/prun/kept/named/wave1/x/left-in-workspace-1"]
    work(make(repo, "wave1", "y"))


def test_removal_of_a_clean_one_leaves_no_trace(repo: Repo) -> None:
    make(repo, "a", "x")
    removal = take(repo, "a")
    assert (removal.saved, removal.ignored) == (None, ())
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/prun") == ""


def test_removal_refuses_over_what_cannot_be_pinned(repo: Repo) -> None:
    place = work(make(repo, "a", "x"))
    place.write(".env", "KEY=1\n")
    before = traces(repo)
    with pytest.raises(OperationRefused) as problem:
        take(repo, "a")
    assert problem.value.hint == "take what you need, then: git prun remove --discard-left-out a"
    assert (place.read(".env"), traces(repo)) == ("KEY=1\n", before)
    assert take(repo, "a", discard=True).removed


def test_removal_keeps_commits_of_a_branch_that_is_gone(repo: Repo) -> None:
    place = work(make(repo, "a", "x"))
    tip = place.commit("mine", b_dot_txt="2\n")
    place.git("checkout", "-q", "--detach")
    repo.git("branch", "-qD", "x")
    take(repo, "a")
    assert tip in repo.git("for-each-ref", "--format=%(objectname)", "refs/prun/kept/named/a")


def test_removal_when_the_folder_is_gone(repo: Repo) -> None:
    place = work(make(repo, "a", "x"))
    place.git("checkout", "-q", "--detach")
    tip = place.commit("mine", b_dot_txt="2\n")
    shutil.rmtree(place.path)
    assert take(repo, "a").removed
    assert repo.oid("refs/prun/kept/named/a/head") == tip
    assert str(place.path) not in repo.git("worktree", "list")


def test_removal_of_a_locked_one_is_refused(repo: Repo) -> None:
    place = work(make(repo, "a", "x"))
    repo.git("worktree", "lock", "--reason", "mine", str(place.path))
    with pytest.raises(OperationRefused, match="is locked: mine"):
        take(repo, "a")
    assert place.read("a.txt") == "1\n"


def test_removal_of_another_folder_is_refused(repo: Repo) -> None:
    place = work(make(repo, "a", "x")).path
    os.rename(place, place.with_name("moved"))
    place.mkdir()
    (place / "mine").touch()
    with pytest.raises(OperationRefused, match="is not the folder prun made for a"):
        take(repo, "a")
    assert (place / "mine").exists()


def test_one_at_a_time(repo: Repo) -> None:
    unit = make(repo, "a", "x")
    with alone(repo.repository, unit), pytest.raises(OperationRefused, match="somebody is at work in a"):
        take(repo, "a")
    assert open_workspace_capture(repo.repository, unit).base == repo.head
    assert take(repo, "a").removed
