"""What a landing says of work of others that a branch lost, or takes back, asked of merges that people made."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gitprun.git.command import Git
from gitprun.git.trees import read_bases, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.evil_merge import find_evil_merges
from gitprun.landing.past import Past
from gitprun.landing.reverts import Asking, find_reverted
from gitprun.landing.taken_back import Back, find_taken_back
from gitprun.model.names import Oid

KINDS = ("taken back", "with its first base", "inner merge", "reverted", "shown")
_NAME = re.compile(r"(?:Merge branch '|from [\w.-]+/)([\w./-]+)")


@dataclass(frozen=True, slots=True)
class Backwards:
    """Asks of each merge what a landing asks about work of others: lost in merges of its own, or taken back."""

    git: Git
    trees: Trees
    past: Past = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "past", Past(self.git, self.trees))

    def at(self, target: Oid, tip: Oid, merge: Oid) -> dict[str, str]:
        """Tell by kind what was found, in words."""
        bases = read_bases(self.git, self.trees.repo, target, tip)
        if not bases or tip in bases:
            return {}
        tree = tree_of(self.trees.repo, tip)
        back = find_taken_back(self.past, Back(target=target, bases=bases, tip=tip, tree=tree))
        lost = find_evil_merges(self.git, self.trees, bases=(*bases, target), tip=tip, last=tree)
        # The commit before the first of its own stands for the one a reflog would name.
        first = self.git.run("rev-list", "--first-parent", "--parents", tip, f"^{target}").text.split("\n")[-1].split()
        known = Back(target=target, bases=bases, tip=tip, tree=tree, first=first[-1] if len(first) > 1 else "")
        since = find_taken_back(self.past, known)
        own = self.git.run("rev-list", "--parents", tip, f"^{target}").text.split("\n")
        new, parents = {row.split()[0] for row in own}, {one for row in own for one in row.split()[1:]}
        places = tuple(Oid(one) for one in parents - new)
        name = _NAME.search(self.past.message(merge))
        asking = Asking(name=name[1] if name else "", tip=tip, target=target, ref="", places=places)
        found = {
            "taken back": "; ".join(map(str, back.suspects)),
            "with its first base": "; ".join(map(str, since.suspects)) if not back.suspects else "",
            "inner merge": "; ".join(map(str, lost.suspects)),
            "reverted": str(find_reverted(self.past, asking) or ""),
            "shown": "; ".join((*lost.told, *back.told)),
        }
        return {kind: what for kind, what in found.items() if what}
