"""What a dispatcher leaves of itself, when it is killed at an awkward moment."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from gitprun.registry.state_folder import read_state_dir
from gitprun.supervisor.process import SPEC, SUPERVISOR, ProcessIdentity, probe_identity
from tests.support.processes import start_program

GONE = ProcessIdentity(4_194_303, "1", "a boot of long ago")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there is it found by its words")
@pytest.mark.parametrize("ended", [False, True])
def test_a_supervisor_nobody_wrote_down_is_found(tmp_path: Path, ended: bool) -> None:
    folder = tmp_path / "dispatch-u-1"
    folder.mkdir()
    (folder / "dispatch.json").write_text(json.dumps({"unit": "u", "dispatcher": asdict(GONE)}))
    if ended:
        (folder / "ending.json").write_text("{}")
    words = ["sh", "-c", "sleep 1000; :", SUPERVISOR, str(folder / SPEC)]
    process = start_program(words)
    # A program's words can be read a moment after it was started.
    while not Path("/proc", str(process.pid), "cmdline").read_bytes():
        assert process.poll() is None
    found = read_state_dir(folder)
    # With its ending there is nothing left to wait for, whoever still has its name.
    assert found.supervisor == (None if ended else probe_identity(process.pid))
    assert found.alive is not ended
