"""The user's merge hooks, run as ``git merge`` does but in a private checkout, so that a refusal leaves no trace.

The checkout has a git folder of its own: a hook finds the target checked out as its branch, and whatever it does to
refs, settings or the index it does there. Only the tree and the message it leaves are taken over.
"""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import write_object
from gitprun.git.repo import Repository, read_config
from gitprun.git.trees import GITLINK, TreeChange, parse_change, show_path
from gitprun.git.walk import Trees
from gitprun.landing.commit import read_message_file, write_message_file
from gitprun.landing.guard import Target
from gitprun.landing.plan import News
from gitprun.landing.settings import MergeSettings
from gitprun.model.errors import GitFailed, GitStopped, GitTimeout, OperationRefused, PrunError, first_words
from gitprun.model.lists import join_few
from gitprun.model.names import PRUN_REFS, Oid, short
from gitprun.system.files import folder_identity, remove_tree
from gitprun.workspaces.base import provide, require_room

# Hooks that run linters and tests take minutes; one that waits for a terminal takes for ever.
HOOK_TIMEOUT = 300.0
_SILENT = ("core.hooksPath=/dev/null", "submodule.recurse=false")
# A hook may well fetch, tags too; that is nothing a landing would have to take along.
_FETCHED = ("refs/remotes/", "refs/prefetch/", "refs/tags/")
_HEAD = "HEAD"


def run_hook(git: Git, folder: Path, name: str, *args: str) -> None:
    """Run one hook with nothing on stdin; raises OperationRefused, with its words, when it says no or does not end."""
    # By the folder of the real repository: core.hooksPath may be relative, and the room lies elsewhere.
    pinned = Git(cwd=git.cwd, env=git.env, config=(*git.config, f"core.hooksPath={folder}"))
    try:
        pinned.run("hook", "run", "--ignore-missing", name, "--", *args, timeout=HOOK_TIMEOUT)
    # Ctrl-C while a hook runs is no refusal of the hook.
    except GitStopped:
        raise
    except GitTimeout:
        raise OperationRefused(f"the {name} hook did not finish within {HOOK_TIMEOUT:g} s") from None
    except GitFailed as problem:
        said = first_words(problem.stderr) or f"exit code {problem.code}"
        raise OperationRefused(f"the {name} hook refused: {said}") from None


@dataclass(frozen=True, slots=True)
class HookRoom:
    """A private checkout of the branch ``ref`` in which the hooks of one landing run."""

    path: Path
    ref: str
    trees: Trees

    def consult(self, hooks: Hooks, *, main: Oid, unit: Oid, branch: str, tree: Oid, message: str) -> tuple[Oid, str]:
        """Run the hooks on one merge about to be committed; returns the tree and message they leave.

        Raises OperationRefused when one says no, or moves a branch.
        """
        # What git sets for hooks of a merge; by PRUN_LANDING prun's own gates know that a landing has asked already.
        env = {"PRUN_LANDING": "1", f"GITHEAD_{unit}": branch, "GIT_REFLOG_ACTION": f"merge {branch}"}
        # Our own steps run no hook: the user's would see each of them as a commit or checkout of its own.
        git, quiet = Git(cwd=self.path, env=env), Git(cwd=self.path, config=_SILENT)
        # The branch in the room stands where the merge goes on from: hooks compare with HEAD.
        quiet.run("update-ref", self.ref, main)
        before = _read_refs(quiet)
        try:
            # --reset: the merge before it in the train may have left files of its own here.
            quiet.run("read-tree", "--reset", "-u", tree)
        except GitFailed as problem:
            raise OperationRefused(f"the merged files could not be laid out for the hooks: {problem.message}") from None
        git_dir = self.path / ".git"
        text = git_dir / "MERGE_MSG"
        try:
            if "pre-merge-commit" in hooks.names:
                _run_mending(git, quiet, hooks.folder, "pre-merge-commit")
                tree = self._staged(quiet, tree)
            # As git has it: the first hook does not see these yet.
            (git_dir / "MERGE_HEAD").write_text(f"{unit}\n")
            (git_dir / "MERGE_MODE").write_text("no-ff")
            write_message_file(text, message)
            if "prepare-commit-msg" in hooks.names:
                run_hook(git, hooks.folder, "prepare-commit-msg", str(text), "merge")
            if "commit-msg" in hooks.names:
                run_hook(git, hooks.folder, "commit-msg", str(text))
            # A commit takes it away.
            said = read_message_file(text) if text.is_file() else ""
        finally:
            for name in ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG"):
                (git_dir / name).unlink(missing_ok=True)
            # In any case, also after a refusal: the next merge of the train uses the same room.
            moved = self._put_back(quiet, before)
        if moved:
            raise OperationRefused(moved)
        return tree, said

    def _staged(self, git: Git, tree: Oid) -> Oid:
        try:
            return copy_staged(git, self.trees, tree)[0]
        except (GitFailed, UnfitContent) as problem:
            raise OperationRefused(
                f"what the pre-merge-commit hook staged cannot be committed: {problem.message}"
            ) from None

    def _put_back(self, git: Git, before: Mapping[str, str]) -> str:
        """Put refs back where they were before the hooks ran; returns what had moved, in words."""
        now = _read_refs(git)
        moved = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
        if not moved:
            return ""
        # As a symbolic ref again: a hook may have detached it, and update-ref would write an id into it.
        git.run("symbolic-ref", _HEAD, self.ref)
        changed = [name for name in moved if name != _HEAD]
        rows = [f"update {name} {before[name]}\n" if name in before else f"delete {name}\n" for name in changed]
        git.run("update-ref", "--no-deref", "--stdin", stdin="".join(rows).encode("utf-8", "surrogateescape"))
        if {_HEAD, self.ref} & set(moved):
            where = short(now[self.ref]) if self.ref in now else "nowhere"
            told = f"{self.ref.removeprefix('refs/heads/')} would be at {where}"
            return f"a hook made commits of its own, which a merge cannot take along ({told})"
        return f"a hook changed {moved[0]}, which a merge cannot take along"


