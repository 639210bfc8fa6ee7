"""What a landing said about branches that did not land, as rows of the ledger, until it is true no more; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitprun.ledger.events import Event
from gitprun.model.escapes import shell_word
from gitprun.model.findings import CHECK_AGAIN, EVERY_FINDING, UNRESOLVED

HELD: Final = "landing.held"
# A row is a reminder, not a report: who wants all of it asks again with the command that it names.
MOST_FINDINGS: Final = 20
MOST_WORDS: Final = 300
# What is accepted by a flag of its own: words of LandingItem.accept that are no paths.
ACCEPT_FLAGS: Final = {"outside": "--allow-outside", "base": "--with-base"}


def accept_flags(words: Iterable[str]) -> str:
    """Return the options of ``git prun merge`` that accept what is held."""
    return " ".join(ACCEPT_FLAGS.get(word) or f"--accept {shell_word(word)}" for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBranch:
    """One branch that did not land on ``target`` (a full ref), found when that was at ``main`` and it at ``tip``.

    ``findings`` are paths with what is wrong with each, ``accept`` what ``merge --accept`` would have to name,
    ``command`` and ``log`` the check that failed and its output (empty where none did). ``moved`` says what moved
    since, so that nobody knows whether it would be so again.
    """

    branch: str
    tip: str
    target: str
    main: str
    state: str
    reason: str
    name: str
    time: float = 0.0
    findings: tuple[tuple[str, str], ...] = ()
    accept: tuple[str, ...] = ()
    command: str = ""
    log: str = ""
    moved: str = ""

    @property
    def onto(self) -> str:
        """Return the short name of the target."""
        return self.target.removeprefix("refs/heads/")

    @property
    def opens(self) -> bool:
        """Check whether ``git prun resolve`` has something to open: a conflict, a finding, or a check that failed."""
        if any(why == UNRESOLVED for _, why in self.findings):
            return False
        return self.state in ("conflict", "suspect", "drops") or (self.state in ("red", "held") and bool(self.command))

    @property
    def next_step(self) -> str:
        """Return the command that goes on from here, to be pasted into a shell."""
        name = shell_word(self.name)
        if self.opens and not self.moved:
            return f"git prun resolve {name}"
        if self.state == "held" and self.acceptance:
            return self.acceptance
        if self.state == "unverified" and not self.command and not self.moved:
            again = self.reason in CHECK_AGAIN and self.name != self.branch
            return f"git prun verify {name}" if again else f"git prun merge --allow-unverified {name}"
        return f"git prun merge {name}"

    @property
    def acceptance(self) -> str:
        """Return the command that lands what is suspect or held as it is, by name; empty where nothing is."""
        if self.accept:
            # A base comes along on another target than the usual one: on that it is in already.
            into = f" --into {shell_word(self.onto)}" if "base" in self.accept else ""
            return f"git prun merge {accept_flags(self.accept)}{into} {shell_word(self.name)}"
        if self.state != "suspect" or len(self.findings) == MOST_FINDINGS:
            return ""
        words = dict.fromkeys(path or EVERY_FINDING[0] for path, _ in self.findings)
        flags = " ".join(f"--allow-suspect={shell_word(word)}" for word in words)
        return f"git prun merge {flags} {shell_word(self.name)}"


def held_facts(held: HeldBranch) -> dict[str, Any]:
    """Return the facts of a row; the unit is named in them, for a landing that did not come about is no step of it."""
    facts: dict[str, Any] = {key: getattr(held, key) for key in ("branch", "tip", "target", "main", "state", "reason")}
    if held.name != held.branch:
        facts["of"] = held.name
    if held.findings:
        facts["findings"] = [[path, why] for path, why in held.findings]
    if held.accept:
        facts["accept"] = [*held.accept]
    if held.command:
        facts |= {"command": held.command, "log": held.log}
    return facts


def read_held(events: Iterable[Event]) -> dict[tuple[str, str], HeldBranch]:
    """Return what the last landing of each branch said, by branch and target, unless it has landed since."""
    found: dict[tuple[str, str], HeldBranch] = {}
    for event in events:
        if event.kind not in (HELD, "landing.landed"):
            continue
        key = str(event.facts.get("branch", "")), str(event.facts.get("target", ""))
        found.pop(key, None)
        held = _read(event) if event.kind == HELD else None
        if held is not None:
            found[key] = held
    return found


def spent_rows(rows: Iterable[tuple[int, Event]]) -> list[int]:
    """Return the numbers of the rows that say nothing any more: a later one took their place."""
    last: dict[tuple[object, object], int] = {}
    spent = []
    for number, event in rows:
        if event.kind in (HELD, "landing.landed"):
            key = event.facts.get("branch"), event.facts.get("target")
            if key in last:
                spent.append(last.pop(key))
            if event.kind == HELD:
                last[key] = number
    return spent


def _read(event: Event) -> HeldBranch | None:
    facts: Mapping[str, Any] = event.facts
    try:
        words = {key: str(facts[key]) for key in ("branch", "tip", "target", "main", "state", "reason")}
        return HeldBranch(
            **words,
            name=str(facts.get("of") or facts["branch"]),
            time=event.time,
            findings=tuple((str(path), str(why)) for path, why in facts.get("findings", ())),
            accept=tuple(map(str, facts.get("accept", ()))),
            command=str(facts.get("command", "")),
            log=str(facts.get("log", "")),
        )
    except (KeyError, TypeError, ValueError):
        return None
