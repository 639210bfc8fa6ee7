"""The code map of the architecture page: the modules of every folder, each by the first line of its docstring."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

PAGE = Path("references", "architecture.md")
START, END = "<!-- code map: written by python -m tests.support.code_map -->\n", "<!-- end of the code map -->\n"
# As wide as all other pages.
WIDTH = 118


def first_line(path: Path) -> str:
    """Return what a module says of itself, in one line without the full stop."""
    said = ast.get_docstring(ast.parse(path.read_text())) or ""
    return said.partition("\n\n")[0].replace("\n", " ").rstrip(".")


def render_map(root: Path, folders: Sequence[str]) -> str:
    """Return the map: a heading a folder, bottom up, with what it is for and a line a module."""
    parts = []
    for folder in folders:
        top = root / "gitprun" / folder
        if not top.exists():
            continue
        parts.append(f"### {folder}/\n\n{first_line(top / '__init__.py')}.\n")
        rows = []
        for path in sorted(top.rglob("*.py")):
            name = path.relative_to(top).with_suffix("").as_posix()
            if path.name == "__init__.py":
                if path.parent == top:
                    continue
                name = f"{path.parent.relative_to(top).as_posix()}/"
            rows.append(fill(f"- `{name}` {first_line(path)}", WIDTH, subsequent_indent="  "))
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def read_page(root: Path) -> str:
    """Return the map that stands in the page."""
    return (root / PAGE).read_text().partition(START)[2].partition(END)[0]


def write_page(root: Path, text: str) -> None:
    """Put a map in the place of the one in the page."""
    page = (root / PAGE).read_text()
    head, _, rest = page.partition(START)
    (root / PAGE).write_text(f"{head}{START}{text}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    from tests.test_architecture import FOLDERS

    here = Path(__file__).resolve().parents[2]
    write_page(here, render_map(here, FOLDERS))
    sys.exit(0)
