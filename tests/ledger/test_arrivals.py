"""When a result file has landed, told from sights, writers and a clock that never goes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.ledger.arrivals import (
    FileSight,
    WatchedFile,
    Writer,
    breaks_off,
    first_look,
    is_certain,
    is_quiet,
    look_again,
)

WALL = 1_800_000_000.0
NOBODY = Writer()


def sight(size: int = 10, *, age: float = 0.0, inode: int = 1) -> FileSight:
    """See a file that was written ``age`` seconds before WALL."""
    return FileSight(inode, size, int((WALL - age) * 1e9))


@pytest.mark.parametrize(
    ("found", "now", "landed"),
    [
        (sight(age=10), 500.0, True),
        (sight(age=7200), 500.0, True),
        (sight(age=9.9), 500.0, False),
        (sight(age=0), 500.0, False),
        # From the future: a clock was wrong, so its time tells nothing.
        (sight(age=-3600), 500.0, False),
        (sight(0, age=7200), 500.0, False),
        (None, 500.0, False),
    ],
)
def test_what_is_there_at_the_start_is_judged_by_its_own_time(
    found: FileSight | None, now: float, landed: bool
) -> None:
    assert is_quiet(first_look(found, now=now, wall=WALL), NOBODY, now=now, window=10) is landed


def test_a_file_from_the_future_lands_once_we_saw_it_quiet() -> None:
    ahead = sight(age=-3600)
    watched = first_look(ahead, now=100.0, wall=WALL)
    seen = [is_quiet(look_again(watched, ahead, now=now), NOBODY, now=now, window=10) for now in (105.0, 109.9, 110.0)]
    assert seen == [False, False, True]


@pytest.mark.parametrize("change", [sight(11), sight(age=-1), sight(age=3600), sight(inode=2), None])
def test_any_change_we_see_starts_the_window_again(change: FileSight | None) -> None:
    watched = look_again(WatchedFile(sight(), 100.0), change, now=109.0)
    assert watched == WatchedFile(change, 109.0)
    assert not is_quiet(watched, NOBODY, now=118.9, window=10)


def test_a_file_that_comes_later_must_be_seen_quiet_whatever_its_time_says() -> None:
    watched = look_again(first_look(None, now=0.0, wall=WALL), sight(age=7200), now=50.0)
    assert not is_quiet(watched, NOBODY, now=59.0, window=10)
    assert is_quiet(watched, NOBODY, now=60.0, window=10)


@pytest.mark.parametrize(
    ("writer", "certain", "quiet"),
    [
        (Writer("works"), False, False),
        (Writer("unknown"), False, True),
        (Writer("ended"), True, True),
        (Writer("ended", until_ns=sight(age=100).mtime_ns), True, True),
        # Somebody wrote it after the one we know had ended.
        (Writer("ended", until_ns=sight(age=101).mtime_ns), False, True),
    ],
)
def test_a_known_writer_counts_for_more_than_quiet(writer: Writer, certain: bool, quiet: bool) -> None:
    watched = first_look(sight(age=100), now=0.0, wall=WALL)
    assert (is_certain(watched, writer), is_quiet(watched, writer, now=0.0, window=10)) == (certain, quiet)


@pytest.mark.parametrize("found", [None, sight(0, age=100)])
def test_an_ended_writer_does_not_make_an_absent_or_empty_file_land(found: FileSight | None) -> None:
    assert not is_certain(first_look(found, now=0.0, wall=WALL), Writer("ended"))


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("# u1 result\nConclusion: ok\n", True),
        ("# u1 result", True),
        ("# u1 result\nConclusion: ok\nFiles: a\nOpen items: none\nVerification:", True),
        ("# u1 result\nConclusion: ok\nFiles: a\nOpen items: none\nVerification: none", False),
        ("# u9 result (FALLBACK, worker wrote no result file)\nConclusion: x\n", True),
        ("done!\n", False),
        ("", False),
        ("\0\0\0\0", False),
    ],
)
def test_a_text_that_breaks_off_inside_the_contract(text: str, broken: bool) -> None:
    assert breaks_off(text) is broken


SIGHTS = st.none() | st.builds(FileSight, st.integers(1, 3), st.integers(0, 3), st.integers(0, 3))


@given(st.lists(st.tuples(st.floats(0, 100), SIGHTS), min_size=1), st.floats(0.1, 1000))
def test_nothing_lands_within_the_window_after_its_last_change(
    looks: list[tuple[float, FileSight | None]], window: float
) -> None:
    """Whatever the wall clock said: of two looks less than a window apart that differ, the second never lands."""
    looks.sort(key=lambda look: look[0])
    watched, changed = first_look(None, now=0.0, wall=0.0), 0.0
    for now, found in looks:
        changed = now if found != watched.sight else changed
        watched = look_again(watched, found, now=now)
        assert is_quiet(watched, NOBODY, now=now, window=window) == (
            found is not None and found.size > 0 and now - changed >= window
        )
