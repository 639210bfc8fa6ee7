"""Makefiles: variables by name, rules by target, continued lists and .PHONY as sets, recipes in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.blocks.continued import BACKSLASH, continued_end, is_continued, split_lines
from gitprun.resolvers.blocks.resolve import fault_finder, merge_trees
from gitprun.resolvers.blocks.tree import (
    BlockEntry,
    BlocksUnreadable,
    Key,
    Rule,
    is_comment,
    render,
    split_above,
    squeeze,
)

NAME = "makefile"
FILES = ("Makefile", "makefile", "GNUmakefile", "*.mk", "*.mak")

# ":=", "::=" and ":::=" are assignments; a colon alone makes a rule.
_ASSIGNED = re.compile(r" *(?:(?:export|override|private) +)*([^\s:=#?+!]+)\s*(::?:?=|[?+!]?=)")
# A call in brackets may hold colons and blanks, and one more call.
_VALUE_OF = r"\$\((?:[^()]|\([^()]*\))*\)|\$\{[^{}]*\}"
# "&:" makes several targets at once, "::" adds one more recipe; no "=" behind, for that is an assignment.
_RULE = re.compile(rf"((?:{_VALUE_OF}|[^\s:=#])(?:{_VALUE_OF}|[^:=#])*?)\s*(&?::?)(?![=:])(.*)", re.DOTALL)
# Blanks only in front: behind a tab it would be a line of a recipe.
_CONDITION = re.compile(r" *(ifeq|ifneq|ifdef|ifndef)\b")
_ENDIF = re.compile(r" *endif\b")
_DEFINE = re.compile(r" *(?:(?:export|override) +)*define\s+(\S+)")
_INCLUDE = re.compile(r" *[-s]?include\s+(.*)")
_DIRECTIVE = re.compile(r" *(?:export|unexport|vpath|undefine)\b")
_USED = re.compile(r"\$[({]([\w.-]+)")
# A line of a list: names, paths and variables. No quote or semicolon, which only a recipe has.
_LIST_LINE = re.compile(r"\s*[\w$(@./-][\w$(){}@.+:=/~^*%, -]*\s*")
# What stands for prerequisites in their order ($^, $+, $?) or for the first of them ($<).
_WHOLE_LIST = re.compile(r"\$[<^+?]|\$\([<^+?][DF]\)")


def resolve_makefile(conflict: FileConflict) -> Resolved | Refused:
    """Merge a Makefile by variables and rules; refused when it would get another default goal than both sides'."""
    return merge_trees(conflict, NAME, read_makefile, check=_check_goal)


def read_makefile(text: str) -> BlockEntry | BlocksUnreadable:
    """Read a Makefile as variables, rules with recipes, and whatever else stands at the outermost level."""
    lines = text.split("\n")[:-1]
    phony = sum(line.startswith(".PHONY") for line in lines)
    entries: list[BlockEntry] = []
    above: list[str] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].lstrip().startswith("#"):
            above.append(lines[at])
            at += 1
            continue
        stop = _statement_end(lines, at)
        if isinstance(stop, BlocksUnreadable):
            return stop
        alone, lead = split_above(above)
        made = _read_statement(lines[at:stop], lead, phony)
        if isinstance(made, BlocksUnreadable):
            return made
        entries += [*alone, made]
        above = []
        at = stop
    alone, foot = split_above(above, attach=False)
    return BlockEntry(("file",), inner=(*entries, *alone), foot=foot, rule=_FILE)


def find_makefile_faults(text: str) -> tuple[str, ...]:
    """Name targets that have two recipes, outside of conditions."""
    tree = read_makefile(text)
    if isinstance(tree, BlocksUnreadable):
        return ()
    # What a condition holds is one piece, so recipes in two branches are not counted here.
    counts: Counter[str] = Counter()
    for entry in tree.inner:
        if entry.key[0] == "rule" and not _is_special(entry) and any(part.key[0] == "recipe" for part in entry.inner):
            counts.update(entry.key[1].split())
    return tuple(f"target {name} has two recipes" for name, count in counts.items() if count > 1)


def _is_special(rule: BlockEntry) -> bool:
    # "::" allows many recipes; what a pattern or a variable stands for is not known.
    return "::" in render(rule.inner[0]).replace("::=", "") or any(mark in rule.key[1] for mark in "%$&")


