"""The loop of a run, end to end, in real repositories with shell workers."""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gitprun.executors.command import Command
from gitprun.model.contract import contract_for
from gitprun.model.names import UnitId
from gitprun.model.units import ExecutorSettings, Unit
from gitprun.runs.dispatch import RunReport, default_jobs
from gitprun.supervisor.process import Stop
from tests.support.cli import prun
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, events_of, fingerprint, kept, run_units, sh, unit_of, workspace

ABSENT = "no check is declared and none was detected"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo", a_dot_txt="1\n", sub__b_dot_txt="b\n", gone_dot_txt="x\n")
    # Workers see no GIT_* of ours, so who they commit as has to be in the configuration.
    made.git("config", "user.name", "Ada Author")
    made.git("config", "user.email", "ada@example.test")
    return made


def refs(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)").splitlines()


EDIT = "echo 2 >>a.txt; echo new >new.txt; rm gone.txt; echo looked; " + RESULT


def test_a_good_unit(repo: Repo, tmp_path: Path) -> None:
    base = repo.head
    report = run_units(repo, sh("a", EDIT, prompt="# Make it 2\nplease\n"), verify=("test -f new.txt", "true"))
    assert report == RunReport(run=report.run, base=base, root=tmp_path / "repo.prun", states={UnitId("a"): "ready"})
    assert report.run == "r1"
    unit = unit_of(repo, "a")
    assert (unit.state, unit.verdict, unit.commit) == ("ready", "pass", repo.oid("refs/prun/r1/a"))
    assert repo.files("refs/prun/r1/a") == {"a.txt": "1\n2", "new.txt": "new", "sub/b.txt": "b"}
    assert repo.raw("refs/prun/r1/a").split("\n", 1)[1] == (
        f"parent {base}\n"
        "author Ada Author <ada@example.test> 1767607200 +0000\n"
        "committer Carl Committer <carl@example.test> 1767607200 +0000\n"
        "\n"
        "a: Make it 2\n\nUnit: r1/a\nExecutor: command"
    )
    assert kept(repo, "r1", "a", "result.md") == (
        "# a result\nConclusion: done\nFiles: some\nOpen items: none\nVerification: none\n"
    )
    assert kept(repo, "r1", "a", "output.log") == "looked\n"
    assert kept(repo, "r1", "a", "task.md") == "# Make it 2\nplease\n"
    assert refs(repo) == ["refs/heads/main", "refs/prun/base/r1", "refs/prun/r1/a"]
    facts = dict(unit.as_json())
    assert {
        name: facts[name] for name in ("changed", "files", "outside", "left_out", "kept", "fallback", "reason")
    } == {
        "changed": ["a.txt", "gone.txt", "new.txt"],
        "files": 3,
        "outside": [],
        "left_out": [],
        "kept": [],
        "fallback": False,
        "reason": "",
    }
    assert [check["state"] for check in facts["verdict"]["checks"]] == ["pass", "pass"]


def test_the_events_of_a_unit_in_order(repo: Repo) -> None:
    run_units(repo, sh("a", EDIT), sh("b", "exit 1"))
    kinds = {name: [event.kind.removeprefix("unit.") for event in events_of(repo, name)] for name in ("a", "b")}
    start = ["queued", "preparing", "prepared", "started", "exited", "captured"]
    assert kinds == {"a": [*start, "verifying", "verified", "finished"], "b": [*start, "finished"]}
    every = repo.ledger.read().events
    assert (every[0].kind, every[-1].kind) == ("run.started", "run.finished")
    assert every[-1].payload.as_json() == {"states": {"a": "ready", "b": "failed"}}
    assert repo.ledger.read().unreadable == ()


def test_a_worker_that_changes_nothing_is_empty(repo: Repo) -> None:
    report = run_units(repo, sh("a", "echo 1 >a.txt; mkdir hollow;" + RESULT))
    unit = unit_of(repo, "a")
    assert report.states == {"a": "empty"}
    assert (unit.commit, unit.verdict, unit.reason) == (None, "", "the worker ended well and changed nothing")
    assert refs(repo) == ["refs/heads/main", "refs/prun/base/r1"]


