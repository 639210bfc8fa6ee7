"""Which trials there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.proof.back import back
from tests.proof.crowds import crowd
from tests.proof.disks import can_mount, fill_disks
from tests.proof.kills import kill_coordinators, kill_steps
from tests.proof.matrix import try_vectors
from tests.proof.rows import Row, Size, Trial
from tests.proof.signals import signals
from tests.proof.things import things
from tests.proof.trust import trust
from tests.proof.verdicts import verdicts
from tests.proof.workers import clocks, floods, orphans
from tests.support.cli import ROOT, program_environment

OBJECTS = ("tests/capture/test_import_objects.py",)
FIELD = ("tests/field",)


def disks(folder: Path, size: Size) -> Row:
    """Fill disks where one can be mounted; where not, that is no pass."""
    if can_mount():
        return fill_disks(folder, size)
    why = "no file system can be mounted here (needs root)"
    return Row(trial="full disk at every write", must="no false success", found=why, faults=(why,))


def objects(folder: Path, size: Size) -> Row:
    """Run the tests of bad objects and special files."""
    return _tests(
        "bad objects, special files, 5,000-deep tree, 5 GiB zero blob, fifo as .gitignore",
        "rejected or imported whole, no hang, memory under 300 MB, the repository byte-identical on rejection",
        OBJECTS,
    )


def field(folder: Path, size: Size) -> Row:
    """Run the tests of what people met."""
    return _tests("situations people met", "the behaviour that is right", FIELD)


def _tests(trial: str, must: str, paths: tuple[str, ...]) -> Row:
    argv = [sys.executable, "-m", "pytest", "--kill", "--slow", "-p", "no:cacheprovider", *paths]
    done = subprocess.run(argv, cwd=ROOT, env=program_environment(), capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-200:]
    counts = re.sub(r" in [0-9.]+s.*|=+ ?| ?=+", "", last)
    faults = tuple(row for row in done.stdout.splitlines() if row.startswith(("FAILED", "ERROR")))
    return Row(trial=trial, must=must, found=counts, faults=faults or (() if done.returncode == 0 else (last,)))


TRIALS: dict[str, Trial] = {
    "vectors": try_vectors,
    "objects": objects,
    "coordinator": kill_coordinators,
    "steps": kill_steps,
    "disks": disks,
    "crowd": crowd,
    "orphans": orphans,
    "floods": floods,
    "clocks": clocks,
    "signals": signals,
    "verdicts": verdicts,
    "trust": trust,
    "back": back,
    "things": things,
    "field": field,
}
