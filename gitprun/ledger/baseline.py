"""The baseline: the commit a repository was at when work with prun began, pinned until it is set anew."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gitprun.git.refs import move_ref, open_repository, read_ref
from gitprun.git.repo import Repository, resolve_commit
from gitprun.model.names import PRUN_REFS, ZERO, Oid
from gitprun.system.files import write_whole

BASELINE: Final = f"{PRUN_REFS}baseline"
FILE = "baseline.sha"


def pin_baseline(repository: Repository, revision: str | None) -> tuple[Oid, bool]:
    """Pin the baseline at ``revision``, or at HEAD where there is none yet; returns it, and whether it was moved."""
    repo = open_repository(repository.common)
    before = read_ref(repo, BASELINE)
    if before is not None and revision is None:
        return before, False
    commit = resolve_commit(repository.git, revision or "HEAD")
    if commit == before:
        return commit, False
    # By compare-and-swap: of two that set it at once, one hears that it came too late.
    move_ref(repo, BASELINE, commit, before or ZERO, "prun: baseline")
    return commit, True


def write_baseline(folder: Path, commit: Oid) -> bool:
    """Write ``baseline.sha`` where scripts look for it; returns whether it said something else before."""
    path, text = folder / FILE, f"{commit}\n".encode()
    try:
        if path.read_bytes() == text:
            return False
    except OSError:
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, text, mode=0o644)
    return True
