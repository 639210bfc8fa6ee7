"""kill -9 at any moment, then the next command: nothing lost, nothing done twice, the user's edits untouched."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.proof.plans import sh, write_plan
from tests.proof.rows import Row, Size
from tests.support.forker import Forker
from tests.support.repos import Repo, make_repo

UNITS = tuple(f"u{number}" for number in range(8))
# Leaves a line when it begins and one when it is through.
WORKER = """
echo begun >>"$TRACES/$PRUN_UNIT"
i=0; while [ $i -lt 8 ]; do echo $i >"$PRUN_UNIT-$i.txt"; i=$((i+1)); done
git -c user.name=W -c user.email=w@example.test commit -q --allow-empty -m own
echo through >>"$TRACES/$PRUN_UNIT"
"""
FILES = 8
COORDINATOR_KILLS = {"quick": 6, "ci": 300, "full": 1000}
STEP_KILLS = {"quick": 3, "ci": 50, "full": 200}
# So long a command is waited for before its moment counts as missed, in seconds.
PATIENCE = 60.0


def _plan(folder: Path, units: int) -> Path:
    return write_plan(folder, {name: sh(WORKER) for name in UNITS[:units]}, "run.jobs = 4")


def _ground(folder: Path) -> Repo:
    """Make the user's repository, with edits of his own in it."""
    repo = make_repo(folder / "user", a_dot_txt="1\n", b_dot_txt="2\n")
    repo.write("b.txt", "edited by hand\n")
    repo.write("notes.txt", "not in git\n")
    return repo


def _own_edits(repo: Repo, faults: list[str], trial: str) -> None:
    if repo.read("b.txt") != "edited by hand\n" or repo.read("notes.txt") != "not in git\n":
        faults.append(f"{trial}: an edit of the user's is gone")


def kill_coordinators(folder: Path, size: Size) -> Row:
    """Kill the coordinator of a run again and again until the run is through; so many runs as the kills need."""
    chance = random.Random(20260105)
    faults: list[str] = []
    kills = runs = 0
    with Forker() as forker:
        span = _measure(folder / "first", forker)
        while kills < COORDINATOR_KILLS[size]:
            runs += 1
            place = folder / f"run{runs}"
            kills += _one_run(place, forker, chance, span, faults)
            shutil.rmtree(place, ignore_errors=True)
    return Row(
        trial=f"kill -9 of the coordinator of a run of {len(UNITS)} units, then run --resume",
        must="0 units lost, 0 run twice to completion, 0 captured twice",
        found=f"{kills} kills in {runs} runs, {len(faults)} faults",
        faults=tuple(faults),
    )


def _measure(folder: Path, forker: Forker) -> float:
    """See once how long an undisturbed run takes, in seconds."""
    folder.mkdir(parents=True)
    repo, traces = _ground(folder), folder / "traces"
    traces.mkdir()
    began = time.monotonic()
    said = forker.run(
        repo.path,
        "run",
        str(_plan(folder, 8)),
        env={"TRACES": str(traces)},
    )
    assert said.code == 0, said.err
    return time.monotonic() - began


def _one_run(folder: Path, forker: Forker, chance: random.Random, span: float, faults: list[str]) -> int:
    """Bring one run to its end over as many killed coordinators as luck wants; gives their number."""
    folder.mkdir(parents=True)
    repo, traces = _ground(folder), folder / "traces"
    traces.mkdir()
    env, plan, kills = (
        {"TRACES": str(traces)},
        _plan(folder, 8),
        0,
    )
    while True:
        begun = repo.git("for-each-ref", "refs/prun/base") != "" and "run.started" in _ledger(repo)
        child = forker.start(repo.path, "run", *(("--resume",) if begun else (str(plan),)), env=env)
        # Every eighth is let through, so that a run ends after some kills.
        if kills >= 12 or chance.random() < 0.125:
            said = child.wait()
            if begun or said.code == 0:
                break
            faults.append(f"a run that nobody killed: exit code {said.code}: {said.err[-300:]}")
            return kills
        time.sleep(chance.random() * span * 0.6)
        child.kill()
        # One that was through before it could be killed is no kill.
        kills += child.wait().code == -signal.SIGKILL
    if said.code != 0:
        faults.append(f"after {kills} kills: run --resume: exit code {said.code}: {said.err[-300:]}")
    _judge_run(repo, traces, faults)
    return kills


def _ledger(repo: Repo) -> str:
    path = repo.path / ".git" / "prun" / "ledger.jsonl"
    return path.read_text() if path.exists() else ""


