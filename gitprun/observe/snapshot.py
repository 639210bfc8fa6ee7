"""What one look at the user's repository shows: a frozen value, and its one format on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from gitprun.ledger.drift_findings import worktree_of
from gitprun.system.files import read_plain, write_whole

# 2: one format for the monitor and for drift. 1 stood for two, which are still read (see ``read_snapshot``).
FORMAT = 2
# What was there when the first worker of a run started, and when all of them had ended.
BASELINE, FINAL = "baseline.json", "final.json"
# A million refs are 100 MB of JSON; what is longer is no record of ours.
MOST_READ = 1 << 30
# Size in bytes and time of change in nanoseconds of what lies at a path.
Stamp = tuple[int, int]
# No file has a size below nothing.
GONE: Stamp = (-1, 0)


class PathStatus(NamedTuple):
    """One uncommitted path: git's two letters for it, and size and time of change of what lies there."""

    code: str
    size: int
    mtime: int
    submodule: bool = False

    @property
    def stamp(self) -> Stamp:
        """Return size and time of change."""
        return self.size, self.mtime

    def __str__(self) -> str:
        """Return it as changes show it: what git says, then what lies there."""
        return f"{self.code} gone" if self.stamp == GONE else f"{self.code} {self.size} {self.mtime}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutStatus:
    """The user's own checkout: what is uncommitted there, and how many files it has.

    None: git did not answer in time, or nobody counted.
    """

    path: str = ""
    dirty: Mapping[str, PathStatus] | None = field(default_factory=dict)
    files: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySnapshot:
    """One look at what is the user's.

    ``refs`` and ``heads`` hold a commit or ``ref: NAME``; ``settings`` for each file a digest for each key, never a
    value; ``files`` mode and digest by name (relative to the shared folder, hooks elsewhere by their whole path);
    ``logs`` digests of reflogs (None: not looked at); ``places`` where each linked worktree lies; ``hooks`` the folder
    git looks for hooks in; ``checkout`` the user's checkout (None: there is none, or it was not looked at), ``here``
    the HEAD of that one (of a linked worktree, where prun was called there).
    ``narrow``: a record of version 0.1, which says nothing of settings, files and places that can be compared.
    """

    time: float = 0.0
    refs: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    logs: Mapping[str, str] | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    hooks: str = "hooks"
    checkout: CheckoutStatus | None = None
    here: str = "HEAD"
    narrow: bool = False

    @property
    def head(self) -> str:
        """Return the commit that is checked out in the user's checkout; empty for a branch without one."""
        return self.resolve(self.heads.get(self.here, ""))

    def resolve(self, value: str) -> str:
        """Return the commit a ref or a HEAD leads to; empty where it leads nowhere."""
        # A symbolic ref may name another one, and git itself follows five.
        for _ in range(5):
            if not value.startswith("ref: "):
                return value
            value = self.refs.get(value.removeprefix("ref: "), "")
        return ""

    def stripped(self, *, logs: bool, checkout: bool) -> RepositorySnapshot:
        """Return it as a look shows it that reads no more than this: submodules and the count of files are left out."""
        seen = self.checkout if checkout else None
        if seen is not None and seen.dirty is not None:
            dirty = {path: status for path, status in seen.dirty.items() if not status.submodule}
            seen = CheckoutStatus(path=seen.path, dirty=dirty)
        return replace(self, logs=self.logs if logs else None, checkout=seen)


def same(one: RepositorySnapshot, other: RepositorySnapshot) -> bool:
    """Check whether two looks show the same, whatever the time."""
    return one == replace(other, time=one.time)


def write_snapshot(snapshot: RepositorySnapshot) -> dict[str, object]:
    """Return a snapshot as plain JSON."""
    names = ("time", "refs", "heads", "settings", "files", "logs", "places", "hooks", "here", "narrow")
    seen = snapshot.checkout
    checkout = None if seen is None else {"path": seen.path, "dirty": seen.dirty, "files": seen.files}
    return {"v": FORMAT, **{name: getattr(snapshot, name) for name in names}, "checkout": checkout}


