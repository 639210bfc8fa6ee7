"""Work that changed what it is checked by: what of it was accepted, and whose doing it is.

A green tree in which tests are gone or skipped, or the check itself was changed, is checked once more with these put
back. Only what is green then too is proved.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gitprun.git.trees import parents_of, tree_of
from gitprun.landing.context import LandingContext
from gitprun.landing.plan import Candidate, LandingItem
from gitprun.ledger.rows import AcceptedRow
from gitprun.model.names import Oid
from gitprun.model.units import Verdict
from gitprun.verify.gate_changes import GateChange, describe
from gitprun.verify.put_back import PutBack, put_back, read_gate_changes

# So many paths are named one by one before their folder is: what --accept names is pasted, and read before it is.
MOST_PATHS = 3


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """What the candidates of a landing did to their checks."""

    site: LandingContext
    candidates: tuple[Candidate, ...]

    def of(self, candidate: Candidate) -> tuple[GateChange, ...]:
        """Return what one candidate changed of its checks since it left the target."""
        base, known = self._base(candidate), self.site.memory.gates
        if base is None:
            return ()
        if (base, candidate.tip) not in known:
            known[base, candidate.tip] = self._read(base, tree_of(self.site.repo, candidate.tip))
        return known[base, candidate.tip]

    def to_prove(self, commit: Oid, tree: Oid) -> PutBack | None:
        """Return the tree to check as well before this one is proved; None where that is not needed."""
        site = self.site
        changes = self._read(site.old_tree, tree)
        # Most trees change no check: then nobody's commits are walked.
        inside = self._inside(commit) if changes else ()
        left = [change for change in changes if not self.is_accepted(change.path, inside)]
        return put_back(site.trees, site.old_tree, tree, left) if left else None

    def is_accepted(self, path: str, candidates: Sequence[Candidate]) -> str:
        """Return who accepts that a path is changed: the user, or the plan that names it; empty if nobody."""
        if covers(self.site.options.accept, path):
            return "--accept"
        owners = [one for one in candidates if path in self._paths(one)]
        # All who changed it: one unit whose plan names the file must not cover for another.
        return "paths" if owners and all(path in literal(one.fence) for one in owners) else ""

    def hold(self, candidate: Candidate, verdict: Verdict) -> LandingItem:
        """Return why a candidate is held, and which paths would have to be accepted."""
        paths = tuple(dict.fromkeys(path for path, _ in verdict.gate))
        others = sorted(one.branch for one in self.candidates if one != candidate and self._paths(one) & set(paths))
        # Red with the checks put back although it changed none of them: another branch in the train did.
        by = "" if self.touches(candidate, verdict) or not others else f" (changed by {', '.join(others)})"
        return LandingItem(
            candidate=candidate,
            state="held",
            reason=f"{verdict.reason}{by}",
            accept=accept_words(paths),
            verdict=verdict,
        )

    def tell(self, candidate: Candidate) -> tuple[str, ...]:
        """Return in one line what a candidate changed of its checks, if it did."""
        changes = self.of(candidate)
        return (f"{candidate.branch} changes its own check: {describe(changes)}",) if changes else ()

    def touches(self, candidate: Candidate, verdict: Verdict) -> bool:
        """Check whether a candidate changed any of what a verdict says was put back."""
        return not self._paths(candidate).isdisjoint(path for path, _ in verdict.gate)

    def rows(self, candidate: Candidate) -> tuple[AcceptedRow, ...]:
        """Return what is written down of a candidate that changed its checks, and who accepted it."""
        return tuple(
            AcceptedRow(
                path=change.path,
                what=change.words,
                old=change.old,
                new=change.new,
                accepted=self.is_accepted(change.path, (candidate,)),
            )
            for change in self.of(candidate)
        )

    def _read(self, old: Oid, new: Oid) -> tuple[GateChange, ...]:
        options = self.site.options
        return read_gate_changes(self.site.trees, old, new, options.verify or (), detect=options.detect)

    def _base(self, candidate: Candidate) -> Oid | None:
        bases = self.site.ancestry.bases(self.site.target.tip, candidate.tip)
        return tree_of(self.site.repo, bases[0]) if bases else None

    def _paths(self, candidate: Candidate) -> frozenset[str]:
        base = self._base(candidate)
        return frozenset() if base is None else self.site.touched(base, candidate.tip)

    def _inside(self, commit: Oid) -> tuple[Candidate, ...]:
        """Name the candidates that were merged on the way from the target to a commit."""
        tips: set[Oid] = set()
        while commit != self.site.target.tip:
            parents = parents_of(self.site.repo, commit)
            if not parents:
                break
            commit = parents[0]
            tips.update(parents[1:])
        return tuple(one for one in self.candidates if one.tip in tips)


def judge(green: Verdict, back: PutBack, again: Verdict) -> Verdict:
    """Judge a green tree by what the checks say once those it changed are put back: red then is red."""
    # Could not run says nothing against the tree: that is told, and it lands.
    if again.state != "fail":
        return green
    failed = next((check for check in again.checks if check.state == "fail"), None)
    checks = again.checks if failed is None else (failed,)
    return Verdict(
        state="fail", checks=checks, confined=green.confined, gate=tuple((one.path, one.words) for one in back.changes)
    )


def not_run(back: PutBack, again: Verdict) -> str:
    """Return that the checks told nothing with what was changed of them put back; empty where they did."""
    if again.state in ("pass", "fail"):
        return ""
    return f"with {describe(back.changes)} put back, the checks could not run: {again.reason}"


def accept_words(paths: Sequence[str]) -> tuple[str, ...]:
    """Return what --accept has to name: the paths, or for many of them the one folder of tests that holds them."""
    folders = [path.split("/")[:-1] for path in paths]
    shared = list(itertools.takewhile(lambda names: len(set(names)) == 1, zip(*folders, strict=False)))
    folder = "/".join(names[0] for names in shared)
    return (folder,) if len(paths) > MOST_PATHS and folder else tuple(paths)


def covers(accepted: Collection[str], path: str) -> bool:
    """Check whether a path, or a folder above it, is accepted."""
    plain = {one.removeprefix("./").rstrip("/") for one in accepted}
    return path in plain or any(path.startswith(f"{folder}/") for folder in plain if folder)


def literal(fence: Collection[str]) -> frozenset[str]:
    """Return those patterns of a fence that are the name of one file."""
    plain = (one.removeprefix("./").lstrip("/") for one in fence)
    # A pattern that covers a folder was not written with this one file in mind.
    return frozenset(one for one in plain if one and not one.endswith("/") and not any(mark in one for mark in "*?"))
