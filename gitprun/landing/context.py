"""What a landing knows about the place it lands in, and what it finds out on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.git.command import Git
from gitprun.git.refs import Signature
from gitprun.git.repo import Checkout
from gitprun.git.trees import Objects, tree_of
from gitprun.git.walk import Trees
from gitprun.judging.drivers import MergeAttributes
from gitprun.landing.disjoint import Since
from gitprun.landing.guard import LocalChanges, Target
from gitprun.landing.hooks import Hooks
from gitprun.landing.merge_bases import Ancestry
from gitprun.landing.past import Past
from gitprun.landing.plan import LandingOptions, Proposed
from gitprun.landing.settings import MergeSettings
from gitprun.landing.squashed import Holder
from gitprun.model.findings import Compared
from gitprun.model.names import Oid
from gitprun.model.units import Verdict

if TYPE_CHECKING:
    from gitprun.landing.hooks import HookRoom
    from gitprun.landing.surface import Live
    from gitprun.verify.gate_changes import GateChange


# What compilers say of a merge that is about to be made.
Comparison = Callable[["LandingContext", Proposed], Compared]


@dataclass(slots=True)
class Memory:
    """What stays true when a landing has to be built again: verdicts by tree, and what the hooks said to a merge.

    ``hooks`` holds tree and message the hooks left (or their refusal) by main tree, unit, merged tree and message,
    ``after`` the commits with what after commands made, by the merge below and their tree. ``gates`` and ``touched``
    hold what a branch changed of its checks, and all that it changed, by base (a tree) and tip; ``holders`` where the
    target has a branch by another name, by base, target and tip.
    """

    verdicts: dict[Oid, Verdict] = field(default_factory=dict)
    hooks: dict[tuple[Oid, Oid, Oid, str], tuple[Oid, str] | str] = field(default_factory=dict)
    gates: dict[tuple[Oid, Oid], tuple[GateChange, ...]] = field(default_factory=dict)
    touched: dict[tuple[Oid, Oid], frozenset[str]] = field(default_factory=dict)
    after: dict[tuple[Oid, Oid], Oid] = field(default_factory=dict)
    holders: dict[tuple[Oid, Oid, Oid], Holder | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingContext:
    """Everything a landing knows about the place it lands in.

    ``git`` is the user's own, ``merging`` gives the one whose folder attributes are read from, ``attributes`` what
    these say of merges, ``room`` the place for hooks, ``live`` what of the target's tree is run here, ``past`` what
    the target's own commits did, ``difference`` what compilers say (None: not asked); ``replaced`` tells of replace
    refs; with ``mending`` suspects that have a mend are merged with it; ``index`` stamps the index that ``local`` was
    read with; ``notes`` collects what the user should know.
    """

    git: Git
    merging: Callable[[], Git]
    repo: Objects
    trees: Trees
    state: Path
    target: Target
    old_tree: Oid
    local: LocalChanges
    settings: MergeSettings
    hooks: Hooks
    room: Callable[[], HookRoom]
    live: Callable[[], Live]
    who: tuple[Signature, Signature]
    checkouts: tuple[Checkout, ...]
    options: LandingOptions
    memory: Memory
    ancestry: Ancestry
    attributes: MergeAttributes
    past: Past
    difference: Comparison | None = None
    replaced: bool = False
    mending: bool = False
    index: tuple[int, ...] | None = None
    notes: list[str] = field(default_factory=list)
    known: dict[Oid, Since] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Keep a note, once."""
        # A train is built several times over, and each build finds the same things.
        if text not in self.notes:
            self.notes.append(text)

    def touched(self, base: Oid, tip: Oid) -> frozenset[str]:
        """Return the paths that differ between a tree and a commit."""
        known = self.memory.touched
        if (base, tip) not in known:
            changes = self.trees.compare(base, tree_of(self.repo, tip))
            known[base, tip] = frozenset(row.path.decode("utf-8", "surrogateescape") for row in changes)
        return known[base, tip]

    def since(self, base: Oid, tree: Oid) -> Since:
        """Return what changed between two trees, the second of which a train goes on from."""
        found = self.known.get(base)
        # One for each base: a split train goes back to an earlier tree, and starts from there anew.
        if found is None or found.tree != tree:
            found = self.known[base] = Since(self.trees, base, tree)
        return found
