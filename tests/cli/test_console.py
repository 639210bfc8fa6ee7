"""Tables in a narrow terminal, and what is said while something is drawn."""

from __future__ import annotations

import pytest

from gitprun.api.events import LedgerEvent
from gitprun.cli import console
from gitprun.cli.console import coloured, said_above, say, table
from gitprun.cli.live import Watch

ROWS = [
    ["reports", coloured("held"), "it changes a/long/path.txt, b.txt and 3 more outside its paths", "git prun merge x"],
    ["b", "ready", "-", ""],
]
HEAD = ["branch", "state", "why", "next"]


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (0, "branch   state  why                                                             next\n"
            "reports  held   it changes a/long/path.txt, b.txt and 3 more outside its paths  git prun merge x\n"
            "b        ready  -\n"),
        (80, "branch   state  why\n"
             "reports  held   it changes a/long/path.txt, b.txt and 3 more outside its paths\n"
             "    next: git prun merge x\n"
             "b        ready  -\n"),
        (40, "branch   state\n"
             "reports  held\n"
             "    why: it changes a/long/path.txt,\n"
             "        b.txt and 3 more outside its\n"
             "        paths\n"
             "    next: git prun merge x\n"
             "b        ready\n"),
        (5, "branch\n"
            "reports\n"
            "    state: held\n"
            "    why: it changes\n"
            "        a/long/path.txt,\n"
            "        b.txt and 3\n"
            "        more outside\n"
            "        its paths\n"
            "    next: git prun merge x\n"
            "b\n"
            "    state: ready\n"),
    ],
)  # fmt: skip
def test_what_does_not_fit_goes_below_its_row(room: int, shown: str) -> None:
    assert console.click.unstyle(table(HEAD, ROWS, room)) + "\n" == shown
    assert table(["a", "b"], [], room) == "\x1b[1ma\x1b[0m  \x1b[1mb\x1b[0m"


def test_what_is_said_while_lines_are_drawn_stands_above_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    watch = Watch(["a"], as_json=False)
    watch.live = True
    watch.on_event(LedgerEvent(kind="unit.queued", t=1.0, run="r1", unit="a"))
    with watch.shown():
        say("run r1: " + "long " * 30 + "\x1b[8mhidden")
    drawn = capsys.readouterr().err
    line = "run r1: " + "long " * 30 + "\\x1b[8mhidden\n"
    assert line in drawn
    before, _, _ = drawn.partition(line)
    # The drawing is taken away before, so that nothing of it stands beside the line.
    assert before.rpartition("\n")[2].endswith(("\x1b[2K", "\x1b[?25l")), before
    say("over")
    assert capsys.readouterr().err == "over\n"


def test_two_drawings_one_in_the_other() -> None:
    heard: list[str] = []
    with said_above(lambda text: heard.append(f"outer {text}")):
        with said_above(lambda text: heard.append(f"inner {text}")):
            say("a")
        say("b")
    assert heard == ["inner a", "outer b"]
