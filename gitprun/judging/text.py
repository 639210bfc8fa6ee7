"""One file judged from its three versions: what settles a conflict in it, and what any merged text is worth.

Every entrance asks here about the text of a path: a landing and a forecast for each path of a tree, ``merge-file`` and
the merge driver for one file, ``merge_text`` for three texts without a repository.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gitprun.git.index import blob_id
from gitprun.judging.doubts import NOT_SETTLED, Doubts, find_doubts, guarded
from gitprun.judging.judged import RESOLVERS_ONLY, Means
from gitprun.model.findings import MergeState
from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import CascadeResult, StrategyRefusal, prepare, run_cascade

if TYPE_CHECKING:
    from gitprun.judging.hotspots import Hotspot, Policy
    from gitprun.resolvers.mending import Mend

_T = TypeVar("_T")
SEVERAL_BASES = "not tried: the histories have several merge bases"
RECORDED = "recorded"


@dataclass(frozen=True, slots=True)
class ResolvedText:
    """The text that settles a conflict; ``offers`` counts the distinct texts that were proved, where it was asked for
    all, and ``forced`` says that only the strategy settled it.
    """

    answer: Resolved
    offers: int = 1
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedText:
    """What the merge of one file comes to.

    ``text`` is what would stand in the file (empty for a conflict), ``answer`` the resolver's part in it, ``reason``
    why nobody settles a conflict, ``doubts`` what a second look at the text found, ``mend`` what would mend a suspect
    text by the letter.
    """

    state: MergeState
    text: bytes = b""
    answer: Resolved | None = None
    reason: str = ""
    doubts: Doubts = field(default_factory=Doubts)
    mend: Mend | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged text without a conflict and without a fault; ``resolver`` is empty where the sides changed other lines.

    ``unjudged`` says why faults could not be looked for, if they could not.
    """

    text: bytes
    resolver: str = ""
    unjudged: str = ""


def merge_text(base: bytes | None, ours: bytes, theirs: bytes, path: str) -> Merged | Refused:
    """Return the merge of three texts, proved and looked at as a landing would; or why there is none.

    ``base`` None says that both sides added the file; ``path`` tells of what kind it is. No repository is read, no
    program is started. In the main thread the work is bounded by a timer (SIGALRM, which is put back afterwards).
    """
    from gitprun.resolvers.sides import merge_apart

    conflict = FileConflict(path, base, ours, theirs)
    # Git is not there to be asked: what the two sides changed apart from each other is merged here.
    plain = guarded(lambda: merge_apart(conflict), None, f"merging {path!r}", NOT_SETTLED)
    judged = judge_text(conflict, None if isinstance(plain, Refused) else plain, RESOLVERS_ONLY)
    if judged.state is MergeState.CONFLICT:
        return Refused(judged.reason)
    if judged.state is MergeState.SUSPECT:
        return Refused("; ".join(judged.doubts.faults))
    answer = judged.answer or Resolved(judged.text, "")
    return Merged(judged.text, answer.resolver, judged.doubts.unjudged)


def judge_text(
    conflict: FileConflict, merged: bytes | None, means: Means, several_bases: Callable[[], bool] = lambda: False
) -> JudgedText:
    """Return what one file comes to; ``merged`` is the text git made of it without a conflict, None where it left one.

    With several merge bases only git's own text counts: what a side changed is not told by one base. Whether there are
    is asked only of a conflict or a faulty text.
    """
    if merged is not None:
        return review_text(conflict, merged, means, several_bases)
    # Asked here, for only a conflict or a fault makes the answer matter, and it costs a program of git.
    resolved = Refused(SEVERAL_BASES) if several_bases() else resolve_text(conflict, means)
    if isinstance(resolved, Refused):
        return JudgedText(state=MergeState.CONFLICT, reason=resolved.reason)
    answer = resolved.answer
    # A proof is that of one kind and a policy has none: faults of all kinds are looked for in either.
    doubts = find_doubts(conflict, answer.text, means.state)
    state = MergeState.SUSPECT if doubts.faults else MergeState.UNITED
    return JudgedText(state=state, text=answer.text, answer=answer, doubts=doubts)


