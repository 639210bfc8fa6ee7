"""What of a repository workers could change for the user, as one look shows it; and what differs between two looks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitprun.ledger.drift_findings import UNREADABLE, WORKTREES, Change, Kind, worktree_of
from gitprun.model.names import PRUN_BRANCHES, PRUN_REFS

FORMAT = 1
OWN_REFS = (PRUN_REFS, f"refs/heads/{PRUN_BRANCHES}")
CONFIGS = ("config", "config.worktree")
_USER = re.compile(r"//[^/@\s]*@")
_EMPTY: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySnapshot:
    """One look at what is the user's.

    ``refs`` and ``heads`` hold a commit or ``ref: NAME``; ``settings`` for each file a digest for each key, never a
    value; ``files`` mode and digest by name (relative to the shared folder, hooks elsewhere by their whole path);
    ``logs`` digests of reflogs (None: not looked at); ``places`` where each linked worktree lies; ``hooks`` the folder
    git looks for hooks in; ``checkout`` what is uncommitted in the user's checkout (None: not looked at).
    """

    time: float = 0.0
    refs: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    logs: Mapping[str, str] | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    hooks: str = "hooks"
    checkout: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChanges:
    """What prun itself changes while workers work.

    ``refs`` are refs whose moves are nobody's drift (branches of units), ``moves`` single moves the ledger explains,
    ``places`` the folders of worktrees prun made, ``removed`` those of them that prun took away again.
    """

    refs: frozenset[str] = frozenset()
    moves: frozenset[tuple[str, str]] = frozenset()
    places: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    def owns(self, ref: str) -> bool:
        """Tell whether a ref is prun's to move."""
        return ref.startswith(OWN_REFS) or ref in self.refs


def redact(key: str) -> str:
    """Take the user and the password out of an address in the name of a setting."""
    return _USER.sub("//***@", key)


