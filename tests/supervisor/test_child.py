"""A child is asked one question; it is bounded in time, memory and answer, and never left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.supervisor.child import ChildFailed, ask


def module(folder: Path, body: str) -> Path:
    """Write a module that answers with ``body``."""
    place = folder / "answering.py"
    place.write_text(f"import os, sys, time\n\n\ndef answer(question):\n    {body}\n")
    return place


def test_it_answers_in_plain_values(tmp_path: Path) -> None:
    place = module(tmp_path, "return {'got': question['x'], 'flags': [sys.flags.isolated, sys.flags.no_site]}")
    assert ask(place, {"x": [b"\xff", "text", 1]}, timeout=20.0) == {"got": [b"\xff", "text", 1], "flags": [1, 1]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("time.sleep(600)", "it took too long"),
        ("print('x' * 100, file=sys.stderr); raise ValueError('broken here')", "ValueError: broken here"),
        ("return {'x': bytearray(200_000_000)}", "MemoryError"),
        ("return {'x': bytes(2_000_000)}", "it found more than can be listed"),
        ("os._exit(3)", "it ended with code 3"),
        ("os.kill(os.getpid(), 9)", "it ended with code -9"),
        ("os.write(1, b'\\xff' * 100); os._exit(0)", "its answer cannot be read"),
    ],
)
def test_what_it_cannot_do(tmp_path: Path, body: str, said: str) -> None:
    # Only one of them needs the time, all of it.
    timeout = 1.0 if "sleep" in body else 60.0
    with pytest.raises(ChildFailed) as caught:
        ask(module(tmp_path, body), {}, timeout=timeout, memory=100_000_000, most=1_000_000)
    assert caught.value.message == said


@pytest.mark.slow
def test_nothing_is_left_of_one_that_is_ended(tmp_path: Path) -> None:
    place = module(tmp_path, "open(question['mark'], 'w').write(str(os.getpid())); time.sleep(600)")
    with pytest.raises(ChildFailed):
        ask(place, {"mark": str(tmp_path / "pid")}, timeout=4.0)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_talkative_one_is_no_trouble(tmp_path: Path) -> None:
    place = module(tmp_path, "sys.stderr.write('x' * 3_000_000); return {'done': True}")
    assert ask(place, {}, timeout=20.0) == {"done": True}
