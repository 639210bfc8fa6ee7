"""Random edits under a policy: but for what clashes, the merge is what the file's own resolvers make of it."""

from __future__ import annotations

import json

from hypothesis import event, given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.policies import higher_version, renumber

NAMES = st.sampled_from("abcdef")
VERSIONS = st.tuples(st.integers(2, 12), st.integers(0, 12), st.integers(0, 9)).map(lambda v: ".".join(map(str, v)))
PINS = st.dictionaries(NAMES, VERSIONS, max_size=4)
Pins = dict[str, str]
EXTRA = st.sampled_from(["", "x", "y"])


def rank(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def sides(base: set[str], main: Pins, unit: Pins, gone: set[str]) -> tuple[Pins, Pins, Pins]:
    """Make three versions; a pin that main drops is one that the unit did not touch."""
    old = dict.fromkeys(sorted(base), "1.0.0")
    mine = {name: version for name, version in (old | main).items() if name not in gone or name in unit}
    return old, mine, old | unit


def aligned(old: Pins, main: Pins, unit: Pins) -> tuple[Pins, Pins]:
    high = {
        name: max(main[name], unit[name], key=rank)
        for name in main.keys() & unit.keys()
        if old.get(name) not in (main[name], unit[name])
    }
    return main | high, unit | high


def check(conflict: FileConflict, due: FileConflict, lost: int) -> None:
    found, plain = higher_version(conflict), run_cascade(due)
    event("refused" if isinstance(found, Refused) else f"{lost} clashes")
    if isinstance(found, Refused):
        assert plain.texts == (), found
        return
    assert found.text == plain.texts[0].text
    assert len(found.dropped) == lost
    for line in found.dropped:
        text = conflict.main if line.side == "main" else conflict.unit
        assert text.split(b"\n")[line.line - 1] == line.text


@given(st.sets(NAMES), PINS, PINS, st.sets(NAMES), EXTRA, EXTRA)
def test_packages(base: set[str], main: Pins, unit: Pins, gone: set[str], first: str, second: str) -> None:
    old, mine, other = sides(base, main, unit, gone)
    high = aligned(old, mine, other)

    def write(pins: Pins, extra: str) -> bytes:
        value = {"name": "x", "scripts": {"s": "0", **({extra: extra} if extra else {})}, "dependencies": pins}
        return (json.dumps(value, indent=2) + "\n").encode()

    conflict = FileConflict("package.json", write(old, ""), write(mine, first), write(other, second))
    due = FileConflict("package.json", write(old, ""), write(high[0], first), write(high[1], second))
    lost = sum(mine[name] != high[0][name] for name in mine) + sum(other[name] != high[1][name] for name in other)
    check(conflict, due, lost)


@given(st.sets(NAMES), PINS, PINS, st.sets(NAMES), EXTRA, EXTRA)
def test_requirements(base: set[str], main: Pins, unit: Pins, gone: set[str], first: str, second: str) -> None:
    old, mine, other = sides(base, main, unit, gone)
    high = aligned(old, mine, other)

    def write(pins: Pins, extra: str) -> bytes:
        return "".join(f"{name}=={version}\n" for name, version in pins.items()).encode() + extra.encode()

    extras = [f"extra-{extra}\n" if extra else "" for extra in (first, second)]
    conflict = FileConflict("requirements.txt", write(old, ""), write(mine, extras[0]), write(other, extras[1]))
    due = FileConflict("requirements.txt", write(old, ""), write(high[0], extras[0]), write(high[1], extras[1]))
    lost = sum(mine[name] != high[0][name] for name in mine) + sum(other[name] != high[1][name] for name in other)
    check(conflict, due, lost)


COUNTS = st.integers(0, 4)


@given(st.integers(1, 3), COUNTS, COUNTS, st.booleans())
def test_rows(base: int, main: int, unit: int, edited: bool) -> None:
    old = [f"{n},b{n}" for n in range(1, base + 1)]
    mine = [*old, *(f"{base + n},m{n}" for n in range(1, main + 1))]
    first = "1,edited" if edited else old[0]
    own = [f"u{n}" for n in range(1, unit + 1)]
    other = [first, *old[1:], *(f"{base + n},{text}" for n, text in enumerate(own, 1))]
    start = base + (main if main else 0)
    merged = [first, *mine[1:], *(f"{start + n},{text}" for n, text in enumerate(own, 1))]
    texts = ["".join(f"{row}\n" for row in ("id,what", *rows)).encode() for rows in (old, mine, other, merged)]
    found = renumber(FileConflict("a.csv", *texts[:3]))
    assert isinstance(found, Resolved), found
    assert found.text == texts[3]
    assert len(found.dropped) == (unit if main else 0)


@given(st.integers(1, 3), COUNTS, COUNTS, st.sampled_from(["e.c", "e.ts", "e.rs", "e.cs"]))
def test_members(base: int, main: int, unit: int, path: str) -> None:
    old = [("B", n) for n in range(base)]
    mine, other = ([(name, base + n) for n in range(count)] for name, count in (("M", main), ("U", unit)))
    free = max(base + main, base + unit)
    # The members whose number main has not taken keep theirs.
    due = [(f"U{n}", free + n if n < main else base + n) for n in range(unit)]

    def write(members: list[tuple[str, int]]) -> bytes:
        rows = "".join(f"  {name} = {number},\n" for name, number in members)
        return f"enum E {{\n{rows}}}{';' if path == 'e.c' else ''}\n".encode()

    named = [[(f"{name}{n}", number) for n, (name, number) in enumerate(each)] for each in (old, mine, other)]
    found = renumber(FileConflict(path, write(named[0]), write(named[0] + named[1]), write(named[0] + named[2])))
    assert isinstance(found, Resolved), found
    assert found.text == write([*named[0], *named[1], *due])
