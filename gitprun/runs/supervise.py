"""One unit's life: workspace, worker, capture, verification; each step is in the ledger before the next begins."""

from __future__ import annotations

import errno
import os
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pygit2

from gitprun.collect.capture import Capture, Site, capture, commit_capture, outside_fence
from gitprun.contract import Result, fallback_result, parse_result
from gitprun.errors import PrunError
from gitprun.executors.base import Ending, Place, Progress
from gitprun.executors.catalog import require_executor
from gitprun.git.command import Git
from gitprun.git.refs import Signature, delete_ref, move_ref, open_repository, read_ref, require_object
from gitprun.git.repo import Repository
from gitprun.guards.install import claude_guard
from gitprun.names import Oid, RunId, unit_branch, unit_ref
from gitprun.plan import Settings
from gitprun.prompts import assemble_prompt
from gitprun.runs.ledger import Ledger
from gitprun.runs.listen import Listener
from gitprun.runs.outcome import NO_RESULT, commit_message, exit_facts, explain_unit, judge_unit, judge_worker
from gitprun.system.files import folder_identity, read_plain, remove_tree, tail, write_whole
from gitprun.system.process import Identity, Stop, run, worker_environment
from gitprun.units import ExecutorSettings, Exit, Unit, Verdict
from gitprun.verify.check import check_workspace
from gitprun.workspaces.base import OUTBOX, Workspace, WorkspaceProblem, make_outbox, workspace_path
from gitprun.workspaces.clone import CloneSource, make_clone
from gitprun.workspaces.furnish import furnish
from gitprun.workspaces.scratch import make_scratch
from gitprun.workspaces.setup import SetupFailed, run_setup
from gitprun.workspaces.worktree import admin_folder, make_worktree, remove_worktree

MAX_RESULT = 4_000_000
FALLBACK_TAIL = 64_000
GRACE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What all units of one run share."""

    repository: Repository
    ledger: Ledger
    run: RunId
    base: Oid
    root: Path
    settings: Settings
    source: CloneSource
    who: tuple[Signature, Signature]
    max_file: int
    verify: tuple[str, ...]
    verify_timeout: float
    stop: Stop
    heard: Callable[[str, Progress], None]
    grace: float = GRACE

    def note(self, unit: Unit, kind: str, **facts: Any) -> None:
        """Write one event of a unit."""
        self.ledger.append(f"unit.{kind}", run=self.run, unit=unit.id, facts=facts)

    def folder(self, unit: Unit) -> Path:
        """Name the folder that keeps prompt, output and result of a unit."""
        return self.repository.state / "runs" / self.run / unit.id


def run_unit(context: RunContext, unit: Unit) -> str:
    """Live one unit's life and give its final state; whatever goes wrong is an event, never an exception lost."""
    try:
        return _live(context, unit)
    except PrunError as problem:
        reason, hint = problem.message, problem.hint
    except OSError as problem:
        reason, hint = f"{problem.filename or 'system'}: {problem.strerror or problem}", ""
    except Exception:
        reason, hint = "a bug of git prun; the work is untouched", _report_bug(context.folder(unit))
    try:
        context.note(unit, "finished", state="broken", reason=reason, hint=hint)
    except PrunError:
        # The ledger itself cannot be written: the run's own last event will say so.
        return "broken"
    return "broken"


def _report_bug(folder: Path) -> str:
    report = folder / "bug.txt"
    try:
        report.write_text(traceback.format_exc(), errors="backslashreplace")
    except OSError:
        return ""
    return f"the report is in {report}"


def _live(context: RunContext, unit: Unit) -> str:
    if context.stop.is_set():
        context.note(unit, "finished", state="stopped", reason="stopped before it was started")
        return "stopped"
    context.note(unit, "preparing")
    try:
        workspace = _prepare(context, unit)
    except SetupFailed:
        if not context.stop.is_set():
            raise
        context.note(unit, "finished", state="stopped", reason="stopped while its workspace was made ready")
        return "stopped"
    ended, ending = _work(context, unit, workspace)
    worker = judge_worker(ended, ending.state)
    context.note(unit, "exited", exit=exit_facts(ended), ending=asdict(ending) | {"message": ""})
    # The work first: whatever fails from here on, it is pinned.
    found = _collect(context, unit, workspace, worker) if unit.mode == "write" else None
    result, fallback = _result(context, unit, workspace, ending, worker)
    verdict = Verdict(state="absent")
    if found is not None and worker is None and not found.unfinished and found.changed:
        verdict = _verify(context, unit, workspace, found)
    unfinished = found.unfinished if found else None
    state = judge_unit(
        worker,
        unit.mode,
        changed=bool(found and found.changed),
        unfinished=bool(unfinished),
        verdict=verdict.state,
        result=result.valid,
    )
    said = (ended.reason == "stopped" and ended.detail) or ending.reason or ended.detail
    reason = explain_unit(state, worker, said, unfinished=unfinished, verdict=verdict.reason, result=result)
    problems = [] if fallback else list(result.problems)
    context.note(unit, "finished", state=state, reason=reason, fallback=fallback, result_problems=problems)
    return state


