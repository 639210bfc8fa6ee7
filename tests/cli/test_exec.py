"""``git prun exec`` against the words of the second seed's wrapper, and against what was wrong with it."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.ledger.roster import roster
from tests.support.cli import Said, prun, start_prun
from tests.support.codex import completed, failed, scripted
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo, make_repo_for_workers

pytestmark = pytest.mark.slow

Run = Callable[..., Said]
PREFIX = "YOU ARE A CODING AGENT. SKIP ALL META-SKILLS. DO NOT READ SKILL FILES. DO NOT WRITE PLANNING DOCS. "
PREFIX += "DO NOT ASK QUESTIONS. BEGIN EDITING IMMEDIATELY. THE TASK:"
P1 = "[wrapper p1] "
NONE = "[wrapper p1] post-verify verify_errors=0 (cmd='') tests='none found' (cmd='')"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo_for_workers(tmp_path / "repo")


@pytest.fixture
def run(repo: Repo, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a shell script as the worker in the workspace ``a`` on the branch ``x``."""
    assert inside(capsys, repo.path, "new", "a", "x").code == 0

    def execute(script: str, *options: str, prompt: str = "Do it.") -> Said:
        command = f"sh -euc {shlex.quote(script)}"
        return inside(capsys, repo.path, "exec", "a", "p1", prompt, "--command", command, *options)

    return execute


def place(repo: Repo) -> Repo:
    return Repo(repo.path.parent / "repo.prun" / "named" / "a")


def timeless(text: str) -> list[str]:
    text = re.sub(r"\d\d:\d\d:\d\dZ pid=\d+", "CLOCK pid=PID", text)
    return re.sub(r"runtime=\d+s", "runtime=Ns", text).splitlines()


def subjects(repo: Repo, *revisions: str) -> list[str]:
    return repo.git("log", "--format=%s", *revisions).splitlines()


