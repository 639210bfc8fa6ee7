"""``git prun events`` as a filter in a pipe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.cli import Said, program_environment
from tests.support.processes import start_program

pytestmark = pytest.mark.slow

THREAD = b'{"type":"thread.started","thread_id":"019d99f5-7c3e"}\n'
TURN = b'{"type":"turn.started"}\n'
FAILED = b'{"type":"turn.failed","error":{"message":"no luck"}}\n'
COMPLETED = b'{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2,"cached_input_tokens":0}}\n'
COMMAND = [sys.executable, "-m", "gitprun", "events"]


def events(place: Path, stream: bytes, *args: str, env: Mapping[str, str] | None = None) -> Said:
    done = subprocess.run(
        [*COMMAND, *args], cwd=place, env=program_environment(env), input=stream, capture_output=True, check=False
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def untimed(out: str) -> list[str]:
    lines = out.splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\dZ \[", line) for line in lines)
    return [line[10:] for line in lines]


def test_lines_carry_the_time_and_need_no_repository(tmp_path: Path) -> None:
    said = events(tmp_path, THREAD + TURN + b"noise\n" + FAILED)
    assert untimed(said.out) == [
        "[START] thread=019d99f5",
        "[TURN>] model-turn begin",
        "[ERR] turn failed: no luck",
    ]
    assert (said.code, said.err) == (0, "")


def test_variables_and_options(tmp_path: Path) -> None:
    wanted = {"CODEX_FILTER_LEVEL": "minimal", "CODEX_FILTER_MAXLEN": "4"}
    stream = THREAD + TURN + b'{"type":"error","message":"abcdefgh"}\n'
    assert untimed(events(tmp_path, stream, env=wanted).out) == ["[START] thread=019d…", "[ERR] abcd…"]
    assert untimed(events(tmp_path, stream, "--level", "normal", "--maxlen", "5", env=wanted).out)[-2:] == [
        "[TURN>] model-turn begin",
        "[ERR] abcde…",
    ]


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("CODEX_FILTER_LEVEL", "loud", "warning: CODEX_FILTER_LEVEL=loud is none of minimal, normal, verbose: normal"),
        ("CODEX_FILTER_MAXLEN", "many", "warning: CODEX_FILTER_MAXLEN: invalid number of characters many; using 200"),
        ("CODEX_FILTER_MAXLEN", "0", "warning: CODEX_FILTER_MAXLEN: invalid number of characters 0; using 200"),
    ],
)
def test_wrong_variables_are_no_end(tmp_path: Path, name: str, value: str, complaint: str) -> None:
    said = events(tmp_path, TURN, env={name: value})
    assert (said.code, untimed(said.out)) == (0, ["[TURN>] model-turn begin"])
    assert said.err.startswith(complaint)


def test_wrong_options_are_usage_errors(tmp_path: Path) -> None:
    assert events(tmp_path, TURN, "--level", "loud").code == 129
    assert events(tmp_path, TURN, "--maxlen", "0").code == 129


def test_strict_tells_how_the_last_turn_ended(tmp_path: Path) -> None:
    streams = {b"": 1, THREAD + TURN: 1, THREAD + FAILED: 1, FAILED + COMPLETED: 0}
    assert {stream: events(tmp_path, stream, "--strict").code for stream in streams} == streams


def test_a_line_beyond_all_limits_costs_no_more_than_the_limit(tmp_path: Path) -> None:
    huge = b'{"type":"item.completed","item":{"text":"' + b"x" * (40 << 20) + b'"}}\n'
    limit = "import resource as r; r.setrlimit(r.RLIMIT_AS, (300 << 20, 300 << 20));"
    code = f"{limit} from gitprun.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "events", "--maxlen", "9"],
        cwd=tmp_path,
        env=program_environment(),
        input=huge + TURN,
        capture_output=True,
        check=False,
    )
    assert untimed(done.stdout.decode()) == ['[OUT] {"type":"…', "[TURN>] model-turn begin"], done.stderr
    assert done.returncode == 0


def test_a_line_is_shown_before_the_next_one_comes(tmp_path: Path) -> None:
    program = start_program(
        COMMAND, cwd=tmp_path, env=program_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert program.stdin is not None
    assert program.stdout is not None
    with program:
        for line in (THREAD, TURN):
            program.stdin.write(line)
            program.stdin.flush()
            assert program.stdout.readline().endswith((b"thread=019d99f5\n", b"model-turn begin\n"))
        # Without a line end the last one still counts.
        program.stdin.write(FAILED.rstrip(b"\n"))
        program.stdin.close()
        assert program.stdout.read().endswith(b"[ERR] turn failed: no luck\n")
    assert program.returncode == 0


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        COMMAND, cwd=tmp_path, env=program_environment(), input=TURN * 100, stdout=write, stderr=subprocess.PIPE,
        check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_narrow_character_set_is_no_error(tmp_path: Path) -> None:
    item = b'{"type":"item.completed","item":{"type":"command_execution","command":"ls","exit_code":0}}\n'
    said = events(tmp_path, item, env={"PYTHONIOENCODING": "ascii"})
    assert (said.code, untimed(said.out)) == (0, ["[CMD✓] exit=0 ls"])
