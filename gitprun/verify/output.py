"""The output of a check: its plain lines, the first real error among them, and the program that was not there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

# A line of a megabyte says no more than its beginning, and every rule below looks at all lines.
LINE_MAX = 2_000
# What fits on a terminal or into one row of a report.
SHOWN_MAX = 300

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# Maven and sbt, turbo ("web:test: "), pnpm -r and lerna ("packages/a test: "), docker compose ("api-1  | ").
_PREFIX = re.compile(
    r"""\A(?:
      \[(?:INFO|WARNING|ERROR|info|warn|error)\]\ ?
    | [\w@./-]{1,80}:[\w.-]*test[\w:.-]*:\ (?=\S)
    | [\w@./-]{1,80}\ test(?::[\w.-]+)?:\ (?=\S)
    | [\w.-]{1,60}-\d+\ +\|[ ]
    )""",
    re.VERBOSE,
)


def plain_lines(text: str) -> list[str]:
    """Return the lines of an output, each cut to its first 2,000 characters."""
    return [_PREFIX.sub("", line[:LINE_MAX].rstrip(), count=1) for line in _ESCAPES.sub("", text).splitlines()]


def shown(line: str, limit: int = SHOWN_MAX) -> str:
    """Return a line fit to be shown on a terminal: one space between words, nothing that cannot be seen, cut."""
    seen = "".join(mark for mark in " ".join(line.split()) if mark.isprintable())
    return seen if len(seen) <= limit else seen[: limit - 1] + "…"


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


_Q = "[‘'\"`]?"
_END = "[’'\"`]?"
# A name in such a message has no white space and no colon: else any sentence could be one.
_NAME = r"([^\s:’'\"`,]{1,200})"
# Shells: "bash: line 1: x: command not found", "./v.sh: 2: x: not found", "sh: x: not found", "zsh:1: command ...".
_SAID = re.compile(
    rf"""(?:
      .{{1,300}}?:\ (?:line\ )?\d+:\ {_NAME}:\ (?:command\ )?not\ found
    | (?:\S*sh|sudo|doas|time):\ {_NAME}:\ (?:command\ )?not\ found
    | \S+:\ command\ not\ found:\ {_NAME}
    | [Cc]ommand\ not\ found:\ {_NAME}
    | fish:\ Unknown\ command[:.]\ {_Q}{_NAME}{_END}.*
    | make(?:\[\d+\])?:\ {_NAME}:\ Command\ not\ found
    | \S*env:\ {_Q}{_NAME}{_END}:\ No\ such\ file\ or\ directory
    | (?:\S*/)?(?:xargs|nice|timeout|nohup|stdbuf|setsid|time|find|watch|strace):\ (?:(?:failed\ to|cannot)\ run\ )?
        (?:command\ )?{_Q}{_NAME}{_END}:\ No\ such\ file\ or\ directory
    )""",
    re.VERBOSE,
)
# A file in the place of a program: the same words as for a file that cannot be read, so the exit code must agree.
_FILE = re.compile(
    rf"""(?:
      .{{1,300}}?:\ (?:line\ )?\d+:\ (?:\S+:\ )?{_NAME}:\ (?:bad\ interpreter:\ )?No\ such\ file\ or\ directory
    | .{{1,300}}?:\ (?:line\ )?\d+:\ {_NAME}:\ cannot\ execute:\ required\ file\ not\ found
    | \S+:\ no\ such\ file\ or\ directory:\ {_NAME}
    | \S+:\ .*:\ bad\ interpreter:\ {_NAME}:\ no\ such\ file\ or\ directory
    | .*\ the\ interpreter\ '{_NAME}',\ which\ is\ not\ an\ executable\ command\.
    | (?:\S*sh|make(?:\[\d+\])?):\ {_NAME}:\ No\ such\ file\ or\ directory
    )""",
    re.VERBOSE,
)
_NOT_EXECUTABLE = re.compile(
    rf".{{1,300}}?: (?:line )?\d+: {_NAME}: (?:Permission denied|cannot execute.*|Is a directory|Exec format error)"
    rf"|\S+: (?:permission denied|exec format error): {_NAME}"
)
# Tools that name what they did not find; ``program`` says whose part the name is.
_TOOLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("{} (a Python module)", re.compile(r"(?:\S*/)?(?:python|pypy)[\w.-]*: No module named '?([\w.-]+)'?(?:;.*)?")),
    ("{}", re.compile(r"npm (?:error|ERR!) npx canceled due to missing packages and no YES option: \[\"([^\"@]+).*")),
    ("{}", re.compile(r"(?:error |.*ERR_PNPM\w*\s+)Command \"([^\"\s]+)\" not found\.?.*")),
    ("cargo {}", re.compile(r"error: no such (?:sub)?command: `([\w-]+)`")),
    ("{}", re.compile(r"error: '([\w.-]+?)(?:\.exe)?' is not installed for the .*toolchain.*")),
    ("go tool {}", re.compile(r"go: no such tool \"([\w.-]+)\"")),
    ("go {}", re.compile(r"go ([\w-]+): unknown command")),
    ("git {}", re.compile(r"git: '([\w-]+)' is not a git command\..*")),
    ("{}", re.compile(r".*\bexec: \"([^\"\s]+)\": executable file not found in \$PATH.*")),
    ("{}", re.compile(r"error: Failed to spawn: `([^`\s]+)`")),
    ("{}", re.compile(r"Error: the command (\S+) could not be found within PATH\b.*")),
    ("{}", re.compile(r"\[PdmUsageError\]: Command '(\S+)' is not found in your PATH\..*")),
    ("{}", re.compile(r"(?:.*\b)?spawn (\S+) ENOENT\b.*")),
    (
        "{} (a gem)",
        re.compile(
            r"Could not find (?:gem '([^'\s]+).*|([\w-]+)-[\d.]+\S*(?:, .*)? in (?:any of the sources|locally).*)"
        ),
    ),
    ("{}", re.compile(r".*\bCannot run program \"([^\"\s]+)\".*error=2\b.*")),
    ("cargo (no toolchain is chosen)", re.compile(r"error: rustup could not choose a version of (?:\S+) to run.*")),
)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "exit"})
# Said after the message that counts.
_AFTERTHOUGHT = re.compile(
    r"\s*$|(?:real|user|sys)\s+\d+m|\s*\^~*\^?$|npm (?:notice|warn|error|ERR!)|make(?:\[\d+\])?: |ninja: "
    r"|error Command failed|info Visit|\S*ELIFECYCLE|\s*Caused by: |\(See |Run 'go help'|help: "
)
_MAKE_GAVE_UP = re.compile(r"make(?:\[\d+\])?: \*\*\* .* Error 12[67]$")


def name_missing(lines: Sequence[str], command: str, code: int | None) -> str:
    """Return the program that was not there, empty if none is told; ``code`` is the exit code of the check.

    With 127 the shell itself says that one was missing. With any other code only the last words count: a message
    further up belongs to something the script got over.
    """
    certain = code in (126, 127) or any(map(_MAKE_GAVE_UP.match, lines))
    ends = [line for line in reversed(lines) if line.strip()]
    for line in ends if certain else _last_words(ends):
        if name := _said(line, certain):
            return name
    if code == 0:
        return ""
    for line in lines:
        for shape, pattern in _TOOLS:
            if found := pattern.fullmatch(line.strip()):
                return shown(shape.format(next(filter(None, found.groups()), "")), 120)
    first = _first_word(command)
    if first in _SHELLS:
        # It is there, since it ended like that itself: what it was to start is not, and nobody said what that is.
        first = f"a program that {shown(command, 80)} starts"
    return first if code in (126, 127) else ""


def name_not_executable(lines: Sequence[str], command: str) -> str:
    """Return the file that is there and cannot be executed (exit code 126)."""
    for line in reversed(lines):
        if found := _NOT_EXECUTABLE.fullmatch(line):
            return shown(next(filter(None, found.groups())), 120)
    return _first_word(command)


def _last_words(ends: Sequence[str]) -> list[str]:
    return [line for line in ends if not _AFTERTHOUGHT.match(line) or _SAID.fullmatch(line)][:1]


def _said(line: str, file: bool) -> str:
    found = _SAID.fullmatch(line) or (_FILE.fullmatch(line) if file else None)
    if found is not None:
        return shown(next(filter(None, found.groups())), 120)
    shape, pattern = _TOOLS[0]
    module = pattern.fullmatch(line)
    return shown(shape.format(module[1]), 120) if module else ""


def _first_word(command: str) -> str:
    """Return the first word of a command that is no assignment."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    return shown(next((word for word in words if not re.match(r"\w+=", word)), command), 120)
