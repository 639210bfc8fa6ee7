"""Random three-way cases of many kinds of files: rows that each side adds, drops and rewrites."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

Row = tuple[str, int]
Rows = tuple[Row, ...]
Files = Mapping[str, str]
# Few names, so that both sides come by the same one; some are read as more than a name where lines mean something.
NAMES = ("alpha", "beta", "gamma", "delta", "new")


@dataclass(frozen=True, slots=True)
class ThreeWayCase:
    """The files of one folder on three sides; ``between`` says that they depend on each other."""

    kind: str
    base: Files
    main: Files
    unit: Files
    between: bool = False

    @property
    def contested(self) -> list[str]:
        """List the paths that both sides changed, each differently, and that all have as files."""
        return [
            path
            for path in sorted(self.main.keys() & self.unit.keys())
            if self.base.get(path) not in (self.main[path], self.unit[path]) and self.main[path] != self.unit[path]
        ]


def _json(rows: Rows) -> str:
    # Written by hand, since a key may stand twice.
    return "{\n" + ",\n".join(f'  "{name}": {value}' for name, value in rows) + "\n}\n"


def _package(rows: Rows) -> str:
    return json.dumps({"name": "x", "dependencies": {name: f"{value}.0.0" for name, value in rows}}, indent=2) + "\n"


def _yarn(rows: Rows) -> str:
    return "".join(f'"{name}@{value}.0.0":\n  version "{value}.0.0"\n\n' for name, value in dict(rows).items())


KINDS: Mapping[str, tuple[str, Callable[[Rows], str]]] = {
    "json": ("conf.json", _json),
    "toml": ("conf.toml", lambda rows: "[t]\n" + "".join(f"{name} = {value}\n" for name, value in rows)),
    "yaml": ("conf.yaml", lambda rows: "".join(f"{name}: {value}\n" for name, value in rows)),
    "python": (
        "code.py",
        lambda rows: "import os\n\n\n" + "".join(f"def {n}():\n    return {v}\n\n\n" for n, v in rows),
    ),
    "typescript": (
        "code.ts",
        lambda rows: "".join(f"export function {n}() {{\n  return {v};\n}}\n\n" for n, v in rows),
    ),
    "requirements": ("requirements.txt", lambda rows: "".join(f"{name}=={value}\n" for name, value in rows)),
    "changelog": (
        "CHANGELOG.md",
        lambda rows: "# Changes\n\n## Unreleased\n\n" + "".join(f"- {n} {v}\n" for n, v in rows),
    ),
    "hotspot": ("names.lst", lambda rows: "".join(f"{name} {value}\n" for name, value in rows)),
    "plain": ("notes.txt", lambda rows: "".join(f"{name} {value}\n" for name, value in rows)),
    "ignore": (".gitignore", lambda rows: "".join(f"{name}{value}/\n" for name, value in rows)),
}

_ROWS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3)), max_size=5).map(tuple)
_BASES = st.lists(st.sampled_from(NAMES[:4]), min_size=1, max_size=4, unique=True).map(
    lambda names: tuple((name, 1) for name in names)
)


@st.composite
def _sides_of(draw: st.DrawFn, base: Rows) -> Rows:
    """Edit rows: one more somewhere, one less, one with another value; or write them anew."""
    rows = list(base)
    for _ in range(draw(st.integers(1, 2))):
        edit = draw(st.sampled_from(("add", "add", "drop", "change", "anew")))
        if edit == "add" or not rows:
            at = draw(st.integers(0, len(rows)))
            rows.insert(at, (draw(st.sampled_from(NAMES)), draw(st.integers(0, 3))))
        elif edit == "anew":
            rows = list(draw(_ROWS))
        else:
            at = draw(st.integers(0, len(rows) - 1))
            changed = (rows[at][0], draw(st.integers(0, 3)))
            rows[at : at + 1] = [] if edit == "drop" else [changed]
    return tuple(rows)


@st.composite
def one_file(draw: st.DrawFn) -> ThreeWayCase:
    """Draw a case of a single file that both sides changed, or that both added."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    name, write = KINDS[kind]
    base = draw(_BASES)
    main, unit = draw(_sides_of(base)), draw(_sides_of(base))
    before = {} if draw(st.integers(0, 7)) == 0 else {name: write(base)}
    return ThreeWayCase(kind, before, {name: write(main)}, {name: write(unit)})


@st.composite
def manifest_and_lock(draw: st.DrawFn) -> ThreeWayCase:
    """Draw a manifest and its lock, of which each side changes either or both."""
    base = draw(_BASES)
    texts = {"package.json": _package(base), "yarn.lock": _yarn(base)}
    sides = []
    for _ in range(2):
        side = dict(texts)
        for name, write in (("package.json", _package), ("yarn.lock", _yarn)):
            if draw(st.booleans()):
                side[name] = write(draw(_sides_of(base)))
        sides.append(side)
    return ThreeWayCase("lock", texts, *sides, between=True)


@st.composite
def migrations(draw: st.DrawFn) -> ThreeWayCase:
    """Draw a folder of migrations to which each side adds some, perhaps of one number."""
    base = {"migrations/0001_start.sql": "create table a ();\n"}
    sides = []
    for side in ("main", "unit"):
        numbers = draw(st.lists(st.integers(2, 3), max_size=2, unique=True))
        sides.append(
            {**base, **{f"migrations/000{n}_{side}.sql": f"alter table a add {side}{n} int;\n" for n in numbers}}
        )
    return ThreeWayCase("migrations", base, *sides, between=True)


CASES = st.one_of(one_file(), one_file(), one_file(), manifest_and_lock(), migrations())


def in_folders(cases: Sequence[ThreeWayCase], side: str) -> dict[str, str]:
    """Return the files of one side of several cases, each case in a folder of its own."""
    return {f"c{n}/{name}": text for n, case in enumerate(cases) for name, text in getattr(case, side).items()}
