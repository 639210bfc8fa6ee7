"""What prun.toml says and whether it may count: folders of workspaces, approval, the options of a landing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gitprun.api.opened import Opened
from gitprun.model.errors import PrunError, UsageProblem
from gitprun.model.escapes import shell_word

if TYPE_CHECKING:
    from gitprun.judging.hotspots import Hotspot
    from gitprun.landing.plan import LandingOptions
    from gitprun.ledger.events import RunState
    from gitprun.model.plan import Settings
    from gitprun.model.powers import Power

Order = Literal["given", "safe", "captured"]
QUESTION = "prun.toml says what you have not approved yet:"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """How to land what is named; whatever is left as it is is as ``prun.toml`` and the runs say.

    ``into`` None is the branch that is checked out; ``message`` may hold ``{branch}``. ``verify`` are the checks of the
    merged tree, ``favor`` rows of ``PATH=POLICY``, ``strategy`` the side that wins whatever conflict is left, and
    ``accept_drops`` lets land what lost lines by it. ``accept`` are paths a branch may change though it would be held,
    ``allow_suspect`` findings that may land, ``allow_outside`` what lies outside of a unit's paths, ``with_base`` the
    commits of its base that the target lacks; ``deepen`` lets the rest of a shallow history be fetched.
    ``mend`` lands what looks wrong and has a mend with that mend, if the checks are red without it and green with it.
    ``complete``: of whole runs nothing lands while a unit has no result of its own. ``approve`` says that what
    ``prun.toml`` names may run, now and from now on. ``verified_run`` is a run of this very process, whose pristine
    verdicts count.
    """

    into: str | None = None
    message: str | None = None
    order: Order = "given"
    verify: tuple[str, ...] = ()
    no_verify: bool = False
    one_by_one: bool = False
    keep_going: bool = True
    favor: tuple[str, ...] = ()
    strategy: Literal["ours", "theirs"] | None = None
    accept: tuple[str, ...] = ()
    accept_drops: bool = False
    allow_outside: bool = False
    allow_suspect: tuple[str, ...] = ()
    mend: bool = False
    allow_unverified: bool = False
    with_base: bool = False
    deepen: bool = False
    complete: bool = False
    approve: bool = False
    dry_run: bool = False
    verified_run: str = ""


def settings_of(opened: Opened) -> Settings:
    """Read the settings of the checkout."""
    from gitprun.system.config import read_settings

    return read_settings(opened.repository.top)


def hotspots_of(settings: Settings) -> tuple[Hotspot, ...]:
    """Return the hotspots of settings; most repositories have none, and pay no import for them."""
    if not settings.hotspots:
        return ()
    from gitprun.judging.hotspots import parse_hotspots

    return parse_hotspots(list(settings.hotspots), settings.hotspot_source or "prun.toml")


def folder_name(environment: Mapping[str, str]) -> str:
    """Return the seed's folder for worktrees inside the project; its scripts call it by two names."""
    return environment.get("WORKTREE_DIR_NAME") or environment.get("WT_DIR_NAME") or ""


def chosen_root(opened: Opened, configured: str | None) -> Path:
    """Return the folder for workspaces: the one that is configured, else the one beside the repository."""
    from gitprun.workspaces.root import workspaces_root

    return workspaces_root(opened.repository, configured)


def workspace_root(opened: Opened, given: str | None, settings: Settings) -> Path:
    """Choose the folder for workspaces: as asked for, else by the environment, ``prun.toml``, beside the repository."""
    from gitprun.workspaces.root import require_outside

    configured = str((opened.start / given).absolute()) if given else folder_name(os.environ) or settings.root
    root = chosen_root(opened, configured)
    require_outside(opened.repository, root)
    return root


