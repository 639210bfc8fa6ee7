"""Which commands a worker must not run: everything that writes history, refs, settings, or throws work away."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from gitprun.guards.gitwords import UNTOLD, judge_git
from gitprun.guards.shell import UNKNOWN, NotSimple, ShellText, read_shell

INVOLVED = "it stands in a command too involved to be read: run simple commands, one at a time"
# Scripts in scripts, aliases in aliases: more levels than these only an alias for itself has.
MOST_DEPTH = 12
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"})
# Tells what an alias of git stands for; None where there is no such alias.
Alias = Callable[[str], str | None]

# How programs that start another one are read: the short options that take a value, the long ones that do, the
# number of words before the command.
_WRAPPERS: Final[dict[str, tuple[str, tuple[str, ...], int]]] = {
    "builtin": ("", (), 0),
    "busybox": ("", (), 0),
    "caffeinate": ("tw", (), 0),
    "chroot": ("", (), 1),
    "chrt": ("TPD", (), 1),
    "command": ("", (), 0),
    "doas": ("uC", (), 0),
    "env": ("uCS", ("--unset", "--chdir", "--split-string"), 0),
    "exec": ("a", (), 0),
    "flock": ("wE", ("--timeout", "--wait", "--conflict-exit-code"), 1),
    "ionice": ("cnpPu", ("--class", "--classdata"), 0),
    "ltrace": ("eopsuAalnS", (), 0),
    "nice": ("n", ("--adjustment",), 0),
    "nohup": ("", (), 0),
    "parallel": ("jaCINnLsS", ("--jobs",), 0),
    "setsid": ("", (), 0),
    "stdbuf": ("ioe", ("--input", "--output", "--error"), 0),
    "strace": ("eopPsuEaIOSUXb", (), 0),
    "sudo": ("ughpCrtTUDR", ("--user", "--group", "--host", "--prompt", "--chdir"), 0),
    "taskset": ("", (), 1),
    "time": ("fo", ("--format", "--output"), 0),
    "timeout": ("ks", ("--kill-after", "--signal"), 1),
    "unbuffer": ("", (), 0),
    "unshare": ("RwSG", ("--root", "--wd"), 0),
    "watch": ("nq", ("--interval",), 0),
    "xargs": ("adEILnPs", ("--arg-file", "--delimiter", "--max-args", "--max-procs", "--replace"), 0),
}
_MORE_WORDS = frozenset({"xargs", "parallel"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SHELL_VALUES = ("--rcfile", "--init-file")
# In a text that is not read: what looks like git, and the words behind it. Overlapping, so that none hides another.
_LIKE_GIT = re.compile(r"(?<![\w.-])git(?:\.exe)?[ \t-](?=([^\n;&|`()<>]*))")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is refused, in two words, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is known where a command stands: aliases, how deep that is, and what a shell could read from its stdin."""

    alias: Alias
    depth: int
    fed: str = ""


def find_refused(text: str, alias: Alias = lambda _name: None) -> Refusal | None:
    """Return the first command in a shell text that a worker must not run; never raises."""
    try:
        return _find(text, alias, 0)
    except RecursionError:
        return _find_roughly(text)


def _find(text: str, alias: Alias, depth: int) -> Refusal | None:
    try:
        if depth > MOST_DEPTH:
            raise NotSimple("commands within commands")
        shell = read_shell(text)
    except NotSimple:
        return _find_roughly(text)
    reading = _Reading(alias, depth, _fed(shell))
    for words in shell.commands:
        if found := _judge(words, reading):
            return found
    return None


def _find_roughly(text: str) -> Refusal | None:
    """Return the first thing in an involved text that looks like a refused command, quoted or not."""
    plain = re.sub(r"\\\n|['\"\\]", "", text)
    for found in _LIKE_GIT.finditer(plain):
        judged = judge_git([re.sub(r"\$.*", UNKNOWN, word) for word in found[1].split()])
        if judged.why:
            return Refusal(f"git {judged.name}".strip(), INVOLVED)
    return None


def _fed(shell: ShellText) -> str:
    """Return all that a shell in a text could be given on its stdin, as far as that can be seen."""
    printed = [
        " ".join(word for word in words[at + 1 :] if not re.fullmatch(r"-[neE]+", word)).replace("\\n", "\n")
        for words in shell.commands
        for at, word in enumerate(words)
        if word.rpartition("/")[2] in ("echo", "printf")
    ]
    return "\n".join([*shell.inputs, *printed])


