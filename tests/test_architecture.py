"""The house rules that can be checked: floors, homes of third parties, purity, sizes, docstrings, pages in sync."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gitprun"
MODULES = sorted(path.relative_to(ROOT) for path in PACKAGE.rglob("*.py"))

# The first prefix that fits decides; a module may import modules of its own floor and of those below.
FLOORS = (
    ("gitprun.cli", 5),
    ("gitprun.__main__", 5),
    ("gitprun.ledger.events", 1),
    ("gitprun.ledger.facts", 1),
    ("gitprun.ledger.outcome", 1),
    ("gitprun.ledger.arrivals", 1),
    ("gitprun.ledger.claims", 1),
    ("gitprun.ledger.retry_policy", 1),
    ("gitprun.ledger.stall", 1),
    ("gitprun.ledger.condense", 1),
    ("gitprun.ledger.archive", 3),
    ("gitprun.ledger.ledger", 3),
    ("gitprun.runs", 4),
    ("gitprun.recovery.catalog", 1),
    ("gitprun.recovery.gc_plan", 1),
    ("gitprun.registry.precious", 1),
    ("gitprun.keep", 4),
    ("gitprun.ledger.roster", 1),
    ("gitprun.runs.messages", 1),
    ("gitprun.named", 4),
    ("gitprun.ledger.held", 1),
    ("gitprun.judging.hotspots", 1),
    ("gitprun.landing.plan", 1),
    ("gitprun.landing.order", 1),
    ("gitprun.judging.locks", 1),
    ("gitprun.landing.forecast_plan", 1),
    ("gitprun.landing.undo_plan", 1),
    ("gitprun.landing.surface", 1),
    ("gitprun.landing.attributes", 1),
    ("gitprun.landing.called", 1),
    ("gitprun.resolvers", 1),
    ("gitprun.merge", 4),
    ("gitprun.verify.recipes", 1),
    ("gitprun.verify.output", 1),
    ("gitprun.verify.runners", 1),
    ("gitprun.verify.missing", 1),
    ("gitprun.verify.complaint", 1),
    ("gitprun.verify.judge", 1),
    ("gitprun.model.environment", 1),
    ("gitprun.verify.cases", 1),
    ("gitprun.verify.parts", 1),
    ("gitprun.verify.sources", 1),
    ("gitprun.verify.gate_changes", 1),
    ("gitprun.verify.keep", 1),
    ("gitprun.verify", 3),
    ("gitprun.executors", 1),
    ("gitprun.guards.install", 3),
    ("gitprun.guards.driver", 3),
    ("gitprun.guards.shims", 3),
    ("gitprun.guards", 1),
    ("gitprun.observe.changes", 1),
    ("gitprun.observe.drift_rules", 1),
    ("gitprun.ledger.drift_record", 1),
    ("gitprun.observe.reflogs", 1),
    ("gitprun.observe.own_changes", 1),
    ("gitprun.observe.snapshotter", 4),
    ("gitprun.recovery.undo_drift", 4),
    ("gitprun.drift", 3),
    ("gitprun.observe.snapshot", 1),
    ("gitprun.observe.flags", 1),
    ("gitprun.monitor.render", 1),
    ("gitprun.git.index", 1),
    ("gitprun.monitor.loop", 4),
    ("gitprun.watch", 3),
    ("gitprun.capture.screen", 1),
    ("gitprun.capture.lint", 1),
    ("gitprun.capture.rows", 1),
    ("gitprun.capture.regenerable", 1),
    ("gitprun.collect", 3),
    ("gitprun.workspaces", 3),
    ("gitprun.system.config", 3),
    ("gitprun.system", 2),
    ("gitprun.git", 2),
    ("gitprun", 0),
)
HOMES = {
    "pygit2": ("gitprun.git", "gitprun.collect", "gitprun.merge", "gitprun.named", "gitprun.runs"),
    "subprocess": ("gitprun.supervisor.process", "gitprun.supervisor.child", "gitprun.git.command"),
    "filelock": ("gitprun.system.files",),
    "click": ("gitprun.cli",),
    "rich": ("gitprun.cli",),
    "tomllib": ("gitprun.system.config", "gitprun.verify.recipes", "gitprun.resolvers.toml"),
    "tomlkit": ("gitprun.resolvers.toml",),
    "ruamel": ("gitprun.resolvers.yaml",),
    "tree_sitter": ("gitprun.resolvers.syntax",),
    "nbdime": ("gitprun.resolvers.blocks",),
}
IMPURE = {
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
UNUSED_WORDS = {"task", "job", "manager", "helper", "util", "handle", "data"}


def name_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def floor_of(module: str) -> int:
    return next(floor for prefix, floor in FLOORS if module == prefix or module.startswith(f"{prefix}."))


@functools.cache
def imports_of(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            found.add(module)
            found |= {
                f"{module}.{alias.name}"
                for alias in node.names
                if (PACKAGE.parent / _as_path(module, alias.name)).exists()
            }
    return frozenset(found)


def only_pure_paths(path: Path) -> bool:
    nodes = [n for n in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(n, ast.ImportFrom)]
    return all(alias.name.startswith("Pure") for n in nodes if n.module == "pathlib" for alias in n.names)


def _as_path(module: str, name: str) -> Path:
    return Path(*module.split("."), f"{name}.py")


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_go_down_only(path: Path) -> None:
    own = name_of(path)
    above = {
        other for other in imports_of(path) if other.split(".")[0] == "gitprun" and floor_of(other) > floor_of(own)
    }
    assert above == set()


def test_hands_do_not_import_rules() -> None:
    wrong = {
        (name_of(path), other)
        for path in MODULES
        if floor_of(name_of(path)) == 2
        for other in imports_of(path)
        if other.startswith("gitprun") and floor_of(other) == 1
    }
    assert wrong == set()


def test_no_import_cycles() -> None:
    graph = {name_of(path): {o for o in imports_of(path) if o.startswith("gitprun.")} for path in MODULES}
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


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_third_parties_stay_at_home(path: Path) -> None:
    own = name_of(path)
    used = {other.split(".")[0] for other in imports_of(path)}
    away = {third for third, homes in HOMES.items() if third in used and not own.startswith(homes)}
    assert away == set()


@pytest.mark.parametrize("path", [p for p in MODULES if floor_of(name_of(p)) <= 1], ids=str)
def test_pure_modules_do_not_touch_the_world(path: Path) -> None:
    used = imports_of(path) - {"pathlib"} if only_pure_paths(path) else imports_of(path)
    impure = {other.split(".")[0] for other in used} & IMPURE
    assert impure == set()


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


def writes_of(source: str) -> list[str]:
    """List the calls that write objects: by their names, and ``write`` with a kind of object and its content."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        pair = node.func.attr == "write" and len(node.args) == 2 and not isinstance(node.args[0], ast.Starred)
        base = node.func.value
        of_os = isinstance(base, ast.Name) and base.id in ("os", "posix")
        if node.func.attr in WRITES or (pair and not of_os):
            found.append(f"{node.lineno}: {node.func.attr}")
    return found


