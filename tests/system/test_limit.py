"""Our own code gets so much time and no more, however busy the machine is."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from gitprun.model.budget import BUDGET, unbroken
from gitprun.system import limit
from gitprun.system.limit import TimeLimit, limited


@dataclass
class Clocks:
    """What ``time`` says, as a test has it."""

    used: float = 0.0
    passed: float = 0.0

    def thread_time(self) -> float:
        return self.used

    def monotonic(self) -> float:
        return self.passed


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(limit, "time", made)
    return made


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)) == (before, (0.0, 0.0))
    assert (BUDGET.held, BUDGET.is_over()) == (0, False)


def tick() -> None:
    """Let the clocks be read now."""
    signal.raise_signal(signal.SIGALRM)


def test_what_does_not_end_is_ended() -> None:
    with pytest.raises(TimeLimit, match=r"not done within 0\.02 s of processor time"), limited(0.02):
        _work_on()


def test_what_ends_is_not() -> None:
    with limited(60):
        done = 1 + 1
    assert done == 2


def test_an_error_of_the_block_comes_out() -> None:
    with pytest.raises(ValueError, match="mine"), limited(60):
        raise ValueError("mine")


def run(seconds: float, work: Callable[[], None]) -> None:
    """Do some work within a limit."""
    with limited(seconds):
        work()


def test_processor_time_counts_and_waiting_does_not(clocks: Clocks) -> None:
    def go_on() -> None:
        clocks.used += 1.99
        clocks.passed += 19.9
        tick()

    def work() -> None:
        clocks.used += 2.0
        tick()

    run(2.0, go_on)
    with pytest.raises(TimeLimit):
        run(2.0, work)


def test_what_only_waits_ends_some_time(clocks: Clocks) -> None:
    def wait() -> None:
        clocks.passed = 20.0
        tick()

    with pytest.raises(TimeLimit):
        run(2.0, wait)


def hit(clocks: Clocks) -> None:
    """Reach the limit once."""
    clocks.used = 2.0
    try:
        tick()
    finally:
        clocks.used = 0.0


def test_a_limit_that_was_swallowed_comes_out_all_the_same(clocks: Clocks) -> None:
    def swallow() -> None:
        with contextlib.suppress(BaseException):
            hit(clocks)

    with pytest.raises(TimeLimit):
        run(2.0, swallow)


@pytest.mark.parametrize("made_of_it", [SystemError, ValueError, RecursionError])
def test_what_a_library_makes_of_it_is_not_believed(clocks: Clocks, made_of_it: type[Exception]) -> None:
    def work() -> None:
        try:
            hit(clocks)
        except TimeLimit as problem:
            raise made_of_it("returned a result with an exception set") from problem

    with pytest.raises(TimeLimit) as caught:
        run(2.0, work)
    assert isinstance(caught.value.__cause__, made_of_it)


def test_a_stop_goes_first(clocks: Clocks) -> None:
    def work() -> None:
        try:
            hit(clocks)
        except TimeLimit:
            raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt):
        run(2.0, work)


def test_one_in_another_ends_by_its_own_limit(clocks: Clocks) -> None:
    def work() -> None:
        clocks.used += 1.0
        tick()

    with limited(5.0):
        with pytest.raises(TimeLimit, match="within 1 s"):
            run(1.0, work)
        tick()
        assert signal.getitimer(signal.ITIMER_REAL)[1] == limit.TICK


def test_the_outer_one_is_heard_after_the_inner_one(clocks: Clocks) -> None:
    reached = []

    def work() -> None:
        clocks.used = 3.0
        tick()
        reached.append("the end of the inner one")

    def around() -> None:
        run(60, work)
        tick()
        reached.append("too far")

    with pytest.raises(TimeLimit, match="within 2 s"):
        run(2.0, around)
    assert reached == ["the end of the inner one"]


def test_what_calls_back_from_c_is_asked_and_not_broken_off(clocks: Clocks) -> None:
    seen = []

    def parse() -> None:
        with unbroken() as budget:
            seen.append(budget.is_over())
            clocks.used = 2.0
            tick()
            seen.append(budget.is_over())
            raise ValueError("the parser gave up")

    with pytest.raises(TimeLimit):
        run(2.0, parse)
    assert seen == [False, True]
    with unbroken() as budget:
        assert not budget.is_over()


def test_in_another_thread_nothing_is_limited() -> None:
    seen = []

    def work() -> None:
        with limited(0.001):
            seen.append((signal.getitimer(signal.ITIMER_REAL), BUDGET.is_over()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [((0.0, 0.0), False)]


def test_another_thread_does_not_hear_of_the_limit(clocks: Clocks) -> None:
    seen = []

    def ask() -> None:
        with unbroken() as budget:
            seen.append(budget.is_over())

    with limited(2.0):
        # Not over here either, should a signal come.
        thread = threading.Thread(target=ask)
        with unbroken():
            clocks.used = 3.0
            thread.start()
            thread.join()
            clocks.used = 0.0
    assert seen == [False]


def _work_on() -> None:
    """Take every error for one of its own, and never end."""
    while True:
        try:
            sum(range(100))
        except Exception:
            continue
