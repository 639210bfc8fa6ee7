"""Which differences keep a unit from landing, and which are only told: rules over what was found out about each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from gitprun.drift.things import STASH, UNREADABLE, Kind, Look, Thing, listed, worktree_of
from gitprun.names import short

BRANCHES, TAGS, REMOTES, REPLACED = "refs/heads/", "refs/tags/", "refs/remotes/", "refs/replace/"
# What people, editors and git itself set in the shared configuration while they work; it names no program.
_USUAL = re.compile(
    r"branch\..+\.(?:remote|merge|rebase|pushremote|description|vscode-merge-base|gh-merge-base|base)"
    r"|lfs\.(?:repositoryformatversion|.+\.(?:access|locksverify))"
    r"|submodule\..+\.(?:url|active)|submodule\.active|gui\..+|maintenance\.(?:auto|strategy)|gc\.pid",
    re.IGNORECASE,
)
# A branch that was rewritten like that, in its own checkout, still holds what its owner wants it to hold.
_REWRITES = ("commit (amend)", "rebase", "pull --rebase", "pull -r", "commit (merge)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found out about one difference.

    ``on_top`` tells that a ref moved to a descendant, by ``commits`` commits; ``checked_out`` that a checkout of the
    user's is on it, ``followed`` that it moved in that very checkout; ``said`` is what the reflog says (None: there
    is no entry about it), ``at`` when; ``lost`` counts the entries a reflog lost; ``writers`` names the units that
    are known to have done it.
    """

    on_top: bool = False
    commits: int | None = None
    checked_out: bool = False
    followed: bool = False
    logged: bool = True
    said: str | None = None
    at: float | None = None
    lost: int = 0
    writers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference that counts; ``gate`` keeps units from landing, ``why`` says more, ``by`` who surely did it."""

    thing: Thing
    gate: bool
    why: str = ""
    by: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        thing = self.thing
        row: dict[str, Any] = {"kind": thing.kind, "name": thing.name, "old": thing.old, "new": thing.new}
        extra = {"file": thing.file, "why": self.why, "by": list(self.by)}
        return row | {"gate": self.gate} | {key: value for key, value in extra.items() if value}

    @property
    def text(self) -> str:
        """Say it in one line."""
        return describe(self.thing) + (f" ({self.why})" if self.why else "")


def is_usual(key: str) -> bool:
    """Tell whether a setting is one that people and git change while they work, and that names no program."""
    return key.startswith(("remote.", "user.", "color.", "advice.")) or bool(_USUAL.fullmatch(key))


def read_finding(row: Mapping[str, Any]) -> Finding:
    """Read what ``as_json`` wrote."""
    kind = cast("Kind", str(row["kind"]))
    thing = Thing(kind, str(row["name"]), str(row["old"]), str(row["new"]), str(row.get("file", "")))
    by = tuple(map(str, row.get("by", ())))
    return Finding(thing=thing, gate=bool(row["gate"]), why=str(row.get("why", "")), by=by)


def judge(thing: Thing, found: Evidence, before: Look) -> Finding | None:
    """Judge one difference; None where it is of no interest."""
    if thing.kind == "reflog" and not found.lost:
        return None
    gate, why = _RULES[thing.kind](thing, found, before)
    # What a worker is known to have done is never taken for the user's.
    return Finding(thing=thing, gate=gate or bool(found.writers and thing.kind == "ref"), why=why, by=found.writers)


def _judge_ref(thing: Thing, found: Evidence, before: Look) -> tuple[bool, str]:
    name, told = thing.name, f"reflog: {found.said}" if found.said else ""
    if name == STASH:
        if found.lost or not thing.new:
            return True, "what was stashed is not in the list any more"
        return False, "one more entry"
    if name.startswith(REMOTES):
        return False, told
    if name.startswith(TAGS):
        return bool(thing.old), "" if not thing.old else "tags stay where they are"
    if name.startswith(REPLACED):
        return True, "git shows another object in its place"
    if not thing.new:
        return True, ""
    if not thing.old:
        return _judge_new(name, found, told)
    if found.on_top:
        count = f"{found.commits} commit{'' if found.commits == 1 else 's'} on top" if found.commits else "on top"
        why = "; ".join(filter(None, (count, told)))
        # Who commits in a checkout leaves a word in the reflog.
        alone = found.checked_out and not (found.followed and found.said)
        return alone, f"{why}; not by a commit in the checkout that is on it" if alone else why
    rewritten = found.followed and (found.said or "").startswith(_REWRITES)
    return not rewritten, "; ".join(filter(None, ("not on top of what it was", told)))


def _judge_new(name: str, found: Evidence, told: str) -> tuple[bool, str]:
    if found.said == "push":
        return True, "pushed into this repository"
    if name.startswith(BRANCHES) and found.logged and found.said is None:
        return True, "made without git's own commands: it has no reflog"
    return not name.startswith((BRANCHES, "refs/notes/")), told


def _judge_head(thing: Thing, found: Evidence, before: Look) -> tuple[bool, str]:
    if found.followed and found.said:
        return False, f"reflog: {found.said}"
    return True, "by no command that changes branches"


def _judge_config(thing: Thing, found: Evidence, before: Look) -> tuple[bool, str]:
    key = thing.name.lower()
    if key.startswith("remote.") and not thing.old:
        section = key.rpartition(".")[0]
        known = {name.lower().rpartition(".")[0] for name in before.settings.get(thing.file, {})}
        return section in known or key.endswith((".uploadpack", ".receivepack", ".vcs", ".proxy")), ""
    return not _USUAL.fullmatch(thing.name), ""


def _judge_file(thing: Thing, found: Evidence, before: Look) -> tuple[bool, str]:
    return True, ""


def _judge_worktree(thing: Thing, found: Evidence, before: Look) -> tuple[bool, str]:
    if worktree_of(thing.name):
        return not thing.name.endswith("/locked"), ""
    return bool(thing.old), ""


def _judge_reflog(thing: Thing, found: Evidence, before: Look) -> tuple[bool, str]:
    return True, f"{found.lost} entr{'y' if found.lost == 1 else 'ies'} less"


def _judge_checkout(thing: Thing, found: Evidence, before: Look) -> tuple[bool, str]:
    return False, "the same content is in its workspace" if found.writers else ""


_RULES = {
    "ref": _judge_ref,
    "head": _judge_head,
    "config": _judge_config,
    "hook": _judge_file,
    "info": _judge_file,
    "worktree": _judge_worktree,
    "reflog": _judge_reflog,
    "checkout": _judge_checkout,
}


def describe(thing: Thing) -> str:
    """Say in a few words what differs."""
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
    same = thing.old.partition(" ")[2] == thing.new.partition(" ")[2]
    return _changed(thing, thing.name, "is new", "is gone", "has another mode" if same else "changed")


def _changed(thing: Thing, name: str, new: str, gone: str, moved: str) -> str:
    return f"{name} {new if not thing.old else gone if not thing.new else moved}"


def _shown(value: str) -> str:
    name = value.removeprefix("ref: ")
    return name if name != value or not re.fullmatch(r"[0-9a-f]{40,64}", value) else short(value)


def rank(one: Finding) -> int:
    """Order findings by what they mean to the user: what counts, what is checked out, what branches hold, the rest."""
    if one.gate:
        return 0
    return 1 if one.thing.kind == "head" else 2 if one.thing.name.startswith(BRANCHES) else 3


def summarize(findings: tuple[Finding, ...]) -> str:
    """Sum up findings in one line, those that count first."""
    ranked = sorted(findings, key=rank)
    return listed([describe(one.thing) for one in ranked], 1)