def review_text(
    conflict: FileConflict, merged: bytes, means: Means, several_bases: Callable[[], bool], *, fixed: bool = False
) -> JudgedText:
    """Return what a text is worth that was merged without a conflict; where it is faulty, a proved one without faults
    takes its place, unless it is ``fixed`` (proved already, or made by hand) or of several merge bases. Whether there
    are several is asked only of a faulty text, for it takes a program of git.
    """
    doubts = find_doubts(conflict, merged, means.state)
    several = bool(doubts.faults) and several_bases()
    if several and conflict.base is not None:
        # One of several bases does not tell what a side did: what counts is what is wrong without any.
        doubts = find_doubts(replace(conflict, base=None), merged, means.state)
    if not doubts.faults:
        return JudgedText(state=MergeState.CLEAN, text=merged, doubts=doubts)
    # Who could not look at a text in time will not make a better one in time.
    offered = () if doubts.late or fixed or several else cascade_guarded(conflict, means.state, keep=False).texts
    for one in offered:
        # All must be well, also that nothing was left unlooked at: else git's own text is no worse.
        if find_doubts(conflict, one.text, means.state) == Doubts():
            return JudgedText(state=MergeState.UNITED, text=one.text, answer=one)
    mend = None if doubts.late else _find_mend(conflict, merged, means.state)
    return JudgedText(state=MergeState.SUSPECT, text=merged, doubts=doubts, mend=mend)


def _find_mend(conflict: FileConflict, merged: bytes, state: Path | None) -> Mend | None:
    """Return the mend of a suspect text, if there is one that leaves nothing to doubt."""
    from gitprun.resolvers.mending import find_mend

    found = run_guarded(lambda each: find_mend(each, merged), conflict, state)
    if found is None or isinstance(found, Refused):
        return None
    return None if find_doubts(conflict, found.text, state).faults else found


def resolve_text(conflict: FileConflict, means: Means, marked: bytes | None = None) -> ResolvedText | Refused:
    """Settle a conflict: by the resolvers of the file's kinds and of lines, by a recorded resolution, by git's rerere,
    by the policy of its path, in the end by the strategy.

    The order is that of trust: a proof needs nobody's word, a person's answer to these very texts comes before rules
    for whatever text there may be. ``marked`` is the text git left in conflict, if git may know an answer to it.
    """
    tried = cascade_guarded(conflict, means.state, every=means.picks is not None)
    if tried.texts:
        # A train that is red tries the next proved text; a pick beyond the last one stays at that.
        pick = (means.picks or {}).get(conflict.path.encode("utf-8", "surrogateescape"), 0)
        return ResolvedText(tried.texts[min(pick, len(tried.texts) - 1)], len(tried.texts))
    reasons = [tried.reason]
    if means.further is not None:
        # Only now: reading rerere's settings starts git, and the resolvers settle most conflicts.
        means = means.further()
    for known in (_find_recorded(conflict, means), _find_rerere(conflict, means, marked)):
        if isinstance(known, Resolved):
            return ResolvedText(known)
        reasons += [known.reason] if known is not None else []
    by_policy = _apply_policies(conflict, means)
    if isinstance(by_policy, ResolvedText):
        return by_policy
    # A policy that asks the same resolvers is refused as they were: that is said once.
    told = {tried.reason, *(one.reason for one in tried.refusals)}
    reasons += [str(one) for one in by_policy if one.reason not in told]
    return Refused("; ".join(reasons))


def _find_recorded(conflict: FileConflict, means: Means) -> Resolved | Refused | None:
    """Find what a person made of these very texts before."""
    from gitprun.judging.recorded_resolutions import find_resolution

    if means.state is None:
        return None
    base = None if conflict.base is None else blob_name(conflict.base)
    text = find_resolution(means.state, base, blob_name(conflict.main), blob_name(conflict.unit))
    if text is None:
        return None
    doubts = find_doubts(conflict, text, means.state)
    # Recorded by hand long ago, perhaps under rules that did not know the fault.
    wrong = faults_of_hand(doubts)
    return Refused(f"the recorded resolution is faulty: {wrong[0]}") if wrong else Resolved(text, RECORDED)


