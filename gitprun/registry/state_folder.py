"""The state folder of one unit dispatched without a run: the first seed's names for it and for what lies in it.

``<tmp>/prun-task-<hash of the caller's folder>-<unit>-<pid>-<nonce>`` holds ``pre-mtime``, ``timestamp``,
``result-file``, ``tail``, ``work/``, ``dispatch-pid`` as in the seed, and as JSON ``dispatch.json`` (what was asked,
and who dispatched), ``warden.json`` (who watches the worker), ``exit.json`` (the supervisor's own record) and
``ending.json`` (what came of it; there once all is over).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from gitprun.model.errors import UsageProblem
from gitprun.supervisor.process import ProcessIdentity, find_supervisor, is_gone
from gitprun.system.files import read_plain, write_whole

# Records of a few hundred bytes, in a folder anybody with this user id can write.
MAX_RECORD = 1_000_000

_NAME = re.compile(r"prun-task-[0-9a-z]{1,8}-(?P<unit>[A-Za-z0-9_-]+)-[0-9]+-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDir:
    """A state folder as it is now; ``asked`` is empty for one the seed's own script made."""

    path: Path
    unit: str
    result: str
    asked: Mapping[str, object]
    dispatcher: ProcessIdentity | None = None
    supervisor: ProcessIdentity | None = None
    ended_ns: int | None = None

    @property
    def alive(self) -> bool:
        """Check whether its dispatcher or its worker's supervisor still lives."""
        return any(who is not None and not is_gone(who) for who in (self.dispatcher, self.supervisor))

    @property
    def orphan(self) -> bool:
        """Check whether everybody who worked on it is gone and nobody saw to its result."""
        return self.dispatcher is not None and self.ended_ns is None and not self.alive


def state_base(environment: Mapping[str, str]) -> Path:
    """Return the folder in which state folders are made and looked for."""
    return Path(environment.get("TMPDIR") or "/tmp").absolute()


def place_of(path: str) -> str:
    """Return one path for a result file, whatever links lead to its folder."""
    folder, name = os.path.split(path)
    # The file itself may not be there yet, and is replaced by a rename when it comes.
    return os.path.join(os.path.realpath(folder), name)


def make_state_dir(base: Path, caller: str, unit: str) -> Path:
    """Make a new state folder that only its owner can enter; raises UsageProblem where that cannot be.

    The seed hashes what ``pwd`` prints, the line end with it.
    """
    # Not a name: the caller's folder may hold anything, and others can list the folder above.
    place = hashlib.sha256(os.fsencode(caller) + b"\n").hexdigest()[:8]
    path = base / f"prun-task-{place}-{unit}-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        base.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700)
    except OSError as problem:
        raise UsageProblem(f"the state folder {path} cannot be made: {problem.strerror}", "is TMPDIR right?") from None
    return path


def write_line(folder: Path, name: str, value: str) -> None:
    """Write one of the seed's files of one line."""
    write_whole(folder / name, os.fsencode(value) + b"\n")


def write_record(folder: Path, name: str, record: Mapping[str, object]) -> None:
    """Write one of our own records."""
    write_whole(folder / name, json.dumps(record).encode() + b"\n")


def write_identity(folder: Path, name: str, who: ProcessIdentity | None) -> None:
    """Write down who a process is, if that can be told."""
    write_record(folder, name, asdict(who) if who else {})


def list_state_dirs(base: Path) -> Iterator[Path]:
    """List the state folders of this user; those of others in a shared folder tell us nothing."""
    try:
        with os.scandir(base) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) is None:
                    continue
                found = entry.stat(follow_symlinks=False)
                # In /tmp anybody can make a folder of such a name, or a link.
                if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                    yield Path(entry.path)
    except OSError:
        return


def read_state_dir(path: Path) -> StateDir:
    """Read a state folder; what is missing or torn counts as not known."""
    name = _NAME.fullmatch(path.name)
    asked = _read_json(path / "dispatch.json")
    try:
        # Written last of all: with it there is nothing left to wait for.
        ended = (path / "ending.json").stat().st_mtime_ns
    except OSError:
        ended = None
    dispatcher, supervisor = _identity(asked.get("dispatcher")), _identity(_read_json(path / "warden.json"))
    # One that was killed just then started a worker and could not write down whom.
    if supervisor is None and ended is None and dispatcher is not None and is_gone(dispatcher):
        supervisor = find_supervisor(path)
    return StateDir(
        path=path,
        unit=str(asked.get("unit") or (name["unit"] if name else "")),
        result=read_line(path, "result-file"),
        asked=asked,
        dispatcher=dispatcher,
        supervisor=supervisor,
        ended_ns=ended,
    )


def read_line(folder: Path, name: str) -> str:
    """Read one of the seed's files of one line; empty if there is none."""
    return os.fsdecode((read_plain(folder / name, MAX_RECORD) or b"").removesuffix(b"\n"))


def _read_json(path: Path) -> dict[str, object]:
    try:
        found = json.loads(read_plain(path, MAX_RECORD) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _identity(record: object) -> ProcessIdentity | None:
    try:
        return ProcessIdentity(**record) if isinstance(record, dict) and record else None
    except TypeError:
        return None
