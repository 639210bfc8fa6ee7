"""What differs between two looks at a repository: one pure function, for the monitor and for drift."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gitprun.ledger.drift_findings import UNREADABLE, WORKTREES, Change, Kind, worktree_of
from gitprun.observe.snapshot import CheckoutStatus, RepositorySnapshot

CONFIGS = ("config", "config.worktree")
_USER = re.compile(r"//[^/@\s]*@")
_EMPTY: Mapping[str, str] = {}


def redact(key: str) -> str:
    """Return the name of a setting without the user and the password of an address in it."""
    return _USER.sub("//***@", key)


def compare(before: RepositorySnapshot, after: RepositorySnapshot) -> tuple[Change, ...]:
    """Return all that differs between two looks, by whosever hand (see ``own_changes`` and ``attribution``).

    A file of settings is told twice: as the file (kind ``info``) and key by key (kind ``config``). What one of the
    looks did not look at is no difference.
    """
    return (
        *(Change("ref", *row) for row in _differing(before.refs, after.refs)),
        *(Change("head", *row) for row in _differing(before.heads, after.heads)),
        *_settings(before, after),
        *_files(before, after),
        *_worktrees(before, after),
        *_logs(before, after),
        *_checkout(before.checkout, after.checkout),
    )


def _differing(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    # Of a hundred thousand refs that are the same, none is looked at one by one.
    for name in sorted({name for name, _ in old.items() ^ new.items()}):
        was, now = old.get(name, ""), new.get(name, "")
        # A registration that says nothing is none.
        if was != now:
            yield name, was, now


def _settings(before: RepositorySnapshot, after: RepositorySnapshot) -> Iterator[Change]:
    if before.narrow or after.narrow:
        return
    for file in sorted({*before.settings, *after.settings}):
        keys = before.settings.get(file, _EMPTY), after.settings.get(file, _EMPTY)
        # Nothing is known of the keys of a file that cannot be read.
        broken = UNREADABLE in keys[0] or UNREADABLE in keys[1]
        for key, was, now in _differing(*keys):
            if not broken or key == UNREADABLE:
                yield Change("config", key, was, now, file)


def _files(before: RepositorySnapshot, after: RepositorySnapshot) -> Iterator[Change]:
    if before.narrow or after.narrow:
        return
    for name, was, now in _differing(before.files, after.files):
        kind: Kind = "worktree" if name.startswith(WORKTREES) else "hook" if is_hook(name) else "info"
        # Where another folder was not looked at before, its hooks are no news: the setting that names it is.
        if kind == "hook" and name.rpartition("/")[0] not in ("hooks", before.hooks):
            continue
        yield Change(kind, name, was, now)


def is_hook(name: str) -> bool:
    """Check whether a file is a hook, by its name."""
    return name.startswith(("hooks/", "/"))


def _worktrees(before: RepositorySnapshot, after: RepositorySnapshot) -> Iterator[Change]:
    if not (before.narrow or after.narrow):
        yield from (Change("worktree", *row) for row in _differing(before.places, after.places))


def _logs(before: RepositorySnapshot, after: RepositorySnapshot) -> Iterator[Change]:
    if before.logs is None or after.logs is None:
        return
    for name, was, now in _differing(before.logs, after.logs):
        # A log that came or went with its ref is told with that.
        gone = name in before.refs and name not in after.refs
        if was and not gone:
            yield Change("reflog", name, was, now)


def _checkout(before: CheckoutStatus | None, after: CheckoutStatus | None) -> Iterator[Change]:
    if before is None or after is None or before.dirty is None or after.dirty is None:
        return
    # Another checkout of the same repository (a record of 0.1 does not say of which one it tells).
    if before.path != after.path and before.path and after.path:
        return
    old, new = before.dirty, after.dirty
    for path in sorted({path for path, _ in old.items() ^ new.items()}):
        was, now = (str(seen[path]) if path in seen else "" for seen in (old, new))
        if was != now:
            yield Change("checkout", path, was, now)


def stamp_in(status: str) -> str:
    """Return what a checkout's change says of the file, without git's letters for it: ``SIZE TIME`` or ``gone``."""
    return status[3:]


def value_of(look: RepositorySnapshot, thing: Change) -> str | None:
    """Return what a look shows of a thing; None where it did not look."""
    if thing.kind == "checkout" or (thing.kind == "reflog" and look.logs is None):
        return None
    if thing.kind == "config":
        return look.settings.get(thing.file, _EMPTY).get(thing.name, "")
    if thing.kind == "worktree" and not worktree_of(thing.name):
        return look.places.get(thing.name, "")
    shown = {"ref": look.refs, "head": look.heads, "reflog": look.logs or _EMPTY}.get(thing.kind, look.files)
    return shown.get(thing.name, "")