def _judge_run(repo: Repo, traces: Path, faults: list[str]) -> None:
    """Look at what a run left: every unit once, whole, pinned, and nothing beside it."""
    reading = repo.ledger.read()
    run = reading.history.last
    assert run is not None
    captured = Counter(event.unit for event in reading.events if event.kind == "unit.captured")
    for name in UNITS:
        unit = run.units.get(name)
        said = (traces / name).read_text().splitlines() if (traces / name).exists() else []
        if unit is None or unit.state != "ready":
            faults.append(f"{name} is {unit.state if unit else 'unknown'}: {unit and unit.as_json().get('reason')}")
            continue
        if said.count("through") != 1:
            faults.append(f"{name} was run to completion {said.count('through')} times")
        if captured[name] != 1:
            faults.append(f"{name} was captured {captured[name]} times")
        files = repo.files(f"refs/prun/{run.id}/{name}")
        if {f"{name}-{number}.txt" for number in range(FILES)} - set(files):
            faults.append(f"{name} lost files")
    _own_edits(repo, faults, "run")
    if reading.unreadable:
        faults.append(f"{len(reading.unreadable)} lines of the ledger cannot be read")
    said_fsck = repo.git("fsck", "--connectivity-only", "--no-dangling", ok=(0, 1, 2, 3))
    if "missing" in said_fsck or "broken" in said_fsck:
        faults.append(f"fsck: {said_fsck[:200]}")


class Station:
    """A repository with units that are ready, made a few dozen at a time; each trial takes its own."""

    def __init__(self, folder: Path, forker: Forker) -> None:
        self.folder, self.forker = folder, forker
        self._made = 0
        self._left: list[str] = []
        self.repo = Repo(folder)

    def take(self, count: int) -> tuple[Repo, list[str]]:
        """Give the repository and so many units nobody has touched."""
        if len(self._left) < count:
            self._made += 1
            place = self.folder / f"station{self._made}"
            place.mkdir(parents=True)
            self.repo, traces = _ground(place), place / "traces"
            traces.mkdir()
            self._left = [f"s{number}" for number in range(26)]
            plan = write_plan(place, {name: sh(WORKER) for name in self._left}, "run.jobs = 4")
            said = self.forker.run(self.repo.path, "run", str(plan), env={"TRACES": str(traces)})
            assert said.code == 0, said.err
        taken, self._left = self._left[:count], self._left[count:]
        return self.repo, taken


def kill_steps(folder: Path, size: Size) -> Row:
    """Kill inside capture, import, landing, removal and gc, each so many times at moments of its own."""
    chance = random.Random(20260106)
    faults: list[str] = []
    counts: Counter[str] = Counter()
    with Forker() as forker:
        for name, step in STEPS.items():
            station = Station(folder / name, forker)
            while counts[name] < STEP_KILLS[size]:
                place = folder / f"{name}{counts[name]}"
                place.mkdir(parents=True)
                before = len(faults)
                step(place, station, chance, faults)
                faults[before:] = [f"{name}: {fault}" for fault in faults[before:]]
                counts[name] += 1
                shutil.rmtree(place, ignore_errors=True)
    return Row(
        trial="kill -9 in capture, import, landing, removal, gc; then the next command",
        must="recovered by the next command, user edits untouched",
        found=", ".join(f"{count} in {name}" for name, count in counts.items()) + f", {len(faults)} faults",
        faults=tuple(faults),
    )


def _await(look: Callable[[], bool], child_pid: int) -> None:
    """Wait for a moment, or for the end of who should bring it about."""
    until = time.monotonic() + PATIENCE
    while not look() and time.monotonic() < until and Path(f"/proc/{child_pid}/stat").exists():
        time.sleep(0.0005)


def _one_unit(folder: Path) -> tuple[Repo, Path, dict[str, str]]:
    repo, traces = _ground(folder), folder / "traces"
    traces.mkdir()
    return repo, _plan(folder, 1), {"TRACES": str(traces)}


def _finish_run(repo: Repo, folder: Path, forker: Forker, env: dict[str, str], faults: list[str]) -> None:
    said = forker.run(repo.path, "run", "--resume", env=env)
    unit = repo.ledger.read().history.last
    state = unit.units["u0"].state if unit and "u0" in unit.units else "unknown"
    if said.code != 0 or state != "ready":
        faults.append(f"run --resume: exit code {said.code}, {state}: {said.err[-300:]}")
        return
    files = set(repo.files("refs/prun/r1/u0"))
    if not {f"u0-{number}.txt" for number in range(FILES)} <= files:
        faults.append("files are lost")
    if (folder / "traces" / "u0").read_text().count("through") != 1:
        faults.append("the worker was run twice")
    own = repo.git("for-each-ref", "--format=%(subject) %(refname)", "refs/prun/kept/r1/u0")
    if "own " not in own:
        faults.append(f"the worker's own commit is lost: {own}")
    _own_edits(repo, faults, "run --resume")
    left = list((repo.path / ".git" / "objects" / "pack").glob("tmp_*"))
    if left:
        faults.append(f"left over in the user's repository: {left[0].name}")


