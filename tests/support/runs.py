"""Whole runs in real repositories, with workers that are small shell scripts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitprun.executors.base import Progress
from gitprun.ledger.events import Event, UnitState
from gitprun.model.names import UnitId
from gitprun.model.plan import Plan, Settings
from gitprun.model.units import Unit
from gitprun.runs.context import Coordinator
from gitprun.runs.dispatch import RunReport, run_plan
from gitprun.supervisor.process import Stop
from gitprun.system.clock import Alarm
from tests.support.repos import Repo

# Writes a result that follows the contract.
RESULT = """
printf '# %s result\\nConclusion: done\\nFiles: some\\nOpen items: none\\nVerification: none\\n' \\
  "$PRUN_UNIT" >"$PRUN_RESULT"
"""


def sh(unit_id: str, script: str, **rest: Any) -> Unit:
    """Make a unit whose worker is a shell script."""
    settings: dict[str, Any] = {"prompt": f"Do {unit_id}.\n", "timeout": 60.0, **rest}
    return Unit(id=UnitId(unit_id), executor="command", command=("sh", "-euc", script), **settings)


def run_units(
    repo: Repo,
    *units: Unit,
    verify: tuple[str, ...] | None = ("true",),
    stop: Stop | None = None,
    heard: list[tuple[str, Progress]] | None = None,
    clock: Alarm | None = None,
    **settings: Any,
) -> RunReport:
    """Run units in a repository with short patience and without retries; the workspaces lie beside it."""
    plan = Plan(units=units, settings=Settings(verify=verify, **{"retries": 0, **settings}))
    listening = [] if heard is None else heard
    return run_plan(
        repo.repository,
        plan,
        Coordinator(
            ledger=repo.ledger,
            stop=stop or Stop(),
            heard=lambda unit, progress: listening.append((unit, progress)),
            clock=clock,
            grace=0.1,
        ),
    )


def unit_of(repo: Repo, name: str) -> UnitState:
    """Give what is known about a unit of the last run."""
    last = repo.ledger.read().history.last
    assert last is not None
    return last.units[name]


def events_of(repo: Repo, name: str) -> list[Event]:
    """Give the events of a unit in order."""
    return [event for event in repo.ledger.read().events if event.unit == name]


def kept(repo: Repo, run: str, unit: str, name: str) -> str:
    """Read a file prun keeps for a unit."""
    return (repo.path / ".git" / "prun" / "runs" / run / unit / name).read_text()


def workspace(repo: Repo, run: str, unit: str) -> Path:
    """Name the folder of a unit in the default root."""
    return repo.path.parent / f"{repo.path.name}.prun" / run / unit


def fingerprint(repo: Repo) -> Mapping[str, object]:
    """Take down everything of a user's checkout that a run must leave as it was, bit for bit."""
    git = repo.path / ".git"
    refs = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return {
        "status": repo.status(),
        "index": (git / "index").read_bytes(),
        "head": (git / "HEAD").read_bytes(),
        "config": (git / "config").read_bytes(),
        "exclude": (git / "info" / "exclude").read_bytes() if (git / "info" / "exclude").exists() else b"",
        "stash": repo.git("stash", "list"),
        "refs": [ref for ref in refs if not ref.startswith(("refs/prun/", "refs/heads/prun/"))],
        "hooks": sorted(path.name for path in (git / "hooks").iterdir()) if (git / "hooks").is_dir() else [],
        "files": {str(path): path.read_bytes() for path in sorted(repo.path.iterdir()) if path.is_file()},
    }
