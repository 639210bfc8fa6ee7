"""What a merge of two branches comes to, judged as a landing would: who settles what, and what is suspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitprun.git.trees import TreeChange, TreeMerge
from gitprun.git.walk import Trees
from gitprun.judging.audit import MergedTree, audit_merge, new_migrations
from gitprun.judging.conflicts import Means, list_conflicts, settle_conflicts
from gitprun.judging.hotspots import Hotspot
from gitprun.judging.rerere import Rerere
from gitprun.model.names import Oid

# clean: both changed a path, and git merges it. settled: each conflict has a resolver. suspect: merged by git, yet
# something is wrong that neither side has. conflict: at least one path is left to a person.
State = Literal["clean", "settled", "suspect", "conflict"]


BAD: tuple[State, ...] = ("suspect", "conflict")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathForecast:
    """One path at which two branches meet badly.

    ``resolver`` names who would settle it; while it is empty, ``reasons`` say why nobody does. ``dropped`` counts the
    lines that a policy would leave out.
    """

    path: str
    kind: str
    detail: str = ""
    resolver: str = ""
    reasons: tuple[str, ...] = ()
    dropped: int = 0


# How a path is told that would be settled if it were the only one.
_COULD = " would settle it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two trees and what each changed since ``base``; ``names`` stand for the commits in what git says."""

    base: Oid
    main: Oid
    unit: Oid
    by_main: Mapping[bytes, TreeChange]
    by_unit: Mapping[bytes, TreeChange]
    names: Mapping[Oid, str]
    one_base: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges merges; ``state`` is the repository's prun folder, ``trees`` writes where nobody looks.

    ``rerere`` is git's own memory of resolutions.
    """

    trees: Trees
    state: Path
    hotspots: Sequence[Hotspot] = ()
    checkout: Path | None = None
    rerere: Rerere | None = None

    def judge(self, merge: TreeMerge, sides: Sides) -> tuple[State, tuple[PathForecast, ...], Oid | None]:
        """Tell what a merge comes to, name the paths that are not simply clean, and the tree (None: it conflicts)."""
        tree, found, known = merge.tree, list[PathForecast](), frozenset[bytes]()
        if merge.clean and _is_beyond_doubt(sides):
            return "clean", (), tree
        if not merge.clean:
            means = Means(hotspots=self.hotspots, state=self.state, rerere=self.rerere)
            settled = settle_conflicts(self.trees.repo, merge, means, several_bases=not sides.one_base)
            if settled.refused is not None:
                return "conflict", self._conflicts(merge, settled.refused, sides.names), None
            tree, known = settled.tree, frozenset(settled.offers)
            found = [
                PathForecast(path=one.path, kind="contents", resolver=one.resolver, dropped=len(one.dropped))
                for one in settled.resolved
            ]
        merged = MergedTree(
            base=sides.base,
            main=sides.main,
            unit=sides.unit,
            tree=tree,
            by_main=sides.by_main,
            by_unit=tuple(sides.by_unit.values()),
            known=known,
            several_bases=not sides.one_base,
        )
        audited = audit_merge(self.trees, merged, self.state)
        found += [PathForecast(path=one.path, kind="suspect", resolver=one.resolver) for one in audited.resolved]
        found += [PathForecast(path=one.path, kind="suspect", reasons=(one.reason,)) for one in audited.suspects]
        state: State = "suspect" if audited.suspects else "settled" if found else "clean"
        found += [PathForecast(path=path, kind="not checked", reasons=(why,)) for path, why in audited.unjudged]
        return state, tuple(found), audited.tree

    def _conflicts(
        self, merge: TreeMerge, refused: Mapping[bytes, str], names: Mapping[Oid, str]
    ) -> tuple[PathForecast, ...]:
        rows = []
        for one in list_conflicts(merge, refused, names, self.checkout):
            could = one.resolver.endswith(_COULD)
            rows.append(
                PathForecast(
                    path=one.path,
                    kind=one.kind,
                    detail=one.detail,
                    resolver=one.resolver.removesuffix(_COULD) if could else "",
                    reasons=() if could else (one.resolver,),
                )
            )
        return tuple(rows)


def _is_beyond_doubt(sides: Sides) -> bool:
    """Check whether nothing an audit knows of can be wrong with a clean merge: no file was changed by both."""
    changes = (*sides.by_main.values(), *sides.by_unit.values())
    if any(change.removed for change in changes) or new_migrations(changes):
        return False
    both = sides.by_main.keys() & sides.by_unit.keys()
    return not both