def _statement_end(lines: Sequence[str], start: int) -> int | BlocksUnreadable:
    if _CONDITION.match(lines[start]):
        return _nested_end(lines, start, _CONDITION, _ENDIF)
    if _DEFINE.match(lines[start]):
        return _nested_end(lines, start, _DEFINE, re.compile(r" *endef\b"))
    stop = _line_end(lines, start)
    if not _is_rule("\n".join(lines[start:stop])):
        return stop
    at = stop
    while at < len(lines):
        if lines[at].startswith("\t") and lines[at].strip():
            # Blank lines and comments are part of a recipe only when one more line of it follows.
            at = stop = _line_end(lines, at)
        elif not lines[at].strip() or lines[at].startswith("#"):
            at += 1
        else:
            break
    # A condition behind a recipe may be about more lines of it: only a tab below tells, and then it is not taken apart.
    if at < len(lines) and _CONDITION.match(lines[at]):
        body = next((line for line in lines[at + 1 :] if line.strip() and not _CONDITION.match(line)), "")
        if body.startswith("\t"):
            return BlocksUnreadable("a recipe holds a condition")
    return stop


def _line_end(lines: Sequence[str], start: int) -> int:
    at = start
    while at < len(lines) and is_continued(lines[at]):
        at += 1
    return min(at + 1, len(lines))


def _nested_end(
    lines: Sequence[str], start: int, opening: re.Pattern[str], closing: re.Pattern[str]
) -> int | BlocksUnreadable:
    depth = 0
    for at in range(start, len(lines)):
        depth += bool(opening.match(lines[at])) - bool(closing.match(lines[at]))
        if not depth:
            return at + 1
    return BlocksUnreadable("a condition or a definition is not closed")


def _is_rule(text: str) -> bool:
    if _ASSIGNED.match(text) or _INCLUDE.match(text) or _DIRECTIVE.match(text):
        return False
    return _RULE.match(text) is not None


def _read_statement(lines: Sequence[str], lead: str, phony: int) -> BlockEntry | BlocksUnreadable:
    first, whole = lines[0], "\n".join(lines)
    if first.startswith("\t"):
        return BlocksUnreadable("a recipe line stands outside of every rule")
    if is_continued(lines[-1]):
        return BlocksUnreadable("the last line ends with a backslash")
    condition, define, included = _CONDITION.match(first), _DEFINE.match(first), _INCLUDE.match(first)
    assigned = _ASSIGNED.match(first)
    key: Key = ("line", squeeze(whole))
    if condition:
        key = ("condition", squeeze(first))
    elif define:
        key = ("variable", define.group(1))
    elif included:
        key = ("include", squeeze(included.group(1)))
    elif assigned:
        name, operator = assigned.groups()
        # "A +=" may stand many times, so such a line is known by its text.
        if operator != "+=":
            key = ("variable", name)
        if len(lines) > 1 and continued_end(lines, 0) == len(lines):
            key = ("variable", name) if operator != "+=" else ("added to", name)
            return BlockEntry(key, lead=lead, inner=split_lines(lines, _name_line), rule=_LINES)
    elif _is_rule("\n".join(lines[: _line_end(lines, 0)])):
        return _read_rule(lines, lead, phony)
    return BlockEntry(key, whole, lead, tail="\n")


def _name_line(at: int, text: str) -> Key:
    if at and _LIST_LINE.fullmatch(text):
        return ("item", "list", squeeze(text))
    return ("line", squeeze(text))


def _read_rule(lines: Sequence[str], lead: str, phony: int) -> BlockEntry | BlocksUnreadable:
    stop = _line_end(lines, 0)
    found = _RULE.match("\n".join(lines[:stop]))
    if found is None:
        return BlocksUnreadable("a line is neither a rule nor an assignment")
    targets, _, rest = found.groups()
    # A value of the target ("prog: CFLAGS = -g"), not its prerequisites.
    own = _ASSIGNED.match(rest)
    if own:
        return BlockEntry(("variable of target", squeeze(targets), own.group(1)), "\n".join(lines), lead, tail="\n")
    # With many such lines each is a statement of its own; with one line it is a set.
    if targets == ".PHONY" and phony > 1:
        return BlockEntry((".PHONY", squeeze(rest)), "\n".join(lines), lead, tail="\n")
    recipe = _read_recipe(lines[stop:])
    uses_list = any(_WHOLE_LIST.search(line) for line in lines[stop:])
    head = _read_head(lines[:stop], found, plain=not uses_list)
    if targets == ".PHONY" and head.inner:
        head = replace(head, rule=_PHONY)
        return BlockEntry(("rule", targets), lead=lead, inner=(head,), rule=_PHONY)
    return BlockEntry(("rule", squeeze(targets)), lead=lead, inner=(head, *recipe))


