"""Call ``git prun`` inside the test's own process: the same code, without the start of an interpreter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gitprun.cli.main import run_cli
from tests.support.cli import Said


def inside(capsys: pytest.CaptureFixture[str], cwd: Path, *args: str) -> Said:
    """Run one command line as if started in ``cwd``."""
    capsys.readouterr()
    code = run_cli(["-C", str(cwd), *args])
    out, err = capsys.readouterr()
    return Said(code, out, err)


def timeless(text: str) -> str:
    """Put plain words in the place of what no two runs share: clock times, ages, commits."""
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", text)
    text = re.sub(r"\b\d+(\.\d)? ?s\b", "AGE", text)
    return re.sub(r"\b[0-9a-f]{10}\b", "COMMIT", text)
