"""Turn everything a worker did into one commit, pinned in the user's repository before anything else happens.

Git stages it (filters, line ends, sparse checkouts are its business) with a git folder of our own and a private
index, both made at creation; the ``.git`` inside the workspace is never used. What it writes crosses over in one
checked pack, so that the user's repository is as it was until all of it is whole there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pygit2

from gitprun.capture.advice import advise
from gitprun.capture.context import CaptureContext
from gitprun.capture.import_objects import ImportLimits, ImportRequest, Rejected, import_objects
from gitprun.capture.import_problem import ImportProblem
from gitprun.capture.portable import describe_names
from gitprun.capture.screen import LeftOut, gather_left_out
from gitprun.capture.signing import NotSigned, wants_signature, write_signed
from gitprun.capture.stage import FilterChanged, StagedTree, stage
from gitprun.capture.tree_scan import ScanProblem, TreeScan, scan_workspace
from gitprun.capture.worker_commits import pin_inner, pin_own_commits, pin_staged
from gitprun.git.limits import keeping_work
from gitprun.git.refs import Signature, move_ref, open_repository, write_commit
from gitprun.git.stale import await_letting_go
from gitprun.git.store import stand_in
from gitprun.git.trees import tree_of
from gitprun.git.walk import Trees, TreeTooDeep
from gitprun.ledger.rows import LeftOutRow, RejectedRow
from gitprun.ledger.unit_events import UnitCaptured
from gitprun.model.errors import GitFailed, GitTimeout, PrunError
from gitprun.model.lists import listed
from gitprun.model.names import ZERO, Oid, RunId, UnitId, short
from gitprun.model.plan import DEFAULT_MAX_FILES
from gitprun.system.files import folder_identity, locked
from gitprun.workspaces.gitdir import ensure_own_git

__all__ = [
    "Capture",
    "CaptureContext",
    "CaptureProblem",
    "LeftOut",
    "Rejected",
    "bring_commit",
    "capture",
    "commit_capture",
    "pin_commits",
    "require_ended",
]  # fmt: skip

# In seconds: a git that a worker's tool left behind lets go of its lock in less; one that hangs holds it for good.
PATIENCE = 5.0
# Left behind by the sandboxes of agents; only where they are empty are they swept.
LITTER = (b".codex", b".agents", b".aws")
# The hooks a commit of the user's would have started.
COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")
# What was staged is bounded already, and may hold files the base has that are larger than any new one may be.
UNBOUNDED = ImportLimits(max_object=1 << 50, max_total=1 << 50, max_objects=10_000_000, seconds=1800.0)


class CaptureProblem(PrunError):
    """The work could not be captured; it lies untouched in its workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What was found: the new tree, its changed paths, what was left out, pinned beside it or rejected.

    ``inner`` are the submodules that hold commits of the worker's own, which are kept and in no tree.
    """

    tree: Oid
    changed: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    kept: tuple[tuple[str, Oid], ...] = ()
    own_commits: tuple[str, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    unfinished: str | None = None
    diverged: str = ""
    notes: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()

    @property
    def row(self) -> UnitCaptured:
        """Return it as it is written down."""
        return UnitCaptured(
            tree=self.tree,
            changed=self.changed,
            files=len(self.changed),
            left_out=tuple(LeftOutRow(path=row.path, reason=row.reason, size=row.size) for row in self.left_out),
            kept=self.kept,
            own_commits=self.own_commits,
            rejected=tuple(
                RejectedRow(name=row.name, oid=row.oid, reason=row.reason, place=row.place) for row in self.rejected
            ),
            unfinished=self.unfinished,
            stray=self.diverged,
            collect_notes=self.notes,
            inner=self.inner,
        )


def require_ended(survivors: Sequence[int]) -> None:
    """Raise CaptureProblem while a process of the worker's is not proved to have ended: it may still write."""
    if survivors:
        # Ten pids fit into a line, and are enough to begin with.
        shown = ", ".join(map(str, survivors[:10]))
        raise CaptureProblem(
            f"{len(survivors)} processes of the worker could not be ended (pid {shown}), so its work is not captured",
            "end them, then: git prun run --resume",
        )


