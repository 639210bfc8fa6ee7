"""Bring captured work onto the branch of its workspace, through the user's hooks; what may not go there is pinned."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pygit2

from gitprun.capture.capture import Capture, CommitText, bring_commit, stage_workspace
from gitprun.capture.context import CaptureContext
from gitprun.capture.worker_refs import read_head
from gitprun.git.command import Git
from gitprun.git.refs import Signature, delete_ref, move_ref, read_ref
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.landing.commit import NewCommit, finish_message, read_message_file, write_message_file, write_new_commit
from gitprun.landing.hooks import Hooks, find_hooks, run_hook
from gitprun.landing.settings import hooks_folder, read_merge_settings
from gitprun.landing.touched import withhold_changed
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.roster import NAMED
from gitprun.model.errors import GitFailed, OperationRefused, PrunError
from gitprun.model.names import ZERO, Oid, UnitId, kept_ref, parse_oid
from gitprun.registry.fork import count_since
from gitprun.registry.open_workspace import pin_name
from gitprun.registry.trash import retire_ref
from gitprun.system.files import locked, write_whole
from gitprun.workspaces.worktree import admin_folder

COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
MANAGED = ("core.bare=false", "core.safecrlf=false", "submodule.recurse=false")

# committed: by us. own: by the worker, on the branch, and nothing is left to commit. empty: nothing was done.
# earlier: nothing was done, and the branch has commits from before. kept: pinned beside the branch, for a reason.
OutcomeState = Literal["committed", "own", "earlier", "empty", "kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOutcome:
    """What became of the work: the commit it is in, the ref that pins it where no branch does, and why.

    ``own`` counts the commits its worker made itself, ``earlier`` those the branch had before since it forked.
    """

    state: OutcomeState
    commit: Oid | None = None
    ref: str = ""
    reason: str = ""
    own: int = 0
    earlier: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One worker's work to be committed.

    ``obstacle`` says why it must not go onto the branch (empty: nothing does), ``message`` writes its message from
    the commit it goes on. ``fork`` is the commit its branch began at.
    """

    site: CaptureContext
    name: UnitId
    found: Capture
    who: tuple[Signature, Signature]
    obstacle: str
    fork: Oid
    message: Callable[[Oid], str]

    @property
    def branch(self) -> str:
        """Return the full name of its branch."""
        return f"refs/heads/{self.site.workspace.branch}"


def commit_work(work: Work) -> CommitOutcome:
    """Commit what was captured onto the branch, or pin it; whatever fails on the way, it is pinned before."""
    site, repo = work.site, work.site.repo
    tip = read_ref(repo, work.branch)
    moved = _explain_move(site, tip) or work.found.diverged
    # On top of what the worker committed itself, if that goes on from where it began.
    parent = site.base if moved or tip is None else tip
    own = 0 if moved else count_since(site.repository, site.base, parent)
    if work.found.tree == tree_of(repo, parent):
        if work.obstacle or moved:
            return CommitOutcome(state="kept" if moved else "empty", reason=work.obstacle or moved, own=own)
        earlier = 0 if own else count_since(site.repository, work.fork, parent)
        state: OutcomeState = "own" if own else "earlier" if earlier else "empty"
        return CommitOutcome(state=state, commit=None if state == "empty" else parent, own=own, earlier=earlier)
    text = work.message(parent)
    # Before any hook runs: a hook that hangs and is killed leaves the work under a name.
    pin, pinned = _pin(work, parent, text)
    if work.obstacle or moved:
        return CommitOutcome(state="kept", commit=pinned, ref=pin, reason=work.obstacle or moved, own=own)
    try:
        commit, notes = _through_hooks(work, parent, text)
    except PrunError as problem:
        notes = (problem.hint,) if problem.hint else ()
        return CommitOutcome(state="kept", commit=pinned, ref=pin, reason=problem.message, own=own, notes=notes)
    # The commit holds what the pin held: the branch names it, and nobody needs the pin.
    if tree_of(repo, commit) == work.found.tree:
        delete_ref(repo, pin, pinned)
    else:
        ledger, why = Ledger(site.repository.state), "it was committed as the hooks changed it"
        retire_ref(site.repository, ledger, pin, why=why, of=f"{NAMED}/{work.name}", old=pinned)
    return CommitOutcome(state="committed", commit=commit, own=own, notes=notes)


