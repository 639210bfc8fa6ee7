"""Which programs a script, a line of settings or a line of attributes leads to; pure, and by their looks alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from gitprun.landing.surface import PLAIN_WORD

# What comes before a name that begins with a variable or a substitution: $top/lint.sh.
_OPEN: Final = "$}{)\"'`"
_VARIABLE: Final = re.compile(r"\$\{[^}]*\}|\$\w+")
# The output of commands, which stands for one word.
_SUBSTITUTION: Final = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
# Where a shell begins a new command: after ; | & and at the opening of a group, a test or a negation.
_SEGMENT: Final = re.compile(r"[;|&(\[{!]")
_BLANK: Final = re.compile(r"[\s\"',\])}]+")
# Options and assignments stand before the program; "@" hides a line of a Makefile.
_SKIPPED: Final = re.compile(r"-.*|\w+=.*|\$|@|")
# What starts what comes after it, be it a program or a word of a shell.
_STARTERS: Final = re.compile(
    r"(?:exec|command|env|time|nice|sudo|xargs|eval|trap|source|\.|then|do|else|elif|if|while|until"
    r"|sh|bash|dash|zsh|ksh|fish|busybox|run-parts|python[\d.]*|pypy\d*|node|nodejs|deno|bun|tsx|ts-node|npx"
    r"|ruby|bundle|perl|php|lua|pwsh|powershell|run|uv|poetry|pipenv|hatch|pdm|make|just|call|start)"
)
# YAML and JSON settings: ``entry: ./lint.sh`` starts what stands behind the colon.
_KEY: Final = re.compile(r"^\s*(?:-\s+)?[\"']?[\w-]+[\"']?\s*:\s+")
# The lines of hook runners' and agents' settings that say what is started.
_STARTS: Final = re.compile(r"^.*\b(?:entry|run|command|args|script|runner|helper)s?[\"']?\s*[:=].*$", re.MULTILINE)


def names_in_text(text: str) -> frozenset[str]:
    """Return what a script may mean when it names a file of the tree: each word that is a path, and its endings.

    A name without a folder counts only where it stands alone with an ending of its own, or after ``./`` or a variable:
    ``make test`` names no file ``test``.
    """
    # $ROOT/lint.sh still names lint.sh, whatever the variable holds.
    plain = _VARIABLE.sub("$", "\n".join(_lines(text)))
    return frozenset(name for match in PLAIN_WORD.finditer(plain) for name in _names(plain, match))


def names_run(text: str) -> frozenset[str]:
    """Return those of the names that a script starts: as a command, or by a shell, an interpreter and the like."""
    return frozenset(name for word in _commands(text) for name in names_in_text(word))


def names_started(text: str) -> frozenset[str]:
    """Return what those lines of settings may mean that say what is started."""
    return names_in_text("\n".join(match.group() for match in _STARTS.finditer(text)))


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if not line.lstrip().startswith(("#", "//")))


def _names(text: str, match: re.Match[str]) -> Iterable[str]:
    word = match.group()
    parts = [part for part in word.split("/") if part not in ("", ".")]
    if not parts:
        return
    # /usr/src/app/tools/x.py may be tools/x.py of this repository, mounted there: each ending counts.
    for start in range(len(parts) - 1):
        yield "/".join(parts[start:])
    before = text[match.start() - 1] if match.start() else ""
    rooted = word.startswith("./") or (word.startswith("/") and before != "" and before in _OPEN)
    if len(parts) == 1 and ("." in parts[0].strip(".") or rooted):
        yield parts[0]


def _commands(text: str) -> Iterator[str]:
    """Yield the words that are started, as they are written."""
    # Lines that go on are one command; else its second half would look like one.
    lines = list(_lines(text.replace("\\\n", " ")))
    for line in lines:
        plain = _VARIABLE.sub("$", _KEY.sub("", line))
        # Grows while it is walked: commands inside of commands, to whatever depth.
        lines += [one or other for one, other in _SUBSTITUTION.findall(plain)]
        for part in _SEGMENT.split(_SUBSTITUTION.sub("$", plain)):
            for word in filter(None, _BLANK.split(part)):
                if _SKIPPED.fullmatch(word):
                    continue
                yield word
                # Behind a plain program come its arguments; behind ``sh`` or ``sudo`` another program.
                if not _STARTERS.fullmatch(word.rpartition("/")[2] or word):
                    break


# Of gitattributes: a pattern with blanks is written in quotes.
_PATTERN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
# An attribute, and the parts of its driver in git's settings that are programs.
PROGRAMS: Final = {"filter": ("clean", "smudge", "process"), "diff": ("command", "textconv"), "merge": ("driver",)}
_MACRO: Final = "[attr]"
_Row = tuple[str, str, str]


def configured_drivers(keys: Iterable[str]) -> frozenset[str]:
    """Return the attributes for which settings name a program, such as ``filter=lfs``; git lists ``keys`` like that."""
    found = set()
    for key in keys:
        section, _, rest = key.partition(".")
        name, dot, part = rest.rpartition(".")
        # diff.x.binary or merge.x.name start nothing.
        if dot and part in PROGRAMS.get(section, ()):
            found.add(f"{section}={name}")
    return frozenset(found)


def led_anew(old: str, new: str, drivers: frozenset[str], macros: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the drivers to which a new text leads other files than the old one did.

    That is a line which names one, or the end of one that kept files away from it; ``macros`` are texts whose macros
    hold here, too.
    """
    if not drivers:
        return ()
    shared = [line for text in macros for line in text.splitlines() if line.lstrip().startswith(_MACRO)]
    before, after = (_rows(text, _read_macros([*shared, *text.splitlines()])) for text in (old, new))
    found: list[str] = []
    for attribute in PROGRAMS:
        was, now = ([row for row in rows if row[1] == attribute] for rows in (before, after))
        known = {f"{name}={value}" for _, name, value in now} & drivers
        fresh = [f"{row[1]}={row[2]}" for row in now if row not in was and f"{row[1]}={row[2]}" in drivers]
        freed = [row for row in was if row not in now and f"{row[1]}={row[2]}" not in drivers]
        # The last matching line wins in attributes, so the order alone may lead files elsewhere.
        turned = [row for row in was if row in now] != [row for row in now if row in was]
        found += fresh or (sorted(known) if freed or turned else [])
    return tuple(dict.fromkeys(found))


def _read_macros(lines: Iterable[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        text = line.strip()
        if text.startswith(_MACRO):
            name, *words = text.removeprefix(_MACRO).split() or [""]
            found[name] = words
    return found


def _rows(text: str, macros: Mapping[str, list[str]]) -> list[_Row]:
    """List pattern, attribute and value of each line that says something about a program, in their order.

    A macro counts by itself: what uses it may stand in another file.
    """
    found: list[_Row] = []
    for line in text.splitlines():
        said = line.strip()
        match = _PATTERN.match(said)
        if match is None or said.startswith("#"):
            continue
        for word in _spread(said[match.end() :].split(), macros):
            name, _, value = word.partition("=")
            # "-filter" and "!filter" end what an earlier line says: they lead files away from a program.
            sign = name[:1] if name[:1] in "-!" else ""
            if name.removeprefix(sign) in PROGRAMS:
                found.append((match.group(), name.removeprefix(sign), value or sign))
    return found


def _spread(words: Sequence[str], macros: Mapping[str, list[str]]) -> list[str]:
    """Take macros apart, and those they are made of, each once."""
    found, seen = list(words), set[str]()
    for word in found:
        if word in macros and word not in seen:
            seen.add(word)
            found += macros[word]
    return found
