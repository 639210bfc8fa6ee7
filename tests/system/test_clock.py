"""Clocks that are set while something waits."""

from __future__ import annotations

import threading
import time

import pytest

from gitprun.system.clock import SteadyClock, SystemClock

HOUR = 3600.0


class SetClock:
    """The wall clock of the machine, which somebody sets."""

    def __init__(self) -> None:
        self.real, self.by = time.time, 0.0

    def __call__(self) -> float:
        return self.real() + self.by


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    wall = SetClock()
    monkeypatch.setattr(time, "time", wall)
    return wall


def test_a_steady_clock_shows_the_time(wall: SetClock) -> None:
    assert abs(SteadyClock().now() - wall()) < 1
    wall.by = HOUR
    assert abs(SteadyClock().now() - wall()) < 1


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_setting_the_clock_moves_no_steady_one(wall: SetClock, step: float) -> None:
    clock = SteadyClock()
    before = clock.now()
    wall.by = step
    assert 0 <= clock.now() - before < 10
    assert abs(SystemClock().now() - before - step) < 10
    wall.by = 0.0
    assert 0 <= clock.now() - before < 10


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_wait_is_as_long_as_it_was_meant(wall: SetClock, step: float) -> None:
    clock, began = SteadyClock(), time.monotonic()
    until = clock.now() + 0.2
    wall.by = step
    clock.sleep_until(until, threading.Event())
    assert 0.19 < time.monotonic() - began < 10