@keeping_work()
def capture(site: CaptureContext, run: RunId, unit: UnitId) -> Capture:
    """Stage everything the worker did and write its tree; pins own commits, branches and a stash at once.

    Raises CaptureProblem when the workspace cannot be read whole; what was committed there is pinned even then.
    """
    path, index = site.workspace.path, site.workspace.index
    # Whatever stands there now was never this unit's: nothing of it may be committed in its name.
    if folder_identity(path) != site.workspace.identity:
        raise CaptureProblem(f"{path} is not the folder prun made", "look at it; prun leaves it alone")
    if index is None or not index.is_file():
        raise CaptureProblem(f"the index kept for {run}/{unit} is gone", f"look at {path} yourself")
    try:
        if site.own is not None:
            ensure_own_git(site.repository, index, site.base, site.workspace.kind)
        pinned = pin_own_commits(site, run, unit)
        with locked(index.with_name("capture.lock"), doing=f"capturing {run}/{unit}"):
            # Under our lock, what still locks the index was left by a git that was killed, or is one whose prun was.
            lock = index.with_name(f"{index.name}.lock")
            await_letting_go(lock, path, patience=PATIENCE)
            lock.unlink(missing_ok=True)
            staged, notes = stage_workspace(site)
        pinned = pin_inner(site, run, unit, pin_staged(site, run, unit, pinned, staged.tree), staged.nested)
        store = site.store
        changed = changed_paths(store, site.base, staged.tree)
        notes += _names(store, site.base, staged.tree) if changed else ()
        notes += _hook_notes(site, staged.hooks) if changed else []
    except (ScanProblem, FilterChanged) as problem:
        raise CaptureProblem(f"the work could not be captured: {problem.message}", problem.hint) from None
    except (GitFailed, GitTimeout, ImportProblem, OSError) as problem:
        said = problem.message if isinstance(problem, PrunError) else str(problem)
        raise CaptureProblem(f"the work in {path} could not be captured: {said}") from None
    left_out = gather_left_out([*staged.left_out, *pinned.left_out])
    notes += advise(site, left_out)
    diverged = _taken_back(site, pinned.parted, staged.tree, changed)
    return Capture(
        tree=staged.tree,
        changed=changed,
        left_out=left_out,
        kept=pinned.kept,
        own_commits=pinned.own_commits,
        rejected=pinned.rejected,
        unfinished=pinned.unfinished,
        diverged=diverged,
        inner=pinned.inner,
        notes=(*notes, *pinned.notes, *([diverged] if diverged else [])),
    )


def pin_commits(site: CaptureContext, run: RunId, unit: UnitId) -> tuple[tuple[str, Oid], ...]:
    """Pin what the worker committed itself; of a linked worktree this works even after its folder is gone."""
    pinned = pin_own_commits(site, run, unit)
    index = site.workspace.index
    if index is not None and index.is_file() and not os.path.lexists(site.workspace.path):
        pinned = pin_staged(site, run, unit, pinned)
    return pinned.kept


def stage_workspace(site: CaptureContext) -> tuple[StagedTree, list[str]]:
    """Write the tree of what is in a workspace now, in its private index; returns notes too."""
    path = site.workspace.path
    # Only who allows more than usual pays for counting beyond it.
    most = site.max_files if site.max_files > DEFAULT_MAX_FILES else 0
    scan = scan_workspace(path, frozenset(map(os.fsencode, (".git", *site.apart))), most=most)
    notes = _defuse(site, scan)
    staged = stage(site, scan)
    if staged.noise:
        notes.append(
            f"{staged.noise} files differ by line-end normalisation only and were left as they are in the base"
        )
    return staged, [*notes, *staged.notes]


def _names(repo: pygit2.Repository, base: Oid, tree: Oid) -> tuple[str, ...]:
    """List which new names trouble other systems."""
    trees, before = Trees(repo), tree_of(repo, base)
    try:
        return describe_names(trees, before, tree, trees.compare(before, tree))
    except TreeTooDeep:
        # No repository takes that in, and it is refused with its own words.
        return ()


