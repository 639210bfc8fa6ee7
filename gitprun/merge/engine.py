"""Land branches: build every merge in memory, prove the result, move the branch once, let its checkout follow."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.errors import GitFailed, Refused
from gitprun.git.command import Git
from gitprun.git.refs import open_repository, read_signatures
from gitprun.git.repo import Repository, read_checkouts
from gitprun.git.trees import is_one_commit_on, tree_of
from gitprun.merge.build import Built, Site, build_merge, dirty_checkout, lay_out_attributes
from gitprun.merge.guard import LocalChanges, Target, read_local_changes, read_target, require_mergeable, require_quiet
from gitprun.merge.hooks import HookRoom, Hooks, find_hooks, hook_room, run_hook
from gitprun.merge.move import TakenBack, follow, move_target, require_passage, require_way
from gitprun.merge.plan import (
    Candidate,
    ItemState,
    LandingItem,
    LandingOptions,
    LandingReport,
    plan_order,
    render_reason,
)
from gitprun.merge.prove import Proof, known_verdict
from gitprun.merge.recover import record_landed, recover_landing, room_mark, sweep_rooms
from gitprun.merge.settings import MergeSettings, hooks_folder, read_merge_settings
from gitprun.names import Oid
from gitprun.runs.ledger import Ledger
from gitprun.system.files import locked
from gitprun.system.process import Stop
from gitprun.units import Verdict
from gitprun.workspaces.base import choose_root


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of all candidates in order, and where the target would be."""

    items: tuple[LandingItem, ...]
    tip: Oid
    tree: Oid
    verdict: Verdict | None = None

    @property
    def taken(self) -> list[LandingItem]:
        """Give the items that are part of ``tip``."""
        return [item for item in self.items if item.state == "would-land"]


