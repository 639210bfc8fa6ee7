"""Small real repositories for tests; who and when come from the environment the seal set."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from gitprun.git.repo import Repository, find_repository
from gitprun.ledger.ledger import Ledger
from gitprun.model.names import Oid
from gitprun.system.config import read_settings
from gitprun.workspaces.trust import record_trust
from tests.support.plain_git import commit_plainly, find_plainly, init_plainly, read_files, resolve_plainly


@dataclass(frozen=True, slots=True)
class Repo:
    """A checkout at ``path`` driven by the real git program."""

    path: Path

    def git(
        self, *args: str | bytes, env: Mapping[str, str] | None = None, stdin: bytes = b"", ok: tuple[int, ...] = (0,)
    ) -> str:
        """Run git here and give what it printed, without the last line ends."""
        done = subprocess.run(
            ["git", *args],
            cwd=self.path,
            env={**os.environ, **(env or {})},
            input=stdin,
            capture_output=True,
            check=False,
        )
        if done.returncode not in ok:
            raise AssertionError(f"git {args}: {done.returncode}\n{done.stdout!r}\n{done.stderr.decode()}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, name: str, content: str | bytes, *, executable: bool = False) -> Path:
        """Write a file, making the folders above it."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        if executable:
            target.chmod(0o755)
        return target

    def read(self, name: str) -> str:
        """Read a file of the checkout as text."""
        return (self.path / name).read_text()

    def commit(self, message: str, **files: str | bytes) -> Oid:
        """Write ``files`` (``__`` stands for ``/``, ``_dot_`` for ``.``), commit everything, give the commit."""
        for name, content in files.items():
            self.write(name.replace("__", "/").replace("_dot_", "."), content)
        made = commit_plainly(self.path, message)
        if made is not None:
            return Oid(made)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    def branch(self, name: str, start: str = "HEAD") -> None:
        """Make a branch without changing to it."""
        self.git("branch", "-q", name, start)

    def switch(self, name: str, *, new: bool = False, start: str = "HEAD") -> None:
        """Change to a branch, making it first if it is new."""
        self.git("checkout", "-q", *(("-b", name, start) if new else (name,)))

    def worktree(self, path: Path, branch: str, *, new: bool = False, start: str = "HEAD") -> Repo:
        """Add a linked worktree on a branch."""
        self.git("worktree", "add", "-q", *(("-b", branch, str(path), start) if new else (str(path), branch)))
        return Repo(path)

    def oid(self, revision: str) -> Oid:
        """Resolve a revision."""
        found = resolve_plainly(self.path, revision)
        return Oid(self.git("rev-parse", "--verify", revision) if found is None else str(found.id))

    def hook(self, name: str, script: str) -> Path:
        """Install a hook; ``script`` follows the ``#!/bin/sh`` line."""
        return self.write(f".git/hooks/{name}", f"#!/bin/sh\n{script}\n", executable=True)

    def status(self) -> list[str]:
        """List what differs from HEAD, untracked files too."""
        return self.git("status", "--porcelain", "--untracked-files=all").splitlines()

    def files(self, revision: str = "HEAD") -> dict[str, str]:
        """Read all files of a commit."""
        found = resolve_plainly(self.path, f"{revision}^{{tree}}")
        if isinstance(found, pygit2.Tree):
            return dict(read_files(found))
        names = self.git("ls-tree", "-r", "-z", "--name-only", revision).split("\0")[:-1]
        return {name: self.git("cat-file", "blob", f"{revision}:{name}") for name in names}

    def raw(self, revision: str = "HEAD") -> str:
        """Read a commit object, bit for bit."""
        return self.git("cat-file", "commit", revision)

    def approve(self) -> None:
        """Approve what prun.toml says, as git prun trust does."""
        record_trust(self.repository, read_settings(self.path).powers)

    @property
    def head(self) -> Oid:
        """Give the commit that is checked out."""
        return self.oid("HEAD")

    @property
    def repository(self) -> Repository:
        """Open it the way commands do."""
        return find_plainly(self.path) or find_repository(self.path)

    @property
    def ledger(self) -> Ledger:
        """Open its ledger."""
        return Ledger(self.repository.state)


def make_repo(path: Path, **files: str | bytes) -> Repo:
    """Make a repository on branch ``main`` with one commit ``base`` holding ``files`` (names as in Repo.commit)."""
    path.mkdir(parents=True, exist_ok=True)
    repo = Repo(path)
    if not init_plainly(path):
        repo.git("init", "-q", "-b", "main")
    repo.commit("base", **(files or {"a_dot_txt": "1\n"}))
    return repo


def make_repo_for_workers(path: Path) -> Repo:
    """Make a repository that says who commits: workers see no GIT_* variables."""
    made = make_repo(path)
    made.git("config", "user.name", "Wanda Worker")
    made.git("config", "user.email", "wanda@example.test")
    return made


def make_bare(path: Path, source: Repo) -> Repo:
    """Make a bare clone."""
    source.git("clone", "-q", "--bare", str(source.path), str(path))
    return Repo(path)
