"""Workers of which nothing comes: said, seen to go on, and ended where that is asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.ledger.unit_events import UnitMoving, UnitStalled
from gitprun.model.errors import PrunError
from gitprun.runs.stall_watch import StallWatch, Subject, survey_files
from tests.support.clock import FakeClock
from tests.support.repos import Repo, make_repo
from tests.support.runs import events_of, run_units, sh, unit_of

HOUR = 3600.0


class Desk:
    """A worker's output and workspace, and a watch that looks when it is told to."""

    def __init__(self, path: Path, *, stalled: bool = False) -> None:
        self.clock = FakeClock()
        self.watch = StallWatch(600.0, clock=self.clock)
        self.output, self.place = path / "out", path / "work"
        self.place.mkdir()
        (self.place / "a").write_text("a")
        self.output.write_text("begun\n")
        self.said: list[UnitStalled | UnitMoving] = []
        self.subject = Subject(self.output, (self.place,), self.said.append, stalled=stalled)

    def kinds(self) -> list[str]:
        return [payload.kind.removeprefix("unit.") for payload in self.said]

    def pass_time(self, seconds: float, wall: float | None = None) -> list[str]:
        """Let time pass, by the wall clock too or another time by that, and look; gives all that was said so far."""
        self.clock.steady += seconds
        self.clock.wall += seconds if wall is None else wall
        self.watch.look()
        return self.kinds()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def settled(desk: Desk) -> None:
    """Take away the file times that are of the real clock: the wall clock of the test is ahead of them."""
    desk.pass_time(0.0)


def test_a_stall_is_said_once_and_its_end_too(desk: Desk) -> None:
    with desk.watch.watching(desk.subject):
        settled(desk)
        assert desk.pass_time(599.0) == []
        assert desk.pass_time(1.0) == ["stalled"]
        assert desk.pass_time(600.0) == ["stalled"]
        desk.output.write_text("begun\nmore\n")
        assert desk.pass_time(1.0) == ["stalled", "moving"]
        assert desk.pass_time(599.0) == ["stalled", "moving"]
        assert desk.pass_time(1.0) == ["stalled", "moving", "stalled"]
    assert (desk.said[0].kind, desk.said[0].as_json()["stalled"]) == (
        "unit.stalled",
        {
            "quiet": 600.0,
            "since": 1_800_000_000.0,
            "output": 600.0,
            "files": 600.0,
            "ends": False,
            "last": "begun",
            "hint": "",
        },
    )
    assert desk.said[1] == UnitMoving(stalled=None)


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda place: (place / "a").write_text("b"),
    "made": lambda place: (place / "new").write_text(""),
    "removed": lambda place: (place / "a").unlink(),
    "renamed": lambda place: (place / "a").rename(place / "b"),
    "mode": lambda place: (place / "a").chmod(0o700),
    "deep": lambda place: (place / "x" / "y").mkdir(parents=True),
    "made older": lambda place: ((place / "a").write_text("c"), os.utime(place / "a", (0, 0))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_a_file_is_a_sign_of_life(desk: Desk, change: str) -> None:
    with desk.watch.watching(desk.subject):
        settled(desk)
        assert desk.pass_time(400.0) == []
        CHANGES[change](desk.place)
        assert desk.pass_time(300.0) == []
        # From when that was seen on.
        assert desk.pass_time(599.0) == []
        assert desk.pass_time(1.0) == ["stalled"]


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_clock_set_by_an_hour_changes_no_state(desk: Desk, step: float) -> None:
    with desk.watch.watching(desk.subject):
        settled(desk)
        assert desk.pass_time(200.0, wall=200.0 + step) == []
        assert desk.pass_time(150.0) == []
        # The files could be dated no more: they count as changed when they were first looked at.
        assert desk.pass_time(599.0) == []
        assert desk.pass_time(1.0) == ["stalled"]
        assert desk.pass_time(10.0, wall=10.0 - step) == ["stalled"]


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_clock_set_back_and_forth_does_not_hide_a_stall(desk: Desk, step: float) -> None:
    with desk.watch.watching(desk.subject):
        settled(desk)
        assert desk.pass_time(100.0, wall=100.0 + step) == []
        assert desk.pass_time(100.0, wall=100.0 - step) == []
        assert desk.pass_time(400.0) == ["stalled"]


def test_a_stall_known_from_before_is_not_said_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, stalled=True)
    with desk.watch.watching(desk.subject):
        settled(desk)
        assert desk.pass_time(1000.0) == []
        (desk.place / "a").write_text("b")
        assert desk.pass_time(1.0) == ["moving"]


