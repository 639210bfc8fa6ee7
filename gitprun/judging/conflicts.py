"""Conflicts of one merge of trees: what settles each of them, placed in the tree, and told path by path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.trees import (
    GITLINK,
    REGULAR,
    Message,
    Objects,
    Stage,
    TreeMerge,
    place_versions,
    read_blob,
    replace_blobs,
    show_path,
)
from gitprun.git.walk import Trees
from gitprun.judging.judged import Means
from gitprun.judging.recorded_resolutions import Take, find_choice, version_taken
from gitprun.judging.submodules import describe_sides
from gitprun.judging.text import RECORDED, SEVERAL_BASES, ResolvedText, resolve_text, show_dropped, show_line
from gitprun.model.findings import ConflictPath, ResolvedPath
from gitprun.model.names import Oid
from gitprun.resolvers.base import FileConflict, Refused, Resolved

# How git's ``merge-tree --messages`` begins the kind of a message that is about a conflict.
_CONFLICT = "CONFLICT ("
CONTENTS = "contents"
# Renamed twice, a file against a folder, gone on one side: no text answers such a question.
MORE_THAN_CONTENT = "not tried: more than the content is in conflict"

Versions = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class ConflictedPath:
    """One path git left in conflict: the kinds of conflict, its stages by number, and git's own words."""

    path: bytes
    kinds: frozenset[str]
    stages: Mapping[int, Stage] = field(default_factory=dict)
    words: str = ""

    @property
    def kind(self) -> str:
        """Return the kinds in one word, as they are told."""
        return ", ".join(sorted(self.kinds)) or "unknown"

    @property
    def versions(self) -> Versions:
        """Return base, main and unit side, each as mode and object id; None where it has none."""
        rows = (self.stages.get(number) for number in (1, 2, 3))
        base, main, unit = (None if stage is None else f"{stage.mode} {stage.oid}" for stage in rows)
        return base, main, unit

    @property
    def textual(self) -> bool:
        """Check whether a text settles it: both sides hold a regular file, and at most one of them changed its mode."""
        # Stage 1 may be missing (both added it); without 2 or 3 a side has no text at all.
        if self.kinds != {CONTENTS} or 2 not in self.stages or 3 not in self.stages:
            return False
        base = self.stages[1].mode if 1 in self.stages else None
        main, unit = self.stages[2].mode, self.stages[3].mode
        regular = all(stage.mode in REGULAR for stage in self.stages.values())
        # Where both changed the mode, the text would settle half of the conflict and hide the other.
        return regular and (main == unit or base in (main, unit))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictAnswer:
    """What settles one conflict: a text, or whose version was chosen; where there is neither, ``reason`` says why."""

    at: ConflictedPath
    conflict: FileConflict | None = None
    text: ResolvedText | None = None
    take: Take | None = None
    reason: str = ""

    @property
    def settled(self) -> bool:
        """Check whether something settles it."""
        return self.text is not None or self.take is not None

    @property
    def resolver(self) -> str:
        """Return the name of what settles it."""
        if self.take is not None:
            return f"{RECORDED}: {self.take}"
        return self.text.answer.resolver if self.text is not None else ""

    @property
    def resolved(self) -> ResolvedPath:
        """Return what settles it, as it is told."""
        if self.text is not None:
            return show_resolved(self.at.path, self.text.answer)
        return ResolvedPath(path=show_path(self.at.path), resolver=self.resolver)


def read_conflicts(merge: TreeMerge) -> tuple[ConflictedPath, ...]:
    """Return every path that a merge left in conflict, by path; one that git only speaks of has no stages."""
    stages: dict[bytes, dict[int, Stage]] = {}
    for stage in merge.stages:
        stages.setdefault(stage.path, {})[stage.number] = stage
    kinds: dict[bytes, set[str]] = {}
    words: dict[bytes, list[str]] = {}
    for note in merge.messages:
        kind = conflict_kind(note)
        # One message may name a path more than once, as its old and its new name.
        for path in dict.fromkeys(note.paths) if kind else ():
            kinds.setdefault(path, set()).add(kind)
            words.setdefault(path, []).append(note.text)
    return tuple(
        ConflictedPath(path, frozenset(kinds.get(path, ())), stages.get(path, {}), " ".join(words.get(path, ())))
        for path in sorted(stages.keys() | kinds.keys())
    )


def conflict_kind(note: Message) -> str:
    """Return of which kind the conflict is that git speaks of (``contents``, say); empty where it is none."""
    return note.kind.removeprefix(_CONFLICT).removesuffix(")") if note.kind.startswith(_CONFLICT) else ""


