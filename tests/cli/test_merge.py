"""``git prun merge`` as a user calls it: its options, what it prints, its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import program_environment, prun, start_prun
from tests.support.landing import landing_events
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.runs import RESULT

pytestmark = pytest.mark.slow


def two_branches(path: Path) -> Repo:
    repo = make_repo(path, f="1\n")
    for name in ("one", "two"):
        repo.switch(name, new=True, start="main")
        repo.commit(name, f=f"{name}\n", **{name: "x\n"})
    repo.switch("main")
    return repo


def test_what_is_left_after_the_resolvers_goes_to_one_side_only_if_accepted(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    said = prun(repo.path, "merge", "--no-verify", "-X", "ours", "one", "two")
    assert said.code == 1
    rows = said.out.splitlines()
    assert [row.split()[:2] for row in rows[:3]] == [["branch", "state"], ["one", "landed"], ["two", "drops"]]
    assert rows[3:] == [
        "two: f would unite (main-side)",
        "  would be dropped by policy: unit 1: +two",
    ]
    said = prun(repo.path, "merge", "--no-verify", "-X", "ours", "--accept-drops", "two")
    assert said.code == 0, said.err
    assert (repo.read("f"), repo.read("two")) == ("one\n", "x\n")


def test_drops_cannot_be_accepted_without_a_side(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    said = prun(repo.path, "merge", "--accept-drops", "main")
    assert (said.code, said.err) == (
        129,
        "error: --accept-drops says nothing without -X\nhint: write -X ours or -X theirs with it\n",
    )


def test_a_favour(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    said = prun(repo.path, "merge", "--no-verify", "--favor", "f=theirs", "one", "two")
    assert said.code == 0, said.out
    assert repo.read("f") == "two\n"
    said = prun(repo.path, "merge", "--favor", "f=mine", "two")
    assert (said.code, said.err.splitlines()[0]) == (128, "error: --favor 'f=mine' is not PATH=POLICY")


def test_conflicts_and_what_looks_wrong_are_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", conf_dot_json='{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4\n}\n')
    repo.switch("topic", new=True)
    repo.commit("topic", conf_dot_json='{\n  "x": 1,\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4\n}\n')
    repo.switch("main")
    repo.commit("main", conf_dot_json='{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4,\n  "x": 2\n}\n')
    said = prun(repo.path, "merge", "--no-verify", "topic")
    assert said.code == 1
    assert said.out.splitlines()[1].split()[:2] == ["topic", "suspect"]
    assert said.out.splitlines()[2].startswith("topic: look at conf.json: ")
    said = prun(repo.path, "merge", "--no-verify", "--json", "topic")
    assert [row["state"] for row in said.json["items"]] == ["suspect"]
    assert [row["path"] for row in said.json["items"][0]["suspects"]] == ["conf.json"]
    assert said.json["items"][0].get("verdict") is None
    assert prun(repo.path, "merge", "--no-verify", "topic", "--allow-suspect").code == 0


def suspect(path: Path) -> Repo:
    lines = '{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4\n}\n'
    repo = make_repo(path, conf_dot_json=lines)
    repo.switch("topic", new=True)
    repo.commit("topic", conf_dot_json=lines.replace("{\n", '{\n  "x": 1,\n'))
    repo.switch("main")
    repo.commit("main", conf_dot_json=lines.replace(": 4\n", ': 4,\n  "x": 2\n'))
    return repo


def test_a_suspect_says_how_to_go_on(tmp_path: Path) -> None:
    repo = suspect(tmp_path / "repo")
    said = prun(repo.path, "merge", "--no-verify", "topic")
    assert (said.code, said.err.splitlines()[-1]) == (
        1,
        "hint: git prun resolve topic opens it to be mended;"
        " git prun merge --allow-suspect=conf.json topic lands it as it is",
    )


@pytest.mark.parametrize("word", ["conf.json", 'conf.json: the key "x" is there twice', "all", "."])
def test_a_finding_is_accepted_by_its_name(tmp_path: Path, word: str) -> None:
    repo = suspect(tmp_path / "repo")
    said = prun(repo.path, "merge", "--no-verify", f"--allow-suspect={word}", "topic")
    assert said.code == 0, said.out
    [landed] = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert landed["suspects"] == [{"path": "conf.json", "reason": 'the key "x" is there twice'}]


def test_no_other_finding_is_accepted_with_it(tmp_path: Path) -> None:
    repo = suspect(tmp_path / "repo")
    for words in (["--allow-suspect", "other.json"], ["--allow-suspect", "conf.json: something else"]):
        said = prun(repo.path, "merge", "--no-verify", *words, "topic")
        assert (said.code, said.out.splitlines()[1].split()[:2]) == (1, ["topic", "suspect"])


def test_a_branch_is_no_finding(tmp_path: Path) -> None:
    repo = suspect(tmp_path / "repo")
    repo.ledger.append(payload_of("run.started", {"base": repo.head}), run="r1")
    facts = {"commit": repo.oid("topic"), "verdict": {"state": "pass"}}
    repo.ledger.append(payload_of("unit.captured", facts), run="r1", unit="u")
    repo.ledger.append(payload_of("unit.finished", state="ready"), run="r1", unit="u")
    for word, what in (("topic", "a branch"), ("u", "the unit u"), ("r1/u", "the unit u"), ("r1", "a run")):
        said = prun(repo.path, "merge", "--allow-suspect", word)
        assert (said.code, said.out, said.err) == (
            129,
            "",
            f"error: --allow-suspect takes what looks wrong, and {word} is {what}\n"
            f"hint: git prun merge --allow-suspect=all {word} lands it whatever looks wrong in it\n",
        )
    # A path of that name is one.
    repo.branch("conf.json", "topic")
    assert prun(repo.path, "merge", "--no-verify", "--allow-suspect", "conf.json", "topic").code == 0


def test_stopping_at_the_first_that_cannot_land(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.switch("three", new=True)
    repo.commit("three", three="3\n")
    repo.switch("main")
    said = prun(repo.path, "merge", "--no-verify", "--no-keep-going", "one", "two", "three")
    states = [row.split()[:2] for row in said.out.splitlines()[1:4]]
    assert (said.code, states) == (1, [["one", "landed"], ["two", "conflict"], ["three", "not-tried"]])


def test_after_commands_of_the_configuration(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", schema="b\n", made="b\n")
    repo.commit("conf", prun_dot_toml='[[hotspot]]\npath = "schema"\nafter = ["sort schema >made"]\n')
    repo.switch("topic", new=True)
    repo.commit("topic", schema="b\na\n")
    repo.switch("main")
    said = prun(repo.path, "merge", "--no-verify", "topic")
    assert said.code == 128
    assert said.err.splitlines()[-2:] == [
        'error: prun.toml says what you have not approved yet: [[hotspot]] after = ["sort schema >made"]',
        "hint: read it; git prun trust --yes approves it",
    ]
    assert prun(repo.path, "merge", "--no-verify", "--yes", "topic").code == 0
    assert (repo.read("made"), repo.status()) == ("a\nb\n", [])


def test_two_landings_at_once_wait_for_each_other(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    names = [f"b{number}" for number in range(6)]
    for name in names:
        repo.switch(name, new=True, start="main")
        repo.commit(name, **{name: "x\n"})
    repo.switch("main")
    check = f"echo in >>{tmp_path}/log; sleep 0.3; echo out >>{tmp_path}/log"
    started = [start_prun(repo.path, "merge", "--verify", check, *part) for part in (names[:3], names[3:])]
    for process in started:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (out, err)
    # The checks never overlap, both trains are in, and neither is lost.
    assert (tmp_path / "log").read_text().split() == ["in", "out"] * 2
    assert sorted(repo.files()) == ["a.txt", *names]
    assert repo.status() == []
    assert landing_events(repo).count("landing.finished landed") == 2
    repo.git("fsck", "--strict")


def test_many_names_are_looked_up_at_once(tmp_path: Path) -> None:
    repo = two_branches(tmp_path / "repo")
    repo.git("tag", "three", "two")
    said = prun(repo.path, "merge", "--dry-run", "one", "three", "nowhere")
    assert said.code == 128
    assert "'nowhere' is no unit, no run and no branch" in said.err
    said = prun(repo.path, "merge", "--dry-run", "--json", "refs/heads/one", "three")
    assert [(row["branch"], row["state"]) for row in said.json["items"]] == [
        ("one", "would-land"),
        ("three", "conflict"),
    ]


def test_only_what_is_needed_is_loaded(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("one", new=True)
    repo.commit("one", one="x\n")
    repo.switch("main")
    script = (
        "import sys; from gitprun.cli.main import run_cli; run_cli(['merge', '--no-verify', 'one']);"
        "print(*sorted(m for m in sys.modules if m.startswith('gitprun.')))"
    )
    env = program_environment()
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=repo.path, env=env, capture_output=True, text=True, check=True
    )
    heavy = {
        f"gitprun.landing.{name}" for name in ("prove", "train", "after", "gate", "evil_merge", "undo", "unresolved")
    }
    heavy |= {f"gitprun.judging.{name}" for name in ("audit", "conflicts", "doubts", "text")}
    heavy |= {"gitprun.resolvers", "gitprun.verify.check", "gitprun.workspaces.clone", "gitprun.ledger.review"}
    assert set(done.stdout.splitlines()[-1].split()) & heavy == set()


def test_what_runs_were_told_about_checks_holds_for_their_landing(tmp_path: Path) -> None:
    """Two runs, each with a check and needs of its own in its plan: a landing of both asks and has all of it."""
    repo = make_repo(tmp_path / "repo", a="1\n")
    repo.write(".git/info/exclude", ".env\n")
    repo.write(".env", "e\n")
    calls = tmp_path / "calls"
    for name, more in (("one", "\n[workspace]\ncopy = ['.env']\n"), ("two", "verify_timeout = '9m'\n")):
        plan = f"[run]\nverify = ['echo {name} >>{calls}', 'true']\n{more}"
        plan += f"[[unit]]\nid = '{name}'\nprompt = 'x'\ncommand = ['sh', '-c', '''echo x >{name}; {RESULT}''']\n"
        (tmp_path / f"{name}.toml").write_text(plan)
        assert prun(repo.path, "run", str(tmp_path / f"{name}.toml")).code == 0
    calls.unlink()
    done = prun(repo.path, "merge", "r1", "r2", "--json")
    assert done.code == 0, done.err
    checks = json.loads(done.out)["verdict"]["checks"]
    assert [one["command"] for one in checks] == [f"echo one >>{calls}", "true", f"echo two >>{calls}"]
    assert calls.read_text() == "one\ntwo\n"
