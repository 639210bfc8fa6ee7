"""Bad input: one clear line, a hint, the right exit code, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cli import prun, start_prun
from tests.support.inside import inside, timeless
from tests.support.repos import Repo, make_repo
from tests.support.small_disk import mounted

UNIT = '[[unit]]\nid = "a"\nprompt = "do it"\ncommand = ["sh", "-c", "echo x >x"]\n'
Change = Callable[[Repo], object]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def traces(repo: Repo) -> tuple[list[str], bool, bool, list[str]]:
    """List what a run would leave: refs, a ledger, kept files, folders beside the repository."""
    state = repo.path / ".git" / "prun"
    refs = repo.git("for-each-ref", "--format=%(refname)").splitlines()
    beside = sorted(path.name for path in repo.path.parent.iterdir())
    return refs, (state / "ledger.jsonl").exists(), (state / "runs").exists(), beside


def plan(text: str) -> Change:
    return lambda repo: repo.write("plan.toml", text)


def both(*changes: Change) -> Change:
    return lambda repo: [change(repo) for change in changes]


CASES: dict[str, tuple[Change, str, str]] = {
    "plan missing": (
        lambda repo: None,
        "plan {repo}/plan.toml does not exist",
        "it is looked for at {repo}/plan.toml",
    ),
    "plan a folder": (
        lambda repo: (repo.path / "plan.toml").mkdir(),
        "plan {repo}/plan.toml is not a file",
        "it is looked for at {repo}/plan.toml",
    ),
    "not TOML": (
        plan("[run\n"),
        "plan.toml is not TOML: Expected ']' at the end of a table declaration (at line 1, column 5)",
        "see `git prun run --help` for an example",
    ),
    "too deep": (
        plan("a = " + "[" * 20_000),
        "plan.toml is nested too deeply",
        "see `git prun run --help` for an example",
    ),
    "plan not UTF-8": (
        lambda repo: repo.write("plan.toml", b"# caf\xe9\n"),
        "plan.toml is not UTF-8: byte 0xe9 at 5",
        "save it as UTF-8 (iconv -f LATIN1 -t UTF-8)",
    ),
    "unknown key": (plan(UNIT + "promtp = 1"), "plan.toml: unit 'a': unknown key 'promtp'", "did you mean 'prompt'?"),
    "unknown table": (plan("[rum]\n" + UNIT), "plan.toml: unknown key 'rum'", "did you mean 'run'?"),
    "duplicate id": (plan(UNIT * 2), "plan.toml: unit ids must be distinct: two of 'a'", "rename one of them"),
    "unsafe id": (
        plan(UNIT.replace('"a"', '"../../a"')),
        "plan.toml: unit id '../../a' is not usable",
        "use letters, digits, _ and - only (at most 100, not starting with -)",
    ),
    "missing prompt file": (
        plan('[[unit]]\nid = "a"\nprompt_file = "prompts/a.md"\n'),
        "prompt file prompts/a.md does not exist",
        "it is looked for at {repo}/prompts/a.md",
    ),
    "prompt not UTF-8": (
        both(plan('[[unit]]\nid = "a"\nprompt_file = "a.md"\n'), lambda repo: repo.write("a.md", b"caf\xe9")),
        "prompt file a.md is not UTF-8: byte 0xe9 at 3",
        "save it as UTF-8 (iconv -f LATIN1 -t UTF-8)",
    ),
    "prompt with NUL": (
        both(plan('[[unit]]\nid = "a"\nprompt_file = "a.md"\n'), lambda repo: repo.write("a.md", b"a\0b")),
        "prompt file a.md holds a NUL character",
        "prompts are text",
    ),
    "empty prompt": (
        both(plan('[[unit]]\nid = "a"\nprompt_file = "a.md"\n'), lambda repo: repo.write("a.md", b" \n")),
        "plan.toml: unit 'a': the prompt is empty",
        "say what the worker has to do",
    ),
    "empty plan": (
        plan(""),
        "plan.toml: the plan has no units",
        'add at least one [[unit]] with id = "..." and a prompt',
    ),
    "unknown executor": (
        plan(UNIT + 'executor = "codx"'),
        "plan.toml: unit 'a': unknown executor 'codx'",
        "one of: codex, claude, command (meant codex?)",
    ),
    "program not found": (
        plan(UNIT.replace('"sh"', '"no-such-program"')),
        "unit 'a': the program 'no-such-program' was not found on PATH",
        "install it, or write its whole path into the unit's command",
    ),
    "agent not found": (
        plan('[executor.codex]\nprogram = "no-such-codex"\n[[unit]]\nid = "a"\nprompt = "x"\n'),
        "unit 'a': the program 'no-such-codex' was not found on PATH",
        "install it (pip install 'gitprun[codex]' brings it), or set [executor.codex] program in prun.toml",
    ),
    "no such base": (
        plan('[run]\nbase = "nowhere"\n' + UNIT),
        "'nowhere' names no commit here",
        "git log --oneline -5 shows commits; git branch, names",
    ),
    "a base that is an option": (
        plan('[run]\nbase = "--all"\n' + UNIT),
        "'--all' names no commit here",
        "git log --oneline -5 shows commits; git branch, names",
    ),
    "no such remote base": (
        plan('[run]\nbase = "origin/main"\n' + UNIT),
        "'origin/main' names no commit here",
        "there is no remote-tracking branch of that name; the local branch is 'main'",
    ),
    "root below a file": (
        plan('[workspace]\nroot = "a.txt/work"\n' + UNIT),
        "the workspace root {repo}/a.txt/work lies in your checkout",
        "choose a folder outside of it, or one that git ignores",
    ),
    "root is the checkout": (
        plan('[workspace]\nroot = "."\n' + UNIT),
        "the workspace root {repo} lies in your checkout",
        "choose a folder outside of it, or one that git ignores",
    ),
    "root in the git folder": (
        plan('[workspace]\nroot = ".git/work"\n' + UNIT),
        "the workspace root {repo}/.git/work lies in the git folder",
        "choose a folder outside of it",
    ),
    "root cannot be made": (
        both(
            plan('[workspace]\nroot = "../file/work"\n' + UNIT), lambda repo: (repo.path.parent / "file").write_text("")
        ),
        "the workspace root {top}/file/work cannot be used: Not a directory",
        'choose another folder: --root, or [workspace] root = "..." in prun.toml',
    ),
    "configuration wrong": (
        both(plan(UNIT), lambda repo: repo.write("prun.toml", "[run]\nvrify = []\n")),
        "prun.toml: [run] unknown key 'vrify'",
        "did you mean 'verify'?",
    ),
    "configuration dangling": (
        both(plan(UNIT), lambda repo: (repo.path / "prun.toml").symlink_to("gone")),
        "configuration {repo}/prun.toml is not a file",
        "it is looked for at {repo}/prun.toml",
    ),
    "nobody to commit as": (
        both(plan(UNIT), lambda repo: repo.git("config", "user.useConfigOnly", "true")),
        "git does not know who you are, so no commit can be made",
        'git config --global user.name "..." and user.email "..." (or GIT_AUTHOR_*/GIT_COMMITTER_* variables)',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_plans(repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    change, message, hint = CASES[name]
    change(repo)
    if name == "nobody to commit as":
        for variable in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
            monkeypatch.delenv(variable)
    before = traces(repo)
    said = inside(capsys, repo.path, "run", "plan.toml")
    places = {"repo": str(repo.path), "top": str(repo.path.parent)}
    assert (said.code, said.out) == (128, "")
    assert said.err == f"error: {message}\nhint: {hint}\n".replace("{repo}", places["repo"]).replace(
        "{top}", places["top"]
    )
    assert traces(repo) == before


SINGLE = "put it into the plan, or leave the plan out"
USAGE: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no plan": (
        (),
        129,
        "error: a plan is missing\nhint: git prun run plan.toml, or --unit id=NAME --prompt-file FILE\n",
    ),
    "plan and unit": (
        ("plan.toml", "--unit", "id=a"),
        129,
        f"error: --unit is for a single unit, not for a plan\nhint: {SINGLE}\n",
    ),
    "plan and prompt": (
        ("plan.toml", "--prompt-file", "x"),
        129,
        f"error: --prompt-file is for a single unit, not for a plan\nhint: {SINGLE}\n",
    ),
    "no jobs": (
        ("plan.toml", "--jobs", "0"),
        129,
        "error: Invalid value for '--jobs' / '-j': 0 is not in the range x>=1\nhint: git prun run --help\n",
    ),
    "empty verify": (
        ("plan.toml", "--verify", " "),
        129,
        "error: --verify must not be empty\nhint: leave it out to have the checks detected\n",
    ),
    "open quote": (
        ("--unit", "a", "--prompt", "x", "--command", "sh 'x"),
        129,
        "error: --command cannot be split into words: No closing quotation\nhint: close every quote\n",
    ),
    "unknown unit key": (
        ("--unit", "a", "--unit", "promt=x"),
        128,
        "error: --unit: unit 'a': unknown key 'promt'\nhint: did you mean 'prompt'?\n",
    ),
    "unit without id": (
        ("--unit", "prompt=x"),
        128,
        'error: --unit: id is missing\nhint: every unit needs an id, such as id = "reports"\n',
    ),
    "unit without prompt": (
        ("--unit", "a"),
        128,
        "error: --unit: unit 'a': prompt or prompt_file must be given, and not both\n"
        'hint: prompt = "...", or prompt_file = "prompts/NAME.md"\n',
    ),
    "prompt not UTF-8": (
        ("--unit", "a", "--prompt", "caf\udce9", "--command", "true"),
        128,
        "error: --unit: unit 'a': prompt is not UTF-8\n",
    ),
    "no such base": (
        ("--unit", "a", "--prompt", "x", "--command", "true", "--base", "\x1b[31mred"),
        128,
        "error: '\\x1b[31mred' names no commit here\nhint: git log --oneline -5 shows commits; git branch, names\n",
    ),
}


@pytest.mark.parametrize("name", USAGE)
def test_bad_command_lines(repo: Repo, capsys: pytest.CaptureFixture[str], name: str) -> None:
    args, code, err = USAGE[name]
    repo.write("plan.toml", UNIT)
    before = traces(repo)
    said = inside(capsys, repo.path, "run", *args)
    assert (said.code, said.out, said.err) == (code, "", err)
    assert traces(repo) == before


@pytest.mark.parametrize("command", ["run plan.toml", "status", "show a", "diff a", "log a", "remove a", "clean"])
def test_outside_of_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (tmp_path / "plan.toml").write_text(UNIT)
    said = inside(capsys, tmp_path, *command.split())
    assert (said.code, said.out, said.err) == (
        128,
        "",
        f"error: {tmp_path} is not in a git repository\nhint: change into one, or run git init and commit\n",
    )
    assert os.listdir(tmp_path) == ["plan.toml"]


def test_without_any_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = Repo(tmp_path / "repo")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.write("plan.toml", UNIT)
    before = traces(repo)
    said = inside(capsys, repo.path, "run", "plan.toml")
    assert (said.code, said.out, said.err) == (
        128,
        "",
        "error: this repository has no commits yet\nhint: make a first commit: git commit --allow-empty -m start\n",
    )
    assert traces(repo) == before


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, tmp_path / "gone", "status")
    assert (said.code, said.err) == (128, f"error: {tmp_path}/gone: No such file or directory\n")


def test_a_folder_of_a_run_is_never_used_again(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("plan.toml", UNIT)
    taken = repo.path.parent / "repo.prun" / "r1" / "a"
    taken.mkdir(parents=True)
    (taken / "mine").write_text("precious")
    said = inside(capsys, repo.path, "run", "plan.toml", "--verify", "true")
    assert said.code == 0
    assert (taken / "mine").read_text() == "precious"
    assert repo.files("refs/prun/r2/a") == {"a.txt": "1", "x": "x"}


def test_a_branch_in_the_way_of_worktrees_only(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.git("branch", "prun")
    repo.write("plan.toml", UNIT)
    assert inside(capsys, repo.path, "run", "plan.toml", "--verify", "true").code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_root_that_cannot_be_written(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    locked = repo.path.parent / "locked"
    locked.mkdir(mode=0o500)
    repo.write("plan.toml", f'[workspace]\nroot = "{locked}/work"\n' + UNIT)
    before = traces(repo)
    said = inside(capsys, repo.path, "run", "plan.toml")
    assert (said.code, said.err) == (
        128,
        f"error: the workspace root {locked}/work cannot be used: Permission denied\n"
        'hint: choose another folder: --root, or [workspace] root = "..." in prun.toml\n',
    )
    assert traces(repo) == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of two megabytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "small"
    place.mkdir()
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(mounted(place, "2m"))
        except subprocess.CalledProcessError as problem:
            pytest.skip(f"no small file system: {problem.stderr.decode().strip()}")
        yield place


@pytest.mark.root
def test_a_full_disk_for_workspaces(repo: Repo, small_disk: Path) -> None:
    repo.commit("big", big_dot_bin=os.urandom(3_000_000))
    repo.write("plan.toml", UNIT + UNIT.replace('"a"', '"b"'))
    before = traces(repo)
    said = prun(repo.path, "run", "plan.toml", "--root", str(small_disk), "--jobs", "1")
    assert said.code == 1
    rows = [line.split() for line in said.out.splitlines()]
    assert [row[:2] for row in rows] == [["unit", "state"], ["a", "broken"], ["b", "broken"]]
    assert said.out.count("failed: error: unable to write file big.bin") == 2
    assert said.err.splitlines()[-1] == "hint: free some space, then run again"
    assert os.listdir(small_disk) == []
    assert traces(repo)[0] == [*before[0], "refs/prun/base/r1"]


@pytest.mark.root
def test_a_full_disk_for_the_repository(small_disk: Path) -> None:
    repo = make_repo(small_disk / "repo")
    repo.write("plan.toml", UNIT)
    filler = os.open(small_disk / "filler", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(filler, b"x" * 4096):
            pass
    os.close(filler)
    before = repo.git("for-each-ref")
    said = prun(repo.path, "run", "plan.toml", "--root", str(small_disk.parent / "work"))
    assert said.code == 128
    lines = said.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["error", "hint"]
    assert "No space left on device" in lines[0] or "disk full" in lines[1]
    assert repo.git("for-each-ref") == before
    assert not (small_disk.parent / "work").exists()
    assert not (repo.path / ".git" / "prun" / "runs" / "r1").exists()


def test_two_runs_at_once(repo: Repo, tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    # Every worker waits until all four are there, so the two runs must go on at the same time.
    wait = f"while [ $(ls {room} | wc -l) -lt 4 ]; do sleep 0.1; done"
    script = f"touch {room}/$PRUN_RUN.$PRUN_UNIT; {wait}; echo x >$PRUN_UNIT"
    unit = '[[unit]]\nid = "{}"\nprompt = "x"\ntimeout = 60\nworkspace = "{}"\ncommand = ["sh", "-c", "{}"]\n'
    repo.write("plan.toml", unit.format("a", "clone", script) + unit.format("b", "worktree", script))
    both = [start_prun(repo.path, "run", "plan.toml", "--jobs", "2", "--verify", "true") for _ in range(2)]
    said = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/prun").splitlines()
    assert refs == [f"refs/prun/{name}" for name in ("base/r1", "base/r2", "r1/a", "r1/b", "r2/a", "r2/b")]
    firsts = sorted(timeless(err.decode()).splitlines()[0] for _, err in said)
    assert firsts == [f"run {run}: 2 units, 2 at a time, base COMMIT (HEAD)" for run in ("r1", "r2")]
    assert repo.ledger.read().unreadable == ()