def _explain_move(site: CaptureContext, tip: Oid | None) -> str:
    """Return why the branch is not where work can go onto it; empty if it is."""
    branch = site.workspace.branch
    if tip is None:
        return f"the branch {branch} is gone"
    if tip == site.base:
        return ""
    if site.workspace.kind == "clone":
        return f"the branch {branch} was moved while the worker was at work"
    forward = site.repo.descendant_of(pygit2.Oid(hex=tip), pygit2.Oid(hex=site.base))
    return "" if forward else f"the branch {branch} was rewritten while the worker was at work"


def _pin(work: Work, parent: Oid, text: str) -> tuple[str, Oid]:
    """Pin the work as a commit of its own, under the first number that is free or holds the very same."""
    repo, tree = work.site.repo, work.found.tree
    for number in itertools.count(1):
        ref = kept_ref(NAMED, work.name, f"attempt-{number}")
        old = read_ref(repo, ref)
        if old is None:
            commit = bring_commit(
                work.site, tree, parent, CommitText(message=text, who=work.who), run=NAMED, unit=work.name
            )
            move_ref(repo, ref, commit, ZERO, "prun: kept before it is committed")
            return ref, commit
        if tree_of(repo, old) == tree and [str(oid) for oid in repo[old].peel(pygit2.Commit).parent_ids] == [parent]:
            return ref, old
    raise AssertionError("numbers do not end")


def _through_hooks(work: Work, parent: Oid, text: str) -> tuple[Oid, tuple[str, ...]]:
    """Make the commit as git would there: hooks, signature, message clean-up.

    Raises OperationRefused when one says no.
    """
    site, repository = work.site, work.site.repository
    settings = read_merge_settings(repository.git)
    main = main_checkout(repository)
    hooks = find_hooks(hooks_folder(settings, repository.common, main), COMMIT_HOOKS)
    tree, index = work.found.tree, site.workspace.index
    trees = (tree_of(site.repo, site.base), tree)
    # What the worker changed of what a hook calls would run in the user's name.
    hooks = withhold_changed(repository, site.repo, hooks, settings, main, trees)
    with _room(site, work.branch) as git:
        # Hooks cost a start of git each; most repositories have none.
        if {*hooks.names} - {"post-commit"}:
            tree, text = _consult(git, hooks, text, lambda: _take_mended(work, git, parent, text))
        text = finish_message(repository.git, settings, text)
        if not text.strip():
            raise OperationRefused("a hook left no message")
        if tree == tree_of(site.repo, parent):
            raise OperationRefused("the pre-commit hook took every change back")
        new = NewCommit(tree=tree, parents=(parent,), message=text, who=work.who)
        commit = write_new_commit(repository.git, site.repo, settings, new)
        # Hooks are programs, and some of them commit.
        if read_ref(site.repo, work.branch) != parent:
            raise OperationRefused(f"a hook moved the branch {site.workspace.branch}")
        move_ref(site.repo, work.branch, commit, parent, f"commit: {text.splitlines()[0]}")
        if index is not None:
            # Only now: until the branch holds the commit, the capture's index is what the next one starts from.
            os.replace(git.env["GIT_INDEX_FILE"], index)
    _follow(work, commit)
    if "post-commit" in hooks.names:
        # The commit is made: as with git, a post-commit hook cannot take it back.
        with contextlib.suppress(PrunError), _room(site, work.branch) as git:
            run_hook(git, hooks.folder, "post-commit")
    return commit, hooks.notes