def known_roots(opened: Opened) -> tuple[Path, ...]:
    """Return the folders that workspaces are made in now; a broken prun.toml hides none that the ledger knows."""
    roots = [chosen_root(opened, None)]
    try:
        configured = folder_name(os.environ) or settings_of(opened).root
    except PrunError as problem:
        opened.warn(problem.message)
        return tuple(roots)
    return (*roots, chosen_root(opened, configured)) if configured else tuple(roots)


def find_moved(opened: Opened) -> None:
    """Find workspaces that are not where they were, so that what follows finds them; tell where they are now."""
    from gitprun.registry.move import follow_all

    for name, path in follow_all(opened.repository, opened.ledger, known_roots(opened)):
        opened.news(f"the workspace of {name} was moved; it is {path} now")


def approve(opened: Opened, powers: Iterable[Power], *, yes: bool) -> tuple[Power, ...]:
    """Return what of ``prun.toml`` may still not count: approved neither before, nor by ``yes``, nor when asked."""
    from gitprun.workspaces.trust import record_trust, show_power, untrusted

    left = untrusted(opened.repository, powers)
    if left and not yes and not opened.confirm(QUESTION, [show_power(power) for power in left]):
        return left
    if left:
        record_trust(opened.repository, left)
    return ()


def require_approved(opened: Opened, powers: Iterable[Power], *, yes: bool = False) -> None:
    """Raise Untrusted where something of ``prun.toml`` that is needed may not count."""
    from gitprun.workspaces.trust import Untrusted

    left = approve(opened, powers, yes=yes)
    if left:
        raise Untrusted(left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What was approved just now, in words; ``asks`` says whether ``prun.toml`` names anything at all."""

    approved: tuple[str, ...]
    asks: bool


def approve_settings(opened: Opened, *, yes: bool) -> Approval:
    """Approve all that ``prun.toml`` names and that is not yet; raises Untrusted where that is not agreed to."""
    from gitprun.workspaces.trust import show_power, untrusted

    powers = settings_of(opened).powers
    left = untrusted(opened.repository, powers)
    require_approved(opened, left, yes=yes)
    return Approval(approved=tuple(show_power(power) for power in left), asks=bool(powers))


def landing_options(
    opened: Opened, settings: Settings, asked: MergeRequest, runs: Iterable[RunState] = ()
) -> LandingOptions:
    """Return the options of a landing: what is asked for, else ``prun.toml``, else what its runs were told."""
    from gitprun.judging.hotspots import parse_favor
    from gitprun.landing.plan import LandingOptions
    from gitprun.model.plan import DEFAULT_VERIFY_TIMEOUT, MAX_DELETED, MAY_CHANGE, together

    told = [_told(opened, run) for run in runs]
    said = bool(asked.verify or settings.verify)
    settings = settings.over(together(told))
    left = {power.name for power in _unapproved(opened, settings, yes=asked.approve)}
    return LandingOptions(
        into=asked.into,
        message=asked.message or settings.merge_message,
        verify=(asked.verify or settings.verify or ()) or None,
        detect=not said and any(one.verify is None for one in told),
        # The last row that matches a path wins: what is asked for now over what is configured.
        hotspots=(*hotspots_of(settings), *map(parse_favor, asked.favor)),
        copy=settings.copy or (),
        link=settings.link or (),
        setup=() if "setup" in left else settings.setup or (),
        may_run_after="after" not in left,
        root=str((opened.repository.home / Path(settings.root).expanduser()).resolve()) if settings.root else "",
        verify_timeout=settings.verify_timeout or DEFAULT_VERIFY_TIMEOUT,
        verify_sandbox=settings.verify_sandbox,
        verify_view=settings.verify_view or "checkout",
        verify_may_change=MAY_CHANGE if settings.verify_may_change is None else settings.verify_may_change,
        # It starts programs, which a dry run promises not to, and --no-verify goes without.
        verify_difference=bool(settings.verify_difference) and not (asked.dry_run or asked.no_verify),
        reuse_green=settings.reuse_green or 0.0,
        verified_run=asked.verified_run,
        confirm_red=settings.confirm_red is not False,
        accept=asked.accept,
        allow_suspect=asked.allow_suspect,
        mend=asked.mend or settings.mend == "checked",
        max_deleted=MAX_DELETED if settings.max_deleted is None else settings.max_deleted,
        protected=settings.protected or (),
        order=asked.order,
        keep_going=asked.keep_going,
        strategy=asked.strategy,
        allow_unverified=asked.allow_unverified,
        no_verify=asked.no_verify,
        dry_run=asked.dry_run,
        one_by_one=asked.one_by_one,
        accept_drops=asked.accept_drops,
        allow_outside=asked.allow_outside,
        with_base=asked.with_base,
        deepen=asked.deepen,
    )


def _told(opened: Opened, run: RunState) -> Settings:
    """Return the settings of a run; what it was told is in the ledger in short, should its own file be gone."""
    from gitprun.ledger.settings import recall
    from gitprun.model.errors import OperationRefused
    from gitprun.model.plan import Settings

    try:
        return recall(opened.repository.state, run).settings
    except OperationRefused:
        verify = run.verify
        return Settings(verify=None if verify is None else tuple(verify), verify_sandbox=run.verify_sandbox)


def checks_of_run(run: RunState | None) -> tuple[str, ...]:
    """Return the checks that a run declared."""
    return tuple(run.verify or ()) if run is not None else ()


def _unapproved(opened: Opened, settings: Settings, *, yes: bool) -> tuple[Power, ...]:
    """Return what a landing goes without, with a warning; raises Untrusted for walls, without which nothing is checked.

    Whether commands after the landing are needed is known only when it is built.
    """
    from gitprun.model.powers import landed_by
    from gitprun.workspaces.trust import Untrusted, untrusted

    powers = landed_by(settings.powers)
    if yes:
        return approve(opened, powers, yes=True)
    left = approve(opened, (power for power in powers if power.name != "after"), yes=False)
    walls = [power for power in left if power.name != "setup"]
    if walls:
        raise Untrusted(walls)
    if left:
        opened.warn("setup commands from prun.toml are not approved; verifying without them (approve with --yes)")
    return (*left, *untrusted(opened.repository, (power for power in powers if power.name == "after")))


def approved(opened: Opened, settings: Settings, *, yes: bool) -> Settings:
    """Return settings for a check that is no landing, without the setup commands that are not approved."""
    left = _unapproved(opened, settings, yes=yes)
    return replace(settings, setup=None) if any(power.name == "setup" for power in left) else settings


def require_findings(opened: Opened, words: Collection[str]) -> None:
    """Refuse a word of ``--allow-suspect`` that is a branch or unit: it was meant to land, and would be passed over."""
    from gitprun.ledger.lookup import NotKnown, find_unit
    from gitprun.model.findings import EVERY_FINDING

    for word in words:
        if word in EVERY_FINDING or _is_path(opened, word):
            continue
        history = opened.history()
        try:
            what = "a run" if word in history.runs else f"the unit {find_unit(history, word).id}"
        except NotKnown:
            what = "a branch" if is_branch(opened, word) else ""
        if what:
            raise UsageProblem(
                f"--allow-suspect takes what looks wrong, and {word} is {what}",
                f"git prun merge --allow-suspect=all {shell_word(word)} lands it whatever looks wrong in it",
            )


def is_branch(opened: Opened, name: str) -> bool:
    """Check whether there is a local branch of that name."""
    words: Sequence[str] = ("show-ref", "--verify", "--quiet", f"refs/heads/{name}")
    return opened.repository.git.run(*words, ok=(0, 1, 128)).code == 0


def _is_path(opened: Opened, word: str) -> bool:
    asked = f"HEAD:{word}\nrefs/heads/{word}:{word}\n".encode("utf-8", "surrogateescape")
    rows = opened.repository.git.run("cat-file", "--batch-check=%(objectname)", stdin=asked).text.splitlines()
    return any(" " not in row for row in rows)
