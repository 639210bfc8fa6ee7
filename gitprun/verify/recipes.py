"""Which checks a workspace has, and what their ending means: rules only, nothing is read or run here.

A check that could not run is never a pass: a missing tool, an empty collection and a time limit have their
own state, also where a script hides them behind exit code 0.
"""

from __future__ import annotations

import json
import re
import signal
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitprun.units import CheckState, Exit

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

NO_TESTS = "no tests were collected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One verification command as shell text, and what must be there before it is worth starting."""

    command: str
    label: str
    needs: tuple[str, ...] = ()
    needs_files: tuple[str, ...] = ()


def declared(commands: Sequence[str]) -> tuple[Check, ...]:
    """Give the checks a user wrote down, as they are; blank ones say nothing."""
    return tuple(Check(command=text.strip(), label=text.strip()) for text in commands if text.strip())


def detect(files: Mapping[str, str]) -> tuple[Check, ...]:
    """Give the checks of every language present, type checks before tests.

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
    for runner, configs, arguments in (("vitest", VITEST_CONFIGS, "run"), ("jest", JEST_CONFIGS, "--silent")):
        configured = any(name in files for name in configs) or (runner == "jest" and "jest" in package)
        depended = any(runner in _table(package.get(key)) for key in ("dependencies", "devDependencies"))
        unreadable = not package and f'"{runner}"' in text
        # A runner left over among the dependencies does not count beside the one the script names.
        if runner in named or configured or (not named and (depended or unreadable)):
            yield _npx(runner, arguments)


def _npx(program: str, arguments: str) -> Check:
    return Check(
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


def _mypy_keys(files: Mapping[str, str], tools: Mapping[str, Any]) -> set[str] | None:
    """Give the keys of the configuration that mypy itself would take; None if there is none."""
    for name in MYPY_CONFIGS:
        if name in files:
            return _ini_keys(files[name], "mypy") or set()
    if "mypy" in tools:
        return set(_table(tools["mypy"]))
    if not tools and re.search(r"^\[tool\.mypy\]", files.get("pyproject.toml", ""), re.MULTILINE):
        return set()
    return _ini_keys(files.get("setup.cfg", ""), "mypy")


def _uses_pytest(files: Mapping[str, str], project: Mapping[str, Any], tools: Mapping[str, Any]) -> bool:
    if any(name in files for name in PYTEST_CONFIGS) or "pytest" in tools:
        return True
    if _ini_keys(files.get("setup.cfg", ""), "tool:pytest") is not None:
        return True
    if _ini_keys(files.get("tox.ini", ""), "pytest") is not None:
        return True
    wanted = [line for name in REQUIREMENTS for line in files.get(name, "").splitlines()]
    wanted += _requirements(project)
    if any(re.match(r"\s*pytest(?![a-z0-9])", requirement, re.IGNORECASE) for requirement in wanted):
        return True
    return not project and "pytest" in files.get("pyproject.toml", "")


def _requirements(project: Mapping[str, Any]) -> list[str]:
    """List what stands in any table or list of dependencies (a dialect for each packaging tool)."""
    found: list[str] = []
    pending: list[tuple[Any, bool]] = [(project, False)]
    while pending:
        value, inside = pending.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if inside:
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


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _parse_json(text: str) -> dict[str, Any]:
    try:
        return _table(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _ini_keys(text: str, section: str) -> set[str] | None:
    """Give the keys of one section, None without it; reads also what a strict parser refuses."""
    found: set[str] | None = None
    here = False
    for line in text.splitlines():
        if header := re.match(r"\[([^\]]*)\]", line):
            here = header[1] == section
            found = set() if here and found is None else found
        elif here and found is not None and (key := re.match(r"([\w-]+)\s*[=:]", line)):
            found.add(key[1])
    return found


# What test runners say when they had nothing to run ...
RAN_NOTHING = re.compile(
    r"""^(?:
      [=\ ]*no\ tests\ (?:ran|collected)\b          # pytest
    | [=\ ]*\d+\ deselected\b.*\ in\ [\d.]+s
    | collected\ 0\ items\b
    | collected\ .*/\ 0\ selected
    | running\ 0\ tests$                            # cargo
    | No\ tests\ found\b                            # jest
    | No\ test\ files\ found\b                      # vitest
    | \?[\ \t]+\S+[\ \t]+\[no\ test\ files\]$       # go
    | ok[\ \t]+\S+[\ \t].*\[no\ tests\ to\ run\]$
    | go:\ warning:\ .*\ matched\ no\ packages$
    | Ran\ 0\ tests\ in\b                           # unittest
    | NO\ TESTS\ RAN\b
    | [\ ]*0\ passing\b                             # mocha
    | (?:\#|ℹ)\ tests\ 0$                           # node --test
    )""",
    re.MULTILINE | re.VERBOSE,
)
# ... and what any of them says when there was something.
RAN_SOMETHING = re.compile(
    r"""
      \b[1-9]\d*\ (?:passed|failed|passing|failing)\b
    | ^running\ [1-9]\d*\ tests?$
    | ^collected\ [1-9]\d*\ items?(?!.*/\ 0\ selected)
    | ^ok[\ \t](?!.*\[no\ tests\ to\ run\]$)
    | ^---\ (?:PASS|FAIL)
    | ^Ran\ [1-9]\d*\ tests?\ in\b
    | ^(?:\#|ℹ)\ tests\ [1-9]
    """,
    re.MULTILINE | re.VERBOSE,
)
# Said by a tool that gave up before it looked at the code; means something only beside a failing exit code.
GAVE_UP = re.compile(
    r"""^(?:
      (?:\S*/)?python[\w.-]*:\ No\ module\ named\ .*
    | make(?:\[\d+\])?:\ \*\*\*\ .*\ Error\ 12[67]
    | npm\ (?:error|ERR!)\ npx\ canceled\ .*
    | error:\ rustup\ could\ not\ choose\ .*
    | error\ TS(?:5094|18003):\ .*
    | There\ are\ no\ \.py\[i\]\ files\ .*
    | mypy:\ error:\ .*
    | Can't\ find\ package\ .*
    | No\ tests\ found,\ exiting\ .*
    | No\ test\ files\ found,\ exiting\ .*
    )$""",
    re.MULTILINE | re.VERBOSE,
)
# What shells, env and python -m say about a program that is not there.
NOT_FOUND = re.compile(
    r"""(?:
      .+:\ (?:line\ )?\d+:\ .+:\ (?:command\ )?not\ found
    | \S*sh:\ .+:\ (?:command\ )?not\ found
    | \S+:\ command\ not\ found:\ .+
    | \S*env:\ .+:\ No\ such\ file\ or\ directory
    | (?:\S*/)?python[\w.-]*:\ No\ module\ named\ .+
    )""",
    re.VERBOSE,
)
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
PYTEST_GAVE_UP = {3: "pytest stopped on an error of its own", 4: "pytest was called in a wrong way"}
PYTEST_SAID = re.compile(r"^(?:ERROR: (?!usage:)|INTERNALERROR> (?=\S*Error\b)|.*: error: ).*$", re.MULTILINE)
LINE_LIMIT = 300


def judge(check: Check, ended: Exit, tail: str) -> tuple[CheckState, str]:
    """Say what the end of a check means and why; ``tail`` is the last part of its output.

    Sources: pytest's documented exit codes; the shell's 126, 127 and 128 + signal.
    """
    output = "\n".join(ESCAPES.sub("", tail).splitlines())
    last = _last_line(output)
    if ended.reason == "timeout":
        return "could-not-run", f"stopped after {round(ended.seconds, 1):g} s"
    if ended.reason == "stopped":
        return "could-not-run", f"stopped before its end{_aside(ended.detail)}"
    if ended.reason == "not-started":
        return "could-not-run", f"could not be started{_aside(ended.detail)}"
    if ended.signal is not None:
        return "fail", f"killed by {_signal_name(ended.signal)}"
    if ended.code == 0:
        return _judge_success(output, last)
    return _judge_failure(check, ended.code, output, last)


def _judge_success(output: str, last: str) -> tuple[CheckState, str]:
    if RAN_NOTHING.search(output) and not RAN_SOMETHING.search(output):
        return "could-not-run", NO_TESTS
    # A pipe or a trailing command inside a script hides exit code 127, but not the shell's last word.
    if NOT_FOUND.fullmatch(last):
        return "could-not-run", f"command not found{_aside(last)}"
    return "pass", ""


def _judge_failure(check: Check, code: int | None, output: str, last: str) -> tuple[CheckState, str]:
    pytest = re.search(r"\b(?:pytest|py\.test)\b", check.command) is not None
    if code is None:
        return "could-not-run", "ended without an exit code"
    if code == 127:
        return "could-not-run", f"command not found{_aside(last)}"
    if code == 126:
        return "could-not-run", f"command not executable{_aside(last)}"
    if code == 5 and (pytest or (RAN_NOTHING.search(output) and not RAN_SOMETHING.search(output))):
        return "could-not-run", NO_TESTS
    # A conftest.py that does not load is broken code, though pytest calls it a usage error.
    if pytest and code in PYTEST_GAVE_UP and "while loading conftest" not in output:
        said = PYTEST_SAID.search(output)
        return "could-not-run", f"{PYTEST_GAVE_UP[code]}{_aside(_last_line(said[0]) if said else last)}"
    said = GAVE_UP.search(output)
    if said and not RAN_SOMETHING.search(output):
        return "could-not-run", NO_TESTS if said[0].startswith("No test") else _last_line(said[0])
    killed = f" (perhaps {_signal_name(code - 128)})" if 129 < code < 160 else ""
    return "fail", f"exit {code}{killed}" + (f": {last}" if last else "")


def _last_line(output: str) -> str:
    """Give the last line that says something, cut and fit to be shown on a terminal."""
    line = next((line for line in reversed(output.splitlines()) if line.strip()), "")
    shown = "".join(mark for mark in " ".join(line.split()) if mark.isprintable())
    return shown if len(shown) <= LINE_LIMIT else shown[: LINE_LIMIT - 1] + "…"


def _aside(text: str) -> str:
    return f" ({text})" if text else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
