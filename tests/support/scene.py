"""A run in the middle of its work, driven by a test: real workspaces, real (idle) processes, no waiting."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gitprun.capture.capture import Capture
from gitprun.git.refs import move_ref, open_repository
from gitprun.model.names import ZERO, UnitId, base_ref
from gitprun.model.units import WorkspaceKind
from gitprun.monitor.loop import Monitor, Watching
from gitprun.observe.flags import FlagLimits, Tick
from gitprun.observe.snapshot import BASELINE, FINAL, record_snapshot
from gitprun.observe.snapshotter import Snapshotter
from gitprun.supervisor.process import probe_identity
from tests.support.clock import FakeClock
from tests.support.processes import start_program
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.workshop import RUN, Workshop, open_workshop

# A warden and its worker, as far as /proc shows them.
PAIR = "sleep 600 & wait"


@dataclass(slots=True)
class Scene:
    """The user's repository and the units of run r1."""

    repo: Repo
    root: Path
    units: dict[str, Workshop] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    clock: FakeClock = field(default_factory=lambda: FakeClock(wall=time.time()))
    monitors: list[Monitor] = field(default_factory=list)

    @property
    def state(self) -> Path:
        """Name the folder of everything prun remembers."""
        return self.repo.repository.state

    def note(self, kind: str, unit: str = "", /, **facts: Any) -> None:
        """Write an event."""
        self.repo.ledger.append(payload_of(kind, facts), run=RUN, unit=unit)

    def add(self, unit: str, *, kind: WorkspaceKind = "clone", paths: tuple[str, ...] = ()) -> Workshop:
        """Prepare a unit whose worker is not started yet."""
        self.note("unit.queued", unit, spec={"paths": list(paths)}, executor="codex")
        self.units[unit] = open_workshop(self.repo, self.root, kind, unit=unit)
        return self.units[unit]

    def start(self, unit: str) -> Workshop:
        """Start a unit's worker: a process that sleeps, below another that waits for it."""
        if unit not in self.units:
            self.add(unit)
        warden = start_program(["sh", "-c", PAIR], stdin=subprocess.DEVNULL, start_new_session=True)
        self.processes[unit] = warden
        wait_for_child(warden.pid)
        who = probe_identity(warden.pid)
        assert who is not None
        self.log(unit, b"")
        self.note("unit.started", unit, process=asdict(who))
        return self.units[unit]

    def log(self, unit: str, more: bytes) -> Path:
        """Let a worker print something."""
        path = self.state / "runs" / RUN / unit / "output.log"
        with open(path, "ab") as log:
            log.write(more)
        return path

    def end(self, unit: str) -> None:
        """End a worker and its warden."""
        end_session(self.processes.pop(unit))

    def finish(self, unit: str, state: str = "ready") -> Capture:
        """End a worker; its work is captured and its unit is over."""
        self.end(unit)
        self.note("unit.exited", unit, exit={"seconds": 1.0})
        return self.units[unit].finish(state)

    def over(self) -> None:
        """Write down that the run is over, and what it left behind."""
        look_for_the_record(self, FINAL)
        self.note("run.finished")

    def monitor(self, *, attentive: bool = True, limits: FlagLimits | None = None, run: str | None = None) -> Monitor:
        """Make a monitor; it is closed with the scene."""
        watching = Watching(run=run, attentive=attentive, limits=limits or FlagLimits())
        made = Monitor(self.repo.repository, self.repo.ledger, watching, self.clock)
        self.monitors.append(made)
        return made

    def once(self) -> Tick:
        """Make the one tick of ``--once``."""
        made = self.monitor(attentive=False)
        made.compare_with_start()
        return made.tick()


def flags(tick: Tick) -> list[str]:
    """Give the flags of a tick as they stand on its line; the machine's other codex processes are none of ours."""
    return [flag.text for flag in tick.flags if flag.name != "runaway"]


def calm(text: str) -> str:
    """Take out of lines what other programs on the machine put there: the count of codex processes, the time."""
    text = re.sub(r"  \[runaway:\d+\]|,runaway:\d+", "", text)
    return re.sub(r"\d\d:\d\d:\d\dZ", "TIME", text)


def wait_for_child(pid: int) -> None:
    """Wait until a process has a child."""
    deadline = time.monotonic() + 60
    while not Path(f"/proc/{pid}/task/{pid}/children").read_text():
        assert time.monotonic() < deadline
        os.sched_yield()


def end_session(leader: subprocess.Popen[bytes]) -> None:
    """End a process we started in a session of its own, and all that is in there."""
    os.killpg(leader.pid, 9)
    leader.wait()


@contextmanager
def open_scene(tmp_path: Path, **files: str) -> Iterator[Scene]:
    """Begin run r1 in a new repository, with this very process as its coordinator."""
    repo = make_repo(tmp_path / "r", **(files or {"a_dot_txt": "1\n", "b_dot_txt": "1\n"}))
    repository, root = repo.repository, tmp_path / "r.prun"
    scene = Scene(repo, root)
    move_ref(open_repository(repository.common), base_ref(RUN), repo.head, ZERO, "test")
    me = probe_identity(os.getpid())
    assert me is not None
    scene.note("run.started", base=repo.head, root=str(root), coordinator=asdict(me))
    try:
        yield scene
    finally:
        for made in scene.monitors:
            made.close()
        for process in scene.processes.values():
            end_session(process)


def begin(scene: Scene) -> None:
    """Write down what is shared, as a run does before its workers start."""
    folder = scene.state / "runs" / RUN
    folder.mkdir(parents=True, exist_ok=True)
    look_for_the_record(scene, BASELINE)


def look_for_the_record(scene: Scene, name: str) -> None:
    """Write down what the repository is like, as a run does at its start and its end."""
    seen = Snapshotter(scene.repo.repository, root=scene.root).look_closely(scene.clock.now())
    record_snapshot(scene.state, RUN, name, seen)


__all__ = ["RUN", "Scene", "UnitId", "begin", "end_session", "flags", "open_scene", "wait_for_child"]
