"""What is to land and what came of it, as values; the order of landing is decided here, purely."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from gitprun.git.trees import TreeChange
from gitprun.judging.hotspots import Hotspot, Policy
from gitprun.landing.undo_plan import TakenOut
from gitprun.model.findings import CHECK_AGAIN, ConflictPath, LandedState, ResolvedPath, Suspect, are_mendable
from gitprun.model.names import Oid
from gitprun.model.plan import DEFAULT_VERIFY_TIMEOUT, MAX_DELETED, MAY_CHANGE, Settings, VerifyView
from gitprun.model.units import Verdict, VerifySandbox

Order = Literal["given", "safe", "captured"]
DEFAULT_MESSAGE = "merge: ship {branch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One branch that asks to land.

    ``unit`` is empty for a branch made elsewhere; ``verdict`` holds for exactly ``tree``; ``since`` is the time the
    unit's work was captured, in seconds since 1970. ``reverted`` is what the ledger says was taken out of targets and
    brought back. ``drift`` says what changed in the user's repository while it was made and keeps it from landing.
    ``confined`` tells whether the unit's worker was held to its workspace, ``fence`` which paths it was given. ``base``
    is the commit it was begun at, ``captured`` the last one a worker left on the branch of a named workspace, ``made``
    the one at which a branch made elsewhere was made, where these are known; ``later`` says which commits were made on
    a unit's work after it was captured, and keeps it from landing. ``mended`` is a merge of ``tip`` into the target as
    it was, mended by hand: its tree is what lands, in a merge of ``tip``.
    """

    branch: str
    tip: Oid
    run: str = ""
    unit: str = ""
    verdict: str = ""
    tree: str = ""
    since: float = 0.0
    reverted: tuple[TakenOut, ...] = ()
    made: str = ""
    drift: str = ""
    confined: bool = False
    notes: tuple[str, ...] = ()
    diverged: str = ""
    mended: str = ""
    fence: tuple[str, ...] = ()
    base: str = ""
    captured: str = ""
    later: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A merge about to be made: ``candidate`` into the commit ``tip``.

    ``base`` is their merge base, ``before`` the tree of ``tip``, ``tree`` the merged one, ``step`` what differs
    between these two.
    """

    candidate: Candidate
    tip: Oid
    base: Oid
    before: Oid
    tree: Oid
    step: Sequence[TreeChange]


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingOptions:
    """How to land.

    ``into`` None is the branch checked out, ``message`` may hold ``{branch}``. ``verify`` are the checks, with
    ``detect`` those of the languages found besides; ``verify_timeout`` and ``reuse_green`` are in seconds. ``root`` is
    the folder for private workspaces (empty: the one beside the repository), ``setup`` the commands that make one ready
    to be verified, if the user lets them run; ``verified_run`` is the run of this very command, whose pristine verdicts
    count. ``accept`` are paths that a branch may change though they would be held, ``max_deleted`` the share of the
    target's files that a branch may delete, ``protected`` globs of further paths that are held; ``allow_outside`` lets
    land what lies outside a unit's ``paths``, ``with_base`` the commits of a base that the target lacks, ``deepen``
    lets the rest of a shallow history be fetched. ``strategy`` names the side that wins whatever conflict is left in
    the end, and ``accept_drops`` lets land what lost lines by it. ``may_run_after`` says that the user lets the
    ``after`` commands of hotspots run. ``allow_suspect`` names the findings that may land (``accepts``);
    with ``mend`` those that have a mend land mended where the checks are red without it and green with it.
    ``verify_difference`` asks compilers what they say of a merge and of neither parent.
    """

    into: str | None = None
    message: str | None = None
    allow_unverified: bool = False
    no_verify: bool = False
    dry_run: bool = False
    verify: tuple[str, ...] | None = None
    detect: bool = False
    # Half an hour, as DEFAULT_VERIFY_TIMEOUT: a test suite that takes longer is asked for by name.
    verify_timeout: float = 1800.0
    verify_sandbox: VerifySandbox | None = None
    verify_view: VerifyView = "checkout"
    verify_may_change: tuple[str, ...] = MAY_CHANGE
    verify_difference: bool = False
    reuse_green: float = 0.0
    verified_run: str = ""
    confirm_red: bool = True
    accept: tuple[str, ...] = ()
    max_deleted: float = MAX_DELETED
    protected: tuple[str, ...] = ()
    allow_outside: bool = False
    with_base: bool = False
    deepen: bool = False
    hotspots: tuple[Hotspot, ...] = ()
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    root: str = ""
    order: Order = "given"
    one_by_one: bool = False
    keep_going: bool = True
    strategy: Policy | None = None
    accept_drops: bool = False
    allow_suspect: tuple[str, ...] = ()
    mend: bool = False
    may_run_after: bool = False


def checking_options(settings: Settings) -> LandingOptions:
    """Return how the settings have trees checked; all else of the options is as nobody said anything.

    A pristine check outside of a landing is planned from these too: its verdict counts for a landing only where every
    one of them is the same.
    """
    return LandingOptions(
        verify=settings.verify or None,
        copy=settings.copy or (),
        link=settings.link or (),
        setup=settings.setup or (),
        root=settings.root or "",
        verify_timeout=settings.verify_timeout or DEFAULT_VERIFY_TIMEOUT,
        verify_sandbox=settings.verify_sandbox,
        verify_view=settings.verify_view or "checkout",
        verify_may_change=MAY_CHANGE if settings.verify_may_change is None else settings.verify_may_change,
        confirm_red=settings.confirm_red is not False,
    )


class News(str):
    """A note of a landing that says how it went, and nothing that anybody should worry about."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingItem:
    """What came of one candidate.

    ``commit`` is its merge commit, ``verdict`` that of the checks that hold it, ``accept`` what of it would have to be
    accepted.
    """

    candidate: Candidate
    state: LandedState
    commit: str = ""
    reason: str = ""
    conflicts: tuple[ConflictPath, ...] = ()
    resolved: tuple[ResolvedPath, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    verdict: Verdict | None = None
    accept: tuple[str, ...] = ()

    @property
    def mendable(self) -> bool:
        """Check whether all that is suspect of it has a mend."""
        return self.state == "suspect" and are_mendable(self.suspects)

    def as_json(self) -> dict[str, object]:
        """Return it as plain values, the candidate's own on the same level."""
        absent = {"candidate"} if self.verdict else {"candidate", "verdict"}
        known = {name: value for name, value in asdict(self).items() if name not in absent}
        listed = {name: [dict(row) for row in known[name]] for name in ("conflicts", "resolved", "suspects")}
        listed["accept"] = list(self.accept)  # type: ignore[arg-type]
        candidate = self.candidate
        return {"branch": candidate.branch, "tip": candidate.tip, "run": candidate.run, "unit": candidate.unit} | (
            known | listed
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingReport:
    """What a landing did: ``target`` (full ref) went from ``old`` to ``new``; ``verdict`` is the merged tree's."""

    target: str
    old: Oid
    new: Oid
    items: tuple[LandingItem, ...]
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()

    @property
    def landed(self) -> tuple[LandingItem, ...]:
        """Return the items that landed, or would."""
        return tuple(item for item in self.items if item.state in ("landed", "would-land"))

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "target": self.target,
            "old": self.old,
            "new": self.new,
            "items": [item.as_json() for item in self.items],
            "verdict": asdict(self.verdict) if self.verdict else None,
            "notes": list(self.notes),
        }


def plan_order(
    candidates: Sequence[Candidate], contained: Collection[tuple[Oid, Oid]], *, by_time: bool = False
) -> tuple[Candidate, ...]:
    """Order candidates as given (the units of a run: as in its plan), as far as their ancestors allow.

    ``contained`` holds the pairs (ancestor, descendant) among the tips. A branch named twice is taken once. With
    ``by_time`` units come first, by time of capture, then branches made elsewhere as given.
    """
    arranged = candidates
    if by_time:
        units = sorted((one for one in candidates if one.unit), key=lambda one: one.since)
        arranged = [*units, *(one for one in candidates if not one.unit)]
    waiting = list(dict.fromkeys(arranged))
    # Branches beside each other need no sorting by descent.
    if not contained:
        return tuple(waiting)
    ordered: list[Candidate] = []
    while waiting:
        tips = {one.tip for one in waiting}
        free = (one for one in waiting if not any((tip, one.tip) in contained for tip in tips - {one.tip}))
        following = next(free, waiting[0])
        waiting.remove(following)
        ordered.append(following)
    return tuple(ordered)


def unproved(candidate: Candidate, options: LandingOptions) -> str:
    """Return why a unit's own verdict keeps it from landing; empty if it does not."""
    # Branches made elsewhere were never checked: the merged tree's check is all there is.
    if not candidate.unit or candidate.verdict == "pass" or options.allow_unverified:
        return ""
    if candidate.mended and not options.no_verify:
        # What lands is another tree than the one its checks failed on, and is checked itself.
        return ""
    return say_verdict(candidate.verdict)


def say_verdict(verdict: str) -> str:
    """Return in words why a verdict other than a pass proves nothing."""
    return {
        "fail": "its checks failed",
        "could-not-run": CHECK_AGAIN[0],
        "absent": "it has no checks",
    }.get(verdict, CHECK_AGAIN[1])


def render_message(candidate: Candidate, template: str | None) -> str:
    """Write the message of a merge commit, before git's own clean-up."""
    text = DEFAULT_MESSAGE if template is None else template
    return text.replace("{branch}", candidate.branch)


def render_reason(branches: Sequence[str]) -> str:
    """Write the reflog line of a landing, as ``git merge`` words it."""
    return f"merge {', '.join(branches)}: Merge made by the 'ort' strategy."


def plan_safe_order(
    sizes: Mapping[str, int], partners: Mapping[str, Collection[str]], given: Sequence[str]
) -> tuple[str, ...]:
    """Order branches: without conflicts first, then those with fewest partners, small before large, then as given.

    This is what ``git prun forecast`` suggests and ``git prun merge --order safe`` takes. ``partners`` names, for
    each branch, those it conflicts with (the target may be one of them); a pair named from one side only counts for
    both. ``sizes`` is how many paths each changes; what is in neither mapping has no partner, or size 0. A branch
    given twice is taken once. Ancestors are no business of this order: whoever lands puts them before their
    descendants.
    """
    known = dict.fromkeys(given)
    met: dict[str, set[str]] = {name: set() for name in known}
    for one, others in partners.items():
        for other in others:
            if one != other:
                met.setdefault(one, set()).add(other)
                met.setdefault(other, set()).add(one)
    # Sorting is stable: what ties stays as it was given.
    return tuple(sorted(known, key=lambda name: (len(met[name]), sizes.get(name, 0))))