def answer_conflicts(
    repo: Objects, merge: TreeMerge, means: Means, *, several_bases: bool
) -> tuple[ConflictAnswer, ...]:
    """Return what settles each conflict of a merge, one after the other, whatever becomes of the others."""
    trees = Trees(repo)
    return tuple(_answer(trees, merge, at, means, several_bases=several_bases) for at in read_conflicts(merge))


def _answer(trees: Trees, merge: TreeMerge, at: ConflictedPath, means: Means, *, several_bases: bool) -> ConflictAnswer:
    # What a person chose for these very versions comes first: it is the only answer to a conflict that is not about
    # content, and holds with several merge bases too.
    take = find_choice(means.state, at.path, at.versions) if means.state is not None else None
    if take is not None:
        return ConflictAnswer(at=at, take=take)
    # Git merged the bases first; stage 1 is then a text nobody ever wrote, with markers in it perhaps.
    if several_bases:
        return ConflictAnswer(at=at, reason=SEVERAL_BASES)
    if not at.textual:
        return ConflictAnswer(at=at, reason=MORE_THAN_CONTENT)
    repo = trees.repo
    base = read_blob(repo, at.stages[1].oid) if 1 in at.stages else None
    sides = (read_blob(repo, at.stages[2].oid), read_blob(repo, at.stages[3].oid))
    # Paths are bytes to git; escaped, any of them comes back as it was.
    conflict = FileConflict(at.path.decode("utf-8", "surrogateescape"), base, *sides)
    # Of git's own text only rerere makes use.
    marked = trees.find(merge.tree, at.path) if means.rerere is not None or means.further is not None else None
    text = read_blob(repo, marked[1]) if marked is not None and marked[0] in REGULAR else None
    answer = resolve_text(conflict, means, text)
    if isinstance(answer, Refused):
        return ConflictAnswer(at=at, conflict=conflict, reason=answer.reason)
    return ConflictAnswer(at=at, conflict=conflict, text=answer)


def place_answers(repo: Objects, tree: Oid, answers: Iterable[ConflictAnswer]) -> Oid:
    """Return a merged tree with what settles its conflicts in place; those that nothing settles stay as they are."""
    answers = tuple(answers)
    texts = {one.at.path: one.text.answer.text for one in answers if one.text is not None}
    chosen = {one.at.path: version_taken(one.at.versions, one.take) for one in answers if one.take is not None}
    # Texts before choices: a choice may take a folder away that a text lies in.
    tree = replace_blobs(repo, tree, texts) if texts else tree
    return place_versions(Path(repo.path), tree, chosen) if chosen else tree


def show_conflicts(
    answers: Sequence[ConflictAnswer], names: Mapping[Oid, str], checkout: Path | None
) -> tuple[ConflictPath, ...]:
    """Return conflicts as they are told, with git's own words; ``names`` stand for commits in them."""
    return tuple(
        ConflictPath(
            path=show_path(one.at.path),
            kind=one.at.kind,
            detail=describe_conflict(one.at, names, checkout),
            resolver=one.resolver,
            reason=one.reason,
        )
        for one in answers
    )


def describe_conflict(at: ConflictedPath, names: Mapping[Oid, str], checkout: Path | None) -> str:
    """Return git's own words about a conflict; for a submodule with the commits, and whether they are here."""
    detail = " ".join(at.words.split())
    # Git was given commits, and says what it was given; people know branches.
    for oid, name in names.items():
        detail = detail.replace(oid, name)
    sides = [
        (side, stage.oid)
        for number, side in ((1, "base"), (2, "the main side"), (3, "the unit side"))
        if (stage := at.stages.get(number)) and stage.mode == GITLINK
    ]
    return f"{detail} ({describe_sides(checkout, at.path, sides)})".strip() if sides else detail


def describe_flip(answer: ConflictAnswer) -> str:
    """Return that one side only wrote other line ends, where that was the whole conflict of all lines; else empty."""
    conflict = answer.conflict
    if conflict is None or not answer.settled:
        return ""
    main, unit = (_line_ends(text) for text in (conflict.main, conflict.unit))
    # Mixed line ends are no flip: the lines themselves say what changed.
    if not main or not unit or main == unit:
        return ""
    return f"{show_path(answer.at.path)}: the unit side has {unit} line ends; the main side's {main} were kept"


def _line_ends(text: bytes) -> str:
    lines, pairs = text.count(b"\n"), text.count(b"\r\n")
    return "" if not lines or 0 < pairs < lines else "CRLF" if pairs else "LF"


def show_resolved(path: bytes, answer: Resolved) -> ResolvedPath:
    """Return what a resolver did to a path, as it is told."""
    added = tuple(map(show_line, answer.added))
    return ResolvedPath(path=show_path(path), resolver=answer.resolver, added=added, dropped=show_dropped(answer))
