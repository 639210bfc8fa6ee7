"""Folders for temporary files, made and dropped by many units at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitprun.workspaces.scratch import drop_temporary, make_temporary


def test_no_unit_takes_away_the_folder_another_is_about_to_use(tmp_path: Path) -> None:
    def come_and_go(name: str) -> None:
        place = tmp_path / "run" / ".tmp" / name
        for _ in range(500):
            make_temporary(place)
            drop_temporary(place)

    with ThreadPoolExecutor(3) as threads:
        for _ in threads.map(come_and_go, ("a", "b", "c")):
            pass
    assert list((tmp_path / "run").iterdir()) == []


def test_a_folder_that_is_there_is_not_taken_over(tmp_path: Path) -> None:
    make_temporary(tmp_path / ".tmp" / "a")
    with pytest.raises(FileExistsError):
        make_temporary(tmp_path / ".tmp" / "a")
