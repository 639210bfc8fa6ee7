"""The one line of a failed check's output that says what is wrong: its first real error, never a tool's afterword.

Rules only; recorded from the runners and compilers named beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.verify.output import shown

# What an error says of itself.
_STRONG = re.compile(
    r"""
      ^E\ \ +\S                                                       # pytest
    | (?:^|[\s:(\[])(?:(?:fatal|internal|[Pp]arse|[Ss]yntax)\ )?[Ee]rror(?:\[\w+\])?:\ (?!0\b|none\b)\S   # compilers
    | \berror\ TS\d+: | \bTS\d+\ \[ERROR\]:
    | ^(?:PHP\ )?Fatal\ error: | ^fatal:\ \S | ^FATAL:\ \S
    | (?<![\w.])(?:[\w$]+(?:\.|::))*[A-Z]\w*(?:Error|Exception|Failure)(?:\ \[\w+\])?(?::\ \S|$)   # Python, Java ...
    | \((?:[A-Z]\w*::)*[A-Z]\w*Error\)$                               # Ruby
    | ^Failure/Error:\ \S                                             # rspec
    | \bpanicked\ at\b | ^panic:\ \S                                  # Rust, Go
    | ^expect\(.*\)\.\S | ^Expected\ .*\ to\ \S                       # jest, jasmine
    | ^\S+_test\.go:\d+:\ \S                                          # Go
    | ^[\w./-]+:\d+:\d+:\ undefined:                                  # Go, not built
    | ^\d+:\d+\ +error\ \ +\S                                         # eslint
    | \bundefined\ reference\ to\b | ^ld:\ \S | ^collect2:\ error
    | \bUnable\ to\ find\ executable:
    | ^\#\ *Failed\ test\b                                            # Perl
    | ^Assertion\ \S.*\ failed | ^assertion\ failed | :\ Assertion\ .*\ failed\.
    | \b(?:Segmentation\ fault|Bus\ error|Aborted\ \(core\ dumped\))
    """,
    re.VERBOSE,
)
# Which test it was: said before what is wrong with it.
_TITLE = re.compile(
    r"""^(?:
      ●\ \S                                                           # jest
    | --- \ ?FAIL:\ \S | ---\ FAIL:\ \S                               # Go
    | \d+\)\ \S                                                       # mocha, rspec, jasmine
    | not\ ok\b                                                       # TAP
    | (?:FAIL|ERROR):\ \S                                             # unittest
    | (?:FAIL|FAILED)\ +\S+.*(?:\ >\ |::)                             # vitest, pytest
    | ----\ .*\ stdout\ ----$                                         # cargo
    | [✖✘✗×]\ \S | \(fail\)\ \S
    | Test\ Case\ .*\ failed\b | \d+/\d+\ Test\ +\#\d+:.*\*\*\*
    )""",
    re.VERBOSE,
)
# Places in a file, with something said about them.
_PLACE = re.compile(
    r"^[^\s:()]+(?::\d+|\(\d+)(?:[:,]\d+\)?)?:? +\S|^(?:would reformat|Would reformat:?) \S|^[A-Z]{1,4}\d{3,4} \S"
)
_MILD = re.compile(r"\b(?:[Ww]arning|[Nn]ote|[Ii]nfo|WARN|INFO|DEBUG)\b")
# What tools print around the errors, and after them.
_NOISE = re.compile(
    r"""^(?:
      npm\ (?:notice|warn|WARN|http|verb|info|sill)\b.*
    | npm\ (?:error|ERR!)(?:\ (?:A\ complete\ log|code\ (?!E404)|errno|path|command|signal|workspace|location
        |in\ workspace|at\ |Lifecycle|To\ see|Did\ you|Exit\ status|Test\ failed\.|\s).*|\s*)
    | \s*/\S*/_logs/\S+\.log
    | (?:warning\ )?yarn\ run\ v.* | info\ Visit\ .* | error\ Command\ failed\ .* | Done\ in\ .*
    | \S*\s?ELIFECYCLE.* | .*ERR_PNPM_RECURSIVE.*
    | [$>]\ .* | !+\ .*\ !+
    | [\W_\d]* | .*\[\ *\d+%\]\s*\S* | \s*\d+%.*
    | (?:real|user|sys)\s+\d.* | (?:Total\ Test\ )?[Tt]ime\b.*:?.*\d.* | (?:Finished|Duration|Start\ at)\b.*
    | test\ result:\ ok.* | running\ \d+\ tests? | ok\b.* | PASS\b.*
    | Ran\ all\ test\ suites.* | Snapshots:.* | Randomized\ with\ seed.*
    | Errors\ while\ running\ CTest | Output\ from\ these\ tests\ are\ in:.* | Use\ "--rerun-failed.*
    | make(?:\[\d+\])?:\ (?:Entering|Leaving)\ directory.* | make(?:\[\d+\])?:\ Target\ .*\ not\ remade.*
    | Stack\ backtrace:? | note:\ run\ with\ `RUST_BACKTRACE.* | help:\ .* | For\ more\ information\ about\ this.*
    | Run\ `.*` | Try\ .*--help.*
    )$""",
    re.VERBOSE,
)
# Better than nothing, and worse than any line of a program's own.
_LAST_RESORT = re.compile(
    r"make(?:\[\d+\])?: \*\*\*|ninja: build stopped|npm (?:error|ERR!)"
    r"|error: (?:test failed|could not compile|aborting due)|\[?FAILED\]?$|FAIL$|Error: Process completed"
)
# A title is said at most so many lines before what it is the title of.
_NEAR = 12


def first_complaint(lines: Sequence[str]) -> str:
    """Return the line of a failed check's output that says what is wrong, fit to be shown; empty without any."""
    rows = [line.strip() for line in lines]
    told = [number for number, row in enumerate(rows) if row and not _NOISE.match(row)]
    own = [number for number in told if not _LAST_RESORT.match(rows[number])]
    strong = next((number for number in own if _STRONG.search(rows[number]) and not _is_title(rows[number])), None)
    if strong is not None:
        return shown(_with_title(rows, strong))
    title = next((number for number in own if _TITLE.match(rows[number])), None)
    place = next((number for number in own if _PLACE.match(rows[number]) and not _MILD.search(rows[number])), None)
    if place is not None and (title is None or place < title):
        return shown(rows[place])
    if title is not None and " - " in rows[title]:
        return shown(rows[title])
    if title is not None:
        after = next(
            (number for number in own if title < number <= title + _NEAR and not _is_title(rows[number])), None
        )
        return shown(_joined(rows[title], rows[after])) if after is not None else shown(rows[title])
    # Of what tools say afterwards the first is the nearest to the trouble.
    last = own[-1:] or told[:1]
    return shown(rows[last[0]]) if last else ""


def _is_title(row: str) -> bool:
    return _TITLE.match(row) is not None


def _with_title(rows: Sequence[str], number: int) -> str:
    """Return an error with the test it belongs to before it, and what it goes on with after a colon at its end."""
    said = rows[number]
    if re.match(r"E +File ", said):
        # Python's own words on text it cannot read: the place, the text, and only then what is wrong.
        said = next((row for row in rows[number:] if re.match(r"E +\w+Error\b", row)), said)
    if "panicked at" in said and said.endswith(":") and number + 1 < len(rows):
        said = f"{said} {rows[number + 1]}"
    if said.startswith("E "):
        said = f"E {said[1:].strip()}"
    before = rows[max(0, number - _NEAR) : number]
    title = next((row for row in reversed(before) if _TITLE.match(row)), "")
    return _joined(title, said) if title else said


def _joined(title: str, said: str) -> str:
    name = re.sub(r"^[●✖✘✗×] |^-{2,} ?|(?: stdout)? ?-{2,}$", "", title).strip().removesuffix(":")
    return f"{name}: {said}"