def test_a_failed_worker_keeps_its_work_and_is_marked(repo: Repo) -> None:
    report = run_units(repo, sh("a", "echo half >a.txt; echo boom >&2; exit 3"))
    unit = unit_of(repo, "a")
    assert report.states == {"a": "failed"}
    assert unit.reason == "exit code 3: boom"
    assert repo.files("refs/prun/r1/a")["a.txt"] == "half"
    assert repo.raw("refs/prun/r1/a").endswith("Executor: command\nState: failed (kept, not finished)")
    assert unit.verdict == ""


@pytest.mark.slow
def test_a_time_limit_keeps_partial_work(repo: Repo) -> None:
    report = run_units(repo, sh("a", "echo half >a.txt; sleep 1000", timeout=2.0))
    unit = unit_of(repo, "a")
    assert report.states == {"a": "timed-out"}
    assert unit.reason == "stopped after 2 s, its time limit"
    assert repo.files("refs/prun/r1/a")["a.txt"] == "half"


def test_a_stop_keeps_partial_work_and_starts_nothing_new(repo: Repo, tmp_path: Path) -> None:
    stop, ready = Stop(), tmp_path / "ready"
    os.mkfifo(ready)
    thread = threading.Thread(target=lambda: (ready.read_bytes(), stop.set()), daemon=True)
    thread.start()
    units = (sh("a", f"echo half >a.txt; echo go >{ready}; sleep 1000"), sh("b", "touch b"))
    report = run_units(repo, *units, stop=stop, jobs=1)
    thread.join()
    assert report.states == {"a": "stopped", "b": "stopped"}
    assert repo.files("refs/prun/r1/a")["a.txt"] == "half"
    assert unit_of(repo, "a").reason == "stopped on request"
    assert unit_of(repo, "b").reason == "stopped before it was started"
    assert [event.kind for event in events_of(repo, "b")] == ["unit.queued", "unit.finished"]
    assert not workspace(repo, "r1", "b").exists()


def test_no_result_file_is_salvaged_and_marked(repo: Repo) -> None:
    report = run_units(repo, sh("a", "echo x >a.txt; echo the last words; printf ' \\n' >$PRUN_RESULT"))
    assert report.states == {"a": "ready"}
    assert unit_of(repo, "a").fallback is True
    assert kept(repo, "r1", "a", "result.md") == (
        "# a result (FALLBACK, worker wrote no result file)\n"
        "Conclusion: INCOMPLETE; the worker wrote no result file\n"
        "Files: unknown\n"
        "Open items: read the output below, then accept the work or run the unit again\n"
        "Verification: none (salvaged by prun, not written by the worker)\n"
        "\n"
        "the last words\n"
    )


def test_a_result_written_in_bursts_is_read_when_the_worker_is_gone(repo: Repo) -> None:
    script = f'echo x >a.txt; printf "# a result\\nConclusion: early" >$PRUN_RESULT; : >$PRUN_RESULT; {RESULT}'
    run_units(repo, sh("a", script))
    assert kept(repo, "r1", "a", "result.md").startswith("# a result\nConclusion: done\n")


def test_a_result_of_an_earlier_run_is_not_taken(repo: Repo) -> None:
    run_units(repo, sh("a", "echo x >a.txt;" + RESULT))
    report = run_units(repo, sh("a", "echo x >a.txt; kill -9 $$"))
    assert report.states == {"a": "failed"}
    assert "FALLBACK" in kept(repo, "r2", "a", "result.md")
    assert unit_of(repo, "a").reason == "ended by signal 9"


def test_a_result_off_the_contract_is_kept_and_noted(repo: Repo) -> None:
    run_units(repo, sh("a", "echo x >a.txt; echo all done >$PRUN_RESULT"))
    unit = unit_of(repo, "a")
    assert (unit.state, unit.fallback) == ("ready", False)
    assert unit.as_json()["result_problems"][0] == "the first line is not '# a result'"
    assert kept(repo, "r1", "a", "result.md") == "all done\n"


def fake(tmp_path: Path, script: str) -> dict[str, ExecutorSettings]:
    """Put a shell script in the place of codex."""
    program = tmp_path / "codex"
    program.write_text(f"#!/bin/sh\nset -eu\ncat >/dev/null\n{script}\n")
    program.chmod(0o755)
    return {"codex": ExecutorSettings(program=str(program))}


def codex(unit_id: str, **rest: Any) -> Unit:
    return Unit(id=UnitId(unit_id), prompt="Do it.", executor="codex", timeout=60.0, **rest)


