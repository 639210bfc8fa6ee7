"""Which checks a workspace has: rules only, nothing is read or run here."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

VITEST_CONFIGS = tuple(f"vitest.config.{end}" for end in ("ts", "mts", "cts", "js", "mjs", "cjs"))
JEST_CONFIGS = tuple(f"jest.config.{end}" for end in ("ts", "mts", "cts", "js", "mjs", "cjs", "json"))
PYTEST_CONFIGS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py")
REQUIREMENTS = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "requirements-test.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
)
MYPY_CONFIGS = ("mypy.ini", ".mypy.ini")
MARKERS = (
    "package.json",
    "tsconfig.json",
    *VITEST_CONFIGS,
    *JEST_CONFIGS,
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    *PYTEST_CONFIGS,
    *REQUIREMENTS,
    *MYPY_CONFIGS,
    "Cargo.toml",
    "go.mod",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One verification command as shell text, and what must be there before it is worth starting."""

    command: str
    label: str
    needs: tuple[str, ...] = ()
    needs_files: tuple[str, ...] = ()


def declared(commands: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks a user wrote down, as they are; blank ones say nothing."""
    return tuple(Check(command=text.strip(), label=text.strip()) for text in commands if text.strip())


def detect(files: Mapping[str, str]) -> tuple[Check, ...]:
    """Return the checks of every language present, type checks before tests.

    ``files`` maps the ``MARKERS`` found at the top of a workspace to their text ("" where it was not read).
    """
    texts = {name: text.removeprefix("\ufeff") for name, text in files.items()}
    return (*_node_checks(texts), *_python_checks(texts), *_rust_checks(texts), *_go_checks(texts))


def _node_checks(files: Mapping[str, str]) -> Iterator[Check]:
    if "tsconfig.json" in files:
        # A solution file lists no sources of its own: without --build tsc checks nothing and is content.
        solution = re.search(r'"files"\s*:\s*\[\s*\]', files["tsconfig.json"]) and (
            '"references"' in files["tsconfig.json"]
        )
        yield _npx("tsc", "--build --noEmit" if solution else "--noEmit")
    text = files.get("package.json", "")
    package = _parse_json(text)
    script = str(_table(package.get("scripts")).get("test", ""))
    named = {runner for runner in ("vitest", "jest") if re.search(rf"(?<![\w@/-]){runner}(?![\w/-])", script)}
    # Without ``run`` vitest watches the files and never ends.
    for runner, configs, arguments in (("vitest", VITEST_CONFIGS, "run"), ("jest", JEST_CONFIGS, "--silent")):
        configured = any(name in files for name in configs) or (runner == "jest" and "jest" in package)
        depended = any(runner in _table(package.get(key)) for key in ("dependencies", "devDependencies"))
        unreadable = not package and f'"{runner}"' in text
        # A runner left over among the dependencies does not count beside the one the script names.
        if runner in named or configured or (not named and (depended or unreadable)):
            yield _npx(runner, arguments)


def _npx(program: str, arguments: str) -> Check:
    return Check(
        # What is not installed is told, and never fetched from a registry.
        command=f"npx --no-install {program} {arguments}",
        label=program,
        needs=("npx",),
        needs_files=(f"node_modules/.bin/{program}",),
    )


def _python_checks(files: Mapping[str, str]) -> Iterator[Check]:
    project = _parse_toml(files.get("pyproject.toml", ""))
    tools = _table(project.get("tool"))
    keys = _mypy_keys(files, tools)
    if keys is not None:
        # Paths on the command line would override the ones the project has configured.
        target = "" if keys & {"files", "packages", "modules"} else " ."
        yield Check(command=f"python3 -m mypy{target}", label="mypy", needs=("python3",))
    if _uses_pytest(files, project, tools):
        yield Check(command="python3 -m pytest -q", label="pytest", needs=("python3",))


def _mypy_keys(files: Mapping[str, str], tools: Mapping[str, object]) -> set[str] | None:
    """Return the keys of the configuration that mypy itself would take; None if there is none."""
    for name in MYPY_CONFIGS:
        if name in files:
            return _ini_keys(files[name], "mypy") or set()
    if "mypy" in tools:
        return set(_table(tools["mypy"]))
    if not tools and re.search(r"^\[tool\.mypy\]", files.get("pyproject.toml", ""), re.MULTILINE):
        return set()
    return _ini_keys(files.get("setup.cfg", ""), "mypy")


def _uses_pytest(files: Mapping[str, str], project: Mapping[str, object], tools: Mapping[str, object]) -> bool:
    if any(name in files for name in PYTEST_CONFIGS) or "pytest" in tools:
        return True
    if _ini_keys(files.get("setup.cfg", ""), "tool:pytest") is not None:
        return True
    if _ini_keys(files.get("tox.ini", ""), "pytest") is not None:
        return True
    wanted = [line for name in REQUIREMENTS for line in files.get(name, "").splitlines()]
    wanted += _requirements(project)
    # Plugins such as pytest-cov need it; another name goes on with a letter or digit.
    if any(re.match(r"\s*pytest(?![a-z0-9])", requirement, re.IGNORECASE) for requirement in wanted):
        return True
    # A file that cannot be parsed still says so.
    return not project and "pytest" in files.get("pyproject.toml", "")


def _requirements(project: Mapping[str, object]) -> list[str]:
    """List what stands in any table or list of dependencies (a dialect for each packaging tool)."""
    found: list[str] = []
    pending: list[tuple[object, bool]] = [(project, False)]
    while pending:
        value, inside = pending.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if inside:
                    # Poetry and others name packages by keys, not in a list.
                    found.append(key)
                pending.append((inner, inside or key.endswith(("dependencies", "dependency-groups"))))
        elif isinstance(value, list):
            pending.extend((inner, inside) for inner in value)
        elif inside and isinstance(value, str):
            found.append(value)
    return found


def _rust_checks(files: Mapping[str, str]) -> Iterator[Check]:
    if "Cargo.toml" in files:
        yield Check(command="cargo check --quiet", label="cargo check", needs=("cargo",))
        yield Check(command="cargo test --quiet", label="cargo test", needs=("cargo",))


def _go_checks(files: Mapping[str, str]) -> Iterator[Check]:
    if "go.mod" in files:
        yield Check(command="go vet ./...", label="go vet", needs=("go",))
        yield Check(command="go test ./...", label="go test", needs=("go",))


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _parse_json(text: str) -> dict[str, object]:
    try:
        return _table(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _parse_toml(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _ini_keys(text: str, section: str) -> set[str] | None:
    """Return the keys of one section, None without it; reads also what a strict parser refuses."""
    found: set[str] | None = None
    here = False
    for line in text.splitlines():
        if header := re.match(r"\[([^\]]*)\]", line):
            here = header[1] == section
            found = set() if here and found is None else found
        elif here and found is not None and (key := re.match(r"([\w-]+)\s*[=:]", line)):
            found.add(key[1])
    return found
