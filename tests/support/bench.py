"""A folder to run small shell programs in, under a warden of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitprun.model.units import Exit
from gitprun.supervisor import process_tree
from gitprun.supervisor.process import ProcessLimits, ProcessSpec, run, worker_environment

LIMITS, CALLING = ("timeout", "grace", "output_max"), ("stop", "record", "started")


@dataclass
class Bench:
    """Runs programs with little patience, unless told otherwise; ``record`` is a folder for a warden's files."""

    path: Path
    record: Path = field(init=False)

    def __post_init__(self) -> None:
        self.record = self.path / "record"
        self.record.mkdir()

    def sh(self, script: str, **rest: Any) -> Exit:
        """Run a shell script."""
        return self.run(["sh", "-c", script], **rest)

    def run(self, argv: list[str], *, env: Mapping[str, str] | None = None, **rest: Any) -> Exit:
        """Run a program."""
        limits = {"timeout": 60.0, "grace": 0.2} | {name: rest.pop(name) for name in LIMITS if name in rest}
        calling = {name: rest.pop(name) for name in CALLING if name in rest}
        files: dict[str, Any] = {"stdout": self.path / "out", **rest}
        program = ProcessSpec(argv=argv, cwd=self.path, env=worker_environment(env or {}), **files)
        return run(program, ProcessLimits(**limits), **calling)

    @property
    def out(self) -> bytes:
        """Read what was printed."""
        return (self.path / "out").read_bytes()

    def pids(self) -> list[int]:
        """Read the pids that programs wrote down."""
        return [int(line) for line in (self.path / "pids").read_text().split()]

    def fifo(self, name: str) -> Path:
        """Make a fifo."""
        os.mkfifo(self.path / name)
        return self.path / name

    def inhabitants(self) -> list[str]:
        """Name the living processes that work in this folder (Linux)."""
        found = set()
        # One look misses what starts the next one and ends at once.
        for pid in (pid for _ in range(10) for pid in process_tree.list_processes() or ()):
            try:
                if os.readlink(f"/proc/{pid}/cwd") == str(self.path) and process_tree.started_at(pid):
                    found.add(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except OSError:
                continue
        return sorted(found)