def _read_refs(git: Git) -> dict[str, str]:
    """Return every ref of the room but those a fetch makes, and the branch that is checked out."""
    rows = git.run("for-each-ref", "--format=%(objectname) %(refname)").out.decode("utf-8", "surrogateescape")
    found = {name: oid for oid, _, name in (row.partition(" ") for row in rows.split("\n")[:-1])}
    head = git.run("symbolic-ref", "--quiet", _HEAD, ok=(0, 1, 128)).text
    return {_HEAD: head} | {name: oid for name, oid in found.items() if not name.startswith(_FETCHED)}


def _run_mending(git: Git, quiet: Git, folder: Path, name: str) -> None:
    """Run a hook that looks at files; one that mends them and says no is asked once more, with its changes staged."""
    try:
        run_hook(git, folder, name)
    except OperationRefused:
        # It changed nothing, so asking again would give the same answer.
        if not quiet.run("diff-files", "--quiet", "--ignore-submodules=all", ok=(0, 1)).code:
            raise
        # Tracked files only: what a hook leaves behind beside them (caches, reports) is none of the merge.
        quiet.run("add", "--update", ".")
        run_hook(git, folder, name)


@contextmanager
def hook_room(
    repository: Repository,
    trees: Trees,
    folder: Path,
    target: Target,
    *,
    copy: Sequence[str] = (),
    link: Sequence[str] = (),
) -> Iterator[HookRoom]:
    """Keep such a checkout in ``folder`` while the block runs, with the untracked things named in it."""
    ref, start = target.ref, target.tip
    # Four bytes: a folder that a killed landing left is hardly ever met again.
    path = folder / f"hooks-{secrets.token_hex(4)}"
    # Before the checkout is laid out: a full disk in the middle of it would look like a hook's refusal.
    require_room(folder, path)
    branch = ref.removeprefix("refs/heads/")
    git = Git(cwd=folder, config=("init.defaultRefFormat=files",))
    # No template: the user's own may bring hooks, and they would run in here.
    git.run("init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={branch}", str(path))
    # So that in the end this folder goes, and not one that a hook put in its place.
    identity = folder_identity(path)
    if identity is None:
        raise PrunError(f"{path} vanished while it was made")
    try:
        _fill(repository, path, ref, start)
        Git(cwd=path, config=_SILENT).run("read-tree", "--reset", "-u", start)
        provide(repository.top, path, copy, link)
        yield HookRoom(path, ref, trees)
    finally:
        remove_tree(path, identity)


