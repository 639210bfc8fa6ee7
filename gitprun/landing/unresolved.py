"""What is left of a branch that does not land: paths in conflict that nothing settled, else what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.git.trees import (
    ABSENT,
    REGULAR,
    Objects,
    Stage,
    merge_trees,
    read_bases,
    read_blob,
    replace_blobs,
    tree_of,
)
from gitprun.git.walk import Trees
from gitprun.judging.conflict_text import mark_conflict, read_style
from gitprun.judging.conflicts import ConflictAnswer, Versions, answer_conflicts, describe_conflict, place_answers
from gitprun.judging.judged import Means
from gitprun.landing.build import attributes_alone
from gitprun.landing.conflicts_committed import find_jj_conflict
from gitprun.landing.engine import combine_alone
from gitprun.landing.guard import Target
from gitprun.landing.history import explain_unrelated
from gitprun.landing.plan import Candidate, LandingItem, LandingOptions
from gitprun.ledger.held import HeldBranch
from gitprun.model.errors import OperationRefused
from gitprun.model.findings import EVERY_FINDING, ResolvedPath, Suspect
from gitprun.model.names import Oid

# Why something is left, where it is no other state of a branch that does not land.
CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedPath:
    """One path nobody settled: what git (or the audit) says about it, and why no resolver did it.

    ``stages`` are base, main and unit side (None: it has none), ``textual`` tells that a text settles it.
    """

    path: bytes
    kind: str
    detail: str
    refused: str
    stages: tuple[Stage | None, Stage | None, Stage | None]
    textual: bool

    @property
    def versions(self) -> Versions:
        """Return the three sides as mode and object id."""
        base, main, unit = (f"{stage.mode} {stage.oid}" if stage else None for stage in self.stages)
        return base, main, unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """A merge of ``unit`` into ``main``: its tree with every path settled that could be, the others marked.

    ``why`` is CONFLICT, or the state of a branch that merges and does not land; then ``reason`` says why not, and
    ``command`` and ``log`` are the check that failed and the file with its output, if one did.
    """

    main: Oid
    unit: Oid
    bases: tuple[Oid, ...]
    tree: Oid
    paths: tuple[UnresolvedPath, ...]
    settled: tuple[ResolvedPath, ...] = ()
    why: str = CONFLICT
    reason: str = ""
    command: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """A branch to be opened, and the branch it does not land on; ``repo`` are the objects of the repository."""

    repository: Repository
    repo: Objects
    candidate: Candidate
    target: Target

    @property
    def label(self) -> str:
        """Return what the user calls the branch: RUN/UNIT, or its name."""
        one = self.candidate
        return f"{one.run}/{one.unit}" if one.unit else one.branch


def read_unresolved(opening: Opening, means: Means) -> Unresolved:
    """Merge a branch into the target's tip and settle what can be settled; nothing is moved.

    Raises OperationRefused where the two share no history, or the branch itself is a conflict.
    """
    repository, repo, candidate, target = opening.repository, opening.repo, opening.candidate, opening.target
    # A commit that is a conflict in itself has nothing to merge, and no workspace helps.
    unresolved = find_jj_conflict(Trees(repo), candidate, tree_of(repo, target.tip))
    if unresolved is not None:
        raise OperationRefused(f"{candidate.branch}: {unresolved.reason}")
    here = nullcontext(Git(cwd=target.checkout)) if target.checkout is not None else None
    with here or attributes_alone(repository, target.tip) as git:
        bases = read_bases(git, repo, target.tip, candidate.tip)
        if not bases:
            why = explain_unrelated(repository.git, repository.common, target.tip, candidate.tip, candidate.branch)
            raise OperationRefused(f"{candidate.branch} shares no history with {target.branch}", why)
        merge = merge_trees(git, target.tip, candidate.tip)
    answers = answer_conflicts(repo, merge, means, several_bases=len(bases) > 1)
    # Unlike a landing this takes each that can be had: what is left is for a person, and no more than that.
    settled = [one for one in answers if one.settled]
    tree = place_answers(repo, merge.tree, settled)
    names = {target.tip: target.branch, candidate.tip: candidate.branch}
    paths = tuple(
        _unresolved(one, describe_conflict(one.at, names, target.checkout)) for one in answers if not one.settled
    )
    marked = {row.path: _mark(opening, row) for row in paths if row.textual}
    # Git's own markers name commits; these name branches, in the style that the user has git write.
    tree = replace_blobs(repo, tree, {path: text for path, text in marked.items() if text is not None})
    return Unresolved(
        main=target.tip,
        unit=candidate.tip,
        bases=bases,
        tree=tree,
        paths=paths,
        settled=tuple(one.resolved for one in settled),
    )


def _unresolved(answer: ConflictAnswer, detail: str) -> UnresolvedPath:
    at = answer.at
    base, main, unit = (at.stages.get(number) for number in (1, 2, 3))
    return UnresolvedPath(
        path=at.path,
        kind=at.kind,
        detail=detail,
        refused=answer.reason,
        stages=(base, main, unit),
        textual=at.textual,
    )


def _mark(opening: Opening, row: UnresolvedPath) -> bytes | None:
    """Write both sides into one text, between markers that name them; None where git cannot (binary files)."""
    base, main, unit = (read_blob(opening.repo, stage.oid) if stage is not None else b"" for stage in row.stages)
    labels = (f"main side ({opening.target.branch})", "base", f"unit side ({opening.candidate.branch})")
    # The style is the user's; where nothing is said, a text without the base is hard to judge.
    return mark_conflict(main, base, unit, read_style(opening.repository.git) or "diff3", labels)


# States of a merged tree that only a check can tell.
OPENED = ("red", "held", "unverified")


def read_findings(opening: Opening, options: LandingOptions, left: Unresolved, hold: HeldBranch | None) -> Unresolved:
    """Return what keeps a branch from landing that has no conflict left.

    Raises OperationRefused where nothing is known to.

    What looks wrong is looked for again. What a check found is known from the last landing alone (``hold``).
    """
    candidate, target, name = opening.candidate, opening.target, opening.label
    if candidate.tip in left.bases:
        raise OperationRefused(f"{target.branch} already has the commits of {candidate.branch}")
    # Judged again by the landing's own function: what is opened is what would land, with all that is wrong with it.
    # Every finding is let pass: a report has to name them all, where a landing ends at what is not accepted.
    combined = combine_alone(
        opening.repository, candidate, replace(options, into=target.ref, allow_suspect=EVERY_FINDING[:1])
    )
    if isinstance(combined, LandingItem):
        raise OperationRefused(f"{candidate.branch}: {combined.reason}", f"git prun merge {name} says more")
    diverged = (Suspect(path="", reason=candidate.diverged),) if candidate.diverged else ()
    suspects = (*diverged, *combined.item.suspects, *_of_compilers(hold, combined.item.suspects))
    whole = replace(left, tree=combined.tree, settled=combined.item.resolved)
    if suspects:
        rows = _rows(Trees(opening.repo), whole, suspects)
        return replace(whole, why="suspect", reason="; ".join(map(str, suspects)), paths=rows)
    # Without a failed check there is nothing to show and nothing to mend in files.
    if hold is None or hold.state not in OPENED or not hold.command:
        raise OperationRefused(
            f"nothing of {candidate.branch} is left in conflict with {target.branch}",
            f"git prun merge {name} lands it, or says what else keeps it from landing",
        )
    # A check speaks of one tree; on another it may be green, and nobody should mend what is not broken.
    if hold.moved:
        raise OperationRefused(
            f"{candidate.branch} was {hold.state}, and {hold.moved} moved since: nobody knows whether it still is",
            f"git prun merge {name} checks it again",
        )
    return replace(whole, why=hold.state, reason=hold.reason, command=hold.command, log=hold.log)


def _of_compilers(hold: HeldBranch | None, known: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """Return what the last landing called suspect and a look in memory cannot find: what compilers say of the merge."""
    if hold is None or hold.state != "suspect" or hold.moved:
        return ()
    paths = {one.path for one in known}
    return tuple(Suspect(path=path, reason=reason) for path, reason in hold.findings if path and path not in paths)


def _rows(trees: Trees, left: Unresolved, suspects: Sequence[Suspect]) -> tuple[UnresolvedPath, ...]:
    """Return a row for each path that is suspect, with its three versions where it is a file."""
    reasons: dict[str, list[str]] = {}
    for one in suspects:
        reasons.setdefault(one.path, []).append(one.reason + (f" (mend: {one.mend})" if one.mend else ""))
    sides = [tree_of(trees.repo, commit) for commit in (left.bases[0], left.main, left.unit)]
    rows = []
    for path, said in reasons.items():
        name = os.fsencode(path)
        # A finding about the branch as a whole has no path.
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
