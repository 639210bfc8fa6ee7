"""What changed of the user's repository while a worker ran, as the ledger keeps it and people read it; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from gitprun.ledger.rows import FindingRow
from gitprun.model.lists import listed
from gitprun.model.names import short

Kind = Literal["ref", "head", "config", "hook", "info", "worktree", "reflog", "checkout"]


STASH = "refs/stash"


WORKTREES = "worktrees/"


# A file of settings git cannot read has this one key.
UNREADABLE = "?"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: what it is, and what stood there before and after (empty: nothing). ``file`` holds a key."""

    kind: Kind
    name: str
    old: str = ""
    new: str = ""
    file: str = ""

    @property
    def key(self) -> str:
        """Return what tells it from all others of the same repository."""
        return " ".join(filter(None, (self.kind, self.file, self.name)))


def worktree_of(name: str) -> str:
    """Name the linked worktree a name under ``worktrees/`` belongs to; empty for anything else."""
    return name.split("/")[1] if name.startswith(WORKTREES) and name.count("/") > 1 else ""


BRANCHES, TAGS, REMOTES, REPLACED = "refs/heads/", "refs/tags/", "refs/remotes/", "refs/replace/"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftFinding:
    """One difference that counts; ``gate`` keeps units from landing, ``why`` says more, ``by`` who surely did it."""

    thing: Change
    gate: bool
    why: str = ""
    by: tuple[str, ...] = ()

    @property
    def row(self) -> FindingRow:
        """Return it as it is written down; what is empty is left out."""
        thing = self.thing
        row = FindingRow(kind=thing.kind, name=thing.name, old=thing.old, new=thing.new, gate=self.gate)
        more = {"file": thing.file, "why": self.why, "by": self.by}
        return row.into(FindingRow, **{name: value for name, value in more.items() if value})

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return self.row.as_json()

    @property
    def text(self) -> str:
        """Return it in one line."""
        return describe(self.thing) + (f" ({self.why})" if self.why else "")


def finding_of(row: FindingRow) -> DriftFinding:
    """Return what was written down as ``row``."""
    thing = Change(cast("Kind", row.kind), row.name, row.old, row.new, row.file)
    return DriftFinding(thing=thing, gate=row.gate, why=row.why, by=row.by)


def read_finding(facts: Mapping[str, object]) -> DriftFinding:
    """Return what ``as_json`` wrote; raises OddFact, a ValueError, where it is nothing of the kind."""
    return finding_of(FindingRow.read(facts, whole=True))


def describe(thing: Change) -> str:
    """Return in a few words what differs."""
    old, new = _shown(thing.old), _shown(thing.new)
    if thing.kind == "ref":
        return _changed(
            thing, thing.name, f"is new, at {new}", f"is gone (it was at {old})", f"moved from {old} to {new}"
        )
    if thing.kind == "head":
        return f"{thing.name} is {new or 'gone'}, it was {old or 'not there'}"
    if thing.kind == "config":
        if thing.name == UNREADABLE:
            return f"{thing.file} {'can be read by git again' if thing.old else 'cannot be read by git any more'}"
        return f"{thing.file}: {_changed(thing, thing.name, 'is new', 'is gone', 'has another value')}"
    if thing.kind == "worktree" and not worktree_of(thing.name):
        gone = f"is no longer registered (it lay at {thing.old})"
        moved = f"is registered at {thing.new} now, it was at {thing.old}"
        return _changed(thing, f"the worktree {thing.name}", f"is new, at {thing.new}", gone, moved)
    if thing.kind == "reflog":
        return f"the reflog of {thing.name} was cut"
    if thing.kind == "checkout":
        changed = "changed in your checkout"
        return _changed(thing, thing.name, changed, "is not among the changes in your checkout any more", changed)
    # A mark is a mode and a digest: with the same digest only the mode can differ.
    same = thing.old.partition(" ")[2] == thing.new.partition(" ")[2]
    return _changed(thing, thing.name, "is new", "is gone", "has another mode" if same else "changed")


def _changed(thing: Change, name: str, new: str, gone: str, moved: str) -> str:
    return f"{name} {new if not thing.old else gone if not thing.new else moved}"


def _shown(value: str) -> str:
    # Object ids have 40 digits (SHA-1) or 64 (SHA-256); nothing else is cut short.
    name = value.removeprefix("ref: ")
    return name if name != value or not re.fullmatch(r"[0-9a-f]{40,64}", value) else short(value)


def rank(one: DriftFinding) -> int:
    """Order findings by what they mean to the user: what counts, what is checked out, what branches hold, the rest."""
    if one.gate:
        return 0
    return 1 if one.thing.kind == "head" else 2 if one.thing.name.startswith(BRANCHES) else 3


def summarize(findings: tuple[DriftFinding, ...]) -> str:
    """Sum up findings in one line, those that count first."""
    ranked = sorted(findings, key=rank)
    return listed(ranked, 1, show=lambda one: describe(one.thing))