def _fill(repository: Repository, path: Path, ref: str, start: Oid) -> None:
    """Fill a fresh repository with objects, refs and settings of the user's: by reference, by copy, by inclusion."""
    from gitprun.workspaces.clone import render_alternates, render_setting

    inside, common, git = path / ".git", repository.common.resolve(), repository.git
    (inside / "objects" / "info").mkdir(parents=True, exist_ok=True)
    (inside / "objects" / "info" / "alternates").write_bytes(render_alternates(common / "objects"))
    # Packed, not written one by one: a repository may have a hundred thousand refs.
    rows = git.run("for-each-ref", "--format=%(objectname) %(refname) %(symref)").out.split(b"\n")[:-1]
    packed = [b"# pack-refs with: sorted \n"]
    for row in rows:
        oid, name, target = row.split(b" ")
        # prun's own are no business of hooks; the others belong to one worktree alone.
        if name.startswith((PRUN_REFS.encode(), b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/")):
            continue
        if target:
            place = inside / os.fsdecode(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"ref: " + target + b"\n")
        else:
            # The target stands where the landing began, even if it has moved since.
            packed.append(b"%s %s\n" % (start.encode() if os.fsdecode(name) == ref else oid, name))
    (inside / "packed-refs").write_bytes(b"".join(packed))
    (inside / "info").mkdir(exist_ok=True)
    # For hooks that look for one another in the git folder.
    (inside / "hooks").symlink_to(common / "hooks")
    mine = repository.git_dir.resolve()
    # Without its patterns the settings of a sparse checkout mean nothing, and all of it would be laid out.
    copied = [common / name for name in ("info/exclude", "info/attributes", "shallow")]
    for source in (*copied, mine / "info" / "sparse-checkout"):
        if source.is_file():
            (inside / ("shallow" if source.name == "shallow" else f"info/{source.name}")).write_bytes(
                source.read_bytes()
            )
    # The user's own settings, so that hooks find what they look for; below them what makes this a place of its own.
    known = read_config(git)
    own = [common / "config"]
    if known.get("extensions.worktreeconfig", "").lower() == "true":
        own.append(mine / "config.worktree")
    settings = [("include.path", str(one)) for one in own if one.is_file()]
    settings += [
        ("core.bare", "false"),
        # Its objects are the user's: git must not pack or prune them from in here.
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
    ]
    # The user's value would point git at the user's own files.
    if "core.worktree" in known:
        settings.append(("core.worktree", str(path)))
    with open(inside / "config", "ab") as config:
        # Appended, so that these rows come last and win.
        config.write("".join(render_setting(*one) for one in settings).encode("utf-8", "surrogateescape"))


# What git runs once a branch has moved and its checkout follows; an undo is no merge.
AFTER_UNDO = ("post-index-change", "reference-transaction")
AFTER_LANDING = ("post-merge", *AFTER_UNDO)
_BY_HAND = {"post-merge": "git hook run post-merge -- 0", "post-index-change": "git hook run post-index-change -- 1 0"}
MERGE_HOOKS = ("pre-merge-commit", "prepare-commit-msg", "commit-msg")


@dataclass(frozen=True, slots=True)
class Hooks:
    """The merge hooks there are, in git's order, and where they lie."""

    folder: Path
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def find_hooks(folder: Path, wanted: Sequence[str] = MERGE_HOOKS) -> Hooks:
    """Find the hooks git would run; one that is not executable is passed over and named in a note."""
    names, notes = [], []
    for name in wanted:
        if not (folder / name).is_file():
            continue
        # Git passes over a hook that is not executable, with a hint that nobody sees here.
        if os.access(folder / name, os.X_OK):
            from gitprun.guards.install import is_gate_alone

            # Our own gates are for merges made with git itself: a landing has looked already.
            if not is_gate_alone(folder, name):
                names.append(name)
        else:
            notes.append(f"the hook {folder / name} is not executable, so it does not run")
    return Hooks(folder, tuple(names), tuple(notes))


def describe_not_run(folder: Path, changed: Sequence[str], target: Target, new: Oid, wanted: Sequence[str]) -> str:
    """Return a line on hooks that are not run because the move changes them, and how each is run by hand."""
    names = find_hooks(folder, wanted).names
    if not names:
        return f"no hook was run: {join_few(changed)} changed"
    told = f"echo {target.tip} {new} {target.ref} | {shlex.quote(str(folder / 'reference-transaction'))} committed"
    commands = "; ".join(_BY_HAND.get(name, told) for name in names)
    return f"not run, because {join_few(changed)} changed: {', '.join(names)}; read what they do, then run: {commands}"


class UnfitContent(PrunError):
    """What a command made cannot become part of a commit."""


def copy_staged(git: Git, trees: Trees, tree: Oid) -> tuple[Oid, tuple[TreeChange, ...]]:
    """Return the tree that an index holds, with its files written into ``trees``, and how it differs from ``tree``.

    Raises UnfitContent where that cannot be.
    """
    options = ("--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
    fields = git.run("diff-index", *options, tree).fields
    changes = [parse_change(about, name) for about, name in zip(fields[::2], fields[1::2], strict=True)]
    for change in changes:
        if GITLINK in (change.old_mode, change.new_mode):
            raise UnfitContent(f"they change the submodule {show_path(change.path)}", "commit that by hand")
        if not change.removed:
            content = git.run("cat-file", "blob", change.new).out
            # The room's objects go away with it, so each file is written into the user's, and compared on the way.
            if write_object(trees.repo, "blob", content) != change.new:
                raise UnfitContent(f"{show_path(change.path)} changed while it was read")
    after = trees.apply(tree, changes)
    if after is None:
        raise UnfitContent("what they make cannot be put into the merged tree")
    return after, tuple(changes)


def describe_hooks(settings: MergeSettings, hooks: Hooks) -> Iterator[str]:
    """Yield what a landing tells of hooks: those that run, and a folder of them that is not there."""
    yield from hooks.notes
    if hooks.names:
        yield News(f"hooks run on each merge: {', '.join(hooks.names)}")
    if settings.hooks and not hooks.folder.is_dir() and settings.hooks != os.devnull:
        yield f"core.hooksPath names {hooks.folder}, which is not there: no hook is active"