DONE = """printf '%s\\n' '{"type":"thread.started","thread_id":"t1"}' '{"type":"turn.started"}'"""
MESSAGE = "# a result\\\\nConclusion: said\\\\nFiles: a.txt\\\\nOpen items: none\\\\nVerification: none"


def says(text: str) -> str:
    item = '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"TEXT"}}'.replace("TEXT", text)
    return f"""{DONE} '{item}' '{{"type":"turn.completed","usage":{{}}}}'"""


def test_a_final_message_that_follows_the_contract_is_the_result(repo: Repo, tmp_path: Path) -> None:
    script = "echo x >a.txt\n" + says(MESSAGE.replace("\\\\", "\\"))
    report = run_units(repo, codex("a"), executors=fake(tmp_path, script))
    assert report.states == {"a": "ready"}
    assert kept(repo, "r1", "a", "result.md") == (
        "# a result\nConclusion: said\nFiles: a.txt\nOpen items: none\nVerification: none"
    )
    assert unit_of(repo, "a").fallback is False


def test_another_final_message_is_salvaged_before_the_output(repo: Repo, tmp_path: Path) -> None:
    run_units(repo, codex("a"), executors=fake(tmp_path, "echo x >a.txt\n" + says("All is well.")))
    text = kept(repo, "r1", "a", "result.md")
    assert text.startswith("# a result (FALLBACK, worker wrote no result file)\n")
    assert "\n\nThe worker's last message:\n\nAll is well.\n\nThe end of its output:\n\n[START] thread=t1\n" in text


