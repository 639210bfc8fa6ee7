"""Parts of a file that decide what is checked: a target, a script, a key of a runner; compared and put back alone.

A manifest is changed for many reasons, and all but a few of its keys say nothing about the checks. So a key is found
by its lines, and only these lines are compared, or exchanged for those of another version of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Span = tuple[int, int]
# How the key is called that stands for all settings of one runner.
RUNNER = "runner "
# Beyond so many lines no difference is looked for: it would take seconds.
MOST_LINES = 20_000
JUNK_FROM = 1_000


@dataclass(frozen=True, slots=True)
class RunnerFile:
    """Where a runner of tests is configured.

    ``runner`` is what reads it, ``names`` are the files, ``said`` what the checks mention where they use it,
    ``keys`` what a line holds that decides which tests run, ``sections`` those of its sections that count (None: it has
    none).
    """

    runner: str
    names: tuple[str, ...]
    said: str
    keys: str
    sections: str | None = None


# At the start of a line: indented it is a part of the value above.
_PYTEST_KEYS = r"^(?:addopts|testpaths|norecursedirs|python_files|python_classes|python_functions|xfail_strict)\s*[=:]"
_PYTEST = r"\bpy\.?test\b|\btox\b|\bnox\b|\bhatch\b"
# Neither as a field of something (`x.include`) nor inside of a word.
_JS_KEYS = (
    r"(?<![\w.])[\"']?(?:testPathIgnorePatterns|modulePathIgnorePatterns|testMatch|testRegex|testNamePattern|roots"
    r"|exclude|include|specPattern|excludeSpecPattern|passWithNoTests|testIgnore|testDir|grep|grepInvert|spec|ignore"
    r"|allowOnly|forbidOnly)[\"']?\s*:"
)
_JS = r"\b(?:jest|vitest|playwright|cypress|karma|mocha|ava|wtr|nyc|c8|react-scripts|npm|pnpm|yarn|bun)\b"
_JS_NAMES = (
    *(
        f"{tool}.config.{ending}"
        for tool in ("jest", "vitest", "vite", "playwright", "cypress", "ava")
        for ending in ("js", "ts", "mjs", "cjs", "mts", "cts", "json")
    ),
    *(f".mocharc.{ending}" for ending in ("js", "cjs", "json", "yaml", "yml")),
    *("karma.conf.js", "vitest.workspace.ts", "vitest.workspace.js", "web-test-runner.config.mjs"),
)
_TOX_KEYS = r"^(?:env_?list|commands\w*|ignore_outcome|ignore_errors|skip_missing_interpreters)\s*="
RUNNERS = (
    # Of your own file: what a landing asks is yours as it is, and what comes with a branch asks from then on.
    RunnerFile("prun", ("prun.toml",), r"", r"^(?:run\.)?verify(?:_may_change|_in|_view|_sandbox)?\s*="),
    RunnerFile("pytest", ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"), _PYTEST, _PYTEST_KEYS, "pytest"),
    RunnerFile("pytest", ("pyproject.toml",), _PYTEST, _PYTEST_KEYS, r"tool\.pytest(?:\.ini_options)?"),
    RunnerFile("pytest", ("setup.cfg",), _PYTEST, _PYTEST_KEYS, "tool:pytest"),
    RunnerFile("pytest", ("tox.ini",), _PYTEST, _PYTEST_KEYS, "pytest"),
    RunnerFile("tox", ("tox.ini",), r"\btox\b", _TOX_KEYS, "tox|testenv.*"),
    RunnerFile("javascript", _JS_NAMES, _JS, _JS_KEYS),
    RunnerFile("rspec", (".rspec",), r"\brspec\b|\brake\b", r"\S"),
    RunnerFile(
        "phpunit",
        ("phpunit.xml", "phpunit.xml.dist"),
        r"\bphpunit\b|\bpest\b|\bcomposer\b",
        r"<(?:exclude|directory|file|group|testsuite)\b",
    ),
    RunnerFile("maven", ("pom.xml",), r"\bmvnw?\b", r"skipTests|maven\.test\.skip|testFailureIgnore|<exclude"),
    RunnerFile(
        "gradle",
        ("build.gradle", "build.gradle.kts"),
        r"\bgradlew?\b",
        r"ignoreFailures|enabled\s*=\s*false|exclude|excludeTestsMatching|onlyIf",
    ),
    RunnerFile("cargo", ("Cargo.toml",), r"\bcargo\b", r"^(?:autotests|test|doctest|harness)\s*=\s*false"),
    RunnerFile("nextest", (".config/nextest.toml",), r"\bnextest\b", r"^default-filter\s*="),
    RunnerFile(
        "ctest",
        ("CMakeLists.txt",),
        r"\bctest\b|\bmake\b|\bninja\b",
        r"\bDISABLED\b|\bWILL_FAIL\b|\badd_test\s*\(|enable_testing",
    ),
)


def find_parts(path: str, keys: Collection[str], text: str) -> list[Span]:
    """Find the lines (the end not included) of keys in a file: targets, recipes, or ``runner NAME``."""
    name, lines = path.rpartition("/")[2], text.split("\n")
    if is_makefile(name):
        return list(_rules(lines, keys, tabs=True))
    if is_justfile(name):
        return list(_rules(lines, keys, tabs=False))
    rows = [row for row in RUNNERS if f"{RUNNER}{row.runner}" in keys and _is_one(row, path)]
    found = {span for row in rows for span in _settings(row, lines)}
    return sorted(found)


def _is_one(row: RunnerFile, path: str) -> bool:
    return any(path == name or path.endswith(f"/{name}") for name in row.names)


def is_makefile(name: str) -> bool:
    """Check whether make reads a file of this name."""
    return name in ("GNUmakefile", "makefile", "Makefile") or name.endswith(".mk")


def is_justfile(name: str) -> bool:
    """Check whether just reads a file of this name."""
    return name.lower() in ("justfile", ".justfile") or name.endswith(".just")


def read_json_key(text: str, key: str) -> object:
    """Read ``scripts.test`` or the like; None where it is not there, or the text is no JSON."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def changed_keys(path: str, keys: Collection[str], old: str, new: str) -> tuple[str, ...]:
    """List those of the keys that two versions of a file hold differently."""
    if path.endswith(".json"):
        return tuple(key for key in sorted(keys) if read_json_key(old, key) != read_json_key(new, key))
    return tuple(key for key in sorted(keys) if _texts(path, {key}, old) != _texts(path, {key}, new))


