"""The rules of the house that a program can check: one ordered list of folders, one test a rule."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.code_map import read_page, render_map

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gitprun"
MODULES = sorted(path.relative_to(ROOT) for path in PACKAGE.rglob("*.py"))

# Bottom up: a folder imports only from those before it, and from itself.
FOLDERS = (
    "model",
    "system",
    "supervisor",
    "git",
    "executors",
    "resolvers",
    "ledger",
    "judging",
    "workspaces",
    "verify",
    "capture",
    "observe",
    "registry",
    "guards",
    "landing",
    "recovery",
    "monitor",
    "runs",
    "api",
    "cli",
)
# Folders that are a library in themselves: what they may import of the house.
LIBRARIES = {"model": (), "executors": ("model",), "resolvers": ("model",)}
HOMES = {
    "pygit2": (
        "gitprun.git",
        "gitprun.capture",
        "gitprun.judging",
        "gitprun.landing",
        "gitprun.registry",
        "gitprun.runs",
    ),
    "subprocess": ("gitprun.supervisor.process", "gitprun.supervisor.child", "gitprun.git.command"),
    "filelock": ("gitprun.system.files",),
    "click": ("gitprun.cli",),
    "rich": ("gitprun.cli",),
    "tomllib": ("gitprun.system.config", "gitprun.verify.recipes", "gitprun.resolvers.toml"),
    "ruamel": ("gitprun.resolvers.yaml",),
    "tree_sitter": ("gitprun.resolvers.syntax",),
    "nbdime": ("gitprun.resolvers.blocks",),
}
# What touches the world: a pure folder has none of it. Paths are taken apart with PurePath.
WORLD = {
    "os",
    "subprocess",
    "time",
    "shutil",
    "threading",
    "socket",
    "tempfile",
    "pathlib",
    "random",
    "secrets",
}
PURE = ("model", "executors", "resolvers")
# Words that name nothing.
EMPTY_WORDS = {"task", "job", "manager", "helper", "util", "handle", "data"}
# A module longer than this has more than one noun in it.
MOST_LINES = 400
# A function whose body is longer than this does more than one thing; a command has a line for each of its options.
MOST_FUNCTION_LINES = 60


def name_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def folder_of(module: str) -> str:
    """Return the folder of a module of ours; empty for what lies beside the folders."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in FOLDERS else ""


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


