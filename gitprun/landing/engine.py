"""Land branches: build every merge in memory, prove the result, move the branch once, let its checkout follow."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gitprun.git.command import Git
from gitprun.git.refs import describe_behind, has_refs, open_repository, read_signatures
from gitprun.git.repo import Checkout, Repository, read_checkouts
from gitprun.git.store import ObjectStore, stand_in
from gitprun.git.trees import Objects, tree_of
from gitprun.git.walk import Trees
from gitprun.judging.drivers import find_attributes
from gitprun.landing.batch import Batch, build_batch, order_branches, set_aside
from gitprun.landing.build import attributes_alone
from gitprun.landing.combine import Combined, combine
from gitprun.landing.context import Comparison, LandingContext, Memory
from gitprun.landing.fence import outside_rows, tell_outside
from gitprun.landing.guard import (
    AskedAhead,
    LocalChanges,
    Target,
    free_index,
    index_stamp,
    read_local_changes,
    read_target,
    require_clean_elsewhere,
    require_mergeable,
    require_quiet,
)
from gitprun.landing.holds import remember_held
from gitprun.landing.hooks import describe_hooks, find_hooks
from gitprun.landing.installed import places_of, read_live
from gitprun.landing.landed import landing_place, move, recover_landing, sweep_rooms
from gitprun.landing.merge_bases import Ancestry
from gitprun.landing.move import TargetMoved, require_passage
from gitprun.landing.past import Past
from gitprun.landing.plan import (
    Candidate,
    LandingItem,
    LandingOptions,
    LandingReport,
    News,
)
from gitprun.landing.settings import hooks_folder, read_merge_settings
from gitprun.landing.uncommitted import detached_ahead, dirty_checkout, later_commits
from gitprun.ledger.ledger import Ledger
from gitprun.model.names import Oid
from gitprun.model.powers import Power
from gitprun.supervisor.process import Stop
from gitprun.system.files import locked
from gitprun.workspaces.trust import Untrusted

if TYPE_CHECKING:
    from gitprun.landing.after import AfterCommands
    from gitprun.landing.hooks import HookRoom

# How often a train is built, with a whole check each, because somebody else moves the target meanwhile.
TRIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Landing:
    """What one landing was asked for, and what stays true when it is built again.

    ``git`` has read the checkout's index already, ``say`` hears of progress, ``stop`` ends it early.
    """

    repository: Repository
    ledger: Ledger
    candidates: Sequence[Candidate]
    options: LandingOptions
    git: Git
    memory: Memory
    stop: Stop | None = None
    say: Callable[[str], None] = lambda _: None

    @property
    def stopped(self) -> bool:
        """Check whether somebody asked for an end."""
        return self.stop is not None and self.stop.is_set()


def land(
    repository: Repository,
    ledger: Ledger,
    candidates: Sequence[Candidate],
    options: LandingOptions,
    *,
    stop: Stop | None = None,
    say: Callable[[str], None] = lambda _: None,
    ahead: AskedAhead | None = None,
) -> LandingReport:
    """Land branches on one target with --no-ff merges; what cannot land is set aside and told.

    Raises OperationRefused when the checkout is in no state to follow, TargetMoved when the
    target keeps moving: then nothing was changed. One landing at a time runs in a repository; a dry run waits for
    nobody and moves nothing. What was asked ``ahead`` holds only as long as the index is the one it was then.
    """
    ahead = ahead or AskedAhead(repository.git, index_stamp(repository.git_dir))
    git, stamp = ahead.git, ahead.stamp
    asked = _Landing(
        repository=repository,
        ledger=ledger,
        candidates=candidates,
        options=options,
        git=git,
        memory=Memory(),
        stop=stop,
        say=say,
    )
    try:
        if options.dry_run:
            return _land(asked, ())
        # A dry run takes no lock and repairs nothing: it has to be safe to ask at any time.
        with locked(repository.state / "locks" / "landing.lock", doing="landing", stop=stop):
            notes = recover_landing(repository, ledger)
            place = landing_place(repository, options.root)
            notes += sweep_rooms(repository, place.parent)
            # What was asked ahead was asked before the lock: another landing may have ended meanwhile.
            if notes or stamp != index_stamp(repository.git_dir):
                git.forget()
            try:
                report = _land_on_moving(asked, notes)
                # What a stop cut off is no answer.
                return report if asked.stopped else remember_held(ledger, report)
            finally:
                _drop_empty(place, place.parent)
    finally:
        git.forget()


def _land_on_moving(asked: _Landing, notes: Sequence[str]) -> LandingReport:
    """Land; when the target moved while the train was checked, build it anew on the target as it is then."""
    for left in reversed(range(TRIES)):
        try:
            return _land(asked, notes)
        except TargetMoved as moved:
            if not left or asked.stopped:
                raise
            asked.git.forget()
            asked.say(f"{moved.branch} moved meanwhile; building on it anew")
            notes = (*notes, News(f"{moved.branch} moved meanwhile, so everything was built on it anew"))
            # The same branch, even if another one is checked out now.
            asked = replace(asked, options=replace(asked.options, into=moved.branch))
    raise AssertionError


def _drop_empty(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _land(asked: _Landing, notes: Sequence[str]) -> LandingReport:
    repository, options = asked.repository, asked.options
    checkouts = read_checkouts(asked.git)
    target = read_target(repository, options.into, asked.git, checkouts)
    # Before the index is read: what is waited for here may change it.
    notes = (*notes, *_make_ready(asked, target))
    with _open(asked, target, checkouts) as site:
        for note in notes:
            site.note(note)
        ordered = order_branches(site, asked.candidates)
        asked.say(f"merging {len(ordered)} branch{'' if len(ordered) == 1 else 'es'} into {target.branch}")
        batch = build_batch(site, ordered)
        new = batch.tip(site)
        mends = options.mend and not options.no_verify and any(one.mendable for one in batch.items)
        if (batch.taken or mends) and not options.dry_run:
            made: Mapping[Oid, AfterCommands] = {}
            if not options.no_verify or any(row.after for row in options.hotspots):
                batch, made = _prove(asked, site, ordered, batch)
            if asked.stopped:
                batch = set_aside(batch, "unverified", "stopped before it could land", batch.verdict)
            new = target.tip
            if batch.taken:
                batch, new = move(repository, asked.ledger, site, batch, made.get(batch.taken[-1].tree))
        _tell(site, ordered, batch)
        return LandingReport(
            target=target.ref,
            old=target.tip,
            new=new if not options.dry_run else target.tip,
            items=batch.items,
            verdict=batch.verdict,
            notes=tuple(site.notes),
        )


def _tell(site: LandingContext, ordered: Sequence[Candidate], batch: Batch) -> None:
    """Note what the user should know about each branch that landed, or would."""
    for built in batch.taken:
        candidate = built.item.candidate
        for text in tell_outside(candidate, outside_rows(site, candidate, built.commit, built.step)):
            site.note(text)
    for item in batch.items:
        for text in _beside(site, item, ordered) if item.state in ("landed", "would-land") else ():
            site.note(text)


def _beside(site: LandingContext, item: LandingItem, ordered: Sequence[Candidate]) -> Iterator[str]:
    """Return what of a branch that lands did not come along, came after its checks, or changed them."""
    from gitprun.landing.own_check import OwnCheck

    candidate = item.candidate
    if not candidate.unit:
        dirty, ahead = dirty_checkout(site, candidate), detached_ahead(site, candidate)
        if dirty is not None:
            yield f"{candidate.branch}: work in {dirty} that is not committed is not part of it"
        if ahead is not None:
            yield f"{candidate.branch}: {ahead}"
    later = later_commits(site, candidate)
    if later:
        yield f"{candidate.branch}: {later}"
    yield from candidate.notes
    yield from OwnCheck(site, tuple(ordered)).tell(candidate)


def _make_ready(asked: _Landing, target: Target) -> Iterator[str]:
    """Wait for what is under way in the target's checkout, and get what the landing may fetch; yields notes."""
    repository, options = asked.repository, asked.options
    if not options.dry_run:
        yield from free_index(target)
    require_quiet(target, repository.common)
    behind = describe_behind(asked.git, repository.common, target.ref)
    if behind:
        yield behind
    if options.deepen and not options.dry_run:
        from gitprun.landing.history import deepen

        yield from deepen(repository, asked.ledger, target, asked.candidates, asked.say)


