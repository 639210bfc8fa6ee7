"""The judge: what a merge of two trees comes to, for whoever asks; conflict, cascade, proof, audit, doubts, in order.

A landing, its dry run, a forecast, the gate of git's own merges and ``git prun resolve`` ask here and render the
answer; ``merge-file``, the merge driver and ``merge_text`` ask about a single file, in ``judging.text``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.git.trees import TreeMerge, show_path
from gitprun.git.walk import Trees
from gitprun.judging.drivers import MergeAttributes, judge_drivers
from gitprun.judging.judged import Judged, Means, Sides, Unchecked
from gitprun.judging.shared_folders import may_clash
from gitprun.model.findings import MergeState, Suspect

if TYPE_CHECKING:
    from gitprun.judging.conflicts import ConflictAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges merges of trees; ``trees`` writes where nobody looks, ``checkout`` is that of the target, if it has one.

    ``attributes`` say which merge driver a path has; None where git's text is not what is judged.
    """

    trees: Trees
    means: Means
    checkout: Path | None = None
    attributes: MergeAttributes | None = None

    def judge(self, merge: TreeMerge, sides: Sides) -> Judged:
        """Return what a merge comes to; ``merge`` is what git made of the two sides."""
        # Most merges end here: no text is merged where the sides cannot have met.
        if merge.clean and not may_clash(sides.by_main, sides.by_unit):
            return self._rely(Judged(state=MergeState.CLEAN, tree=merge.tree), sides)
        # Drivers first: what they did is told even where a conflict is left.
        odd, notes = self._ask_drivers(merge, sides)
        answers: Sequence[ConflictAnswer] = ()
        if not merge.clean:
            answers = self.answer(merge, sides)
            # Git may also fail without naming a path; and one conflict that is left leaves them all to a person.
            if not answers or not all(one.settled for one in answers):
                from gitprun.judging.conflicts import show_conflicts

                shown = show_conflicts(answers, sides.names, self.checkout)
                return Judged(state=MergeState.CONFLICT, tree=None, conflicts=shown, notes=notes)
        return self._audit(merge, sides, answers, odd, notes)

    def answer(self, merge: TreeMerge, sides: Sides) -> tuple[ConflictAnswer, ...]:
        """Return what settles each conflict, whatever becomes of the others."""
        from gitprun.judging.conflicts import answer_conflicts

        return answer_conflicts(self.trees.repo, merge, self.means, several_bases=sides.several_bases())

    def _ask_drivers(self, merge: TreeMerge, sides: Sides) -> tuple[tuple[Suspect, ...], tuple[str, ...]]:
        if self.attributes is None:
            return (), ()
        both = [path for path in sides.by_unit if path in sides.by_main]
        said = [*judge_drivers(self.attributes, self.trees, merge, (sides.base, sides.main, sides.unit), both)]
        odd = tuple(one for one in said if isinstance(one, Suspect))
        return odd, tuple(one for one in said if isinstance(one, str))

    def _audit(
        self,
        merge: TreeMerge,
        sides: Sides,
        answers: Sequence[ConflictAnswer],
        odd: tuple[Suspect, ...],
        notes: tuple[str, ...],
    ) -> Judged:
        """Look at the whole merged tree, what resolvers made of it as well as what git did."""
        from gitprun.judging.audit import audit_merge
        from gitprun.judging.conflicts import describe_flip, place_answers

        texts = {one.at.path: one.text for one in answers if one.text is not None}
        tree = place_answers(self.trees.repo, merge.tree, answers)
        # What resolvers made is looked at too: a proof is of one kind, faults are of all.
        audited = audit_merge(self.trees, sides, tree, frozenset(texts), self.means)
        suspects, united = (*odd, *audited.suspects), bool(answers or audited.replaced)
        judged = Judged(
            state=MergeState.SUSPECT if suspects else MergeState.UNITED if united else MergeState.CLEAN,
            tree=audited.tree,
            resolved=tuple(one.resolved for one in answers),
            replaced=audited.replaced,
            suspects=suspects,
            unchecked=audited.unchecked,
            mended=audited.mended,
            offers={path: text.offers for path, text in texts.items()},
            forced=frozenset(show_path(path) for path, text in texts.items() if text.forced),
            notes=(*notes, *filter(None, map(describe_flip, answers))),
        )
        return self._rely(judged, sides)

    def _rely(self, judged: Judged, sides: Sides) -> Judged:
        """Look for what the merged tree relies on and does not have any more, in whatever files."""
        # Only where both sides did something can one have taken away what the other needs.
        if judged.tree is None or not sides.by_main or not sides.by_unit:
            return judged
        from gitprun.judging.dangling import find_dangling

        found = find_dangling(self.trees, sides, judged.tree, self.means.state)
        if isinstance(found, Unchecked):
            return replace(judged, unchecked=(*judged.unchecked, found))
        # A path is named once: what was found in its text comes first.
        known = {one.path for one in judged.suspects}
        new = [one for one in found if one.suspect.path not in known]
        if not new:
            return judged
        return replace(
            judged,
            state=MergeState.SUSPECT,
            suspects=(*judged.suspects, *(one.suspect for one in new)),
            mended={**judged.mended, **{path: text for one in new for path, text in one.mended}},
        )