def _read_head(lines: Sequence[str], found: re.Match[str], *, plain: bool) -> BlockEntry:
    """Read targets and prerequisites; these are a set of words unless the recipe asks for their order."""
    whole, rest = "\n".join(lines), found.group(3)
    words = re.findall(r"[\w./@-]+", rest)
    spaced = re.fullmatch(r"((?:\s|\\\n)*)([\w./@-]+(?:(?:[ \t]|\\\n)+[\w./@-]+)*)[ \t]*", rest)
    # A word that stands twice, or comes out of a variable, may have its place for a reason.
    if not plain or not spaced or len(set(words)) < len(words) or any(mark in found.group(1) for mark in "%$"):
        return BlockEntry(("prerequisites",), whole, tail="\n")
    gaps = re.findall(r"(?:[ \t]|\\\n)+", spaced.group(2))
    inner = [BlockEntry(("prerequisite", word), word, sep=gap) for word, gap in zip(words, [*gaps, ""], strict=True)]
    text = whole[: found.start(3)] + spaced.group(1)
    return BlockEntry(("prerequisites",), text, inner=tuple(inner), foot=rest[spaced.end(2) :] + "\n", rule=_WORDS)


def _read_recipe(lines: Sequence[str]) -> Iterator[BlockEntry]:
    inner: list[BlockEntry] = []
    above: list[str] = []
    at = 0
    while at < len(lines):
        if not lines[at].startswith("\t") or not lines[at].strip():
            above.append(lines[at])
            at += 1
            continue
        stop = _line_end(lines, at)
        whole = "\n".join(lines[at:stop])
        inner.append(
            BlockEntry(("recipe line", squeeze(whole)), whole, "".join(f"{line}\n" for line in above), tail="\n")
        )
        above = []
        at = stop
    if inner:
        yield BlockEntry(("recipe",), inner=tuple(inner), rule=_RECIPE)


def _join_recipe(main: Sequence[BlockEntry], unit: Sequence[BlockEntry]) -> str | None:
    return "both sides change a recipe at one place"


def _join_items(main: Sequence[BlockEntry], unit: Sequence[BlockEntry]) -> str | None:
    if all(entry.key[0] == "item" for entry in (*main, *unit)):
        return None
    return "both sides change the same lines of one variable"


def _join_statements(main: Sequence[BlockEntry], unit: Sequence[BlockEntry]) -> str | None:
    """Return in words why statements that both sides changed at one place depend on each other."""
    main, unit = ([entry for entry in side if not is_comment(entry)] for side in (main, unit))
    for entry in (*main, *unit) if main and unit else ():
        if entry.key[0] not in ("variable", "rule", ".PHONY", "variable of target"):
            # Forty letters are enough to find the line by.
            return f"both sides change something at one place and the order of {squeeze(render(entry))[:40]} counts"
    for side, other in ((main, unit), (unit, main)):
        names = {entry.key[1] for entry in side if entry.key[0] == "variable"}
        used = names & {name for entry in other for name in _USED.findall(render(entry))}
        if used:
            return f"one side uses the variable {min(used)}, which the other changes at the same place"
    return None


def _check_goal(base: BlockEntry, main: BlockEntry, unit: BlockEntry, merged: BlockEntry) -> str | None:
    # Without a target "make" makes the first one, so an addition above it changes what everybody runs.
    goals = [_goal(tree) for tree in (base, main, unit, merged)]
    due = goals[1] if goals[2] in (goals[0], goals[1]) else goals[2] if goals[1] == goals[0] else None
    return None if goals[3] == due else "the default goal would be another one"


def _goal(tree: BlockEntry) -> str | None:
    names = (entry.key[1] for entry in tree.inner if entry.key[0] == "rule")
    # Special targets (.PHONY) and patterns are never made by default.
    return next((name for name in names if not name.startswith(".") and "%" not in name), None)


_FILE = Rule(joint=_join_statements)
_LINES = Rule(BACKSLASH, sorts=("item",), needs=("item",), joint=_join_items)
_WORDS = Rule(" ", sorts=("prerequisite",))
_PHONY = Rule(" ", united=True, sorts=("prerequisite",))
_RECIPE = Rule(joint=_join_recipe)

KIND = Kind(NAME, FILES, (resolve_makefile,), fault_finder(find_makefile_faults))
