"""Is the merged tree green: checked in a pristine place before anything moves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.refs import write_commit
from gitprun.git.repo import Repository
from gitprun.git.trees import parents_of, tree_of
from gitprun.judging.hotspots import Hotspot, after_commands
from gitprun.landing.after import AfterCommands, list_ignored, run_after, take_in, write_after
from gitprun.landing.context import LandingContext
from gitprun.landing.hooks import UnfitContent
from gitprun.landing.own_check import OwnCheck, judge, not_run
from gitprun.landing.plan import Candidate, LandingOptions, News
from gitprun.ledger.events import Event
from gitprun.ledger.roster import NAMED
from gitprun.ledger.unit_events import PlaceFacts, UnitCaptured, UnitPreparing, UnitQueued
from gitprun.model.names import Oid, short
from gitprun.model.units import CheckResult, Verdict, was_confined
from gitprun.supervisor.process import Stop
from gitprun.verify.check import SetupFailed
from gitprun.verify.pristine import CheckContext, CheckPlan, check_commit, not_set_up, pristine_place
from gitprun.verify.put_back import PutBack
from gitprun.verify.surroundings import ConfinementRequest
from gitprun.workspaces.root import workspaces_root

PASS = Verdict(state="pass")


def landing_checks(options: LandingOptions, wish: ConfinementRequest, branch: str) -> CheckPlan:
    """Return how the trees of a landing on a branch are checked."""
    return CheckPlan(
        wish=wish,
        branch=branch,
        commands=options.verify or (),
        detect=options.detect,
        setup=options.setup,
        copy=options.copy,
        link=options.link,
        timeout=options.verify_timeout,
        may_change=options.verify_may_change,
        view=options.verify_view,
        confirm_red=options.confirm_red,
    )


def check_apart(
    repository: Repository,
    commit: Oid,
    plan: CheckPlan,
    *,
    root: str,
    stop: Stop | None,
    note: Callable[[str], None],
) -> Verdict:
    """Return what checks say of a commit that is to become a branch's tip without being built as a train."""
    top, logs = workspaces_root(repository, root), repository.state / "landing" / short(commit)
    context = CheckContext(repository=repository, top=top, logs=logs, stop=stop, note=note)
    return check_commit(context, commit, plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How to check commits of one landing: ``top`` is the folder for workspaces, logs are kept in ``logs``.

    All that runs in such a place runs confined as ``plan`` says: it is the workers' code, whoever wrote the commands.
    ``proved`` are trees known to be green by the same plan; ``made`` is what the after commands left, by the tree they
    ran on.
    """

    repository: Repository
    site: LandingContext
    top: Path
    logs: Path
    stop: Stop | None
    plan: CheckPlan
    own_check: OwnCheck
    proved: frozenset[str] = frozenset()
    made: dict[Oid, AfterCommands] = field(default_factory=dict)
    checked: list[Oid] = field(default_factory=list)

    def after(self, tree: Oid) -> tuple[Hotspot, ...]:
        """Return the hotspots whose commands have to run because ``tree`` changes their paths."""
        # Most landings have no such command, and need no list of what changed.
        if not any(row.after for row in self.site.options.hotspots):
            return ()
        changes = self.site.since(self.site.old_tree, tree).changes
        return after_commands(map(os.fsdecode, changes), self.site.options.hotspots)

    def check(self, commit: Oid) -> Verdict:
        """Check one commit as it would stand on the target; the same tree is checked once.

        What is green although its checks were changed is checked with these put back, too.
        """
        tree = tree_of(self.site.repo, commit)
        rows = self.after(tree)
        # Once for each tree: a generator that writes the time would make another one at every check.
        if rows and tree not in self.made:
            failed = self._make(commit, tree, rows)
            if failed is not None:
                return failed
        if rows and self.made[tree].tree != tree:
            # What lands is the tree with what they made, so that is what has to be green.
            tree, commit = self.made[tree].tree, write_after(self.site, commit, self.made[tree])
        verdict = self._check_tree(commit, tree)
        # Red says all there is to say; what changed its checks matters only where they are green.
        if verdict.state != "pass" or self.site.options.no_verify:
            return verdict
        back = self.own_check.to_prove(commit, tree)
        return verdict if back is None else self._check_put_back(commit, verdict, back)

    def _check_put_back(self, commit: Oid, green: Verdict, back: PutBack) -> Verdict:
        """Judge a green commit by what the checks say with its changes of them put back."""
        site = self.site
        # In the place of the commit: checks may look at the history too.
        parents = parents_of(site.repo, commit)
        instead = write_commit(site.repo, back.tree, parents, "prun: with the checks put back\n", *site.who)
        again = self._check_tree(instead, back.tree)
        unknown = not_run(back, again)
        if unknown:
            site.note(unknown)
        return judge(green, back, again)

    def _check_tree(self, commit: Oid, tree: Oid) -> Verdict:
        known = self.site.memory.verdicts
        # By tree, not by commit: merges that come to the same files are the same question.
        if tree in known:
            return known[tree]
        if self.site.options.no_verify:
            return PASS
        if tree in self.proved:
            self.site.note(News("the merged tree is one that was verified before, so it was not checked again"))
            return PASS
        if self._is_stopped():
            return _stopped()
        self.checked.append(tree)
        known[tree] = check_commit(self._context(commit), commit, self.plan)
        return known[tree]

    def _context(self, commit: Oid) -> CheckContext:
        return CheckContext(
            repository=self.repository,
            top=self.top,
            logs=self.logs / short(commit),
            stop=self.stop,
            note=self.site.note,
        )

    def _make(self, commit: Oid, tree: Oid, rows: Sequence[Hotspot]) -> Verdict | None:
        """Have the after commands run on a commit and keep what they make; return what kept them from it."""
        if self._is_stopped():
            return _stopped()
        logs, plan = self.logs / short(commit), self.plan
        try:
            with pristine_place(self._context(commit), commit, plan) as place:
                # Before they run: the setup may have made ignored files, and those are not theirs.
                ignored = list_ignored(place)
                failed = run_after(place, rows, log=logs / "after.log", timeout=plan.timeout, stop=self.stop)
                if failed is None:
                    self.made[tree] = take_in(self.site, place, tree, rows, ignored)
                    return None
                said = place.around.sandbox.said
        except SetupFailed as problem:
            failed, said = not_set_up(problem, logs), ""
        except UnfitContent as problem:
            failed, said = _not_taken(rows, problem), ""
        return Verdict(state=failed.state, checks=(failed,), confined=said)

    def _is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()


def _stopped() -> Verdict:
    stopped = CheckResult(
        command="verify", state="could-not-run", code=None, seconds=0.0, log="", reason="stopped on request"
    )
    return Verdict(state="could-not-run", checks=(stopped,))


def _not_taken(rows: Sequence[Hotspot], problem: UnfitContent) -> CheckResult:
    commands = ", ".join(dict.fromkeys(command for row in rows for command in row.after))
    return CheckResult(
        command=f"after: {commands}", state="could-not-run", code=None, seconds=0.0, log="", reason=problem.message
    )


def came_confined(candidates: Sequence[Candidate], events: Iterable[Event]) -> bool:
    """Check whether anything that asks to land was written by a worker that was held to its workspace.

    Branches are known by their tip where it pins a unit's work, and by their name where they are a named workspace's.
    """
    confined, specs, branches = set[str](), dict[tuple[str, str], bool](), dict[str, str]()
    for event in events:
        one, key = event.payload, (event.run, event.unit)
        if isinstance(one, UnitQueued) and one.spec is not None:
            specs[key] = one.spec.confined
        elif isinstance(one, UnitPreparing) and one.sandbox:
            # Of a named workspace: what is asked for is another thing in each request.
            specs[key] = was_confined(one.executor, one.sandbox, one.walled)
        if event.run == NAMED and isinstance(one, PlaceFacts) and one.branch:
            branches[event.unit] = one.branch
        if specs.get(key):
            captured = one.commit or "" if isinstance(one, UnitCaptured) else ""
            confined.add(branches.get(event.unit, "") if event.run == NAMED else captured)
    # Of events without a commit or a branch: an empty name would fit every branch made elsewhere.
    confined.discard("")
    return any(one.confined or not confined.isdisjoint((one.branch, one.tip)) for one in candidates)
