"""What compilers and linters say of a merge and of neither of its parents: asked before the checks, if it is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.git.refs import write_commit
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.landing.plan import Candidate, LandingOptions, Proposed
from gitprun.landing.prove import came_confined, landing_checks
from gitprun.ledger.ledger import Ledger
from gitprun.model.findings import Compared, Suspect
from gitprun.model.names import Oid, short
from gitprun.supervisor.process import Stop
from gitprun.verify.difference import Said, ToolQuestion, ask_there, find_questions, new_messages
from gitprun.verify.pristine import CheckContext, CheckPlan, pristine_place
from gitprun.verify.surroundings import wish_for_landing
from gitprun.verify.tools import ToolMessage
from gitprun.workspaces.root import workspaces_root

if TYPE_CHECKING:
    from gitprun.landing.context import LandingContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Asks tools about the merges of one landing, in places made and walled as those of its checks (``plan``).

    ``said`` are their answers, by tool, tree and files: a train that is split asks about the same trees again.
    """

    repository: Repository
    top: Path
    logs: Path
    plan: CheckPlan
    stop: Stop | None = None
    said: dict[tuple[str, Oid, tuple[str, ...]], Said] = field(default_factory=dict)

    def compare(self, site: LandingContext, proposed: Proposed) -> Compared:
        """Return what tools say of a merge that they say of neither parent, for each language both sides changed."""
        trees, base = site.trees, tree_of(site.repo, proposed.base)
        tips = (proposed.before, tree_of(site.repo, proposed.candidate.tip))
        by_main, by_unit = ([os.fsdecode(change.path) for change in trees.compare(base, tip)] for tip in tips)
        questions, absent = find_questions(by_main, by_unit, os.environ)
        suspects: list[Suspect] = []
        asked, unchecked = list[str](), [*absent]
        for question in questions:
            found = self._compare(site, proposed, question)
            if isinstance(found, str):
                unchecked.append(found)
                continue
            asked.append(question.tool.name)
            words = f"{question.tool.name} says what it says of neither side"
            suspects += [Suspect(path=one.path, reason=f"{words}: {one.text}") for one in found]
        return Compared(tuple(suspects), tuple(asked), tuple(unchecked))

    def _compare(
        self, site: LandingContext, proposed: Proposed, question: ToolQuestion
    ) -> tuple[ToolMessage, ...] | str:
        """Return what is new of one tool, or why it cannot be told."""
        tip, unit = proposed.tip, proposed.candidate.tip
        # A place is made of a commit; the merge itself is none yet.
        merge = write_commit(site.repo, proposed.tree, (tip, unit), "prun: a merge to be looked at\n", *site.who)
        merged = self._ask(site, merge, proposed.tree, question)
        if merged.why:
            return merged.why
        # Most merges: then nobody has to ask about the parents.
        if not merged.messages:
            return ()
        sides: list[Sequence[ToolMessage]] = []
        for name, commit in ((site.target.branch, tip), (proposed.candidate.branch, unit)):
            side = self._ask(site, commit, tree_of(site.repo, commit), question)
            if side.why:
                return f"{name}: {side.why}"
            if side.messages and question.tool.stops:
                return f"{name}: {question.tool.name} ends at an error there already: {side.messages[0].text}"
            sides.append(side.messages)

        def of_base() -> Sequence[ToolMessage] | None:
            base = self._ask(site, proposed.base, tree_of(site.repo, proposed.base), question)
            return None if base.why else base.messages

        return new_messages(merged.messages, sides[0], sides[1], of_base)

    def _ask(self, site: LandingContext, commit: Oid, tree: Oid, question: ToolQuestion) -> Said:
        key = (question.tool.name, tree, question.files)
        if key not in self.said:
            logs = self.logs / f"difference-{short(tree)}"
            context = CheckContext(repository=self.repository, top=self.top, logs=logs, stop=self.stop, note=site.note)
            with pristine_place(context, commit, self.plan) as place:
                self.said[key] = ask_there(place, question, logs, self.stop, self.plan.timeout)
        return self.said[key]


def open_difference(
    repository: Repository,
    ledger: Ledger,
    candidates: Iterable[Candidate],
    options: LandingOptions,
    branch: str,
    stop: Stop | None,
) -> Difference:
    """Return what asks tools about the merges of a landing on a branch."""
    wish = wish_for_landing(came_confined([*candidates], ledger.read().events), options.verify_sandbox)
    # Without the setup: what it would install is missing in all the trees alike, and it may take minutes in each.
    plan = replace(landing_checks(options, wish, branch), setup=())
    top = workspaces_root(repository, options.root)
    return Difference(repository=repository, top=top, logs=repository.state / "landing", plan=plan, stop=stop)