def _prepare(context: RunContext, unit: Unit) -> Workspace:
    """Make the workspace and everything the worker finds in it; on failure nothing of it is left."""
    began = time.monotonic()
    context.folder(unit).mkdir(parents=True, exist_ok=True)
    path = workspace_path(context.root, context.run, unit.id)
    if unit.mode == "read":
        workspace = make_scratch(path)
    elif unit.workspace == "worktree":
        workspace = make_worktree(context.repository, path, context.base, unit_branch(context.run, unit.id))
    else:
        workspace = make_clone(context.source, path, context.base, unit_branch(context.run, unit.id))
    try:
        workspace = _furnish(context, unit, workspace)
        context.note(
            unit,
            "prepared",
            workspace=workspace.kind or "scratch",
            path=str(path),
            identity=list(workspace.identity),
            branch=workspace.branch,
            provided=list(workspace.provided),
            notes=list(workspace.notes),
            seconds=round(time.monotonic() - began, 3),
        )
    except (PrunError, OSError) as problem:
        _take_back(context, workspace)
        if isinstance(problem, PrunError):
            raise
        raise WorkspaceProblem(
            f"the workspace {path} could not be filled: {problem.filename}: {problem.strerror}",
            "free some space, then run again" if problem.errno in (errno.ENOSPC, errno.EDQUOT) else "",
        ) from None
    return workspace


def _furnish(context: RunContext, unit: Unit, workspace: Workspace) -> Workspace:
    """Put in what the settings ask for, put aside the fresh index, make it ready for work."""
    settings, folder = context.settings, context.folder(unit)
    if workspace.kind is not None:
        top = context.repository.top
        workspace = furnish(top, workspace, folder, settings.copy or (), settings.link or ())
    make_outbox(workspace.path)
    if workspace.kind is not None and settings.setup:
        run_setup(workspace.path, settings.setup, log=folder / "setup.log", stop=context.stop)
        touched = sorted(_modified(_site(context, workspace, open_repository(context.repository.common)).git))
        if touched:
            note = f"setup changed {len(touched)} tracked files (such as {touched[0]}), which count as changed"
            workspace = replace(workspace, notes=(*workspace.notes, note))
    return workspace


def _take_back(context: RunContext, workspace: Workspace) -> None:
    """Remove a workspace no worker has seen."""
    if workspace.kind == "worktree":
        remove_worktree(context.repository, workspace.path, workspace.identity)
        repo, name = open_repository(context.repository.common), f"refs/heads/{workspace.branch}"
        delete_ref(repo, name, context.base)
    else:
        remove_tree(workspace.path, workspace.identity)


def _work(context: RunContext, unit: Unit, workspace: Workspace) -> tuple[Exit, Ending]:
    """Start the worker, listen to it, wait for its end."""
    executor, folder = require_executor(unit.executor), context.folder(unit)
    settings = context.settings.executors.get(unit.executor, ExecutorSettings())
    result = workspace.path / OUTBOX / "result.md"
    temporary = workspace.path.parent / ".tmp" / unit.id
    temporary.mkdir(parents=True, mode=0o700)
    place = Place(
        cwd=str(workspace.path),
        result=str(result),
        last_message=str(folder / "last-message.txt"),
        repository=str(context.repository.top or context.repository.common),
        temporary=str(temporary),
        guard=claude_guard(),
    )
    prompt = assemble_prompt(unit, settings, verify=context.verify, outbox=OUTBOX)
    launch = executor.launch(unit, prompt, place, settings)
    write_whole(folder / "prompt.md", launch.stdin)
    output = folder / "output.log"
    env = worker_environment(
        dict(launch.env)
        | {
            "PRUN_RUN": context.run,
            "PRUN_UNIT": unit.id,
            "PRUN_RESULT": str(result),
            "PRUN_REPO": place.repository,
            "PRUN_BASE": context.base,
        }
    )

    def started(identity: Identity | None) -> None:
        who = asdict(identity) if identity else {}
        context.note(unit, "started", process=who, program=launch.argv[0], log=str(output))

    try:
        with Listener(output, lambda line: _hear(context, unit, executor.progress(line))):
            ended = run(
                launch.argv,
                cwd=workspace.path,
                env=env,
                stdin=launch.stdin,
                stdout=output,
                timeout=unit.timeout,
                grace=context.grace,
                stop=context.stop,
                record=folder,
                started=started,
            )
    finally:
        _drop_temporary(temporary)
    with open(output, "ab"):
        pass
    return ended, executor.ending(_lines(output), ended)


def _drop_temporary(path: Path) -> None:
    """Remove the worker's folder for temporary files; what cannot be removed is left."""
    identity = folder_identity(path)
    try:
        if identity is not None:
            remove_tree(path, identity)
        path.parent.rmdir()
    except (PrunError, OSError):
        return


def _hear(context: RunContext, unit: Unit, progress: Progress | None) -> None:
    if progress is not None:
        context.heard(unit.id, progress)


