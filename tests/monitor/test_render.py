"""The literal text of the seed's protocol."""

from __future__ import annotations

import json

from gitprun.api.schema import to_json
from gitprun.api.watching import tick_of
from gitprun.monitor.render import shutdown_line, startup_line, tick_line
from gitprun.observe.flags import Flag, Observation, Tick, UnitReading

AT = 1_795_990_522.0


def tick(*units: UnitReading, note: str = "idle", flags: tuple[Flag, ...] = (), **facts: int | None) -> Tick:
    return Tick(Observation(time=AT, units=units, base="b" * 40, **facts), note, 1, flags)  # type: ignore[arg-type]


def unit(name: str, commits: int | None, dirty: int | None, run: str = "r1") -> UnitReading:
    paths = None if dirty is None else {str(number): (1, 1) for number in range(dirty)}
    return UnitReading(run=run, id=name, state="running", commits=commits, dirty=paths)


def test_a_line_with_everything() -> None:
    said = tick(
        unit("wave2-A", 0, 5),
        unit("wave2-B", 1, 0),
        note="+1commit",
        flags=(Flag("silent-edit"), Flag("main-dirty", "3"), Flag("agent-done-committed")),
        codex=2,
        wrap=3,
        main_commits=4,
        all_commits=11,
    )
    assert tick_line(said) == (
        "22:15:22Z  procs=codex:2/wrap:3  commits=main:4/all:11  (+1commit)"
        "  [silent-edit,main-dirty:3,agent-done-committed]  :: wave2-A=0c/5d wave2-B=1c/0d"
    )


def test_a_line_without_flags_or_units() -> None:
    assert tick_line(tick()) == "22:15:22Z  procs=codex:0/wrap:0  commits=main:0/all:0  (idle)  ::"


def test_what_cannot_be_told_is_a_question_mark() -> None:
    said = tick(unit("a", None, None), main_commits=None, all_commits=None)
    assert tick_line(said) == "22:15:22Z  procs=codex:0/wrap:0  commits=main:?/all:?  (idle)  :: a=?c/?d"


def test_units_of_several_runs_are_told_apart() -> None:
    assert tick_line(tick(unit("a", 0, 0), unit("a", 0, 1, run="r2"))).endswith("  :: r1/a=0c/0d r2/a=0c/1d")


def test_frame_lines() -> None:
    assert startup_line(AT, "abc", 60.0, notify=False) == "[startup 22:15:22Z] baseline=abc interval=60s notify=off"
    assert startup_line(AT, "abc", 0.5, notify=True) == "[startup 22:15:22Z] baseline=abc interval=0.5s notify=on"
    assert shutdown_line(AT) == "[shutdown 22:15:22Z] monitor stopping"
    assert shutdown_line(AT, "no unit is at work") == "[shutdown 22:15:22Z] monitor stopping: no unit is at work"


def test_a_row_for_programs() -> None:
    said = tick(unit("a", 0, None), flags=(Flag("fence", "a", "a", ("x\udcff",)),), codex=1)
    assert json.loads(json.dumps(to_json(tick_of(said)))) == {
        "time": AT,
        "base": "b" * 40,
        "procs": {"codex": 1, "wrap": 0},
        "commits": {"main": 0, "all": 0},
        "note": "idle",
        "streak": 1,
        "flags": [{"flag": "fence", "text": "fence:a", "unit": "a", "about": ["x\udcff"]}],
        "units": [{"run": "r1", "unit": "a", "state": "running", "commits": 0, "dirty": None, "quiet": 0.0}],
        "line": "22:15:22Z  procs=codex:1/wrap:0  commits=main:0/all:0  (idle)  [fence:a]  :: a=0c/?d",
    }
