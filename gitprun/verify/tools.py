"""Compilers and linters that look at a tree without building it: how each is asked, and what it says; pure.

Which of a tool's rules count is said here: those that mean a fault of the program, whoever's taste it is written in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

# One argument of a program may have 128 KB on Linux, and the whole command is one of a shell.
COMMAND_MAX = 100_000
# Names that ruff does not know, use before assignment, a second definition that hides the first, and syntax. Unused
# imports and the like make no program wrong, and two sides may well come to one together.
RUFF_FAULTS = "E9,F7,F811,F821,F822,F823"
_LINE_NUMBER = re.compile(r"\bline \d+")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """What a tool says of a file: its path in the tree, and the words without the place in the file."""

    path: str
    text: str

    @property
    def key(self) -> str:
        """Return what two messages have in common that say the same: no path and no number of a line."""
        # Without the path: a file that one side moved keeps its messages.
        return _LINE_NUMBER.sub("line", self.text)


@dataclass(frozen=True, slots=True)
class Invocation:
    """Shell text that starts a tool in a folder of the tree ("" is its top)."""

    folder: str
    command: str

    @property
    def text(self) -> str:
        """Return the whole of it as shell text for the top of the tree."""
        return f"cd {shlex.quote(f'./{self.folder}')} && {self.command}" if self.folder else self.command


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLayout:
    """What a tree is made of, as far as tools ask: all its paths, and the package that Java files say they are in."""

    paths: Collection[str]
    packages: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program that looks at files with one of these ``endings``.

    ``ask`` writes what to start for changed files of a tree, ``read`` yields what the output says. ``codes`` are the
    exit codes of a look that came to its end, ``gave_up`` matches a line that says that it did not. ``faults`` matches
    the messages that mean a fault (None: all of them). ``stops``: at an error it leaves the rest unsaid, so of a side
    with errors it is not known what else is wrong.
    """

    name: str
    program: str
    language: str
    endings: tuple[str, ...]
    ask: Callable[[Sequence[str], TreeLayout], tuple[Invocation, ...]]
    read: Callable[[Sequence[str]], Iterator[ToolMessage]]
    codes: tuple[int, ...]
    gave_up: re.Pattern[str] | None = None
    faults: re.Pattern[str] | None = None
    stops: bool = False


def find_package(text: str) -> str:
    """Return the package that the text of a Java file declares; empty for none."""
    found = _PACKAGE.search(text)
    return found[1] if found else ""


def _listed(command: str, files: Sequence[str]) -> str:
    # With a folder before them: a name could begin like an option, or like a file of options.
    return f"{command} {shlex.join(f'./{path}' for path in files)}"


