"""Is the merged tree green: checked in a private clone before anything moves."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.errors import PrunError
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.merge.after import Aftermath, run_after, take_in
from gitprun.merge.hotspots import Hotspot, after_commands
from gitprun.merge.plan import Candidate
from gitprun.merge.site import Site
from gitprun.named.roster import NAMED
from gitprun.names import Oid, short
from gitprun.runs.events import Event
from gitprun.system.files import remove_tree
from gitprun.system.process import Stop
from gitprun.units import CheckResult, Verdict
from gitprun.verify.check import check_workspace
from gitprun.verify.surroundings import Surroundings, Wish, surroundings, was_confined
from gitprun.verify.view import view_of
from gitprun.workspaces.base import provide
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.setup import SetupFailed, run_setup

PASS = Verdict(state="pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How to check commits of one landing: clones go to ``place`` and are removed, logs are kept in ``logs``.

    All that runs in a clone runs confined as ``wish`` says: it is the workers' code, whoever wrote the commands.
    ``proved`` are trees known to be green; ``made`` is what the after commands left, by the tree they ran on.
    """

    repository: Repository
    site: Site
    place: Path
    logs: Path
    stop: Stop | None
    wish: Wish
    proved: frozenset[str] = frozenset()
    made: dict[Oid, Aftermath] = field(default_factory=dict)
    checked: list[Oid] = field(default_factory=list)

    def after(self, tree: Oid) -> tuple[Hotspot, ...]:
        """Give the hotspots whose commands have to run because ``tree`` changes their paths."""
        if not any(row.after for row in self.site.options.hotspots):
            return ()
        changes = self.site.since(self.site.old_tree, tree).changes
        return after_commands(map(os.fsdecode, changes), self.site.options.hotspots)

    def check(self, commit: Oid) -> Verdict:
        """Check one commit as it would stand on the target; the same tree is checked once."""
        tree = tree_of(self.site.repo, commit)
        rows, known = self.after(tree), self.site.memory.verdicts
        if tree in known and (not rows or tree in self.made):
            return known[tree]
        if self.stop is not None and self.stop.is_set():
            stopped = CheckResult(
                command="verify", state="could-not-run", code=None, seconds=0.0, log="", reason="stopped on request"
            )
            return Verdict(state="could-not-run", checks=(stopped,))
        if not rows and (tree in self.proved or self.site.options.no_verify):
            if tree in self.proved:
                self.site.note("the merged tree is one that was verified before, so it was not checked again")
            return PASS
        self.checked.append(tree)
        verdict = self._check(commit, tree, rows)
        known[tree] = verdict
        return verdict

    def _check(self, commit: Oid, tree: Oid, rows: Sequence[Hotspot]) -> Verdict:
        options, branch = self.site.options, self.site.target.branch
        path, logs = self.place / f"verify-{secrets.token_hex(4)}", self.logs / short(commit)
        source = read_source(self.repository)
        others = tuple(row for row in source.refs if row[0] != f"refs/heads/{branch}")
        workspace = make_clone(replace(source, refs=others), path, commit, branch)
        try:
            _, notes = provide(self.repository.top, path, options.copy, options.link)
            for note in (*workspace.notes, *notes):
                self.site.note(note)
            if rows:
                shutil.copytree(path / ".git", _own_git(path), symlinks=True)
            view = view_of(self.repository, options, lambda: self._changed(tree))
            with surroundings(self.wish, path, self.place / ".tmp" / path.name, {}, view=view) as around:
                for note in around.notes:
                    self.site.note(note)
                return self._run(path, logs, tree, rows, around)
        except SetupFailed as problem:
            failed = CheckResult(
                command="setup",
                state="could-not-run",
                code=None,
                seconds=0.0,
                log=str(logs / "setup.log"),
                reason=problem.message,
            )
            return Verdict(state="could-not-run", checks=(failed,))
        finally:
            try:
                shutil.rmtree(_own_git(path), ignore_errors=True)
                remove_tree(path, workspace.identity)
            except (PrunError, OSError) as problem:
                self.site.note(f"{path} could not be removed: {problem}")

    def _changed(self, tree: Oid) -> tuple[str, ...]:
        """List the paths in which a tree differs from the target."""
        return tuple(map(os.fsdecode, self.site.since(self.site.old_tree, tree).changes))

    def _run(self, path: Path, logs: Path, tree: Oid, rows: Sequence[Hotspot], around: Surroundings) -> Verdict:
        """Run the setup, the after commands and the checks in a clone of ``tree``."""
        options = self.site.options
        if options.setup:
            run_setup(path, options.setup, log=logs / "setup.log", stop=self.stop, around=around)
        if rows:
            log, timeout = logs / "after.log", options.verify_timeout
            failed = run_after(path, rows, log=log, timeout=timeout, stop=self.stop, around=around)
            if failed is not None:
                return Verdict(state=failed.state, checks=(failed,), confined=around.cell.said)
            self.made[tree] = take_in(self.site.trees, path, _own_git(path), tree, rows)
        if options.no_verify:
            return PASS
        declared, timeout = options.verify or (), options.verify_timeout
        verdict = check_workspace(path, declared, logs, around=around, timeout=timeout, stop=self.stop)
        if self.wish.confined and not around.cell.confined and not around.obstacle:
            self.site.note(f"the merged tree was checked unconfined: {around.cell.said.removeprefix('none: ')}")
        return verdict


def came_confined(candidates: Sequence[Candidate], events: Iterable[Event]) -> bool:
    """Tell whether anything that asks to land was written by a worker that was held to its workspace.

    Branches are known by their tip where it pins a unit's work, and by their name where they are a named workspace's.
    """
    confined, specs, branches = set[str](), dict[tuple[str, str], bool](), dict[str, str]()
    for event in events:
        facts, key = event.facts, (event.run, event.unit)
        spec = facts if event.run == NAMED else facts.get("spec")
        if isinstance(spec, Mapping) and "sandbox" in spec:
            specs[key] = was_confined(str(spec.get("executor")), str(spec["sandbox"]))
        if event.run == NAMED and "branch" in facts:
            branches[event.unit] = str(facts["branch"])
        if specs.get(key):
            confined.add(branches.get(event.unit, "") if event.run == NAMED else str(facts.get("commit", "")))
    confined.discard("")
    return any(one.confined or not confined.isdisjoint((one.branch, one.tip)) for one in candidates)


def _own_git(path: Path) -> Path:
    """Name the folder that keeps a clone's fresh git folder out of reach of what runs in it."""
    return path.with_name(f"{path.name}.git")
