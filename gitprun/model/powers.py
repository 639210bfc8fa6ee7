"""The keys of ``prun.toml`` that start programs outside of a sandbox, say where one is, or let things land; pure.

A text of the repository may say them, so a branch that changes one is held, and most are asked for before they count.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# Stands for each table of one name: of executors, of hotspots.
_EACH: Final = "*"


@dataclass(frozen=True, slots=True)
class _KeyRow:
    """One key of a table; ``asked``: it counts once the user let it. Values in ``safe`` give nothing away."""

    table: str
    key: str
    asked: bool = True
    safe: tuple[object, ...] = ()


# Whoever gives prun.toml a key that names a program, a wall or a barrier gives it a row here.
_TABLE: Final = (
    _KeyRow("executor.*", "program"),
    _KeyRow("executor.*", "args"),
    _KeyRow("executor.*", "env"),
    # Without it the worker starts the hooks and servers that settings of the repository name.
    _KeyRow("executor.*", "isolate", safe=(True,)),
    _KeyRow("run", "verify_sandbox", safe=("worker", "workspace-write")),
    _KeyRow("run", "verify_view", safe=("checkout",)),
    _KeyRow("workspace", "setup"),
    # Programs of the user's own configuration, over files of workers.
    _KeyRow("collect", "filters"),
    _KeyRow("hotspot", "after"),
    # The repository's own test command, within the walls of its worker; what it may pass by, and what holds a branch.
    _KeyRow("run", "verify", asked=False),
    _KeyRow("run", "verify_in", asked=False),
    _KeyRow("run", "verify_may_change", asked=False),
    # It starts programs of the user's PATH, as a check within walls, and can but hold: who turns it off is held.
    _KeyRow("run", "verify_difference", asked=False),
    _KeyRow("merge", "protected", asked=False),
    _KeyRow("merge", "max_deleted", asked=False),
    # What would be held lands, changed by us, where the checks ask for it.
    _KeyRow("merge", "mend", asked=False, safe=("never",)),
)


@dataclass(frozen=True, slots=True)
class Power:
    """A key with such a meaning, as it is written in the file (``[executor.codex] program``), and what it says.

    ``value`` is one JSON text for one value, empty where the key is gone. ``asked`` tells that it counts only once
    the user let it.
    """

    key: str
    value: str
    asked: bool

    @property
    def name(self) -> str:
        """Return the key alone, without its table."""
        return self.key.rpartition("] ")[2]

    @property
    def executor(self) -> str:
        """Return the executor whose table it is of; empty where it is of none."""
        table = self.key.rpartition("] ")[0].lstrip("[")
        return table.removeprefix("executor.") if table.startswith("executor.") else ""


def read_powers(document: Mapping[str, object]) -> tuple[Power, ...]:
    """Return what a parsed ``prun.toml`` says of such keys; odd types are no fault here, they are said as they are."""
    return tuple(power for row in _TABLE for power in _read(row, document))


def changed_powers(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[Power, ...]:
    """Return such keys that two parsed files say differently, as ``new`` has them."""
    before = {power.key: power for power in read_powers(old)}
    after = {power.key: power for power in read_powers(new)}
    # A key that is gone changes what counts as much as one that is new.
    gone = (Power(key, "", power.asked) for key, power in before.items() if key not in after)
    return (*(power for key, power in after.items() if power != before.get(key)), *gone)


def started_by(powers: Iterable[Power], executors: Collection[str]) -> tuple[Power, ...]:
    """Return what counts where workers of these executors are started, and their work is taken in and checked."""
    return tuple(
        power for power in powers if (power.executor in executors if power.executor else power.name != "after")
    )


def landed_by(powers: Iterable[Power]) -> tuple[Power, ...]:
    """Return what counts where something is checked and landed: all but what is said of workers."""
    return tuple(power for power in powers if not power.executor and power.name != "filters")


def _read(row: _KeyRow, document: Mapping[str, object]) -> Iterator[Power]:
    outer, _, inner = row.table.partition(".")
    found = document.get(outer)
    if outer == "hotspot":
        # Which path starts a command matters less than the command: they are one list, as the landing runs them.
        said = _joined(found, row.key)
        if said:
            yield _power(row, f"[[{outer}]] {row.key}", said)
        return
    if not isinstance(found, Mapping):
        return
    for name, table in found.items() if inner == _EACH else ((outer, found),):
        if isinstance(table, Mapping) and row.key in table:
            yield _power(row, f"[{outer}.{name}] {row.key}" if inner else f"[{outer}] {row.key}", table[row.key])


def _joined(rows: object, key: str) -> list[object]:
    """Join one key of all tables of a list, each value once."""
    tables = rows if isinstance(rows, Sequence) and not isinstance(rows, str | bytes) else [rows]
    said: list[object] = []
    for table in tables:
        values = table.get(key, []) if isinstance(table, Mapping) else []
        said += [one for one in (values if isinstance(values, list) else [values]) if one not in said]
    return said


def _power(row: _KeyRow, key: str, value: object) -> Power:
    # An empty list starts nothing. Only a flag equals a flag: 1 is not True.
    harmless = value in ([], {}) or any(value is one or (isinstance(one, str) and value == one) for one in row.safe)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return Power(key, text, row.asked and not harmless)
