"""What one look at a repository and its units shows, as frozen values; and how a run's start is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Size in bytes and time of change in nanoseconds; GONE is a path that is not there.
Stamp = tuple[int, int]
GONE: Stamp = (-1, 0)
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReading:
    """One unit as it was seen.

    ``commits`` counts what its branch has past the base, ``committed`` says that its last work ended in one,
    ``dirty`` is what differs from there in its workspace
    (None: could not be told), ``outside`` what of its work lies outside its fence, ``quiet`` the seconds without
    output or change of a file, ``limited`` what the service said when it turned the worker away, ``drift`` what
    changed in the user's repository while it ran and waits for an answer.
    """

    run: str
    id: str
    state: str
    live: bool = False
    worker: bool = False
    commits: int | None = 0
    committed: bool = False
    dirty: Mapping[str, Stamp] | None = field(default_factory=dict)
    outside: tuple[str, ...] = ()
    began: float | None = None
    ended: float | None = None
    quiet: float = 0.0
    limited: str = ""
    drift: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Give what tells it from all others."""
        return self.run, self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutStatus:
    """The user's own checkout: what is uncommitted there, and how many files it has (None: could not be told)."""

    path: str
    dirty: Mapping[str, Stamp] | None = field(default_factory=dict)
    files: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all units share with the user: refs (HEAD among them), settings and hooks by digest, his checkout."""

    time: float = 0.0
    refs: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    checkout: CheckoutStatus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One look.

    ``start`` is what was shared when the run began, ``moves`` the moves of refs the ledger explains, ``branches`` the
    refs units commit to, ``writers`` who wrote a path of the user's checkout (with a ``?``: told by the time alone).
    """

    time: float
    base: str = ""
    units: tuple[UnitReading, ...] = ()
    codex: int = 0
    wrap: int = 0
    main_commits: int | None = 0
    all_commits: int | None = 0
    shared: Shared | None = None
    start: Shared | None = None
    moves: frozenset[tuple[str, str]] = frozenset()
    branches: frozenset[str] = frozenset()
    writers: Mapping[str, str] = field(default_factory=dict)
    runaway: int = 0

    def unit(self, key: tuple[str, str]) -> UnitReading | None:
        """Find a unit."""
        return next((unit for unit in self.units if unit.key == key), None)

    @property
    def working(self) -> bool:
        """Tell whether any unit is not at its end."""
        return any(unit.live for unit in self.units)


def write_shared(shared: Shared) -> dict[str, Any]:
    """Give a value as plain JSON."""
    checkout = shared.checkout
    return {
        "v": FORMAT,
        "time": shared.time,
        "refs": dict(shared.refs),
        "settings": dict(shared.settings),
        "hooks": dict(shared.hooks),
        "checkout": None
        if checkout is None
        else {
            "path": checkout.path,
            "dirty": None if checkout.dirty is None else {name: list(stamp) for name, stamp in checkout.dirty.items()},
            "files": checkout.files,
        },
    }


def read_shared(record: Any) -> Shared | None:
    """Read what ``write_shared`` wrote; None for anything else."""
    try:
        if record["v"] != FORMAT:
            return None
        found = record["checkout"]
        return Shared(
            time=float(record["time"]),
            refs=_words(record["refs"]),
            settings=_words(record["settings"]),
            hooks=_words(record["hooks"]),
            checkout=None
            if found is None
            else CheckoutStatus(
                path=str(found["path"]),
                dirty=None if found["dirty"] is None else {k: (int(a), int(b)) for k, (a, b) in found["dirty"].items()},
                files=None if found["files"] is None else int(found["files"]),
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _words(record: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in record.items()}
