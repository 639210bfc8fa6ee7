"""Print the figures of the house, for any checkout: ``python -m tests.support.house_figures [CHECKOUT] [--tests]``.

Only the text of a checkout is read, by the parser of Python: old ones can be measured with the same script, nothing
of them is run. ``--tests`` also counts the tests of the house rules, which takes a start of pytest in that checkout.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# What the bag of an event, a unit or a run is called: names and attributes that are read with a text in brackets.
BAGS = frozenset({"facts", "payload"})
# More than these is a value object that nobody has named yet.
PARAMETERS = 6
# Comments that speak to a tool.
TOOL_COMMENTS = ("noqa", "type:", "pragma", "ruff:", "mypy:", "fmt:", "!")


@dataclass(frozen=True, slots=True)
class Module:
    """One module: its dotted name, its text, its tree."""

    name: str
    text: str
    tree: ast.Module


def modules(root: Path) -> list[Module]:
    """Return every module of the package in a checkout, by name."""
    found = []
    for path in sorted((root / "gitprun").rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, text, ast.parse(text)))
    return found


def _for_types_only(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for statement in node.body:
                yield from ast.walk(statement)


def _imports(module: Module, known: frozenset[str]) -> Iterator[str]:
    """Yield the names of the modules that one imports, in functions too, unless only for types."""
    skipped = set(_for_types_only(module.tree))
    for node in ast.walk(module.tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.name.split(".")
            above = ".".join(package[: len(package) - node.level]) if node.level else ""
            source = ".".join(part for part in (above, node.module or "") if part)
            inner = {f"{source}.{alias.name}" for alias in node.names} & known
            # "from gitprun import config" is an import of the module, not of the package around it.
            yield from inner or {source}


def folder_cycles(found: Iterable[Module]) -> list[tuple[str, ...]]:
    """Return the groups of top-level folders that import each other, each group and all of them in order."""
    every = list(found)
    known = frozenset(module.name for module in every)
    folders = {name.split(".")[1] for name in known if name.count(".") > 1}
    edges: dict[str, set[str]] = {folder: set() for folder in folders}
    for module in every:
        parts = module.name.split(".")
        if len(parts) < 2 or parts[1] not in folders:
            continue
        for name in _imports(module, known):
            target = name.split(".")
            if target[0] == "gitprun" and len(target) > 1 and target[1] in folders and target[1] != parts[1]:
                edges[parts[1]].add(target[1])
    reached = {folder: _reachable(folder, edges) for folder in folders}
    groups = {tuple(sorted(b for b in folders if b in reached[a] and a in reached[b])) for a in folders}
    return sorted(group for group in groups if len(group) > 1)


def _reachable(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(edges[start])
    while ahead:
        folder = ahead.pop()
        if folder not in seen:
            seen.add(folder)
            ahead += edges[folder]
    return seen


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _text_key(node: ast.AST) -> ast.expr | None:
    """Return what is read with a text as the key: of ``x["k"]``, ``x.get("k")`` and ``x.pop("k")`` the ``x``."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        key: ast.expr | None = node.slice
        bag: ast.expr = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
        key, bag = (node.args[0] if node.args else None), node.func.value
    else:
        return None
    return bag if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _is_bag(node: ast.expr, aliases: frozenset[str]) -> bool:
    """Check whether an expression is the bag of a state, or a record in it, as far as one function shows."""
    if isinstance(node, ast.Name):
        return node.id in BAGS or node.id in aliases
    if isinstance(node, ast.Attribute):
        return node.attr in BAGS
    if isinstance(node, ast.BoolOp):
        return any(_is_bag(value, aliases) for value in node.values)
    if isinstance(node, ast.IfExp):
        return _is_bag(node.body, aliases) or _is_bag(node.orelse, aliases)
    if isinstance(node, ast.NamedExpr):
        return _is_bag(node.value, aliases)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("dict", "list", "tuple"):
        return bool(node.args) and _is_bag(node.args[0], aliases)
    inner = _text_key(node)
    return inner is not None and _is_bag(inner, aliases)


def _aliases(scope: ast.AST) -> frozenset[str]:
    """Return the names that a function gives to a bag or to a record in it: ``spec = unit.facts["spec"]``."""
    names: frozenset[str] = frozenset()
    while True:
        more = set(names)
        for node in ast.walk(scope):
            pairs: list[tuple[ast.expr, ast.expr]] = []
            if isinstance(node, ast.Assign):
                pairs = [(target, node.value) for target in node.targets]
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                pairs = [(node.target, node.value)]
            elif isinstance(node, ast.For | ast.comprehension):
                pairs = [(node.target, node.iter)]
            more |= {target.id for target, value in pairs if isinstance(target, ast.Name) and _is_bag(value, names)}
        if more == names:
            return names
        names = frozenset(more)