@functools.cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the modules a module imports, inside of functions too; names that are modules count as such."""
    found: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            found.add(module)
            found |= {f"{module}.{alias.name}" for alias in node.names if _is_module(f"{module}.{alias.name}")}
    return frozenset(found)


def _is_module(name: str) -> bool:
    return ROOT.joinpath(*name.split(".")).with_suffix(".py").exists()


def ours(path: Path) -> set[str]:
    return {other for other in imports_of(path) if other.startswith("gitprun.")}


def test_imports_go_down_only() -> None:
    """A module beside the folders, such as the program itself, may import all of them; none of them imports it."""
    wrong = set()
    for path in MODULES:
        own = folder_of(name_of(path))
        if not own:
            continue
        above = set(FOLDERS[FOLDERS.index(own) + 1 :])
        wrong |= {
            (str(path), other) for other in ours(path) if folder_of(other) in above or other == "gitprun.__main__"
        }
    assert wrong == set()


def test_libraries_import_little_of_the_house() -> None:
    wrong = {
        (str(path), other)
        for path in MODULES
        if (own := folder_of(name_of(path))) in LIBRARIES
        for other in ours(path)
        if folder_of(other) not in (own, *LIBRARIES[own])
    }
    assert wrong == set()


def test_no_import_cycles() -> None:
    graph = {name_of(path): ours(path) for path in MODULES}
    finished: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in finished:
            # A package's own name in its __init__ is no cycle.
            for other in graph.get(module, set()) - {module}:
                visit(other, (*trail, module))
            finished.add(module)

    for module in graph:
        visit(module, ())


def test_every_folder_is_in_the_list() -> None:
    assert {path.parts[1] for path in MODULES if len(path.parts) > 2} == set(FOLDERS)


def test_third_parties_stay_at_home() -> None:
    wrong = {
        (str(path), third)
        for path in MODULES
        for third in {other.split(".")[0] for other in imports_of(path)} & set(HOMES)
        if not name_of(path).startswith(HOMES[third])
    }
    assert wrong == set()


def _only_pure_paths(path: Path) -> bool:
    nodes = [n for n in nodes_of(path) if isinstance(n, ast.ImportFrom) and n.module == "pathlib"]
    plain = any(isinstance(n, ast.Import) and any(a.name == "pathlib" for a in n.names) for n in nodes_of(path))
    return not plain and all(alias.name.startswith("Pure") for n in nodes for alias in n.names)


def test_pure_folders_do_not_touch_the_world() -> None:
    wrong = set()
    for path in MODULES:
        if folder_of(name_of(path)) in PURE:
            used = {other.split(".")[0] for other in imports_of(path)} & WORLD
            wrong |= {(str(path), one) for one in used if one != "pathlib" or not _only_pure_paths(path)}
    assert wrong == set()


# What writes objects through libgit2, which may say that it did although the disk was full.
WRITES = {
    "create_commit",
    "create_commit_string",
    "create_commit_with_signature",
    "create_blob",
    "create_blob_fromworkdir",
    "create_blob_fromdisk",
    "create_blob_fromiobase",
    "create_tag",
    "create_note",
    "TreeBuilder",
    "create_tree",
    "write_tree",
    "write_tree_to",
    "stash",
}


def writes_of(nodes: Iterable[ast.AST]) -> list[str]:
    """List the calls that write objects: by their names, and ``write`` with a kind of object and its content."""
    found = []
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        pair = node.func.attr == "write" and len(node.args) == 2 and not isinstance(node.args[0], ast.Starred)
        base = node.func.value
        of_os = isinstance(base, ast.Name) and base.id in ("os", "posix")
        if node.func.attr in WRITES or (pair and not of_os):
            found.append(f"{node.lineno}: {node.func.attr}")
    return found


def test_writing_objects_is_noticed() -> None:
    said = "repo.create_commit(None, a, b, 'm', t, [])\nx.index.write_tree()\n"
    assert writes_of(ast.walk(ast.parse(said))) == [
        "1: create_commit",
        "2: write_tree",
    ]
    said = "repo.write(pygit2.GIT_OBJECT_BLOB, body)\nrepo.TreeBuilder().write()"
    assert writes_of(ast.walk(ast.parse(said))) == [
        "1: write",
        "2: TreeBuilder",
    ]
    said = "target.write(body)\nos.write(1, body)\nwrite_commit(repo, tree)"
    assert writes_of(ast.walk(ast.parse(said))) == []


def test_objects_are_written_in_one_place_that_reads_them_back() -> None:
    rows = {str(p): writes_of(nodes_of(p)) for p in MODULES if folder_of(name_of(p)) != "git"}
    assert {path: found for path, found in rows.items() if found} == {}


def test_files_stay_small() -> None:
    sizes = {str(path): len((ROOT / path).read_text().splitlines()) for path in MODULES}
    assert {path: size for path, size in sizes.items() if size > MOST_LINES} == {}


def _nodes(kinds: type | tuple[type, ...]) -> Iterator[tuple[Path, ast.AST]]:
    for path in MODULES:
        yield from ((path, node) for node in nodes_of(path) if isinstance(node, kinds))


def test_functions_stay_small() -> None:
    long = {
        f"{path}: {node.name}"
        for path, node in _nodes(ast.FunctionDef)
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.body[0].lineno > MOST_FUNCTION_LINES
    }
    assert long == set()


def _undocumented(path: Path) -> Iterator[str]:
    tree = tree_of(path)
    if tree.body and not ast.get_docstring(tree):
        yield f"{path}: the module"
    inner = {
        id(sub) for top in nodes_of(path) if isinstance(top, ast.FunctionDef) for sub in ast.walk(top) if sub is not top
    }
    for node in nodes_of(path):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_") or id(node) in inner:
            continue
        stub = any(
            isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and s.value.value is ... for s in node.body
        )
        if not stub and not ast.get_docstring(node):
            yield f"{path}: {node.name}"


def test_what_is_public_is_documented() -> None:
    assert [row for path in MODULES for row in _undocumented(path)] == []


def test_names_say_something() -> None:
    wrong = set()
    for path, node in _nodes((ast.FunctionDef, ast.ClassDef)):
        assert isinstance(node, ast.FunctionDef | ast.ClassDef)
        words = {word.lower() for word in re.split(r"_|(?<=[a-z])(?=[A-Z])", node.name)}
        # click asks for the one name that begins so; of all others "get" tells no effect.
        idle = node.name.startswith("get_") and node.name != "get_command"
        if words & EMPTY_WORDS or (idle and isinstance(node, ast.FunctionDef)):
            wrong.add(f"{path}: {node.name}")
    assert wrong == set()


def test_one_class_name_stands_for_one_class() -> None:
    places: dict[str, list[str]] = {}
    for path, node in _nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        places.setdefault(node.name, []).append(str(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def _is_number(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(_is_number, value.elts))
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def unexplained(source: str) -> list[str]:
    """List the numbers that have a name at the top of a module and no comment: on the line, or above its group."""
    lines, found = source.splitlines(), []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not _is_number(node.value):
            continue
        at = node.lineno - 1
        above = at - 1
        while above >= 0 and re.match(r"[A-Z_][A-Z0-9_, ]*(?:: \S+)? = ", lines[above]):
            above -= 1
        if "#" not in lines[at] and not (above >= 0 and lines[above].startswith("#")):
            found.append(f"{node.lineno}: {lines[at].strip()}")
    return found


def test_a_number_without_a_reason_is_noticed() -> None:
    source = "# So long.\nA = 1\nB = 2.0\n\nC, D = 1 << 20, -3\nE = 4  # four\nF = 'x'\n"
    assert unexplained(source) == ["5: C, D = 1 << 20, -3"]


def test_every_number_says_why() -> None:
    rows = {str(path): unexplained((ROOT / path).read_text()) for path in MODULES}
    assert {path: found for path, found in rows.items() if found} == {}


def test_the_code_map_is_current() -> None:
    """``python -m tests.support.code_map`` writes it into the page."""
    assert read_page(ROOT) == render_map(ROOT, FOLDERS)


def test_dependencies_are_explained() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (row for extra in project["optional-dependencies"].values() for row in extra)
    wanted = [*project["dependencies"], *(row for row in extras if not row.startswith("gitprun["))]
    page = (ROOT / "references" / "dependencies.md").read_text()
    assert {
        re.split(r"[<>=!~ ]", row)[0] for row in wanted if f"`{re.split(r'[<>=!~ ]', row)[0]}`" not in page
    } == set()


def test_ci_runs_the_commands_of_the_readme() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    for command in (
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/git-prun demo",
        ".venv/bin/pip install '.[test]' && .venv/bin/pytest -n 2",
    ):
        assert command in readme
        for part in command.split(" && "):
            assert part.replace("pip install", "pip install -q") in ci or part in ci


def test_top_level_is_the_design_card() -> None:
    import subprocess

    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout: the top level cannot be listed")
    tops = {name.split("/")[0] for name in listing.stdout.split("\0") if name}
    allowed = {"pyproject.toml", "README.md", "gitprun", "tests", "hooks", "references", "LICENSE"}
    assert {top for top in tops if not top.startswith(".")} - allowed == set()