def _in_capture(folder: Path, station: Station, chance: random.Random, faults: list[str]) -> None:
    (repo, plan, env), forker = _one_unit(folder), station.forker
    child = forker.start(repo.path, "run", str(plan), env=env)
    _await(lambda: "unit.exited" in _ledger(repo), child.pid)
    time.sleep(chance.random() * 0.3)
    child.kill()
    child.wait()
    _finish_run(repo, folder, forker, env, faults)


def _in_import(folder: Path, station: Station, chance: random.Random, faults: list[str]) -> None:
    (repo, plan, env), forker = _one_unit(folder), station.forker
    child = forker.start(repo.path, "run", str(plan), env=env)
    quarantine = repo.path / ".git" / "prun" / "quarantine"
    _await(lambda: any(quarantine.rglob("*")) or "unit.captured" in _ledger(repo), child.pid)
    time.sleep(chance.random() * 0.05)
    child.kill()
    child.wait()
    _finish_run(repo, folder, forker, env, faults)


def _in_landing(folder: Path, station: Station, chance: random.Random, faults: list[str]) -> None:
    (repo, names), forker = station.take(2), station.forker
    start = repo.head
    child = forker.start(repo.path, "merge", *names)
    time.sleep(chance.random() * 0.4)
    child.kill()
    child.wait()
    _own_edits(repo, faults, "merge")
    said = forker.run(repo.path, "merge", *names)
    if said.code != 0 and "already" not in said.err + said.out:
        faults.append(f"merge: exit code {said.code}: {said.err[-300:]}")
    missing = {f"{name}-{n}.txt" for name in names for n in range(FILES)} - set(repo.files())
    if missing:
        faults.append(f"{len(missing)} files did not land")
    if repo.status() != [" M b.txt", "?? notes.txt"]:
        faults.append(f"the checkout is not as it was: {repo.status()[:5]}")
    merges = repo.git("log", "--merges", "--format=%s", f"{start}..HEAD").splitlines()
    if len(merges) != 2:
        faults.append(f"{len(merges)} merges for 2 units")
    _own_edits(repo, faults, "merge")


def _in_removal(folder: Path, station: Station, chance: random.Random, faults: list[str]) -> None:
    (repo, (name,)), forker = station.take(1), station.forker
    work = repo.path.parent / "user.prun" / "r1" / name
    (work / "late.txt").write_text(f"written in {name} after the capture\n")
    child = forker.start(repo.path, "remove", name)
    time.sleep(chance.random() * 0.25)
    child.kill()
    child.wait()
    said = forker.run(repo.path, "remove", name)
    if work.exists():
        faults.append(f"remove: exit code {said.code}, and {work.name} is still there: {said.err[-300:]}")
    pinned = repo.git("for-each-ref", "--format=%(refname)", f"refs/prun/kept/r1/{name}").splitlines()
    if not any("late.txt" in repo.files(ref) for ref in pinned):
        faults.append("what was written after the capture is in no commit")
    forker.run(repo.path, "gc")
    faults += [f"left over: {path.name}" for path in repo.path.parent.glob("user.prun/**/.prun-trash-*")]
    _own_edits(repo, faults, "remove")


def _in_gc(folder: Path, station: Station, chance: random.Random, faults: list[str]) -> None:
    (repo, (name,)), forker = station.take(1), station.forker
    forker.run(repo.path, "remove", name)
    refs = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/prun")
    history = repo.ledger.read().history
    child = forker.start(repo.path, "gc", "--older-than", "0d")
    time.sleep(chance.random() * 0.3)
    child.kill()
    child.wait()
    said = forker.run(repo.path, "gc", "--older-than", "0d")
    if said.code != 0:
        faults.append(f"gc: exit code {said.code}: {said.err[-300:]}")
    now = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/prun").splitlines()
    lost = [row for row in refs.splitlines() if row not in now and "/trash/" not in row and "refs/prun/base" not in row]
    if lost:
        faults.append(f"gc took a ref: {lost[0]}")
    again = repo.ledger.read()
    units = [{key: run.units for key, run in one.runs.items()} for one in (again.history, history)]
    if again.unreadable or units[0] != units[1]:
        faults.append("the ledger says something else after gc")
    _own_edits(repo, faults, "gc")


STEPS: dict[str, Callable[[Path, Station, random.Random, list[str]], None]] = {
    "capture": _in_capture,
    "import": _in_import,
    "landing": _in_landing,
    "removal": _in_removal,
    "gc": _in_gc,
}
