"""When a worker counts as stalled, told by steady time alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.ledger.stall import (
    Quiet,
    WorkerSight,
    has_moved,
    observe,
    stall_row,
    stalled_for,
    was_ended,
    watch_begins,
)
from tests.support.rows import state_of

LIMIT = 600.0
WALL = 1_800_000_000.0


def at(time: float, output: object | None = "o", files: object | None = None, newest: float = 0.0) -> WorkerSight:
    """Look at a steady time; the last change of a file is given in steady time too."""
    return WorkerSight(at=time, wall=WALL + time, output=output, files=files, newest=WALL + newest)


def after(*sights: WorkerSight, begun: float = 0.0) -> Quiet:
    known = watch_begins(begun, WALL + begun)
    for sight in sights:
        known = observe(known, sight)
    return known


def test_output_that_grows_is_no_stall() -> None:
    known = after(at(10, "a"), at(400, "b"), at(700, "c"))
    assert (known.output_since, known.files_since, known.for_seconds(900)) == (700, None, 0.0)


def test_the_files_are_looked_at_after_half_the_time() -> None:
    known = after(at(10, "a"), at(50, "b"))
    assert [known.wants_files(time, LIMIT) for time in (51.0, 349.9, 350.0)] == [False, False, True]


def test_without_a_look_at_the_files_nothing_is_proved() -> None:
    assert after(at(10, "a")).for_seconds(10_000) == 0.0


def test_neither_output_nor_files_for_long() -> None:
    known = after(at(0), at(300, files=1, newest=100), at(600, files=1, newest=100))
    assert (known.files_since, known.for_seconds(699), known.for_seconds(700)) == (100, 599, 600)


def test_old_files_count_from_the_last_output() -> None:
    known = after(at(0, "a"), at(50, "b"), at(350, "b", files=1, newest=-5000))
    assert (known.files_since, known.for_seconds(650)) == (50, 600)


def test_a_file_that_changes_is_no_stall() -> None:
    known = after(at(0), at(300, files=1, newest=0), at(590, files=2, newest=580))
    assert (known.files_since, known.for_seconds(700)) == (590, 110)


def test_what_could_not_be_looked_at_changes_nothing() -> None:
    known = after(at(0), at(300, files=1))
    assert observe(known, at(330, output=None)) == known
    assert observe(known, at(330, files=None)) == known


def test_output_after_a_stall_is_a_move() -> None:
    stalled = after(at(0), at(300, files=1), at(900, files=1))
    assert has_moved(stalled, observe(stalled, at(930, "more")))
    assert has_moved(stalled, observe(stalled, at(930, files=2)))
    assert not has_moved(stalled, observe(stalled, at(930, files=1)))
    # The first look at files or output of a worker that was found is none.
    assert not has_moved(after(), after(at(10)))
    assert not has_moved(after(at(10)), after(at(10), at(400, files=1)))


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_a_clock_that_is_set_makes_no_stall(step: float) -> None:
    """A file changed at 290; the clock was set at 100, so its time says nothing about that."""
    first = at(0)
    later = replace(at(300, files=1, newest=290), wall=WALL + 300 + step, newest=WALL + 290 + step)
    known = after(first, later)
    assert known.files_since == 300
    assert known.for_seconds(899) == 599


def test_a_file_from_the_future_was_changed_now() -> None:
    assert after(at(0), at(300, files=1, newest=5000)).files_since == 300


@given(
    st.lists(
        st.tuples(st.floats(0.1, 400), st.integers(0, 3), st.none() | st.integers(0, 3), st.floats(-5000, 5000)),
        max_size=20,
    )
)
def test_a_stall_is_never_said_too_early(looks: list[tuple[float, int, int | None, float]]) -> None:
    """Whatever the wall clock does: without a change for the whole time, by steady time, there is no stall."""
    time, known = 0.0, watch_begins(0.0, WALL)
    seen: list[tuple[float, int, int | None]] = []
    for step, output, files, skew in looks:
        time += step
        sight = WorkerSight(at=time, wall=WALL + time + skew, output=output, files=files, newest=WALL + time)
        known = observe(known, sight)
        seen.append((time, output, files))
        quiet = known.for_seconds(time)
        inside = [row for row in seen if row[0] > time - quiet + 0.001]
        assert len({row[1] for row in inside}) <= 1
        assert len({row[2] for row in inside if row[2] is not None}) <= 1


def test_what_is_written_down() -> None:
    sight = at(900, files=1)
    known = after(at(0), at(300, files=1, newest=100), sight)
    end = b"Reading additional input from stdin...\n"
    row = stall_row(known, sight, ends=False, last="Reading additional input from stdin...", tail=end)
    assert row.as_json() == {
        "quiet": 800.0,
        "since": WALL + 100,
        "output": 900.0,
        "files": 800.0,
        "ends": False,
        "last": "Reading additional input from stdin...",
        "hint": "it waits for input that never comes",
    }


def test_for_how_long_a_unit_has_been_stalled() -> None:
    unit = state_of(state="running", stalled={"quiet": 600.0, "since": 1000.0, "ends": False})
    assert stalled_for(unit, 1720.0) == 720.0
    # The clock was set back meanwhile.
    assert stalled_for(unit, 500.0) == 600.0
    assert stalled_for(unit.with_state("collecting"), 1720.0) is None
    assert stalled_for(state_of(state="running", stalled=None), 1720.0) is None
    assert stalled_for(state_of(state="running"), 1720.0) is None


def test_who_was_told_to_end() -> None:
    assert was_ended(state_of(stalled={"ends": True}))
    assert not was_ended(state_of(stalled={"ends": False}))
    assert not was_ended(state_of(stalled=None))
    assert not was_ended(state_of())
