"""Whose doing a change is, as far as that can be known: told by reflogs, history and the workspaces of units."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.ledger.drift_findings import BRANCHES, STASH, Change
from gitprun.model.errors import PrunError
from gitprun.observe.drift_rules import ChangeEvidence
from gitprun.observe.files import stat_of
from gitprun.observe.keep import shared_git
from gitprun.observe.reflogs import last_entry, lost_lines, read_entry, untimely
from gitprun.observe.snapshot import GONE, RepositorySnapshot, Stamp
from gitprun.observe.snapshotter import log_place
from gitprun.system.files import read_plain

# A reflog of that size has 300,000 entries; git itself forgets them after 90 days.
MOST_LOG = 64 << 20
# Each question starts a git or reads a file: a worker that moved ten thousand branches must not hold up its own end.
MOST_ASKED = 200
# Files are compared to tell a writer, not to prove anything: larger ones are told by the time alone.
MOST_COMPARED = 1 << 20
# Ancestry of two commits in the largest histories there are takes seconds.
TIMEOUT = 60.0
# The clock of a file system runs a few milliseconds behind.
SLACK = 0.1
Kept = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleAuthor:
    """A unit whose worker ran: where it worked, in what kind of workspace, on which branch.

    ``worked_on`` are the paths it is known to have changed (None: it may have been any), ``began`` and ``ended`` the
    times between which its worker ran (None: not known, or not yet).
    """

    name: str
    path: str = ""
    kind: str = ""
    branch: str = ""
    worked_on: frozenset[str] | None = None
    began: float | None = None
    ended: float | None = None

    def ran_at(self, time: float) -> bool:
        """Check whether its worker ran at a time."""
        if self.began is None or time < self.began - SLACK:
            return False
        return self.ended is None or time <= self.ended + SLACK


def sole_holder(file: Path, path: str, authors: Iterable[PossibleAuthor]) -> str:
    """Name the unit that holds the very content of a file at the same path, if just one does; empty otherwise."""
    about = stat_of(str(file))
    if about is None or not 0 < about[3] <= MOST_COMPARED:
        return ""
    content: bytes | None = None
    holders = []
    for one in authors:
        if not one.path or (one.worked_on is not None and path not in one.worked_on):
            continue
        twin = stat_of(os.path.join(one.path, path))
        # Of twenty workspaces with a file of that name, those of another size need not be read.
        if twin is None or not stat.S_ISREG(twin[0]) or twin[3] != about[3]:
            continue
        content = content if content is not None else read_plain(file, MOST_COMPARED)
        if content is not None and read_plain(Path(one.path) / path, MOST_COMPARED) == content:
            holders.append(one.name)
    return holders[0] if len(holders) == 1 else ""


class CheckoutWriters:
    """Tells who wrote into the user's checkout, and remembers what it found between looks."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Stamp], str] = {}

    def find(self, top: Path, changed: Mapping[str, Stamp], authors: Sequence[PossibleAuthor]) -> dict[str, str]:
        """Name the writers of changed paths.

        A unit that holds the very same content is the writer; else the one unit whose worker ran when the file
        changed may be, and its name gets a question mark.
        """
        found = {}
        for path, stamp in changed.items():
            if stamp == GONE:
                continue
            name = self._known.get((path, stamp), "")
            if not name or name.endswith("?"):
                name = sole_holder(top / path, path, authors) or _only_one_then(stamp, authors)
                self._known[path, stamp] = name
            if name:
                found[path] = name
        return found


def _only_one_then(stamp: Stamp, authors: Iterable[PossibleAuthor]) -> str:
    ran = [one.name for one in authors if one.ran_at(stamp[1] / 1e9)]
    return f"{ran[0]}?" if len(ran) == 1 else ""


