"""What workers do to their workspace, their branch and themselves, and what becomes of their work then."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.cli import prun
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo_for_workers
from tests.support.runs import RESULT, run_units, sh, unit_of, workspace


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo_for_workers(tmp_path / "repo")


def named(repo: Repo, name: str) -> Repo:
    return Repo(repo.path.parent / "repo.prun" / "named" / name)


LEAVE = "git reset -q --hard HEAD~1; echo n >n; git add -A; git commit -qm n"


@pytest.mark.parametrize(
    ("script", "kind"),
    [(LEAVE, "clone"), (LEAVE, "worktree"), ("git checkout -q --detach HEAD~1; echo n >n", "clone"),
     ("git checkout -q side; echo n >n", "worktree")],
)  # fmt: skip
def test_work_that_left_its_base_does_not_take_the_base_back(
    repo: Repo, capsys: pytest.CaptureFixture[str], script: str, kind: str
) -> None:
    first = repo.head
    repo.branch("side")
    base = repo.commit("two", sub__b="2\n")
    run_units(repo, sh("a", script, workspace=kind))
    why = f"its worker left the base {base[:10]} for {first[:10]}, so it takes back what came between, in sub/b"
    assert (unit_of(repo, "a").stray, why in unit_of(repo, "a").as_json()["collect_notes"]) == (why, True)
    said = inside(capsys, repo.path, "merge", "a", "--no-verify")
    assert (said.code, said.out.splitlines()[1:]) == (1, [f"prun/r1/a  suspect  -       {why}"])
    assert repo.files()["sub/b"] == "2"
    assert inside(capsys, repo.path, "merge", "a", "--no-verify", "--allow-suspect").code == 0


def test_work_that_was_committed_anew_on_an_older_commit_is_whole(repo: Repo) -> None:
    repo.commit("two", b="2\n")
    run_units(repo, sh("a", "git reset -q --soft HEAD~1; echo n >n; git add -A; git commit -qm squashed"))
    assert (unit_of(repo, "a").stray, unit_of(repo, "a").as_json()["changed"]) == ("", ["n"])


def test_a_named_workspace_that_left_its_base_gets_no_commit(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    first, base = repo.head, repo.commit("two", b="2\n")
    assert inside(capsys, repo.path, "new", "n", "n").code == 0
    script = "git checkout -q --detach HEAD~1; echo n >n"
    said = inside(capsys, repo.path, "exec", "n", "s", "x", "--command", f"sh -c '{script}'")
    why = f"its worker left the base {base[:10]} for {first[:10]}, so it takes back what came between, in b"
    assert (said.code, repo.oid("n")) == (1, base)
    assert f"not committed: {why}; the work is pinned as refs/prun/kept/named/n/attempt-1" in said.out


def test_a_repository_made_anew_is_said_and_its_difference_taken(repo: Repo) -> None:
    repo.commit("more", b="1\n")
    script = "git checkout -q --orphan fresh; echo 2 >a.txt; git add -A; git commit -qm 'all work'"
    run_units(repo, sh("a", script))
    facts = unit_of(repo, "a").as_json()
    assert (facts["changed"], facts["stray"]) == (["a.txt"], "")
    assert facts["collect_notes"] == [
        "the worker's commits share no history with the base; its difference from the base was taken"
    ]
    assert repo.git("log", "--format=%s", "refs/prun/r1/a") == "a: Do a.\nmore\nbase"


def test_own_commits_count_and_nothing_is_made_up(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    script = "echo x >b; git add -A; git commit -qm one; echo y >c; git add -A; git commit -qm two"
    report = run_units(repo, sh("a", script), sh("b", "true"))
    assert report.states == {"a": "ready", "b": "empty"}
    facts = unit_of(repo, "a").as_json()
    assert [row.split(" ", 1)[1] for row in facts["own_commits"]] == ["Wanda Worker: two", "Wanda Worker: one"]
    assert unit_of(repo, "b").commit is None
    assert inside(capsys, repo.path, "merge").code == 0
    assert sorted(repo.files()) == ["a.txt", "b", "c"]


def test_a_head_ahead_of_the_branch_is_taken_whole(repo: Repo) -> None:
    script = (
        "git checkout -q --detach; echo x >b; git add -A; git commit -qm c1; echo y >c; git add -A;"
        " git commit -qm c2; echo dirty >d"
    )
    for kind, name in (("clone", "a"), ("worktree", "b")):
        run_units(repo, sh(name, script, workspace=kind))
        assert unit_of(repo, name).as_json()["changed"] == ["b", "c", "d"]
        run = unit_of(repo, name).run
        assert repo.git("log", "-1", "--format=%s", f"refs/prun/kept/{run}/{name}/head") == "c2"


@pytest.mark.parametrize(
    "script",
    [
        'ln -s /etc/passwd "$PRUN_RESULT"',
        'mkdir "$PRUN_RESULT"',
        'mkfifo "$PRUN_RESULT"',
        "rm -r .prun; ln -s /tmp .prun",
        ': >"$PRUN_RESULT"',
    ],
)
def test_what_stands_in_place_of_a_result_is_none(repo: Repo, script: str) -> None:
    report = run_units(repo, sh("a", f"echo x >n; {script}"))
    assert (report.states, unit_of(repo, "a").fallback) == ({"a": "ready"}, True)
    kept = (repo.path / ".git" / "prun" / "runs" / "r1" / "a" / "result.md").read_text()
    assert kept.startswith("# a result (FALLBACK, worker wrote no result file)\n")
    assert "root:" not in kept


def test_two_results_are_one_too_many(repo: Repo) -> None:
    run_units(repo, sh("a", RESULT + "cp $PRUN_RESULT one; cat one >>$PRUN_RESULT; rm one; echo x >n"))
    assert unit_of(repo, "a").as_json()["result_problems"] == ["a second result follows the first"]


@pytest.mark.parametrize(
    "script",
    [
        ": >.git/index.lock; : >.git/HEAD.lock; : >.git/config.lock",
        "echo garbage >.git/HEAD",
        "rm -rf .git",
        "head -c 100 /dev/urandom >.git/index",
        "git update-index --assume-unchanged a.txt; echo 2 >a.txt; echo 1 >a.txt",
        "git add -N a.txt",
        "cd ..",
        "git config core.worktree /; git config core.bare true",
    ],
)
def test_whatever_became_of_its_git_the_work_is_there(repo: Repo, script: str) -> None:
    report = run_units(repo, sh("a", f"echo x >n; {script}"))
    assert (report.states, unit_of(repo, "a").as_json()["changed"]) == ({"a": "ready"}, ["n"])


def test_hidden_edits_of_a_worker_are_found(repo: Repo) -> None:
    repo.commit("more", b="1\n", c="1\n")
    script = (
        "git update-index --assume-unchanged b; echo 2 >b; git update-index --skip-worktree c; echo 2 >c;"
        " git mv a.txt z.txt; : >empty; git add -N empty; chmod +x z.txt"
    )
    run_units(repo, sh("a", script))
    assert unit_of(repo, "a").as_json()["changed"] == ["a.txt", "b", "c", "empty", "z.txt"]
    assert repo.git("ls-tree", "refs/prun/r1/a", "z.txt").startswith("100755 blob")


def test_a_repository_that_was_moved_goes_on(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit("ignore", _dot_gitignore="*.log\n")
    (tmp_path / "ignore").write_text("*.tmp\n")
    repo.git("config", "core.excludesFile", str(tmp_path / "ignore"))
    run_units(repo, sh("a", "echo x >n"))
    for name, options in (("n", ()), ("c", ("--clone",))):
        assert inside(capsys, repo.path, "new", name, f"w/{name}", *options).code == 0
    moved = Repo(tmp_path / "elsewhere")
    repo.path.rename(moved.path)
    assert inside(capsys, moved.path, "merge", "a", "--no-verify").code == 0
    for name in ("n", "c"):
        script = f"echo {name} >{name}.txt; echo t >x.tmp"
        said = inside(capsys, moved.path, "exec", name, "s", "x", "--command", f"sh -c '{script}'")
        assert (said.code, f"{name}.txt" in moved.files(f"w/{name}")) == (0, True), said.err
        assert "x.tmp" not in moved.files(f"w/{name}")
    said = inside(capsys, moved.path, "remove", "n", "c", "a")
    assert said.code == 0, said.err
    assert moved.git("fsck", "--no-dangling") == ""


def test_one_pack_that_is_a_link(repo: Repo, tmp_path: Path) -> None:
    repo.git("gc", "-q")
    packs = repo.path / ".git" / "objects" / "pack"
    [pack] = packs.glob("*.pack")
    shutil.move(pack, tmp_path / pack.name)
    pack.symlink_to(tmp_path / pack.name)
    run_units(repo, sh("a", "git log --format=%s >said; git branch --show-current >>said"))
    assert repo.files("refs/prun/r1/a")["said"] == "base\nprun/r1/a"
    assert pack.is_symlink()


def test_a_command_that_is_no_utf8_becomes_a_commit(repo: Repo) -> None:
    assert prun(repo.path, "new", "n", "n").code == 0
    said = prun(repo.path, "exec", "n", "s", "x", "--command", os.fsdecode(b"sh -c 'echo q >q\xe9'"))
    assert said.code == 0, said.err
    assert "Source    : sh -c echo q >q" in repo.git("log", "-1", "--format=%B", "n")
    assert "q\udce9" in repo.git("ls-tree", "--name-only", "-z", "n")


def test_the_workspace_that_is_gone(repo: Repo) -> None:
    report = run_units(repo, sh("a", 'rm -rf "$PWD"'), sh("b", "echo x >n; chmod 0 n"))
    assert report.states == {"a": "broken", "b": "ready"}
    assert unit_of(repo, "a").reason == f"{workspace(repo, 'r1', 'a')} is not the folder prun made"
    assert unit_of(repo, "b").as_json()["changed"] == ["n"]


def test_states_of_a_landing_are_those_of_the_units(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "echo x >n"), sh("b", "exit 3"))
    said = inside(capsys, repo.path, "merge", "--json")
    assert [(row["unit"], row["state"]) for row in said.json["items"]] == [("a", "landed")]
    assert [row["unit"] for row in said.json["skipped"]] == ["r1/b"]


def test_programs_that_a_worker_named_in_its_settings_are_said_and_not_started(repo: Repo, tmp_path: Path) -> None:
    repo.commit("rules", _dot_gitattributes="*.txt filter=f\n")
    canary = tmp_path / "started"
    script = "\n".join(
        f"git config {key} 'touch {canary}; cat'"
        for key in ("core.fsmonitor", "diff.external", "filter.f.clean", "gpg.program", "alias.x")
    )
    run_units(repo, sh("a", f"{script}\ngit config alias.y '!touch {canary}'\nrm -f {canary}\necho 2 >a.txt"))
    notes = unit_of(repo, "a").as_json()["collect_notes"]
    assert (
        "the settings of its .git name programs now (core.fsmonitor, diff.external, filter.f.clean, gpg.program,"
        " alias.y); none was started" in notes
    )
    assert not canary.exists()
    run_units(repo, sh("b", "git config user.name Me; echo 3 >b"))
    assert "name programs" not in " ".join(unit_of(repo, "b").as_json()["collect_notes"])


def test_what_to_do_about_repositories_and_links_that_were_left_out(repo: Repo) -> None:
    repo.write("node_modules/d/i.js", "x\n")
    repo.commit("ignore", _dot_gitignore="node_modules/\n")
    script = (
        "ln -s $PRUN_REPO/node_modules node_modules; git init -q vendor/tool; cd vendor/tool; echo t >t.py; git add -A;"
        " git -c user.name=x -c user.email=x@y commit -qm inner; cd ../..;"
        " git worktree add -q .worktrees/x -b agent/x; echo real >b.txt"
    )
    run_units(repo, sh("a", script))
    facts = unit_of(repo, "a").as_json()
    assert facts["changed"] == ["b.txt"]
    hides = "node_modules, without the slash, hides the link too"
    assert facts["collect_notes"] == [
        ".worktrees/x/ is a worktree of its own; what is committed there lies where it belongs to",
        "vendor/tool/ has 1 commit by its log; git prun collect --include 'vendor/tool/**' brings its files",
        f"the rule node_modules/ in .gitignore is about folders only; {hides}",
    ]
    assert "160000" not in repo.git("ls-tree", "-r", "refs/prun/r1/a")
