"""The user's merge hooks, run as ``git merge`` does but in a private worktree, so that a refusal leaves no trace."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitprun.errors import GitFailed, GitStopped, GitTimeout, PrunError, Refused, first_words
from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.git.trees import read_tree_of
from gitprun.merge.commit import read_message_file, write_message_file
from gitprun.merge.hook_list import Hooks
from gitprun.names import Oid, parse_oid
from gitprun.system.files import folder_identity, locked
from gitprun.workspaces.base import provide, require_room
from gitprun.workspaces.worktree import admin_folder, remove_worktree

HOOK_TIMEOUT = 300.0
_SILENT = ("core.hooksPath=/dev/null", "submodule.recurse=false")


def run_hook(git: Git, folder: Path, name: str, *args: str) -> None:
    """Run one hook with nothing on stdin; raises Refused with its first word when it says no or does not end."""
    pinned = Git(cwd=git.cwd, env=git.env, config=(*git.config, f"core.hooksPath={folder}"))
    try:
        pinned.run("hook", "run", "--ignore-missing", name, "--", *args, timeout=HOOK_TIMEOUT)
    except GitStopped:
        raise
    except GitTimeout:
        raise Refused(f"the {name} hook did not finish within {HOOK_TIMEOUT:g} s") from None
    except GitFailed as problem:
        said = first_words(problem.stderr) or f"exit code {problem.code}"
        raise Refused(f"the {name} hook refused: {said}") from None


@dataclass(frozen=True, slots=True)
class HookRoom:
    """A private linked worktree in which the hooks of one landing run."""

    path: Path
    git_dir: Path

    def consult(self, hooks: Hooks, *, main: Oid, unit: Oid, tree: Oid, message: str) -> tuple[Oid, str]:
        """Run the hooks on one merge about to be committed; give the tree and message they leave.

        Raises Refused when one says no.
        """
        git = Git(cwd=self.path, env={"PRUN_LANDING": "1"})
        quiet = Git(cwd=self.path, config=_SILENT)
        quiet.run("update-ref", "--no-deref", "HEAD", main)
        try:
            quiet.run("read-tree", "--reset", "-u", tree)
        except GitFailed as problem:
            raise Refused(f"the merged files could not be laid out for the hooks: {problem.message}") from None
        text = self.git_dir / "MERGE_MSG"
        try:
            if "pre-merge-commit" in hooks.names:
                run_hook(git, hooks.folder, "pre-merge-commit")
                tree = _written(quiet)
            # As git has it: the first hook does not see these yet.
            (self.git_dir / "MERGE_HEAD").write_text(f"{unit}\n")
            (self.git_dir / "MERGE_MODE").write_text("no-ff")
            write_message_file(text, message)
            if "prepare-commit-msg" in hooks.names:
                run_hook(git, hooks.folder, "prepare-commit-msg", str(text), "merge")
            if "commit-msg" in hooks.names:
                run_hook(git, hooks.folder, "commit-msg", str(text))
            if read_tree_of(git, "HEAD") != read_tree_of(git, main):
                raise Refused("a hook made commits of its own, which a merge cannot take along")
            return tree, read_message_file(text)
        finally:
            for name in ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG"):
                (self.git_dir / name).unlink(missing_ok=True)


def _written(git: Git) -> Oid:
    try:
        return parse_oid(git.run("write-tree").text)
    except GitFailed as problem:
        raise Refused(f"the pre-merge-commit hook left an index that is no tree: {problem.message}") from None


@contextmanager
def hook_room(
    repository: Repository, folder: Path, start: Oid, *, copy: Sequence[str] = (), link: Sequence[str] = ()
) -> Iterator[HookRoom]:
    """Keep a linked worktree in ``folder`` while the block runs, with the untracked things named in it."""
    path = folder / f"hooks-{secrets.token_hex(4)}"
    require_room(folder, path)
    git = Git(cwd=repository.top or repository.common, config=_SILENT)
    with locked(repository.state / "locks" / "worktree.lock", doing="making a worktree"):
        git.run("worktree", "add", "--quiet", "--detach", "--no-checkout", str(path), start)
    identity, admin = folder_identity(path), admin_folder(repository.common, path)
    if identity is None or admin is None:
        raise PrunError(f"{path} vanished while it was made")
    try:
        Git(cwd=path, config=_SILENT).run("read-tree", "--reset", "-u", start)
        provide(repository.top, path, copy, link)
        yield HookRoom(path, admin)
    finally:
        remove_worktree(repository, path, identity)