def test_nothing_is_said_about_one_that_has_ended(desk: Desk) -> None:
    with desk.watch.watching(desk.subject):
        settled(desk)
    assert desk.pass_time(10_000.0) == []
    assert desk.subject.gone


def test_a_ledger_that_cannot_be_written_is_told_later(desk: Desk) -> None:
    broken = [True, False]

    def say(payload: UnitStalled | UnitMoving) -> None:
        if broken.pop(0):
            raise PrunError("the disk is full")
        desk.said.append(payload)

    desk.subject.say = say
    with desk.watch.watching(desk.subject):
        settled(desk)
        assert desk.pass_time(600.0) == []
        assert desk.pass_time(30.0) == ["stalled"]


def test_output_that_is_not_there_yet(desk: Desk) -> None:
    desk.output.unlink()
    with desk.watch.watching(desk.subject):
        settled(desk)
        assert desk.pass_time(600.0) == ["stalled"]


def test_a_folder_too_large_or_gone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert survey_files((desk.place / "gone",)) == (0, 0, 0)
    monkeypatch.setattr("gitprun.runs.stall_watch.MOST_FILES", 0)
    assert survey_files((desk.place,)) is None
    with desk.watch.watching(desk.subject):
        settled(desk)
        # What could not be looked at is no proof of anything.
        assert desk.pass_time(10_000.0) == []


def test_the_thread_is_there_only_while_there_is_somebody(tmp_path: Path) -> None:
    watch = StallWatch(0.001)
    subject = Subject(tmp_path / "out", (tmp_path,), lambda *_: None)
    with watch.watching(subject):
        thread = watch._thread
        assert thread is not None
        assert thread.is_alive()
    thread.join(timeout=60)
    assert not thread.is_alive()
    with watch.watching(subject):
        assert watch._thread is not thread


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


SILENT = "echo Reading additional input from stdin...; exec sleep 1000"


def test_a_stalled_unit_is_ended_where_that_is_asked_for(repo: Repo) -> None:
    run_units(repo, sh("a", f"echo work >w.txt; {SILENT}"), stall=0.3, stall_action="end", grace=0.1)
    unit = unit_of(repo, "a")
    assert (unit.state, unit.reason) == (
        "timed-out",
        "stalled: no output and no change of a file for 0.3 s: Reading additional input from stdin...",
    )
    assert unit.as_json()["exit"]["reason"] == "stalled"
    # What it did is kept.
    assert unit.as_json()["changed"] == ["w.txt"]
    kinds = [event.kind for event in events_of(repo, "a")]
    assert kinds.index("unit.stalled") < kinds.index("unit.exited")
    stall = unit.as_json()["stalled"]
    assert (stall["ends"], stall["hint"]) == (True, "it waits for input that never comes")


def test_a_stalled_unit_is_reported_and_goes_on(repo: Repo, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    heard: list[str] = []

    def open_gate() -> None:
        while "unit.stalled" not in [event.kind for event in events_of(repo, "a")]:
            said.wait(0.02)
        with open(tmp_path / "gate", "w") as gate:
            gate.write("x")

    said = threading.Event()
    opener = threading.Thread(target=open_gate)
    opener.start()
    goes_on = "i=0; while [ $i -lt 40 ]; do echo $i; i=$((i+1)); sleep 0.01; done"
    script = f"echo work >w.txt; head -c 1 {tmp_path}/gate; {goes_on}"
    run_units(repo, sh("a", script), stall=0.3)
    opener.join()
    heard = [event.kind for event in events_of(repo, "a")]
    assert unit_of(repo, "a").state == "ready"
    told = [kind for kind in heard if kind in ("unit.stalled", "unit.moving", "unit.exited")]
    # A busy machine may let it stand still once more.
    assert (told[:2], told[-1]) == (["unit.stalled", "unit.moving"], "unit.exited")
    assert unit_of(repo, "a").as_json()["stalled"] is None
