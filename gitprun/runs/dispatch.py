"""A whole run: numbered, its base pinned, its units worked on side by side, its end written down."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gitprun import __version__
from gitprun.executors.catalog import require_executor
from gitprun.git.command import Git, require_git
from gitprun.git.refs import Signature, delete_ref, move_ref, open_repository, read_signatures
from gitprun.git.repo import Repository, require_seen_checkout, resolve_commit
from gitprun.ledger.house_events import RunFinished, RunStarted
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.retry_policy import read_retry_policy
from gitprun.ledger.rows import SpecRow
from gitprun.ledger.settings import remember
from gitprun.ledger.unit_events import UnitQueued
from gitprun.model.errors import PrunError
from gitprun.model.names import PRUN_BRANCHES, PRUN_REFS, ZERO, Oid, RunId, base_ref, is_run_id, run_id
from gitprun.model.plan import DEFAULT_MAX_FILE, DEFAULT_VERIFY_TIMEOUT, Plan, Settings
from gitprun.model.powers import started_by
from gitprun.model.units import DEFAULT_OUTPUT_MAX, ExecutorSettings, Unit
from gitprun.observe.drift_observer import DriftObserver
from gitprun.runs.context import Coordinator, RunContext, RunStart, WorkItem
from gitprun.runs.pool import Pool
from gitprun.runs.stall_watch import stall_watch_of
from gitprun.supervisor.process import DEFAULT_GRACE, probe_identity, worker_environment
from gitprun.supervisor.programs import find_program, with_program
from gitprun.system.clock import SteadyClock
from gitprun.system.files import locked
from gitprun.workspaces.clone import CloneSource, read_source
from gitprun.workspaces.root import made_root, open_root
from gitprun.workspaces.trust import require_trusted

# An agent, its language server and a test run side by side; a machine that swaps gets less done with more of them.
MEMORY_PER_WORKER = 1_500_000_000
# Services begin to answer 503 at about ten workers at once; more only fail and wait. Who knows better says --jobs.
MOST_JOBS = 16


class ProgramMissing(PrunError):
    """The program of an executor is not to be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """How a run ended: the final state of every unit, in the order of the plan."""

    run: RunId
    base: Oid
    root: Path
    states: dict[str, str]


def default_jobs(units: int) -> int:
    """Choose how many workers run at once: two a core, as far as memory goes (workers mostly wait for a model)."""
    # A container or taskset may leave fewer cores than the machine has.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(units, 2 * cores, _free_memory() // MEMORY_PER_WORKER, MOST_JOBS))


def _free_memory() -> int:
    """Return the bytes of memory programs can still have; what the kernel merely caches counts as free."""
    try:
        rows = Path("/proc/meminfo").read_text().splitlines()
        return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        # Where nobody says, a machine people develop on has memory for some workers.
        return 4 * MEMORY_PER_WORKER


def require_programs(units: Sequence[Unit], settings: dict[str, ExecutorSettings], top: Path) -> None:
    """Refuse before anything is made when a worker's program is not on PATH."""
    path = worker_environment({}).get("PATH", os.defpath)
    for unit in units:
        configured = settings.get(unit.executor, ExecutorSettings())
        wanted = unit.command[0] if unit.executor == "command" else configured.program
        program = wanted or require_executor(unit.executor).default_program
        search = dict(configured.env).get("PATH", path)
        # A program named by a relative path lies in the workspace, which is not made yet.
        if os.sep in program and not os.path.isabs(program):
            continue
        if find_program(unit.executor, wanted, search) is None:
            raise ProgramMissing(
                f"unit {unit.id!r}: the program {program!r} was not found on PATH", _advice(unit.executor)
            )


def _advice(executor: str) -> str:
    if executor == "command":
        return "install it, or write its whole path into the unit's command"
    extra = " (pip install 'gitprun[codex]' brings it)" if executor == "codex" else ""
    return f"install it{extra}, or set [executor.{executor}] program in prun.toml"


def run_plan(repository: Repository, plan: Plan, coordinator: Coordinator, *, plan_source: str = "") -> RunReport:
    """Run all units of a plan and return their final states; raises PrunError before anything was made."""
    settings = plan.settings
    require_git(repository.top or repository.common)
    # Where git cannot see the checkout as it is, a look at it before and after the workers would say nothing.
    require_seen_checkout(repository)
    base = resolve_commit(repository.git, settings.base or "HEAD")
    start = RunStart(
        base=base,
        revision=follow_revision(repository.git, settings.base or "HEAD", base),
        root=open_root(repository, settings.root),
    )
    # Asked before anything is made: a repository that says nobody commits has no use of hours of work.
    who = read_signatures(repository.git)
    require_programs(plan.units, dict(settings.executors), repository.top or repository.common)
    require_trusted(repository, started_by(settings.powers, {unit.executor for unit in plan.units}))
    jobs = choose_jobs(settings, len(plan.units))
    with ThreadPoolExecutor(max_workers=1) as aside, made_root(start.root):
        # Nothing slow comes before the run's own row: who looks for it right after it was started must find it.
        sourced = aside.submit(read_source, repository)
        run = _open_run(repository, plan, coordinator, start, jobs, plan_source)
        source = sourced.result()
    context = make_context(repository, settings, coordinator, run, start, taken_down=(who, source))
    coordinator.announce(context, jobs)
    if settings.setup and context.observer is not None:
        # What the user's checkout, refs and settings look like before anything of this run touches them.
        context.observer.open()
    return close_run(context, Pool(context, jobs).run([WorkItem(unit=unit) for unit in plan.units]))


