"""A branch that merges and does not land: what is wrong with it, and the merged files to mend it in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from gitprun.git.repo import Repository
from gitprun.git.trees import ABSENT, REGULAR, Objects, Stage, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.engine import combine_alone
from gitprun.landing.guard import Target
from gitprun.landing.plan import Candidate, LandingItem, LandingOptions
from gitprun.landing.unresolved import Unresolved, UnresolvedPath
from gitprun.ledger.held import HeldBranch
from gitprun.model.errors import OperationRefused
from gitprun.model.findings import EVERY_FINDING, Suspect
from gitprun.model.names import Oid

# States of a merged tree that only a check can tell.
OPENED = ("red", "held", "unverified")


def read_findings(
    repository: Repository,
    repo: Objects,
    target: Target,
    candidate: Candidate,
    options: LandingOptions,
    left: Unresolved,
    hold: HeldBranch | None,
) -> Unresolved:
    """Return what keeps a branch from landing that has no conflict left; raises Refused where nothing is known to.

    What looks wrong is looked for again. What a check found is known from the last landing alone (``hold``).
    """
    name = f"{candidate.run}/{candidate.unit}" if candidate.unit else candidate.branch
    if candidate.tip in left.bases:
        raise OperationRefused(f"{target.branch} already has the commits of {candidate.branch}")
    combined = combine_alone(repository, candidate, replace(options, into=target.ref, allow_suspect=EVERY_FINDING[:1]))
    if isinstance(combined, LandingItem):
        raise OperationRefused(f"{candidate.branch}: {combined.reason}", f"git prun merge {name} says more")
    diverged = (Suspect(path="", reason=candidate.diverged),) if candidate.diverged else ()
    suspects = (*diverged, *combined.item.suspects)
    whole = replace(left, tree=combined.tree, settled=combined.item.resolved)
    if suspects:
        rows = _rows(Trees(repo), whole, suspects)
        return replace(whole, why="suspect", reason="; ".join(map(str, suspects)), paths=rows)
    if hold is None or hold.state not in OPENED or not hold.command:
        raise OperationRefused(
            f"nothing of {candidate.branch} is left in conflict with {target.branch}",
            f"git prun merge {name} lands it, or says what else keeps it from landing",
        )
    if hold.moved:
        raise OperationRefused(
            f"{candidate.branch} was {hold.state}, and {hold.moved} moved since: nobody knows whether it still is",
            f"git prun merge {name} checks it again",
        )
    return replace(whole, why=hold.state, reason=hold.reason, command=hold.command, log=hold.log)


def _rows(trees: Trees, left: Unresolved, suspects: Sequence[Suspect]) -> tuple[UnresolvedPath, ...]:
    """Return a row for each path that is suspect, with its three versions where it is a file."""
    reasons: dict[str, list[str]] = {}
    for one in suspects:
        reasons.setdefault(one.path, []).append(one.reason)
    sides = [tree_of(trees.repo, commit) for commit in (left.bases[0], left.main, left.unit)]
    rows = []
    for path, said in reasons.items():
        name = os.fsencode(path)
        found = trees.find(left.tree, name) if path else None
        textual = found is not None and found[0] in REGULAR
        versions = [trees.find(side, name) if textual else None for side in sides]
        base, main, unit = (_stage(number, name, one) for number, one in enumerate(versions, 1))
        detail, stages = "; ".join(said), (base, main, unit)
        rows.append(
            UnresolvedPath(path=name, kind="suspect", detail=detail, refused="", stages=stages, textual=textual)
        )
    return tuple(rows)


def _stage(number: int, path: bytes, version: tuple[str, Oid] | None) -> Stage | None:
    return None if version is None or version[0] == ABSENT else Stage(version[0], version[1], number, path)
