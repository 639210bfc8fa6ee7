"""The three uses of a worker (unit of a run, user workspace, seed dispatch) behind one way to ask for one attempt."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitprun.git.refs import read_signatures
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.roster import roster
from gitprun.model.errors import PrunError
from gitprun.model.names import UnitId
from gitprun.model.plan import Plan, Settings
from gitprun.model.units import Unit
from gitprun.registry.make import WorkspaceSpec, make_user_workspace
from gitprun.runs.context import Coordinator
from gitprun.runs.dispatch import run_plan
from gitprun.runs.dispatch_unit import DispatchPolicy, DispatchSpec, dispatch_unit
from gitprun.runs.request import Session, WorkerRequest
from gitprun.runs.user_verify import PostVerify
from gitprun.runs.user_work import work_in
from gitprun.supervisor.process import Stop
from gitprun.system.clock import Alarm, SteadyClock
from tests.support.repos import Repo

USES = ("run", "user", "dispatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of a worker: how it ended, what was said on the way, where its file ``w.txt`` is kept."""

    state: str
    exit: str
    code: int
    dropped: int
    said: tuple[str, ...]
    work: str


@dataclass(slots=True)
class Use:
    """One use in a repository; ``on_said`` hears each event or line as it comes."""

    name: str
    repo: Repo
    executors: dict[str, Any] = field(default_factory=dict)
    on_said: list[Callable[[str], None]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def ask(self, unit: Unit, *, stop: Stop | None = None, clock: Alarm | None = None, **settings: Any) -> Came:
        """Have a worker do what is asked, and say what came of it."""
        self.said.clear()
        asked = {"retries": 0, "grace": 0.1, **settings}
        said = Settings(executors=self.executors, verify=("true",), **asked)
        return getattr(self, f"_{self.name}")(unit, said, stop or Stop(), clock or SteadyClock())  # type: ignore[no-any-return]

    def hear(self, text: str) -> None:
        """Take down an event or a line."""
        self.said.append(text)
        for listener in self.on_said:
            listener(text)

    def waits_for(self, word: str) -> threading.Event:
        """Return what is set once somebody says this word."""
        event = threading.Event()
        self.on_said.append(lambda text: event.set() if word in text else None)
        return event

    def _ledger(self) -> Ledger:
        ledger = Ledger(self.repo.repository.state)
        ledger.listeners.append(lambda event: self.hear(event.kind))
        return ledger

    def _run(self, unit: Unit, settings: Settings, stop: Stop, clock: Alarm) -> Came:
        report = run_plan(
            self.repo.repository,
            Plan(units=(unit,), settings=settings),
            Coordinator(ledger=self._ledger(), stop=stop, clock=clock),
        )
        known = self.repo.ledger.read().history.runs[report.run].units[unit.id]
        refs = (f"refs/prun/{report.run}/{unit.id}",)
        return self._came(known, 0 if known.state == "ready" else 1, refs)

    def _user(self, unit: Unit, settings: Settings, stop: Stop, clock: Alarm) -> Came:
        repository, ledger = self.repo.repository, self._ledger()
        root = self.repo.path.parent / "places"
        names = roster(ledger.read().events).units
        place = names.get("w") or make_user_workspace(
            repository, ledger, WorkspaceSpec(name=UnitId("w"), branch="topic", root=root)
        )
        request = WorkerRequest(
            unit=unit,
            executor=self.executors.get(unit.executor, settings.executors.get(unit.executor)) or _none(),
            level=3,
            verify=PostVerify(declared=settings.verify, timeout=60.0),
            commit_failed=False,
            log=self.repo.path.parent / "w.log",
            who=read_signatures(repository.git),
            settings=settings,
        )
        session = Session(
            repository=repository,
            ledger=ledger,
            place=place,
            request=request,
            say=self.hear,
            warn=self.hear,
            stop=stop,
            clock=clock,
        )
        try:
            code = work_in(session)
        except PrunError as problem:
            self.hear(problem.message)
            code = 128
        known = roster(ledger.read().events).units["w"]
        refs = ("refs/heads/topic", "refs/prun/kept/named/w/attempt-1")
        return self._came(known, code, refs)

    def _came(self, known: UnitState, code: int, refs: tuple[str, ...]) -> Came:
        left = self.repo.git("for-each-ref", "--format=%(refname)", *refs).splitlines()
        found = [self.repo.files(ref).get("w.txt", "") for ref in left]
        record = known.exit
        return Came(
            state=known.state,
            exit=record.reason if record is not None else "",
            code=code,
            dropped=record.dropped if record is not None else 0,
            said=tuple(self.said),
            work=next(filter(None, found), ""),
        )

    def _dispatch(self, unit: Unit, settings: Settings, stop: Stop, clock: Alarm) -> Came:
        tmp = self.repo.path.parent / "tmp"
        request = DispatchSpec(
            unit=unit,
            executor=self.executors.get(unit.executor) or _none(),
            result=self.result,
            base=tmp,
            caller=str(self.repo.path.parent),
            project=settings,
            retry=settings.retries != 0,
        )
        policy = DispatchPolicy(request, stop, lambda folder: self.hear(f"STATE-DIR {folder.name}"), self.hear, clock)
        settled = dispatch_unit(policy)
        ended, file = settled.ended, policy.folder / "work" / "w.txt"
        record = json.loads((policy.folder / "ending.json").read_text())["exit"]
        if settled.problem:
            self.hear(settled.problem)
        return Came(
            state="no result" if settled.problem else "salvaged" if settled.fallback else "result",
            exit=record["reason"],
            code=ended.shell_code,
            dropped=ended.dropped,
            said=tuple(self.said),
            work=file.read_text().strip() if file.exists() else "",
        )

    @property
    def result(self) -> Path:
        """Return the result file of a dispatched worker."""
        return self.repo.path.parent / "out" / "r.md"


def _none() -> Any:
    from gitprun.model.units import ExecutorSettings

    return ExecutorSettings()
