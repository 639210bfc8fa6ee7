"""A whole run: numbered, its base pinned, its units worked on side by side, its end written down."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gitprun import __version__
from gitprun.executors.base import Progress
from gitprun.executors.catalog import require_executor
from gitprun.git.command import Git, require_git
from gitprun.git.refs import Signature, delete_ref, move_ref, open_repository, read_signatures
from gitprun.git.repo import Repository, require_seen_checkout, resolve_commit
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.retry_policy import patience_of
from gitprun.ledger.settings import remember
from gitprun.model.errors import PrunError
from gitprun.model.names import PRUN_BRANCHES, PRUN_REFS, ZERO, Oid, RunId, base_ref, is_run_id, run_id
from gitprun.model.plan import DEFAULT_MAX_FILE, DEFAULT_STALL, DEFAULT_VERIFY_TIMEOUT, Plan, Settings
from gitprun.model.powers import started_by
from gitprun.model.units import DEFAULT_OUTPUT_MAX, ExecutorSettings, Unit
from gitprun.observe.drift_observer import DriftObserver
from gitprun.runs.context import GRACE, RunContext, WorkItem
from gitprun.runs.pool import Pool
from gitprun.runs.stall_watch import StallWatch
from gitprun.supervisor.process import Stop, probe_identity, worker_environment
from gitprun.supervisor.programs import find_program, with_program
from gitprun.system.clock import Alarm, SteadyClock
from gitprun.system.files import locked
from gitprun.system.sharing import make_private
from gitprun.workspaces.base import WorkspaceProblem, choose_root
from gitprun.workspaces.clone import CloneSource, read_source
from gitprun.workspaces.trust import require_trusted

MEMORY_PER_WORKER = 1_500_000_000
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
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(units, 2 * cores, _free_memory() // MEMORY_PER_WORKER, MOST_JOBS))


def _free_memory() -> int:
    """Give the bytes of memory programs can still have; what the kernel merely caches counts as free."""
    try:
        rows = Path("/proc/meminfo").read_text().splitlines()
        return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
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


def hear_nothing(_unit: str, _progress: Progress) -> None:
    """Let what workers do go unheard."""


def announce_nothing(_context: RunContext, _jobs: int) -> None:
    """Let a run begin unannounced."""


def run_plan(
    repository: Repository,
    plan: Plan,
    *,
    ledger: Ledger,
    stop: Stop,
    heard: Callable[[str, Progress], None] = hear_nothing,
    announce: Callable[[RunContext, int], None] = announce_nothing,
    plan_source: str = "",
    clock: Alarm | None = None,
    grace: float | None = None,
) -> RunReport:
    """Run all units of a plan and give their final states; raises PrunError before anything was made."""
    settings = plan.settings
    require_git(repository.top or repository.common)
    require_seen_checkout(repository)
    base = resolve_commit(repository.git, settings.base or "HEAD")
    revision = follow_revision(repository.git, settings.base or "HEAD", base)
    who = read_signatures(repository.git)
    require_programs(plan.units, dict(settings.executors), repository.top or repository.common)
    require_trusted(repository, started_by(settings.powers, {unit.executor for unit in plan.units}))
    root = open_root(repository, settings.root)
    jobs = choose_jobs(settings, len(plan.units))
    with ThreadPoolExecutor(max_workers=1) as aside, _made(root):
        # Nothing slow comes before the run's own row: who looks for it right after it was started must find it.
        sourced = aside.submit(read_source, repository)
        run = _open_run(repository, plan, ledger, base, revision, root, jobs, plan_source, stop)
        source = sourced.result()
    context = make_context(
        repository,
        settings,
        ledger=ledger,
        run=run,
        base=base,
        revision=revision,
        root=root,
        stop=stop,
        heard=heard,
        clock=clock,
        grace=grace,
        who=who,
        source=source,
    )
    announce(context, jobs)
    if settings.setup and context.witness is not None:
        # What the user's checkout, refs and settings look like before anything of this run touches them.
        context.witness.open()
    return close_run(context, Pool(context, jobs).run([WorkItem(unit=unit) for unit in plan.units]))


def make_context(
    repository: Repository,
    settings: Settings,
    *,
    clock: Alarm | None,
    grace: float | None,
    who: tuple[Signature, Signature] | None = None,
    source: CloneSource | None = None,
    **rest: Any,
) -> RunContext:
    """Put together what the units of a run share."""
    codex = with_program(
        "codex", settings.executors.get("codex", ExecutorSettings()), worker_environment({}).get("PATH")
    )
    return RunContext(
        repository=repository,
        settings=replace(settings, executors={**settings.executors, "codex": codex}),
        source=source or read_source(repository),
        who=who or read_signatures(repository.git),
        max_file=settings.max_file or DEFAULT_MAX_FILE,
        verify=settings.verify or (),
        verify_timeout=settings.verify_timeout or DEFAULT_VERIFY_TIMEOUT,
        patience=patience_of(settings),
        clock=clock or SteadyClock(),
        grace=(settings.grace or GRACE) if grace is None else grace,
        output_max=settings.output_max or DEFAULT_OUTPUT_MAX,
        stalls=StallWatch(settings.stall or DEFAULT_STALL, settings.stall_action or "report"),
        witness=DriftObserver(repository, rest["ledger"], rest["run"], rest["root"]),
        **rest,
    )


def close_run(context: RunContext, states: dict[str, str]) -> RunReport:
    """Write down the end of a run."""
    for folder in (context.root / context.run, context.root):
        with contextlib.suppress(OSError):
            folder.rmdir()
    if context.witness is not None:
        context.witness.finish()
    context.ledger.append("run.finished", run=context.run, facts={"states": states})
    if context.witness is not None:
        context.witness.close()
    return RunReport(run=context.run, base=context.base, root=context.root, states=states)


def choose_jobs(settings: Settings, units: int) -> int:
    """Choose how many of so many units run at once."""
    return min(settings.jobs or default_jobs(units), units)


def open_root(repository: Repository, configured: str | None) -> Path:
    """Choose the folder for workspaces and check that it lies where it may."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = choose_root(configured or None, repository.home, cache)
    require_outside(repository, root)
    return root


