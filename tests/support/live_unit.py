"""A unit whose worker is at work in a linked worktree, as far as everybody else can see."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from gitprun.model.names import RunId, UnitId, unit_branch
from gitprun.supervisor.process import probe_identity
from gitprun.workspaces.worktree import make_worktree
from tests.support.cli import Said, program_environment, prun
from tests.support.repos import Repo
from tests.support.rows import payload_of

RUN, UNIT = RunId("r1"), UnitId("u")


@dataclass(frozen=True, slots=True)
class LiveUnit:
    """The user's repository, the worktree of the unit, and the environment of its worker."""

    repo: Repo
    work: Repo

    @property
    def kept(self) -> Path:
        """Name the folder prun keeps for the unit."""
        return self.repo.repository.state / "runs" / RUN / UNIT

    @property
    def env(self) -> dict[str, str]:
        """Give what a worker has in its environment."""
        return {"PRUN_RUN": RUN, "PRUN_UNIT": UNIT, "PRUN_REPO": str(self.repo.path)}

    def git(self, *args: str, cwd: Path | None = None) -> Said:
        """Run git as the worker, in its worktree unless told otherwise."""
        return shell_out(["git", *args], cwd or self.work.path, self.env)

    def outsider(self, *args: str, cwd: Path | None = None) -> Said:
        """Run git as anybody who is no worker."""
        return shell_out(["git", *args], cwd or self.work.path)

    def history(self) -> str:
        """Write down all refs and heads of the repository."""
        heads = [repo.git("rev-parse", "HEAD", "--symbolic-full-name", "HEAD") for repo in (self.repo, self.work)]
        return "\n".join([self.repo.git("for-each-ref"), *heads])


def shell_out(argv: list[str], cwd: Path, extra: Mapping[str, str] | None = None, given: bytes = b"") -> Said:
    """Run a program whose hooks find the package under test."""
    done = subprocess.run(argv, cwd=cwd, env=program_environment(extra), input=given, capture_output=True, check=False)
    return Said(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def start_unit(repo: Repo, *, coordinator: int | None = None) -> LiveUnit:
    """Make the worktree of a unit and write down that its worker runs; hooks are installed before."""
    said = prun(repo.path, "hooks", "install", "--all")
    assert said.code == 0, said.err
    repository, ledger = repo.repository, repo.ledger
    path = repo.path.parent / "w s.prun" / RUN / UNIT
    me = probe_identity(coordinator or os.getpid())
    gone = {"pid": 1, "start": "never", "boot": "never"}
    ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": asdict(me) if me else gone}), run=RUN)
    ledger.append(payload_of("unit.queued", {}), run=RUN, unit=UNIT)
    made = make_worktree(repository, path, repo.head, unit_branch(RUN, UNIT))
    (repository.state / "runs" / RUN / UNIT).mkdir(parents=True)
    ledger.append(payload_of("unit.prepared", {"workspace": made.kind, "path": str(path)}), run=RUN, unit=UNIT)
    ledger.append(payload_of("unit.started", {}), run=RUN, unit=UNIT)
    return LiveUnit(repo, Repo(path))
