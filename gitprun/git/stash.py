"""The stash, read only: which entries there are, and what each of them holds."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

from gitprun.git.command import Git
from gitprun.git.trees import read_changes
from gitprun.model.names import Oid

STASH = "refs/stash"
# Beyond that many entries nobody remembers what is in them, and each costs two or three programs.
MOST = 50


@dataclass(frozen=True, slots=True)
class StashEntry:
    """One entry: ``name`` as git takes it, its commit, what it was made on, what git says about it.

    ``parts`` are the commits of what was staged and, where there was any, of what was untracked.
    """

    name: str
    commit: Oid
    base: Oid
    parts: tuple[Oid, ...]
    said: str

    def is_of(self, branch: str, commits: Collection[str]) -> bool:
        """Check whether it was made on a branch, or on one of these commits."""
        own = bool(branch) and self.said.startswith((f"WIP on {branch}: ", f"On {branch}: "))
        return own or self.base in commits


def read_stash(git: Git) -> tuple[StashEntry, ...]:
    """Read the newest entries; none where nothing was stashed."""
    if git.run("show-ref", "--verify", "--quiet", STASH, ok=(0, 1, 128)).code != 0:
        return ()
    # The stash is its own reflog. Signatures would be checked, and told in between, where log.showSignature is on.
    words = ("log", "-g", "-z", f"--max-count={MOST}", "--no-show-signature", "--format=%H %P%n%gs", STASH, "--")
    found = []
    for number, row in enumerate(git.run(*words).out.split(b"\0")):
        commits, _, said = os.fsdecode(row).partition("\n")
        oids = [Oid(oid) for oid in commits.split()]
        # A stash entry has two or three parents; anything else was put into the ref by hand.
        if len(oids) > 1:
            found.append(StashEntry(f"stash@{{{number}}}", oids[0], oids[1], tuple(oids[2:]), said))
    return tuple(found)


def shared_with_stash(git: Git, base: Oid, tip: Oid) -> tuple[tuple[bytes, str], ...]:
    """List the paths that a commit changes to just what a stash entry holds there, each with that entry's name."""
    entries = read_stash(git)
    if not entries:
        return ()
    wanted = {(change.path, change.new_mode, change.new) for change in read_changes(git, base, tip)}
    found: dict[bytes, str] = {}
    for entry in entries:
        # What was staged may be another version than what lay in the files.
        held = [(entry.base, entry.commit), *((entry.base, part) for part in entry.parts[:1])]
        rows = {row for pair in held for row in read_changes(git, *pair)}
        held_here = {(change.path, change.new_mode, change.new) for change in rows if not change.removed}
        for part in entry.parts[1:]:
            # The commit of untracked files has no parent: its whole tree is what it holds.
            held_here |= _files(git, part)
        for path, _, _ in sorted(wanted & held_here):
            found.setdefault(path, entry.name)
    return tuple(sorted(found.items()))


def _files(git: Git, commit: Oid) -> set[tuple[bytes, str, Oid]]:
    rows = git.run("ls-tree", "-r", "-z", "--full-tree", commit).fields
    parts = [row.partition(b"\t") for row in rows]
    return {(path, about.split()[0].decode(), Oid(about.split()[2].decode())) for about, _, path in parts}
