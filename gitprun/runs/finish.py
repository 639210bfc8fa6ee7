"""What comes after a worker: its work captured and pinned, its result kept, its work verified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.capture.capture import Capture, CaptureContext, CommitText, Rejected, commit_capture
from gitprun.capture.screen import LeftOut
from gitprun.capture.worker_refs import read_worktree_head
from gitprun.executors.base import Ending
from gitprun.executors.compact import readable_output
from gitprun.git.refs import read_ref
from gitprun.git.trees import tree_of
from gitprun.git.walk import Trees
from gitprun.ledger.events import UnitState
from gitprun.ledger.outcome import NO_RESULT, commit_message, explain_unit, judge_unit, verdict_row
from gitprun.ledger.unit_events import UnitCaptured, UnitVerified, UnitVerifying
from gitprun.ledger.verified_trees import note_verified
from gitprun.model.contract import Result, fallback_result, parse_result
from gitprun.model.escapes import readable
from gitprun.model.globs import outside_fence
from gitprun.model.names import ZERO, Oid, unit_branch, unit_ref
from gitprun.model.units import ExecutorSettings, Unit, Verdict, was_confined
from gitprun.registry.standing import show_in_worktree
from gitprun.runs.context import Attempt, RunContext, modified, open_unit_capture
from gitprun.runs.prepare import temporary_of
from gitprun.system.files import read_plain, tail, write_whole
from gitprun.verify.check import check_workspace
from gitprun.verify.pristine import CheckContext, check_commit
from gitprun.verify.put_back import read_gate_changes
from gitprun.verify.surroundings import surroundings, wish_for_landing, wish_for_worker
from gitprun.verify.view import view_for
from gitprun.workspaces.base import OUTBOX, Workspace

# A result is a page for people; what is larger was not meant as one, and is not loaded into memory.
MAX_RESULT = 4_000_000
# So much of an output's end tells how a worker broke off, and can still be read by a person.
FALLBACK_TAIL = 64_000
NOTHING_CHANGED = UnitVerified(verify_changed=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a unit came to: its final state, and in one line why."""

    state: str
    reason: str


def capture_unit(
    context: RunContext, unit: Unit, site: CaptureContext, found: Capture, worker: str | None, *, again: bool = False
) -> Oid | None:
    """Make the one commit of what was captured, pin it and write it down; None where there is nothing to commit.

    ``again``: the unit was over, and is captured once more.
    """
    row = judged_capture(context, site, found, unit)
    if again:
        # It was a verdict on another tree.
        row = row.into(UnitCaptured, checked=None)
    commit: Oid | None = None
    if found.changed:
        ref = unit_ref(context.run, unit.id)
        # There is one already where a coordinator was killed right after it had made it, or it is captured again.
        before = read_ref(site.repo, ref)
        message = commit_message(context.run, unit, worker, found.own_commits)
        notes = list(row.collect_notes)
        text = CommitText(message=message, who=context.who, note=notes.append)
        commit = commit_capture(site, found, ref, text, before or ZERO)
        row = row.into(UnitCaptured, collect_notes=tuple(notes), commit=commit, ref=ref)
        # The commits made there are pinned beside the captured one, so the worktree may leave them; not a place that a
        # person has gone to since.
        known = {before, site.base, *(oid for _, oid in found.kept)}
        shows = site.workspace.kind == "worktree" and site.workspace.index is not None
        if shows and (not again or _stands_on(context, site) in known):
            row = row.joined(show_in_worktree(context.repository, site, commit))
    context.note(unit, row)
    return commit


def _stands_on(context: RunContext, site: CaptureContext) -> str | None:
    if site.workspace.branch is not None:
        return read_ref(site.repo, f"refs/heads/{site.workspace.branch}")
    return read_worktree_head(context.repository.common, site.workspace.path)


