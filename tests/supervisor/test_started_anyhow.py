"""However the tests are started, the programs they start hear their signals, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.supervisor.process import probe_identity
from tests.support.cli import ROOT
from tests.support.processes import HEARD, end_started, start_program

SHOW = "import signal; print([n for n in {numbers} if signal.getsignal(n) == signal.SIG_IGN])"


@pytest.mark.parametrize("options", [{}, {"start_new_session": True}])
def test_a_program_hears_every_signal(options: dict[str, bool]) -> None:
    show = SHOW.format(numbers=[int(number) for number in HEARD])
    program = start_program([sys.executable, "-c", show], stdout=subprocess.PIPE, **options)
    assert program.communicate(timeout=60)[0] == b"[]\n"


def test_it_does_so_where_all_are_ignored(tmp_path: Path) -> None:
    """As under nohup, in the background of a script, without a terminal."""
    test = f"{Path(__file__).relative_to(ROOT)}::{test_a_program_hears_every_signal.__name__}"
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/t", test]
    ignored = "".join(f" {number.name.removeprefix('SIG')}" for number in HEARD)
    done = subprocess.run(
        ["sh", "-c", f'trap "" {ignored}; exec "$@"', "sh", *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
    assert b"2 passed" in done.stdout or b".." in done.stdout


def test_what_a_test_leaves_running_is_ended(tmp_path: Path) -> None:
    program = start_program(["sleep", "1000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = program.pid
    assert probe_identity(pid) is not None
    end_started()
    assert program.returncode == -signal.SIGKILL
    for pipe in (program.stdin, program.stdout):
        assert pipe is not None
        assert pipe.closed
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
