"""The figures of the house: what each of them counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.house_figures import figures, main

STATE = '''
"""A module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitprun.git import objects

# Why: the least that works.
LIMIT = 3  # not a line of its own


class Found:
    """One."""

    def read(self, a, b, c, d, e, f, **given: Any) -> Any:
        """Read."""
        spec = self.facts.get("spec", {})
        for row in self.facts["rows"]:
            print(row["name"])
        other = {"mode": 1}
        self.facts["written"] = other["mode"]
        return spec["mode"]


@click.command()
def many(a, b, c, d, e, f, g):
    """Take seven options."""
    from gitprun.git import objects  # noqa: F401
'''
OBJECTS = '''
"""Another."""

from gitprun.runs.state import Found as Other
from gitprun.model import errors

# noqa: E501


class Found:
    """Two."""
'''
EXPECTED = """\
lines: 43
modules: 5
folders in import cycles: 2 (git runs)
string-keyed reads of state: 2
string-keyed reads of state, through other names too: 4
string-keyed reads of anything: 5
uses of Any: 2
**name: Any: 1
functions with more than 6 parameters: 1
click commands with more than 6 parameters: 1
class names that stand for two classes or more: 1 (Found)
comment lines: 2.3 % (1)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in (
        ("runs/state.py", STATE),
        ("git/objects.py", OBJECTS),
        ("git/__init__.py", ""),
        ("__init__.py", ""),
        ("errors.py", "from gitprun.git import objects\n"),
    ):
        path = tmp_path / "gitprun" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_each_figure_counts_what_it_says(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(checkout)])
    assert capsys.readouterr().out == EXPECTED


def test_an_import_for_types_only_makes_no_cycle(checkout: Path) -> None:
    state = checkout / "gitprun" / "runs" / "state.py"
    state.write_text(state.read_text().replace("    from gitprun.git import objects  # noqa: F401\n", ""))
    assert figures(checkout)["folders in import cycles"] == "0"
