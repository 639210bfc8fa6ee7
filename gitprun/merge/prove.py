"""Is the merged tree green: checked in a private clone before anything moves."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.errors import PrunError
from gitprun.git.repo import Repository
from gitprun.merge.plan import LandingOptions
from gitprun.names import Oid, short
from gitprun.system.files import remove_tree
from gitprun.system.process import Stop, worker_environment
from gitprun.units import CheckResult, Verdict
from gitprun.verify.check import check_workspace
from gitprun.workspaces.base import provide
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.setup import SetupFailed, run_setup


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How to check commits of one landing: clones go to ``place`` and are removed, logs are kept in ``logs``."""

    repository: Repository
    options: LandingOptions
    place: Path
    logs: Path
    stop: Stop | None
    notes: list[str]

    def check(self, commit: Oid, branch: str) -> Verdict:
        """Check one commit as it would stand on ``branch``."""
        path = self.place / f"verify-{secrets.token_hex(4)}"
        source = read_source(self.repository)
        others = tuple(row for row in source.refs if row[0] != f"refs/heads/{branch}")
        workspace = make_clone(replace(source, refs=others), path, commit, branch)
        try:
            _, notes = provide(self.repository.top, path, self.options.copy, self.options.link)
            self.notes.extend(note for note in (*workspace.notes, *notes) if note not in self.notes)
            log = self.logs / short(commit) / "setup.log"
            if self.options.setup:
                run_setup(path, self.options.setup, log=log, stop=self.stop)
            return check_workspace(
                path,
                self.options.verify or (),
                self.logs / short(commit),
                env=worker_environment({}),
                timeout=self.options.verify_timeout,
                stop=self.stop,
            )
        except SetupFailed as problem:
            failed = CheckResult(
                command="setup", state="could-not-run", code=None, seconds=0.0, log=str(log), reason=problem.message
            )
            return Verdict(state="could-not-run", checks=(failed,))
        finally:
            try:
                remove_tree(path, workspace.identity)
            except (PrunError, OSError) as problem:
                self.notes.append(f"{path} could not be removed: {problem}")


def known_verdict(tree: Oid, proved: Sequence[tuple[str, str]]) -> Verdict | None:
    """Give the passing verdict that one of the branches (verdict, tree) already has for exactly this tree."""
    return Verdict(state="pass") if ("pass", tree) in proved else None
