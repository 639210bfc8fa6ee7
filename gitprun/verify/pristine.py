"""A pristine place of one commit, and the checks run in it: what they say is a verdict on exactly that tree.

Nothing of a worker's folder is there: git checks the commit out, then comes what the configuration provides (copies,
links, setup). Between two commands whatever one changed or made is put back, so that each starts from the tree itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.git.trees import show_path
from gitprun.model.errors import PrunError
from gitprun.model.globs import matches
from gitprun.model.lists import listed
from gitprun.model.names import Oid, is_run_id
from gitprun.model.plan import DEFAULT_VERIFY_TIMEOUT, MAY_CHANGE, VerifyView
from gitprun.model.units import CheckResult, Verdict
from gitprun.supervisor.process import Stop
from gitprun.system.files import folder_identity, is_held, make_held, read_plain, remove_tree, write_whole
from gitprun.system.sharing import make_private
from gitprun.verify.check import CheckPlace, SetupFailed, judge_all, run_checks, run_setup, workspace_checks
from gitprun.verify.recipes import Check
from gitprun.verify.surroundings import ConfinementRequest, Surroundings, surroundings
from gitprun.verify.view import differing, view_of
from gitprun.workspaces.base import QUIET, provide
from gitprun.workspaces.clone import make_clone, read_source

# Below the folder for workspaces: where the places are made.
CHECKS = "checks"
ROOM = "verify-"
# What of a clone's git folder tells whether files are as they were; copied before anything runs that could write there.
_TELLING = ("HEAD", "config", "index", "shallow", "info", "objects/info")
# What of it decides what git says there.
_SAID = ("HEAD", "config", "index")
# Putting back may bring ignore rules back under which other files count as made: twice, and a look whether it is so.
_ROUNDS = 3
# Whoever is done with the last place takes the folder above it away as well.
_TRIES = 1000
# More than any index that is worth a landing: 64 bytes and a path an entry, a million of them.
_MOST = 256_000_000

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """How a tree is checked: ``commands`` (none, or ``detect``: those of the languages found), its place.

    ``branch`` is checked out there; copies and links are paths of the user's checkout; ``timeout`` is in seconds and
    shared by all commands; ``may_change`` are globs of tracked files a command may rewrite and still pass.
    """

    wish: ConfinementRequest
    branch: str
    commands: tuple[str, ...] = ()
    detect: bool = False
    setup: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    timeout: float = DEFAULT_VERIFY_TIMEOUT
    may_change: tuple[str, ...] = MAY_CHANGE
    view: VerifyView = "checkout"
    confirm_red: bool = True

    @property
    def way(self) -> str:
        """Return a digest of all that decides what a verdict means: another one is an answer to another question."""
        said = asdict(self) | {"wish": [self.wish.confined, self.wish.required, self.wish.own_files]}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a command did to its place: tracked paths that are not as they were, and new ones git does not ignore."""

    tracked: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PristinePlace:
    """A pristine place; ``git`` looks at ``path`` with a git folder of its own, which nothing that runs there reaches.

    ``inside`` is the identity of its ``.git``; ``given`` are the untracked paths that were there before the first
    command: provided, or made by the setup.
    """

    path: Path
    git: Git
    inside: tuple[int, int] | None
    around: Surroundings
    given: frozenset[bytes] = frozenset()

    def put_back(self) -> Changes:
        """Make the place what it was, but for what git ignores, and return what was otherwise.

        Raises PrunError or OSError where it cannot: then nothing may be concluded from the place any more.
        """
        tracked, new = dict[bytes, None](), dict[bytes, None]()
        for left in reversed(range(_ROUNDS)):
            changed, made = self.look()
            if not changed and not made:
                break
            if not left:
                raise PrunError(f"{show_path((*changed, *made)[0])} could not be put back as it was")
            tracked |= dict.fromkeys(changed)
            new |= dict.fromkeys(made)
            for name in made:
                self._remove(name)
            # Git's own hand: it also clears away what lies in the place of a file or of its folder.
            self.git.run("checkout-index", "-f", "-u", "-z", "--stdin", stdin=b"".join(n + b"\0" for n in changed))
        self._put_back_git()
        return Changes(tracked=tuple(map(show_path, tracked)), new=tuple(map(show_path, new)))

    def look(self) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """List the tracked paths that are not as they were, and the new ones that no rule ignores.

        Of a repository inside there is but its folder, with a slash at the end.
        """
        rows = self.git.run("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard").fields
        new = tuple(row[2:] for row in rows if row[:1] == b"?" and row[2:] not in self.given)
        changed = tuple(dict.fromkeys(row[2:] for row in rows if row[:1] != b"?"))
        modules = submodules(self.git) if changed else frozenset()
        return tuple(name for name in changed if name not in modules), new

    def _put_back_git(self) -> None:
        """Have the place's own git say again what it said at first: what is checked out on which branch, and staged."""
        inside, kept = self.path / ".git", Path(self.git.env["GIT_DIR"])
        if folder_identity(inside) != self.inside:
            raise PrunError("its .git is not the one it was made with")
        for name in _SAID:
            before = read_plain(kept / name, _MOST)
            if before is not None and read_plain(inside / name, _MOST) != before:
                # A new file in its place: what stands there may be a link.
                write_whole(inside / name, before, mode=0o644)
        # The clone was made with packed refs alone, and a loose one counts before those.
        head = os.fsdecode(read_plain(kept / "HEAD", _MOST) or b"").removeprefix("ref:").strip()
        (inside / head).unlink(missing_ok=True)

    def _remove(self, name: bytes) -> None:
        path = self.path / os.fsdecode(name)
        identity = folder_identity(path)
        if identity is not None:
            remove_tree(path, identity)
        else:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            # Folders that hold nothing now came with it: git knows none that is empty.
            for above in path.relative_to(self.path).parents[:-1]:
                (self.path / above).rmdir()