def compare(before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> tuple[Change, ...]:
    """List what differs between two looks and is not prun's own doing."""
    return (
        *_refs(before, after, ours),
        *_heads(before, after, ours),
        *_settings(before, after, ours),
        *_files(before, after),
        *_worktrees(before, after, ours),
        *_logs(before, after, ours),
        *_checkout(before, after),
    )


def _differing(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    if old is new or old == new:
        return
    for name in sorted({*old, *new}):
        was, now = old.get(name, ""), new.get(name, "")
        if was != now:
            yield name, was, now


def _refs(before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> Iterator[Change]:
    for name, was, now in _differing(before.refs, after.refs):
        if not ours.owns(name) and (name, now) not in ours.moves:
            yield Change("ref", name, was, now)


def _is_ours(name: str, before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> bool:
    """Tell whether something under ``worktrees/`` belongs to a worktree prun made, or to one that came or went."""
    entry = worktree_of(name)
    if not entry:
        return False
    if entry not in before.places or entry not in after.places:
        return True
    return _place_of(before.places[entry], after.places[entry]) in ours.places


def _place_of(was: str, now: str) -> str:
    """Return where a worktree was; a registration that was looked at while it was written says so only later."""
    return now if was in ("", UNREADABLE) else was


def _heads(before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> Iterator[Change]:
    for name, was, now in _differing(before.heads, after.heads):
        if not _is_ours(name, before, after, ours):
            yield Change("head", name, was, now)


def _settings(before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> Iterator[Change]:
    for file in sorted({*before.settings, *after.settings}):
        if _is_ours(file, before, after, ours):
            continue
        keys = before.settings.get(file, _EMPTY), after.settings.get(file, _EMPTY)
        # Nothing is known of the keys of a file that cannot be read.
        broken = UNREADABLE in keys[0] or UNREADABLE in keys[1]
        for key, was, now in _differing(*keys):
            if not broken or key == UNREADABLE:
                yield Change("config", key, was, now, file)


def _files(before: RepositorySnapshot, after: RepositorySnapshot) -> Iterator[Change]:
    for name, was, now in _differing(before.files, after.files):
        if name.startswith(WORKTREES) or name in CONFIGS:
            continue
        kind: Kind = "hook" if is_hook(name) else "info"
        # Where another folder was not looked at before, its hooks are no news: the setting that names it is.
        if kind == "hook" and name.rpartition("/")[0] not in ("hooks", before.hooks):
            continue
        yield Change(kind, name, was, now)


def is_hook(name: str) -> bool:
    """Tell hooks from other files by their names."""
    return name.startswith(("hooks/", "/"))


def _worktrees(before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> Iterator[Change]:
    for name, was, now in _differing(before.places, after.places):
        known = _place_of(was, now) in ours.places
        if known and (was in ("", UNREADABLE) or was in ours.removed):
            continue
        yield Change("worktree", name, was, now)
    for name, was, now in _differing(before.files, after.files):
        if not name.startswith(WORKTREES) or name.endswith("/config.worktree"):
            continue
        if not _is_ours(name, before, after, ours):
            yield Change("worktree", name, was, now)


def _logs(before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> Iterator[Change]:
    if before.logs is None or after.logs is None:
        return
    for name, was, now in _differing(before.logs, after.logs):
        # A log that came or went with its ref is told with that.
        gone = name in before.refs and name not in after.refs
        if was and not gone and not ours.owns(name) and not _is_ours(name, before, after, ours):
            yield Change("reflog", name, was, now)


def _checkout(before: RepositorySnapshot, after: RepositorySnapshot) -> Iterator[Change]:
    if before.checkout is None or after.checkout is None:
        return
    same_tip = tip(before) == tip(after)
    for path, was, now in _differing(before.checkout, after.checkout):
        # What is clean now may have been committed; what differs in the index alone does so because HEAD moved.
        if same_tip or (now and now[1] != " "):
            yield Change("checkout", path, was, now)


def tip(look: RepositorySnapshot) -> str:
    """Give the commit that is checked out in the user's main checkout."""
    head = look.heads.get("HEAD", "")
    return look.refs.get(head.removeprefix("ref: "), head)


def value_of(look: RepositorySnapshot, thing: Change) -> str | None:
    """Give what a look shows of a thing; None where it did not look."""
    if thing.kind == "checkout" or (thing.kind == "reflog" and look.logs is None):
        return None
    if thing.kind == "config":
        return look.settings.get(thing.file, _EMPTY).get(thing.name, "")
    if thing.kind == "worktree" and not worktree_of(thing.name):
        return look.places.get(thing.name, "")
    shown = {"ref": look.refs, "head": look.heads, "reflog": look.logs or _EMPTY}.get(thing.kind, look.files)
    return shown.get(thing.name, "")


def same(one: RepositorySnapshot, other: RepositorySnapshot) -> bool:
    """Tell whether two looks show the same, whatever the time."""
    return one == replace(other, time=one.time)


def write_look(look: RepositorySnapshot) -> dict[str, Any]:
    """Give a look as plain JSON."""
    names = ("time", "refs", "heads", "settings", "files", "logs", "places", "hooks", "checkout")
    return {"v": FORMAT, **{name: getattr(look, name) for name in names}}


def read_look(record: Any) -> RepositorySnapshot | None:
    """Read what ``write_look`` wrote; None for anything else."""
    try:
        if record["v"] != FORMAT:
            return None
        return RepositorySnapshot(
            time=float(record["time"]),
            refs=_words(record["refs"]),
            heads=_words(record["heads"]),
            settings={str(file): _words(keys) for file, keys in record["settings"].items()},
            files=_words(record["files"]),
            logs=_maybe(record["logs"]),
            places=_words(record["places"]),
            hooks=str(record["hooks"]),
            checkout=_maybe(record["checkout"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _maybe(record: Any) -> dict[str, str] | None:
    return None if record is None else _words(record)


def _words(record: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in record.items()}


def dump(record: Any) -> bytes:
    """Write plain JSON; names that are no UTF-8 come back the same."""
    return json.dumps(record, separators=(",", ":")).encode()