def land(
    repository: Repository,
    ledger: Ledger,
    candidates: Sequence[Candidate],
    options: LandingOptions,
    *,
    stop: Stop | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> LandingReport:
    """Land branches on one target with --no-ff merges; what cannot land is set aside and told.

    Raises Refused when the checkout is in no state to follow or the target moved meanwhile (TargetMoved): then
    nothing was changed. One landing at a time runs in a repository; a dry run waits for nobody and moves nothing.
    """
    if options.dry_run:
        return _land(repository, ledger, candidates, options, stop, say, ())
    with locked(repository.state / "locks" / "landing.lock", doing="landing"):
        notes = recover_landing(repository, ledger)
        place = _place(repository, options)
        notes += sweep_rooms(repository, place.parent)
        try:
            return _land(repository, ledger, candidates, options, stop, say, notes)
        finally:
            _drop_empty(place, place.parent)


def _place(repository: Repository, options: LandingOptions) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = Path(options.root) if options.root else choose_root(None, repository.home, cache)
    return root / "landing" / room_mark(repository)


def _drop_empty(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _land(
    repository: Repository,
    ledger: Ledger,
    candidates: Sequence[Candidate],
    options: LandingOptions,
    stop: Stop | None,
    say: Callable[[str], None],
    notes: Sequence[str],
) -> LandingReport:
    target = read_target(repository, options.into)
    require_quiet(target, repository.common)
    with _site(repository, target, options) as site:
        site.notes.extend(notes)
        ordered = plan_order(candidates, _ancestors(site, [one.tip for one in candidates]))
        say(f"merging {len(ordered)} branch{'' if len(ordered) == 1 else 'es'} into {target.branch}")
        batch = _build(site, ordered)
        if batch.taken and not options.dry_run:
            # What would refuse at the end had better refuse before minutes of checking.
            require_passage(target, repository.common, site.settings, batch.tip)
            if not options.no_verify:
                batch = _prove(repository, site, batch, ordered, stop, say)
            if stop is not None and stop.is_set():
                batch = _set_aside(site, batch, "unverified", "stopped before it could land", batch.verdict)
            if batch.taken:
                batch = _move(repository, ledger, site, batch)
        for item in batch.items:
            dirty = None if item.candidate.unit else dirty_checkout(site, item.candidate)
            if dirty is not None and item.state in ("landed", "would-land"):
                site.note(f"{item.candidate.branch}: work in {dirty} that is not committed is not part of it")
        return LandingReport(
            target=target.ref,
            old=target.tip,
            new=batch.tip if not options.dry_run else target.tip,
            items=batch.items,
            verdict=batch.verdict,
            notes=tuple(site.notes),
        )


@contextmanager
def _site(repository: Repository, target: Target, options: LandingOptions) -> Iterator[Site]:
    """Read all a landing needs, and keep its private folders while it runs."""
    with ExitStack() as stack:
        local = LocalChanges()
        if target.checkout is not None:
            local = read_local_changes(target.checkout)
            require_mergeable(target, local)
        here = Git(cwd=target.checkout or repository.top or repository.common)
        settings = read_merge_settings(here)
        hooks = find_hooks(hooks_folder(settings, repository.common, here.cwd))
        rooms: list[HookRoom] = []

        def room() -> HookRoom:
            if not rooms:
                kept = hook_room(
                    repository, _place(repository, options), target.tip, copy=options.copy, link=options.link
                )
                rooms.append(stack.enter_context(kept))
            return rooms[0]

        repo = open_repository(target.git_dir or repository.common)
        site = Site(
            git=here if target.checkout is not None else _apart(stack, repository, target),
            repo=repo,
            target=target,
            old_tree=tree_of(repo, target.tip),
            local=local,
            settings=settings,
            hooks=hooks,
            room=room,
            who=read_signatures(here),
            checkouts=read_checkouts(here),
            options=options,
        )
        for text in _hook_notes(settings, hooks):
            site.note(text)
        yield site


def _apart(stack: ExitStack, repository: Repository, target: Target) -> Git:
    """Give git a folder with nothing but the target's attributes: those of another branch must not steer the merge."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prun-attributes-")))
    lay_out_attributes(repository.git, target.tip, folder)
    return Git(cwd=folder, env={"GIT_DIR": str(repository.common), "GIT_WORK_TREE": str(folder)})


def _hook_notes(settings: MergeSettings, hooks: Hooks) -> Iterator[str]:
    yield from hooks.notes
    if hooks.names:
        yield f"hooks run on each merge: {', '.join(hooks.names)}"
    if settings.hooks and not hooks.folder.is_dir() and settings.hooks != os.devnull:
        yield f"core.hooksPath names {hooks.folder}, which is not there: no hook is active"


def _ancestors(site: Site, tips: Sequence[Oid]) -> set[tuple[Oid, Oid]]:
    """Find the pairs (ancestor, descendant) among some commits."""
    git, distinct = site.git, list(dict.fromkeys(tips))
    # What is one commit on the target's own history, as every unit is, contains no other that asks to land.
    if len(distinct) < 2 or all(is_one_commit_on(site.repo, one, site.target.tip) for one in distinct):
        return set()
    free = set(git.run("merge-base", "--independent", *distinct).text.split())
    return {
        (one, other)
        for one in distinct
        for other in distinct
        if one not in free and one != other and not git.run("merge-base", "--is-ancestor", one, other, ok=(0, 1)).code
    }


def _build(site: Site, ordered: Sequence[Candidate]) -> Batch:
    items, tip, tree = [], site.target.tip, site.old_tree
    for candidate in ordered:
        built = build_merge(site, tip, candidate)
        if isinstance(built, Built):
            tip, tree = built.commit, built.tree
        items.append(built.item if isinstance(built, Built) else built)
    return Batch(tuple(items), tip, tree)


def _prove(
    repository: Repository,
    site: Site,
    batch: Batch,
    ordered: Sequence[Candidate],
    stop: Stop | None,
    say: Callable[[str], None],
) -> Batch:
    """Check the merged tree; what it says decides which branches stay in the batch."""
    proved = [(one.verdict, one.tree) for one in ordered]
    known = known_verdict(batch.tree, proved)
    if known is not None:
        site.note("the merged tree is one that was verified before, so it was not checked again")
        return replace(batch, verdict=known)
    logs = repository.state / "landing"
    proof = Proof(
        repository=repository,
        options=site.options,
        place=_place(repository, site.options),
        logs=logs,
        stop=stop,
        notes=site.notes,
    )
    say("verifying the merged tree")
    verdict = proof.check(batch.tip, site.target.branch)
    if verdict.state == "pass" or (verdict.state != "fail" and site.options.allow_unverified):
        if verdict.state != "pass":
            site.note(f"landed without proof: {verdict.reason}")
        return replace(batch, verdict=verdict)
    if verdict.state != "fail":
        return _set_aside(site, batch, "unverified", f"the merged tree is not proved: {verdict.reason}", verdict)
    say(f"the merged tree is red; verifying {site.target.branch} without it")
    before = proof.check(site.target.tip, site.target.branch)
    if before.state == "fail":
        reason = f"{site.target.branch} was red before: {before.reason}"
        return _set_aside(site, batch, "red", reason, verdict)
    if len(batch.taken) == 1:
        return _set_aside(site, batch, "red", _red(site, batch.taken[0].candidate, verdict, []), verdict)
    return _one_by_one(site, ordered, proof, proved, say)


def _one_by_one(
    site: Site,
    ordered: Sequence[Candidate],
    proof: Proof,
    proved: Sequence[tuple[str, str]],
    say: Callable[[str], None],
) -> Batch:
    """Take branch after branch, each only if the target stays green with it."""
    batch = Batch((), site.target.tip, site.old_tree)
    for candidate in ordered:
        built = build_merge(site, batch.tip, candidate)
        if not isinstance(built, Built):
            batch = replace(batch, items=(*batch.items, built))
            continue
        say(f"verifying {candidate.branch} on top of {len(batch.taken)} others")
        verdict = known_verdict(built.tree, proved) or proof.check(built.commit, site.target.branch)
        if verdict.state == "pass" or (verdict.state != "fail" and site.options.allow_unverified):
            batch = Batch((*batch.items, built.item), built.commit, built.tree, verdict)
            continue
        state: ItemState = "red" if verdict.state == "fail" else "unverified"
        unproved = f"the merged tree is not proved: {verdict.reason}"
        reason = _red(site, candidate, verdict, batch.taken) if state == "red" else unproved
        item = LandingItem(candidate=candidate, state=state, reason=reason)
        batch = replace(batch, items=(*batch.items, item), verdict=batch.verdict or verdict)
    return batch


def _red(site: Site, candidate: Candidate, verdict: Verdict, taken: Sequence[LandingItem]) -> str:
    """Name the failing check and, for a branch that was green by itself, whom it does not get along with."""
    others = ", ".join(item.candidate.branch for item in taken) or site.target.branch
    together = f" (it is green by itself, red together with {others})" if candidate.verdict == "pass" else ""
    return f"{verdict.reason}{together or f' (on top of {others})'}"


def _set_aside(site: Site, batch: Batch, state: ItemState, reason: str, verdict: Verdict | None) -> Batch:
    """Take every branch out of a batch again."""
    aside = (replace(one, state=state, reason=reason, commit="") if one in batch.taken else one for one in batch.items)
    return Batch(tuple(aside), site.target.tip, site.old_tree, verdict)


def _move(repository: Repository, ledger: Ledger, site: Site, batch: Batch) -> Batch:
    """Move the target and record it; the ledger knows before and after, so that a crash in between is repaired."""
    target, taken = site.target, batch.taken
    require_way(target, repository.common, site.settings, batch.tip)
    rows = [
        {
            "branch": item.candidate.branch,
            "commit": item.commit,
            "tip": item.candidate.tip,
            "run": item.candidate.run,
            "unit": item.candidate.unit,
            "resolved": [{"path": one.path, "resolver": one.resolver, "added": [*one.added]} for one in item.resolved],
            "dropped": [{"path": one.path, "lines": [*one.dropped]} for one in item.resolved if one.dropped],
        }
        for item in taken
    ]
    ends = {"target": target.ref, "old": target.tip, "new": batch.tip}
    checkout = str(target.checkout) if target.checkout else ""
    names = [item.candidate.branch for item in taken]
    ledger.append("landing.started", facts={**ends, "checkout": checkout, "branches": names, "landings": rows})
    reason = render_reason(names)
    git = Git(cwd=target.checkout or repository.common)
    try:
        move_target(target, git, batch.tip, reason)
    except Refused:
        ledger.append("landing.finished", facts={**ends, "outcome": "not-moved"})
        raise
    try:
        follow(target, batch.tip, reason)
    except TakenBack:
        ledger.append("landing.finished", facts={**ends, "outcome": "taken-back"})
        raise
    for row in rows:
        record_landed(ledger, target.ref, row)
    ledger.append("landing.finished", facts={**ends, "outcome": "landed"})
    _post_merge(site)
    items = (replace(item, state="landed") if item.state == "would-land" else item for item in batch.items)
    return replace(batch, items=tuple(items))


def _post_merge(site: Site) -> None:
    if site.target.checkout is None:
        return
    hooks = find_hooks(site.hooks.folder, ("post-merge",))
    if hooks.names:
        try:
            run_hook(Git(cwd=site.target.checkout), hooks.folder, "post-merge", "0")
            site.note("the post-merge hook ran")
        except (Refused, GitFailed) as problem:
            site.note(f"{problem.message} (the landing stands)")
