"""The cascade: which resolvers a conflicting file is given to, in order, and the shared proof each answer must pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitprun.resolvers import near
from gitprun.resolvers.base import (
    SIZE_LIMIT,
    FileConflict,
    Kind,
    Refused,
    Resolved,
    Resolver,
    Unread,
    brought_lines,
    split_conflict,
)
from gitprun.resolvers.kinds import kinds_for
from gitprun.resolvers.proof import find_unmeant, prove

# A fault quotes words of the file, which a private kind (.env, say) must not show.
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True, slots=True)
class StrategyRefusal:
    """Why one strategy gave no text; ``strategy`` is empty where none could be asked."""

    strategy: str
    reason: str

    def __str__(self) -> str:
        return f"{self.strategy}: {self.reason}" if self.strategy else self.reason


@dataclass(frozen=True, slots=True)
class CascadeResult:
    """Every distinct text that was proved, the first strategy's first, and why the others gave none."""

    texts: tuple[Resolved, ...]
    refusals: tuple[StrategyRefusal, ...] = ()

    @property
    def reason(self) -> str:
        """Return in one line why nothing was proved."""
        return "; ".join(map(str, self.refusals))


def prepare(path: str) -> None:
    """Load what the kinds of a path need; a limit on the time of ``run_cascade`` should not count it."""
    for kind in kinds_for(path):
        if kind.prepare is not None:
            kind.prepare()


def run_cascade(conflict: FileConflict, *, every: bool = False, keep: bool = True) -> CascadeResult:
    """Resolve a conflicting file: by its kinds, most specific first, then by lines unless a kind knows better.

    Stops at the first proof unless ``every`` is set. With ``keep`` an import that one side dropped and the other side's
    lines need is kept. A resolver that raises is left to the caller.
    """
    # Before any kind is asked: reading alone takes longer than the limit on time for a file of many megabytes.
    size = max(len(conflict.base or b""), len(conflict.main), len(conflict.unit))
    if size > SIZE_LIMIT:
        reason = f"the file is too large to be resolved ({size} bytes, limit {SIZE_LIMIT})"
        return CascadeResult((), (StrategyRefusal("", reason),))
    texts: list[Resolved] = []
    refusals: list[StrategyRefusal] = []
    judged = False
    # A kind goes before lines: where it knows the file its refusal is worth more than a guess by lines.
    for name, resolver, kind in _strategies(conflict.path):
        if kind is None and judged and not texts:
            # What knows the file refused it: lines know less.
            break
        answer = resolver(conflict)
        if isinstance(answer, Resolved):
            # No resolver is believed: the shared proof counts words and lines, and repeats no mistake of its reading.
            fault = prove(conflict, answer.text, kind)
            kept = _keep_imports(conflict, answer, resolver, kind) if fault and keep else None
            if kept is not None:
                answer = kept
            elif fault:
                answer = Refused(_QUOTED.sub("a word", fault) if kind and kind.private else fault)
        # A kind that could not read a version has judged nothing, so lines may still be asked.
        judged = judged or (isinstance(answer, Refused) and not isinstance(answer, Unread))
        if isinstance(answer, Refused):
            refusals.append(StrategyRefusal(name, answer.reason))
        elif all(answer.text != known.text for known in texts):
            texts.append(answer)
            if not every:
                break
    # Two resolvers of one kind often refuse for one reason.
    return CascadeResult(tuple(texts), tuple(dict.fromkeys(refusals)))


def _keep_imports(conflict: FileConflict, answer: Resolved, resolver: Resolver, kind: Kind | None) -> Resolved | None:
    """Resolve a conflict as though no side had dropped an import that the merge needs; None if that is not proved."""
    # Inside: few proofs fail, and fewer for a name.
    from gitprun.resolvers.mending import keep_imports

    kept = keep_imports(conflict, answer.text)
    made = resolver(kept) if kept is not None else None
    if kept is None or not isinstance(made, Resolved) or prove(kept, made.text, kind):
        return None
    triple = split_conflict(conflict)
    if find_unmeant(conflict, made.text) or isinstance(triple, Refused):
        return None
    brought = brought_lines(triple, triple.split(made.text))
    return Resolved(made.text, f"{made.resolver}, import kept", brought, made.dropped)


def _strategies(path: str) -> Iterator[tuple[str, Resolver, Kind | None]]:
    for kind in kinds_for(path):
        for resolver in kind.resolvers:
            yield kind.name, resolver, kind
    # Last, and without a kind: it knows lines only, so what it makes is proved by lines and words.
    yield near.NAME, near.merge_near, None