def _above(path: str, marker: str, paths: Collection[str]) -> str | None:
    """Return the nearest folder of a path or above it that has a file of this name."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if f"{folder}/{marker}".lstrip("/") in paths:
            return folder
    return None


def _projects(files: Sequence[str], marker: str, layout: TreeLayout) -> dict[str, list[str]]:
    """Sort files by the project they are part of; what is part of none is left out."""
    found: dict[str, list[str]] = {}
    for path in files:
        folder = _above(path, marker, layout.paths)
        if folder is not None:
            found.setdefault(folder, []).append(path)
    return found


def _ask_javac(files: Sequence[str], layout: TreeLayout) -> tuple[Invocation, ...]:
    roots: dict[str, None] = {}
    for path, package in layout.packages.items():
        folder, inner = path.rpartition("/")[0], package.replace(".", "/")
        if folder == inner or folder.endswith(f"/{inner}") or not inner:
            roots[folder.removesuffix(inner).rstrip("/") if inner else folder] = None
    # Short-lived: what the virtual machine would gain by its optimizing compiler, it would not live to see.
    words = "-J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -J-Duser.language=en "
    # Nothing but a look: no processors, no files, to the end of what can be said although types are missing (under both
    # names that the switches of the JDK have had), and in English.
    words += "-proc:none -Xlint:none -nowarn -implicit:none -encoding UTF-8 -Xmaxerrs 100000"
    for policy in ("should-stop.if", "shouldStopPolicyIf"):
        words += f" -XD{policy}Error=FLOW -XD{policy}NoError=FLOW"
    source = ":".join(f"./{root}" for root in roots)
    asked = [path for path in files if path.rpartition("/")[2] not in ("module-info.java", "package-info.java")]
    return (Invocation("", _listed(f"javac {words} -sourcepath {shlex.quote(source)}", asked)),) if asked else ()


def _ask_tsc(files: Sequence[str], layout: TreeLayout) -> tuple[Invocation, ...]:
    found = _projects(files, "tsconfig.json", layout)
    return tuple(Invocation("", f"tsc --noEmit --pretty false -p {shlex.quote(f'./{folder}')}") for folder in found)


def _ask_go(files: Sequence[str], layout: TreeLayout) -> tuple[Invocation, ...]:
    found = []
    for folder, inner in _projects(files, "go.mod", layout).items():
        packages = dict.fromkeys(path.removeprefix(f"{folder}/").rpartition("/")[0] for path in inner)
        # Nothing is fetched, neither modules nor another version of go itself.
        words = _listed("env GOPROXY=off GOTOOLCHAIN=local go vet", list(packages))
        found.append(Invocation(folder, words))
    return tuple(found)


def _ask_ruff(files: Sequence[str], layout: TreeLayout) -> tuple[Invocation, ...]:
    words = f"ruff check --isolated --no-cache --quiet --output-format concise --select {RUFF_FAULTS}"
    return (Invocation("", _listed(words, files)),)


def _ask_pyflakes(files: Sequence[str], layout: TreeLayout) -> tuple[Invocation, ...]:
    return (Invocation("", _listed("pyflakes", files)),)


def _ask_cargo(files: Sequence[str], layout: TreeLayout) -> tuple[Invocation, ...]:
    found = _projects(files, "Cargo.toml", layout)
    words = "cargo check --offline --quiet --all-targets --message-format short"
    return tuple(Invocation(folder, words) for folder in found)


def _reader(pattern: str) -> Callable[[Sequence[str]], Iterator[ToolMessage]]:
    """Return what reads messages of one line each."""
    shape = re.compile(pattern)

    def read(lines: Sequence[str]) -> Iterator[ToolMessage]:
        for line in lines:
            if found := shape.fullmatch(line):
                yield ToolMessage(found["path"].removeprefix("./"), " ".join(found["said"].split()))

    return read


_JAVAC = re.compile(r"(?P<path>\S.*?\.java):\d+: (?P<kind>error|warning): (?P<said>.*)")
_SYMBOL = re.compile(r"  symbol: +(.*)")


def _read_javac(lines: Sequence[str]) -> Iterator[ToolMessage]:
    """Yield errors, with the symbol that was not found; where it was looked for changes with names around it."""
    waiting: tuple[str, str] | None = None
    for line in lines:
        if found := _JAVAC.fullmatch(line):
            if waiting:
                yield ToolMessage(*waiting)
            said = " ".join(found["said"].split())
            waiting = (found["path"].removeprefix("./"), said) if found["kind"] == "error" else None
        elif waiting and (symbol := _SYMBOL.fullmatch(line)):
            yield ToolMessage(waiting[0], f"{waiting[1]}: {symbol[1].strip()}")
            waiting = None
    if waiting:
        yield ToolMessage(*waiting)


# In this order: of several for one language the first that is there is asked.
TOOLS = (
    Tool(
        name="javac",
        program="javac",
        language="Java",
        endings=(".java",),
        ask=_ask_javac,
        read=_read_javac,
        codes=(0, 1),
    ),
    Tool(
        name="tsc",
        program="tsc",
        language="TypeScript",
        endings=(".ts", ".tsx", ".mts", ".cts"),
        ask=_ask_tsc,
        read=_reader(r"(?P<path>[^\s(][^(]*)\(\d+,\d+\): error (?P<said>TS\d+: .*)"),
        codes=(0, 1, 2),
        # Faults of the configuration, types of packages that are not installed: no file is looked at then.
        gave_up=re.compile(r"error TS\d+: .*"),
    ),
    Tool(
        name="go vet",
        program="go",
        language="Go",
        endings=(".go",),
        ask=_ask_go,
        read=_reader(r"(?:vet: )?(?P<path>\S+\.go):\d+(?::\d+)?: (?P<said>.+)"),
        codes=(0, 1, 2),
        stops=True,
    ),
    Tool(
        name="ruff",
        program="ruff",
        language="Python",
        endings=(".py", ".pyi"),
        ask=_ask_ruff,
        read=_reader(r"(?P<path>.+?):\d+:\d+: (?P<said>(?:[A-Z]+\d+|invalid-syntax:|SyntaxError:) .+)"),
        codes=(0, 1),
    ),
    Tool(
        name="pyflakes",
        program="pyflakes",
        language="Python",
        endings=(".py",),
        ask=_ask_pyflakes,
        read=_reader(r"(?P<path>.+?):\d+:(?:\d+:?)? (?P<said>.+)"),
        codes=(0, 1),
        # As RUFF_FAULTS, in its words; what is no warning of its own is Python's on syntax.
        faults=re.compile(
            r"(?!.* imported but unused|.* unable to detect undefined names|.* is assigned to but never used"
            r"|.* may be undefined, or defined from star imports|.* is unused|f-string is missing placeholders"
            r"|.*%.* format string|.*\.format\(\.\.\.\)|dictionary key |use ==/!= to compare|assertion is always true"
            r"|'from .* import \*' used; unable|import .* shadowed by loop variable|local variable .* never used)"
        ),
    ),
    Tool(
        name="cargo check",
        program="cargo",
        language="Rust",
        endings=(".rs",),
        ask=_ask_cargo,
        read=_reader(r"(?P<path>\S.*?\.rs):\d+:\d+: error(?P<said>(?:\[E\d+\])?: .+)"),
        codes=(0, 101),
        stops=True,
    ),
)