@contextmanager
def open_alone(
    repository: Repository, candidate: Candidate, options: LandingOptions, stop: Stop | None = None
) -> Iterator[LandingContext]:
    """Read all that a landing of one branch would need, whatever its checkout looks like."""
    git = Git(cwd=repository.top or repository.common)
    # As if checked out nowhere: nothing on the user's disk can be in the way of looking.
    target = replace(read_target(repository, options.into), checkout=None, git_dir=None)
    asked = _Landing(
        repository=repository,
        ledger=Ledger(repository.state),
        candidates=(candidate,),
        options=options,
        git=git,
        memory=Memory(),
        stop=stop,
    )
    with _open(asked, target, read_checkouts(git)) as site:
        yield site


def combine_alone(repository: Repository, candidate: Candidate, options: LandingOptions) -> Combined | LandingItem:
    """Merge one branch into the target in memory, as a landing would."""
    with open_alone(repository, candidate, options) as site:
        tip = site.target.tip
        return combine(site, tip, candidate, site.ancestry.bases(tip, candidate.tip), None)


def _difference(asked: _Landing, target: Target) -> Comparison | None:
    """Return what asks compilers about merges; None, and no import, where nobody wants it."""
    if not asked.options.verify_difference:
        return None
    from gitprun.landing.difference import open_difference

    one = (asked.repository, asked.ledger, asked.candidates, asked.options, target.branch, asked.stop)
    return open_difference(*one).compare