def judge_work(
    unit: Unit, worker: str | None, said: str, *, found: Capture | None, verdict: Verdict, result: Result
) -> Outcome:
    """Judge a unit by its worker, what was captured of it, its checks and its result; ``said`` is the worker's reason.

    The one place that does: an attempt's end, a second capture and a second look at the checks all ask here.
    """
    unfinished, changed = found.unfinished if found else None, bool(found and found.changed)
    # Commits inside a submodule say something only of a unit that has nothing else to show; else its checks do.
    inner = found.inner if found and not changed else ()
    state = judge_unit(
        worker,
        unit.mode,
        changed=changed,
        unfinished=bool(unfinished),
        verdict=verdict.state,
        result=result.valid,
        inner=bool(inner),
    )
    reason = explain_unit(
        state, worker, said, unfinished=unfinished, verdict=verdict.reason, result=result, inner=inner
    )
    return Outcome(state=state, reason=reason)


def needs_checks(found: Capture | None, worker: str | None) -> bool:
    """Check whether there is anything a check can be about: whole work of a worker that says it is done."""
    return found is not None and worker is None and not found.unfinished and bool(found.changed)


def judged_capture(context: RunContext, site: CaptureContext, found: Capture, unit: Unit) -> UnitCaptured:
    """Return what is written down of a capture: also what is outside of the fence, and of its own checks."""
    outside = tuple(outside_fence(found.changed, unit.paths))
    return found.row.into(UnitCaptured, outside=outside, gate=tuple(list_gate_changes(context, site, found)))


def list_gate_changes(context: RunContext, site: CaptureContext, found: Capture) -> list[str]:
    """List in words what the work of a unit changes of the checks it is judged by."""
    if not found.changed:
        return []
    base = tree_of(site.store, site.base)
    return [one.words for one in read_gate_changes(Trees(site.store), base, found.tree, context.verify)]


def recall_capture(known: UnitState) -> Capture | None:
    """Return what was captured of this attempt before, as far as it was; its workspace may have changed since."""
    if known.tree is None:
        return None
    return Capture(
        tree=Oid(known.tree),
        changed=known.changed,
        left_out=tuple(LeftOut(row.path, row.reason, row.size) for row in known.left_out),
        kept=tuple((name, Oid(oid)) for name, oid in known.kept),
        own_commits=known.own_commits,
        rejected=tuple(Rejected(row.name, Oid(row.oid), row.reason, row.place) for row in known.rejected),
        unfinished=known.unfinished,
        notes=known.collect_notes,
        inner=known.inner,
    )


def keep_result(
    context: RunContext, unit: Unit, workspace: Workspace, ending: Ending, worker: str | None
) -> tuple[Result, bool]:
    """Keep the worker's result file, or salvage one; returns what can be read from it and whether it is a fallback."""
    folder = context.folder(unit)
    # A link or a fifo there is no result: a worker must not have us read somebody else's file.
    written = read_plain(workspace.path / OUTBOX / "result.md", MAX_RESULT) or b""
    text = written.decode("utf-8", "replace")
    if not text.strip():
        message = (read_plain(folder / "last-message.txt", MAX_RESULT) or b"").decode("utf-8", "replace")
        last = [said for said in (ending.message, message) if said.strip()]
        # A sandbox may have kept it from writing the file; what it said at last is as good, if it has the form.
        text = next((said for said in last if parse_result(said, unit.id).valid), "")
        if not text:
            reason = ending.reason or (NO_RESULT if worker is None else f"the unit is {worker}")
            output = folder / "output.log"
            gone = "" if output.is_file() else "(its output is gone: somebody deleted it)\n"
            said = gone or readable_output(tail(output, FALLBACK_TAIL))
            if last:
                said = f"The worker's last message:\n\n{readable(last[0])}\n\nThe end of its output:\n\n{said}"
            text = fallback_result(unit.id, reason, said)
    write_whole(folder / "result.md", text.encode("utf-8", "replace"))
    result = parse_result(text, unit.id)
    return result, result.fallback


