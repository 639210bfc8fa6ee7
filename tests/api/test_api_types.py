"""The types of the interface are those a program that uses it can be checked with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_sample_passes_strictly(tmp_path: Path) -> None:
    # From a folder of its own: none of the project's settings hold there.
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    sample = tmp_path / "sample.py"
    sample.write_bytes((ROOT / "tests" / "api" / "sample.py").read_bytes())
    words = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(sample)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=_environment())
    assert (done.returncode, done.stdout) == (0, "Success: no issues found in 1 source file\n"), done.stderr


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "MYPYPATH": str(ROOT)}


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "gitprun" / "py.typed").is_file()
