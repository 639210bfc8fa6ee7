"""Which files are tests, which test cases a text holds, and where it says that some of them are not run.

All of it is read by lines and literal tables, never by running or importing anything. What no table knows counts as
no test: to miss a rare runner is better than to hold work that touched no test. Patterns are texts, compiled when they
are first used: most landings need few of them.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Everything below such a folder belongs to the tests, at any depth.
TEST_FOLDERS = frozenset({"tests", "test", "spec", "specs", "__tests__"})
# Where tests are put that shall run no more.
PARKED = frozenset({"attic", "disabled", "off", "skip", "skipped", "old", "archive", "quarantine", "broken"})
_NAMES = (
    r"(?:test_.*|.*_test|tests|conftest)\.pyi?",
    r".*[._-](?:test|spec|cy|e2e)\.[cm]?[jt]sx?",
    r".*_test\.(?:go|rs|rb|exs|dart|lua|cc|cpp|cxx|c|sh|bats|[jt]s|erl|hs)",
    r"test_.*\.(?:c|cc|cpp|cxx|rb|sh|bash|bats|rs|lua|pl|R|r|jl|zig)",
    r"test-.*\.(?:R|r|sh)",
    r".*(?:Test|Tests|TestCase|IT|Spec)\.(?:java|kt|kts|groovy|scala|cs|fs|vb|php|swift|m|mm)",
    r".*_spec\.(?:rb|lua|cr)|.*_unittest\.(?:c|cc|cpp|py)|.*Spec\.hs|.*_SUITE\.erl|.*\.(?:bats|t|feature)",
)
_NAMED = "|".join(_NAMES)
# Beyond this a file is compared as a whole: 1 MB of test cases is none that a person wrote.
LARGEST = 1_000_000


def is_test(path: str) -> bool:
    """Check whether a path belongs to the tests: by a folder above it, or by its own name."""
    *folders, name = path.split("/")
    return any(_is_test_folder(folder) for folder in folders) or is_named_test(name)


def is_named_test(path: str) -> bool:
    """Check whether a file is named as runners look for tests."""
    return re.fullmatch(_NAMED, path.rpartition("/")[2]) is not None


def still_collected(old: str, new: str) -> bool:
    """Check whether a test that went from one path to another is still one that a runner finds."""
    # A folder of such a name that the test lay in before hides nothing.
    if not is_test(new) or PARKED & {part.lower() for part in new.split("/")[:-1]} - set(old.lower().split("/")):
        return False
    if is_named_test(old):
        return is_named_test(new) and _ending(old) == _ending(new) and (_in_folder(new) or not _in_folder(old))
    return _ending(old) == _ending(new)


def _is_test_folder(name: str) -> bool:
    return name.lower() in TEST_FOLDERS or name.endswith((".Tests", ".Test", ".tests"))


def _in_folder(path: str) -> bool:
    return any(map(_is_test_folder, path.split("/")[:-1]))


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()


@dataclass(frozen=True, slots=True)
class Case:
    """One test case: its name, its lines (the second not included), and whether it says anything at all."""

    name: str
    first: int
    end: int
    live: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """One place that keeps test cases from running: its line, the word, and the case it is about (empty: all)."""

    line: int
    word: str
    case: str


# Neither as a method (`x.it(`) nor at the end of a longer word.
_JS = (
    r"(?<![\w.$])(?:it|test|specify|fit|xit|xtest|ftest)\b(?:\.\w+)*\s*(?:\([^()\n]*\)|\[[^\]\n]*\])?\s*"
    r"\(\s*([\"'`])(?P<name>.*?)\1"
)
# Bounded between annotation and method, or one without a method would be sought through the whole file.
_JVM = (
    r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b[^{};]{0,400}?(?:void|fun)\s+"
    r"(?P<name>`[^`\n]+`|\w+)\s*\("
)
_C = (
    r"^[ \t]*(?:TYPED_|BOOST_(?:AUTO|FIXTURE)_|START_|CATCH_)?(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO)\s*"
    r"\((?P<name>[^)\n]*)\)|^[ \t]*(?:static\s+)?(?:void|int|bool)\s+(?P<plain>test_?\w*)\s*\("
)
_RUST = (
    r"^[ \t]*\#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b[^\n]*\]\s*"
    r"(?:\#\[[^\n]*\]\s*|//[^\n]*\n\s*){0,20}(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"
)
_RUBY = (
    r"^[ \t]*(?:it|specify|test|scenario|xit|fit)\b\s*\(?\s*([\"'])(?P<name>.*?)\1"
    r"|^[ \t]*def\s+(?P<plain>test_\w+)"
)
_CASES = {
    "py": r"^[ \t]*(?:async\s+)?def\s+(?P<name>test\w*)\s*\(",
    "go": r"^func\s+(?P<name>(?:Test|Benchmark|Fuzz|Example)\w*)\s*\(",
    "rs": _RUST,
    **dict.fromkeys(("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "dart"), _JS),
    **dict.fromkeys(("java", "kt", "kts", "scala", "groovy"), _JVM),
    **dict.fromkeys(("c", "cc", "cpp", "cxx", "m", "mm"), _C),
    "cs": r"\[(?:\w+\.)*(?:Fact|Theory|Test|TestMethod|TestCase)\b[^{};]{0,400}?(?:void|Task)\s+(?P<name>\w+)\s*\(",
    "rb": _RUBY,
    "php": r"function\s+(?P<name>test\w*)\s*\(|^[ \t]*(?:it|test)\(\s*([\"'])(?P<plain>.*?)\2",
    "swift": r"func\s+(?P<name>test\w*)\s*\(|@Test\b[^{}]{0,200}?func\s+(?P<plain>\w+)",
    **dict.fromkeys(("exs", "ex"), r"^[ \t]*(?:test|property)\s+\"(?P<name>.*?)\""),
    "bats": r"^@test\s+([\"'])(?P<name>.*?)\1",
    **dict.fromkeys(("sh", "bash"), r"^[ \t]*(?:function\s+)?(?P<name>test\w*)\s*\(\)"),
    "lua": r"^[ \t]*it\(\s*([\"'])(?P<name>.*?)\1",
    "r": r"test_that\(\s*([\"'])(?P<name>.*?)\1",
    "jl": r"@testset\s+\"(?P<name>.*?)\"",
    "t": r"subtest\s+([\"'])(?P<name>.*?)\1",
}
# To exit with 0 ends the run of all tests, and calls it a success.
_EXITS = r"(?<!\w)(?:(?:sys\.|os\._?|process\.|System\.|std::process::)?exit\(\s*0?\s*\)|os\.Exit\(0\))"
_OFF_BY = r"^\s*if\s*\(?\s*(?:false|False|0)\b"
_MARKS: dict[str, tuple[str, ...]] = {
    "py": (
        r"\bmark\.(?:skip|skipif|xfail)\b",
        r"\bpytest\.(?:skip|xfail|importorskip|exit)\s*\(",
        r"\bunittest\.(?:skip\w*|expectedFailure|SkipTest)",
        r"^\s*@(?:skip|skipIf|skipUnless|skipif|xfail|expectedFailure)\b",
        r"\.skipTest\(|raise\s+SkipTest|__test__\s*=\s*False|\bcollect_ignore(?:_glob)?\b",
        # Hooks that leave tests out, or turn what came of them.
        r"\bpytest_(?:ignore_collect|collection_modifyitems|runtest_makereport|runtest_protocol|sessionfinish)\b",
        _OFF_BY,
        _EXITS,
    ),
    "js": (
        r"\b(?:it|describe|test|suite|context|specify)\.(?:\w+\.)*"
        r"(?:skip|skipIf|todo|fixme|fails?|failing|only|runIf|ignore)\b",
        r"(?<![\w.])(?:xit|xtest|xdescribe|xcontext|fit|fdescribe|ftest)\s*\(",
        r"\bthis\.skip\(|\b(?:skip|ignore|only|todo)\s*:\s*(?!false)\S",
        _OFF_BY,
        _EXITS,
    ),
    "go": (r"\b[tb]\.Skip(?:f|Now)?\(", r"^//(?:go:build| \+build)\b.*\bignore\b", _EXITS),
    "rs": (r"\#\[ignore\b", r"\#\[cfg_attr\([^\n]*\bignore\b", r"\#\[cfg\((?:any\(\)|FALSE|never)\)\]"),
    "jvm": (
        r"@(?:\w+\.)*(?:Disabled\w*|Ignore|EnabledIf\w*|Ignored)\b",
        r"@Test\([^)\n]*enabled\s*=\s*false",
        r"\bassum(?:e|ing)\w*\(\s*(?:false|true)",
        _OFF_BY,
        _EXITS,
    ),
    "cs": (
        r"\[(?:\w+\.)*(?:Ignore|Explicit)\b|\bSkip\s*=",
        r"\bAssert\.(?:Ignore|Inconclusive|Skip)\(|^\s*\#if\s+(?:false|FALSE)",
    ),
    "rb": (
        r"^\s*(?:skip|pending)\b|\b(?:skip|pending)\s*[:(]|:skip\b|:pending\b|\bfocus:\s*true|^\s*__END__\s*$",
        r"(?<![\w.])(?:xit|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\b",
    ),
    "php": (r"\bmarkTest(?:Skipped|Incomplete)\b|->(?:skip|todo|only)\(|@group\s+(?:skip|disabled)",),
    "swift": (r"\bXCTSkip\w*|\.disabled\(",),
    "c": (
        r"\bGTEST_SKIP\b|\bDISABLED_\w|\[\.\]|\[!(?:hide|shouldfail|mayfail)\]|^\s*\#\s*if\s+0\b|\bTEST_IGNORE",
        _EXITS,
    ),
    "ex": (r"@(?:tag|moduletag|describetag)\s+:?(?:skip|pending)",),
    "sh": (
        # 77 means skipped to automake.
        r"^\s*(?:exit|return)\s+(?:0|77)\s*(?:\#.*)?$|^\s*exit\s*$|^\s*if\s+false\b",
        r"^\s*skip\b|^\s*(?:\w+\s*\|\|\s*)?startSkipping\b",
    ),
    "dart": (r"\bskip\s*:\s*(?!false)\S|@Skip\b",),
    "lua": (r"^\s*pending\(",),
    "r": (r"\bskip(?:_\w+)?\(",),
    "jl": (r"@test_(?:skip|broken)\b",),
    "t": (r"\bskip_all\b|\bTODO\b|\bskip\(?\s",),
}
_FAMILY = {
    **{ending: ending for ending in ("py", "go", "rs", "cs", "rb", "php", "swift", "dart", "lua", "r", "jl", "t")},
    **dict.fromkeys(("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts"), "js"),
    **dict.fromkeys(("java", "kt", "kts", "scala", "groovy"), "jvm"),
    **dict.fromkeys(("c", "cc", "cpp", "cxx", "m", "mm"), "c"),
    **dict.fromkeys(("exs", "ex"), "ex"),
    **dict.fromkeys(("sh", "bash", "bats"), "sh"),
}


@functools.cache
def _case_pattern(ending: str) -> re.Pattern[str] | None:
    return re.compile(_CASES[ending], re.MULTILINE) if ending in _CASES else None


@functools.cache
def _mark_pattern(ending: str) -> re.Pattern[str] | None:
    return re.compile("|".join(_MARKS[_FAMILY[ending]])) if ending in _FAMILY else None


# What keeps tests of other files from running too, wherever it is written.
_FAR = r"(?i)\.only\b|\bfit\b|\bfdescribe\b|\bfcontext\b|\bfocus:|collect_ignore|pytest_\w+|exit\b|Exit\("
_COMMENT = r"\s*(?:#(?!!?\[|\s*if|include|define)|//(?!go:build| \+build)|--(?=\s)|\*|/\*|;)"
_TRIVIAL = (
    r"\s*(?:pass|return(?:\s+(?:0|true|True|nil|None|null))?|true|True|:|\.\.\.|exit(?:\s+0)?|set\s+-\w+|\"use strict\""
    r"|(?:sys\.|process\.|os\._)?exit\(0?\)|assert\s+(?:True|1|true)|(?:self\.)?assert(?:_|True|!|\.ok)?\(\s*[Tt]rue\s*\)"
    r"|expect\(\s*true\s*\)(?:\.\w+)*\(\s*(?:true)?\s*\)|end|fi|done|esac|(?:\"\"\"|''').*|[\[\](){};,.\s]+)?\s*;?\s*"
)
_HEAD = (
    r"\s*(?:async\s*)?(?:function\s*\w*\s*|self\s*,?\s*)?(?:\([^()]*\)|[^()\n]*\)|\w+\s*(?==>))?\s*"
    r"(?:->\s*[\w\[\], .|]+|=>|throws\s+[\w.,\s]+)?\s*[:{]?\s*"
)
_CLOSES = r"\s*[\])}\s;,]*(?:end|fi)?[\s;]*"


def find_cases(path: str, text: str) -> tuple[Case, ...]:
    """List the test cases of a text, in their order; none where its language has no table."""
    pattern = _case_pattern(_ending(path))
    if pattern is None or len(text) > LARGEST:
        return ()
    lines = text.split("\n")
    found: list[tuple[str, int, int]] = []
    at = number = 0
    for match in pattern.finditer(text):
        number, at = number + text.count("\n", at, match.start()), match.start()
        while not lines[number].strip():
            number, at = number + 1, text.index("\n", at) + 1
        last = number + text.count("\n", at, match.end())
        groups = match.groupdict()
        if re.match(_COMMENT, lines[number]) is None:
            found.append(((groups["name"] or groups.get("plain") or "").strip(), number, last))
    ends = [*(first for _, first, _ in found[1:]), len(lines)]
    return tuple(
        Case(name, first, *_body(lines, first, last, end))
        for (name, first, last), end in zip(found, ends, strict=False)
    )


def _body(lines: Sequence[str], first: int, last: int, end: int) -> tuple[int, bool]:
    """Return where a test case ends, by its indentation, and whether it says anything."""
    indent = _indent(lines[first])
    at, live = last + 1, False
    while at < end:
        line = lines[at]
        if (
            line.strip()
            and _indent(line) <= indent
            and not re.fullmatch(_CLOSES, line)
            and not line.strip().startswith("{")
        ):
            break
        live = live or not (re.match(_COMMENT, line) or re.fullmatch(_TRIVIAL, line))
        at += 1
    if at > last + 1 and live:
        return at, True
    # All on one line, perhaps.
    head = lines[last]
    quoted = max(head.rfind('",'), head.rfind("',"), head.rfind("`,"))
    rest = head[quoted + 2 :] if quoted >= 0 else head[head.find("(") + 1 :] if "(" in head else ""
    begun = re.match(_HEAD, rest)
    said = (rest[begun.end() :] if begun else rest).strip().rstrip("});, \t")
    return at, said != "" and re.fullmatch(_TRIVIAL, said) is None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def find_marks(path: str, text: str) -> tuple[Mark, ...]:
    """List what keeps test cases of a text from running."""
    pattern = _mark_pattern(_ending(path))
    if pattern is None or len(text) > LARGEST:
        return ()
    cases = find_cases(path, text)
    found: list[Mark] = []
    for number, line in enumerate(text.split("\n")):
        if re.match(_COMMENT, line) is None:
            words = {match.group().strip() for match in pattern.finditer(line)}
            found += [Mark(number, word, _owner(cases, number, line)) for word in sorted(words)]
    return tuple(found)


def _owner(cases: Sequence[Case], number: int, line: str) -> str:
    """Name the case a line is part of, or is written above of; empty where it is about all that follow."""
    at = bisect_right(cases, number, key=lambda case: case.end)
    case = cases[at] if at < len(cases) else None
    above = line.lstrip().startswith(("@", "#[", "["))
    return case.name if case is not None and (case.first <= number or above) else ""


def reaches_far(mark: Mark) -> bool:
    """Check whether a mark keeps tests of other files from running too."""
    return re.search(_FAR, mark.word) is not None


def count_live(path: str, text: str) -> Counter[str]:
    """Count the test cases that say anything, by name."""
    return Counter(case.name for case in find_cases(path, text) if case.live)


def is_empty(text: str) -> bool:
    """Check whether nothing is left of a text but blank lines, comments and statements that do nothing."""
    return not any(_speaking(text))


def _speaking(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if not (re.match(_COMMENT, line) or re.fullmatch(_TRIVIAL, line)))