def _take_mended(work: Work, git: Git, parent: Oid, text: str) -> bool:
    """Stage what a hook changed in the files of the workspace, as a capture does; returns whether there is any."""
    site, index = work.site, work.site.workspace.index
    assert index is not None
    with locked(index.with_name("capture.lock"), doing=f"capturing {work.name}"):
        staged = stage_workspace(site)[0]
    if staged.tree == work.found.tree:
        return False
    bring_commit(site, staged.tree, parent, CommitText(message=text, who=work.who), run=NAMED, unit=work.name)
    shutil.copy2(index, git.env["GIT_INDEX_FILE"])
    return True


def _consult(git: Git, hooks: Hooks, text: str, mended: Callable[[], bool]) -> tuple[Oid, str]:
    """Run the hooks before a commit; returns the tree and the message they leave.

    A pre-commit hook that mends files and says no is asked once more with its changes, which ``mended`` stages.
    """
    if "pre-commit" in hooks.names:
        try:
            run_hook(git, hooks.folder, "pre-commit")
        except OperationRefused:
            if not mended():
                raise
            run_hook(git, hooks.folder, "pre-commit")
    try:
        tree = parse_oid(git.run("write-tree").text)
    except GitFailed as problem:
        raise OperationRefused(f"the pre-commit hook left an index that is no tree: {problem.message}") from None
    place = Path(git.env["GIT_DIR"]) / "COMMIT_EDITMSG"
    write_message_file(place, text)
    if "prepare-commit-msg" in hooks.names:
        run_hook(git, hooks.folder, "prepare-commit-msg", str(place), "message")
    if "commit-msg" in hooks.names:
        run_hook(git, hooks.folder, "commit-msg", str(place))
    return tree, read_message_file(place)


@contextmanager
def _room(site: CaptureContext, branch: str) -> Iterator[Git]:
    """Yield git as a hook is to find it: in the workspace, on its branch, with a copy of the index of the capture.

    A clone's own ``.git`` is never used: for it a git folder is put together that borrows everything from the user's.
    """
    path, index = site.workspace.path, site.workspace.index
    assert index is not None
    admin = admin_folder(site.repository.common, path) if site.workspace.kind == "worktree" else None
    if admin is None:
        admin = index.with_name("git")
        admin.mkdir(exist_ok=True)
        (admin / "commondir").write_bytes(os.fsencode(site.repository.common) + b"\n")
        (admin / "HEAD").write_bytes(os.fsencode(f"ref: {branch}\n"))
    copied = index.with_name("index.hooks")
    shutil.copy2(index, copied)
    env = {"GIT_DIR": str(admin), "GIT_WORK_TREE": str(path), "GIT_INDEX_FILE": str(copied)}
    try:
        yield Git(cwd=path, env=env, config=MANAGED)
    finally:
        copied.unlink(missing_ok=True)


def _follow(work: Work, commit: Oid) -> None:
    """Show a worktree its new commit, and note where the workspace stands now."""
    site = work.site
    pin = pin_name(work.name)
    old = read_ref(site.repo, pin)
    if old != commit:
        move_ref(site.repo, pin, commit, old or ZERO, "prun: base of a workspace")
    admin = admin_folder(site.repository.common, site.workspace.path)
    if site.workspace.kind != "worktree" or admin is None or site.workspace.index is None:
        return
    if read_head(admin / "HEAD") == work.branch:
        with contextlib.suppress(OSError):
            # The branch moved under it: with this index `git status` there shows a clean worktree again.
            write_whole(admin / "index", site.workspace.index.read_bytes(), mode=0o644)


def main_checkout(repository: Repository) -> Path:
    """Return the checkout whose hooks and settings count: the main one, or where that is none, the one we are in."""
    main = repository.home
    return main if repository.common == main / ".git" or repository.top is None else repository.top


def describe_stat(git: Git, parent: Oid, tree: Oid) -> str:
    """Return the diff stat of a commit to be made."""
    words = ("--no-ext-diff", "--no-textconv", "--no-color", "--stat", "--ignore-submodules=none")
    return replace(git, env={**git.env, "COLUMNS": "80"}).run("diff", *words, parent, tree, "--").text