def verify(context: RunContext, unit: Unit, attempt: Attempt, workspace: Workspace, found: Capture) -> Verdict:
    """Check a unit's work and note the verdict: in its workspace, or in a pristine place where that is asked for.

    In the workspace it says that the worker is done; for a tree that is to land it proves nothing.
    """
    context.note(unit, UnitVerifying())
    site = open_unit_capture(context, attempt, workspace)
    commit = read_ref(site.repo, unit_ref(context.run, unit.id))
    work = WorkToCheck(tree=found.tree, commit=commit, site=site, found=found)
    verdict, noted = ask_checks(context, unit, work, context.folder(unit))
    context.note(unit, noted)
    return verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkToCheck:
    """A unit's work as its checks get it: its tree, the commit that pins it, its workspace as it was captured.

    Without ``site`` and ``found`` (there is no such workspace any more) the checks run in a pristine place.
    """

    tree: Oid
    commit: Oid | None
    site: CaptureContext | None
    found: Capture | None


def ask_checks(context: RunContext, unit: Unit, work: WorkToCheck, logs: Path) -> tuple[Verdict, UnitVerified]:
    """Run the checks of a unit where its settings want them; return the verdict, and what is to be noted of it."""
    tree, commit, site, found = work.tree, work.commit, work.site, work.found
    settings = context.settings
    if settings.verify == ():
        # An empty list of commands asks for none; only without any list are they looked for.
        verdict, noted = Verdict(state="absent"), NOTHING_CHANGED
    elif commit is not None and (settings.verify_in == "pristine" or site is None or found is None):
        verdict, noted = _verify_commit(context, unit, commit, tree, logs)
    else:
        assert site is not None
        assert found is not None
        verdict, noted = _verify_workspace(context, unit, site, found, logs)
    return verdict, UnitVerified(checked=verdict_row(verdict), tree=tree).joined(noted)


def _verify_workspace(
    context: RunContext, unit: Unit, site: CaptureContext, found: Capture, logs: Path
) -> tuple[Verdict, UnitVerified]:
    """Run the checks in the workspace; return what they said, and what they changed there."""
    settings, workspace = context.settings, site.workspace
    # Only these can differ from the commit already; usually there are none, and the question is spared.
    before = modified(site) if found.left_out or found.notes else set()
    confinement = wish_for_worker(unit.executor, unit.sandbox, settings.verify_sandbox, walled=unit.walled)
    own = {"PRUN_RUN": context.run, "PRUN_UNIT": unit.id}
    extra = settings.executors.get(unit.executor, ExecutorSettings()).env
    view = view_for(context.repository, settings, lambda: found.changed)
    with surroundings(confinement, workspace.path, temporary_of(workspace, unit), own, extra, view=view) as usual:
        around = replace(usual, grace=context.grace, output_max=context.output_max)
        verdict = check_workspace(
            workspace.path,
            context.verify,
            logs,
            around=around,
            timeout=context.verify_timeout,
            stop=context.stop,
        )
    # A check that rewrites files was green on a tree that is not the one captured.
    touched = sorted(modified(site) - before) if verdict.state != "absent" else []
    noted = UnitVerified(verify_changed=tuple(touched))
    return verdict, noted.into(UnitVerified, check_notes=verdict.notes) if verdict.notes else noted


def _verify_commit(context: RunContext, unit: Unit, commit: Oid, tree: Oid, logs: Path) -> tuple[Verdict, UnitVerified]:
    """Check the captured commit as a landing on the branch its run began from would: that counts for such a one."""
    # Only who asks for a pristine check pays for loading the landing.
    from gitprun.landing.plan import checking_options
    from gitprun.landing.prove import landing_checks

    settings, heads = context.settings, "refs/heads/"
    own = unit_branch(context.run, unit.id)
    branch = context.revision.removeprefix(heads) if context.revision.startswith(heads) else own
    confinement = wish_for_landing(was_confined(unit.executor, unit.sandbox, unit.walled), settings.verify_sandbox)
    plan = landing_checks(checking_options(settings), confinement, branch)
    notes: list[str] = []
    where = CheckContext(
        repository=context.repository, top=context.root, logs=logs, stop=context.stop, note=notes.append
    )
    verdict = check_commit(where, commit, plan)
    if verdict.state == "pass":
        note_verified(context.ledger, (tree,), plan.way, context.run)
    return verdict, NOTHING_CHANGED.into(UnitVerified, verify_in="pristine", check_notes=tuple(dict.fromkeys(notes)))
