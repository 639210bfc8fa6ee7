"""Caution with the repository workers share with the user: programs in settings start only if the user set them.

Right before a worker in a linked worktree starts, the settings, hooks and attributes of the repository are taken for
the user's; from then until its drift is settled every git that prun starts there is started with a look at them, and
where what names programs is no longer the same, it is started with all of that out of play.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from gitprun.git.command import NEUTRAL, set_caution
from gitprun.git.repo import Repository
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.observe.drift_rules import is_usual
from gitprun.observe.files import names_in, stat_of
from gitprun.observe.snapshotter import MOST_HOOKS, read_keys
from gitprun.system.files import read_plain, write_whole

CONFIGS = ("config", "config.worktree")
ATTRIBUTES = "info/attributes"
TRUSTED = "trusted.json"
# Nobody's hook or attributes are that big; a longer one still has its size in the digest of its stat data.
MOST_READ = 16 << 20
UNREADABLE = "?"
_DRIVERS = {"filter": ("clean", "smudge", "process"), "merge": ("driver",), "diff": ("command", "textconv")}


def fingerprint(common: Path) -> dict[str, str]:
    """Digest what names or is a program in a repository's shared folder: settings key by key, attributes, hooks."""
    found: dict[str, str] = {}
    for name in CONFIGS:
        keys = read_keys(common / name)
        # Git itself refuses such a file, so no program of it starts; but it is not the user's any more.
        if keys is None:
            found[name] = UNREADABLE
            continue
        found |= {f"{name} {key}": _digest(b"\0".join(v)) for key, v in keys.items() if not is_usual(key)}
    for name in (ATTRIBUTES, *(f"hooks/{hook}" for hook in names_in(str(common / "hooks"), MOST_HOOKS))):
        about = stat_of(str(common / name))
        if about is not None:
            found[name] = f"{about[0]:o} {_digest(read_plain(common / name, MOST_READ) or b'')}"
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def trust(repository: Repository, folder: Path, *, anew: bool = False) -> None:
    """Take what is there now for the user's, for as long as ``folder`` (of what is kept) lasts; the first time counts.

    From then on this process is cautious too.
    """
    place = folder / TRUSTED
    # Never again while a worker may have changed it: the first record is the user's, a later one may be the worker's.
    if anew or not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        repository.trusted.mkdir(parents=True, exist_ok=True)
        # The pointer first: a record without one would be compared with by nobody.
        write_whole(repository.trusted / _digest(os.fsencode(folder)), os.fsencode(folder))
        write_whole(place, json.dumps(fingerprint(repository.common)).encode())
    enter_safe_mode(repository)


def enter_safe_mode(repository: Repository) -> None:
    """Start git in this repository with a look at its settings, as long as anything is to be compared with."""
    if repository.trusted.is_dir():
        set_caution(os.fspath(repository.common), SafeMode(repository))


def require_trusted_config(repository: Repository) -> None:
    """Refuse to go on where programs would start that may not be the user's."""
    if changed := SafeMode(repository).changed():
        raise OperationRefused(
            f"{changed} of your repository changed while a worker shared it, and may name a program of its",
            "git prun undo --list names the unit; git prun undo --drift UNIT puts it back, with --accept it stays",
        )


class SafeMode:
    """Compares the repository's settings with those that are known to be the user's; reads only what changed."""

    def __init__(self, repository: Repository) -> None:
        self._common, self._index = repository.common, repository.trusted
        self._seen: object = None
        self._settings: tuple[str, ...] = ()

    def __call__(self) -> tuple[str, ...]:
        """Return the settings that take planted programs out of play; none while all is as it was."""
        # Asked before every git that starts: stat data alone, as long as nothing changed.
        seen = self._stats()
        if seen != self._seen:
            self._settings = _out_of_play(self._common) if self.changed() else ()
            self._seen = seen
        return self._settings

    def changed(self) -> str:
        """Name the first thing that is not as it was (empty: all is)."""
        records = self._records()
        if not records:
            return ""
        now = fingerprint(self._common)
        for then in records:
            for key in sorted({*then, *now}):
                if then.get(key) != now.get(key):
                    return key.partition(" ")[2] or key
        return ""

    def _stats(self) -> object:
        hooks = str(self._common / "hooks")
        places = [str(self._common / name) for name in (*CONFIGS, ATTRIBUTES)] + [hooks, str(self._index)]
        places += [os.path.join(hooks, name) for name in names_in(hooks, MOST_HOOKS)]
        return [stat_of(place) for place in places]

    def _records(self) -> list[Mapping[str, str]]:
        """Read what is known to be the user's; where nothing is kept any more, nothing is known."""
        found: list[Mapping[str, str]] = []
        for name in names_in(str(self._index)):
            folder = Path(os.fsdecode(read_plain(self._index / name, 10_000) or b""))
            try:
                record = json.loads(read_plain(folder / TRUSTED, MOST_READ) or b"null")
            except ValueError:
                record = None
            if isinstance(record, dict):
                found.append(record)
            # What was kept is dropped with its run; the pointer to it goes when nobody needs it.
            elif not folder.is_dir():
                (self._index / name).unlink(missing_ok=True)
        return found


def _out_of_play(common: Path) -> tuple[str, ...]:
    """Name the settings that keep every program the repository's settings name from starting."""
    # Drivers have names of anybody's choosing: those the settings name are emptied one by one.
    settings = list(NEUTRAL)
    for name in CONFIGS:
        for key in read_keys(common / name) or ():
            section, _, rest = key.partition(".")
            driver, dot, _ = rest.rpartition(".")
            for part in _DRIVERS.get(section, ()) if dot else ():
                settings.append(f"{section}.{driver}.{part}=")
            # Without this git refuses to read a file whose filter is gone, and every command with it.
            if section == "filter" and dot:
                settings.append(f"filter.{driver}.required=false")
    return tuple(dict.fromkeys(settings))


def settle_trust(repository: Repository, folder: Path) -> None:
    """Take what the user accepted as the user's own."""
    try:
        if (folder / TRUSTED).exists():
            trust(repository, folder, anew=True)
    except (PrunError, OSError):
        # It stays cautious.
        return
