"""What is left of a merge once everything is settled that can be: the paths a person, or a worker, has to decide."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.git.trees import Objects, Stage, merge_trees, read_bases, read_blob, replace_blobs, tree_of
from gitprun.git.walk import Trees
from gitprun.judging.conflict_text import mark_conflict, read_style
from gitprun.judging.conflicts import ConflictAnswer, Versions, answer_conflicts, describe_conflict, place_answers
from gitprun.judging.text import Means
from gitprun.landing.build import lay_out_attributes
from gitprun.landing.conflicts_committed import find_jj_conflict
from gitprun.landing.guard import Target
from gitprun.landing.history import explain_unrelated
from gitprun.landing.plan import Candidate
from gitprun.model.errors import OperationRefused
from gitprun.model.findings import ResolvedPath
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
        """Give the three sides as mode and object id."""
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


def read_left(repository: Repository, repo: Objects, target: Target, candidate: Candidate, means: Means) -> Unresolved:
    """Merge a candidate into the target's tip and settle what can be settled; nothing is moved.

    Raises OperationRefused where the two share no history, or the branch itself is a conflict.
    """
    unresolved = find_jj_conflict(Trees(repo), candidate, tree_of(repo, target.tip))
    if unresolved is not None:
        raise OperationRefused(f"{candidate.branch}: {unresolved.reason}")
    with _place(repository, target) as git:
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
    marked = {row.path: _mark(repository, repo, row, target, candidate) for row in paths if row.textual}
    tree = replace_blobs(repo, tree, {path: text for path, text in marked.items() if text is not None})
    return Unresolved(
        main=target.tip,
        unit=candidate.tip,
        bases=bases,
        tree=tree,
        paths=paths,
        settled=tuple(one.resolved for one in settled),
    )


@contextmanager
def _place(repository: Repository, target: Target) -> Iterator[Git]:
    """Give git the attributes of the target, and of no other branch that may be checked out."""
    if target.checkout is not None:
        yield Git(cwd=target.checkout)
        return
    with tempfile.TemporaryDirectory(prefix="prun-attributes-") as folder:
        lay_out_attributes(repository.git, target.tip, Path(folder))
        yield Git(cwd=Path(folder), env={"GIT_DIR": str(repository.common), "GIT_WORK_TREE": folder})


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


def _mark(
    repository: Repository, repo: Objects, row: UnresolvedPath, target: Target, candidate: Candidate
) -> bytes | None:
    """Write both sides into one text, between markers that name them; None where git cannot (binary files)."""
    base, main, unit = (read_blob(repo, stage.oid) if stage is not None else b"" for stage in row.stages)
    labels = (f"main side ({target.branch})", "base", f"unit side ({candidate.branch})")
    # The style is the user's; where nothing is said, a text without the base is hard to judge.
    return mark_conflict(main, base, unit, read_style(repository.git) or "diff3", labels)