def make_context(
    repository: Repository,
    settings: Settings,
    coordinator: Coordinator,
    run: RunId,
    start: RunStart,
    *,
    taken_down: tuple[tuple[Signature, Signature], CloneSource] | None = None,
) -> RunContext:
    """Put together what the units of a run share; who commits, and what clones start with, as they are now.

    ``taken_down``: both as they were before the run's number was known.
    """
    codex = with_program(
        "codex", settings.executors.get("codex", ExecutorSettings()), worker_environment({}).get("PATH")
    )
    who, source = taken_down or (read_signatures(repository.git), read_source(repository))
    return RunContext(
        repository=repository,
        ledger=coordinator.ledger,
        run=run,
        base=start.base,
        revision=start.revision,
        root=start.root,
        settings=replace(settings, executors={**settings.executors, "codex": codex}),
        source=source,
        who=who,
        max_file=settings.max_file or DEFAULT_MAX_FILE,
        verify=settings.verify or (),
        verify_timeout=settings.verify_timeout or DEFAULT_VERIFY_TIMEOUT,
        stop=coordinator.stop,
        heard=coordinator.heard,
        retry_policy=read_retry_policy(settings),
        clock=coordinator.clock or SteadyClock(),
        grace=(settings.grace or DEFAULT_GRACE) if coordinator.grace is None else coordinator.grace,
        output_max=settings.output_max or DEFAULT_OUTPUT_MAX,
        stalls=stall_watch_of(settings),
        observer=DriftObserver(repository, coordinator.ledger, run, start.root),
    )


def close_run(context: RunContext, states: dict[str, str]) -> RunReport:
    """Write down the end of a run."""
    # Only what is empty goes: rmdir refuses a folder that still holds a workspace.
    for folder in (context.root / context.run, context.root):
        with contextlib.suppress(OSError):
            folder.rmdir()
    # The last look comes first: what it finds belongs before the end of the run.
    if context.observer is not None:
        context.observer.finish()
    context.ledger.append(RunFinished(states=states), run=context.run)
    if context.observer is not None:
        context.observer.close()
    return RunReport(run=context.run, base=context.base, root=context.root, states=states)


def choose_jobs(settings: Settings, units: int) -> int:
    """Choose how many of so many units run at once."""
    return min(settings.jobs or default_jobs(units), units)


def follow_revision(git: Git, revision: str, base: Oid) -> str:
    """Return what later attempts start from: the branch or tag that is meant, else the commit itself.

    HEAD stands for the branch that is checked out now: the user may go to another one while the run goes on.
    """
    answer = git.run("rev-parse", "--symbolic-full-name", "--end-of-options", revision, ok=(0, 1, 128))
    names = answer.text.split("\n") if answer.code == 0 else []
    return names[-1] if names and names[-1].startswith("refs/") else base


def _open_run(
    repository: Repository, plan: Plan, coordinator: Coordinator, start: RunStart, jobs: int, plan_source: str
) -> RunId:
    """Number the run, pin its base, write down its units; two runs at once get two numbers."""
    repo = open_repository(repository.common)
    with locked(repository.state / "locks" / "run.lock", doing="starting a run", stop=coordinator.stop):
        run = _next_run(repository, coordinator.ledger, start.root)
        started = RunStarted(
            base=start.base,
            root=str(start.root),
            jobs=jobs,
            plan=plan_source,
            verify=plan.settings.verify,
            verify_sandbox=plan.settings.verify_sandbox,
            names=tuple(unit.id for unit in plan.units),
            version=__version__,
            coordinator=probe_identity(os.getpid()),
        )
        kept = repository.state / "runs" / run
        try:
            for unit in plan.units:
                # Raises where the folder is there: a number is never taken twice, whoever lost the ledger.
                (kept / unit.id).mkdir(parents=True)
                (kept / unit.id / "task.md").write_text(unit.prompt, encoding="utf-8")
            remember(kept, plan, start.revision)
            move_ref(repo, base_ref(run), start.base, ZERO, "prun: base of a run")
            # All in one go: a run without its units would look as if all were over.
            queued = [(_asked_of(unit), run, unit.id) for unit in plan.units]
            coordinator.ledger.append_all([(started, run, ""), *queued])
        except BaseException:
            delete_ref(repo, base_ref(run), start.base)
            shutil.rmtree(kept, ignore_errors=True)
            raise
    return run


def _asked_of(unit: Unit) -> UnitQueued:
    """Return what is written down of what a unit is: all but its prompt, which lies in a file."""
    spec = SpecRow.build({key: value for key, value in asdict(unit).items() if key != "prompt"})
    return UnitQueued(spec=spec, executor=unit.executor, mode=unit.mode)


def _next_run(repository: Repository, ledger: Ledger, root: Path) -> RunId:
    """Find the first number no ref, no ledger row and no folder knows."""
    listing = repository.git.run("for-each-ref", "--format=%(refname)", PRUN_REFS, f"refs/heads/{PRUN_BRANCHES}")
    known = {
        part
        for name in listing.text.splitlines()
        # A run's name comes first, or second behind ``kept`` and ``base``.
        for part in name.removeprefix(PRUN_REFS).removeprefix(f"refs/heads/{PRUN_BRANCHES}").split("/")[:2]
    }
    # A ref, a row or a folder alone is enough: each may be what is left of a run whose rest was lost.
    known |= set(ledger.read().history.runs)
    for folder in (root, repository.state / "runs"):
        known |= set(os.listdir(folder)) if folder.is_dir() else set()
    return run_id(1 + max((int(name[1:]) for name in known if is_run_id(name)), default=0))