class Attribution:
    """Asks about the differences between two looks; ``kept`` gives a content by its digest."""

    def __init__(
        self,
        repository: Repository,
        before: RepositorySnapshot,
        after: RepositorySnapshot,
        authors: Sequence[PossibleAuthor],
        kept: Kept,
    ) -> None:
        self.repository, self.before, self.after = repository, before, after
        self.authors, self.kept = authors, kept
        self._asked = 0
        # A ref that moved to where another one was says nothing about who made the commit.
        self._old = {*before.refs.values(), *before.heads.values()}

    def about(self, thing: Change) -> ChangeEvidence:
        """Find out what can be known about one difference."""
        if thing.kind == "ref":
            return self._about_ref(thing)
        if thing.kind == "head":
            entry = last_entry(self._log(thing.name))
            followed = entry is not None and entry.new == self._resolve(thing.new) and self._grew(thing.name)
            return ChangeEvidence(followed=followed, said=entry.said if entry and followed else None)
        if thing.kind == "reflog":
            return ChangeEvidence(lost=self._lost(thing.name, thing.old))
        if thing.kind == "checkout":
            return ChangeEvidence(writers=self._holder(thing.name))
        return ChangeEvidence()

    def _about_ref(self, thing: Change) -> ChangeEvidence:
        entry = last_entry(self._log(thing.name))
        ours = entry is not None and entry.new == thing.new
        found = ChangeEvidence(
            logged=os.path.lexists(self.repository.common / "logs" / "HEAD"),
            said=entry.said if entry and ours else None,
            at=entry.time if entry and ours else None,
            writers=self._owners(thing),
        )
        if thing.name == STASH:
            old = (self.before.logs or {}).get(STASH, "")
            return replace(found, lost=self._lost(STASH, old) if old else 0)
        if thing.name.startswith(BRANCHES) and thing.old and thing.new:
            return self._way(thing, found)
        return found

    def _way(self, thing: Change, found: ChangeEvidence) -> ChangeEvidence:
        """Return how a branch moved: on top of what it was or not, and whether in the checkout that is on it."""
        on_it = [name for name, head in self.before.heads.items() if head == f"ref: {thing.name}"]
        ends = [last_entry(self._log(name)) for name in on_it]
        followed = any(end is not None and end.new == thing.new for end in ends)
        found = replace(found, checked_out=bool(on_it), followed=followed)
        self._asked += 1
        if self._asked > MOST_ASKED or "ref: " in thing.old + thing.new:
            return found
        git = shared_git(self.repository)
        try:
            words = ("merge-base", "--is-ancestor", thing.old, thing.new)
            if git.run(*words, ok=(0, 1, 128), timeout=TIMEOUT).code != 0:
                return found
            count = int(git.run("rev-list", "--count", f"{thing.old}..{thing.new}", timeout=TIMEOUT).text)
        except (PrunError, ValueError):
            return found
        return replace(found, on_top=True, commits=count)

    def _owners(self, thing: Change) -> tuple[str, ...]:
        """Name the unit that has the new commit of a ref in its own workspace, if just one has."""
        # A stash is made in the shared repository, so no workspace has its commits; the message names the branch.
        if thing.name == STASH:
            entry = last_entry(self._log(STASH))
            said = entry.said if entry is not None and entry.new == thing.new else ""
            # A unit of a run is on no branch, as git words it.
            on = [one for one in self.authors if f"on {one.branch or '(no branch)'}: " in said]
            stashed = [one.name for one in on if one.branch or one.kind == "worktree"]
            return tuple(stashed) if len(stashed) == 1 else ()
        if not thing.new or thing.new in self._old or "ref: " in thing.new:
            return ()
        found = [one.name for one in self.authors if self._made(one, thing.new)]
        return tuple(found) if len(found) == 1 else ()

    def _made(self, author: PossibleAuthor, oid: str) -> bool:
        # A commit that was made there lies loose in its own objects; what it was cloned with is packed or borrowed.
        if author.kind == "clone":
            about = stat_of(os.path.join(author.path, ".git", "objects", oid[:2], oid[2:]))
            return about is not None and stat.S_ISREG(about[0])
        entry = next((name for name, place in self.after.places.items() if place == author.path), None)
        if entry is None:
            return False
        lines = self._log(f"worktrees/{entry}/HEAD").split(b"\n")
        return any(found.new == oid for line in lines if (found := read_entry(line)) is not None)

    def _holder(self, name: str) -> tuple[str, ...]:
        top = self.repository.top
        self._asked += 1
        if top is None or self._asked > MOST_ASKED:
            return ()
        found = sole_holder(top / name, name, self.authors)
        return (found,) if found else ()

    def _log(self, name: str) -> bytes:
        return read_plain(self.repository.common / log_place(name), MOST_LOG) or b""

    def _grew(self, name: str) -> bool:
        if self.before.logs is None or self.after.logs is None:
            # Nobody looked, so the entry is taken for a new one.
            return True
        return self.before.logs.get(name) != self.after.logs.get(name)

    def _lost(self, name: str, old: str) -> int:
        """Count the entries a reflog lost that git would not have forgotten by itself; the stash it never forgets."""
        content = self.kept(old.partition(" ")[2])
        if content is None:
            return 0
        lost = lost_lines(content, self._log(name))
        return len(lost if name == STASH else untimely(lost, self.after.time))

    def _resolve(self, head: str) -> str:
        return self.after.refs.get(head.removeprefix("ref: "), head)