def _texts(path: str, keys: Collection[str], text: str) -> list[str]:
    lines = text.split("\n")
    return ["\n".join(lines[first:end]).rstrip() for first, end in find_parts(path, keys, text)]


def settings_of(path: str, key: str, text: str) -> frozenset[str]:
    """Return what a file sets for a runner, however it is written: as a list or a text, quoted or not."""
    return frozenset(re.sub(r"[\s\"'\[\](){},=:]+", " ", said).strip() for said in _texts(path, {key}, text))


def restore_keys(path: str, keys: Collection[str], old: str, new: str) -> str:
    """Return the new version of a file with these keys, and nothing else, as the old one has them."""
    if path.endswith(".json"):
        return _restore_json(keys, old, new)
    before, after = find_parts(path, keys, old), find_parts(path, keys, new)
    was, now = old.split("\n"), new.split("\n")
    # Parts that came or went cannot be exchanged one for one.
    if len(before) != len(after):
        return restore_lines(old, new, _inside(before), _inside(after))
    # From the end, so that the places before it stay where they are.
    for (first, end), (one, other) in reversed(list(zip(before, after, strict=True))):
        now[one:other] = was[first:end]
    return "\n".join(now)


def _inside(spans: Sequence[Span]) -> set[int]:
    return {line for first, end in spans for line in range(first, end)}


def restore_lines(old: str, new: str, of_old: Collection[int], of_new: Collection[int]) -> str:
    """Return the new text with those of its changes taken back that touch one of these lines (of either side)."""

    def touched(was: range, now: range) -> bool:
        return not set(was).isdisjoint(of_old) or not set(now).isdisjoint(of_new)

    return take_back(old, new, touched)