def submodules(git: Git) -> frozenset[bytes]:
    """List the paths at which the index has a submodule; what is in those folders is another repository's."""
    rows = git.run("ls-files", "-z", "--stage").fields
    return frozenset(row.partition(b"\t")[2] for row in rows if row[:6] == b"160000")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """Of which repository commits are checked, and below which folder for workspaces (``top``).

    Output goes to the folder ``logs``; ``note`` is told what a person should know; ``stop`` ends it early.
    """

    repository: Repository
    top: Path
    logs: Path
    stop: Stop | None = None
    note: Note = lambda _: None


@contextmanager
def pristine_place(context: CheckContext, commit: Oid, plan: CheckPlan) -> Iterator[PristinePlace]:
    """Make a place of a commit below the folder for workspaces, set up, and remove it in the end.

    Raises WorkspaceProblem where it cannot be made or set up. What a killed process left there is removed, too.
    """
    repository, note = context.repository, context.note
    # Held open: other landings sweep away what nobody holds, and a killed one holds nothing any more.
    room, held = _make_room(context.top / CHECKS)
    try:
        source = read_source(repository)
        # Else the clone could not have the branch checked out at another commit.
        others = tuple(row for row in source.refs if row[0] != f"refs/heads/{plan.branch}")
        # Named like the checkout: some tools name what they make after the folder they are in.
        path = room / (repository.home.name or "checkout")
        workspace = make_clone(replace(source, refs=others), path, commit, plan.branch)
        git = _look_with(path, room / "git")
        provided, notes = provide(repository.top, path, plan.copy, plan.link)
        for text in (*workspace.notes, *notes):
            note(text)
        view = view_of(
            repository,
            plan.view,
            link=plan.link,
            copy=plan.copy,
            commands=plan.commands,
            changed=lambda: differing(repository, commit),
        )
        if view is not None:
            # What workers have in the folders of their runs is in no tree, so a tree proves nothing with it.
            view = replace(view, hidden=tuple(_runs_in(context.top)))
        with surroundings(plan.wish, path, room / "tmp", {}, view=view) as around:
            for text in around.notes:
                note(text)
            if plan.setup:
                run_setup(path, plan.setup, log=context.logs / "setup.log", stop=context.stop, around=around)
            place = PristinePlace(path=path, git=git, inside=folder_identity(path / ".git"), around=around)
            # What is there before the first check is not what a check made.
            if provided or plan.setup:
                place = replace(place, given=frozenset(place.look()[1]))
                changed = place.put_back().tracked
                if changed:
                    note(f"the setup commands changed {listed(changed, 1)}; put back before the checks")
            yield place
            if plan.wish.confined and not around.sandbox.confined and not around.obstacle:
                note(f"the merged tree was checked unconfined: {around.sandbox.said.removeprefix('none: ')}")
    finally:
        try:
            remove_tree(room, (os.fstat(held).st_dev, os.fstat(held).st_ino))
        except (PrunError, OSError) as problem:
            note(f"{room} could not be removed: {problem}")
        finally:
            os.close(held)
            with suppress(OSError):
                room.parent.rmdir()


