"""Read TOML tables strictly: every key is known, every value has its type, every complaint names its place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gitprun.model.errors import PlanError
from gitprun.model.names import nearest

# Bounded: a text of a million digits would else be turned into a number.
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)"
_DURATION = re.compile(rf"(?:{_NUMBER} *h)? *(?:{_NUMBER} *m)? *(?:{_NUMBER} *s)?")
_PLAIN = re.compile(_NUMBER)
_SIZE = re.compile(rf"{_NUMBER} *([kKmMgG]?)(i?)[bB]?")


class Table:
    """One table of a TOML file, taken apart key by key; ``close`` complains about what nobody asked for."""

    def __init__(self, rows: object, source: str, where: str = "") -> None:
        self.source, self.where = source, where
        if not isinstance(rows, Mapping):
            raise PlanError(f"{source}: {where or 'the file'} must be a table")
        self.rows: Mapping[str, object] = rows
        self.asked: list[str] = []

    def problem(self, key: str, what: str, hint: str = "") -> PlanError:
        """Make the error for one key."""
        gap = "" if what.startswith(":") else " "
        return PlanError(f"{self.source}: {self.place(key)}{gap}{what}", hint)

    def place(self, key: str) -> str:
        """Name a key as people find it in the file."""
        return f"{self.where} {key}" if self.where else key

    def take(self, key: str) -> Any:
        """Take a raw value; None if the key is absent."""
        # Noted where it is absent, too: so ``close`` can tell which keys there are.
        self.asked.append(key)
        return self.rows.get(key)

    def text(self, key: str) -> str | None:
        """Take a non-empty text."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.problem(key, "must be a text that is not empty")
        if "\0" in value:
            raise self.problem(key, "must not hold a NUL character")
        # Values of the command line come here too, and their bytes need not be UTF-8.
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise self.problem(key, "is not UTF-8")
        return value

    def texts(self, key: str, *, blank: bool = False) -> tuple[str, ...] | None:
        """Take a list of texts; ``blank`` says whether one of them may be empty."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise self.problem(key, 'must be a list of texts, such as ["a", "b"]')
        if not blank and not all(item.strip() for item in value):
            raise self.problem(key, "must not hold an empty text")
        if any("\0" in item for item in value):
            raise self.problem(key, "must not hold a NUL character")
        return tuple(value)

    def flag(self, key: str) -> bool | None:
        """Take true or false."""
        value = self.take(key)
        if value is not None and not isinstance(value, bool):
            raise self.problem(key, "must be true or false")
        return value

    def count(self, key: str, least: int = 1) -> int | None:
        """Take a whole number of at least ``least``."""
        value = self.take(key)
        if value is None:
            return None
        # To Python True is the number 1, which nobody means by it.
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.problem(key, f"must be a whole number of at least {least}")
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        """Take one of several words."""
        value = self.text(key)
        if value is not None and value not in choices:
            meant = nearest(value, choices)
            raise self.problem(
                key, f"cannot be {value!r}", f"one of: {', '.join(choices)}" + (f" (meant {meant}?)" if meant else "")
            )
        return value

    def duration(self, key: str) -> float | None:
        """Take a time: a number of seconds, or a text such as "40m", "1h30m", "90s"."""
        value = self.take(key)
        if value is None:
            return None
        seconds = parse_duration(value)
        if seconds is None:
            raise self.problem(
                key, f": invalid duration {value!r}", 'write seconds as a number, or "90s", "40m", "1h30m"'
            )
        return seconds

    def size(self, key: str) -> int | None:
        """Take a size in bytes: a number, or a text such as "50MB"."""
        value = self.take(key)
        if value is None:
            return None
        size = parse_size(value)
        if size is None:
            raise self.problem(key, f": invalid size {value!r}", 'write bytes as a number, or "500kB", "50MB", "2GB"')
        return size

    def table(self, key: str) -> Table | None:
        """Take a table inside this one."""
        value = self.take(key)
        return None if value is None else Table(value, self.source, f"[{self.inner(key)}]")

    def tables(self, key: str) -> tuple[Table, ...]:
        """Take a list of tables, ``[[key]]``."""
        value = self.take(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.problem(key, f"must be written as [[{key}]]")
        return tuple(Table(row, self.source, f"[[{key}]] {n}:") for n, row in enumerate(value, 1))

    def inner(self, key: str) -> str:
        """Name a table inside this one."""
        outer = self.where.strip("[]")
        return f"{outer}.{key}" if outer else key

    def close(self) -> None:
        """Complain about a key nobody asked for, naming the nearest one that exists."""
        for key in self.rows:
            if key not in self.asked:
                meant = nearest(key, self.asked)
                known = ", ".join(dict.fromkeys(self.asked))
                raise PlanError(
                    f"{self.source}: {self.where + ' ' if self.where else ''}unknown key {key!r}",
                    f"did you mean {meant!r}?" if meant else f"known keys here: {known}",
                )


def parse_duration(value: object) -> float | None:
    """Read a duration in seconds; None if it is none or not above zero. "1h30" is none: 30 of what?"""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # Thirty years: beyond it a limit is a slip, and an overflow where times are added up.
        return float(value) if 0 < value < 1e9 else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _PLAIN.fullmatch(text):
        total = float(text)
    else:
        found = _DURATION.fullmatch(text)
        if not found or not any(found.groups()):
            return None
        hours, minutes, seconds = (float(part or 0) for part in found.groups())
        total = hours * 3600 + minutes * 60 + seconds
    return total if 0 < total < 1e9 else None


def parse_size(value: object) -> int | None:
    """Read a size in bytes (k, M, G are powers of 1000; Ki, Mi, Gi of 1024); None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value > 0 else None
    if not isinstance(value, str):
        return None
    found = _SIZE.fullmatch(value.strip())
    if not found or (found[3] and not found[2]):
        return None
    power = "kmg".index(found[2].lower()) + 1 if found[2] else 0
    # Less than one byte is no size.
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power) or None
