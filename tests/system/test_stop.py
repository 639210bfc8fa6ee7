"""A request to stop is heard once by everybody who listens, whenever they began to."""

from __future__ import annotations

import threading

from gitprun.system.stop import Stop, current_stop, stops_everything


def test_each_press_reaches_every_listener_once() -> None:
    stop, heard = Stop(), list[str]()
    with stop.heard_by(lambda: heard.append("early")):
        stop.set()
        with stop.heard_by(lambda: heard.append("late")):
            stop.set()
    stop.set()
    assert heard == ["early", "late", "early", "late"]
    assert (stop.is_set(), stop.presses, stop.urgent, stop.wait(0)) == (True, 3, True, True)


def test_a_listener_that_comes_in_the_middle_of_a_press_hears_it_once() -> None:
    for _ in range(300):
        stop, heard, gate = Stop(), list[int](), threading.Barrier(2)

        def press(stop: Stop = stop, gate: threading.Barrier = gate) -> None:
            gate.wait()
            stop.set()

        thread = threading.Thread(target=press)
        thread.start()
        gate.wait()
        with stop.heard_by(lambda heard=heard: heard.append(1)):  # type: ignore[misc]
            thread.join()
        assert heard == [1]


def test_a_listener_may_listen_and_ask_itself() -> None:
    stop, heard = Stop(), list[str]()

    def listener() -> None:
        with stop.heard_by(lambda: heard.append("inner")):
            heard.append("outer")

    with stop.heard_by(listener):
        stop.set()
    assert heard == ["inner", "outer"]


def test_which_stop_holds_for_the_process() -> None:
    one, other = Stop(), Stop()
    assert current_stop() is None
    with stops_everything(one):
        with stops_everything(other):
            assert current_stop() is other
        assert current_stop() is one
    assert current_stop() is None
