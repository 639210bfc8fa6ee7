"""Waiting for result files, on a clock that the test moves; nothing here sleeps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from gitprun.ledger.ledger import Ledger
from gitprun.registry.state_folder import make_state_dir, write_line, write_record
from gitprun.runs.gather import Arrival, GatherCalls, Pace, gather
from gitprun.runs.writers import Writers
from gitprun.supervisor.process import ProcessIdentity, probe_identity
from tests.support.rows import payload_of

GOOD = "# u1 result\nConclusion: ok\nFiles: a.py\nOpen items: none\nVerification: pytest\n\nbody\n"
ME = probe_identity(os.getpid())
assert ME is not None
GONE = ProcessIdentity(ME.pid, "0", ME.boot)


@dataclass(slots=True)
class Scene:
    """A stage with a clock; ``plan`` are things that happen at a second of the play."""

    folder: Path
    wall: float = 1_800_000_000.0
    mono: float = 5000.0
    plan: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    landed: list[tuple[float, str]] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.mono

    def wait(self, seconds: float) -> None:
        """Let time pass, and what was planned happen."""
        end = self.mono + seconds
        while self.plan and 5000 + self.plan[0][0] <= end:
            at, act = self.plan.pop(0)
            self._move(5000 + at)
            act()
        self._move(end)

    def _move(self, mono: float) -> None:
        self.wall += mono - self.mono
        self.mono = mono

    def write(self, name: str, text: str, *, ahead: float = 0.0) -> None:
        """Write a file now, by a clock that may be ahead."""
        path = self.folder / name
        path.write_text(text)
        os.utime(path, (self.wall + ahead, self.wall + ahead))

    def gather(self, *names: str, timeout: float = 3600.0) -> int:
        """Wait for files; gives how many have not landed."""

        def arrived(arrival: Arrival) -> None:
            self.arrivals.append(arrival)
            self.landed.append((self.mono - 5000, Path(arrival.path).name))

        paths = [str(self.folder / name) for name in names]
        return gather(
            paths,
            Pace(timeout=timeout, poll=5.0, window=10.0),
            GatherCalls(
                writers=Writers(self.folder / "tmp"),
                clock=self,
                wait=self.wait,
                arrived=arrived,
                say=self.said.append,
            ),
        )

    def dispatched(self, name: str, who: ProcessIdentity | None, unit: str = "u1") -> Path:
        """Make a state folder as a dispatcher does."""
        state = make_state_dir(self.folder / "tmp", "/somewhere", unit)
        if who is not None:
            write_record(state, "dispatch.json", {"unit": unit, "executor": "codex", "dispatcher": asdict(who)})
        write_line(state, "result-file", str(self.folder / name))
        return state

    def end(self, state: Path) -> None:
        """Write down that a dispatched unit is over."""
        write_record(state, "ending.json", {})
        os.utime(state / "ending.json", (self.wall, self.wall))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_file_complete_before_the_start_lands_at_once(scene: Scene) -> None:
    scene.write("a.md", GOOD, ahead=-10)
    assert (scene.gather("a.md"), scene.landed) == (0, [(0, "a.md")])
    found = scene.arrivals[0]
    assert (found.path, found.certain, found.result.valid, found.folder) == (
        str(scene.folder / "a.md"),
        False,
        True,
        "",
    )


def test_files_land_as_they_come_and_each_duplicate_lands_too(scene: Scene) -> None:
    scene.write("a.md", GOOD, ahead=-60)
    scene.plan = [(12, lambda: scene.write("b.md", GOOD)), (31, lambda: scene.write("c.md", GOOD))]
    assert scene.gather("c.md", "a.md", "b.md", "a.md") == 0
    # First seen at 15 and at 35, then watched for 10 seconds.
    assert scene.landed == [(0, "a.md"), (0, "a.md"), (25, "b.md"), (45, "c.md")]


def test_a_file_written_in_parts_lands_after_the_last_one(scene: Scene) -> None:
    scene.plan = [(at, lambda at=at: scene.write("a.md", GOOD + "x" * at)) for at in (1, 9, 17, 26)]
    assert (scene.gather("a.md"), scene.landed) == (0, [(40, "a.md")])


def test_a_pause_longer_than_the_window_inside_the_contract(scene: Scene) -> None:
    """The header, 12 seconds of nothing, an empty file for a moment, then all of it."""
    scene.plan = [
        (3, lambda: scene.write("a.md", "# u1 result\nConclusion: ok\n")),
        (15, lambda: scene.write("a.md", "")),
        (15.2, lambda: scene.write("a.md", GOOD)),
    ]
    assert (scene.gather("a.md"), scene.landed) == (0, [(30, "a.md")])
    assert scene.arrivals[0].result.valid


def test_a_result_that_stays_broken_off_lands_after_a_longer_wait(scene: Scene) -> None:
    scene.write("a.md", "# u1 result\nConclusion: ok\n")
    assert (scene.gather("a.md"), scene.landed) == (0, [(60, "a.md")])
    assert not scene.arrivals[0].result.valid


def test_text_without_any_contract_lands_like_every_file(scene: Scene) -> None:
    scene.write("a.md", "done!\n")
    assert (scene.gather("a.md"), scene.landed) == (0, [(10, "a.md")])


def test_a_file_from_the_future_lands(scene: Scene) -> None:
    scene.write("a.md", GOOD, ahead=86_400)
    assert (scene.gather("a.md"), scene.landed) == (0, [(10, "a.md")])


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_a_clock_that_jumps_neither_lands_nor_holds_a_file(scene: Scene, jump: float) -> None:
    def step() -> None:
        scene.wall += jump

    scene.plan = [(6, lambda: scene.write("a.md", GOOD)), (7, step), (14, lambda: scene.write("a.md", GOOD + "more"))]
    assert (scene.gather("a.md", timeout=100), scene.landed) == (0, [(25, "a.md")])
    assert scene.mono == 5025


def test_what_has_not_landed_in_time_is_counted(scene: Scene) -> None:
    scene.write("a.md", GOOD, ahead=-60)
    scene.write("empty.md", "", ahead=-60)
    (scene.folder / "folder.md").mkdir()
    os.mkfifo(scene.folder / "fifo.md")
    assert scene.gather("a.md", "none.md", "empty.md", "folder.md", "fifo.md", timeout=12) == 4
    assert (scene.landed, scene.mono) == ([(0, "a.md")], 5012)


def test_links_are_followed_to_the_file_and_the_folder(scene: Scene) -> None:
    (scene.folder / "real").mkdir()
    (scene.folder / "link").symlink_to("real")
    scene.write("real/a.md", GOOD, ahead=-60)
    (scene.folder / "b.md").symlink_to("real/a.md")
    assert scene.gather("link/a.md", "b.md") == 0
    assert [arrival.path for arrival in scene.arrivals] == [
        str(scene.folder / "real" / "a.md"),
        str(scene.folder / "b.md"),
    ]


def test_a_file_whose_dispatcher_lives_has_not_landed_however_quiet_it_is(scene: Scene) -> None:
    scene.write("a.md", GOOD.replace("u1", "u2"), ahead=-7200)
    state = scene.dispatched("a.md", ME)
    assert (scene.gather("a.md", timeout=100), scene.landed) == (1, [])
    (state / "dispatch.json").write_text('{"unit": "u1", "dispatcher": {"pid": 1, "start": "0", "boot": ""}}')
    scene.end(state)
    assert (scene.gather("a.md"), scene.landed) == (0, [(100, "a.md")])
    assert scene.arrivals[0].certain
    assert (scene.arrivals[0].folder, scene.arrivals[0].result.problems) == (
        str(state),
        ("the heading names 'u2', not 'u1'",),
    )


def test_a_file_whose_worker_outlives_the_dispatcher_has_not_landed(scene: Scene) -> None:
    scene.write("a.md", GOOD, ahead=-7200)
    state = scene.dispatched("a.md", GONE)
    write_record(state, "warden.json", asdict(ME))
    assert (scene.gather("a.md", timeout=100), scene.landed) == (1, [])


def test_once_its_dispatcher_has_ended_a_file_lands_as_soon_as_it_is_there(scene: Scene) -> None:
    state = scene.dispatched("a.md", GONE)
    scene.plan = [(7, lambda: (scene.write("a.md", GOOD), scene.end(state)))]
    # The dispatcher is gone but has seen to its end later than we begin: nothing is salvaged meanwhile.
    scene.end(state)
    assert (scene.gather("a.md"), scene.landed, scene.said) == (0, [(10, "a.md")], [])
    assert scene.arrivals[0].certain


def test_what_somebody_else_writes_later_needs_the_window_again(scene: Scene) -> None:
    scene.end(scene.dispatched("a.md", GONE))
    scene.plan = [(7, lambda: scene.write("a.md", GOOD))]
    assert (scene.gather("a.md"), scene.landed, scene.arrivals[0].certain) == (0, [(20, "a.md")], False)


def test_of_several_dispatches_the_newest_counts(scene: Scene) -> None:
    scene.write("a.md", GOOD, ahead=-7200)
    old, new = scene.dispatched("a.md", GONE), scene.dispatched("a.md", ME)
    scene.end(old)
    os.utime(new / "result-file", (1, 1))
    assert scene.gather("a.md", timeout=50) == 1


def test_state_folders_of_the_seed_and_of_others_tell_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write("a.md", GOOD, ahead=-60)
    scene.dispatched("a.md", None)
    assert scene.gather("a.md", timeout=50) == 0
    scene.dispatched("a.md", ME)
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    assert scene.gather("a.md", timeout=50) == 0


def test_the_output_of_a_killed_dispatcher_is_salvaged(scene: Scene) -> None:
    state = scene.dispatched("a.md", GONE)
    (state / "tail").write_text("I looked\nand found\n")
    assert (scene.gather("a.md", timeout=50), scene.landed) == (0, [(5, "a.md")])
    assert (scene.folder / "a.md").read_text() == (
        "# u1 result (FALLBACK, worker wrote no result file)\n"
        "Conclusion: INCOMPLETE; structured result missing, raw worker output salvaged from the dispatch tail below.\n"
        "Files: unknown\n"
        "Open items: worker did not write its result file; review the raw output below or re-dispatch this unit.\n"
        "Verification: none (salvaged by dispatch-task, not by the worker)\n"
        "\n"
        "I looked\nand found\n"
    )
    assert scene.said == [f"the dispatcher of u1 was killed: its output was salvaged into {scene.folder / 'a.md'}"]
    assert scene.arrivals[0].result.fallback


def test_a_result_a_killed_dispatcher_left_is_not_touched(scene: Scene) -> None:
    state = scene.dispatched("a.md", GONE)
    (state / "tail").write_text("output\n")
    scene.write("a.md", GOOD, ahead=-3)
    assert (scene.gather("a.md"), scene.landed, scene.said) == (0, [(10, "a.md")], [])
    assert (scene.folder / "a.md").read_text() == GOOD


@dataclass(slots=True)
class RunScene:
    """A unit of a run, as its ledger tells."""

    scene: Scene
    state: Path

    @property
    def name(self) -> str:
        return "prun/runs/r1/u1/result.md"

    def note(self, kind: str, **facts: object) -> None:
        unit = "u1" if kind.startswith("unit.") else ""
        Ledger(self.state).append(payload_of(kind, facts), run="r1", unit=unit)


@pytest.fixture
def run(scene: Scene) -> RunScene:
    made = RunScene(scene, scene.folder / "prun")
    (made.state / "runs" / "r1" / "u1").mkdir(parents=True)
    return made


def test_a_unit_of_a_run_lands_when_the_ledger_says_so(scene: Scene, run: RunScene) -> None:
    run.note("run.started", units=["u1"], coordinator=asdict(ME))
    run.note("unit.started")
    scene.write(run.name, GOOD, ahead=-7200)
    scene.plan = [(22, lambda: run.note("unit.finished", state="ready"))]
    assert (scene.gather(run.name), scene.landed) == (0, [(25, "result.md")])
    assert scene.arrivals[0].certain


def test_a_unit_that_may_be_tried_again_lands_when_its_run_is_over(scene: Scene, run: RunScene) -> None:
    run.note("run.started", units=["u1"], coordinator=asdict(ME))
    run.note("unit.finished", state="rate-limited")
    scene.write(run.name, GOOD, ahead=-7200)
    scene.plan = [(22, lambda: run.note("run.finished"))]
    assert (scene.gather(run.name), scene.landed) == (0, [(25, "result.md")])


def test_waiting_ends_when_nothing_can_come_any_more(scene: Scene, run: RunScene) -> None:
    run.note("run.started", units=["u1"], coordinator=asdict(GONE))
    run.note("unit.started")
    scene.write("other.md", GOOD)
    assert (scene.gather(run.name, "other.md"), scene.landed) == (1, [(10, "other.md")])
    assert scene.said == ["r1/u1 ended as lost without a result"]


def test_a_unit_that_ended_without_a_result_says_why(scene: Scene, run: RunScene) -> None:
    run.note("run.started", units=["u1"], coordinator=asdict(GONE))
    run.note("unit.finished", state="broken", reason="no space left")
    assert (scene.gather(run.name), scene.mono) == (1, 5000)
    assert scene.said == ["r1/u1 ended as broken without a result: no space left"]


def test_a_path_that_only_looks_like_a_unit_of_a_run_lands_like_every_file(scene: Scene, run: RunScene) -> None:
    scene.write(run.name, GOOD)
    assert (scene.gather(run.name), scene.landed) == (0, [(10, "result.md")])


def test_of_a_huge_output_only_the_ends_are_read(scene: Scene) -> None:
    state = scene.dispatched("a.md", GONE)
    with open(state / "tail", "wb") as output:
        output.write(b'{"type":"thread.started","thread_id":"t1"}\n')
        output.seek(2 << 30)
        output.write(b'\n{"type":"turn.failed","error":{"message":"status 429"}}\n')
    assert scene.gather("a.md") == 0
    assert (scene.folder / "a.md").stat().st_size < 65_000
    ending = json.loads((state / "ending.json").read_text())["ending"]
    assert (ending["thread"], ending["state"]) == ("t1", "failed")