def read_snapshot(record: Any) -> RepositorySnapshot | None:
    """Read what ``write_snapshot`` wrote, and the two formats there were before; None for anything else."""
    try:
        if record["v"] == 1 and "heads" not in record:
            return _read_shared(record)
        if record["v"] not in (1, FORMAT):
            return None
        # Drift's looks of version 1 differ in nothing but what they say of the checkout.
        read_checkout = _read_old_checkout if record["v"] == 1 else _read_checkout
        return RepositorySnapshot(
            time=float(record["time"]),
            refs=_texts(record["refs"]),
            heads=_texts(record["heads"]),
            settings={str(file): _texts(keys) for file, keys in record["settings"].items()},
            files=_texts(record["files"]),
            logs=None if record["logs"] is None else _texts(record["logs"]),
            places=_texts(record["places"]),
            hooks=str(record["hooks"]),
            checkout=read_checkout(record["checkout"]),
            here=str(record.get("here", "HEAD")),
            narrow=bool(record.get("narrow")),
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def _read_checkout(record: Any) -> CheckoutStatus | None:
    if record is None:
        return None
    dirty = record["dirty"]
    return CheckoutStatus(
        path=str(record["path"]),
        dirty=None
        if dirty is None
        else {
            str(path): PathStatus(str(code), int(size), int(mtime), bool(submodule))
            for path, (code, size, mtime, submodule) in dirty.items()
        },
        files=None if record["files"] is None else int(record["files"]),
    )


def _read_old_checkout(record: Mapping[str, str] | None) -> CheckoutStatus | None:
    """Read what a drift's look of version 1 says of the checkout: ``XY SIZE TIME`` or ``XY gone`` for each path."""
    if record is None:
        return None
    dirty = {}
    for path, said in record.items():
        words = said[3:].split()
        stamp = GONE if words == ["gone"] else (int(words[0]), int(words[1]))
        dirty[str(path)] = PathStatus(said[:2], *stamp)
    return CheckoutStatus(dirty=dirty)


def _read_shared(record: Any) -> RepositorySnapshot:
    """Read a run's start or end as version 0.1 wrote it: refs and HEADs in one, digests that fit no others."""
    # Git's letters were not kept; only the monitor reads such a record, and compares no letters.
    refs, found = _texts(record["refs"]), record["checkout"]
    dirty = found and found["dirty"]
    return RepositorySnapshot(
        time=float(record["time"]),
        refs={name: value for name, value in refs.items() if name.startswith("refs/")},
        heads={name: value for name, value in refs.items() if not name.startswith("refs/")},
        checkout=None
        if found is None
        else CheckoutStatus(
            path=str(found["path"]),
            dirty=None if dirty is None else {str(k): PathStatus("??", int(a), int(b)) for k, (a, b) in dirty.items()},
            files=None if found["files"] is None else int(found["files"]),
        ),
        narrow=True,
    )


def _texts(record: Mapping[object, object]) -> dict[str, str]:
    return {str(key): str(value) for key, value in record.items()}


def dump(record: object) -> bytes:
    """Write plain JSON; names that are no UTF-8 come back the same."""
    return json.dumps(record, separators=(",", ":")).encode()


def record_snapshot(state: Path, run: str, name: str, snapshot: RepositorySnapshot) -> bool:
    """Keep the BASELINE (the first record stays) or the FINAL snapshot of a run; check whether it was written."""
    path = state / "runs" / run / name
    # A run that is gone on with began when it began; and a run without a folder was removed meanwhile.
    if (name == BASELINE and path.exists()) or not path.parent.is_dir():
        return False
    write_whole(path, dump(write_snapshot(snapshot)))
    return True


def recorded_snapshot(state: Path, run: str, name: str) -> RepositorySnapshot | None:
    """Read such a record; None if there is none."""
    return read_snapshot(read_json(state / "runs" / run / name))


def read_json(path: Path) -> Any:
    """Read a file of JSON; None for a file that is none, or none of ours."""
    try:
        return json.loads(read_plain(path, MOST_READ) or b"null")
    except ValueError:
        return None


def entry_at(snapshot: RepositorySnapshot, name: str) -> str:
    """Return where the linked worktree lies that a name under ``worktrees/`` belongs to; empty for none."""
    return snapshot.places.get(worktree_of(name), "")
