"""``git prun new``: what it prints, what it takes along, and which setup commands it runs."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import select
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Said, program_environment, prun
from tests.support.inside import inside, timeless
from tests.support.processes import start_program
from tests.support.repos import Repo, make_repo
from tests.support.runs import unit_of

pytestmark = pytest.mark.slow

New = Callable[..., Said]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def new(repo: Repo, capsys: pytest.CaptureFixture[str]) -> New:
    return lambda *words: inside(capsys, repo.path, "new", *words)


def place(repo: Repo, name: str = "a") -> Path:
    return repo.path.parent / "repo.prun" / "named" / name


def trust(home: Path) -> dict[str, object]:
    return dict(json.loads((home / ".local" / "state" / "git-prun" / "trust.json").read_text())["trusted"])


def test_the_lines_of_the_seed(repo: Repo, new: New) -> None:
    said = new("wave1/x", "wave1/reports", "main")
    path = place(repo, "wave1/x")
    assert (said.code, timeless(said.out).splitlines(), said.err) == (
        0,
        [
            f"[setup] worktree {path} on branch wave1/reports from main (COMMIT)",
            f"[setup] ready: {path} (branch wave1/reports)",
            '[setup] next: git prun exec wave1/x <slug> "<prompt>"',
        ],
        "",
    )


def test_json(repo: Repo, new: New) -> None:
    said = new("a", "x", "--clone", "--json")
    assert said.json == {
        "schema": "gitprun.new/1",
        "name": "a",
        "path": str(place(repo)),
        "branch": "x",
        "base": repo.head,
        "workspace": "clone",
        "provided": [],
        "notes": [],
        "setup": "none",
    }


def test_defect_5_no_ready_for_what_is_not_there(repo: Repo, new: New) -> None:
    said = new("a", "x", "nowhere")
    assert (said.code, said.out, said.err.splitlines()[0]) == (128, "", "error: 'nowhere' names no commit here")
    repo.branch("x")
    said = new("a", "x")
    assert (said.code, said.out, said.err.splitlines()[0]) == (1, "", "error: the branch x already exists")
    assert not place(repo).exists()


def test_a_name_that_is_none(new: New) -> None:
    assert new("../a", "x").code == 128
    assert new("a").code == 129


def test_status_and_removal(repo: Repo, new: New, capsys: pytest.CaptureFixture[str]) -> None:
    new("wave1/x", "x")
    new("b", "y", "--clone")
    shown = timeless(inside(capsys, repo.path, "status").out).splitlines()
    assert [row.split() for row in shown] == [
        ["named", "workspaces:"],
        ["workspace", "state", "age", "files", "verdict", "branch", "note"],
        ["wave1/x", "idle", "AGE", "-", "-", "x", str(place(repo, "wave1/x"))],
        ["b", "idle", "AGE", "-", "-", "y", str(place(repo, "b"))],
    ]
    said = inside(capsys, repo.path, "remove", "wave1/x", "named/b")
    assert (said.code, said.err.splitlines()) == (
        0,
        [f"removed {place(repo, 'wave1/x')}", f"removed {place(repo, 'b')}"],
    )
    assert inside(capsys, repo.path, "status").err.splitlines()[0] == "nothing has been run in this repository yet"
    assert inside(capsys, repo.path, "remove", "b").code == 128


def test_a_name_that_is_a_unit_too(repo: Repo, new: New, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("plan.toml", '[run]\nverify = ["true"]\n[[unit]]\nid = "a"\nprompt = "x"\ncommand = ["touch", "b"]\n')
    inside(capsys, repo.path, "run", "plan.toml")
    new("a", "x")
    rows = inside(capsys, repo.path, "status").out.splitlines()
    assert [rows[0][:15], rows[3], rows[5][:8]] == ["run r1: 1 ready", "named workspaces:", "a       "]
    assert list(inside(capsys, repo.path, "status", "--json").json) == ["schema", "runs", "named"]
    assert "named workspaces" not in inside(capsys, repo.path, "status", "r1").out
    said = inside(capsys, repo.path, "remove", "a")
    assert (said.code, said.err.splitlines()) == (
        129,
        ["error: a is a unit of a run and a named workspace too", "hint: say named/a, or RUN/a"],
    )
    assert (inside(capsys, repo.path, "remove", "r1/a").code, place(repo).exists()) == (0, True)
    assert (inside(capsys, repo.path, "remove", "named/a").code, place(repo).exists()) == (0, False)


def test_what_the_seed_took_along(repo: Repo, new: New, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit("ignore", _dot_gitignore="node_modules/\n.env*\n")
    repo.write("node_modules/dep.js", "x\n")
    repo.write(".env.local", "KEY=1\n")
    repo.write(".env.test", "KEY=2\n")
    new("a", "a")
    assert sorted(os.listdir(place(repo))) == [".env.local", ".git", ".gitignore", "a.txt", "node_modules"]
    assert [(place(repo) / name).is_symlink() for name in (".env.local", "node_modules")] == [False, True]
    monkeypatch.setenv("LINK_NODE_MODULES", "0")
    monkeypatch.setenv("LINK_ENV_FILE", ".env.test")
    new("b", "b")
    assert sorted(os.listdir(place(repo, "b"))) == [".env.test", ".git", ".gitignore", "a.txt"]
    monkeypatch.setenv("LINK_ENV_FILE", "../../outside")
    (repo.path.parent.parent / "outside").touch()
    new("c", "c")
    assert sorted(os.listdir(place(repo, "c"))) == [".git", ".gitignore", "a.txt"]
    repo.write("prun.toml", "[workspace]\ncopy = []\nlink = []\n")
    monkeypatch.setenv("LINK_NODE_MODULES", "1")
    new("d", "d")
    assert sorted(os.listdir(place(repo, "d"))) == [".git", ".gitignore", "a.txt"]


def test_the_seeds_folder_for_worktrees(repo: Repo) -> None:
    env = {"WORKTREE_DIR_NAME": ".worktrees", "PROJECT_DIR": str(repo.path)}
    said = prun(repo.path, "new", "a", "x", env=env)
    assert (said.code, said.err.splitlines()) == (
        128,
        [
            f"error: the workspace root {repo.path}/.worktrees lies in your checkout",
            "hint: choose a folder outside of it, or one that git ignores",
        ],
    )
    repo.commit("ignore", _dot_gitignore="/.worktrees/\n")
    assert prun(repo.path, "new", "a", "x", env=env).code == 0
    inner = Repo(repo.path / ".worktrees" / "named" / "a")
    assert (inner.git("branch", "--show-current"), repo.status()) == ("x", [])
    assert prun(inner.path, "-C", str(inner.path), "new", "b", "y", env={"WT_DIR_NAME": ".worktrees"}).code == 0
    assert (repo.path / ".worktrees" / "named" / "b" / "a.txt").exists()


SETUP = '[workspace]\nsetup = ["echo first; echo generated >gen.txt", "test -f gen.txt"]\n'


def test_setup_runs_only_when_it_is_trusted(repo: Repo, new: New, sealed: Path) -> None:
    repo.commit("settings", prun_dot_toml=SETUP, _dot_gitignore="gen.txt\n")
    said = new("a", "a")
    assert (said.code, said.out.count("\n"), said.err.splitlines()) == (
        1,
        1,
        [
            "setup not run: echo first; echo generated >gen.txt; test -f gen.txt",
            "hint: it comes from prun.toml; read it, then say --yes to let it run, now and from now on",
            "hint: the workspace is there; git prun new a a --resume --yes makes it ready",
        ],
    )
    assert ((place(repo) / "a.txt").exists(), (place(repo) / "gen.txt").exists()) == (True, False)
    said = new("a", "a", "--resume", "--yes")
    assert (said.code, said.out.splitlines()[1]) == (0, f"[setup] ready: {place(repo)} (branch a)")
    assert (place(repo) / "gen.txt").read_text() == "generated\n"
    log = repo.path / ".git" / "prun" / "runs" / "named" / "a" / "setup.log"
    assert log.read_text() == "$ echo first; echo generated >gen.txt\nfirst\n$ test -f gen.txt\n"
    assert new("b", "b").code == 0
    assert (place(repo, "b") / "gen.txt").exists()
    file = sealed / ".local" / "state" / "git-prun" / "trust.json"
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    (row,) = trust(sealed).values()
    assert isinstance(row, dict)
    # No value is kept: it may hold a credential.
    assert (row["repository"], row["key"], sorted(row)) == (
        str(repo.path / ".git"),
        "[workspace] setup",
        ["key", "repository", "time"],
    )


def test_what_an_older_version_was_told_still_counts(repo: Repo, new: New, sealed: Path) -> None:
    repo.write("prun.toml", '[workspace]\nsetup = ["echo one >gen.txt"]\n')
    said = json.dumps([str(repo.path / ".git"), "echo one >gen.txt"]).encode()
    file = sealed / ".local" / "state" / "git-prun" / "trust.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"v": 1, "trusted": {hashlib.sha256(said).hexdigest(): {}}}))
    assert (new("a", "a").code, (place(repo) / "gen.txt").exists()) == (0, True)


def test_other_commands_and_other_repositories_are_asked_for_again(repo: Repo, new: New, tmp_path: Path) -> None:
    repo.write("prun.toml", SETUP)
    assert new("a", "a", "--yes").code == 0
    repo.write("prun.toml", SETUP.replace("first", "second"))
    assert new("b", "b").code == 1
    repo.write("prun.toml", SETUP)
    assert new("c", "c").code == 0
    other = make_repo(tmp_path / "other")
    other.write("prun.toml", SETUP)
    assert prun(other.path, "new", "a", "a").code == 1


@pytest.mark.parametrize("content", ["", "nonsense", "[]", '{"v": 2, "trusted": {}}', '{"v": 1, "trusted": []}'])
def test_a_spoilt_list_trusts_nothing(repo: Repo, new: New, sealed: Path, content: str) -> None:
    repo.write("prun.toml", SETUP)
    file = sealed / ".local" / "state" / "git-prun" / "trust.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert new("a", "a").code == 1
    assert new("b", "b", "--yes").code == 0
    assert len(trust(sealed)) == 1


def test_setup_that_fails(repo: Repo, new: New, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("prun.toml", '[workspace]\nsetup = ["echo no modules; exit 3", "touch never.txt"]\n')
    said = new("a", "a", "--yes")
    log = repo.path / ".git" / "prun" / "runs" / "named" / "a" / "setup.log"
    assert (said.code, said.err.splitlines()) == (
        1,
        [
            "error: the setup command 'echo no modules; exit 3' failed: exit code 3: no modules; the workspace a stays",
            f"hint: its output is in {log}",
        ],
    )
    assert ((place(repo) / "a.txt").exists(), (place(repo) / "never.txt").exists()) == (True, False)
    assert "setup failed" in inside(capsys, repo.path, "status").out
    said = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", "touch b.txt")
    assert said.err.splitlines()[0] == "warning: the setup of a: failed"
    repo.write("prun.toml", '[workspace]\nsetup = ["true"]\n')
    assert new("a", "a", "--resume", "--yes").code == 0


def test_no_setup(repo: Repo, new: New) -> None:
    repo.write("prun.toml", SETUP)
    assert (new("a", "a", "--no-setup").code, (place(repo) / "gen.txt").exists()) == (0, False)


def test_what_setup_made_is_no_work(repo: Repo, new: New, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("prun.toml", '[workspace]\nsetup = ["echo generated >a.txt; echo generated >gen.txt"]\n')
    said = new("a", "a", "--yes")
    assert said.err.splitlines()[0] == "setup made a.txt and 1 more: no work, unless somebody changes it there"
    ran = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", "touch b.txt")
    assert "will be part of the commit" not in ran.err
    assert repo.files("a") == {"a.txt": "1", "b.txt": ""}
    inside(capsys, repo.path, "exec", "a", "p2", "Do it.", "--command", "sh -c 'echo more >>gen.txt'")
    assert repo.files("a") == {"a.txt": "1", "b.txt": "", "gen.txt": "generated\nmore"}


def test_work_from_before_setup_stays_work(repo: Repo, new: New, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("prun.toml", '[workspace]\nsetup = ["echo generated >>a.txt; echo generated >gen.txt"]\n')
    assert new("a", "a").code == 1
    (place(repo) / "a.txt").write_text("mine\n")
    (place(repo) / "b.txt").write_text("mine\n")
    assert new("a", "a", "--resume", "--yes").code == 0
    ran = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", "true")
    assert "a holds uncommitted work already (such as a.txt); it will be part of the commit" in ran.err
    assert repo.files("a") == {"a.txt": "mine\ngenerated", "b.txt": "mine"}


def test_what_is_left_out_is_not_announced_as_part_of_the_commit(
    repo: Repo, new: New, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new("a", "a").code == 0
    (place(repo) / ".env").write_text("TOKEN=1\n")
    (place(repo) / "sub").mkdir()
    Repo(place(repo) / "sub").git("init", "-q")
    Repo(place(repo) / "sub").commit("inner", x_dot_txt="x\n")
    ran = inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", "touch b.txt")
    assert "will be part of the commit" not in ran.err
    assert repo.files("a") == {"a.txt": "1", "b.txt": ""}


def test_what_setup_made_and_a_worker_committed_itself_stays_committed(
    repo: Repo, new: New, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.write("prun.toml", '[workspace]\nsetup = ["echo generated >gen.txt"]\n')
    assert new("a", "a", "--yes").code == 0
    script = "git add -A; git -c user.name=w -c user.email=w@example.test commit -qm own; echo b >b.txt"
    inside(capsys, repo.path, "exec", "a", "p1", "Do it.", "--command", f"sh -c '{script}'")
    assert repo.files("a") == {"a.txt": "1", "b.txt": "b", "gen.txt": "generated"}


def test_prisma_as_in_the_seed(repo: Repo, new: New, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npx = tmp_path / "bin" / "npx"
    npx.parent.mkdir()
    npx.write_text('#!/bin/sh\necho "$@" >npx.txt\n')
    npx.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npx.parent}{os.pathsep}{os.environ['PATH']}")
    repo.write("prun.toml", '[workspace]\nsetup = ["npx prisma generate"]\n')
    monkeypatch.setenv("PRISMA_GENERATE", "0")
    assert (new("a", "a").code, (place(repo) / "npx.txt").exists()) == (0, False)
    repo.write("prun.toml", "")
    monkeypatch.setenv("PRISMA_GENERATE", "1")
    assert (new("b", "b").code, (place(repo, "b") / "npx.txt").read_text()) == (0, "prisma generate\n")


@pytest.mark.parametrize(("answer", "code", "ran"), [("y", 0, True), ("n", 1, False), ("", 1, False)])
def test_the_question_on_a_terminal(repo: Repo, sealed: Path, answer: str, code: int, ran: bool) -> None:
    repo.write("prun.toml", SETUP)
    ours, theirs = pty.openpty()
    process = start_program(
        [sys.executable, "-m", "gitprun", "new", "a", "a"],
        cwd=repo.path,
        env=program_environment(),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while b"[y/N]" not in seen:
        assert select.select([ours], [], [], 60)[0], seen
        seen += os.read(ours, 4096)
    os.write(ours, f"{answer}\n".encode())
    process.communicate(timeout=60)
    os.close(ours)
    assert b"echo first; echo generated >gen.txt" in seen
    assert (process.returncode, (place(repo) / "gen.txt").exists()) == (code, ran)
    assert (sealed / ".local" / "state" / "git-prun" / "trust.json").exists() == ran


def test_setup_of_units(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit("settings", prun_dot_toml=SETUP, _dot_gitignore="gen.txt\n")
    row = '[[unit]]\nid = "{0}"\nprompt = "x"\ncommand = ["cp", "gen.txt", "{0}.txt"]\nworkspace = "{1}"\n'
    checked = '[run]\nverify = ["test -f gen.txt"]\n'
    repo.write("plan.toml", checked + row.format("a", "clone") + row.format("b", "worktree"))
    said = inside(capsys, repo.path, "run", "plan.toml")
    commands = '["echo first; echo generated >gen.txt", "test -f gen.txt"]'
    assert (said.code, said.err.splitlines()) == (
        128,
        [
            f"error: prun.toml says what you have not approved yet: [workspace] setup = {commands}",
            "hint: read it; git prun trust --yes approves it",
        ],
    )
    assert not (repo.path / ".git" / "prun" / "runs").exists()
    assert inside(capsys, repo.path, "run", "plan.toml", "--yes").code == 0
    for name in ("a", "b"):
        assert repo.files(f"refs/prun/r1/{name}")[f"{name}.txt"] == "generated"
        assert (repo.path / ".git" / "prun" / "runs" / "r1" / name / "setup.log").read_text().count("$ ") == 2
    assert inside(capsys, repo.path, "run", "plan.toml").code == 0
    assert inside(capsys, repo.path, "merge").code == 0
    assert {"a.txt", "b.txt"} < set(repo.files("main"))


def test_a_landing_is_verified_without_commands_that_are_not_trusted(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.switch("x", new=True)
    repo.commit("x", b_dot_txt="b\n")
    repo.switch("main")
    repo.write("prun.toml", '[workspace]\nsetup = ["exit 3"]\n')
    said = inside(capsys, repo.path, "merge", "x", "--verify", "true")
    assert (said.code, said.err.splitlines()[0]) == (
        0,
        "warning: setup commands from prun.toml are not approved; verifying without them (approve with --yes)",
    )
    repo.git("reset", "-q", "--hard", "HEAD^")
    assert inside(capsys, repo.path, "new", "a", "a", "--yes").code == 1
    said = inside(capsys, repo.path, "merge", "x", "--verify", "true")
    assert (said.code, "the setup command 'exit 3' failed: exit code 3" in said.out + said.err) == (1, True)


def test_a_unit_whose_setup_fails_is_broken(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("prun.toml", '[workspace]\nsetup = ["exit 3"]\n')
    repo.write("plan.toml", '[[unit]]\nid = "a"\nprompt = "x"\ncommand = ["touch", "b"]\n')
    assert inside(capsys, repo.path, "run", "plan.toml", "--yes").code == 1
    facts, log = unit_of(repo, "a").as_json(), repo.path / ".git" / "prun" / "runs" / "r1" / "a" / "setup.log"
    assert (unit_of(repo, "a").state, facts["reason"], facts["hint"]) == (
        "broken",
        "the setup command 'exit 3' failed: exit code 3",
        f"its output is in {log}",
    )
    assert not (repo.path.parent / "repo.prun").exists()


def test_setup_is_a_key_of_the_strict_tables(repo: Repo, new: New) -> None:
    repo.write("prun.toml", '[workspace]\nsetup = "npm ci"\n')
    assert new("a", "a").err.splitlines()[0] == (
        'error: prun.toml: [workspace] setup must be a list of texts, such as ["a", "b"]'
    )
