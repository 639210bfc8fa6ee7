"""Call ``git prun`` as a user does: a program of its own, its output and exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes import start_program

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Read stdout as one JSON document; it must be what the schema that it names says."""
        from tests.support.schemas import check

        row = json.loads(self.out)
        check(row)
        return row


def program_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the environment in which a child finds the package under test."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **(extra or {})}


def prun(cwd: Path, *args: str, env: Mapping[str, str] | None = None, timeout: float = 120.0) -> Said:
    """Run ``git prun ARGS`` in a folder and wait for its end."""
    done = subprocess.run(
        [sys.executable, "-m", "gitprun", *args],
        cwd=cwd,
        env=program_environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Said(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def start_prun(cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start ``git prun ARGS`` and let it run."""
    return start_program(
        [sys.executable, "-m", "gitprun", *args],
        cwd=cwd,
        env=program_environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