def test_writing_objects_is_noticed() -> None:
    assert writes_of("repo.create_commit(None, a, b, 'm', t, [])\nx.index.write_tree()\n") == [
        "1: create_commit",
        "2: write_tree",
    ]
    assert writes_of("repo.write(pygit2.GIT_OBJECT_BLOB, body)\nrepo.TreeBuilder().write()") == [
        "1: write",
        "2: TreeBuilder",
    ]
    assert writes_of("target.write(body)\nos.write(1, body)\nwrite_commit(repo, tree)") == []


@pytest.mark.parametrize("path", [p for p in MODULES if not name_of(p).startswith("gitprun.git.")], ids=str)
def test_objects_are_written_in_one_place_that_reads_them_back(path: Path) -> None:
    assert writes_of((ROOT / path).read_text()) == []


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_files_stay_small(path: Path) -> None:
    assert len((ROOT / path).read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_functions_stay_small_and_documented(path: Path) -> None:
    tree = ast.parse((ROOT / path).read_text())
    problems = []
    if tree.body and not ast.get_docstring(tree):
        problems.append("module without a docstring")
    inner = {
        id(sub) for top in ast.walk(tree) if isinstance(top, ast.FunctionDef) for sub in ast.walk(top) if sub is not top
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        stub = any(
            isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and s.value.value is ... for s in node.body
        )
        if not node.name.startswith("_") and id(node) not in inner and not ast.get_docstring(node) and not stub:
            problems.append(f"{node.name} has no docstring")
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno > 60:
            problems.append(f"{node.name} has more than 60 lines")
        # click asks for this name.
        if node.name.startswith("get_") and node.name != "get_command":
            problems.append(f"{node.name} tells no effect")
        words = re.split(r"_|(?<=[a-z])(?=[A-Z])", node.name)
        problems += [f"{node.name}: {word}" for word in words if word.lower() in UNUSED_WORDS]
    assert problems == []


def test_package_folders_are_in_the_architecture_page() -> None:
    page = (ROOT / "references" / "architecture.md").read_text()
    missing = {f"{path.parent.relative_to(PACKAGE)}/" for path in (ROOT / p for p in MODULES)} - {"./"}
    assert {name for name in missing if name not in page} == set()


def test_modules_are_in_the_architecture_page() -> None:
    page = (ROOT / "references" / "architecture.md").read_text()
    names = {p.stem for p in MODULES if p.stem not in ("__init__", "__main__")}
    assert {name for name in names if not re.search(rf"\b{re.escape(name)}\b", page)} == set()


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
