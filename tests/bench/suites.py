"""Suites of merge cases: how many come out right, against what git makes of them."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gitprun.landing.file import FileMerge, merge_file

ROOT = Path(__file__).resolve().parents[1]
HOTSPOTS = ROOT / "cases" / "hotspots"
# Git leaves the choice of a side open in these.
MARKER = b"<<<<<<<"


@dataclass(frozen=True, slots=True)
class Case:
    """Three versions of a file, and the judge of a merged text: None stands for a conflict."""

    name: str
    path: str
    versions: tuple[bytes, bytes, bytes]
    judge: Callable[[bytes | None], str]


def read_hotspots(top: Path) -> Iterator[Case]:
    """Read cases of folders base, main, unit and a case.json with what a merged text must and must not hold."""
    for about in sorted(top.rglob("case.json")):
        spec = json.loads(about.read_text())

        def judge(text: bytes | None, spec: dict[str, list[str]] = spec) -> str:
            if text is None:
                return "left"
            held = all(word.encode() in text for word in spec["must_contain"])
            free = not any(word.encode() in text for word in spec["must_not_contain"])
            return "merged" if held and free else "broken"

        files = [next((about.parent / side).rglob(Path(spec["path"]).name)) for side in ("base", "main", "unit")]
        base, main, unit = (path.read_bytes() for path in files)
        yield Case(str(about.parent.relative_to(top)), spec["path"], (base, main, unit), judge)


def read_expected(top: Path) -> Iterator[Case]:
    """Read cases of files Base, Left, Right, Expected (ExpectedIdeally before it), compared without white space.

    An expected text with conflict markers asks for a conflict. A file ``language`` names a path's kind.
    """
    for base in sorted(path for path in top.rglob("Base*") if path.stem == "Base"):
        files = {path.stem: path for path in base.parent.iterdir()}
        expected = (files.get("ExpectedIdeally") or files["Expected"]).read_bytes()

        def judge(text: bytes | None, expected: bytes = expected) -> str:
            if MARKER in expected:
                return "right" if text is None else "wrong"
            if text is None:
                return "left"
            return "right" if b"".join(text.split()) == b"".join(expected.split()) else "wrong"

        path = files["language"].read_text().strip() if "language" in files else base.name
        versions = base.read_bytes(), files["Left"].read_bytes(), files["Right"].read_bytes()
        yield Case(str(base.parent.relative_to(top)), path, versions, judge)


def by_prun(case: Case) -> bytes | None:
    """Merge as ``git prun merge-file`` does."""
    with tempfile.TemporaryDirectory() as folder:
        names = _lay_out(case, Path(folder))
        found = merge_file(FileMerge(main=names[1], base=names[0], unit=names[2], path=case.path), Path(folder))
    return found.text if found.code == 0 else None


def by_git(case: Case) -> bytes | None:
    """Merge as ``git merge-file`` does."""
    with tempfile.TemporaryDirectory() as folder:
        base, main, unit = _lay_out(case, Path(folder))
        found = subprocess.run(["git", "merge-file", "-p", main, base, unit], cwd=folder, capture_output=True)
    return found.stdout if found.returncode == 0 else None


def _lay_out(case: Case, folder: Path) -> tuple[str, str, str]:
    for name, text in zip(("base", "main", "unit"), case.versions, strict=True):
        (folder / name).write_bytes(text)
    return "base", "main", "unit"


def score(cases: list[Case], way: Callable[[Case], bytes | None]) -> tuple[Counter[str], list[str]]:
    """Count what comes of the cases, and name those that are wrong or broken."""
    found = {case.name: case.judge(way(case)) for case in cases}
    return Counter(found.values()), [name for name, state in found.items() if state in ("wrong", "broken")]


def print_suites(folders: list[Path]) -> None:
    """Print a line a suite: the project's own, and those in the folders named."""
    suites = [("hotspots", list(read_hotspots(HOTSPOTS)))]
    for folder in folders:
        suites.append((folder.name, list(read_expected(folder)) or list(read_hotspots(folder))))
    print(f"{'suite':<20} {'cases':>6}  {'git prun':<36} {'git merge-file':<36}")
    for name, cases in suites:
        ours, wrong = score(cases, by_prun)
        git, _ = score(cases, by_git)
        shown = [", ".join(f"{count} {state}" for state, count in sorted(each.items())) for each in (ours, git)]
        print(f"{name:<20} {len(cases):>6}  {shown[0]:<36} {shown[1]:<36}")
        for case in wrong:
            print(f"  wrong: {case}")
