"""Which files a script, or a line of settings, starts or names; pure, and by their looks alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from gitprun.landing.surface import PLAIN_WORD

# What comes before a name that begins with a variable or a substitution: $top/lint.sh.
_OPEN: Final = "$}{)\"'`"
_VARIABLE: Final = re.compile(r"\$\{[^}]*\}|\$\w+")
# The output of commands, which stands for one word.
_SUBSTITUTION: Final = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
_SEGMENT: Final = re.compile(r"[;|&(\[{!]")
_BLANK: Final = re.compile(r"[\s\"',\])}]+")
_SKIPPED: Final = re.compile(r"-.*|\w+=.*|\$|@|")
# What starts what comes after it, be it a program or a word of a shell.
_STARTERS: Final = re.compile(
    r"(?:exec|command|env|time|nice|sudo|xargs|eval|trap|source|\.|then|do|else|elif|if|while|until"
    r"|sh|bash|dash|zsh|ksh|fish|busybox|run-parts|python[\d.]*|pypy\d*|node|nodejs|deno|bun|tsx|ts-node|npx"
    r"|ruby|bundle|perl|php|lua|pwsh|powershell|run|uv|poetry|pipenv|hatch|pdm|make|just|call|start)"
)
_KEY: Final = re.compile(r"^\s*(?:-\s+)?[\"']?[\w-]+[\"']?\s*:\s+")
# The lines of hook runners' and agents' settings that say what is started.
_STARTS: Final = re.compile(r"^.*\b(?:entry|run|command|args|script|runner|helper)s?[\"']?\s*[:=].*$", re.MULTILINE)


def names_in_text(text: str) -> frozenset[str]:
    """Return what a script may mean when it names a file of the tree: each word that is a path, and its endings.

    A name without a folder counts only where it stands alone with an ending of its own, or after ``./`` or a variable:
    ``make test`` names no file ``test``.
    """
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
    for start in range(len(parts) - 1):
        yield "/".join(parts[start:])
    before = text[match.start() - 1] if match.start() else ""
    rooted = word.startswith("./") or (word.startswith("/") and before != "" and before in _OPEN)
    if len(parts) == 1 and ("." in parts[0].strip(".") or rooted):
        yield parts[0]


def _commands(text: str) -> Iterator[str]:
    """Yield the words that are started, as they are written."""
    lines = list(_lines(text.replace("\\\n", " ")))
    for line in lines:
        plain = _VARIABLE.sub("$", _KEY.sub("", line))
        lines += [one or other for one, other in _SUBSTITUTION.findall(plain)]
        for part in _SEGMENT.split(_SUBSTITUTION.sub("$", plain)):
            for word in filter(None, _BLANK.split(part)):
                if _SKIPPED.fullmatch(word):
                    continue
                yield word
                if not _STARTERS.fullmatch(word.rpartition("/")[2] or word):
                    break
