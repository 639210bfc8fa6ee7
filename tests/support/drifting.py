"""A repository with everything a worker could spoil, a linked worktree for one, and what a witness says about it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gitprun.ledger.drift_findings import rank
from gitprun.ledger.drift_record import Drift, read_drifts
from gitprun.ledger.ledger import Ledger
from gitprun.model.names import RunId, UnitId, unit_branch
from gitprun.observe.attribution import PossibleAuthor
from gitprun.observe.drift_observer import DriftObserver, author_of
from gitprun.workspaces.worktree import make_worktree
from tests.support.clock import FakeClock
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of

# A little later than the commits of the tests.
NOW = 1767607300.0


@dataclass(slots=True)
class Scene:
    """The user's repository, his other worktree, a unit's worktree, and the witness of run r1."""

    repo: Repo
    other: Repo
    work: Repo
    ledger: Ledger
    witness: DriftObserver
    suspect: PossibleAuthor

    def act(self, script: str, *, cwd: Path | None = None) -> None:
        """Let the worker of r1/u run a script in the user's checkout."""
        self.witness.begin(self.suspect)
        self.sh(script, cwd=cwd)
        self.witness.end(self.suspect.name)

    def sh(self, script: str, *, cwd: Path | None = None) -> str:
        """Run a script, by default in the user's checkout."""
        env = {**os.environ, "WORK": str(self.work.path), "OTHER": str(self.other.path), "REPO": str(self.repo.path)}
        argv = ["sh", "-euc", script]
        done = subprocess.run(argv, cwd=cwd or self.repo.path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def drifts(self) -> tuple[Drift, ...]:
        """List what was written down."""
        return read_drifts(self.ledger.read().events)

    def told(self) -> list[str]:
        """Say what was found, what counts marked with a ``!``."""
        found = sorted((one for drift in self.drifts for one in drift.findings), key=rank)
        return [("! " if one.gate else "  ") + self.plain(one.text) for one in found]

    def plain(self, text: str) -> str:
        """Put words in the place of commits and folders."""
        names = {"main": self.base, "topic": self.topic, "first": self.first}
        for name, oid in names.items():
            text = text.replace(oid[:10], f"<{name}>")
        return text.replace(str(self.other.path), "OTHER").replace(str(self.repo.path), "REPO")

    first: str = ""
    base: str = ""
    topic: str = ""


def make_scene(path: Path) -> Scene:
    """Make the repository: two commits, a topic, a tag, two stashes, a hook, settings, another worktree."""
    repo = make_repo(path / "r", a="1\n")
    first = repo.head
    base = repo.commit("second", a="2\n")
    repo.switch("topic", new=True)
    topic = repo.commit("on topic", t="t\n")
    repo.switch("main")
    repo.git("tag", "-a", "-m", "one", "v1", "topic")
    repo.git("update-ref", "refs/remotes/origin/main", base)
    repo.git("config", "remote.origin.url", "https://user:secret@example.test/x.git")
    repo.git("config", "user.name", "Ada")
    for name in ("one", "two"):
        repo.write("a", f"{name}\n")
        repo.git("stash", "-q")
    repo.hook("pre-commit", "exit 0")
    (repo.path / ".git" / "info" / "exclude").write_text("*.tmp\n")
    repo.write("mine", "uncommitted\n")
    other = repo.worktree(path / "other", "side", new=True)
    made = make_worktree(repo.repository, path / "r.prun" / "r1" / "u", base, unit_branch(RunId("r1"), UnitId("u")))
    ledger = Ledger(repo.repository.state, FakeClock(NOW))
    ledger.append(payload_of("unit.prepared", {"path": str(made.path), "workspace": "worktree"}), run="r1", unit="u")
    witness = DriftObserver(repo.repository, ledger, "r1", path / "r.prun")
    suspect = author_of("r1", "u", made)
    return Scene(repo, other, Repo(made.path), ledger, witness, suspect, first, base, topic)


def state_of(scene: Scene) -> dict[str, object]:
    """Take down everything an undo has to bring back, and everything it must not touch."""
    git = scene.repo.path / ".git"
    refs = scene.repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    files = [git / "config", git / "HEAD", *sorted((git / "hooks").glob("pre-*")), *sorted((git / "info").glob("*"))]
    return {
        "refs": [row for row in refs if not row.startswith("refs/prun/")],
        "stash": scene.repo.git("stash", "list"),
        "files": {str(path): (path.read_bytes(), path.stat().st_mode) for path in files if path.name != "refs"},
        "shallow": (git / "shallow").exists(),
        "alternates": (git / "objects" / "info" / "alternates").exists(),
        "worktrees": sorted(path.name for path in (git / "worktrees").iterdir()),
        "logs": {name: reflog(git / "logs" / name)[:1] for name in ("refs/heads/topic", "HEAD")},
    }


def untouched(scene: Scene) -> dict[str, object]:
    """Take down the user's checkouts: files and index, bit for bit."""
    tops = (scene.repo.path, scene.other.path)
    found = {path: path.read_bytes() for top in tops if top.exists() for path in top.iterdir() if path.is_file()}
    indexes = (scene.repo.path / ".git" / "index", scene.repo.path / ".git" / "worktrees" / "other" / "index")
    staged = [scene.repo.git("ls-files", "-s", env={"GIT_INDEX_FILE": str(one)}) for one in indexes if one.exists()]
    return {"files": found, "staged": staged}


def reflog(path: Path) -> list[str]:
    """Read a reflog's lines."""
    return path.read_text().splitlines() if path.exists() else []


def fits(told: str, wanted: str) -> bool:
    """Compare with ``...`` standing for what no two repositories share."""
    head, _, tail = wanted.partition("...")
    middle = tail.rpartition("...")[2] if "..." in tail else tail
    return told == wanted or ("..." in wanted and told.startswith(head) and told.endswith(middle))
