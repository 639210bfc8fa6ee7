"""Workers that are any program of the user's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.executors.base import Ending, Launch, Progress, WorkerPaths
from gitprun.executors.command import Command
from gitprun.model.errors import PlanError
from gitprun.model.names import UnitId
from gitprun.model.units import ExecutorSettings, Exit, Unit

PLACE = WorkerPaths(cwd="/ws/u1", result="/out/u1.md", last_message="/out/u1.last", repository="/home/me/repo")
EXITED = Exit(code=0, signal=None, reason="exited", seconds=1.0)


def unit(*command: str) -> Unit:
    return Unit(id=UnitId("u1"), prompt="docs", executor="command", command=command)


def test_the_command_starts_as_it_stands() -> None:
    settings = ExecutorSettings(program="other", args=("--flag",), env=(("DOCS", "1"),))
    assert Command().launch(unit("make", "-k", "docs"), "do it\n", PLACE, settings) == Launch(
        argv=("make", "-k", "docs"),
        env=(("DOCS", "1"),),
        stdin=b"do it\n",
        program="make",
    )


def test_a_unit_without_a_command_is_refused() -> None:
    with pytest.raises(PlanError) as caught:
        Command().launch(unit(), "do it", PLACE, ExecutorSettings())
    assert (caught.value.message, caught.value.hint) == (
        "unit u1 has no command to run",
        'give it one, as in: command = ["make", "docs"]',
    )


def test_lines_are_shown_cleaned() -> None:
    shown = [Command().progress(line) for line in (b"\x1b[32mok\x1b[0m 3 tests\r\n", b"   \n", b"", b"caf\xe9", b"{}")]
    assert shown == [Progress("said", "ok 3 tests"), None, None, Progress("said", "caf\ufffd"), Progress("said", "{}")]


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [
        (EXITED, Ending("done")),
        (Exit(code=2, signal=None, reason="exited", seconds=1.0), Ending("failed", "exit code 2: last words")),
        (Exit(code=None, signal=9, reason="exited", seconds=1.0), Ending("failed", "ended by signal 9: last words")),
        (
            Exit(code=None, signal=15, reason="timeout", seconds=60.2),
            Ending("failed", "stopped after 60 s, its time limit: last words"),
        ),
        (
            Exit(code=0, signal=None, reason="timeout", seconds=60.2),
            Ending("failed", "stopped after 60 s, its time limit: last words"),
        ),
        (Exit(code=None, signal=2, reason="stopped", seconds=3.0), Ending("failed", "stopped on request: last words")),
    ],
)
def test_the_exit_code_is_the_answer(outcome: Exit, ending: Ending) -> None:
    printed = [b"first", b"Usage limit reached. Try again at 5:31 PM.", b"last words", b"", b"  "]
    assert Command().ending(printed, outcome) == ending


def test_a_program_that_did_not_start_says_why() -> None:
    for detail, reason in (
        ("no such program: mak", "could not be started: no such program: mak"),
        ("", "could not be started"),
    ):
        outcome = Exit(code=None, signal=None, reason="not-started", seconds=0.0, detail=detail)
        assert Command().ending([], outcome) == Ending("failed", reason)


@given(st.lists(st.binary()))
def test_any_output_is_read_without_raising(printed: list[bytes]) -> None:
    assert Command().ending(printed, EXITED) == Ending("done")
    for line in printed:
        progress = Command().progress(line)
        assert progress is None or 0 < len(progress.text) <= 200
