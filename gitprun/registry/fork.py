"""The commit a workspace's branch forked at: everything past it is work of the workspace, whoever committed it."""

from __future__ import annotations

from collections.abc import Iterable

from gitprun.git.refs import open_repository
from gitprun.git.repo import Repository
from gitprun.ledger.events import Event, UnitState
from gitprun.ledger.roster import NAMED
from gitprun.ledger.unit_events import WorkspaceMade
from gitprun.model.names import Oid
from gitprun.system.files import read_plain

# Some 20,000 moves of a branch; only the first line is asked for.
MAX_LOG = 4_000_000
_MADE = b"\tbranch: Created from "


def fork_of(repository: Repository, unit: UnitState, stands_on: Oid) -> Oid:
    """Return the commit a workspace was begun at; where that is gone, the one it stands on."""
    base = unit.base
    return Oid(base) if base and base in open_repository(repository.common) else stands_on


def count_since(repository: Repository, fork: str, tip: str) -> int:
    """Count the commits a branch has past its fork."""
    return 0 if fork == tip else int(repository.git.run("rev-list", "--count", tip, "--not", fork).text)


def find_fork(repository: Repository, events: Iterable[Event], branch: str, tip: Oid) -> Oid:
    """Return where a branch that is there already forked: as prun knows it, as its log says, else as history shows.

    History shows it where the newest commit lies that another branch has, too.
    """
    places = (event.payload for event in events if event.run == NAMED)
    made = [one.base for one in places if isinstance(one, WorkspaceMade) and one.branch == branch]
    for known in (*made[-1:], _created_at(repository, branch)):
        # A branch that was rewritten since did not fork there any more.
        if known and _contains(repository, tip, known):
            return Oid(known)
    # The branch itself, and what a remote holds of it, are the work that is asked about.
    others = (f"--exclude={branch}", "--branches", f"--exclude=*/{branch}", "--remotes")
    rows = repository.git.run("rev-list", "--boundary", "--topo-order", tip, "--not", *others).text.split("\n")
    if rows == [""]:
        return tip
    # A history of its own forked nowhere; its first commit is what there is to compare with.
    return Oid(next((row[1:] for row in rows if row.startswith("-")), rows[-1]))


def _created_at(repository: Repository, branch: str) -> str:
    """Read from the log of a branch at which commit somebody made it; empty where it does not go back so far."""
    raw = read_plain(repository.common / "logs" / "refs" / "heads" / branch, MAX_LOG) or b""
    first = raw.partition(b"\n")[0]
    return first[41:81].decode("ascii", "replace") if _MADE in first else ""


def _contains(repository: Repository, tip: Oid, commit: str) -> bool:
    return repository.git.run("merge-base", "--is-ancestor", commit, tip, ok=(0, 1, 128)).code == 0