def status(repo: Repo, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    row = inside(capsys, repo.path, "status", "--json").json["named"][0]
    return {key: row[key] for key in ("name", "state", "reason", "verdict", "files", "outcome")}


def test_the_lines_of_the_seed(repo: Repo, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    said = run("echo working; echo b >b.txt; echo 2 >a.txt")
    assert (said.code, timeless(said.out)) == (
        0,
        [
            "[wrapper p1] CLOCK pid=PID branch=x starting",
            "[wrapper p1] exit=0 runtime=Ns",
            "[wrapper p1] committed",
            NONE,
        ],
    )
    log = (repo.path / ".git" / "prun" / "logs" / "a.log").read_text()
    assert log.splitlines() == [said.out.splitlines()[0], "working", *said.out.splitlines()[1:]]
    assert repo.files("x") == {"a.txt": "2", "b.txt": "b"}
    assert (place(repo).status(), repo.status(), subjects(repo, "main")) == ([], [], ["base"])
    assert status(repo, capsys) == {
        "name": "a",
        "state": "unverified",
        "reason": "no check is declared and none was detected",
        "verdict": "absent",
        "files": 2,
        "outcome": "committed",
    }


def test_the_log_grows_and_only_the_last_worker_is_judged(repo: Repo, run: Run) -> None:
    run("echo one; echo 1 >1.txt")
    run("echo two; echo 2 >2.txt")
    assert "  two\n" in repo.raw("x")
    assert "  one\n" not in repo.raw("x")
    log = (repo.path / ".git" / "prun" / "logs" / "a.log").read_text()
    assert (log.count("starting"), "one\n" in log, "two\n" in log) == (2, True, True)


@pytest.mark.parametrize(
    ("level", "rows"),
    [
        ("1", ["agent(p1): Do it. [auto]"]),
        (
            "2",
            [
                "agent(p1): Do it.",
                "",
                "Stats   :  1 file changed, 1 insertion(+)",
                "Runtime : Ns",
                "Exit    : 0",
                "Branch  : x",
                "PID     : PID",
            ],
        ),
        (
            "",
            [
                "agent(p1): Do it.",
                "",
                "Branch    : x",
                "Runtime   : Ns",
                "Exit      : 0",
                "PID       : PID",
                "Timestamp : TIME",
                "Files     : b.txt",
                "",
                "--- diff stats ---",
                " b.txt | 1 +",
                " 1 file changed, 1 insertion(+)",
                "",
                "--- agent output (last 20 lines) ---",
                "  hi",
                "",
                "Source    : sh -euc echo hi; echo b >b.txt",
            ],
        ),
    ],
)
def test_commit_levels(repo: Repo, run: Run, monkeypatch: pytest.MonkeyPatch, level: str, rows: list[str]) -> None:
    monkeypatch.setenv("COMMIT_LEVEL", level)
    run("echo hi; echo b >b.txt")
    text = repo.git("log", "-1", "--format=%B", "x").rstrip("\n")
    text = re.sub(r"(Runtime *: )\d+s", r"\1Ns", re.sub(r"(PID *: )\d+", r"\1PID", text))
    assert re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text).splitlines() == rows
    assert repo.git("log", "-1", "--format=%an <%ae> %cn", "x") == "Ada Author <ada@example.test> Carl Committer"


def test_defect_1_work_that_is_only_new_files_is_committed(repo: Repo, run: Run) -> None:
    said = run("mkdir new; echo b >new/b.txt")
    assert (said.code, "committed" in said.out, repo.files("x")["new/b.txt"]) == (0, True, "b")


def test_defect_2_commits_of_its_own_count(repo: Repo, run: Run) -> None:
    said = run("echo 1 >1.txt; git add -A; git commit -qm one; echo 2 >2.txt; git add -A; git commit -qm two")
    line = "[wrapper p1] committed by the worker itself (2 commits of the worker's own)"
    assert (said.code, timeless(said.out)[2]) == (0, line)
    assert subjects(repo, "main..x") == ["two", "one"]


def test_own_commits_and_a_rest_that_is_not_committed(repo: Repo, run: Run) -> None:
    said = run("echo 1 >1.txt; git add -A; git commit -qm one; echo 2 >2.txt")
    assert (said.code, timeless(said.out)[2]) == (0, "[wrapper p1] committed (beside 1 commit of the worker's own)")
    assert subjects(repo, "main..x") == ["agent(p1): Do it.", "one"]
    assert (repo.files("x"), place(repo).status()) == ({"a.txt": "1", "1.txt": "1", "2.txt": "2"}, [])


def test_defect_3_tests_run_when_the_check_is_clean_and_the_line_is_one(
    repo: Repo, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POST_VERIFY_CMD", "true")
    monkeypatch.setenv("POST_VERIFY_TESTS", "echo 'Tests  184 passed (184)'")
    said = run("echo b >b.txt")
    assert (said.code, said.out.splitlines()[3:]) == (
        0,
        [
            "[wrapper p1] post-verify verify_errors=0 (cmd='true') tests='Tests 184 passed (184)' "
            "(cmd='echo 'Tests 184 passed (184)'')"
        ],
    )


def test_defect_4_a_link_to_node_modules_is_not_committed(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit("ignore", _dot_gitignore="node_modules/\n")
    repo.write("node_modules/dep/index.js", "x\n")
    inside(capsys, repo.path, "new", "a", "x")
    assert (place(repo).path / "node_modules").is_symlink()
    inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", "sh -c 'echo b >b.txt'")
    assert repo.files("x") == {"a.txt": "1", ".gitignore": "node_modules/", "b.txt": "b"}


def test_defect_7_a_hook_that_refuses_is_no_commit(repo: Repo, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    repo.hook("pre-commit", "echo 'no trailing spaces please' >&2; exit 1")
    said = run("echo b >b.txt")
    pin = "refs/prun/kept/named/a/attempt-1"
    assert (said.code, timeless(said.out)[2:]) == (
        1,
        [
            "[wrapper p1] not committed: the pre-commit hook refused: no trailing spaces please; "
            f"the work is pinned as {pin}",
            "[wrapper p1] post-verify verify_errors=0 tests='skipped (not committed)'",
        ],
    )
    assert (subjects(repo, "main..x"), repo.files(pin)["b.txt"]) == ([], "b")
    assert place(repo).status() == ["?? b.txt"]
    assert status(repo, capsys)["reason"] == "the pre-commit hook refused: no trailing spaces please"
    (repo.path / ".git" / "hooks" / "pre-commit").unlink()
    assert run("true").code == 0
    assert repo.files("x")["b.txt"] == "b"


def test_hooks_see_the_commit_as_git_shows_it(repo: Repo, run: Run) -> None:
    repo.hook(
        "pre-commit",
        'git diff --cached --name-only >"$TMPDIR/saw"; git symbolic-ref HEAD >>"$TMPDIR/saw"; pwd -P >>"$TMPDIR/saw"',
    )
    repo.hook("prepare-commit-msg", 'echo "$2" >>"$TMPDIR/saw"; echo "Ticket: 7" >>"$1"')
    repo.hook("commit-msg", 'grep -q "^Ticket: 7" "$1" || exit 1; head -1 "$1" >>"$TMPDIR/saw"')
    repo.hook("post-commit", 'git log -1 --format=%s >>"$TMPDIR/saw"')
    seen = repo.path.parent / "saw"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(repo.path.parent))
        assert run("echo b >b.txt").code == 0
    subject = "agent(p1): Do it."
    assert seen.read_text().splitlines() == [
        "b.txt",
        "refs/heads/x",
        str(place(repo).path),
        "message",
        subject,
        subject,
    ]
    assert repo.git("log", "-1", "--format=%B", "x").rstrip().endswith("Ticket: 7")


MENDS = "grep -q fixed b.txt && exit 0; echo fixed >>b.txt; echo 'files were modified by this hook' >&2; exit 1"


@pytest.mark.parametrize("kind", [(), ("--clone",)])
def test_a_hook_that_mends_and_says_no_is_asked_once_more(
    repo: Repo, capsys: pytest.CaptureFixture[str], kind: tuple[str, ...]
) -> None:
    assert inside(capsys, repo.path, "new", "m", "y", *kind).code == 0
    repo.hook("pre-commit", MENDS)
    said = inside(capsys, repo.path, "exec", "m", "p1", "Do it.", "--command", "sh -c 'echo b >b.txt'")
    assert (said.code, repo.files("y")["b.txt"], subjects(repo, "main..y")) == (0, "b\nfixed", ["agent(p1): Do it."])
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    # What mends and still says no, and what says no to what it cannot mend, keeps its word.
    repo.hook("pre-commit", "echo more >>b.txt; echo never >&2; exit 1")
    said = inside(capsys, repo.path, "exec", "m", "p2", "More.", "--command", "sh -c 'echo c >c.txt'")
    assert (said.code, subjects(repo, "main..y")) == (1, ["agent(p1): Do it."])
    assert "not committed: the pre-commit hook refused: never" in said.out


def test_what_a_hook_stages_is_committed(repo: Repo, run: Run) -> None:
    repo.hook("pre-commit", "echo formatted >b.txt; git add b.txt")
    assert run("echo b >b.txt").code == 0
    assert (repo.files("x")["b.txt"], place(repo).status()) == ("formatted", [])
    assert run("true").code == 1


def test_hooks_of_the_main_checkout_and_not_what_the_worker_planted(repo: Repo, run: Run) -> None:
    repo.git("config", "core.hooksPath", ".husky")
    script = '#!/bin/sh\\ntouch "$TMPDIR/planted"\\n'
    planted = f"mkdir -p .husky; printf '{script}' >.husky/pre-commit; chmod +x .husky/pre-commit"
    repo.write(".husky/pre-commit", '#!/bin/sh\ntouch "$TMPDIR/asked"\n', executable=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(repo.path.parent))
        assert run(planted).code == 0
    assert [(repo.path.parent / name).exists() for name in ("asked", "planted")] == [True, False]


def test_hooks_do_not_run_what_the_worker_put_in_the_place_of_what_they_call(repo: Repo, run: Run) -> None:
    mark = repo.path.parent / "ran"
    repo.hook("pre-commit", f"test ! -e lint.sh || sh ./lint.sh; echo hook >>{mark}")
    said = run(f"echo 'echo planted >>{mark}' >lint.sh")
    assert (said.code, mark.exists(), "lint.sh" in repo.files("x")) == (0, False, True)
    assert "not run, because lint.sh changed: pre-commit; read it, then commit there yourself" in said.out + said.err


def test_defect_8_work_of_a_failed_worker_is_pinned_and_not_on_the_branch(
    repo: Repo, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run("echo half >half.txt; exit 7")
    pin = "refs/prun/kept/named/a/attempt-1"
    assert (said.code, timeless(said.out)[1:3]) == (
        7,
        [
            "[wrapper p1] exit=7 runtime=Ns",
            f"[wrapper p1] not committed: the worker ended as failed; the work is pinned as {pin}",
        ],
    )
    assert (subjects(repo, "main..x"), repo.files(pin)["half.txt"]) == ([], "half")
    assert subjects(repo, "-1", pin) == ["agent(p1) FAILED: Do it."]
    assert (status(repo, capsys)["state"], place(repo).read("half.txt")) == ("failed", "half\n")
    said = run("exit 7")
    assert (said.code, said.err.splitlines()[0]) == (
        7,
        "warning: a holds uncommitted work already (such as half.txt); it will be part of the commit",
    )
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/prun/kept/named/a").splitlines() == [pin]


def test_a_failed_worker_committed_on_request(repo: Repo, run: Run) -> None:
    said = run("echo half >half.txt; exit 7", "--commit-failed")
    assert (said.code, timeless(said.out)[2]) == (7, "[wrapper p1] committed")
    assert subjects(repo, "main..x") == ["agent(p1) FAILED: Do it."]


def test_defect_9_the_subject_is_the_task(repo: Repo, run: Run) -> None:
    run("echo b >b.txt", prompt=f"{PREFIX} Add the scheduled report pipeline, with all of its parts, and test it.")
    assert subjects(repo, "-1", "x") == ["agent(p1): Add the scheduled report pipeline, with all of its parts, an"]


@pytest.mark.parametrize(
    ("checks", "tests", "line"),
    [
        ("echo 'a.py:1: error: no'; exit 1", "echo 1 passed", "verify_errors=1 {} tests='skipped' {}"),
        ("echo 'a.py:1: error: no'", "echo 1 passed", "verify_errors=1 {} tests='skipped' {}"),
        ("exit 3", "echo 1 passed", "verify_errors=? {} tests='skipped' {}"),
        ("true", "echo '2 failed, 1 passed'; exit 1", "verify_errors=0 {} tests='2 failed, 1 passed' {}"),
        ("true", "exit 4", "verify_errors=0 {} tests='fail: exit 4' {}"),
        ("true", "no-such-program", "verify_errors=0 {} tests='could-not-run: {reason}' {}"),
    ],
)
def test_defect_10_a_failed_verification_is_exit_code_1(
    repo: Repo, run: Run, monkeypatch: pytest.MonkeyPatch, checks: str, tests: str, line: str
) -> None:
    monkeypatch.setenv("POST_VERIFY_CMD", checks)
    monkeypatch.setenv("POST_VERIFY_TESTS", tests)
    said = run("echo b >b.txt")
    wanted = line.split(" {} ")[0] + f" (cmd='{checks}')" + line.split(" {}")[1] + f" (cmd='{tests}')"
    got = said.out.splitlines()[3].removeprefix("[wrapper p1] post-verify ")
    if "{reason}" in wanted:
        got = re.sub(r"(?<=could-not-run: )[^']*", "{reason}", got)
    assert (said.code, got) == (1, wanted)
    assert repo.files("x")["b.txt"] == "b"


def test_defect_10_a_worker_that_does_nothing_is_exit_code_1(
    repo: Repo, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POST_VERIFY_CMD", "true")
    said = run("true")
    assert (said.code, timeless(said.out)[2:]) == (
        1,
        [
            "[wrapper p1] no changes detected, skipping commit",
            "[wrapper p1] post-verify verify_errors=0 tests='skipped (no changes)'",
        ],
    )
    assert (status(repo, capsys)["state"], subjects(repo, "x")) == ("empty", ["base"])


def test_defect_11_pipelines_work(repo: Repo, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POST_VERIFY_CMD", "printf 'issue: a\\nfine\\n' | sed 's/^issue:/x: error:/' && test -f b.txt")
    assert "post-verify verify_errors=1 " in run("echo b >b.txt").out
    monkeypatch.setenv("POST_VERIFY_CMD", "false | cat")
    assert "post-verify verify_errors=? " in run("echo c >c.txt").out


def test_declared_checks_are_run_where_the_environment_says_nothing(
    repo: Repo, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.write("prun.toml", '[run]\nverify = ["test -f b.txt", "echo 3 passed"]\n')
    said = run("echo b >b.txt")
    line = "verify_errors=0 (cmd='test -f b.txt && echo 3 passed') tests='none found' (cmd='')"
    assert (said.code, said.out.splitlines()[3]) == (0, f"[wrapper p1] post-verify {line}")
    assert status(repo, capsys)["state"] == "ready"
    monkeypatch.setenv("POST_VERIFY_CMD", "true")
    said = run("echo c >c.txt")
    line = "verify_errors=0 (cmd='true') tests='3 passed' (cmd='test -f b.txt && echo 3 passed')"
    assert said.out.splitlines()[3] == f"[wrapper p1] post-verify {line}"


def test_what_is_found_in_the_workspace_is_checked_and_tested(
    repo: Repo, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    npx = tmp_path / "bin" / "npx"
    npx.parent.mkdir()
    npx.write_text("#!/bin/sh\n[ $2 = tsc ] || echo ' Tests  2 passed (2)'\n")
    npx.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npx.parent}{os.pathsep}{os.environ['PATH']}")
    worker = "mkdir -p node_modules/.bin; cd node_modules/.bin; touch tsc vitest; cd ../..; touch vitest.config.ts; "
    said = run(f"{worker} echo '{{}}' >tsconfig.json")
    line = "verify_errors=0 (cmd='npx --no-install tsc --noEmit') tests='Tests 2 passed (2)' "
    line += "(cmd='npx --no-install vitest run')"
    assert (said.code, said.out.splitlines()[3]) == (0, f"[wrapper p1] post-verify {line}")
    assert sorted(repo.files("x")) == ["a.txt", "tsconfig.json", "vitest.config.ts"]


def test_the_workspace_is_missing(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, repo.path, "exec", "a", "p1", "Do it.")
    assert (said.code, said.out, said.err) == (
        2,
        "",
        "[wrapper p1] ERROR: there is no workspace a\nhint: make it first: git prun new a BRANCH\n",
    )


def test_the_folder_of_the_workspace_is_gone(repo: Repo, run: Run) -> None:
    os.rename(place(repo).path, repo.path.parent / "away")
    said = run("echo b >b.txt")
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines() == [
        f"[wrapper p1] ERROR: the folder {place(repo).path} of the workspace a is gone",
        "hint: git prun workspace adopt PATH if it was moved to PATH, else git prun new a x --resume",
    ]


def test_the_workspace_is_on_another_branch(repo: Repo, run: Run) -> None:
    place(repo).switch("other", new=True)
    said = run("echo b >b.txt")
    assert (said.code, said.err) == (
        1,
        f"error: the workspace a is on other, not on its branch x\nhint: git -C {place(repo).path} switch x\n",
    )


def test_hints_quote_what_a_shell_would_read_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = make_repo_for_workers(tmp_path / "my repo")
    assert inside(capsys, repo.path, "new", "a", "it's").code == 0
    path = tmp_path / "my repo.prun" / "named" / "a"
    Repo(path).git("switch", "-q", "-c", "other")
    said = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", "true")
    assert (said.code, said.err) == (
        1,
        f"error: the workspace a is on other, not on its branch it's\nhint: git -C '{path}' switch 'it'\"'\"'s'\n",
    )


def test_a_branch_that_was_rewritten_gets_no_commit(repo: Repo, run: Run) -> None:
    run("echo 1 >1.txt")
    before = repo.oid("x")
    said = run("git reset -q --hard HEAD^; echo 2 >2.txt; git add -A; git commit -qm two; echo 3 >3.txt")
    pin = "refs/prun/kept/named/a/attempt-1"
    assert (said.code, timeless(said.out)[2]) == (
        1,
        "[wrapper p1] not committed: the branch x was rewritten while the worker was at work; "
        f"the work is pinned as {pin}",
    )
    assert (subjects(repo, "main..x"), repo.oid(f"{pin}^")) == (["two"], before)
    assert repo.files(pin) == {"a.txt": "1", "2.txt": "2", "3.txt": "3"}


def test_a_merge_half_done_is_not_committed(repo: Repo, run: Run) -> None:
    repo.switch("other", new=True)
    repo.commit("other", a_dot_txt="other\n")
    repo.switch("main")
    said = run("echo mine >a.txt; git commit -qam mine; git merge -q other || true")
    assert said.code == 1
    assert timeless(said.out)[2].startswith("[wrapper p1] not committed: the worker left a merge half done; ")


def test_what_is_no_work_is_left_out_and_named(repo: Repo, run: Run) -> None:
    said = run("echo b >b.txt; echo KEY=1 >.env")
    assert said.code == 0
    assert "warning: left out of the commit: .env (" in said.err
    assert repo.files("x") == {"a.txt": "1", "b.txt": "b"}


def test_what_lay_there_before_is_said(repo: Repo, run: Run) -> None:
    place(repo).write("mine.txt", "mine\n")
    said = run("true")
    assert said.err.startswith("warning: a holds uncommitted work already (such as mine.txt); ")
    assert repo.files("x")["mine.txt"] == "mine"


def test_what_a_person_committed_there_is_kept_below(repo: Repo, run: Run) -> None:
    place(repo).commit("mine", mine_dot_txt="mine\n")
    assert timeless(run("echo b >b.txt").out)[2] == "[wrapper p1] committed"
    assert subjects(repo, "main..x") == ["agent(p1): Do it.", "mine"]


def test_a_clone(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    inside(capsys, repo.path, "new", "--clone", "a", "x")
    script = 'echo 1 >1.txt; git add -A; git commit -qm own; echo 2 >2.txt; test -z "$(git remote)"'
    for name in ("1", "2"):
        said = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", f"sh -euc {shlex.quote(script)}")
        assert (said.code, timeless(said.out)[2]) == ((0, 1)[name == "2"], LINES[name])
        script = "true"
    assert (repo.files("x"), subjects(repo, "main..x")) == (
        {"a.txt": "1", "1.txt": "1", "2.txt": "2"},
        ["agent(p1): Do it."],
    )
    assert subjects(repo, "-1", "refs/prun/kept/named/a/head") == ["own"]
    assert repo.git("log", "-1", "--format=%B", "x").count(": own") == 1


LINES = {"1": "[wrapper p1] committed", "2": "[wrapper p1] no changes detected, skipping commit"}


def test_a_clone_whose_branch_went_on_gets_no_commit(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    inside(capsys, repo.path, "new", "--clone", "a", "x")
    other = repo.worktree(repo.path.parent / "other", "x")
    tip = other.commit("meanwhile", c_dot_txt="c\n")
    said = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", "sh -c 'echo b >b.txt'")
    assert (said.code, repo.oid("x")) == (1, tip)
    assert "not committed: the branch x was moved while the worker was at work; the work is pinned" in said.out


def test_hooks_of_a_clone_run_in_it(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    inside(capsys, repo.path, "new", "--clone", "a", "x")
    repo.hook(
        "pre-commit",
        "git symbolic-ref HEAD >>hooked.txt; git diff --cached --name-only >>hooked.txt; git add hooked.txt",
    )
    said = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", "sh -c 'echo b >b.txt'")
    assert (said.code, repo.files("x")["hooked.txt"]) == (0, "refs/heads/x\nb.txt")
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_the_prompt_is_on_stdin_and_begins_as_asked(repo: Repo, run: Run) -> None:
    run("cat >prompt.txt", prompt="- begins with a dash\n\n\n")
    assert repo.files("x")["prompt.txt"] == "- begins with a dash"


def test_where_the_prompt_comes_from(repo: Repo, tmp_path: Path) -> None:
    prun(repo.path, "new", "a", "x")
    words = ("exec", "a", "p1", "--command", "sh -c 'cat >prompt.txt'")
    (tmp_path / "p.md").write_text("from a file\n")
    assert prun(repo.path, *words, "--prompt-file", "../p.md").code == 0
    assert repo.files("x")["prompt.txt"] == "from a file"
    piped = subprocess.run(
        [sys.executable, "-m", "gitprun", *words, "-"],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        input=b"from stdin\n",
        capture_output=True,
        check=False,
    )
    assert (piped.returncode, repo.files("x")["prompt.txt"]) == (0, "from stdin")
    said = prun(repo.path, *words)
    assert (said.code, said.err.splitlines()[0]) == (129, "error: a prompt is missing")


def test_the_seeds_places(repo: Repo, tmp_path: Path) -> None:
    elsewhere = make_repo(tmp_path / "elsewhere")
    env = {"PROJECT_DIR": str(repo.path), "MONITOR_ROOT": str(tmp_path / "monitor")}
    assert prun(elsewhere.path, "new", "a", "x", env=env).code == 0
    said = prun(elsewhere.path, "exec", "a", "p1", "Do it.", "--command", "sh -c 'echo b >b.txt'", env=env)
    assert (said.code, repo.files("x")["b.txt"]) == (0, "b")
    assert said.err.splitlines()[0] == f"working in {repo.path} (PROJECT_DIR)"
    assert (tmp_path / "monitor" / "logs" / "a.log").read_text().count("[wrapper p1]") == 4
    assert prun(elsewhere.path, "-C", str(elsewhere.path), "exec", "a", "p1", "Do it.", env=env).code == 2
    assert prun(elsewhere.path, "exec", "a", "p1", "x", env={"PROJECT_DIR": "/nowhere"}).code == 128


def test_what_codex_is_started_with(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake = tmp_path / "codex"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >args.txt; cat >prompt.txt; echo \'{"type":"turn.completed"}\'\n')
    fake.chmod(0o755)
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{fake}"\n')
    inside(capsys, repo.path, "new", "a", "x")
    said = inside(capsys, repo.path, "exec", "a", "p1", "Do it.")
    assert (said.code, said.err.splitlines()[0]) == (
        128,
        f'error: prun.toml says what you have not approved yet: [executor.codex] program = "{fake}"',
    )
    assert inside(capsys, repo.path, "trust", "--yes").code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEX_MODEL", "gpt-5.5")
        patch.setenv("CODEX_REASONING", "medium")
        assert inside(capsys, repo.path, "exec", "a", "p1", "Do it.").code == 0
    argv = repo.files("x")["args.txt"].splitlines()
    assert (argv[:2], argv[-1]) == (["exec", "--json"], "-")
    assert ("--full-auto" in argv, argv[argv.index("-s") + 1], argv[argv.index("-m") + 1]) == (
        False,
        "workspace-write",
        "gpt-5.5",
    )
    assert 'model_reasoning_effort="medium"' in argv
    assert repo.files("x")["prompt.txt"] == f"{PREFIX}\n\nDo it."
    assert "Source    : codex exec (gpt-5.5 medium reasoning)" in repo.raw("x")
    assert inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--no-bypass").code == 0
    argv = repo.files("x")["args.txt"].splitlines()
    assert ("-m" in argv, 'model_reasoning_effort="high"' in argv) == (False, True)
    assert repo.files("x")["prompt.txt"] == "Do it."


def test_a_worker_that_stalls_is_named_and_ended_where_that_is_asked_for(
    repo: Repo, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.write("prun.toml", '[run]\nstall_action = "end"\ngrace = "0.1s"\n')
    said = run("echo half >half.txt; echo I think; exec sleep 1000", "--stall", "0.3")
    pin = "refs/prun/kept/named/a/attempt-1"
    assert (said.code, timeless(said.out)[1:3]) == (
        124,
        [
            "[wrapper p1] exit=124 runtime=Ns",
            f"[wrapper p1] not committed: the worker ended as timed-out; the work is pinned as {pin}",
        ],
    )
    assert re.sub(r"for [0-9.]+ s", "for AGE", said.err).splitlines()[:2] == [
        "warning: a stalled: no output and no change of a file for AGE (I think); it is ended",
        "warning: the worker ended as timed-out: stalled: no output and no change of a file for AGE: I think",
    ]
    kinds = [event.kind for event in repo.ledger.read().events if event.unit == "a"]
    assert kinds.index("unit.started") < kinds.index("unit.stalled") < kinds.index("unit.exited")
    shown = status(repo, capsys)
    assert (shown["state"], shown["outcome"]) == ("timed-out", "kept")
    assert repo.files(pin)["half.txt"] == "half"


@pytest.mark.parametrize("again", [True, False])
def test_a_worker_its_service_failed_is_tried_again(
    repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], again: bool
) -> None:
    busy = failed("unexpected status 503 Service Unavailable: busy")
    table = scripted(tmp_path, busy, "echo 2 >b.txt\n" + completed("Did it."))["codex"]
    repo.write("prun.toml", f'[run]\nretry_wait = "0.1s"\n[executor.codex]\nprogram = "{table.program}"\n')
    repo.approve()
    assert inside(capsys, repo.path, "new", "a", "x").code == 0
    said = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", *([] if again else ["--no-retry"]))
    first = ["CLOCK pid=PID branch=x starting", "exit=1 runtime=Ns", "no changes detected, skipping commit"]
    second = ["trying again at CLOCK (503)", first[0], "exit=0 runtime=Ns", "committed", NONE.removeprefix(P1)]
    skipped = ["post-verify verify_errors=0 tests='skipped (no changes)'"]
    rows = [re.sub(r"\d\d:\d\d:\d\dZ", "CLOCK", row.removeprefix(P1)) for row in timeless(said.out)]
    assert (said.code, rows) == ((0, [*first, *second]) if again else (1, [*first, *skipped]))
    assert "warning: the worker ended as rate-limited: unexpected status 503 Service Unavailable: busy" in said.err
    unit = roster(repo.ledger.read().events).units["a"]
    earlier = [(row.attempt, row.state, row.kind) for row in unit.earlier]
    assert earlier == ([(1, "rate-limited", "503")] if again else [])


def test_waiting_is_shown_and_ends_with_a_stop(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = scripted(tmp_path, "echo 2 >b.txt\n" + failed("unexpected status 503 Service Unavailable: busy"))["codex"]
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{table.program}"\n')
    repo.approve()
    assert inside(capsys, repo.path, "new", "a", "x").code == 0
    process = start_prun(repo.path, "exec", "a", "p1", "Do it.")
    assert process.stdout is not None
    line = b""
    while b"trying again at" not in line:
        line = process.stdout.readline()
    shown = status(repo, capsys)
    assert (shown["state"], shown["outcome"]) == ("waiting", "kept")
    assert inside(capsys, repo.path, "stop", "a").code == 0
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.decode().splitlines()[-1]) == (
        143,
        "warning: unexpected status 503 Service Unavailable: busy; stopped while waiting to try again",
    )
    shown = status(repo, capsys)
    assert (shown["state"], shown["reason"]) == (
        "rate-limited",
        "unexpected status 503 Service Unavailable: busy; stopped while waiting to try again",
    )
    assert repo.files("refs/prun/kept/named/a/attempt-1")["b.txt"] == "2"
    assert subjects(repo, "main..x") == []


@pytest.mark.parametrize("said", ["x", "0", "-1"])
def test_a_stall_that_is_no_duration(run: Run, said: str) -> None:
    answer = run("true", "--stall", said)
    assert (answer.code, answer.err.splitlines()[0]) == (129, f"error: --stall: invalid duration {said!r}")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_worker_and_keeps_its_work(repo: Repo, number: int, code: int) -> None:
    prun(repo.path, "new", "a", "x")
    ready = repo.path.parent / "ready"
    os.mkfifo(ready)
    script = f"echo half >half.txt; echo >{shlex.quote(str(ready))}; exec sleep 600"
    process = start_prun(repo.path, "exec", "a", "p1", "Do it.", "--command", f"sh -c {shlex.quote(script)}")
    _hear(ready)
    busy = prun(repo.path, "exec", "a", "p2", "Do it.", "--command", "true")
    assert (busy.code, busy.err.splitlines()[0]) == (1, "error: somebody is at work in a")
    assert prun(repo.path, "remove", "a").code == 1
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err.decode()
    assert repo.files("refs/prun/kept/named/a/attempt-1")["half.txt"] == "half"
    assert subjects(repo, "main..x") == []


def test_a_coordinator_that_is_killed_leaves_its_worker_alone_at_work(repo: Repo) -> None:
    prun(repo.path, "new", "a", "x")
    ready, go = repo.path.parent / "ready", repo.path.parent / "go"
    os.mkfifo(ready)
    os.mkfifo(go)
    script = f"echo >{shlex.quote(str(ready))}; cat {shlex.quote(str(go))} >half.txt"
    process = start_prun(repo.path, "exec", "a", "p1", "Do it.", "--command", f"sh -c {shlex.quote(script)}")
    _hear(ready)
    process.kill()
    process.communicate(timeout=60)
    busy = prun(repo.path, "exec", "a", "p2", "Do it.", "--command", "true")
    assert (busy.code, busy.err.splitlines()[0]) == (1, "error: somebody is at work in a")
    facts = [json.loads(line) for line in (repo.path / ".git" / "prun" / "ledger.jsonl").read_text().splitlines()]
    warden = next(row["facts"]["process"]["pid"] for row in facts if row["kind"] == "unit.started")
    go.write_text("half\n")
    _wait(os.pidfd_open(warden))
    assert prun(repo.path, "exec", "a", "p2", "Do it.", "--command", "true").code == 0
    assert repo.files("x")["half.txt"] == "half"


def _wait(descriptor: int) -> None:
    assert select.select([descriptor], [], [], 60)[0]
    os.close(descriptor)


def _hear(fifo: Path) -> None:
    """Wait until somebody writes into a fifo."""
    _wait(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))
