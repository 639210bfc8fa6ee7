"""What a landing is told by the command line, prun.toml and the runs: for every command that lands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import warn
from gitprun.cli.options import Here
from gitprun.model.errors import UsageProblem
from gitprun.model.escapes import shell_word

if TYPE_CHECKING:
    from gitprun.landing.plan import LandingOptions
    from gitprun.ledger.events import RunState
    from gitprun.model.plan import Settings
    from gitprun.model.powers import Power

# Without a word it means every finding, as it always did.
suspect_option = click.option(
    "--allow-suspect",
    multiple=True,
    is_flag=False,
    flag_value="all",
    metavar="[PATH]",
    help="Land what looks wrong in PATH, as it was printed (repeatable); all, or no PATH: whatever it is.",
)


def landing_options(
    place: Here, settings: Settings, given: Mapping[str, Any], runs: Iterable[RunState] = ()
) -> LandingOptions:
    """Return the options of a landing: what the command line says, else ``prun.toml``, else what its runs were told."""
    from gitprun.judging.hotspots import parse_hotspots
    from gitprun.landing.plan import checking_options
    from gitprun.model.plan import MAX_DELETED, together

    told = [_told(place, run) for run in runs]
    said = bool(given.get("verify") or settings.verify)
    settings = settings.over(together(told))
    left = {power.name for power in _unapproved(place, settings, yes=bool(given.get("yes")))}
    hotspots = parse_hotspots(list(settings.hotspots), settings.hotspot_source or "prun.toml")
    return replace(
        checking_options(settings),
        into=given.get("into"),
        message=given.get("message") or settings.merge_message,
        verify=tuple(given.get("verify") or settings.verify or ()) or None,
        detect=not said and any(one.verify is None for one in told),
        hotspots=hotspots,
        setup=() if "setup" in left else settings.setup or (),
        may_run_after="after" not in left,
        reuse_green=settings.reuse_green or 0.0,
        verified_run=given.get("verified_run") or "",
        accept=tuple(given.get("accept") or ()),
        allow_suspect=tuple(given.get("allow_suspect") or ()),
        max_deleted=MAX_DELETED if settings.max_deleted is None else settings.max_deleted,
        protected=settings.protected or (),
        order=given.get("order") or "given",
        keep_going=given.get("keep_going", True),
        strategy=given.get("strategy"),
        allow_unverified=bool(given.get("allow_unverified")),
        no_verify=bool(given.get("no_verify")),
        dry_run=bool(given.get("dry_run")),
        one_by_one=bool(given.get("one_by_one")),
        accept_drops=bool(given.get("accept_drops")),
        allow_outside=bool(given.get("allow_outside")),
        with_base=bool(given.get("with_base")),
        deepen=bool(given.get("deepen")),
    )


def require_findings(place: Here, words: Sequence[str]) -> None:
    """Refuse a word of ``--allow-suspect`` that is a branch or unit: it was meant to land, and would be passed over."""
    from gitprun.ledger.lookup import NotKnown, find_unit
    from gitprun.model.findings import EVERY_FINDING

    for word in words:
        if word in EVERY_FINDING or _is_path(place, word):
            continue
        history = place.history()
        try:
            what = "a run" if word in history.runs else f"the unit {find_unit(history, word).id}"
        except NotKnown:
            named = place.repository.git.run("show-ref", "--verify", "--quiet", f"refs/heads/{word}", ok=(0, 1, 128))
            what = "" if named.code else "a branch"
        if what:
            raise UsageProblem(
                f"--allow-suspect takes what looks wrong, and {word} is {what}",
                f"git prun merge --allow-suspect=all {shell_word(word)} lands it whatever looks wrong in it",
            )


def _is_path(place: Here, word: str) -> bool:
    asked = f"HEAD:{word}\nrefs/heads/{word}:{word}\n".encode("utf-8", "surrogateescape")
    rows = place.repository.git.run("cat-file", "--batch-check=%(objectname)", stdin=asked).text.splitlines()
    return any(" " not in row for row in rows)


def _told(place: Here, run: RunState) -> Settings:
    """Return the settings of a run; what it was told is in the ledger in short, should its own file be gone."""
    from gitprun.ledger.settings import recall
    from gitprun.model.errors import OperationRefused
    from gitprun.model.plan import Settings

    try:
        return recall(place.repository.state, run).settings
    except OperationRefused:
        verify = run.facts.get("verify")
        return Settings(
            verify=None if verify is None else tuple(verify), verify_sandbox=run.facts.get("verify_sandbox")
        )


def _unapproved(place: Here, settings: Settings, *, yes: bool) -> tuple[Power, ...]:
    """Return what a landing goes without, with a warning; raises Untrusted for walls, without which nothing is checked.

    Whether commands after the landing are needed is known only when it is built.
    """
    from gitprun.cli.places import settle_trust
    from gitprun.model.powers import landed_by
    from gitprun.workspaces.trust import Untrusted, untrusted

    powers = landed_by(settings.powers)
    if yes:
        return settle_trust(place, powers, yes=True)
    left = settle_trust(place, (power for power in powers if power.name != "after"), yes=False)
    walls = [power for power in left if power.name != "setup"]
    if walls:
        raise Untrusted(walls)
    if left:
        warn("setup commands from prun.toml are not approved; verifying without them (approve with --yes)")
    return (*left, *untrusted(place.repository, (power for power in powers if power.name == "after")))


def approved(place: Here, settings: Settings, *, yes: bool) -> Settings:
    """Return settings for a check that is no landing, without the setup commands that are not approved."""
    left = _unapproved(place, settings, yes=yes)
    return replace(settings, setup=None) if any(power.name == "setup" for power in left) else settings
