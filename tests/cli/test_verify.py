"""``git prun verify``: checks run again, where nothing but their surroundings changed; also from ``run --resume``."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.events import Event
from tests.support.cli import prun, start_prun
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, events_of, fingerprint, run_units, sh, unit_of, workspace
from tests.support.schemas import check

PRISTINE = "on its commit alone, in a pristine place"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """Name the program that is the check, which is not there yet."""
    return tmp_path / "tool"


def install(tool: Path, text: str = "test -f b.txt") -> None:
    tool.write_text(f"#!/bin/sh\n{text}\n")
    tool.chmod(0o755)


def run_without_its_tool(repo: Repo, tool: Path, **settings: Any) -> None:
    run_units(repo, sh("u", "echo b >b.txt" + RESULT), verify=(str(tool),), **settings)
    unit = unit_of(repo, "u")
    assert (unit.state, unit.verdict) == ("unverified", "could-not-run")
    assert unit.reason == f"{tool}: command not found: {tool}"


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def test_a_tool_that_was_installed_since(repo: Repo, tool: Path) -> None:
    run_without_its_tool(repo, tool)
    before = len(events_of(repo, "u"))
    again = prun(repo.path, "verify", "u")
    assert (again.code, again.err) == (1, "")
    assert again.out.splitlines()[0] == (
        f"r1/u is unverified: could-not-run ({tool}: command not found: {tool}), in its workspace"
    )
    install(tool)
    commit = unit_of(repo, "u").commit
    said = prun(repo.path, "verify", "u")
    assert (said.code, said.out, said.err) == (0, "r1/u is ready: pass, in its workspace\n", "")
    unit = unit_of(repo, "u")
    assert (unit.state, unit.verdict, unit.commit, unit.reason) == ("ready", "pass", commit, "")
    assert kinds(events_of(repo, "u")[before:]) == ["unit.verified", "unit.finished"] * 2
    assert prun(repo.path, "merge", "u").code == 0
    assert repo.read("b.txt") == "b\n"


def test_red_names_its_log_and_takes_a_pass_back(repo: Repo, tool: Path) -> None:
    install(tool)
    run_units(repo, sh("u", "echo b >b.txt" + RESULT), verify=(str(tool),))
    install(tool, "echo 'error: the service is down'; exit 1")
    said = prun(repo.path, "verify", "u")
    assert said.code == 1
    log = repo.path / ".git/prun/runs/r1/u/checked-2/verify-1.log"
    assert said.out.splitlines() == [
        f"r1/u is unverified: fail ({tool}: exit 1: error: the service is down), in its workspace",
        f"  log: {log}",
    ]
    assert log.read_text() == "error: the service is down\n"
    assert (unit_of(repo, "u").state, unit_of(repo, "u").verdict) == ("unverified", "fail")
    shown = prun(repo.path, "log", "--verify", "u")
    assert "error: the service is down" in shown.out


@pytest.mark.parametrize("kind", ["clone", "worktree"])
@pytest.mark.parametrize("way", ["changed", "removed", "gone"])
def test_without_the_workspace_as_it_was_the_commit_is_checked(repo: Repo, tool: Path, kind: str, way: str) -> None:
    run_units(repo, sh("u", "echo b >b.txt" + RESULT, workspace=kind), verify=(str(tool),))
    place, commit = workspace(repo, "r1", "u"), unit_of(repo, "u").commit
    if way == "changed":
        (place / "b.txt").unlink()
        (place / "mine.txt").write_text("what somebody does there\n")
    elif way == "removed":
        assert prun(repo.path, "remove", "u").code == 0
    else:
        shutil.rmtree(place)
    install(tool, "test -f b.txt && test ! -f mine.txt")
    why = "its workspace was changed since" if way == "changed" else "its workspace is gone"
    said = prun(repo.path, "verify", "u")
    assert (said.code, said.out) == (0, f"r1/u is ready: pass, {PRISTINE} ({why})\n")
    assert (unit_of(repo, "u").state, unit_of(repo, "u").commit) == ("ready", commit)
    if way == "changed":
        assert (place / "mine.txt").exists()
        assert not (place / "b.txt").exists()
    assert not (repo.path.parent / "repo.prun/checks").exists()


def test_a_run_asks_those_without_a_pass(repo: Repo, tool: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    check = f"test -e {tool} || exit 127; echo $PRUN_UNIT >>{asked}; test -f good.txt"
    good, bad = (f"echo x >{name}.txt{RESULT}" for name in ("good", "bad"))
    run_units(repo, sh("one", good), sh("two", bad), sh("none", RESULT), sh("dead", "echo x >x.txt; exit 3"),
              verify=(check,))  # fmt: skip
    install(tool)
    said = prun(repo.path, "verify")
    assert said.code == 1
    assert [line.partition(" (")[0] for line in said.out.splitlines() if not line.startswith("  ")] == [
        "r1/one is ready: pass, in its workspace", "r1/two is unverified: fail",
    ]  # fmt: skip
    assert asked.read_text().split() == ["one", "two"]
    assert prun(repo.path, "verify", "r1").code == 1
    assert asked.read_text().split() == ["one", "two", "two"]
    assert prun(repo.path, "verify", "--all", "r1").code == 1
    assert asked.read_text().split() == ["one", "two", "two", "one", "two"]
    states = {name: unit_of(repo, name).state for name in ("one", "two", "none", "dead")}
    assert states == {"one": "ready", "two": "unverified", "none": "empty", "dead": "failed"}


def test_nothing_to_check(repo: Repo) -> None:
    run_units(repo, sh("u", "echo b >b.txt" + RESULT))
    said = prun(repo.path, "verify")
    assert (said.code, said.err.splitlines()) == (
        0,
        [
            "nothing to check in r1: every unit whose work is captured has a pass",
            "hint: git prun verify --all r1 checks them again",
        ],
    )
    run_units(repo, sh("v", RESULT))
    said = prun(repo.path, "verify", "r2")
    assert said.code == 1
    assert said.err.startswith("nothing to check in r2: no unit has work that waits for a verdict\n")


def test_other_commands_and_a_time_limit(repo: Repo, tool: Path) -> None:
    run_without_its_tool(repo, tool)
    said = prun(repo.path, "verify", "u", "--verify", "test -f b.txt", "--verify", "sleep 600", "--timeout", "1s")
    assert (said.code, unit_of(repo, "u").verdict) == (1, "could-not-run")
    assert "sleep 600: stopped after 1" in said.out
    assert prun(repo.path, "verify", "u", "--verify", "test -f b.txt").code == 0
    assert [row["command"] for row in unit_of(repo, "u").as_json()["verdict"]["checks"]] == ["test -f b.txt"]


def test_what_is_declared_since_is_asked(repo: Repo) -> None:
    run_units(repo, sh("u", "echo b >b.txt" + RESULT), verify=None)
    assert unit_of(repo, "u").verdict == "absent"
    (repo.path / "prun.toml").write_text('[run]\nverify = ["test -f b.txt"]\n')
    said = prun(repo.path, "verify")
    assert (said.code, said.out) == (0, "r1/u is ready: pass, in its workspace\n")


def test_json(repo: Repo, tool: Path) -> None:
    run_without_its_tool(repo, tool)
    install(tool)
    said = prun(repo.path, "verify", "--json")
    assert said.json == {
        "schema": "gitprun.verify/1",
        "run": "r1",
        "units": [
            {
                "run": "r1",
                "unit": "u",
                "commit": unit_of(repo, "u").commit,
                "before": {"state": "unverified", "verdict": "could-not-run"},
                "state": "ready",
                "verdict": "pass",
                "reason": "",
                "where": "workspace",
                "recorded": True,
                "logs": [str(repo.path / ".git/prun/runs/r1/u/checked-2/verify-1.log")],
                "notes": [],
            }
        ],
    }


def test_a_branch_is_checked_and_nothing_is_kept(repo: Repo) -> None:
    (repo.path / "prun.toml").write_text('[run]\nverify = ["test -f b.txt"]\n')
    repo.git("branch", "topic")
    before, ledger = fingerprint(repo), (repo.path / ".git/prun/ledger.jsonl")
    said = prun(repo.path, "verify", "topic")
    assert said.code == 1
    assert said.out.splitlines()[0] == (f"topic at {repo.head[:10]}: fail (test -f b.txt: exit 1), in a pristine place")
    assert prun(repo.path, "verify", "topic", "--verify", "test -f a.txt").code == 0
    told = prun(repo.path, "verify", "HEAD", "--verify", "test -f a.txt", "--json").json
    assert (told["name"], told["commit"], told["verdict"], told["reason"]) == ("HEAD", repo.head, "pass", "")
    assert fingerprint(repo) == before
    assert not ledger.exists()
    assert not (repo.path.parent / "repo.prun").exists()


def test_what_landed_or_failed_keeps_its_state(repo: Repo) -> None:
    run_units(repo, sh("u", "echo b >b.txt" + RESULT), sh("dead", "echo x >x.txt; exit 3"), verify=("test -f b.txt",))
    assert prun(repo.path, "merge", "u").code == 0
    ledger = (repo.path / ".git/prun/ledger.jsonl").read_bytes()
    said = prun(repo.path, "verify", "u")
    commit = str(unit_of(repo, "u").commit)
    assert (said.code, said.out) == (0, f"prun/r1/u at {commit[:10]}: pass, in a pristine place\n")
    assert prun(repo.path, "verify", "dead").code == 1
    assert (repo.path / ".git/prun/ledger.jsonl").read_bytes() == ledger


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nobody",), 128, "'nobody' names no commit here"),
        (("v",), 1, "r1/v is empty and has no commit to check"),
        (("u", "--all"), 129, "--all is for a run"),
        (("u", "--verify", " "), 129, "--verify must not be empty"),
        (("u", "--timeout", "soon"), 129, "--timeout: invalid duration 'soon'"),
        (("both",), 128, "'both' is both a branch and a unit"),
    ],
)
def test_what_cannot_be_checked(repo: Repo, words: tuple[str, ...], code: int, message: str) -> None:
    run_units(repo, sh("u", "echo b >b.txt" + RESULT), sh("v", RESULT), sh("both", "echo c >c.txt" + RESULT))
    repo.git("branch", "both")
    said = prun(repo.path, "verify", *words)
    assert (said.code, said.out) == (code, "")
    assert message in said.err.splitlines()[0]


def start_and_wait(repo: Repo, tool: Path, *words: str) -> Any:
    """Start a command whose check tells when it has begun, and wait for that."""
    begun = tool.parent / "begun"
    os.mkfifo(begun)
    install(tool, f"echo >'{begun}'; exec sleep 600")
    process = start_prun(repo.path, *words)
    begun.read_bytes()
    begun.unlink()
    return process


def test_ctrl_c_leaves_the_old_verdict(repo: Repo, tool: Path) -> None:
    install(tool)
    run_units(repo, sh("u", "echo b >b.txt" + RESULT), verify=(str(tool),))
    before = unit_of(repo, "u")
    process = start_and_wait(repo, tool, "verify", "u")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"what was not checked to its end keeps the verdict it had" in err
    after = unit_of(repo, "u")
    assert (after.state, after.verdict, after.as_json()["verdict"]) == ("ready", "pass", before.as_json()["verdict"])
    assert Path(after.as_json()["verdict"]["checks"][0]["log"]).exists()
    last = repo.ledger.read().history.last
    assert last is not None
    assert last.ended is not None


def test_killed_it_leaves_the_old_verdict_and_can_be_asked_again(repo: Repo, tool: Path) -> None:
    run_without_its_tool(repo, tool)
    process = start_and_wait(repo, tool, "verify", "u")
    process.kill()
    process.communicate(timeout=60)
    assert (unit_of(repo, "u").state, unit_of(repo, "u").verdict) == ("unverified", "could-not-run")
    install(tool)
    assert prun(repo.path, "verify", "u").out == "r1/u is ready: pass, in its workspace\n"


def test_resume_asks_what_could_not_run_and_nothing_else(repo: Repo, tool: Path, tmp_path: Path) -> None:
    work = f'echo "$PRUN_UNIT" >>{tmp_path}/worked; echo b >"$PRUN_UNIT.txt"{RESULT}'
    run_units(repo, sh("good", work), sh("bad", work), verify=(f"test -e bad.txt && exit 1; {tool}",))
    assert [unit_of(repo, name).verdict for name in ("good", "bad")] == ["could-not-run", "fail"]
    install(tool, "true")
    before = len(events_of(repo, "bad"))
    said = prun(repo.path, "run", "--resume")
    assert said.err.splitlines()[0] == "run r1: the checks of 1 unit could not run; they are asked again"
    assert said.code == 1
    assert [unit_of(repo, name).state for name in ("good", "bad")] == ["ready", "unverified"]
    assert len(events_of(repo, "bad")) == before
    assert sorted((tmp_path / "worked").read_text().split()) == ["bad", "good"]
    assert prun(repo.path, "run", "--resume").err.splitlines()[0] == "run r1: nothing is missing"


def test_resume_asks_checks_that_were_stopped(repo: Repo, tool: Path) -> None:
    plan = repo.path.parent / "plan.toml"
    plan.write_text(
        f'[run]\nverify = ["{tool}"]\n[[unit]]\nid = "u"\nprompt = "x"\nexecutor = "command"\n'
        'command = ["sh", "-c", "echo b >b.txt"]\n'
    )
    process = start_and_wait(repo, tool, "run", str(plan))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert (unit_of(repo, "u").state, unit_of(repo, "u").verdict) == ("unverified", "could-not-run")
    install(tool)
    assert prun(repo.path, "run", "--resume").code == 0
    assert unit_of(repo, "u").state == "ready"


def test_what_a_linter_says_of_a_merge_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A linter that takes the number of lines with "x" in them for a fault: two of them, and no side has more than one.
    (tmp_path / "bin").mkdir()
    script = 'count=$(cat "$9" | grep -c x)\n[ "$count" -lt 2 ] || { echo "a.py:2:1: F821 $count x"; exit 1; }'
    install(tmp_path / "bin" / "ruff", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    text = "".join(f"n{number} = {number}\n" for number in range(9))
    repo = make_repo(tmp_path / "repo", a_dot_py=text, b_dot_txt="b\n")
    for name, old, new in (("unit", "n8", "x8"), ("same", "n7", "m7")):
        repo.switch(name, new=True, start="main")
        repo.commit(name, a_dot_py=text.replace(old, new))
    repo.switch("apart", new=True, start="main")
    repo.commit("apart", b_dot_txt="c\n")
    repo.switch("main")
    repo.commit("main", a_dot_py=text.replace("n0", "x0"))
    found = prun(repo.path, "verify", "--difference", "unit")
    assert (found.code, found.err, found.out.splitlines()) == (
        1,
        "",
        [
            "unit merged with main: said of the merge, and of neither side, by ruff",
            "  a.py: ruff says what it says of neither side: F821 2 x",
        ],
    )
    said = prun(repo.path, "verify", "--difference", "same")
    assert (said.code, said.out) == (0, "same merged with main: nothing is said of the merge alone, by ruff\n")
    said = prun(repo.path, "verify", "--difference", "apart")
    assert (said.code, said.out) == (0, "apart merged with main: both sides changed no files of one language\n")
    told = json.loads(prun(repo.path, "verify", "--difference", "unit", "--json").out)
    check(told)
    assert told["branches"][0]["messages"] == [
        {"path": "a.py", "text": "ruff says what it says of neither side: F821 2 x"}
    ]
    wrong = prun(repo.path, "verify", "--difference", "--all", "unit")
    assert (wrong.code, wrong.err.splitlines()[0]) == (
        129,
        "error: --difference goes without --all, --verify and --timeout",
    )


def test_a_landing_asks_a_linter_where_prun_toml_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    both = 'if [ -f c.py ] && grep -q 2 b.py; then echo "b.py:1:1: F821 c"; exit 1; fi'
    install(tmp_path / "bin" / "ruff", both)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    wanted = "[run]\nverify = ['true']\nverify_difference = true\n"
    repo = make_repo(tmp_path / "repo", prun_dot_toml=wanted, b_dot_py="b = 1\n")
    repo.switch("unit", new=True)
    repo.commit("unit", b_dot_py="b = 2\n")
    repo.switch("main")
    repo.commit("main", c_dot_py="c = 1\n")
    # A dry run starts no program.
    assert prun(repo.path, "merge", "--dry-run", "unit").code == 0
    said = "b.py: ruff says what it says of neither side: F821 c"
    held = prun(repo.path, "merge", "unit")
    assert held.code == 1
    assert said in held.out + held.err
    # What a look in memory cannot find is known from the landing.
    opened = prun(repo.path, "resolve", "unit")
    assert (opened.code, said.partition(": ")[2] in opened.out) == (0, True)
    assert prun(repo.path, "merge", "--allow-suspect=b.py", "unit").code == 0
