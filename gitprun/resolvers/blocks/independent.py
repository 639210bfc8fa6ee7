"""Which instructions of a Dockerfile can stand side by side though both sides put them at one place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.resolvers.blocks.tree import BlockEntry, is_comment, render

# The others change what all below them means (USER, WORKDIR, SHELL) or count only once (CMD).
_MAY_JOIN = frozenset({"RUN", "COPY", "ADD", "ENV", "LABEL", "EXPOSE"})
_WORD = re.compile(r"[\w./@+:-]+")
_OPERATOR = re.compile(r"&&|\|\||[;|]")
# Words that say what a command does, and folders that every command may clear.
_PLAIN = frozenset(re.findall(r"\S+", "install add update upgrade clean get ci rm run set true false -"))
_SHARED = re.compile(r"/(?:var/lib/apt|var/cache|tmp|dev|root/\.cache)(?:/|$)")
_ANYTHING = "everything"


def join_instructions(main: Sequence[BlockEntry], unit: Sequence[BlockEntry]) -> str | None:
    """Return why instructions that both sides changed at one place depend on each other; None when they do not."""
    # A comment runs nothing.
    main, unit = ([entry for entry in side if not is_comment(entry)] for side in (main, unit))
    if not main or not unit:
        return None
    for entry in (*main, *unit):
        if entry.key[0] not in _MAY_JOIN:
            return f"both sides change something at one place and the order of {entry.key[0]} counts"
    for one in main:
        for other in unit:
            shared = _shared(one, other) or _shared(other, one)
            if shared:
                return f"both sides change instructions at one place that have {shared} in common"
    return None


def join_lines(main: Sequence[BlockEntry], unit: Sequence[BlockEntry]) -> str | None:
    """Return in words why lines of one instruction cannot be united: only items of one list and variables can."""
    entries = [*main, *unit]
    groups = {entry.key[:2] if entry.key[0] == "item" else entry.key[:1] for entry in entries}
    # Plain lines are steps of one command; items of two lists are arguments of two commands.
    if len(groups) > 1 or groups == {("line",)}:
        return "both sides change the same lines of one instruction"
    by_main, by_unit = (
        {word for entry in side for name in entry.key[-1:] for word in name.split()} for side in (main, unit)
    )
    if by_main & by_unit:
        return f"both sides change {min(by_main & by_unit)} in one list"
    if groups == {("variable",)}:
        for side, names in ((unit, by_main), (main, by_unit)):
            used = names & {word for entry in side for word in _WORD.findall(entry.text)}
            if used:
                return f"a variable of one side uses {min(used)} of the other"
    return None


def _shared(maker: BlockEntry, user: BlockEntry) -> str | None:
    """Name what one instruction makes and the other names."""
    made = _made(maker)
    if _ANYTHING in made and user.key[0] in ("RUN", "COPY", "ADD"):
        return _ANYTHING
    found = made & _named(user)
    return min(found) if found else None


def _arguments(entry: BlockEntry) -> list[str]:
    text = re.sub(r"^\s*\w+\s+", "", render(entry)).replace("\\\n", " ")
    return [word for word in text.split() if not word.startswith("--")]


def _made(entry: BlockEntry) -> set[str]:
    kind = entry.key[0]
    if kind == "ENV":
        names = {name for line in entry.inner for name in line.key[1:]} | {*entry.key[1:2]}
        # A new PATH may change which program any command means.
        return names | ({_ANYTHING} if "PATH" in names else set())
    if kind in ("COPY", "ADD"):
        words = [word.strip("[],\"'") for word in _arguments(entry)]
        # Copied folders and patterns may hold any file.
        vague = any(word in (".", "./", "..", "/") or word.endswith("/") or "*" in word for word in words[:-1])
        target = {words[-1], _base_name(words[-1])} if words else set()
        return ({_ANYTHING} if vague else {_base_name(word) for word in words} | target) - {"", ".", "./"}
    if kind == "RUN":
        made: set[str] = set()
        for command in _OPERATOR.split(" ".join(_arguments(entry))):
            # The first word of a command is what it runs, and nothing that it makes.
            words = [word for found in command.split()[1:] for word in _WORD.findall(found)]
            made |= {word for word in words if not word.startswith("-") and not _SHARED.match(word)}
        return made - _PLAIN
    return set()


def _named(entry: BlockEntry) -> set[str]:
    words = set(_WORD.findall(" ".join(_arguments(entry))))
    # A path names every folder on it, "user:group" and "image:tag" both their halves.
    parts = {part for word in words for part in word.split("/")} | {part for word in words for part in word.split(":")}
    return words | parts


def _base_name(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2]
