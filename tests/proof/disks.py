"""Full disks: at every write of every operation, then room again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.proof.plans import sh, write_plan
from tests.proof.rows import Row, Size
from tests.support.forker import Forker
from tests.support.repos import Repo, make_repo
from tests.support.small_disk import mounted

DISK = "8m"
# How many bytes are left when an operation begins.
ROOM = {
    "quick": (0, 300_000),
    "ci": (0, 20_000, 60_000, 120_000, 200_000, 300_000, 450_000, 700_000, 1_000_000, 2_000_000),
    "full": tuple(range(0, 2_000_000, 25_000)),
}


def can_mount() -> bool:
    """Tell whether a small file system can be mounted here."""
    if os.geteuid() != 0:
        return False
    probe = Path("/tmp") / f"prun-mount-{os.getpid()}"
    probe.mkdir()
    try:
        with mounted(probe, DISK):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        probe.rmdir()


def _fill(place: Path, room: int) -> Path:
    """Leave so many bytes free."""
    ballast = place / "ballast"
    free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
    with open(ballast, "wb", buffering=0) as target:
        left = free - room
        while left > 0:
            left -= target.write(b"\xff" * min(left, 1 << 16))
    return ballast


def fill_disks(folder: Path, size: Size) -> Row:
    """Let the disk run full at every write of a run, a landing, a removal; then give it room again."""
    faults: list[str] = []
    tries = 0
    folder.mkdir(parents=True, exist_ok=True)
    rooms = ROOM[size]
    with Forker() as forker:
        for room in rooms:
            for operation in ("run", "collect", "merge", "remove", "gc"):
                place = folder / f"disk{tries}"
                place.mkdir()
                tries += 1
                with mounted(place, DISK):
                    before = len(faults)
                    _on_full_disk(place, forker, operation, room, faults)
                    faults[before:] = [f"{operation} with {room} bytes left: {fault}" for fault in faults[before:]]
    return Row(
        trial=f"full disk at {len(rooms)} heights x run, collect, merge, remove, gc (tmpfs of {DISK})",
        must="no false success, ledger readable, resume works after space returns",
        found=f"{tries} tries, {len(faults)} faults",
        faults=tuple(faults),
    )


def _on_full_disk(place: Path, forker: Forker, operation: str, room: int, faults: list[str]) -> None:
    repo = make_repo(place / "user", a_dot_txt="1\n")
    worker = sh('i=0; while [ $i -lt 40 ]; do head -c 3000 /dev/urandom >"f$i" || exit 3; i=$((i+1)); done')
    plan = write_plan(place, {"u": worker})
    if operation != "run":
        said = forker.run(repo.path, "run", str(plan))
        if said.code != 0:
            faults.append(f"there was room for the run, yet: {said.err[-200:]}")
            return
    if operation == "collect":
        (place / "user.prun" / "r1" / "u" / "late.bin").write_bytes(os.urandom(100_000))
    ballast = _fill(place, room)
    words = {"run": ("run", str(plan)), "merge": ("merge",), "gc": ("gc",)}.get(operation, (operation, "u"))
    said = forker.run(repo.path, *words)
    if said.code in (70, 129) or said.code < 0 or "Traceback" in said.err:
        faults.append(f"exit code {said.code}: {said.err[-300:]}")
    if said.code == 0:
        _require_done(repo, place, operation, faults)
    status = forker.run(repo.path, "status")
    if status.code not in (0, 1):
        faults.append(f"status: exit code {status.code}: {status.err[-200:]}")
    ballast.unlink()
    again = {"run": ("run", "--resume") if "r1" in status.out else words}.get(operation, words)
    said = forker.run(repo.path, *again)
    if operation == "run" and said.code != 0:
        # What was lost with the disk is said, and a run anew works.
        said = forker.run(repo.path, "run", str(plan))
    if operation == "merge" and said.code not in (0, 1):
        faults.append(f"after space returned: {' '.join(again)}: exit code {said.code}: {said.err[-300:]}")
    _require_done(repo, place, operation, faults)
    torn = repo.ledger.read().unreadable
    if len(torn) > 1:
        faults.append(f"{len(torn)} lines of the ledger cannot be read")


def _require_done(repo: Repo, place: Path, operation: str, faults: list[str]) -> None:
    """Look whether what was called done is done."""
    wanted = {f"f{number}" for number in range(40)}
    if operation == "merge":
        names = set(repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines())
        if not wanted <= names or repo.git("status", "--porcelain", "--untracked-files=no"):
            faults.append("said to be landed, and is not")
    elif operation == "remove":
        if (place / "user.prun" / "r1" / "u").exists():
            faults.append("said to be removed, and is there")
    else:
        units = [unit for run in repo.ledger.read().history.runs.values() for unit in run.units.values()]
        ready = [unit for unit in units if unit.state == "ready"]
        if not ready:
            faults.append(f"said to be ready, and is {[unit.state for unit in units]}")
        for unit in ready[-1:]:
            names = set(repo.git("ls-tree", "-r", "--name-only", f"refs/prun/{unit.run}/{unit.id}").splitlines())
            if not wanted <= names:
                faults.append("said to be ready, and files are missing")
    said = repo.git("fsck", "--connectivity-only", "--no-dangling", ok=(0, 1, 2, 3))
    if "missing" in said or "broken" in said:
        faults.append(f"fsck: {said[:200]}")