def _prove(
    asked: _Landing, site: LandingContext, ordered: Sequence[Candidate], batch: Batch
) -> tuple[Batch, Mapping[Oid, AfterCommands]]:
    """Have the train checked; returns what of it is green, and what the after commands made of which tree."""
    from gitprun.landing.own_check import OwnCheck
    from gitprun.landing.prove import Proof, came_confined, landing_checks
    from gitprun.landing.train import Train
    from gitprun.ledger.verified_trees import note_verified, read_verified
    from gitprun.verify.surroundings import wish_for_landing
    from gitprun.workspaces.root import workspaces_root

    repository, ledger, options = asked.repository, asked.ledger, site.options
    wish = wish_for_landing(came_confined(ordered, ledger.read().events), options.verify_sandbox)
    plan = landing_checks(options, wish, site.target.branch)
    proof = Proof(
        repository=repository,
        site=site,
        top=workspaces_root(repository, options.root),
        logs=repository.state / "landing",
        stop=asked.stop,
        plan=plan,
        own_check=OwnCheck(site, tuple(ordered)),
        proved=read_verified(ledger, plan.way, reuse=options.reuse_green, run=options.verified_run),
    )
    rows = proof.after(batch.taken[-1].tree) if batch.taken else ()
    # Before anything runs: the commands come from prun.toml, and the user has not let them run.
    if rows and not options.may_run_after:
        commands = dict.fromkeys(command for row in rows for command in row.after)
        raise Untrusted([Power("[[hotspot]] after", json.dumps([*commands], ensure_ascii=False), True)])
    if options.no_verify and not rows:
        return batch, {}
    if not options.no_verify:
        # What would refuse at the end had better refuse before minutes of checking.
        require_passage(site.target, repository.common, site.settings, batch.tip(site))
    # The whole first, and parts only where it is red: one check for a train that is green, as most are.
    batch = Train(site, proof, tuple(ordered), asked.say).prove(batch) if batch.taken else batch
    # Without the leave for their commands nothing more is built: what is green lands.
    if options.mend and not options.no_verify and (options.may_run_after or not any(r.after for r in options.hotspots)):
        from gitprun.landing.mended import Mending

        batch = Mending(site, proof, asked.say).land(batch)
    verdicts = site.memory.verdicts
    note_verified(ledger, (tree for tree in proof.checked if verdicts[tree].state == "pass"), plan.way)
    return batch, proof.made


