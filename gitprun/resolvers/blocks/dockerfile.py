"""Dockerfiles: stages of instructions whose order counts; lists of packages and variables that go on over lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.blocks.continued import BACKSLASH, continued_end, is_words, split_lines
from gitprun.resolvers.blocks.independent import join_instructions, join_lines
from gitprun.resolvers.blocks.resolve import fault_finder, merge_trees
from gitprun.resolvers.blocks.tree import BlockEntry, BlocksUnreadable, Key, Rule, split_above, squeeze, twins

NAME = "dockerfile"
FILES = ("Dockerfile", "Dockerfile.*", "*.dockerfile", "*.Dockerfile", "Containerfile", "Containerfile.*")

KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "FROM RUN CMD LABEL MAINTAINER EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL "
        "HEALTHCHECK SHELL",
    )
)
# Of several in a stage Docker takes the last one and drops the others.
_ONCE = frozenset({"CMD", "ENTRYPOINT", "HEALTHCHECK", "STOPSIGNAL", "MAINTAINER"})
_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?=\s|$)\s*(.*)", re.DOTALL)
# Neither "<<<" of a shell nor a shift ("1<<EOF").
_HEREDOC = re.compile(r"(?<![<\w])<<-?([\"']?)([A-Za-z_]\w*)\1")
_ALIAS = re.compile(r"\s+AS\s+(\S+)\s*$", re.IGNORECASE)
_SET = re.compile(r"(?:^|\s)(\"[^\"]+\"|[\w.\-/]+)=")
# A directive that makes another letter than the backslash continue lines (the backquote, on Windows).
_ESCAPE = re.compile(r"#\s*escape\s*=\s*[^\\\s]", re.IGNORECASE)
# Words of a command behind which names of packages follow: install, add, get; "npm i", "npm in".
_LISTS = re.compile(r"(?:[\w-]*install|add|get|i|in)$")
# A line that was to start an instruction, but the one above it kept its backslash.
_SWALLOWED = re.compile(r"(" + "|".join(KEYWORDS) + r")[ \t]+\S")

_STAGE = Rule(joint=join_instructions)
_LINES = Rule(BACKSLASH, sorts=("item",), needs=("item",), joint=join_lines)


def resolve_dockerfile(conflict: FileConflict) -> Resolved | Refused:
    """Merge a Dockerfile instruction by instruction, in order.

    Continued package lists (``install``, ``add``) are united as sets, ENV and LABEL by name. Two instructions that
    the sides put at one place are kept both, main's first, when they are independent: both are RUN, COPY, ADD, ENV,
    LABEL or EXPOSE (never CMD, ENTRYPOINT, FROM, WORKDIR, USER, ARG, SHELL ...), and neither names what the other
    makes. RUN makes the words it is given (its commands, their options and the likes of ``install`` aside), COPY and
    ADD their target and the names they copy (anything, if they copy ``.``, a folder or a pattern), ENV its names,
    PATH everything. Each was made to work without the other, so this is all that could come between them.
    """
    return merge_trees(conflict, NAME, read_dockerfile)


@dataclass(slots=True)
class _Stage:
    """A stage while it is read."""

    alias: str
    text: str = ""
    lead: str = ""
    inner: list[BlockEntry] = field(default_factory=list)


def read_dockerfile(text: str) -> BlockEntry | BlocksUnreadable:
    """Read a Dockerfile as instructions up to the first FROM, then stages of instructions."""
    lines = text.split("\n")[:-1]
    stages = [_Stage("")]
    above: list[str] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].lstrip().startswith("#"):
            # A comment may be the directive at the top: with another escape every line end would be misread.
            if _ESCAPE.match(lines[at].strip()):
                return BlocksUnreadable("it has an escape character of its own")
            above.append(lines[at])
            at += 1
            continue
        stop = _instruction_end(lines, at)
        if isinstance(stop, BlocksUnreadable):
            return stop
        alone, lead = split_above(above)
        stages[-1].inner += alone
        keyword = _keyword(lines[at])
        if keyword == "FROM":
            alias = _ALIAS.search(lines[stop - 1])
            whole = "".join(f"{line}\n" for line in lines[at:stop])
            # Docker compares names of stages without regard to case.
            stages.append(_Stage(alias.group(1).lower() if alias else "", whole, lead))
        elif keyword not in KEYWORDS:
            return BlocksUnreadable("a line is no instruction")
        else:
            stages[-1].inner.append(_read_instruction(keyword, lines[at:stop], lead))
        above = []
        at = stop
    alone, foot = split_above(above, attach=False)
    stages[-1].inner += alone
    return _tree(stages, foot)


def find_dockerfile_faults(text: str) -> tuple[str, ...]:
    """Name broken continuations, a second CMD or ENTRYPOINT in a stage, stages of one name."""
    # Another frontend may have instructions of its own.
    if re.search(r"^#\s*syntax\s*=(?!\s*docker/dockerfile)", text, re.IGNORECASE | re.MULTILINE):
        return ()
    tree = read_dockerfile(text)
    if isinstance(tree, BlocksUnreadable):
        return (tree.reason,) if "escape" not in tree.reason else ()
    stages = [entry for entry in tree.inner if entry.key[0] == "stage"]
    faults = [f"{twin} is there twice" for twin in twins(tree.inner, "stage")]
    for stage in stages:
        faults += [f"a stage has {twin} twice" for twin in twins(stage.inner, "CMD", "ENTRYPOINT")]
    for entry in (each for part in (tree, *stages) for each in part.inner):
        # These two take an instruction as their argument, which may well stand on the next line.
        if entry.key[0] not in KEYWORDS - {"HEALTHCHECK", "ONBUILD"}:
            continue
        swallowed = (_SWALLOWED.match(line.text) for line in entry.inner[1:])
        faults += [f"{found.group(1)} goes on the line above" for found in swallowed if found]
    return tuple(dict.fromkeys(faults))


def _tree(stages: Sequence[_Stage], foot: str) -> BlockEntry:
    unnamed = sum(not stage.alias for stage in stages[1:])
    entries, count = list(stages[0].inner), 0
    for stage in stages[1:]:
        count += not stage.alias
        # A stage without a name is known by its place, so no version may have more of them than another.
        name = stage.alias or f"{count} of {unnamed}"
        entries.append(BlockEntry(("stage", name), stage.text, stage.lead, inner=tuple(stage.inner), rule=_STAGE))
    return BlockEntry(("file",), inner=tuple(entries), foot=foot, rule=_STAGE)


def _keyword(line: str) -> str:
    found = _INSTRUCTION.match(line)
    return found.group(1).upper() if found else ""


def _instruction_end(lines: Sequence[str], start: int) -> int | BlocksUnreadable:
    stop = continued_end(lines, start)
    if stop is None:
        return BlocksUnreadable("the last instruction ends with a backslash")
    # Only these take a text that goes up to a word (a here document).
    if _keyword(lines[start]) not in ("RUN", "COPY", "ADD"):
        return stop
    for _, word in _HEREDOC.findall("\n".join(lines[start:stop])):
        while stop < len(lines) and lines[stop].strip() != word:
            stop += 1
        if stop == len(lines):
            return BlocksUnreadable(f"the text up to {word} has no end")
        stop += 1
    return stop


def _read_instruction(keyword: str, lines: Sequence[str], lead: str) -> BlockEntry:
    found = _INSTRUCTION.match(lines[0])
    rest = squeeze(found.group(2).rstrip().rstrip("\\")) if found else ""
    name: Key = (keyword, rest)
    whole = "\n".join(lines)
    # The text may hold anything, lines that look like instructions too, so it stays one piece.
    if _HEREDOC.search(whole) and keyword in ("RUN", "COPY", "ADD"):
        return BlockEntry((keyword, squeeze(whole)), whole, lead, tail="\n")
    if keyword in _ONCE:
        name = (keyword,)
    elif keyword == "ARG":
        name = (keyword, rest.partition("=")[0])
    elif keyword in ("ENV", "LABEL"):
        return _read_variables(keyword, lines, lead)
    return BlockEntry(name, lead=lead, inner=split_lines(lines, _Namer().name), rule=_LINES)


@dataclass(slots=True)
class _Namer:
    """Names the lines of an instruction: those of a package list by the command and the package."""

    command: str = ""

    def name(self, at: int, text: str) -> Key:
        """Name a line, and keep in mind which list it opens."""
        if at and self.command and is_words(text):
            return ("item", self.command, " ".join(map(package_name, text.split())))
        # A list belongs to the last command of its line: "update && install \".
        last = re.split(r"&&|\|\||[;|(]", text)[-1].split()
        words = [word for word in last if not word.startswith("-") and word.upper() != "RUN"]
        listing = next((i for i, word in enumerate(words) if _LISTS.match(word)), None)
        self.command = "" if listing is None else " ".join(words[: listing + 1])
        return ("line", squeeze(text))


def package_name(word: str) -> str:
    """Leave out the version of a package."""
    found = re.match(r"@?[^=@<>~!^]+", word)
    return found.group() if found else word


def _read_variables(keyword: str, lines: Sequence[str], lead: str) -> BlockEntry:
    names: list[str] = []

    def name_line(at: int, text: str) -> Key:
        own = re.sub(r"^\s*\w+\s+", "", text) if not at else text
        # The value in quotes may hold an "=" of its own.
        found = [name.strip('"') for name in _SET.findall(re.sub(r"=(\"(?:\\.|[^\"\\])*\"|'[^']*')", "=", own))]
        names.append(found[0] if found else "")
        return ("variable", *found)

    inner = split_lines(lines, name_line)
    # The old form "ENV NAME value" has one variable and no "=".
    if len(inner) == 1 and not names[0]:
        words = inner[0].text.split()
        return BlockEntry((keyword, *words[1:2]), lead=lead, inner=inner, rule=_LINES)
    if not all(names):  # a value goes on over the end of its line
        whole = "\n".join(lines)
        return BlockEntry((keyword, names[0] or squeeze(whole)), whole, lead, tail="\n")
    return BlockEntry((keyword, names[0]), lead=lead, inner=inner, rule=_LINES)


KIND = Kind(NAME, FILES, (resolve_dockerfile,), fault_finder(find_dockerfile_faults))