def _find_rerere(conflict: FileConflict, means: Means, marked: bytes | None) -> Resolved | Refused | None:
    """Find what git's rerere would make of it."""
    if means.rerere is None:
        return None
    from gitprun.judging.conflict_text import mark_conflict
    from gitprun.judging.rerere import HINT, RERERE

    # As git would write it now, beside the text it left: an attribute or another style changes git's name of it.
    ours = mark_conflict(conflict.main, conflict.base or b"", conflict.unit, means.rerere.style)
    text = means.rerere.find([form for form in (marked, ours) if form is not None])
    if text is None:
        return None
    faults = find_doubts(conflict, text, means.state).faults
    # Without rerere.autoUpdate git leaves it to the user to look at the text and add it, and so does prun.
    if means.rerere.update and not faults:
        return Resolved(text, RERERE)
    return Refused(HINT + (f"; that one is faulty: {faults[0]}" if faults else ""))


def _apply_policies(conflict: FileConflict, means: Means) -> ResolvedText | list[StrategyRefusal]:
    """Settle a conflict as it is configured for its path, then by the strategy; else say why each policy refuses."""
    from gitprun.judging.hotspots import Hotspot, hotspot_for

    refused = []
    hotspot = hotspot_for(conflict.path, means.hotspots)
    rows = [] if hotspot is None else [(hotspot, False)]
    rows += [] if means.strategy is None else [(Hotspot(conflict.path, means.strategy), True)]
    for row, forced in rows:
        answer = _settle_guarded(conflict, row, means.state)
        if isinstance(answer, Resolved):
            return ResolvedText(answer, forced=forced)
        # Why -X refuses, nobody asked: what it is for is said by the others.
        refused += [] if forced else [StrategyRefusal(row.policy or "", answer.reason)]
    return refused


def policy_for(conflict: FileConflict, state: Path | None) -> Policy | None:
    """Return a policy that would settle a conflict without picking a side, if a hotspot named it."""
    from gitprun.judging.hotspots import WITHOUT_SIDES, Hotspot

    for policy in WITHOUT_SIDES:
        if isinstance(_settle_guarded(conflict, Hotspot(conflict.path, policy), state), Resolved):
            return policy
    return None


def _settle_guarded(conflict: FileConflict, hotspot: Hotspot, state: Path | None) -> Resolved | Refused:
    from gitprun.judging.hotspots import settle

    return run_guarded(lambda each: settle(each, hotspot), conflict, state)


def faults_of_hand(doubts: Doubts) -> tuple[str, ...]:
    """Return the faults for which a text that a person made is not taken.

    What could not be looked at in time is no such fault: somebody wrote this very text, and the landing says that
    nobody looked at it to the end.
    """
    return () if doubts.late else doubts.faults


def cascade_guarded(
    conflict: FileConflict, state: Path | None, *, every: bool = False, keep: bool = True
) -> CascadeResult:
    """Run the cascade: whatever a resolver does, it ends in time, and an error of ours is a refusal."""
    tried = run_guarded(lambda each: run_cascade(each, every=every, keep=keep), conflict, state)
    return CascadeResult((), (StrategyRefusal("", tried.reason),)) if isinstance(tried, Refused) else tried


def run_guarded(resolver: Callable[[FileConflict], _T], conflict: FileConflict, state: Path | None) -> _T | Refused:
    """Run a resolver: one that takes too long or fails leaves a conflict, never a lost landing."""
    doing, before = f"resolving {conflict.path!r}", lambda: prepare(conflict.path)
    return guarded(lambda: resolver(conflict), state, doing, NOT_SETTLED, before)


def blob_name(text: bytes) -> str:
    """Return the object id git gives a text, by which resolutions of it are recorded."""
    # Without git: a program for each text would take longer than all else a recorded resolution costs.
    return blob_id(text).hex()


def show_dropped(answer: Resolved) -> tuple[str, ...]:
    """Return the lines that a policy left out as they are told: the side, the line in its file, what it was."""
    return tuple(
        f"{line.side} {line.line}: {'-' if line.removal else '+'}{show_line(line.text)}" for line in answer.dropped
    )


def show_line(line: bytes) -> str:
    """Return a line of a file as text, bytes that are no UTF-8 as escapes."""
    return line.decode("utf-8", "backslashreplace")
