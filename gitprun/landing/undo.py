"""Take a landing back: the branch goes back where nothing came after, else revert commits take out what it brought."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Final

import pygit2

from gitprun.git.command import Git
from gitprun.git.refs import Signature, move_ref, open_repository, read_ref, read_signatures, write_commit
from gitprun.git.repo import Repository
from gitprun.git.trees import Objects, merge_trees, read_changes, tree_of
from gitprun.judging.conflicts import answer_conflicts, place_answers
from gitprun.judging.judged import RESOLVERS_ONLY
from gitprun.judging.recorded_resolutions import forget
from gitprun.landing.build import attributes_alone
from gitprun.landing.commit import NewCommit, revert_message, write_new_commit
from gitprun.landing.forget import Row, rows_of_landings
from gitprun.landing.guard import Target, list_paths, read_local_changes, read_target, require_mergeable, require_quiet
from gitprun.landing.landed import end_of, record_undone, recover_landing
from gitprun.landing.move import CheckoutMoved, MoveUndone, TargetMoved, follow, move_target, read_tip, require_free_way
from gitprun.landing.plan import Candidate, LandingOptions, News
from gitprun.landing.settings import MergeSettings, read_merge_settings
from gitprun.landing.touched import find_silenced
from gitprun.landing.undo_plan import (
    Landed,
    Merge,
    UndoChoice,
    UndoneItem,
    UndoReport,
    Way,
    can_move_back,
    choose_landing,
    read_landings,
)
from gitprun.ledger.events import Event, fold
from gitprun.ledger.landing_events import UndoFinished, UndoRow, UndoStarted
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.unit_events import UnitFinished
from gitprun.model.errors import GitFailed, Interrupted, OperationRefused
from gitprun.model.lists import listed
from gitprun.model.names import PRUN_REFS, ZERO, Oid, is_run_id, parse_oid, short
from gitprun.supervisor.process import Stop
from gitprun.system.files import locked

__all__ = ["UndoReport", "UndoneItem", "undo"]

# How what is brought back is checked, by the runs it comes from.
Checking = Callable[[Sequence[str]], LandingOptions]
MADE_ANEW = "files that commands made after the landing are left as they are; run the commands again"
# Of no importance: these commits are in no history.
_NOBODY = Signature("git-prun", "git-prun", 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest:
    """What is to be taken back, the last landing unless one is named, or brought back (``redo``).

    ``options`` say how to check what comes back, for given runs (None: it is not checked).
    """

    name: str | None = None
    redo: bool = False
    dry_run: bool = False
    options: Checking | None = None


_LAST: Final = UndoRequest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _UndoTarget:
    """The target, and what is needed to build on it; ``merging`` runs where attributes are read."""

    repository: Repository
    target: Target
    git: Git
    merging: Git
    repo: Objects
    settings: MergeSettings
    who: tuple[Signature, Signature]


@dataclass(frozen=True, slots=True)
class _Undoing:
    """Where the target would go, how, and what of the merges each commit takes back."""

    way: Way
    new: Oid
    items: tuple[UndoneItem, ...]
    notes: tuple[str, ...] = ()
    forgets: tuple[Row, ...] = ()


def undo(
    repository: Repository,
    ledger: Ledger,
    request: UndoRequest = _LAST,
    *,
    stop: Stop | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> UndoReport:
    """Take a landing back, or bring back what was taken back.

    What is brought back has to be green, as in any landing, where the request says how. Raises OperationRefused, with
    nothing changed, when it is not, when later changes are in the way, or something of the user's is.
    """
    if request.dry_run:
        return _undo(repository, ledger, request, (), stop)
    say("looking for the landing")
    with locked(repository.state / "locks" / "landing.lock", doing="landing", stop=stop):
        return _undo(repository, ledger, request, recover_landing(repository, ledger), stop)


def _undo(
    repository: Repository, ledger: Ledger, request: UndoRequest, notes: Sequence[str], stop: Stop | None
) -> UndoReport:
    events = ledger.read().events
    landings = read_landings(events)
    # Only what was taken off the top can be put on again, and only while nothing came instead.
    tips = {one.target: read_tip(repository.git, one.target) for one in landings if request.redo}
    choice = choose_landing(landings, request.name, redo=request.redo, tips=tips)
    target = read_target(repository, choice.landing.target)
    with _ground(repository, target) as ground:
        planned = _forgetting(ground, choice, _plan(ground, choice), events)
        changes = read_changes(ground.git, target.tip, planned.new)
        if told := find_silenced(repository, target, ground.git, ground.settings, changes, planned.new):
            # Neither those that go nor those that come are run unasked.
            target, notes = replace(target, silent=True), (*notes, told)
            ground = replace(ground, target=target)
        # Before the checks of what is brought back: they take minutes, and the way may be blocked at once.
        require_free_way(target, repository.common, ground.settings, planned.new, changes)
        if choice.redo and not request.dry_run and request.options is not None:
            how = request.options([one.run for one in choice.merges])
            if not how.no_verify:
                notes = (*notes, *_require_green(ground, events, choice, planned.new, how, stop))
        if stop is not None and stop.is_set():
            raise Interrupted(2, "stopped before anything was changed")
        if not request.dry_run:
            _move(ground, ledger, choice, planned, events)
    return UndoReport(
        landing=choice.landing.number,
        target=target.ref,
        old=target.tip,
        new=planned.new,
        way=planned.way,
        items=planned.items,
        notes=(*notes, *planned.notes),
        forgotten=tuple(dict.fromkeys(path for path, _ in planned.forgets)),
    )


def _require_green(
    ground: _UndoTarget,
    events: Sequence[Event],
    choice: UndoChoice,
    new: Oid,
    options: LandingOptions,
    stop: Stop | None,
) -> tuple[str, ...]:
    """Check what is brought back as any landing is; returns notes, raises OperationRefused where nothing proves it."""
    from gitprun.landing.prove import came_confined, check_apart, landing_checks
    from gitprun.verify.surroundings import wish_for_landing

    brings = [Candidate(branch=one.branch, tip=parse_oid(one.tip)) for one in choice.merges]
    notes: list[str] = []
    wish = wish_for_landing(came_confined(brings, events), options.verify_sandbox)
    branch = ground.target.branch
    plan = landing_checks(options, wish, branch)
    verdict = check_apart(ground.repository, new, plan, root=options.root, stop=stop, note=notes.append)
    if verdict.state != "pass":
        what = "is red" if verdict.state == "fail" else "is not proved"
        raise OperationRefused(
            f"{branch} with what is brought back {what}: {verdict.reason}; nothing was changed",
            "git prun undo --redo --no-verify brings it back unchecked",
        )
    return tuple(dict.fromkeys(notes))


@contextmanager
def _ground(repository: Repository, target: Target) -> Iterator[_UndoTarget]:
    require_quiet(target, repository.common)
    if target.checkout is not None:
        require_mergeable(target, read_local_changes(target.checkout))
    here = Git(cwd=target.checkout or repository.top or repository.common)
    with nullcontext(here) if target.checkout is not None else attributes_alone(repository, target.tip) as merging:
        yield _UndoTarget(
            repository=repository,
            target=target,
            git=here,
            merging=merging,
            repo=open_repository(target.git_dir or repository.common),
            settings=read_merge_settings(here),
            who=read_signatures(here),
        )


def _plan(ground: _UndoTarget, choice: UndoChoice) -> _Undoing:
    """Decide how, and build what is needed in memory."""
    landing, merges, tip = choice.landing, choice.merges, ground.target.tip
    made = (MADE_ANEW,) if landing.after else ()
    if choice.redo and merges[0].undone == "moved":
        # Nothing came instead: what was taken off is put on again, as it was.
        _parent(ground.repo, landing.new)
        return _Undoing("redone", parse_oid(landing.new), _items(merges))
    if choice.redo:
        planned = _revert(ground, "redone", [(one, one.by) for one in merges])
        return replace(planned, notes=(*made, *planned.notes))
    notes: tuple[str, ...] = ()
    parents = {commit: _parent(ground.repo, commit) for commit in _commits(landing)}
    if can_move_back(landing, merges, tip, parents):
        # History that others have fetched is not rewritten: it would come back with the next pull.
        published = _holders(ground.git, merges[0].commit, "refs/remotes")
        if not published:
            back = parse_oid(parents[merges[0].commit])
            return _Undoing("moved", back, _items(merges), _builders(ground, choice))
        notes = (News(f"{published[0]} has it already, so it is reverted and not taken out of the history"),)
    rows = [(one, one.commit) for one in reversed(merges)]
    planned = _revert(ground, "reverted", rows, after=landing.after if len(merges) == len(landing.merges) else "")
    # The generated files came of all branches together; taken out for one, they would be wrong for the rest.
    partly = made if len(merges) < len(landing.merges) else ()
    return replace(planned, notes=(*notes, *partly, *planned.notes))


def _forgetting(ground: _UndoTarget, choice: UndoChoice, planned: _Undoing, events: Sequence[Event]) -> _Undoing:
    """Add the recorded resolutions that what is taken back used: who undoes a landing may undo it for their sake."""
    if choice.redo:
        return planned
    rows = rows_of_landings(ground.repository, events, ground.git, [one.commit for one in planned.items])
    return replace(planned, forgets=tuple(rows))


def _commits(landing: Landed) -> list[str]:
    return [*(one.commit for one in landing.merges), *([landing.after] if landing.after else [])]


def _parent(repo: Objects, commit: str) -> str:
    found = repo.get(pygit2.Oid(hex=commit))
    if not isinstance(found, pygit2.Commit) or not found.parent_ids:
        raise OperationRefused(f"{short(commit)} is not in this repository any more; nothing was changed")
    return str(found.parent_ids[0])


def _items(merges: Sequence[Merge]) -> tuple[UndoneItem, ...]:
    return tuple(UndoneItem(branch=one.branch, commit=one.commit, run=one.run, unit=one.unit) for one in merges)


def _holders(git: Git, commit: str, *prefixes: str) -> list[str]:
    """List the refs whose history has a commit."""
    words = ("for-each-ref", "--format=%(refname)", "--contains", commit, *prefixes)
    return [name.removeprefix("refs/").removeprefix("remotes/") for name in git.run(*words).text.splitlines()]


def _builders(ground: _UndoTarget, choice: UndoChoice) -> tuple[str, ...]:
    """Name the branches that were built on what is taken back: landing them would bring it back."""
    held = _holders(ground.git, choice.merges[0].commit, "refs/heads", "refs/prun")
    own = ground.target.ref.removeprefix("refs/")
    # What else lies below refs/prun are pins of prun's: they land nowhere.
    names = [
        name.removeprefix("heads/")
        for name in held
        if name != own and (name.startswith("heads/") or is_run_id(name.split("/")[1]))
    ]
    return (f"built on it, so that landing them brings it back: {listed(names)}",) if names else ()


def _revert(ground: _UndoTarget, way: Way, rows: Sequence[tuple[Merge, str]], after: str = "") -> _Undoing:
    """Revert commits one on the other, in their order; raises OperationRefused naming the paths that changed since."""
    tip, items, notes = ground.target.tip, list[UndoneItem](), list[str]()
    # What commands made after the landing came last, so it goes first.
    if after:
        tip = _revert_one(ground, tip, after) or tip
    for one, commit in rows:
        made = _revert_one(ground, tip, commit)
        if made is None:
            notes.append(f"{one.branch}: {ground.target.branch} holds nothing of it any more")
        tip = made or tip
        items.append(UndoneItem(branch=one.branch, commit=one.commit, run=one.run, unit=one.unit, by=made or ""))
    if tip == ground.target.tip:
        names = ", ".join(one.branch for one, _ in rows)
        raise OperationRefused(f"there is nothing to do: {ground.target.branch} holds nothing of {names} any more")
    kept = tuple(one for one in items if one.by)
    return _Undoing(way, tip, tuple(reversed(kept)) if way == "reverted" else kept, tuple(notes))


def _revert_one(ground: _UndoTarget, tip: Oid, commit: str) -> Oid | None:
    """Write the revert of a commit (of a merge: what it brought to its first parent); None if it changes nothing.

    Git merges a commit that undoes it, and whose only parent it is: so the base is the commit itself.
    """
    git, repo = ground.git, ground.repo
    # A revert of what is not there would take out the same lines that somebody else wrote.
    if git.run("merge-base", "--is-ancestor", commit, tip, ok=(0, 1, 128)).code != 0:
        raise OperationRefused(f"{short(commit)} is not in {ground.target.branch} any more; nothing was changed")
    parent = _parent(repo, commit)
    undoing = write_commit(repo, tree_of(repo, parent), (parse_oid(commit),), "undo\n", _NOBODY, _NOBODY)
    try:
        merge = merge_trees(ground.merging, tip, undoing)
    except GitFailed as problem:
        raise OperationRefused(f"git cannot revert {short(commit)}: {problem.message}; nothing was changed") from None
    # What came after may stand right beside what goes: there the resolvers know one from the other.
    answers = () if merge.clean else answer_conflicts(repo, merge, RESOLVERS_ONLY, several_bases=False)
    if not merge.clean and not (answers and all(one.settled for one in answers)):
        raise OperationRefused(
            f"what came after {short(commit)} changed the same places: "
            f"{list_paths({one.at.path for one in answers})}; nothing was changed",
            f"take back what came after first, or revert by hand: git revert -m 1 {short(commit)}",
        )
    tree = place_answers(repo, merge.tree, answers)
    if tree == tree_of(repo, tip):
        return None
    message = revert_message(repo, commit, parent)
    new = NewCommit(tree=tree, parents=(tip,), message=message, who=ground.who)
    return write_new_commit(git, repo, ground.settings, new)


def _move(ground: _UndoTarget, ledger: Ledger, choice: UndoChoice, planned: _Undoing, events: Sequence[Event]) -> None:
    """Pin what goes, then move the target and record it, so that a crash in between is repaired."""
    target = ground.target
    _require_still(ground)
    if planned.way == "moved":
        # By a ref, not by the reflog alone: that expires, and a bare repository has none.
        name = f"{PRUN_REFS}undone/{short(target.tip)}"
        if read_ref(ground.repo, name) != target.tip:
            move_ref(ground.repo, name, target.tip, ZERO, "prun: taken back")
    rows = _rows(choice, planned, events)
    begun = UndoStarted(
        target=target.ref,
        old=target.tip,
        new=planned.new,
        checkout=str(target.checkout) if target.checkout else "",
        way=planned.way,
        landing=choice.landing.number,
        landings=rows,
    )
    if planned.forgets:
        begun = begun.into(UndoStarted, forgets=tuple(planned.forgets))
    verb = "brought back" if choice.redo else "took back"
    reason = f"prun undo: {verb} {', '.join(one.branch for one in planned.items)}"
    ledger.append(begun)
    try:
        move_target(target, target.git(ground.repository.common), planned.new, reason)
    except OperationRefused:
        ledger.append(end_of(begun, UndoFinished, "not-moved"))
        raise
    try:
        follow(target, planned.new, reason)
    except MoveUndone:
        ledger.append(end_of(begun, UndoFinished, "taken-back"))
        raise
    # After the move and before the record: a crash in between is finished from the intent.
    forget(ground.repository.state, [name for _, name in planned.forgets])
    record_undone(ledger, begun, rows)


def _require_still(ground: _UndoTarget) -> None:
    """Check right before that the target and its checkout are where they were; raises OperationRefused."""
    target = ground.target
    if read_tip(ground.git, target.ref) != target.tip:
        raise TargetMoved(target.branch)
    require_quiet(target, ground.repository.common)
    if target.checkout is not None:
        head = Git(cwd=target.checkout).run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).text
        if head != target.ref:
            raise CheckoutMoved(f"{target.checkout} is on another branch now; nothing was changed", "try again")


def _rows(choice: UndoChoice, planned: _Undoing, events: Sequence[Event]) -> tuple[UndoRow, ...]:
    """Return what is written down of each branch; ``state`` is what its unit was before it landed."""
    tips = {one.commit: one.tip for one in choice.merges}
    states: dict[tuple[str, str], str] = {}
    for run in fold(events).runs.values():
        # Of a run in a compacted ledger this is all there is.
        states |= {(run.id, unit.id): unit.final for unit in run.units.values() if unit.final}
    for event in events:
        if isinstance(event.payload, UnitFinished):
            states[event.run, event.unit] = event.payload.final
    return tuple(
        UndoRow(
            branch=one.branch,
            commit=one.commit,
            tip=tips[one.commit],
            run=one.run,
            unit=one.unit,
            by=one.by,
            state=states.get((one.run, one.unit), "ready"),
        )
        for one in planned.items
    )