@contextmanager
def _open(asked: _Landing, target: Target, checkouts: tuple[Checkout, ...]) -> Iterator[LandingContext]:
    """Read all a landing needs, and keep its private folders while it runs."""
    repository, options, git = asked.repository, asked.options, asked.git
    with ExitStack() as stack:
        local, stamp = LocalChanges(), None
        top = target.checkout or repository.top or repository.common
        here = git if git.cwd == top else Git(cwd=top)
        # The stamp first: a change between the two reads is noticed then, never missed.
        if target.checkout is not None:
            stamp = index_stamp(target.git_dir) if target.git_dir else None
            local = read_local_changes(target.checkout, here)
            require_mergeable(target, local)
            require_clean_elsewhere(target, local, repository.top)
        settings = read_merge_settings(here)
        hooks = find_hooks(hooks_folder(settings, repository.common, here.cwd))
        repo = _objects(stack, repository, target)
        merging = (lambda: here) if target.checkout is not None else _apart_later(stack, repository, target)
        trees, old_tree = Trees(repo), tree_of(repo, target.tip)
        tops = (target.checkout, repository.top, *(one.path for one in checkouts if not one.bare))
        places = places_of(repository.common, settings, here.cwd, tops)
        site = LandingContext(
            git=here,
            merging=merging,
            attributes=find_attributes(merging, trees, target.checkout, repository.common, target.tip, settings),
            replaced=has_refs(repository.common, "refs/replace/"),
            repo=repo,
            trees=trees,
            state=repository.state,
            target=target,
            old_tree=old_tree,
            local=local,
            settings=settings,
            hooks=hooks,
            room=_room_later(stack, repository, trees, target, options),
            live=functools.cache(lambda: read_live(trees, old_tree, places, settings, options.protected)),
            who=read_signatures(here),
            checkouts=checkouts,
            options=options,
            memory=asked.memory,
            ancestry=Ancestry(here, repo, target.tip, [one.tip for one in asked.candidates]),
            past=Past(here, trees),
            difference=_difference(asked, target),
            index=stamp,
        )
        for text in describe_hooks(settings, hooks):
            site.note(text)
        yield site


def _objects(stack: ExitStack, repository: Repository, target: Target) -> Objects:
    git_dir = target.git_dir or repository.common
    repo = stand_in(repository.git, repository.common / "objects", lambda: open_repository(git_dir))
    stack.callback(cast("ObjectStore", repo).close)
    return repo


def _room_later(
    stack: ExitStack, repository: Repository, trees: Trees, target: Target, options: LandingOptions
) -> Callable[[], HookRoom]:
    """Return the place for hooks when somebody asks for it."""

    @functools.cache
    def room() -> HookRoom:
        from gitprun.landing.hooks import hook_room

        place = landing_place(repository, options.root)
        made = hook_room(repository, trees, place, target, copy=options.copy, link=options.link)
        return stack.enter_context(made)

    return room


def _apart_later(stack: ExitStack, repository: Repository, target: Target) -> Callable[[], Git]:
    """Lay out the target's attributes when somebody has to merge contents."""
    return functools.cache(lambda: stack.enter_context(attributes_alone(repository, target.tip)))
