"""Crossings that are killed at any moment, and objects so large or so many that they would hang or fill a machine."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitprun.capture.import_objects import Imported, ImportRequest, import_objects
from gitprun.capture.quarantine import list_quarantine, sweep_quarantine, unfinished_rooms
from gitprun.model.names import Oid
from tests.support.processes import start_program
from tests.support.raw_objects import delta_pack
from tests.support.repos import Repo
from tests.support.workshop import fingerprint
from tests.support.yard import FILE, Yard, make_yard

ROOT = Path(__file__).resolve().parents[2]
# Bring a commit over and pin it, or measure what its git programs took.
CHILD = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from gitprun.capture.import_objects import ImportRequest, import_objects
from gitprun.git.repo import find_repository
repository = find_repository(Path(sys.argv[2]))
print("ready", flush=True)
request = ImportRequest(run="r1", unit="u", objects=Path(sys.argv[3]), tips={"head": sys.argv[4]},
                        base=sys.argv[5], alternates=sys.argv[6].encode())
found = import_objects(repository, request)
if found.taken:
    repository.git.run("update-ref", "refs/prun/r1/u", sys.argv[4], "0" * 40)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(*(row.reason for row in found.rejected))
"""
TRIALS = 20
MOST_MEMORY = 300_000


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """Make a repository and an empty folder of objects."""
    return make_yard(tmp_path)


def start(yard: Yard, tip: Oid, repo: Path) -> subprocess.Popen[bytes]:
    objects = str(yard.store.path)
    words = [str(ROOT), str(repo), objects, tip, yard.base, yard.alternates.decode()]
    child = start_program([sys.executable, "-c", CHILD, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


def measure(yard: Yard, tip: Oid) -> tuple[float, int, int, str]:
    """Bring a commit over in a process of its own; give seconds, KiB of its programs and of itself, and the reason."""
    begin = time.monotonic()
    out, err = start(yard, tip, yard.repo.path).communicate(timeout=600)
    assert err == b""
    memory, reason = out.decode().splitlines()
    return time.monotonic() - begin, *map(int, memory.split()), reason  # type: ignore[return-value]


@pytest.mark.kill
def test_killed_at_any_moment(yard: Yard) -> None:
    rows = [(FILE, b"f%02d" % n, yard.store.blob(random.Random(n).randbytes(300_000))) for n in range(20)]
    tip = yard.with_entry(*rows)
    yard.repo.git("gc", "-q")
    copy = yard.repo.path.parent / "copy"
    shutil.copytree(yard.repo.path, copy)
    begin = time.monotonic()
    start(yard, tip, copy).communicate(timeout=60)
    whole = time.monotonic() - begin
    outcomes = {"pinned": 0, "nothing": 0, "left over": 0}
    for trial in range(TRIALS):
        shutil.rmtree(copy)
        shutil.copytree(yard.repo.path, copy)
        repo = Repo(copy)
        child = start(yard, tip, copy)
        time.sleep(whole * trial / TRIALS)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=60)
        refs = repo.git("for-each-ref", "--format=%(refname)", "refs/prun")
        assert repo.git("fsck", "--strict", "--no-dangling") == ""
        outcomes["pinned" if refs else "nothing"] += 1
        # The programs it had started may still be at work for a moment, and write into what is being removed.
        latest = time.monotonic() + 60
        while unfinished_rooms(repo.repository):
            outcomes["left over"] += len(sweep_quarantine(repo.repository))
            assert time.monotonic() < latest
        counted = dict(row.split(": ") for row in repo.git("count-objects", "-v").splitlines())
        assert counted["garbage"] == "0"
        found = import_objects(
            repo.repository,
            ImportRequest(
                run="r1",
                unit="u",
                objects=yard.store.path,
                tips={"head": tip},
                base=yard.base,
                alternates=yard.alternates,
            ),
        )
        assert found == Imported({"head": tip})
        repo.git("update-ref", "refs/heads/taken", tip)
        assert repo.git("fsck", "--strict") == ""
        # A git that outlived its coordinator may have written once more; the next sweep takes that.
        sweep_quarantine(repo.repository)
        assert list_quarantine(repo.repository) == ()
    # How many depends on what else the machine does; without some the trial would say nothing.
    assert outcomes["nothing"] > 3
    assert outcomes["left over"] > 1


@pytest.mark.kill
def test_five_gibibytes_of_zeros(yard: Yard) -> None:
    tip = yard.with_entry((FILE, b"zeros", yard.store.zeros(5 << 30)))
    before = fingerprint(yard.repo.path, without=(".git/prun",))
    seconds, programs, ours, reason = measure(yard, tip)
    assert reason == "an object of 5368709120 bytes unpacked, more than the 2147483648 allowed"
    assert (programs < MOST_MEMORY, ours < MOST_MEMORY, seconds < 200) == (True, True, True), (seconds, programs, ours)
    assert fingerprint(yard.repo.path, without=(".git/prun",)) == before


@pytest.mark.kill
def test_a_gibibyte_of_zeros_is_taken_in_pieces(yard: Yard) -> None:
    tip = yard.with_entry((FILE, b"zeros", yard.store.zeros(1 << 30)))
    seconds, programs, ours, reason = measure(yard, tip)
    assert (reason, programs < MOST_MEMORY, ours < MOST_MEMORY) == ("", True, True), (seconds, programs, ours)
    assert yard.repo.git("cat-file", "-s", f"{tip}:zeros") == str(1 << 30)


@pytest.mark.kill
def test_a_gibibyte_made_of_copies(yard: Yard) -> None:
    """A few bytes in a pack say: take that block ten thousand times."""
    pack, oid = delta_pack(b"x" * 65_536, 1 << 30)
    (yard.store.path / "pack" / "pack-1.pack").write_bytes(pack)
    env = {"GIT_OBJECT_DIRECTORY": str(yard.store.path), "GIT_ALTERNATE_OBJECT_DIRECTORIES": ""}
    yard.repo.git("index-pack", str(yard.store.path / "pack" / "pack-1.pack"), env=env)
    tip = yard.with_entry((FILE, b"copies", oid))
    before = fingerprint(yard.repo.path, without=(".git/prun",))
    _, programs, ours, reason = measure(yard, tip)
    assert "would need more than 256 MiB of memory" in reason
    assert (programs < MOST_MEMORY, ours < MOST_MEMORY) == (True, True), (programs, ours)
    assert fingerprint(yard.repo.path, without=(".git/prun",)) == before


@pytest.mark.kill
def test_folders_a_hundred_thousand_deep(yard: Yard) -> None:
    tree = yard.store.tree((FILE, b"f", yard.store.blob()))
    for _ in range(100_000):
        tree = yard.store.tree((0o40000, b"d", tree))
    tip = yard.store.commit(tree, yard.base)
    before = fingerprint(yard.repo.path, without=(".git/prun",))
    _, programs, ours, reason = measure(yard, tip)
    assert (reason != "", programs < MOST_MEMORY, ours < MOST_MEMORY) == (True, True, True), (programs, ours)
    assert fingerprint(yard.repo.path, without=(".git/prun",)) == before


@pytest.mark.kill
def test_a_hundred_thousand_loose_objects(yard: Yard) -> None:
    rows = [(FILE, b"f%06d" % n, yard.store.blob(b"%d\n" % n)) for n in range(100_000)]
    tip = yard.with_entry(*rows)
    seconds, programs, ours, reason = measure(yard, tip)
    assert (reason, programs < MOST_MEMORY, ours < MOST_MEMORY) == ("", True, True), (seconds, programs, ours)
    assert yard.repo.git("ls-tree", tip).count("\n") == 100_001
