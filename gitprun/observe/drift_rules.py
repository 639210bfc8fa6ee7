"""Which differences keep a unit from landing, and which are only told: rules over what was found out about each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitprun.ledger.drift_findings import BRANCHES, REMOTES, REPLACED, STASH, TAGS, Change, DriftFinding, worktree_of
from gitprun.observe.snapshot import RepositorySnapshot

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
class ChangeEvidence:
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


def is_usual(key: str) -> bool:
    """Check whether a setting is one that people and git change while they work, and that names no program."""
    return key.startswith(("remote.", "user.", "color.", "advice.")) or bool(_USUAL.fullmatch(key))


def judge(thing: Change, found: ChangeEvidence, before: RepositorySnapshot) -> DriftFinding | None:
    """Judge one difference; None where it is of no interest."""
    if thing.kind == "reflog" and not found.lost:
        return None
    gate, why = _RULES[thing.kind](thing, found, before)
    # What a worker is known to have done is never taken for the user's.
    return DriftFinding(
        thing=thing, gate=gate or bool(found.writers and thing.kind == "ref"), why=why, by=found.writers
    )


def _judge_ref(thing: Change, found: ChangeEvidence, before: RepositorySnapshot) -> tuple[bool, str]:
    name, told = thing.name, f"reflog: {found.said}" if found.said else ""
    if name == STASH:
        if found.lost or not thing.new:
            return True, "what was stashed is not in the list any more"
        return False, "one more entry"
    if name.startswith(REMOTES):
        # A fetch of the user's or of an editor moves them all day.
        return False, told
    if name.startswith(TAGS):
        return bool(thing.old), "" if not thing.old else "tags stay where they are"
    if name.startswith(REPLACED):
        return True, "git shows another object in its place"
    if not thing.new:
        # Commits nothing else names are gone with the next gc.
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


def _judge_new(name: str, found: ChangeEvidence, told: str) -> tuple[bool, str]:
    if found.said == "push":
        return True, "pushed into this repository"
    if name.startswith(BRANCHES) and found.logged and found.said is None:
        return True, "made without git's own commands: it has no reflog"
    return not name.startswith((BRANCHES, "refs/notes/")), told


def _judge_head(thing: Change, found: ChangeEvidence, before: RepositorySnapshot) -> tuple[bool, str]:
    if found.followed and found.said:
        return False, f"reflog: {found.said}"
    return True, "by no command that changes branches"


def _judge_config(thing: Change, found: ChangeEvidence, before: RepositorySnapshot) -> tuple[bool, str]:
    key = thing.name.lower()
    if key.startswith("remote.") and not thing.old:
        section = key.rpartition(".")[0]
        known = {name.lower().rpartition(".")[0] for name in before.settings.get(thing.file, {})}
        return section in known or key.endswith((".uploadpack", ".receivepack", ".vcs", ".proxy")), ""
    return not _USUAL.fullmatch(thing.name), ""


def _judge_file(thing: Change, found: ChangeEvidence, before: RepositorySnapshot) -> tuple[bool, str]:
    return True, ""


def _judge_worktree(thing: Change, found: ChangeEvidence, before: RepositorySnapshot) -> tuple[bool, str]:
    if worktree_of(thing.name):
        # A lock keeps a worktree from being pruned: no harm, and the user sets it on a removable disk.
        return not thing.name.endswith("/locked"), ""
    return bool(thing.old), ""


def _judge_reflog(thing: Change, found: ChangeEvidence, before: RepositorySnapshot) -> tuple[bool, str]:
    return True, f"{found.lost} entr{'y' if found.lost == 1 else 'ies'} less"


def _judge_checkout(thing: Change, found: ChangeEvidence, before: RepositorySnapshot) -> tuple[bool, str]:
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
