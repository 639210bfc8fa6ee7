"""Which program was not there, in the words of the shells and tools that looked for it: rules only.

Recorded from bash 5.2, dash, zsh 5.9, fish 3.6, GNU make, env, xargs, nice, timeout, nohup, npm 10, python, cargo, go.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from gitprun.verify.output import shown

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
