"""Is the merged tree green: checked in a private clone before anything moves."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.errors import PrunError
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.merge.after import Aftermath, run_after, take_in
from gitprun.merge.hotspots import Hotspot, after_commands
from gitprun.merge.site import Site
from gitprun.names import Oid, short
from gitprun.system.files import remove_tree
from gitprun.system.process import Stop, worker_environment
from gitprun.units import CheckResult, Verdict
from gitprun.verify.check import check_workspace
from gitprun.workspaces.base import provide
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.setup import SetupFailed, run_setup

PASS = Verdict(state="pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How to check commits of one landing: clones go to ``place`` and are removed, logs are kept in ``logs``.

    ``proved`` are trees known to be green; ``made`` is what the after commands left, by the tree they ran on.
    """

    repository: Repository
    site: Site
    place: Path
    logs: Path
    stop: Stop | None
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
            if options.setup:
                run_setup(path, options.setup, log=logs / "setup.log", stop=self.stop)
            if rows:
                failed = run_after(path, rows, log=logs / "after.log", timeout=options.verify_timeout, stop=self.stop)
                if failed is not None:
                    return Verdict(state=failed.state, checks=(failed,))
                self.made[tree] = take_in(self.site.trees, path, tree, rows)
            if options.no_verify:
                return PASS
            env = worker_environment({})
            return check_workspace(
                path, options.verify or (), logs, env=env, timeout=options.verify_timeout, stop=self.stop
            )
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
                remove_tree(path, workspace.identity)
            except (PrunError, OSError) as problem:
                self.site.note(f"{path} could not be removed: {problem}")
