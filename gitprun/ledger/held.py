"""What a landing said about branches that did not land, as rows of the ledger, until it is true no more; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gitprun.ledger.events import Event
from gitprun.ledger.landing_events import LandingHeld, LandingLanded
from gitprun.model.escapes import shell_word
from gitprun.model.findings import CHECK_AGAIN, EVERY_FINDING, UNRESOLVED

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
        # A list of that length was cut: a command made of it would accept less than there is.
        if self.state != "suspect" or len(self.findings) == MOST_FINDINGS:
            return ""
        words = dict.fromkeys(path or EVERY_FINDING[0] for path, _ in self.findings)
        flags = " ".join(f"--allow-suspect={shell_word(word)}" for word in words)
        return f"git prun merge {flags} {shell_word(self.name)}"


def held_row(held: HeldBranch) -> LandingHeld:
    """Return the row of a branch; the unit is named in it, for a landing that did not come about is no step of it."""
    more: dict[str, object] = {}
    if held.name != held.branch:
        more["of"] = held.name
    if held.findings:
        more["findings"] = held.findings
    if held.accept:
        more["accept"] = held.accept
    if held.command:
        more |= {"command": held.command, "log": held.log}
    row = LandingHeld(
        branch=held.branch, tip=held.tip, target=held.target, main=held.main, state=held.state, reason=held.reason
    )
    return row.into(LandingHeld, **more)


def read_held(events: Iterable[Event]) -> dict[tuple[str, str], HeldBranch]:
    """Return what the last landing of each branch said, by branch and target, unless it has landed since."""
    found: dict[tuple[str, str], HeldBranch] = {}
    for event in events:
        row = event.payload
        if not isinstance(row, LandingHeld | LandingLanded):
            continue
        found.pop((row.branch, row.target), None)
        held = _read(row, event.time) if isinstance(row, LandingHeld) else None
        if held is not None:
            found[row.branch, row.target] = held
    return found


def spent_rows(rows: Iterable[tuple[int, Event]]) -> list[int]:
    """Return the numbers of the rows that say nothing any more: a later one took their place."""
    last: dict[tuple[str, str], int] = {}
    spent = []
    for number, event in rows:
        row = event.payload
        if isinstance(row, LandingHeld | LandingLanded):
            key = row.branch, row.target
            if key in last:
                spent.append(last.pop(key))
            if isinstance(row, LandingHeld):
                last[key] = number
    return spent


def _read(row: LandingHeld, time: float) -> HeldBranch | None:
    """Return what a row says; None for one that does not say enough to do anything about it."""
    # A row without one of these cannot be compared with where the branches are now.
    if not all((row.branch, row.tip, row.target, row.main, row.state)):
        return None
    return HeldBranch(
        branch=row.branch,
        tip=row.tip,
        target=row.target,
        main=row.main,
        state=row.state,
        reason=row.reason,
        name=row.of or row.branch,
        time=time,
        findings=row.findings,
        accept=row.accept,
        command=row.command,
        log=row.log,
    )
