"""The command line goes through the public interface, and the interface costs nothing until it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "gitprun"
# What the command line may import of us: what it calls, the values everybody speaks, itself, the version.
ALLOWED = ("gitprun.api", "gitprun.model", "gitprun.cli")


def imports_of(path: Path) -> set[str]:
    """Collect what a module imports of ours, also within functions and for types only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.startswith("gitprun.")}


@pytest.mark.parametrize("path", sorted((PACKAGE / "cli").rglob("*.py")), ids=lambda path: path.stem)
def test_commands_go_through_the_public_interface(path: Path) -> None:
    assert {
        name for name in imports_of(path) if not f"{name}.".startswith(tuple(f"{one}." for one in ALLOWED))
    } == set()


def test_the_program_itself_does_too() -> None:
    assert imports_of(PACKAGE / "__main__.py") == {"gitprun.cli.main", "gitprun.cli.merge_file_args"}


@pytest.mark.parametrize("path", sorted((PACKAGE / "api").glob("*.py")), ids=lambda path: path.stem)
def test_the_interface_knows_no_front_end_and_prints_nothing(path: Path) -> None:
    assert {name for name in imports_of(path) if name.startswith("gitprun.cli")} == set()
    calls = {node.func.id for node in ast.walk(ast.parse(path.read_text())) if _is_plain_call(node)}
    # What hooks say to a worker is their whole purpose; they are programs of their own.
    assert calls & {"print", "input", "exit"} <= ({"print"} if path.stem == "worker_hooks" else set())


def _is_plain_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def test_importing_the_interface_imports_nothing_of_it() -> None:
    code = "import sys; import gitprun.api; print(sorted(name for name in sys.modules if name.startswith('gitprun')))"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "['gitprun', 'gitprun.api']\n"


def test_every_public_name_is_there() -> None:
    import gitprun.api as api

    assert sorted(api.__all__) == dir(api)
    assert [name for name in api.__all__ if getattr(api, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'repo_of'"):
        _ = api.repo_of  # type: ignore[attr-defined]


def test_names_are_typed_where_they_are_imported_from() -> None:
    tree = ast.parse((PACKAGE / "api" / "__init__.py").read_text())
    typed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        for one in node.body
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    }
    import gitprun.api as api

    assert typed == set(api.__all__)