def _judge(words: Sequence[str], reading: _Reading) -> Refusal | None:
    more = False
    # Each round takes one wrapper off, so this ends.
    while words:
        # What the shell puts there may be nothing at all.
        program = words[0].replace(UNKNOWN, "").rpartition("/")[2].removesuffix(".exe")
        if not program or program.startswith("-"):
            # A word that vanishes; or an option of the keyword time.
            words = words[1:]
            continue
        if "{" in program and "," in program and "git" in program:
            # The shell makes several words of it.
            return Refusal(program, UNTOLD)
        if program == "git" or program.startswith("git-"):
            first = [program.removeprefix("git-")] if program != "git" else []
            return _judge_git([*first, *words[1:]], reading, more)
        if program == "find":
            return _judge_find(words[1:], reading)
        if program in _WRAPPERS:
            more = more or program in _MORE_WORDS
            words, script = _unwrap(program, words[1:])
        else:
            words, script = (), _script_of(program, words[1:], reading.fed)
        if script:
            return _find(script, reading.alias, reading.depth + 1)
    return None


def _judge_git(words: Sequence[str], reading: _Reading, more: bool) -> Refusal | None:
    """Judge the words behind ``git``; ``more`` says that the program in front adds words of its own."""
    known = [re.sub(r"\{.*\}", UNKNOWN, word) for word in words] if more else list(words)
    given = dict(alias_rows(known))
    judged = judge_git([*known, UNKNOWN] if more else known)
    if judged.why:
        return Refusal(f"git {judged.name}".strip(), judged.why)
    if judged.script:
        return _find(judged.script, reading.alias, reading.depth + 1)
    stands_for = given.get(judged.name) or (None if judged.known else reading.alias(judged.name))
    if stands_for is None or reading.depth > MOST_DEPTH:
        return None
    if stands_for.startswith("!"):
        return _find(stands_for[1:], reading.alias, reading.depth + 1)
    try:
        meant = [word for row in read_shell(stands_for).commands for word in row]
    except NotSimple:
        meant = stands_for.split()
    return _judge_git([*meant, *judged.rest], _Reading(reading.alias, reading.depth + 1), more)


def alias_rows(words: Sequence[str]) -> list[tuple[str, str]]:
    """List the aliases given on the command line itself, ``-c alias.NAME=VALUE``."""
    pairs = [after for before, after in pairwise(words) if before == "-c"]
    rows = (pair.partition("=") for pair in pairs if pair.lower().startswith("alias."))
    return [(key[len("alias.") :], value) for key, mark, value in rows if mark]


def _judge_find(words: Sequence[str], reading: _Reading) -> Refusal | None:
    """Judge what ``find`` starts for what it finds."""
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = words[at + 1 :]
            end = next((place for place, other in enumerate(rest) if other in (";", "+")), len(rest))
            if found := _judge(rest[:end], reading):
                return found
    return None


def _unwrap(program: str, words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Take off the options of a program that starts another; return the other's words, or the text for a shell."""
    values, long_values, places = _WRAPPERS[program]
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            break
        if program == "command" and re.fullmatch(r"-[pvV]*[vV][pvV]*", word):
            return (), ""
        if program == "env" and (split := re.fullmatch(r"-[iv0]*S(.*)|--split-string(?:=(.*))?", word, re.DOTALL)):
            text = split[1] or split[2] or (words[at] if at < len(words) else "")
            return (), " ".join([text, *words[at + (not (split[1] or split[2])) :]])
        if word.startswith("--"):
            at += "=" not in word and word in long_values
        elif word.startswith("-") and len(word) > 1:
            taking = next((place for place, letter in enumerate(word[1:], 2) if letter in values), 0)
            at += taking == len(word)
        elif not (program in ("env", "sudo") and _ASSIGNMENT.match(word)):
            at -= 1
            break
    rest = tuple(words[at + places :])
    if program == "flock" and rest[:1] in (("-c",), ("--command",)):
        return (), "".join(rest[1:2])
    return ((), " ".join(rest)) if program == "watch" else (rest, "")


def _script_of(program: str, words: Sequence[str], fed: str) -> str:
    """Return the shell text a program runs, empty where there is none or it cannot be known."""
    if program in SHELLS:
        return _shell_script(words, fed)
    if program in (".", "source"):
        return fed if words[:1] in ((UNKNOWN,), ("/dev/stdin",)) else ""
    if program == "eval":
        return " ".join(words)
    if program == "trap":
        return words[0] if words else ""
    if program in ("su", "script", "runuser"):
        return next((words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-c", "--command")), "")
    return ""


def _shell_script(words: Sequence[str], fed: str) -> str:
    """Return what a shell runs: the text behind ``-c``, or what it may read from its stdin."""
    at, text_follows, reads = 0, False, False
    while at < len(words) and (words[at] == UNKNOWN or (words[at][:1] in ("-", "+") and words[at] not in ("-", "--"))):
        word = words[at]
        at += 1
        if word.startswith("--"):
            at += word in _SHELL_VALUES
        elif word != UNKNOWN:
            text_follows = text_follows or (word[0] == "-" and "c" in word)
            reads = reads or (word[0] == "-" and "s" in word)
            at += word[-1] in "oO"
    at += at < len(words) and words[at] in ("-", "--")
    if text_follows:
        return words[at] if at < len(words) else ""
    # A file would be run, of which nothing is known here.
    return "" if at < len(words) and not reads and words[at] != "/dev/stdin" else fed
