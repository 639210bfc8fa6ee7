"""An open resolution as a value, and its record on disk: outside of its workspace, where no worker comes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from gitprun.git.repo import Repository
from gitprun.judging.conflicts import Versions
from gitprun.landing.plan import Candidate
from gitprun.landing.unresolved import CONFLICT
from gitprun.ledger.landing_events import ResolutionFacts
from gitprun.model.errors import OperationRefused
from gitprun.model.names import PRUN_REFS, Oid
from gitprun.system.files import read_plain, write_whole

FORMAT: Final = 1
# A record names paths; so much is more than a million of them.
MOST: Final = 64 << 20
FOLDER: Final = "resolve"
RECORD: Final = "resolution.json"
_ODD = re.compile(r"[^A-Za-z0-9_./-]+|/[.-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPath:
    """One path that waits for a decision: its versions (base, main, unit), and whether a text settles it.

    Of a finding ``path`` is as it is printed, and may name a folder; ``detail`` says what is wrong.
    """

    path: str
    kind: str
    versions: Versions
    textual: bool
    detail: str = ""

    @property
    def name(self) -> bytes:
        """Give the path as bytes."""
        return os.fsencode(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """An open resolution: ``opened`` is a commit with the tree its workspace began with.

    ``why`` says what was opened: a conflict, or the state that keeps a branch without one from landing. ``crossed``
    tells that the histories have several merge bases, so that versions alone do not name the conflict. ``worker`` is
    the state folder of the worker that is let do it, while it does; ``reason`` is why the branch did not land.
    """

    name: str
    branch: str
    run: str
    unit: str
    target: str
    main: Oid
    tip: Oid
    opened: Oid
    workspace: str
    identity: tuple[int, int]
    provided: tuple[str, ...]
    paths: tuple[OpenPath, ...]
    crossed: bool = False
    why: str = CONFLICT
    worker: str = ""
    reason: str = ""

    @property
    def ref(self) -> str:
        """Name the ref that pins what its workspace began with."""
        return f"{PRUN_REFS}{FOLDER}/{self.name}"

    @property
    def label(self) -> str:
        """Return what the user calls the branch: RUN/UNIT, or its name."""
        return f"{self.run}/{self.unit}" if self.unit else self.branch

    @property
    def about(self) -> ResolutionFacts:
        """Return what it is about; the unit is named in that, for it is no step of the unit's own."""
        known = ResolutionFacts(branch=self.branch, target=self.target, main=self.main, tip=self.tip)
        return known.into(ResolutionFacts, of=self.label) if self.unit else known


def folder_of(repository: Repository, name: str) -> Path:
    """Name the folder that keeps what belongs to a resolution, outside of its workspace."""
    return repository.state / FOLDER / name


def name_for(candidate: Candidate) -> str:
    """Name the resolution of a branch: in letters that any file may have, the same ones for the same branch."""
    if not _ODD.search(candidate.branch) and not candidate.branch.startswith((".", "-")):
        return candidate.branch.replace("/", "+")
    plain = _ODD.sub("-", candidate.branch).replace("/", "-").strip("-.")[:80] or "branch"
    return f"{plain}-{hashlib.sha256(candidate.branch.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"


def write_resolution(repository: Repository, resolution: Resolution) -> None:
    """Write a resolution down."""
    record = {"v": FORMAT, **asdict(resolution)}
    write_whole(folder_of(repository, resolution.name) / RECORD, json.dumps(record).encode() + b"\n")


def read_resolutions(repository: Repository) -> tuple[Resolution, ...]:
    """Read all open resolutions, by name; a record that cannot be read is passed over."""
    found = sorted((repository.state / FOLDER).glob(f"*/{RECORD}"))
    return tuple(one for one in map(_read, found) if one is not None)


def _read(place: Path) -> Resolution | None:
    try:
        record = json.loads(read_plain(place, MOST) or b"")
        if record.pop("v") != FORMAT:
            return None
        # Version 0.1.0 listed here what it had recorded.
        record.pop("kept", None)
        paths = tuple(OpenPath(**{**row, "versions": tuple(row["versions"])}) for row in record.pop("paths"))
        lists: Mapping[str, Iterable[Any]] = {key: record.pop(key) for key in ("identity", "provided")}
        device, inode = lists["identity"]
        return Resolution(**record, paths=paths, identity=(int(device), int(inode)), provided=tuple(lists["provided"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def require_open(resolutions: Sequence[Resolution], branch: str | None) -> Resolution:
    """Find the open resolution of a branch or unit, or the only one; raises Refused."""
    fitting = [one for one in resolutions if branch is None or branch in (one.branch, one.name, one.unit, one.label)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        what = "nothing" if branch is None else f"no conflict of {branch}"
        raise OperationRefused(f"{what} is open here", f"git prun resolve {branch or 'BRANCH'} opens one")
    names = ", ".join(one.branch for one in fitting)
    raise OperationRefused(f"more than one is open: {names}", f"say which one, such as {fitting[0].label}")
