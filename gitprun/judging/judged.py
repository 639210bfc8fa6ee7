"""What two sides are, and what a merge of them comes to: the values every entrance gives to the judge and renders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.git.trees import TreeChange
from gitprun.model.findings import ConflictPath, MergeState, ResolvedPath, Suspect
from gitprun.model.names import Oid

if TYPE_CHECKING:
    from gitprun.judging.hotspots import Hotspot, Policy
    from gitprun.judging.rerere import Rerere


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What may settle a conflict beside the resolvers of its kind: see LandingOptions.

    ``state`` is the folder that holds recorded resolutions and reports of bugs (None: there is no repository),
    ``rerere`` git's own memory of resolutions. ``picks`` asks for all texts that can be proved, and says which of them
    to take at a path (the first is 0).
    ``further`` returns what there is once the resolvers settled nothing, where that takes programs of git to find.
    """

    hotspots: Sequence[Hotspot] = ()
    strategy: Policy | None = None
    state: Path | None = None
    picks: Mapping[bytes, int] | None = None
    rerere: Rerere | None = None
    further: Callable[[], Means] | None = None


# Where there is no repository: the resolvers alone, and the policies of files that are lists by convention.
RESOLVERS_ONLY = Means()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two trees and what each changed since ``base``, a tree too.

    ``names`` stand for commits in what git says. ``several_bases`` checks whether ``base`` is one of several, so that
    no file can be merged anew; it is asked only where that matters, for git has to be asked. ``by_hand`` says that a
    person made the merged tree, or that it cannot be changed any more: then no resolver's text takes the place of one.
    """

    base: Oid
    main: Oid
    unit: Oid
    by_main: Mapping[bytes, TreeChange]
    by_unit: Mapping[bytes, TreeChange]
    names: Mapping[Oid, str] = field(default_factory=dict)
    several_bases: Callable[[], bool] = lambda: False
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Paths that could not be looked at (``paths`` names the first and counts the others), and why."""

    paths: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a merge comes to, with what was found of each path.

    ``tree`` is the merged tree, with every conflict settled and every faulty text replaced that could be; None where
    a conflict is left. ``conflicts`` are all paths in conflict, where one of them is left. ``resolved`` were settled,
    ``replaced`` are those of which git's own text was faulty, ``suspects`` are wrong in a way that neither side is,
    ``unchecked`` could not be looked at; ``mended`` are texts that would mend suspect paths. ``offers`` counts the
    texts that were proved for a path, where it was asked for all of them; ``forced`` names the paths that only the
    strategy settled. ``notes`` are for the user.
    """

    state: MergeState
    tree: Oid | None
    conflicts: tuple[ConflictPath, ...] = ()
    resolved: tuple[ResolvedPath, ...] = ()
    replaced: tuple[ResolvedPath, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    mended: Mapping[bytes, bytes] = field(default_factory=dict)
    offers: Mapping[bytes, int] = field(default_factory=dict)
    forced: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