def take_back(old: str, new: str, touched: Callable[[range, range], bool]) -> str:
    """Return the new text without the changes that ``touched`` names by the lines they replace and put there."""
    # Loaded late: few landings need it.
    from difflib import SequenceMatcher

    was, now = old.split("\n"), new.split("\n")
    if max(len(was), len(now)) > MOST_LINES:
        return old
    made: list[str] = []
    # The work grows with the square of how often one line stands there: in long files such lines are passed over.
    matcher = SequenceMatcher(None, was, now, autojunk=len(now) > JUNK_FROM)
    for tag, a, b, c, d in matcher.get_opcodes():
        made += was[a:b] if tag != "equal" and touched(range(a, b), range(c, d)) else now[c:d]
    return "\n".join(made)


def _restore_json(keys: Collection[str], old: str, new: str) -> str:
    """Set values of a JSON file back; its indentation stays, and so does the order of all other keys."""
    try:
        document: Any = json.loads(new)
    # What cannot be parsed cannot be put back key by key.
    except (ValueError, RecursionError):
        return new
    for key in sorted(keys):
        *above, last = key.split(".")
        value, table = read_json_key(old, key), document
        for part in above:
            table = table.setdefault(part, {}) if isinstance(table, dict) else {}
        if value is not None:
            table[last] = value
        else:
            table.pop(last, None)
    indent = re.search(r"\n([ \t]+)\"", new)
    made = json.dumps(document, indent=indent[1] if indent else None, ensure_ascii=False)
    # The file ends as it did, with a line end or without.
    return made + new[len(new.rstrip()) :]


def _rules(lines: Sequence[str], keys: Collection[str], *, tabs: bool) -> Iterator[Span]:
    """Find rules with their recipes, and (``$NAME``) what is assigned to variables."""
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        assigned = re.match(r"(?:export\s+|override\s+|define\s+)*([\w.-]+)\s*(?:[:?+!]{0,3}=)", line)
        if assigned:
            while lines[at - 1].endswith("\\") and at < len(lines):
                at += 1
            if f"${assigned[1]}" in keys:
                yield first, at
            continue
        # Neither a comment nor an assignment (`:=`), and no line of a recipe.
        head = re.match(r"@?([^\s#:=][^:=#]*?)\s*::?(?!=)", line)
        if head is None or line[:1] in (" ", "\t"):
            continue
        while at < len(lines) and (lines[at - 1].endswith("\\") or _is_recipe(lines, at, tabs=tabs)):
            at += 1
        # Make takes several targets before the colon; just has parameters behind the one name.
        names = head[1].split() if tabs else head[1].split()[:1]
        if not {name.lstrip("@") for name in names}.isdisjoint(keys):
            yield first, at


def _is_recipe(lines: Sequence[str], at: int, *, tabs: bool) -> bool:
    line = lines[at]
    if line.startswith("\t") or (not tabs and line.startswith(" ")):
        return True
    # A blank line inside of a recipe.
    following = lines[at + 1] if at + 1 < len(lines) else ""
    return not line.strip() and (following.startswith("\t") or (not tabs and following.startswith(" ")))


def _settings(row: RunnerFile, lines: Sequence[str]) -> Iterator[Span]:
    inside = row.sections is None
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        # Two brackets as well, as TOML writes lists of tables.
        header = re.match(r"\[+([^\[\]]+)\]+\s*(?:#.*)?$", line)
        if header and row.sections is not None:
            inside = re.fullmatch(row.sections, header[1].strip()) is not None
            continue
        found = re.search(row.keys, line) if inside else None
        if found is None:
            continue
        # A value in brackets goes on until they close, on whichever line that is.
        depth = _depth(line[found.end() :])
        while at < len(lines) and (depth > 0 or _goes_on(row, lines[at])):
            depth += _depth(lines[at])
            at += 1
        yield first, at


def _depth(text: str) -> int:
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


def _goes_on(row: RunnerFile, line: str) -> bool:
    """Check whether a line goes on with the value before it, as ini files do."""
    return row.sections is not None and line[:1] in (" ", "\t") and bool(line.strip())
