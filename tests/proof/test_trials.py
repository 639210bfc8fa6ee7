"""Every trial with the counts that must hold; the table itself is printed by ``python -m tests.proof``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.disks import can_mount
from tests.proof.rows import Trial
from tests.proof.trials import TRIALS

# What these run is part of the suite anyway.
APART = ("objects", "field")


@pytest.mark.kill
@pytest.mark.parametrize("name", [name for name in TRIALS if name not in APART])
def test_trial_holds(name: str, tmp_path: Path) -> None:
    if name == "disks" and not can_mount():
        pytest.skip("no file system can be mounted here")
    trial: Trial = TRIALS[name]
    row = trial(tmp_path / "trial", "ci")
    assert row.faults == (), row.found
