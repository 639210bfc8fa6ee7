"""What is packed: floors of the dependencies, their licences, and what a wheel holds."""

from __future__ import annotations

import re
import tomllib
import zipfile
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest

from gitprun import __version__
from tests.support.floors import Floor, read_floors

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]
EXTRAS = tuple(PROJECT["optional-dependencies"])

SMALL = """
[project]
name = "gitprun"
dependencies = ["click>=8.1", "tree-sitter>=0.26.1,<0.27"]
[project.optional-dependencies]
test = ["gitprun[more]", "pytest>=8.2"]
more = ["click>=8.1", "nbdime>=4.0.1"]
loose = ["rich"]
pinned = ["rich==13.*"]
"""


def test_floors_are_read() -> None:
    core = [Floor("click", "8.1"), Floor("tree-sitter", "0.26.1")]
    assert read_floors(SMALL, ()) == core
    assert read_floors(SMALL, ("test", "more")) == [*core, Floor("pytest", "8.2"), Floor("nbdime", "4.0.1")]


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ("loose", "a dependency without a floor: rich"),
        ("pinned", "a dependency without a floor: rich==13.*"),
        ("none", "there is no extra 'none'"),
    ],
)
def test_what_has_no_floor_is_refused(extra: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        read_floors(SMALL, (extra,))


def test_every_dependency_has_a_floor_and_is_installed_no_lower() -> None:
    for name, floor in read_floors(PYPROJECT, EXTRAS):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        assert _parts(version) >= _parts(floor), name


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


# How the packages write the names of their licences.
LICENCES = {
    "MIT": {"MIT", "MIT License"},
    "Apache-2.0": {"Apache-2.0", "Apache Software License"},
    "BSD-3-Clause": {"BSD-3-Clause", "BSD License"},
    "GPL-2.0 with the linking exception": {"GPLv2 with linking exception"},
    "MPL-2.0": {"MPL-2.0"},
}


def told_licences() -> dict[str, set[str]]:
    """Return what the page says: the packages under each licence, the grammars by the pattern for all others."""
    page = (ROOT / "references" / "dependencies.md").read_text(encoding="utf-8")
    section = page.partition("## Licences\n")[2].partition("\nWhat the core packages")[0]
    rows = re.findall(r"^- (.+?): (.+(?:\n  .+)*)", section, re.MULTILINE)
    return {name: set(re.findall(r"`([^`]+)`", text)) - {"libgit2"} for name, text in rows}


def test_the_page_names_the_licence_of_every_dependency_once() -> None:
    told = told_licences()
    assert set(told) == set(LICENCES)
    names = {floor.name for floor in read_floors(PYPROJECT, EXTRAS)}
    counts = Counter(name for packages in told.values() for name in packages)
    assert set(counts.values()) == {1}
    grammars = {name for name in names if name.startswith("tree-sitter-") and name not in counts}
    assert set(counts) - {"tree-sitter-*"} == names - grammars


def test_the_page_names_licences_as_the_packages_do() -> None:
    told = told_licences()
    for name in (floor.name for floor in read_floors(PYPROJECT, EXTRAS)):
        key = name if any(name in packages for packages in told.values()) else "tree-sitter-*"
        (licence,) = (licence for licence, packages in told.items() if key in packages)
        try:
            about = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        classes = [row.rpartition(" :: ")[2] for row in about.get_all("Classifier") or () if row.startswith("License")]
        said = {about.get("License-Expression"), (about.get("License") or "").partition("\n")[0], *classes}
        assert said & LICENCES[licence], (name, said)


def test_a_wheel_holds_pages_hooks_and_the_manual_page_once(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    (path,) = builder.build(directory=str(tmp_path), versions=["standard"])
    assert Path(path).name == f"gitprun-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
    assert [name for name in names if name.endswith(".1")] == [
        f"gitprun-{__version__}.data/data/share/man/man1/git-prun.1"
    ]
    assert len(names) == len(set(names))
    tops = {name.split("/")[0] for name in names}
    assert tops == {"gitprun", f"gitprun-{__version__}.data", f"gitprun-{__version__}.dist-info"}
    for folder, inside in (("gitprun", "gitprun"), ("hooks", "gitprun/_hooks"), ("references", "gitprun/_references")):
        files = {
            f"{inside}/{found.relative_to(ROOT / folder).as_posix()}"
            for found in (ROOT / folder).rglob("*")
            if found.is_file() and "__pycache__" not in found.parts and found.name != "git-prun.1"
        }
        assert files - set(names) == set(), folder


def test_addresses_are_the_one_the_pages_use() -> None:
    used = re.findall(r"repo: (\S+)", (ROOT / "references" / "hooks.md").read_text(encoding="utf-8"))
    assert {address.startswith(used[0]) for address in PROJECT["urls"].values()} == {True}


def test_the_classifiers_begin_with_the_lowest_python_that_is_allowed() -> None:
    rows = [row.rpartition(" :: ")[2] for row in PROJECT["classifiers"] if " :: Python :: 3." in row]
    assert f">={rows[0]}" == PROJECT["requires-python"]
    assert rows == ["3.11", "3.12", "3.13", "3.14"]


def test_what_the_long_run_names_is_there() -> None:
    # It runs seldom: a folder that was renamed would be missed by nobody until then.
    named = re.findall(r"\btests/[\w./]+", (ROOT / ".ci" / "run").read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) >= 9