def _make_room(root: Path) -> tuple[Path, int]:
    """Make a folder for a place and hold it; what killed processes left, which nobody holds, is removed."""
    for _ in range(_TRIES):
        make_private(root)
        with suppress(FileNotFoundError):
            _sweep(root)
            return make_held(root, ROOM)
    raise PrunError(f"no place for checks in {root}: it is taken away again and again")


def _runs_in(top: Path) -> list[Path]:
    """List the folders of runs in the folder for workspaces: what workers have there is in no tree."""
    return [path for path in top.iterdir() if is_run_id(path.name) and path.is_dir()]


def _sweep(root: Path) -> None:
    """Remove what killed processes left: places that nobody holds."""
    for room in root.glob(f"{ROOM}*"):
        identity = folder_identity(room)
        if identity is not None and not is_held(room):
            with suppress(PrunError, OSError):
                remove_tree(room, identity)


def _look_with(path: Path, folder: Path) -> Git:
    """Put what tells a clone's state aside, before anything runs in it, and return a git that looks with that."""
    (folder / "refs").mkdir(parents=True)
    for name in _TELLING:
        source, target = path / ".git" / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            # With its time: git compares that of the index with those of the files.
            shutil.copy2(source, target)
    return Git(cwd=path, env={"GIT_DIR": str(folder), "GIT_WORK_TREE": str(path)}, config=QUIET, neutral=True)


def check_commit(context: CheckContext, commit: Oid, plan: CheckPlan) -> Verdict:
    """Check a commit in a pristine place and return the verdict.

    What is red is confirmed (``plan.confirm_red``): the commands that failed run once more, in another such place, and
    those that pass then are flaky, which is noted.
    """
    note, stop = context.note, context.stop

    def look(logs: Path, chosen: Callable[[Check], bool]) -> Verdict:
        try:
            with pristine_place(replace(context, logs=logs), commit, plan) as place:
                checks = tuple(filter(chosen, workspace_checks(place.path, plan.commands, detect=plan.detect)))
                settle = _Settler(place, plan.may_change, note)
                where = CheckPlace(place.path, logs, place.around, stop)
                return run_checks(where, checks, timeout=plan.timeout, settle=settle)
        except SetupFailed as problem:
            return Verdict(state="could-not-run", checks=(not_set_up(problem, logs),))

    verdict = look(context.logs, lambda _: True)
    for text in verdict.notes:
        note(text)
    failed = {one.command for one in verdict.checks if one.state == "fail" and not one.changed}
    if verdict.state != "fail" or not plan.confirm_red or not failed or (stop is not None and stop.is_set()):
        return verdict
    # In a new place: what the first try left behind may be why it was red, or would be green.
    again = {one.command: one for one in look(context.logs / "again", lambda check: check.command in failed).checks}
    results = tuple(_confirm(one, again.get(one.command), note) for one in verdict.checks)
    return replace(verdict, state=judge_all(results), checks=results)


def _confirm(first: CheckResult, second: CheckResult | None, note: Note) -> CheckResult:
    """Return what a command comes to that ran twice on the same tree; what was not asked again stays."""
    if first.state != "fail" or second is None or second.state != "pass":
        return first
    note(f"flaky: {first.command} failed once ({first.reason}) and passed on the same tree when it ran again")
    return replace(second, flaky=True)


def not_set_up(problem: SetupFailed, logs: Path) -> CheckResult:
    """Return the result of checks whose place could not be set up."""
    return CheckResult(
        command="setup",
        state="could-not-run",
        code=None,
        seconds=0.0,
        log=str(logs / "setup.log"),
        reason=problem.message,
    )


@dataclass(frozen=True, slots=True)
class _Settler:
    """Looks after each command at what it did to its place, and puts that back."""

    place: PristinePlace
    may_change: tuple[str, ...]
    note: Note

    def __call__(self, result: CheckResult) -> CheckResult:
        try:
            found = self.place.put_back()
        except (PrunError, OSError) as problem:
            why = problem.message if isinstance(problem, PrunError) else str(problem.strerror)
            return replace(result, state="could-not-run", reason=f"what it changed stays changed: {why}")
        if found.new:
            self.note(f"{result.command} made {listed(found.new, 1)}, which git does not ignore; removed")
        wrong = tuple(path for path in found.tracked if not any(matches(one, path) for one in self.may_change))
        if found.tracked and not (wrong and result.state == "pass"):
            self.note(f"{result.command} changed {listed(found.tracked, 1)}; put back")
        if not wrong or result.state != "pass":
            return result
        reason = f"changed-files: it changes {listed(wrong, 1)} itself, so it proves nothing of the tree"
        return replace(result, state="fail", reason=reason, changed=wrong)