def _defuse(site: CaptureContext, scan: TreeScan) -> list[str]:
    """Unlink what git would wait for (it holds no content), and put the base's version in its place."""
    notes = []
    for name in scan.traps:
        text = os.fsdecode(name)
        target = site.workspace.path / text
        # A fifo or device holds nothing to keep, and a git that opens it would wait for good.
        target.unlink()
        notes.append(f"{text} was no plain file and was removed, since git would wait for it")
        mode, content = site.base_mode(text), site.base_blob(text)
        if content is not None and mode is not None and stat.S_ISREG(mode):
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o777), "wb") as restored:
                restored.write(content)
    for litter in LITTER:
        try:
            os.rmdir(os.path.join(os.fsencode(site.workspace.path), litter))
        except OSError:
            continue
    return notes


def _hook_notes(site: CaptureContext, configured: str) -> list[str]:
    """List the hooks of the user's that a commit would have started."""
    folder = site.repository.common / "hooks"
    if configured:
        # A relative one counts from the checkout.
        folder = (site.repository.top or site.repository.common) / os.path.expanduser(configured)
    names = [name for name in COMMIT_HOOKS if os.access(folder / name, os.X_OK)]
    return [f"hooks not run: {', '.join(names)}"] if names else []


def _taken_back(site: CaptureContext, parted: Oid | None, tree: Oid, changed: Sequence[str]) -> str:
    """List which changes the base had since a commit are gone again, since the worker worked on from that one."""
    if parted is None:
        return ""
    # What differs from the base, and not from that commit.
    lost = sorted({*changed} - {*changed_paths(site.store, parted, tree)})
    if not lost:
        return ""
    way = f"its worker left the base {short(site.base)} for {short(parted)}"
    return f"{way}, so it takes back what came between, in {listed(lost, 1)}"


def changed_paths(repo: pygit2.Repository, base: Oid, tree: Oid) -> tuple[str, ...]:
    """List the paths that differ between a commit's tree and another tree."""
    before, after = repo[base].peel(pygit2.Tree), repo[tree].peel(pygit2.Tree)
    found: set[str] = set()
    for delta in before.diff_to_tree(after).deltas:
        found.update((os.fsdecode(delta.old_file.raw_path), os.fsdecode(delta.new_file.raw_path)))
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitText:
    """What a commit says: its message, author and committer.

    Where ``note`` hears of it when that fails, it is signed if the user signs commits.
    """

    message: str
    who: tuple[Signature, Signature]
    note: Callable[[str], None] | None = None


@keeping_work()
def commit_capture(site: CaptureContext, found: Capture, ref: str, text: CommitText, old: Oid = ZERO) -> Oid:
    """Make the one commit of a unit on its base and pin it; the ref moves only after all of it is whole there."""
    run, _, unit = ref.removeprefix("refs/prun/").removeprefix("kept/").partition("/")
    names = {"run": run, "unit": unit.partition("/")[0]}
    commit = bring_commit(site, found.tree, site.base, text, **names)
    move_ref(site.repo, ref, commit, old, "prun: captured")
    return commit


@keeping_work()
def bring_commit(site: CaptureContext, tree: Oid, parent: Oid, text: CommitText, *, run: str, unit: str) -> Oid:
    """Make a commit of a captured tree and bring it into the user's repository; no ref moves.

    Raises CaptureProblem, with the user's repository as it was, when the work is not fit for it.
    """
    message, who, note = text.message, text.who, text.note
    # Made by an older prun: there the user's own folder was written to, and the user's settings hold.
    if site.own is None:
        return write_commit(site.repo, tree, (parent,), message, *who)
    own, objects = site.own, site.own / "objects"
    # Whether it is whole is found out when it crosses; there it is synced, too.
    commit: Oid | None = None
    if note is not None and wants_signature(site):
        try:
            commit = write_signed(site, tree, parent, message, who)
        except NotSigned as problem:
            note(problem.message)
    if commit is None:
        writer = stand_in(site.git, objects, lambda: open_repository(own))
        commit = write_commit(writer, tree, (parent,), message, *who)
    came = import_objects(
        site.repository,
        ImportRequest(
            run=run, unit=unit, objects=objects, tips={"capture": commit}, base=parent, limits=UNBOUNDED, parent=True
        ),
    )
    if "capture" not in came.taken:
        row = came.rejected[0]
        raise CaptureProblem(
            f"the work of {run}/{unit} was captured, but is not fit for your repository: {row.reason}",
            f"it is kept in {row.place or objects}" + f", and lies untouched in {site.workspace.path}",
        )
    return commit