LIMITS = {
    "text": 'echo "Usage limit reached for this account. Try again at 5:31 PM."',
    "json": """echo '{"type":"error","status":429,"retry_after":900}'""",
    "503": 'for i in 1 2 3; do echo "stream error: 503 Service Unavailable; retry $i/3" >&2; done',
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_of_the_service_is_no_success(repo: Repo, tmp_path: Path, name: str) -> None:
    report = run_units(repo, codex("a"), executors=fake(tmp_path, f"echo 'half edit' >>a.txt\n{LIMITS[name]}\nexit 0"))
    unit = unit_of(repo, "a")
    assert report.states == {"a": "rate-limited"}
    assert repo.files("refs/prun/r1/a")["a.txt"] == "1\nhalf edit"
    assert repo.raw("refs/prun/r1/a").endswith("State: rate-limited (kept, not finished)")
    assert (unit.verdict, bool(unit.reason)) == ("", True)
    assert unit.as_json()["ending"]["retry_after"] == (900.0 if name == "json" else None)


def test_a_fence_is_flagged(repo: Repo) -> None:
    run_units(repo, sh("a", "echo x >sub/b.txt; echo x >a.txt; echo x >sub/c.txt", paths=("sub/**",)))
    assert unit_of(repo, "a").as_json()["outside"] == ["a.txt"]


def test_what_is_left_out_is_said(repo: Repo) -> None:
    run_units(repo, sh("a", "echo x >a.txt; echo TOKEN=1 >.env; head -c 5000 /dev/zero >big.bin"), max_file=4000)
    unit = unit_of(repo, "a")
    assert unit.as_json()["changed"] == ["a.txt"]
    assert [(row["path"], row["reason"]) for row in unit.as_json()["left_out"]] == [
        (".env", "looks like a secret by its name"),
        ("big.bin", "larger than 4000 bytes ([collect] max_file)"),
    ]
    assert (workspace(repo, "r1", "a") / ".env").read_text() == "TOKEN=1\n"


def test_own_commits_of_a_worker_are_kept(repo: Repo) -> None:
    run_units(repo, sh("a", "echo x >a.txt; git add -A; git commit -qm 'my own'; echo y >>a.txt"))
    unit = unit_of(repo, "a")
    assert repo.files("refs/prun/r1/a")["a.txt"] == "x\ny"
    assert repo.git("rev-list", "--count", "main..refs/prun/r1/a") == "1"
    assert [ref for ref, _ in unit.as_json()["kept"]] == ["refs/prun/kept/r1/a/head"]
    assert unit.as_json()["own_commits"][0].endswith("my own")


def test_reading_units_get_a_scratch_folder(repo: Repo, tmp_path: Path) -> None:
    script = f"ls -A >{tmp_path}/seen; cat $PRUN_REPO/a.txt; {RESULT}"
    report = run_units(repo, sh("a", script, mode="read"), sh("b", "echo hello", mode="read"))
    assert report.states == {"a": "done", "b": "failed"}
    assert (tmp_path / "seen").read_text() == ".prun\n"
    assert kept(repo, "r1", "a", "output.log") == "1\n"
    assert unit_of(repo, "b").reason == "the worker wrote no result file"
    assert refs(repo) == ["refs/heads/main", "refs/prun/base/r1"]
    assert "captured" not in {event.kind for event in events_of(repo, "a")}


def test_a_reading_unit_needs_a_result_that_follows_the_contract(repo: Repo) -> None:
    report = run_units(repo, sh("a", "printf '# a result\\nConclusion: x\\n' >$PRUN_RESULT", mode="read"))
    assert report.states == {"a": "failed"}
    assert unit_of(repo, "a").reason == "the result file: Files: is missing or empty"


def test_linked_worktrees(repo: Repo) -> None:
    before = fingerprint(repo)
    report = run_units(repo, sh("a", EDIT, workspace="worktree"))
    assert report.states == {"a": "ready"}
    assert refs(repo) == ["refs/heads/main", "refs/prun/base/r1", "refs/prun/r1/a"]
    linked = Repo(workspace(repo, "r1", "a"))
    assert linked.head == repo.oid("refs/prun/r1/a") == unit_of(repo, "a").commit
    assert (linked.status(), linked.git("branch", "--show-current")) == ([], "")
    assert fingerprint(repo) == before


def test_all_kinds_of_units_in_one_run(repo: Repo) -> None:
    units = (
        sh("w", "echo w >w.txt", workspace="worktree"),
        sh("c", "echo c >c.txt"),
        sh("r", RESULT, mode="read"),
        sh("f", "exit 1"),
    )
    report = run_units(repo, *units, jobs=2)
    assert list(report.states.items()) == [("w", "ready"), ("c", "ready"), ("r", "done"), ("f", "failed")]


def test_provided_files_are_there_and_never_committed(repo: Repo) -> None:
    repo.write(".gitignore", "/node_modules\n")
    repo.git("add", "-A"), repo.git("commit", "-qm", "ignore")
    repo.write(".env", "SECRET=1\n")
    repo.write("node_modules/lib/x.js", "x\n")
    repo.write("odd [1]!.cfg", "odd\n")
    check = "cat .env node_modules/lib/x.js 'odd [1]!.cfg'; test -L node_modules; echo x >>a.txt; echo SECRET=2 >.env"
    commit = "; git add -A; git commit -qm own"
    report = run_units(
        repo,
        sh("a", check + commit),
        sh("b", check, workspace="worktree"),
        copy=(".env", "odd [1]!.cfg", "absent"),
        link=("node_modules", "a.txt"),
    )
    assert report.states == {"a": "ready", "b": "ready"}
    for name in ("a", "b"):
        facts = unit_of(repo, name).as_json()
        assert (facts["changed"], facts["left_out"]) == (["a.txt"], [])
        assert facts["provided"] == [".env", "odd [1]!.cfg", "node_modules"]
        assert facts["notes"] == [
            "absent is configured to be copied but is not in your checkout",
            "a.txt is tracked, so the workspace has its own: neither copied nor linked",
        ]
        assert kept(repo, "r1", name, "output.log") == "SECRET=1\nx\nodd\n"
    assert repo.git("diff", "--name-only", "main", "refs/prun/kept/r1/a/head") == "a.txt"
    assert (repo.read(".env"), repo.read("node_modules/lib/x.js")) == ("SECRET=1\n", "x\n")


@pytest.mark.parametrize(
    ("verify", "state", "verdict", "reason"),
    [
        (("true", "grep -q x a.txt"), "ready", "pass", ""),
        (("echo '0 errors'; exit 1",), "unverified", "fail", "echo '0 errors'; exit 1: exit 1: 0 errors"),
        (
            ("no-such-tool 2>&1 | tail -1",),
            "unverified",
            "could-not-run",
            "no-such-tool 2>&1 | tail -1: command not found: no-such-tool",
        ),
        (
            ("echo 'collected 0 items'",),
            "unverified",
            "could-not-run",
            "echo 'collected 0 items': no tests ran",
        ),
        (None, "unverified", "absent", ABSENT),
        ((), "unverified", "absent", ABSENT),
    ],
)
def test_verdicts(repo: Repo, verify: tuple[str, ...] | None, state: str, verdict: str, reason: str) -> None:
    report = run_units(repo, sh("a", "echo x >a.txt"), verify=verify)
    unit = unit_of(repo, "a")
    assert (report.states["a"], unit.verdict) == (state, verdict)
    # The shell's own words follow in brackets, and differ.
    assert unit.reason.partition(" (")[0] == reason


def test_no_checks_at_all_can_be_asked_for(repo: Repo) -> None:
    repo.commit("tests", pytest_dot_ini="[pytest]\n", test_x_dot_py="def test_x(): pass\n")
    run_units(repo, sh("a", "echo x >a.txt"), verify=())
    assert unit_of(repo, "a").as_json()["verdict"] == {"state": "absent", "reason": ABSENT, "checks": []}


def test_checks_that_rewrite_tracked_files_are_reported(repo: Repo) -> None:
    repo.write(".gitattributes", "crlf.txt text eol=lf\n")
    repo.write("crlf.txt", "x\r\n")
    report = run_units(
        repo, sh("a", "echo x >a.txt; echo S=1 >.env"), verify=("echo fmt >>a.txt; rm sub/b.txt; touch new",)
    )
    assert report.states == {"a": "ready"}
    assert unit_of(repo, "a").as_json()["verify_changed"] == ["a.txt", "sub/b.txt"]
    assert repo.files("refs/prun/r1/a")["a.txt"] == "x"


def test_no_more_workers_than_jobs_and_no_fewer(repo: Repo, tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    # Each waits until a second one is there, so they must overlap; and each counts who is there with it.
    script = f"""
    touch {room}/$PRUN_UNIT.here
    while [ $(ls {room} | grep -c -e here -e left) -lt 2 ]; do sleep 0.01; done
    ls {room} | grep -c here >{tmp_path}/seen.$PRUN_UNIT || true
    mv {room}/$PRUN_UNIT.here {room}/$PRUN_UNIT.left
    echo x >$PRUN_UNIT.txt
    """
    names = ("a", "b", "c", "d", "e")
    report = run_units(repo, *(sh(name, script) for name in names), jobs=2)
    assert set(report.states.values()) == {"ready"}
    seen = [int((tmp_path / f"seen.{name}").read_text()) for name in names]
    assert max(seen) <= 2


def test_jobs_by_default() -> None:
    assert default_jobs(1) == 1
    assert 1 <= default_jobs(1000) <= 16


def test_run_ids_skip_everything_that_is_there(repo: Repo, tmp_path: Path) -> None:
    assert run_units(repo, sh("a", "true")).run == "r1"
    (tmp_path / "repo.prun" / "r4").mkdir(parents=True)
    assert run_units(repo, sh("a", "true")).run == "r5"
    repo.git("branch", "prun/r7/old")
    assert run_units(repo, sh("a", "echo x >x", workspace="worktree")).run == "r8"
    repo.git("update-ref", "refs/prun/kept/r11/a/head", "HEAD")
    assert run_units(repo, sh("a", "true")).run == "r12"
    (tmp_path / "repo.prun" / "r0013").mkdir(parents=True)
    assert run_units(repo, sh("a", "true")).run == "r13"


def test_nothing_of_the_users_is_touched(repo: Repo) -> None:
    repo.git("branch", "topic")
    repo.write("a.txt", "stashed\n")
    repo.git("stash", "-q")
    repo.write("a.txt", "dirty\n")
    repo.write("untracked.txt", "u\n")
    repo.write("staged.txt", "s\n")
    repo.git("add", "staged.txt")
    before = fingerprint(repo)
    units = (
        sh("a", EDIT),
        sh("b", EDIT, workspace="worktree"),
        sh("c", "git stash list; git branch; git checkout -q -b mine; git commit -qm x --allow-empty; echo 1 >y"),
        sh("d", "exit 1"),
        sh("e", RESULT, mode="read"),
    )
    report = run_units(repo, *units)
    assert list(report.states.values()) == ["ready", "ready", "ready", "failed", "done"]
    assert fingerprint(repo) == before
    assert kept(repo, "r1", "c", "output.log") == "  main\n* prun/r1/c\n  topic\n"


def test_a_worker_gets_its_prompt_and_its_place(repo: Repo, tmp_path: Path) -> None:
    prompt = "--version $(touch pwned)\r\n" + "p" * 140_000 + "\n\n\n"
    script = f"cat >{tmp_path}/got; env >{tmp_path}/env; pwd >{tmp_path}/pwd; echo x >a.txt"
    run_units(repo, sh("a", script, prompt=prompt))
    got = (tmp_path / "got").read_bytes()
    assert got.count(prompt.rstrip("\n").encode()) == 1
    assert got.endswith(contract_for("a", writes=True, outbox=".prun").encode())
    assert (repo.path / ".git" / "prun" / "runs" / "r1" / "a" / "prompt.md").read_bytes() == got
    rows = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line)
    place = workspace(repo, "r1", "a")
    assert (tmp_path / "pwd").read_text() == f"{place}\n"
    assert re.fullmatch("[0-9a-f]{24}", rows.pop("PRUN_MARK"))
    assert {name: value for name, value in rows.items() if name.startswith(("PRUN_", "GIT_"))} == {
        "PRUN_RUN": "r1",
        "PRUN_UNIT": "a",
        "PRUN_RESULT": str(place / ".prun" / "result.md"),
        "PRUN_REPO": str(repo.path),
        "PRUN_BASE": repo.head,
        "GIT_CEILING_DIRECTORIES": str(place.parent),
    }
    assert not (place / "pwned").exists()


def test_what_a_worker_prints_is_heard(repo: Repo) -> None:
    heard: list[Any] = []
    run_units(repo, sh("a", "printf 'one\\ntwo 1/2\\rtwo 2/2\\r\\n'; echo x >a.txt"), heard=heard)
    assert [(unit, said.text) for unit, said in heard] == [("a", "one"), ("a", "two 1/2"), ("a", "two 2/2")]


def test_helpers_left_behind_are_ended_and_noted(repo: Repo) -> None:
    run_units(repo, sh("a", "echo x >a.txt; sleep 1000 & echo done"))
    unit = unit_of(repo, "a")
    assert (unit.state, unit.as_json()["exit"]["leftovers"]) == ("ready", 1)


def test_a_program_that_does_not_start_breaks_its_unit_only(repo: Repo) -> None:
    wrong = Unit(id=UnitId("a"), prompt="x", executor="command", command=("./not-there.sh",))
    report = run_units(repo, wrong, sh("b", "echo x >a.txt"))
    assert report.states == {"a": "broken", "b": "ready"}
    assert unit_of(repo, "a").reason == "could not be started: ./not-there.sh: No such file or directory"


def test_a_bug_in_one_unit_is_reported_and_hurts_no_other(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = Command.ending

    def faulty(self: Command, lines: Any, outcome: Any) -> Any:
        found = list(lines)
        if found and b"trip" in found[0]:
            raise RuntimeError("surprise")
        return ending(self, found, outcome)

    monkeypatch.setattr(Command, "ending", faulty)
    report = run_units(repo, sh("a", "echo trip; echo x >a.txt"), sh("b", "echo x >a.txt"))
    assert report.states == {"a": "broken", "b": "ready"}
    facts = unit_of(repo, "a").as_json()
    bug = repo.path / ".git" / "prun" / "runs" / "r1" / "a" / "bug.txt"
    assert (facts["reason"], facts["hint"]) == ("a bug of git prun; the work is untouched", f"the report is in {bug}")
    assert bug.read_text().endswith("RuntimeError: surprise\n")
    assert (workspace(repo, "r1", "a") / "a.txt").read_text() == "x\n"


def test_a_workspace_that_cannot_be_filled_leaves_nothing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(repo)

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device", "index")

    monkeypatch.setattr("gitprun.runs.prepare.furnish", full)
    report = run_units(repo, sh("a", "true"), sh("b", "true", workspace="worktree"))
    assert report.states == {"a": "broken", "b": "broken"}
    for name in ("a", "b"):
        place, facts = workspace(repo, "r1", name), unit_of(repo, name).as_json()
        assert facts["reason"] == f"the workspace {place} could not be filled: index: No space left on device"
        assert facts["hint"] == "free some space, then run again"
        assert "path" not in facts
    assert not (repo.path.parent / "repo.prun").exists()
    assert refs(repo) == ["refs/heads/main", "refs/prun/base/r1"]
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert fingerprint(repo) == before


def test_a_half_done_merge_needs_a_person(repo: Repo) -> None:
    script = """
    git checkout -q -b other; echo other >a.txt; git commit -qam other
    git checkout -q -; echo mine >a.txt; git commit -qam mine
    git merge -q other || true
    """
    report = run_units(repo, sh("a", script))
    assert report.states == {"a": "failed"}
    assert unit_of(repo, "a").reason == "the worker left a merge half done: needs a person"
    assert repo.oid("refs/prun/r1/a")


def test_prompts_with_control_characters_make_plain_commit_messages(repo: Repo) -> None:
    run_units(repo, sh("a", "echo x >a.txt", prompt="\x1b]0;title\x07\x1b[31mred\x1b[0m \u202ework" + "!" * 100))
    assert repo.git("log", "-1", "--format=%s", "refs/prun/r1/a") == "a: red work" + "!" * 60 + "\u2026"


UNIT = """[[unit]]
id = "a"
prompt = "do it"
command = ["sh", "-c", "git log --format=%s >log.txt; env | grep ^GIT_ | grep -v CEILING >>log.txt; echo x >x"]
"""


def test_started_from_a_subfolder(repo: Repo, tmp_path: Path) -> None:
    repo.write("sub/plan.toml", UNIT)
    said = prun(repo.path / "sub", "run", "plan.toml", "--verify", "test -f x")
    assert said.code == 0, said.err
    assert repo.files("refs/prun/r1/a")["log.txt"] == "base"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["repo", "repo.prun"]


def test_started_from_a_linked_worktree(repo: Repo, tmp_path: Path) -> None:
    linked = repo.worktree(tmp_path / "linked", "side", new=True)
    tip = linked.commit("on the side")
    linked.write("plan.toml", UNIT)
    before = fingerprint(repo)
    said = prun(linked.path, "run", "plan.toml", "--verify", "test -f x")
    assert said.code == 0, said.err
    assert repo.oid("refs/prun/r1/a^") == tip
    assert repo.files("refs/prun/r1/a")["log.txt"] == "on the side\nbase"
    assert (fingerprint(repo), linked.status()) == (before, ["?? plan.toml"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linked", "repo", "repo.prun"]


def test_started_from_a_hook_of_another_repository(repo: Repo, tmp_path: Path) -> None:
    outer = make_repo(tmp_path / "outer", o_dot_txt="1\n")
    linked = outer.worktree(tmp_path / "linked", "side", new=True)
    repo.write("plan.toml", UNIT)
    root = Path(__file__).resolve().parents[2]
    program = f"PYTHONPATH={root} {sys.executable} -m gitprun"
    outer.hook(
        "pre-commit", f"env | grep -q ^GIT_INDEX_FILE && cd {repo.path} && {program} run plan.toml --verify true"
    )
    linked.write("staged.txt", "s\n")
    linked.git("add", "staged.txt")
    linked.git("commit", "-qm", "from the hook")
    assert repo.files("refs/prun/r1/a")["log.txt"] == "base"
    assert outer.git("for-each-ref", "--format=%(refname)").splitlines() == ["refs/heads/main", "refs/heads/side"]
    assert linked.files() == {"o.txt": "1", "staged.txt": "s"}
    assert (linked.status(), outer.status(), repo.status()) == ([], [], ["?? plan.toml"])
    assert not (outer.path / ".git" / "prun").exists()


def test_a_leaked_git_folder_changes_nothing(repo: Repo, tmp_path: Path) -> None:
    outer = make_repo(tmp_path / "outer", o_dot_txt="1\n")
    index = outer.path / ".git" / "index"
    before = index.read_bytes()
    repo.write("plan.toml", UNIT)
    leak = {"GIT_DIR": str(outer.path / ".git"), "GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(outer.path)}
    said = prun(repo.path, "run", "plan.toml", "--verify", "true", env=leak)
    assert said.code == 0, said.err
    assert repo.files("refs/prun/r1/a")["log.txt"] == "base"
    assert (index.read_bytes(), outer.status(), outer.head) == (before, [], outer.oid("main"))
    assert not (outer.path / ".git" / "prun").exists()