def follow_revision(git: Git, revision: str, base: Oid) -> str:
    """Name what later attempts start from: the branch or tag that is meant, else the commit itself.

    HEAD stands for the branch that is checked out now: the user may go to another one while the run goes on.
    """
    answer = git.run("rev-parse", "--symbolic-full-name", "--end-of-options", revision, ok=(0, 1, 128))
    names = answer.text.split("\n") if answer.code == 0 else []
    return names[-1] if names and names[-1].startswith("refs/") else base


def require_outside(repository: Repository, root: Path) -> None:
    """Refuse a workspace root that would show up in the user's checkout, or lie in his git folder."""
    if repository.common.resolve() in (root, *root.parents):
        raise WorkspaceProblem(f"the workspace root {root} lies in the git folder", "choose a folder outside of it")
    for top in {repository.top, repository.home} - {None, repository.common}:
        assert top is not None
        if top.resolve() not in (root, *root.parents):
            continue
        ignored = Git(cwd=top).run("check-ignore", "--quiet", f"{root}/", ok=(0, 1, 128)).code == 0
        if not ignored or root == top.resolve():
            raise WorkspaceProblem(
                f"the workspace root {root} lies in your checkout",
                "choose a folder outside of it, or one that git ignores",
            )


@contextlib.contextmanager
def _made(root: Path) -> Iterator[None]:
    """Make the workspace root and prove that it can be written; take it back if the block fails."""
    missing = [folder for folder in (root, *root.parents) if not os.path.lexists(folder)]
    try:
        try:
            make_private(root)
            probe = root / f".probe-{os.getpid()}"
            probe.mkdir()
            probe.rmdir()
        except OSError as problem:
            raise WorkspaceProblem(
                f"the workspace root {root} cannot be used: {problem.strerror}",
                'choose another folder: --root, or [workspace] root = "..." in prun.toml',
            ) from None
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _open_run(
    repository: Repository,
    plan: Plan,
    ledger: Ledger,
    base: Oid,
    revision: str,
    root: Path,
    jobs: int,
    plan_source: str,
    stop: Stop,
) -> RunId:
    """Number the run, pin its base, write down its units; two runs at once get two numbers."""
    repo = open_repository(repository.common)
    with locked(repository.state / "locks" / "run.lock", doing="starting a run", stop=stop):
        run = _next_run(repository, ledger, root)
        me = probe_identity(os.getpid())
        facts = {
            "base": base,
            "root": str(root),
            "jobs": jobs,
            "plan": plan_source,
            "verify": list(plan.settings.verify) if plan.settings.verify is not None else None,
            "verify_sandbox": plan.settings.verify_sandbox,
            "units": [unit.id for unit in plan.units],
            "version": __version__,
            "coordinator": asdict(me) if me else {},
        }
        kept = repository.state / "runs" / run
        try:
            for unit in plan.units:
                (kept / unit.id).mkdir(parents=True)
                (kept / unit.id / "task.md").write_text(unit.prompt, encoding="utf-8")
            remember(kept, plan, revision)
            move_ref(repo, base_ref(run), base, ZERO, "prun: base of a run")
            # All in one go: a run without its units would look as if all were over.
            queued = [("unit.queued", run, unit.id, _asked_of(unit)) for unit in plan.units]
            ledger.append_all([("run.started", run, "", facts), *queued])
        except BaseException:
            delete_ref(repo, base_ref(run), base)
            shutil.rmtree(kept, ignore_errors=True)
            raise
    return run


def _asked_of(unit: Unit) -> dict[str, Any]:
    """Write down what a unit is, but for its prompt, which lies in a file."""
    spec = {key: value for key, value in asdict(unit).items() if key != "prompt"}
    return {"spec": spec, "executor": unit.executor, "mode": unit.mode}


def _next_run(repository: Repository, ledger: Ledger, root: Path) -> RunId:
    """Find the first number no ref, no ledger row and no folder knows."""
    listing = repository.git.run("for-each-ref", "--format=%(refname)", PRUN_REFS, f"refs/heads/{PRUN_BRANCHES}")
    known = {
        part
        for name in listing.text.splitlines()
        for part in name.removeprefix(PRUN_REFS).removeprefix(f"refs/heads/{PRUN_BRANCHES}").split("/")[:2]
    }
    known |= set(ledger.read().history.runs)
    for folder in (root, repository.state / "runs"):
        known |= set(os.listdir(folder)) if folder.is_dir() else set()
    return run_id(1 + max((int(name[1:]) for name in known if is_run_id(name)), default=0))