def state_reads(tree: ast.Module) -> int:
    """Return how often a bag of state, or a record in it, is read with a text as the key."""
    counted: set[ast.AST] = set()
    # Functions in functions see the names around them, so every scope is asked, and each read counts once.
    for scope in (tree, *_functions(tree)):
        aliases = _aliases(scope) if scope is not tree else frozenset[str]()
        for node in ast.walk(scope):
            bag = _text_key(node)
            if bag is not None and _is_bag(bag, aliases):
                counted.add(node)
    return len(counted)


def plain_state_reads(tree: ast.Module) -> int:
    """Return how often a bag is read by its own name: ``facts["k"]``, ``unit.facts.get("k")``."""
    bags = (_text_key(node) for node in ast.walk(tree))
    return sum(_is_bag(bag, frozenset()) for bag in bags if bag is not None and not isinstance(bag, ast.Subscript))


def any_uses(tree: ast.Module) -> int:
    """Return how often ``Any`` is written, its import aside."""
    return sum(
        (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.Attribute) and node.attr == "Any")
        for node in ast.walk(tree)
    )


def untyped_keywords(tree: ast.Module) -> int:
    """Return how many functions take ``**name: Any``, or ``**name`` and do not say what."""
    bags = (function.args.kwarg for function in _functions(tree))
    return sum(bag is not None and (bag.annotation is None or any_uses_in(bag.annotation)) for bag in bags)


def any_uses_in(annotation: ast.expr) -> bool:
    """Check whether an annotation is or holds ``Any``."""
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many parameters a function has, without self and cls."""
    args = function.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    bags = sum(bag is not None for bag in (args.vararg, args.kwarg))
    return len(names) - (names[:1] in (["self"], ["cls"])) + bags


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Check whether click calls a function: a parameter of it is an option that a user types."""
    return any(
        "click." in (text := ast.unparse(decorator)) or ".command(" in text or ".group(" in text
        for decorator in function.decorator_list
    )


def comment_lines(text: str) -> int:
    """Return how many lines hold nothing but a comment for a reader."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    own = (token for token in tokens if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"))
    return sum(not token.string.lstrip("# ").startswith(TOOL_COMMENTS) for token in own)


def class_names(found: Iterable[Module]) -> list[str]:
    """Return the names that two or more classes have."""
    counts = Counter(node.name for module in found for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    return sorted(name for name, count in counts.items() if count > 1)


def figures(root: Path) -> dict[str, str]:
    """Return the figures of a checkout, each under the name it is printed with."""
    found = modules(root)
    trees = [module.tree for module in found]
    lines = sum(len(module.text.splitlines()) for module in found)
    comments = sum(comment_lines(module.text) for module in found)
    long = [f for tree in trees for f in _functions(tree) if parameters(f) > PARAMETERS]
    cycles = folder_cycles(found)
    names = class_names(found)
    return {
        "lines": str(lines),
        "modules": str(len(found)),
        "folders in import cycles": f"{sum(map(len, cycles))}{_list(' '.join(cycle) for cycle in cycles)}",
        "string-keyed reads of state": str(sum(map(plain_state_reads, trees))),
        "string-keyed reads of state, through other names too": str(sum(map(state_reads, trees))),
        # A bag under a new name is still one: this figure shows it.
        "string-keyed reads of anything": str(sum(_text_key(node) is not None for t in trees for node in ast.walk(t))),
        "uses of Any": str(sum(map(any_uses, trees))),
        "**name: Any": str(sum(map(untyped_keywords, trees))),
        f"functions with more than {PARAMETERS} parameters": str(sum(not is_command(f) for f in long)),
        f"click commands with more than {PARAMETERS} parameters": str(sum(map(is_command, long))),
        "class names that stand for two classes or more": f"{len(names)}{_list(names)}",
        "comment lines": f"{100 * comments / max(lines, 1):.1f} % ({comments})",
    }


def _list(names: Iterable[str]) -> str:
    """Return what follows a number: what was counted."""
    text = ", ".join(names)
    return f" ({text})" if text else ""


def architecture_tests(root: Path) -> str:
    """Return how many tests of the house rules pytest collects in a checkout."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "tests/test_architecture.py"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    counts = [line.rpartition(": ")[2] for line in done.stdout.splitlines() if "test_architecture.py" in line]
    return str(sum(int(count) if count.isdigit() else 1 for count in counts)) if counts else "cannot be collected"


def main(arguments: list[str]) -> None:
    """Print the figures of the checkout that is named, or of this one."""
    named = [Path(argument) for argument in arguments if not argument.startswith("--")]
    root = named[0] if named else Path(__file__).resolve().parents[2]
    rows = figures(root)
    if "--tests" in arguments:
        rows["tests of the house rules"] = architecture_tests(root)
    for name, value in rows.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main(sys.argv[1:])
