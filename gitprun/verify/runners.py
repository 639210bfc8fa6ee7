"""What test runners say about how much they tested, in the words of each: rules only.

Recorded from pytest 9, unittest, nose2, jest, vitest 4, mocha, ava, tap, jasmine, playwright, node 20, deno 2, bun 1,
cargo, go 1.2x, ctest 3, bats, prove, rspec 3, minitest; by their documentation: the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Anything of this kind, said by any runner, and something was tested.
_SOMETHING = re.compile(
    r"""
    # pytest, jest, vitest, mocha, playwright, cargo, deno, nextest, behave, pest, ava, zig ... and scripts of one's own
      \b[1-9]\d*\ (?:(?:tests?|checks?|specs?|cases?|test\ cases?|examples?|assertions?|scenarios?|subtests?)\ )?
        (?:(?:have|has|were|was)\ )?
        (?:x?passed|xfailed|failed|passing|failing|flaky|measured|errored|succeeded|passes)\b
    | ^[\ =]*(?:\d+\ \w+,\ )*[1-9]\d*\ errors?\b.*\ in\ [\d.]+s     # pytest: not even collected
    | ^\ *[1-9]\d*\ (?:pass|fail)$                                  # bun
    | ^(?:\#|ℹ)\ (?:pass|fail|cancelled)\ [1-9]                     # node --test
    | ^---\ (?:PASS|FAIL):                                          # go
    | "Action":"(?:pass|fail)".*"Test":                             # go test -json
    | ^(?:Failed:\ +\d+,\ )?\ *(?:-\ )?(?:Passed|Failed|succeeded|failed|Ok):\ +[1-9]  # dotnet, lit, meson
    | !\ +-\ Failed:\ +(?:[1-9]\d*,|\d+,\ Passed:\ +[1-9])
    | ^Tests:\ succeeded\ (?:[1-9]|\d+,\ failed\ [1-9])             # scalatest
    | ^(?:Passed|Failed):\ Total\ [1-9]                             # sbt
    | ^>\ Task\ :(?:[\w.-]+:)*
        (?:test|test\w*UnitTest|(?!\w*(?:[Cc]ompile|[Gg]enerate|[Pp]repare|[Pp]rocess))\w+Test)
        (?:\ (?:UP-TO-DATE|FROM-CACHE|FAILED))?$                    # gradle
    | ^\d\d:\d\d\ \+(?:[1-9]|\d+.*\ -[1-9])                         # flutter, dart
    | ^Files=\d+,\ Tests=[1-9]                                      # prove
    | ^\[\ \ (?:PASSED|FAILED)\ \ \]\ [1-9]\d*\ tests?              # gtest
    | ^\[\ FAIL\ (?:[1-9]|\d+\ .*\ PASS\ [1-9])                     # testthat
    | ^[Aa]ll\ (?:tests|checks|specs|examples)\ (?:have\ )?(?:passed|succeeded)\b
    | ^All\ tests\ passed\ \(                                       # catch2
    | ^\ *[1-9]\d*\ successes?\ /                                   # busted
    | ^OK\ \([1-9]\d*\ tests?,                                      # phpunit
    """,
    re.VERBOSE,
)
# What a runner says that had nothing to test ...
_NOTHING = re.compile(
    r"""^(?:
      [=\ ]*no\ tests\ (?:ran|collected)\b                          # pytest
    | [=\ ]*\d+\ (?:deselected|skipped)\b.*\ in\ [\d.]+s
    | [=\ ]*\d+(?:/\d+)?\ tests?\ collected\b.*\ in\ [\d.]+s
    | collected\ 0\ items\b
    | collected\ .*/\ 0\ selected
    | NO\ TESTS\ RAN\b                                              # unittest
    | Found\ 0\ test\(s\)\.$                                        # django
    | running\ 0\ tests\b                                           # cargo, deno
    | test\ result:\ ok\.\ 0\ passed;\ 0\ failed;
    | \ *Summary\ \[.*\]\ +0\ tests\ run\b                          # nextest
    | (?:error:\ )?no\ tests\ to\ run$
    | \ *Tests:?\ +(?:no\ tests|(?:\d+\ (?:skipped|todo|pending|total)(?:,|\ \||\ \(\d+\ ?\w*\))?\ ?)+)$  # jest, vitest
    | (?:.*\ )?[Nn]o\ test\ files\ found\b                          # vitest, mocha, tap
    | [Nn]o\ tests\ found\b | Error:\ No\ tests\ found\b            # jest, bun, playwright
    | \ *INFO\ +No\ tests\ found\.                                  # pest
    | \ *0\ passing\b                                               # mocha
    | (?:\#|ℹ)\ (?:tests|pass)\ 0$                                  # node --test
    | \ *✖\ Couldn['’]t\ find\ any\ files\ to\ test                 # ava
    | \ *\d+\ tests?\ (?:skipped|todo)$
    | (?:Incomplete:\ )?No\ specs\ found\b                          # jasmine
    | .*\bExecuted\ 0\ of\ \d+\b                                    # karma
    | Can['’]t\ run\ because\ no\ spec\ files\ were\ found          # cypress
    | \ *│\ Tests:\ +0\ +│
    | Running\ 0\ tests\ using\b                                    # playwright
    | (?:\S+\ \|\ )?0\ passed(?:\ \(.*?\))?\ \|\ 0\ failed\b        # deno
    | (?:error:\ )?No\ test\ modules\ found
    | \ *0\ pass$                                                   # bun
    | \?[\ \t]+\S+[\ \t]+\[no\ test\ files\]$                       # go
    | ok[\ \t]+\S+[\ \t].*\[no\ tests\ to\ run\]$
    | testing:\ warning:\ no\ tests\ to\ run$
    | go:\ warning:\ .*\ matched\ no\ packages$ | no\ packages\ to\ test$
    | \ *---\ SKIP:
    | DONE\ 0\ tests\b                                              # gotestsum
    | No\ tests\ were\ found!!!$                                    # ctest
    | No\ examples\ found\.$                                        # rspec
    | No\ tests\ executed!                                          # phpunit
    | No\ test\ is\ available\ in\ | No\ test\ matches\ the\ given\ testcase\ filter   # dotnet
    | (?:Test\ run\ summary:\ )?Zero\ tests\ ran\b
    | (?:Passed|Skipped)!\ +-\ Failed:\ +0,\ Passed:\ +0,
    | Total\ tests:\ 0$
    | No\ tests\ to\ run\.? | Tests\ are\ skipped\.$ | No\ tests\ were\ executed\b      # maven, sbt
    | >\ Task\ :(?:[\w.-]+:)*(?:test|\w+Test)\ (?:NO-SOURCE|SKIPPED)$                   # gradle
    | .*\bNo\ tests\ found\ for\ given\ includes
    | .*\bthe\ test\ task\ did\ not\ discover\ any\ tests\ to\ execute
    | .*\bTest\ run\ with\ 0\ tests\b                               # swift testing
    | (?:error:\ |warning:\ )?No\ matching\ test\ cases\ were\ run | error:\ no\ tests\ found
    | Result:\ NOTESTS$                                             # prove
    | (?:\d\d:\d\d\ .*:\ )?No\ tests\ (?:ran|were\ found)\b         # flutter, dart, catch2
    | \d\d:\d\d\ \+0.*:\ All\ tests\ skipped\.
    | Test\ directory\ ".*"\ not\ found\.
    | There\ are\ no\ tests\ to\ run$ | All\ tests\ have\ been\ excluded\.$             # ExUnit
    | Tests:\ succeeded\ 0,\ failed\ 0,                             # scalatest
    | All\ 0\ tests\ passed\b                                       # zig
    | \[\ \ PASSED\ \ \]\ 0\ tests\b | \[=+\]\ Running\ 0\ tests\b  # gtest
    | No\ test\ cases\ matched\b
    | 0\ (?:features|scenarios)\b                                   # cucumber, behave
    | \[\ FAIL\ 0\ .*\ PASS\ 0\ \]                                  # testthat
    | \ *0\ successes\ /\ 0\ failures                               # busted
    | No\ tests\ defined\.                                          # meson
    | .*\bNo\ test\ targets\ were\ found                            # bazel
    | \[\ ERROR\ \]\ Suite\ '.*'\ contains\ no\ tests               # robot
    | nox\ >\ (?:Session\ .*\ skipped: | No\ sessions\ selected)
    )""",
    re.VERBOSE,
)
# ... and what it gives as the reason of its own failing exit code.
_REFUSED = re.compile(
    r"""^(?:
      NO\ TESTS\ RAN\b | No\ tests\ found\b | Error:\ No\ tests?\ (?:files\ )?found\b | Error:\ No\ test\ files\ found\b
    | No\ test\ files\ found\b | \ *✖\ Couldn['’]t\ find\ any\ files\ to\ test
    | (?:Incomplete:\ )?No\ specs\ found\b | Can['’]t\ run\ because\ no\ spec\ files\ were\ found
    | .*\bExecuted\ 0\ of\ 0\ ERROR | error:\ No\ test\ modules\ found | error:\ no\ tests\ (?:to\ run|found)
    | .*\bNo\ tests\ were\ executed! | .*\bNo\ tests\ found\ for\ given\ includes
    | .*\bthe\ test\ task\ did\ not\ discover\ any\ tests\ to\ execute
    | No\ tests\ executed! | (?:Test\ run\ summary:\ )?Zero\ tests\ ran\b | Test\ directory\ ".*"\ not\ found\.
    | No\ tests\ (?:ran|were\ found)\b | \d\d:\d\d\ .*:\ No\ tests\ (?:ran|were\ found)
    | .*\bNo\ test\ targets\ were\ found | \[\ ERROR\ \]\ Suite\ '.*'\ contains\ no\ tests | no\ packages\ to\ test$
    | All\ tests\ have\ been\ excluded\.$ | There\ are\ no\ tests\ to\ run$
    )""",
    re.VERBOSE,
)
# Suites, files and snapshots pass although every test in them was skipped.
_BESIDE = re.compile(r"\s*(?:Test Suites|Test Files|Snapshots|Suites|Asserts):?\s")
# "3 examples, 0 failures, 1 pending": how many there were, and how many of them were not run.
_COUNTS = re.compile(r"(\d+) (\w+)")
_LISTED = re.compile(r"\s*(?:Tests?:? ?)?\d+ \w+(?: \w+)?(?:(?:,| and) \d+ \w+(?: \w+)?(?: \([^)]*\))?)+\.?$")
_UNITS = frozenset(
    word for kind in ("test", "doctest", "run", "example", "spec", "scenario") for word in (kind, f"{kind}s")
) | {"property", "properties"}
_IDLE = frozenset(
    ("pending", "pendings", "skipped", "skips", "skip", "omissions", "excluded", "ignored", "todo", "disabled")
)
_JUDGED = frozenset(("failure", "failures", "assertion", "assertions", "errors", "failed", "passed"))
# The same with the words first: surefire and phpunit.
_TESTS_RUN = re.compile(r"Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: (\d+)")
_PHPUNIT = re.compile(r"Tests: (\d+), Assertions: \d+")
_PHPUNIT_IDLE = re.compile(r"(?:Skipped|Incomplete): (\d+)")
_UNITTEST = re.compile(r"Ran (\d+) tests? in [\d.]+s$")
_UNITTEST_IDLE = re.compile(r"(?:OK|FAILED|PASSED|NO TESTS RAN) \(.*\bskip(?:ped|s)=(\d+)")
_XCTEST = re.compile(r"\s*Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?\d+ failures?")
_SWIFT = re.compile(r".*\bTest run with ([1-9]\d*) tests?\b")
_GOTESTSUM = re.compile(r"DONE (\d+) tests?(?:, (\d+) skipped)?")
_GINKGO = re.compile(r"Ran (\d+) of \d+ Specs? in ")
_KARMA = re.compile(r".*\bExecuted ([1-9]\d*) of \d+\b")
_CTEST = re.compile(r"\d+% tests passed, \d+ tests? failed out of (\d+)")
_CTEST_IDLE = re.compile(r"\s*\d+/\d+ Test +#\d+: .*\*\*\*(?:Skipped|Not Run \(Disabled\))")
_GO_OK = re.compile(r"ok[ \t]+(?![\d|-])\S+[ \t](?!.*\[no tests to run\]$)")
_GO_SKIP = re.compile(r"\s*--- SKIP:")
_GO_RAN = re.compile(r"\s*--- (?:PASS|FAIL):")
_PYTEST_DOTS = re.compile(r"(?:\S+ )?([.sxXFEpPR]+) +\[ *\d+%\]$")
_PLAYWRIGHT = re.compile(r"Running \d+ tests? using \d+ workers?")
_PLAYWRIGHT_IDLE = re.compile(r" *[1-9]\d* skipped$")
_TAP = re.compile(r"( *)(?:not )?ok(?: (?:\d+|-)(?: .*)?)?$")
_TAP_SKIP = re.compile(r"#\s*skip", re.IGNORECASE)
_TAP_NONE = re.compile(r" *1\.\.0\b")


def was_tested(lines: Sequence[str]) -> bool | None:
    """Return whether any runner tested something; None if none speaks of it. One that did outweighs all others."""
    said = list(_evidence(lines))
    return any(said) if said else None


def refused_to_run(lines: Sequence[str]) -> bool:
    """Check whether a runner failed because there was nothing to test, and none tested anything."""
    return any(_REFUSED.match(line) for line in lines) and was_tested(lines) is not True


def _evidence(lines: Sequence[str]) -> Iterator[bool]:
    """Yield True for each sign that something was tested, False for each that a runner had nothing to test."""
    for line in lines:
        if not _BESIDE.match(line) and _SOMETHING.search(line):
            yield True
        elif _NOTHING.match(line):
            yield False
        if counted := _counted(line):
            ran, idle = counted
            yield ran > idle
    yield from _over_lines(lines)
    yield from _tap(lines)


def _counted(line: str) -> tuple[int, int] | None:
    """Return how many tests a line counts, and how many of them were not run."""
    for pattern in (_TESTS_RUN, _XCTEST, _GOTESTSUM):
        if found := pattern.match(line):
            return int(found[1]), int(found[2] or 0)
    for pattern in (_SWIFT, _GINKGO, _KARMA):
        if found := pattern.match(line):
            return int(found[1]), 0
    if found := _PHPUNIT.match(line):
        return int(found[1]), sum(map(int, _PHPUNIT_IDLE.findall(line)))
    if not _LISTED.match(line):
        return None
    counts = [(int(number), word.lower()) for number, word in _COUNTS.findall(line)]
    words = {word for _, word in counts}
    if not words & _UNITS or not words & _JUDGED:
        return None
    ran = sum(number for number, word in counts if word in _UNITS)
    return ran, sum(number for number, word in counts if word in _IDLE)


def _over_lines(lines: Sequence[str]) -> Iterator[bool]:
    """Yield what only several lines together say: what was counted, and apart from it what of that was skipped."""
    for counting, idle in ((_UNITTEST, _UNITTEST_IDLE), (_CTEST, None)):
        total = sum(int(found[1]) for line in lines if (found := counting.match(line)))
        # CTest names each test it did not run on a line of its own.
        if idle is None:
            skipped = sum(1 for line in lines if _CTEST_IDLE.match(line))
        else:
            skipped = sum(int(found[1]) for line in lines if (found := idle.match(line)))
        if any(counting.match(line) for line in lines):
            yield total > skipped
    if any(_GO_OK.match(line) for line in lines):
        # With -v each test is named; without it nobody says that all were skipped.
        yield not any(map(_GO_SKIP.match, lines)) or any(map(_GO_RAN.match, lines))
    if any(map(_GO_RAN.match, lines)):
        yield True
    if dots := "".join(found[1] for line in lines if (found := _PYTEST_DOTS.match(line))):
        yield any(mark not in "s" for mark in dots)
    if any(map(_PLAYWRIGHT.match, lines)) and any(map(_PLAYWRIGHT_IDLE.match, lines)):
        yield False


def _tap(lines: Sequence[str]) -> Iterator[bool]:
    """Yield what the test lines of TAP say; a line that closes a block of deeper ones says nothing of its own."""
    inner = -1
    for line in lines:
        if _TAP_NONE.match(line):
            yield False
        found = _TAP.match(line)
        if found is None:
            continue
        indent, closes = len(found[1]), inner > len(found[1])
        inner = indent
        if not closes and line.strip() != "ok":
            yield _TAP_SKIP.search(line) is None