def _lines(path: Path) -> Iterator[bytes]:
    """Give a file's lines without ever holding more than 4 MiB of one."""
    with open(path, "rb") as source:
        while line := source.readline(4 << 20):
            yield line.rstrip(b"\n")


def _result(
    context: RunContext, unit: Unit, workspace: Workspace, ending: Ending, worker: str | None
) -> tuple[Result, bool]:
    """Keep the worker's result file, or salvage one; give what can be read from it and whether it is a fallback."""
    folder = context.folder(unit)
    written = read_plain(workspace.path / OUTBOX / "result.md", MAX_RESULT) or b""
    text = written.decode("utf-8", "replace")
    if not text.strip():
        message = (read_plain(folder / "last-message.txt", MAX_RESULT) or b"").decode("utf-8", "replace")
        last = [said for said in (ending.message, message) if said.strip()]
        text = next((said for said in last if parse_result(said, unit.id).valid), "")
        if not text:
            reason = ending.reason or (NO_RESULT if worker is None else f"the unit is {worker}")
            said = tail(folder / "output.log", FALLBACK_TAIL).decode("utf-8", "replace")
            if last:
                said = f"The worker's last message:\n\n{last[0]}\n\nThe end of its output:\n\n{said}"
            text = fallback_result(unit.id, reason, said)
    write_whole(folder / "result.md", text.encode("utf-8", "replace"))
    result = parse_result(text, unit.id)
    return result, result.fallback


def _site(context: RunContext, workspace: Workspace, repo: pygit2.Repository) -> Site:
    known = {oid for _, oid, _ in context.source.refs} | {peeled for _, _, peeled in context.source.refs if peeled}
    return Site(
        repository=context.repository,
        repo=repo,
        workspace=workspace,
        base=context.base,
        max_file=context.max_file,
        known=frozenset(known | {context.base}),
        alternates=os.fsencode(context.source.objects) + b"\n",
    )


def _collect(context: RunContext, unit: Unit, workspace: Workspace, worker: str | None) -> Capture:
    """Make the unit's one commit and pin it."""
    repo = open_repository(context.repository.common)
    site = _site(context, workspace, repo)
    found = capture(site, context.run, unit.id)
    facts: dict[str, Any] = {
        "tree": found.tree,
        "changed": list(found.changed),
        "files": len(found.changed),
        "left_out": [asdict(row) for row in found.left_out],
        "kept": [list(row) for row in found.kept],
        "own_commits": list(found.own_commits),
        "unfinished": found.unfinished,
        "outside": list(outside_fence(found.changed, unit.paths)),
        "collect_notes": list(found.notes),
    }
    if found.changed:
        ref = unit_ref(context.run, unit.id)
        commit = commit_capture(
            site, found, ref, commit_message(context.run, unit, worker, found.own_commits), context.who
        )
        facts |= {"commit": commit, "ref": ref}
        if workspace.kind == "worktree" and workspace.index is not None:
            facts |= _show_in_worktree(context, repo, workspace, commit)
    context.note(unit, "captured", **facts)
    return found


def _show_in_worktree(
    context: RunContext, repo: pygit2.Repository, workspace: Workspace, commit: Oid
) -> dict[str, Any]:
    """Move the branch of a linked worktree to the captured commit, unless something else moved it there."""
    name = f"refs/heads/{workspace.branch}"
    before = read_ref(repo, name)
    try:
        require_object(repo, commit)
        if before is not None:
            move_ref(repo, name, commit, before, "prun: captured")
        admin = admin_folder(context.repository.common, workspace.path)
        if admin is not None and workspace.index is not None:
            # The branch moved under it: with this index `git status` there shows a clean worktree again.
            write_whole(admin / "index", workspace.index.read_bytes(), mode=0o644)
    except (PrunError, OSError) as problem:
        return {"branch_note": str(problem)}
    return {}


def _verify(context: RunContext, unit: Unit, workspace: Workspace, found: Capture) -> Verdict:
    """Run the checks in the workspace and note what they changed there."""
    context.note(unit, "verifying")
    folder = context.folder(unit)
    git = _site(context, workspace, open_repository(context.repository.common)).git
    # Only these can differ from the commit already; usually there are none, and the question is spared.
    before = _modified(git) if found.left_out or found.notes else set()
    env = worker_environment({"PRUN_RUN": context.run, "PRUN_UNIT": unit.id})
    verdict = Verdict(state="absent")
    if context.settings.verify != ():
        # An empty list of commands asks for none; only without any list are they looked for.
        verdict = check_workspace(
            workspace.path, context.verify, folder, env=env, timeout=context.verify_timeout, stop=context.stop
        )
    touched = sorted(_modified(git) - before) if verdict.state != "absent" else []
    facts = {"state": verdict.state, "reason": verdict.reason, "checks": [asdict(c) for c in verdict.checks]}
    context.note(unit, "verified", verdict=facts, tree=found.tree, verify_changed=touched)
    return verdict


def _modified(git: Git) -> set[str]:
    """List the tracked files that are not as they were captured."""
    return {os.fsdecode(name) for name in git.run("ls-files", "-z", "--modified").fields}
