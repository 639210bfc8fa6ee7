"""How many commits there are past the start of a run, asked of git only when a tip moved."""

from __future__ import annotations

from collections.abc import Iterable

from gitprun.git.command import Git
from gitprun.model.errors import PrunError
from gitprun.observe.snapshot import RepositorySnapshot

BRANCHES = "refs/heads/"
# A count over a million commits without a commit graph takes a quarter of that.
TIMEOUT = 60.0
# A tick of twenty units asks some twenty questions: this many are days of a monitor, and a few megabytes.
MOST_KEPT = 10_000


class CommitCounts:
    """Counts commits and remembers the answers."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._known: dict[tuple[frozenset[str], frozenset[str]], int | None] = {}

    def on_main(self, base: str, start: RepositorySnapshot | None, now: RepositorySnapshot) -> int | None:
        """Count what the checkout's branch has and no branch had at the start."""
        tip = now.head
        return self._count([tip] if tip else [], _known_then(base, start))

    def everywhere(
        self, base: str, start: RepositorySnapshot | None, now: RepositorySnapshot, units: Iterable[str]
    ) -> int | None:
        """Count what all branches, HEAD and the units' tips have together and no branch had at the start.

        Stashes, tags and branches of other repositories are nobody's progress and count for nothing. Where the start
        is not known, branches that are no unit's count for nothing either.
        """
        branches = _branches(now) if start else []
        return self._count([*branches, now.head, *units], _known_then(base, start))

    def past(self, base: str, tip: str) -> int | None:
        """Count what one tip has past a base."""
        return self._count([tip], [base])

    def _count(self, tips: Iterable[str], known: Iterable[str]) -> int | None:
        without = frozenset(filter(None, known))
        wanted = frozenset(filter(None, tips)) - without
        if not wanted:
            return 0
        key = (wanted, without)
        if key not in self._known:
            # All at once: an order of age costs more than the counts it would save.
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            listing = "".join(f"{oid}\n" for oid in wanted) + "".join(f"^{oid}\n" for oid in without)
            words = ("rev-list", "--count", "--ignore-missing", "--stdin")
            try:
                self._known[key] = int(self._git.run(*words, stdin=listing.encode(), timeout=TIMEOUT).text)
            except (PrunError, ValueError):
                return None
        return self._known[key]


def _known_then(base: str, start: RepositorySnapshot | None) -> list[str]:
    return [base] if start is None else [base, start.head, *_branches(start)]


def _branches(seen: RepositorySnapshot) -> list[str]:
    return [seen.resolve(value) for name, value in seen.refs.items() if name.startswith(BRANCHES)]
