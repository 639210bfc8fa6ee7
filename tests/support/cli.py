"""Call ``git prun`` as a user does: a program of its own, its output and exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.processes import start_program

if TYPE_CHECKING:
    from tests.support.forker import Forker

ROOT = Path(__file__).resolve().parents[2]
# Variables that an interpreter or the C library asks for only once, before there is a program; but not where compiled
# modules lie, which changes nothing.
AT_START = re.compile(r"LANG|LC_|LD_|MALLOC_|PYTHON(?!DONTWRITEBYTECODE|PYCACHEPREFIX)")
_usual = {name: value for name, value in os.environ.items() if AT_START.match(name)}
_usual |= {"LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}
# Loaded processes with nothing to do: each forks one command at a time, and tests may want two at once.
_idle: list[Forker] = []


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


def git(cwd: Path, *words: str) -> Said:
    """Run git with the package under test in reach of what it starts: hooks, drivers."""
    done = subprocess.run(
        ["git", *words], cwd=cwd, env=program_environment(), capture_output=True, text=True, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)


def prun(cwd: Path, *args: str, env: Mapping[str, str] | None = None, timeout: float = 120.0) -> Said:
    """Run ``git prun ARGS`` in a folder and wait for its end; its process begins with everything loaded."""
    from tests.support.forker import Forker

    whole = program_environment(env)
    if {name: value for name, value in whole.items() if AT_START.match(name)} != _usual:
        return start_and_wait(cwd, *args, env=env, timeout=timeout)
    try:
        forker = _idle.pop()
    except IndexError:
        forker = Forker()
    try:
        said = forker.call(cwd, args, whole, timeout)
    except BaseException:
        forker.close()
        raise
    _idle.append(forker)
    return said


def end_forkers() -> None:
    """Let the loaded processes go."""
    while _idle:
        _idle.pop().close()


def start_and_wait(cwd: Path, *args: str, env: Mapping[str, str] | None = None, timeout: float = 120.0) -> Said:
    """Run ``git prun ARGS`` in a folder as a shell does, with an interpreter of its own, and wait for its end."""
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
