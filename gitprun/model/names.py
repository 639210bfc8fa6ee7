"""Names of units, runs, commits and refs: checked once here, trusted everywhere else."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import NewType

from gitprun.model.errors import PlanError, PrunError

UnitId = NewType("UnitId", str)
RunId = NewType("RunId", str)
Oid = NewType("Oid", str)

# What git writes for no object.
ZERO = Oid("0" * 40)
PRUN_REFS = "refs/prun/"
TRASH_REFS = "refs/prun/trash/"
PRUN_BRANCHES = "prun/"

_UNIT = re.compile(r"[A-Za-z0-9_-]+")
# Without a zero at its front, so that a run has one name only.
_RUN = re.compile(r"r[1-9][0-9]*")
_OID = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# A ref is a file: 255 bytes with the names of run and attempt, and ``.lock`` behind them.
_MAX_ID = 100


def parse_unit_id(text: str, source: str = "the command line") -> UnitId:
    """Check the id of a unit.

    Raises PlanError unless it is 1 to 100 characters of ``A-Z a-z 0-9 _ -`` not starting with ``-``.
    """
    if not _UNIT.fullmatch(text) or text.startswith("-") or len(text) > _MAX_ID:
        shown = text if len(text) <= _MAX_ID else text[:40] + "..."
        raise PlanError(
            f"{source}: unit id {shown!r} is not usable",
            "use letters, digits, _ and - only (at most 100, not starting with -)",
        )
    if text.lower() in _RESERVED:
        raise PlanError(f"{source}: unit id {text!r} is reserved on Windows", "choose another id")
    return UnitId(text)


# Windows keeps these file names for devices; a checkout shared with one would break there.
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}


def is_run_id(text: str) -> bool:
    """Check whether a word has the shape of a run id (``r`` and a number)."""
    return bool(_RUN.fullmatch(text))


def parse_oid(text: str) -> Oid:
    """Check a full object id in hexadecimal; raises PrunError for one of SHA-256, ValueError for anything else."""
    if _SHA256.fullmatch(text):
        raise PrunError("this repository names its objects by SHA-256", "git prun works where they are named by SHA-1")
    if not _OID.fullmatch(text):
        raise ValueError(f"not an object id: {text!r}")
    return Oid(text)


def short(oid: str) -> str:
    """Cut an object id to what people read."""
    # Ten digits are unique in all but the very largest repositories, and can be pasted.
    return oid[:10]


def run_id(number: int) -> RunId:
    """Name the n-th run of a repository."""
    return RunId(f"r{number}")


def base_ref(run: RunId) -> str:
    """Name the ref that pins the base commit of a run."""
    return f"{PRUN_REFS}base/{run}"


def base_tips_ref(run: str) -> str:
    """Name the ref that keeps alive what the clones of a run started with beside its base."""
    return f"{PRUN_REFS}base-tips/{run}"


def unit_ref(run: RunId, unit: UnitId) -> str:
    """Name the ref that pins the captured work of a unit."""
    return f"{PRUN_REFS}{run}/{unit}"


def kept_ref(run: RunId, unit: UnitId, channel: str) -> str:
    """Name a ref that pins what a unit held beside its captured commit (own commits, stash, leftovers)."""
    return f"{PRUN_REFS}kept/{run}/{unit}/{channel}"


def trash_ref(day: str, ref: str, oid: str) -> str:
    """Name the ref that keeps for a while what another one held; ``day`` is ``YYYY-MM-DD``, in UTC."""
    # With the commit in it, since several tips of one ref may go on one day.
    return f"{TRASH_REFS}{day}/{ref.removeprefix('refs/')}/{oid[:12]}"


def unit_branch(run: RunId, unit: UnitId) -> str:
    """Name a unit's work in short, as git finds it below ``refs/``; in a clone of its own it is a branch."""
    return f"{PRUN_BRANCHES}{run}/{unit}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find the known word a mistyped one most likely meant."""
    # Sorted, so that the same slip is always given the same hint.
    found = difflib.get_close_matches(word.lower(), sorted(known), n=1, cutoff=0.6)
    return found[0] if found else None
