"""Ctrl-C and its kin: one press or two, heard in the middle of anything, answered and passed on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.cli import signals
from gitprun.cli.signals import PRESS, CommandEnded, Presses, signals_end, signals_stop
from gitprun.model.errors import Interrupted, OperationRefused
from gitprun.supervisor.process import probe_identity
from gitprun.system.stop import Stop, current_stop
from tests.support.cases import crossed
from tests.support.cli import program_environment, start_prun
from tests.support.repos import Repo, make_repo

ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def await_press(stop: Stop, number: int = 1) -> None:
    """Wait until so many presses were heard."""
    deadline = time.monotonic() + 30
    while stop.presses < number and time.monotonic() < deadline:
        stop.wait(0.01)
    assert stop.presses == number


@given(st.lists(st.floats(min_value=0, max_value=3), max_size=30))
def test_presses_lie_apart_and_none_is_lost(gaps: list[float]) -> None:
    presses, now, begun = Presses(), 0.0, list[float]()
    for gap in gaps:
        now += gap
        if presses.begins(now):
            begun.append(now)
        assert now - begun[-1] < PRESS
    assert all(later - earlier >= PRESS for earlier, later in pairwise(begun))


@pytest.mark.parametrize("number", ALL)
def test_a_double_signal_is_one_press(number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    stop = Stop()
    with signals_stop(stop) as caught:
        assert current_stop() is stop
        for _ in range(2):
            os.kill(os.getpid(), number)
        await_press(stop)
    assert (caught, stop.presses, stop.urgent) == ([number], 1, False)
    assert capsys.readouterr().err == "stopping (press again to kill)\n"


def test_a_second_press_is_urgent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(signals, "PRESS", 0.0)
    stop = Stop()
    with signals_stop(stop) as caught:
        os.kill(os.getpid(), signal.SIGINT)
        await_press(stop)
        os.kill(os.getpid(), signal.SIGTERM)
        await_press(stop, 2)
    assert (caught, stop.urgent) == ([signal.SIGINT, signal.SIGTERM], True)
    assert capsys.readouterr().err == "stopping (press again to kill)\nkilling\n"


def test_a_flood_of_signals_meets_every_lock(capsys: pytest.CaptureFixture[str]) -> None:
    """The main thread does nothing but take the locks of the stop, while signals come as fast as they can."""
    stop, over, me = Stop(), threading.Event(), os.getpid()

    def flood() -> None:
        for _ in range(2000):
            os.kill(me, signal.SIGINT)
        over.set()

    with signals_stop(stop, quiet=True) as caught:
        thread = threading.Thread(target=flood)
        thread.start()
        while not over.is_set():
            with stop.heard_by(lambda: None):
                stop.wait(0.0001)
        thread.join()
    assert caught[0] == signal.SIGINT
    assert stop.is_set()


def test_everything_is_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in ALL]
    threads, files = threading.active_count(), len(os.listdir("/dev/fd"))
    with pytest.raises(OperationRefused, match="no"), signals_stop(Stop(), quiet=True):
        raise OperationRefused("no")
    assert [signal.getsignal(number) for number in ALL] == before
    assert (threading.active_count(), len(os.listdir("/dev/fd"))) == (threads, files)
    assert signal.set_wakeup_fd(-1) == -1


def test_a_problem_after_a_press_is_an_interruption() -> None:
    def work(stop: Stop) -> None:
        with signals_stop(stop, quiet=True):
            os.kill(os.getpid(), signal.SIGTERM)
            await_press(stop)
            raise OperationRefused("half done", "go on")

    with pytest.raises(Interrupted, match="half done") as caught:
        work(Stop())
    assert (caught.value.signal, caught.value.hint) == (signal.SIGTERM, "go on")


def test_elsewhere_than_in_the_main_thread_the_block_just_runs() -> None:
    found = list[object]()

    def work() -> None:
        stop = Stop()
        with signals_stop(stop) as caught, signals_end() as other:
            found.extend([caught, other])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [[], []]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_signal_for_a_forked_child_is_its_own() -> None:
    stop = Stop()
    with signals_stop(stop, quiet=True) as caught:
        ready, say = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(say, b"x")
            time.sleep(600)
            os._exit(0)
        os.read(ready, 1)
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        os.close(ready)
        os.close(say)
    assert (caught, stop.presses) == ([], 0)


def test_what_has_nothing_to_save_is_ended_once() -> None:
    cleaned, heard = list[str](), list[list[int]]()

    def work() -> None:
        with signals_end() as caught:
            heard.append(caught)
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)
            finally:
                # The second of a double signal must not break into this.
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.01)
                cleaned.append("up")

    with pytest.raises(CommandEnded):
        work()
    assert (heard, cleaned) == ([[signal.SIGTERM]], ["up"])


def test_what_comes_of_an_answered_press_ends_nothing_after_it() -> None:
    stop = Stop()
    with signals_end() as caught:
        with signals_stop(stop, quiet=True):
            os.kill(os.getpid(), signal.SIGINT)
            await_press(stop)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
    assert (caught, stop.presses) == ([], 1)


HANGING = """
import os, sys
from gitprun.cli import main, signals
signals.LAST_WORDS = 0.2
def _run(arguments):
    while True:
        try:
            print("hangs", flush=True)
            while True: sys.stdin.read()
        except KeyboardInterrupt:
            print("deaf", flush=True)
main._run = _run
sys.exit(main.run_cli())
"""


def test_a_second_press_ends_what_will_not_end() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HANGING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=program_environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"hangs\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == b"deaf\n"
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        assert process.returncode == 128 + signal.SIGTERM


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A branch and main that meet in a file whose merge driver says that it began, and sleeps."""
    made = make_repo(tmp_path / "r", _dot_gitattributes="*.w merge=slow\n", f_dot_w="1\n\n\n2\n")
    made.switch("b", new=True)
    made.commit("b", f_dot_w="B\n\n\n2\n")
    made.switch("main")
    made.commit("m", f_dot_w="1\n\n\nM\n")
    made.git("config", "merge.slow.driver", f"echo $$ >{tmp_path}/begun; exec sleep 600")
    os.mkfifo(tmp_path / "begun")
    return made


@pytest.mark.parametrize(
    ("words", "number"), crossed((("forecast", "b"), ("merge", "b"), ("merge", "--dry-run", "b")), ALL)
)
def test_a_command_whose_git_hangs_ends_with_the_signal(
    repo: Repo, tmp_path: Path, words: tuple[str, ...], number: signal.Signals
) -> None:
    head = repo.head
    process = start_prun(repo.path, *words)
    driver = int((tmp_path / "begun").read_text())
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert probe_identity(driver) is None
    assert (repo.head, repo.status()) == (head, [])
    assert list((repo.path / ".git").glob("*.lock")) == []
    if words[0] == "merge":
        waited = f"git merge-tree was stopped; it waited for the merge driver 'slow' (echo $$ >{tmp_path}/begun;"
        assert f"error: {waited} exec sleep 600)\n" in err.decode()
        assert "stopping (press again to kill)\n" in err.decode()


@pytest.mark.parametrize("number", ALL)
def test_gather_ends_with_the_signal(tmp_path: Path, number: signal.Signals) -> None:
    process = start_prun(tmp_path, "gather", "never.md")
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"GATHER-START")
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
