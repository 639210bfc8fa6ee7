"""Print the lowest versions that ``pyproject.toml`` allows, as constraints for pip: ``python -m tests.support.floors``.

With names of extras, those are printed too: ``python -m tests.support.floors grammars test >floors.txt``, and then
``pip install -c floors.txt '.[grammars,test]'`` installs the oldest set that is said to work.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
# Only floors are read: what one of several conditions excludes would need a resolver.
_WANTED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=([0-9][0-9.]*)(?:,<[0-9.]+)?")


class Floor(NamedTuple):
    """A package and the lowest version of it that is allowed."""

    name: str
    version: str


def read_floors(text: str, extras: Iterable[str]) -> list[Floor]:
    """Return the floors of a ``pyproject.toml``: of what is always needed, and of the extras named.

    Raises:
        ValueError: a dependency has no floor, or an extra is not there.
    """
    project = tomllib.loads(text)["project"]
    known = project["optional-dependencies"]
    wanted: list[str] = list(project["dependencies"])
    for extra in extras:
        if extra not in known:
            raise ValueError(f"there is no extra {extra!r}")
        wanted += known[extra]
    found = []
    for line in dict.fromkeys(wanted):
        # An extra that names other extras of this project adds no package of its own.
        if line.startswith(f"{project['name']}["):
            continue
        match = _WANTED.fullmatch(line)
        if match is None:
            raise ValueError(f"a dependency without a floor: {line}")
        found.append(Floor(match[1], match[2]))
    return found


def main(extras: list[str]) -> None:
    """Print one constraint a line."""
    for floor in read_floors((ROOT / "pyproject.toml").read_text(encoding="utf-8"), extras):
        print(f"{floor.name}=={floor.version}")


if __name__ == "__main__":
    main(sys.argv[1:])
