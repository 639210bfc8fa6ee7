"""What happens when a worker fails: waited, reset to the current main, tried again, at most twice, only the failed."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.ledger import Ledger
from gitprun.model.units import ExecutorSettings
from gitprun.supervisor.process import Stop
from tests.support.alarm import LeapingClock, StuckClock
from tests.support.cli import prun, start_prun
from tests.support.codex import codex, completed, failed, scripted, starts
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, events_of, kept, run_units, sh, unit_of, workspace

pytestmark = pytest.mark.slow

NOON = 1_800_000_000.0
BUSY = "unexpected status 503 Service Unavailable: busy, url: http://x"
TOO_MANY = "exceeded retry limit, last status: 429 Too Many Requests"
WORK = "echo x >a.txt\n" + RESULT


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    # Workers see no GIT_* of ours, so who they commit as has to be in the configuration.
    made.git("config", "user.name", "Ada Author")
    made.git("config", "user.email", "ada@example.test")
    return made


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    return folder


def kinds(repo: Repo, name: str) -> list[str]:
    return [event.kind.removeprefix("unit.") for event in events_of(repo, name)]


def waits(repo: Repo, name: str) -> list[tuple[float, str]]:
    rows = [event for event in events_of(repo, name) if event.kind == "unit.waiting"]
    return [
        (round(event.payload.as_json()["until"] - NOON, 3), event.payload.as_json().get("failure", ""))
        for event in rows
    ]


def refs(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)", "refs/prun", "refs/heads").splitlines()


@pytest.mark.parametrize(
    ("said", "kind", "seconds"),
    [
        # The seed: about 13 minutes after a 503, and what the service states is authoritative.
        (BUSY, "503", 780.0),
        (TOO_MANY, "429", 780.0),
        ("Selected model is at capacity. Please try a different model.", "capacity", 780.0),
        ("unexpected status 503 Service Unavailable: Try again in 45s", "503", 45.0),
        ("rate limit exceeded: Rate limit reached for m. Please try again in 1.5s.", "429", 1.5),
        ("You've hit your usage limit. Try again at 8:30 AM.", "usage-limit", 1860.0),
        ("You've hit your usage limit.", "usage-limit", 780.0),
        ("stream disconnected before completion: boom", "network", 60.0),
    ],
)
def test_a_unit_its_service_failed_is_tried_again_when_it_is_time(
    repo: Repo, programs: Path, said: str, kind: str, seconds: float
) -> None:
    clock = LeapingClock()
    report = run_units(
        repo, codex("a"), clock=clock, retries=2, executors=scripted(programs, failed(said), WORK + completed())
    )
    assert (report.states, starts(programs, "a")) == ({"a": "ready"}, 2)
    assert clock.leaps == [NOON + seconds]
    assert waits(repo, "a") == [(seconds, kind)]
    facts = unit_of(repo, "a").as_json()
    assert (facts["attempt"], facts["failure"], facts["reason"]) == (2, "", "")
    assert [(row["attempt"], row["state"], row["kind"], row["reason"]) for row in facts["earlier"]] == [
        (1, "failed" if kind == "network" else "rate-limited", kind, said)
    ]


def test_the_events_of_two_attempts_in_order(repo: Repo, programs: Path) -> None:
    run_units(
        repo,
        codex("a"),
        clock=LeapingClock(),
        retries=2,
        executors=scripted(programs, failed(BUSY), WORK + completed()),
    )
    first = ["queued", "preparing", "prepared", "started", "exited", "captured", "waiting"]
    put_away = ["workspace.removing", "workspace.removed"]
    second = ["preparing", "prepared", "started", "exited", "captured", "verifying", "verified", "finished"]
    assert kinds(repo, "a") == [*first, *put_away, *second]


def test_two_more_tries_and_then_it_is_over(repo: Repo, programs: Path) -> None:
    clock = LeapingClock()
    report = run_units(repo, codex("a"), clock=clock, retries=2, executors=scripted(programs, failed(BUSY)))
    assert (report.states, starts(programs, "a")) == ({"a": "rate-limited"}, 3)
    assert [leap - NOON for leap in clock.leaps] == [780.0, 1560.0]
    assert unit_of(repo, "a").reason == f"{BUSY}; tried 3 times"
    assert unit_of(repo, "a").failure == "503"


def test_without_retries_there_is_one_try(repo: Repo, programs: Path) -> None:
    clock = LeapingClock()
    report = run_units(repo, codex("a"), clock=clock, retries=0, executors=scripted(programs, failed(BUSY)))
    assert (report.states, clock.leaps, starts(programs, "a")) == ({"a": "rate-limited"}, [], 1)
    assert unit_of(repo, "a").reason == BUSY


def test_patience_can_be_set(repo: Repo, programs: Path) -> None:
    clock = LeapingClock()
    run_units(repo, codex("a"), clock=clock, retries=1, retry_wait=5.0, executors=scripted(programs, failed(TOO_MANY)))
    assert [leap - NOON for leap in clock.leaps] == [5.0]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "You've hit your usage limit. Try again at Jan 30th, 2030 1:43 AM.",
            "; not waited for until 2030-01-30 01:44",
        ),
        ("unexpected status 503: try again in 3 hours", "; not waited for until 2027-01-15 11:00"),
        (
            "Quota exceeded. Check your plan and billing details.",
            "; not tried again: a quota does not come back by waiting",
        ),
    ],
)
def test_what_is_too_far_away_is_not_waited_for(repo: Repo, programs: Path, said: str, why: str) -> None:
    clock = LeapingClock()
    report = run_units(repo, codex("a"), clock=clock, retries=2, executors=scripted(programs, failed(said)))
    assert (report.states, clock.leaps, starts(programs, "a")) == ({"a": "rate-limited"}, [], 1)
    assert unit_of(repo, "a").reason == said + why


def test_how_far_is_too_far_can_be_set(repo: Repo, programs: Path) -> None:
    clock = LeapingClock()
    steps = scripted(programs, failed("unexpected status 503: try again in 3 hours"), WORK + completed())
    report = run_units(repo, codex("a"), clock=clock, retries=2, retry_wait_max=4 * 3600.0, executors=steps)
    assert (report.states, clock.leaps) == ({"a": "ready"}, [NOON + 3 * 3600])


def test_who_bails_out_is_sent_back_at_once(repo: Repo, programs: Path) -> None:
    # The seed: about three of ten end with exit code 0 before they have written anything.
    clock = LeapingClock()
    report = run_units(
        repo, codex("a"), clock=clock, retries=2, executors=scripted(programs, completed("I plan."), WORK + completed())
    )
    assert (report.states, clock.leaps) == ({"a": "ready"}, [])
    assert waits(repo, "a") == [(0.0, "bail")]
    assert unit_of(repo, "a").as_json()["earlier"][0]["state"] == "empty"


def test_who_always_bails_out_is_given_up_after_two_more_tries(repo: Repo, programs: Path) -> None:
    report = run_units(
        repo, codex("a"), clock=LeapingClock(), retries=2, executors=scripted(programs, completed("Shall I?"))
    )
    facts = unit_of(repo, "a").as_json()
    assert (report.states, starts(programs, "a"), facts["failure"]) == ({"a": "empty"}, 3, "bail")
    assert facts["reason"] == "the worker ended well and changed nothing; tried 3 times"


def test_who_says_why_it_changed_nothing_has_not_bailed_out(repo: Repo, programs: Path) -> None:
    report = run_units(
        repo, codex("a"), clock=LeapingClock(), retries=2, executors=scripted(programs, RESULT + completed())
    )
    assert (report.states, starts(programs, "a"), unit_of(repo, "a").failure) == ({"a": "empty"}, 1, "")


def test_a_reader_without_a_result_has_bailed_out(repo: Repo, programs: Path) -> None:
    steps = scripted(programs, completed("Hm."), RESULT + completed())
    report = run_units(repo, codex("a", mode="read"), clock=LeapingClock(), retries=2, executors=steps)
    assert (report.states, starts(programs, "a")) == ({"a": "done"}, 2)


@pytest.mark.parametrize(
    "step",
    [
        failed("unexpected status 401 Unauthorized"),
        "echo half >a.txt\nexit 3",
        "kill -9 $$",
    ],
)
def test_other_failures_are_not_tried_again(repo: Repo, programs: Path, step: str) -> None:
    report = run_units(repo, codex("a"), clock=LeapingClock(), retries=2, executors=scripted(programs, step))
    assert (report.states, starts(programs, "a"), unit_of(repo, "a").failure) == ({"a": "failed"}, 1, "failed")


def test_commands_are_never_tried_again(repo: Repo) -> None:
    units = (sh("a", "echo '503 Service Unavailable'; exit 1"), sh("b", "true"))
    report = run_units(repo, *units, clock=LeapingClock(), retries=2)
    assert report.states == {"a": "failed", "b": "empty"}
    assert [unit_of(repo, name).attempt for name in ("a", "b")] == [1, 1]


def test_claude_is_tried_again_too(repo: Repo, programs: Path) -> None:
    error = '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 Overloaded","num_turns":1}'
    good = '{"type":"result","subtype":"success","is_error":false,"result":"ok","num_turns":1,"stop_reason":"end_turn"}'
    steps = scripted(programs, f"echo '{error}'; exit 1", f"{WORK}\necho '{good}'", name="claude")
    unit = codex("a")
    claude = type(unit)(id=unit.id, prompt=unit.prompt, executor="claude", timeout=60.0)
    report = run_units(repo, claude, clock=LeapingClock(), retries=2, executors=steps)
    assert (report.states, waits(repo, "a")) == ({"a": "ready"}, [(780.0, "capacity")])


def test_only_the_failed_ones_are_tried_again(repo: Repo, programs: Path) -> None:
    fail_once = f'if [ "$PRUN_UNIT" = good ]; then {WORK}\n{completed()}\nexit 0; fi\n{failed(BUSY)}'
    steps = scripted(programs, fail_once, "echo y >b.txt\n" + completed())
    report = run_units(repo, codex("good"), codex("bad"), clock=LeapingClock(), retries=2, executors=steps)
    assert report.states == {"good": "ready", "bad": "ready"}
    assert (starts(programs, "good"), starts(programs, "bad")) == (1, 2)


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_new_try_starts_from_the_current_main(repo: Repo, programs: Path, kind: Any) -> None:
    base = repo.head
    # While the first worker runs, main moves on, as if by the user, whom no guard holds; nothing the worker leaves in
    # its workspace is there for the second.
    move = f"env -u GIT_CONFIG_PARAMETERS git -C {repo.path} commit -q --allow-empty -m later"
    first = f"{move}; echo left >left.txt; echo half >a.txt"
    second = "test ! -e left.txt; git log --format=%s >log.txt; echo $PRUN_BASE >base.txt\n" + completed()
    steps = scripted(programs, f"{first}\n{_no_thread(BUSY)}", second)
    unit = codex("a", workspace=kind)
    report = run_units(repo, unit, clock=LeapingClock(), retries=2, executors=steps)
    later = repo.head
    assert later != base
    assert report.states == {"a": "ready"}, unit_of(repo, "a").reason
    assert repo.files("refs/prun/r1/a") == {"a.txt": "1", "log.txt": "later\nbase", "base.txt": later}
    assert repo.oid("refs/prun/r1/a^") == later
    assert repo.files("refs/prun/kept/r1/a/attempt-1")["left.txt"] == "left"
    assert repo.oid("refs/prun/kept/r1/a/attempt-1^") == base
    assert repo.oid("refs/prun/kept/r1/a/base-2") == later
    assert unit_of(repo, "a").base == later
    first = unit_of(repo, "a").as_json()["earlier"][0]
    assert (first["base"], first["ref"]) == (base, "refs/prun/kept/r1/a/attempt-1")


def _no_thread(message: str) -> str:
    """Fail without ever having said which thread it is, so that there is none to go on with."""
    return f"""echo '{{"type":"turn.failed","error":{{"message":"{message}"}}}}'; exit 1"""


def test_the_files_of_each_try_are_kept_apart(repo: Repo, programs: Path) -> None:
    steps = scripted(programs, failed(BUSY), WORK + completed())
    run_units(repo, codex("a"), clock=LeapingClock(), retries=2, executors=steps)
    assert BUSY in kept(repo, "r1", "a", "attempt-1/output.log")
    assert BUSY not in kept(repo, "r1", "a", "output.log")
    assert "FALLBACK" in kept(repo, "r1", "a", "attempt-1/result.md")
    assert kept(repo, "r1", "a", "result.md").startswith("# a result\nConclusion: done\n")


def test_what_would_be_lost_with_the_workspace_stands_in_the_way(repo: Repo, programs: Path) -> None:
    steps = scripted(programs, "echo TOKEN=1 >.env; echo half >a.txt\n" + _no_thread(BUSY), WORK + completed())
    report = run_units(repo, codex("a"), clock=LeapingClock(), retries=2, executors=steps)
    assert (report.states, starts(programs, "a")) == ({"a": "rate-limited"}, 1)
    path = workspace(repo, "r1", "a")
    assert unit_of(repo, "a").reason == (
        f"{BUSY}; not tried again: {path} holds what is in no commit: .env (looks like a secret by its name)"
    )
    assert (path / ".env").read_text() == "TOKEN=1\n"
    assert repo.files("refs/prun/r1/a")["a.txt"] == "half"


THREAD = "0199a213-81c0-7800"


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_codex_goes_on_with_its_thread_where_it_was_cut_off(repo: Repo, programs: Path, kind: Any) -> None:
    second = "cat half.txt; echo done >>half.txt\n" + RESULT + completed()
    steps = scripted(programs, "echo half >half.txt\n" + failed(BUSY), second)
    report = run_units(repo, codex("a", workspace=kind), clock=LeapingClock(), retries=2, executors=steps)
    assert report.states == {"a": "ready"}, unit_of(repo, "a").reason
    args = (programs / "a.2.args").read_text().splitlines()
    assert args[-3:] == ["resume", THREAD, "-"]
    assert args[:2] == ["exec", "--json"]
    assert (programs / "a.2.stdin").read_text() == (
        "The service cut you off in the middle of your work. Your changes so far are still there. Go on where you were "
        "and finish what you were asked to do. At the end write the result file .prun/result.md, whose first line "
        "is '# a result', as you were told.\n"
    )
    assert repo.files("refs/prun/r1/a") == {"a.txt": "1", "half.txt": "half\ndone"}
    assert repo.oid("refs/prun/r1/a^") == repo.head
    assert repo.files("refs/prun/kept/r1/a/attempt-1")["half.txt"] == "half"
    heads = ["refs/heads/main"]
    assert refs(repo) == [*heads, "refs/prun/base/r1", "refs/prun/kept/r1/a/attempt-1", "refs/prun/r1/a"]
    assert unit_of(repo, "a").as_json()["own_commits"] == []


def test_a_thread_that_is_gone_is_followed_by_a_fresh_start(repo: Repo, programs: Path) -> None:
    gone = "echo 'Error: thread/resume failed: no rollout found for thread id x' >&2; exit 1"
    steps = scripted(
        programs, "echo half >half.txt\n" + failed(BUSY), gone, "test ! -e half.txt\n" + WORK + completed()
    )
    report = run_units(repo, codex("a"), clock=LeapingClock(), retries=1, executors=steps)
    assert report.states == {"a": "ready"}, unit_of(repo, "a").reason
    assert waits(repo, "a") == [(780.0, "503"), (780.0, "no-thread")]
    assert "resume" not in (programs / "a.3.args").read_text().splitlines()
    assert repo.files("refs/prun/r1/a") == {"a.txt": "x"}


def test_all_of_an_executor_wait_when_its_service_is_at_its_limit(repo: Repo, programs: Path) -> None:
    fail_first = f'if [ "$PRUN_UNIT" = a ]; then {failed(BUSY)}; fi\n{WORK}\n{completed()}'
    steps = scripted(programs, fail_first, WORK + completed())
    clock = LeapingClock()
    clocked = _Clocked(repo, Ledger(repo.repository.state, clock))
    units = (codex("a"), codex("b"), sh("c", "echo x >c.txt"))
    report = run_units(clocked, *units, clock=clock, retries=2, jobs=1, executors=steps)
    assert report.states == {"a": "ready", "b": "ready", "c": "ready"}
    began = {
        name: [round(event.time - NOON) for event in events_of(repo, name) if event.kind == "unit.started"]
        for name in ("a", "b")
    }
    assert began == {"a": [0, 780], "b": [780]}
    # c has nothing to do with codex.
    assert waits(repo, "c") == []
    assert waits(repo, "b") == [(780.0, "503")]
    rows = [event for event in events_of(repo, "b") if event.kind == "unit.waiting"]
    assert rows[0].payload.as_json()["reason"] == "the service of codex is at its limit"


class _Clocked(Repo):
    """A repository whose ledger goes by another clock."""

    def __init__(self, repo: Repo, ledger: Ledger) -> None:
        object.__setattr__(self, "path", repo.path)
        object.__setattr__(self, "_ledger", ledger)

    @property
    def ledger(self) -> Ledger:
        """Give the ledger made before."""
        found: Ledger = object.__getattribute__(self, "_ledger")
        return found


def test_waiting_ends_with_a_stop(repo: Repo, programs: Path) -> None:
    stop, clock, waiting = Stop(), StuckClock(), threading.Event()
    clock.on_leap.append(waiting)
    thread = threading.Thread(target=lambda: (waiting.wait(), stop.set()), daemon=True)
    thread.start()
    steps = scripted(programs, "echo half >a.txt\n" + failed(BUSY))
    report = run_units(repo, codex("a"), codex("b"), jobs=1, stop=stop, clock=clock, retries=2, executors=steps)
    thread.join()
    assert report.states == {"a": "rate-limited", "b": "stopped"}
    assert unit_of(repo, "a").reason == f"{BUSY}; stopped while waiting to try again"
    assert unit_of(repo, "b").reason == "stopped before it was started"
    assert repo.files("refs/prun/r1/a")["a.txt"] == "half"
    assert (starts(programs, "a"), starts(programs, "b")) == (1, 0)


def test_each_executor_has_as_many_jobs_as_it_is_given(repo: Repo, programs: Path) -> None:
    room = programs / "room"
    room.mkdir()
    enter = f"touch {room}/$PRUN_UNIT; ls {room} >{programs}/seen.$PRUN_UNIT; echo x >$PRUN_UNIT.txt"
    # Each codex unit waits for a command unit to come in: bounded workers must not keep others out.
    meet = f"while [ ! -e {programs}/met.$PRUN_UNIT ]; do sleep 0.01; done"
    steps = scripted(programs, f"{enter}\n{meet}\nrm {room}/$PRUN_UNIT\n{completed()}", jobs=1)
    steps["claude"] = ExecutorSettings(jobs=1)
    units = (
        *(codex(name) for name in ("a", "b")),
        *(
            sh(
                f"for_{name}",
                f"while [ ! -e {room}/{name} ]; do sleep 0.01; done; touch {programs}/met.{name}; echo x >{name}",
            )
            for name in ("a", "b")
        ),
    )
    report = run_units(repo, *units, jobs=3, executors=steps)
    assert set(report.states.values()) == {"ready"}
    assert [(programs / f"seen.{name}").read_text().split() for name in ("a", "b")] == [["a"], ["b"]]


def test_ctrl_c_ends_the_waiting_and_keeps_the_work(repo: Repo, programs: Path) -> None:
    steps = scripted(programs, "echo half >half.txt\n" + failed(BUSY))
    (repo.path.parent / "plan.toml").write_text(
        f"""
        executor.codex.program = "{steps["codex"].program}"
        [[unit]]
        id = "a"
        prompt = "do it"
        """
    )
    running = start_prun(repo.path, "run", "../plan.toml")
    while not (waiting := [event for event in events_of(repo, "a") if event.kind == "unit.waiting"]):
        assert running.poll() is None
    # Thirteen minutes, if nobody stops it.
    assert waiting[0].payload.as_json()["until"] - waiting[0].time == pytest.approx(780, abs=5)
    row = prun(repo.path, "status", "--json").json["runs"][0]["units"][0]
    assert (row["state"], row["kind"], row["until"]) == ("waiting", "503", waiting[0].payload.as_json()["until"])
    running.send_signal(signal.SIGINT)
    err = running.communicate(timeout=60)[1].decode()
    clock = time.strftime("%H:%M:%S", time.localtime(row["until"]))
    assert running.returncode == 130, err
    assert f" a: waiting until {clock} ({BUSY})\n" in err
    assert (unit_of(repo, "a").state, repo.files("refs/prun/r1/a")["half.txt"]) == ("rate-limited", "half")


def test_no_retry_on_the_command_line(repo: Repo, programs: Path) -> None:
    steps = scripted(programs, failed(BUSY))
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{steps["codex"].program}"\n')
    repo.approve()
    said = prun(repo.path, "run", "--no-retry", "--unit", "id=a", "--prompt", "do it")
    assert (said.code, unit_of(repo, "a").state, unit_of(repo, "a").attempt) == (1, "rate-limited", 1)
