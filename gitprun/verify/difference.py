"""What a compiler or linter says of a merged tree and of neither of its parents.

Comparing is pure. Asking starts the tool as a check is started: in a pristine place, within its walls and its view.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.model.units import Exit
from gitprun.supervisor.process import Stop
from gitprun.system import files
from gitprun.verify.check import find_program, run_shell
from gitprun.verify.installations import INSTALLED
from gitprun.verify.output import first_complaint, plain_lines, shown
from gitprun.verify.pristine import PristinePlace
from gitprun.verify.tools import COMMAND_MAX, TOOLS, Invocation, Tool, ToolMessage, TreeLayout, find_package

# A look at changed files takes seconds; one that takes longer than this is doing something else.
TIME_MAX = 300.0
# Bytes: some 20,000 messages. Of a tree with more nobody would read what is new.
OUTPUT_MAX = 4 << 20
# Before the package of a Java file stands at most a licence.
HEAD_MAX = 64 << 10


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool says of one tree; ``why`` it could not be asked (empty: it was)."""

    messages: tuple[ToolMessage, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """A tool and the files it is asked about, as far as a tree has them."""

    tool: Tool
    files: tuple[str, ...]


def find_questions(
    by_main: Iterable[str], by_unit: Iterable[str], env: Mapping[str, str]
) -> tuple[tuple[ToolQuestion, ...], tuple[str, ...]]:
    """Return what to ask about a merge whose sides changed these paths, and of which languages nobody can be asked.

    Of a language that one side alone changed nothing is asked: that side's own checks have looked at it.
    """
    main, unit = tuple(by_main), tuple(by_unit)
    found: dict[str, ToolQuestion | None] = {}
    missing: dict[str, list[str]] = {}
    for tool in TOOLS:
        sides = [[path for path in side if path.endswith(tool.endings)] for side in (main, unit)]
        if found.get(tool.language) is not None or not all(sides):
            continue
        there = find_program(tool.program, env) is not None
        found[tool.language] = ToolQuestion(tool, tuple(sorted({*sides[0], *sides[1]}))) if there else None
        missing.setdefault(tool.language, []).append(tool.program)
    asked = tuple(one for one in found.values() if one is not None)
    absent = (f"no {' or '.join(missing[one])} on PATH for {one}" for one, known in found.items() if known is None)
    return asked, tuple(absent)


def new_messages(
    merged: Sequence[ToolMessage],
    main: Sequence[ToolMessage],
    unit: Sequence[ToolMessage],
    base: Callable[[], Sequence[ToolMessage] | None],
) -> tuple[ToolMessage, ...]:
    """Return the messages on a merged tree that neither parent accounts for, each once.

    They are counted: where both sides added the same to what the ``base`` had, all of it may be there. The base is
    asked only where that matters; None means that nobody knows what it has, and then nothing is concluded.
    """
    counts = [Counter(one.key for one in side) for side in (merged, main, unit)]
    over = {key for key, many in counts[0].items() if many > max(counts[1][key], counts[2][key])}
    known = {key for key in over if counts[1][key] or counts[2][key]}
    if known:
        before = base()
        had = Counter(one.key for one in before or ())
        over -= {key for key in known if before is None or counts[0][key] <= counts[1][key] + counts[2][key] - had[key]}
    # Where there are several of the kind, those files are named in which there are more than on either side.
    places = [Counter((one.path, one.key) for one in side) for side in (merged, main, unit)]
    grown = {key for key, many in places[0].items() if many > max(places[1][key], places[2][key])}
    found = [one for one in merged if one.key in over]
    named = [one for one in found if (one.path, one.key) in grown]
    missed = [one for one in found if one.key not in {each.key for each in named}]
    return tuple(dict.fromkeys((*named, *missed)))


Start = Callable[[str], tuple[Exit, bytes]]


def ask(question: ToolQuestion, layout: TreeLayout, start: Start) -> Said:
    """Return what a tool says of a tree; ``start`` runs shell text there, and returns its end and its output."""
    tool, there = question.tool, [path for path in question.files if path in layout.paths]
    messages: list[ToolMessage] = []
    for one in tool.ask(there, layout) if there else ():
        if len(one.text.encode("utf-8", "surrogateescape")) > COMMAND_MAX:
            return Said(why=f"{tool.name}: too many files ({len(there)})")
        ended, output = start(one.text)
        said = _read(tool, one, layout, ended, output)
        if said.why:
            return said
        messages += said.messages
    return Said(tuple(messages))


def _read(tool: Tool, asked: Invocation, layout: TreeLayout, ended: Exit, output: bytes) -> Said:
    """Return what one look says: an end that is none of the tool's own, or words nobody understands, are no answer."""
    lines = plain_lines(output.decode("utf-8", "replace"))
    if ended.reason == "timeout":
        return Said(why=f"{tool.name} was stopped after {round(ended.seconds):g} s")
    if ended.reason != "exited" or ended.code not in tool.codes:
        said = first_complaint(lines) or f"exit code {ended.shell_code}"
        return Said(why=f"{tool.name}: {said if ended.reason == 'exited' else ended.reason}")
    if len(output) > OUTPUT_MAX or ended.dropped:
        return Said(why=f"{tool.name} said more than {OUTPUT_MAX >> 20} MB")
    if tool.gave_up and (gave_up := next(filter(tool.gave_up.fullmatch, lines), "")):
        return Said(why=f"{tool.name}: {shown(gave_up)}")
    found = tuple(tool.read(lines))
    if ended.code and not found:
        return Said(why=f"{tool.name}: {first_complaint(lines) or f'exit code {ended.code}, and not a word'}")
    faults = (one for one in found if tool.faults is None or tool.faults.match(one.text))
    # Some name files from where they were started, some from the top of a workspace above.
    placed = (
        ToolMessage(path if (path := f"{asked.folder}/{one.path}") in layout.paths else one.path, one.text)
        for one in faults
    )
    return Said(tuple(placed))


def read_layout(top: Path) -> TreeLayout:
    """Read which files a folder holds, and the package that one Java file of each folder says it is in."""
    paths, packages = set[str](), dict[str, str]()
    for folder, inner, names in os.walk(top):
        # What was installed is none of the tree's, and has more files than all of it.
        inner[:] = sorted(one for one in inner if one not in (".git", INSTALLED))
        here = os.path.relpath(folder, top)
        found = [name if here == "." else f"{here}/{name}" for name in sorted(names)]
        paths.update(found)
        java = next((path for path in found if path.endswith(".java") and "-info.java" not in path), None)
        if java is not None:
            head = files.read_plain(top / java, HEAD_MAX) or b""
            packages[java] = find_package(head.decode("utf-8", "replace"))
    return TreeLayout(paths=paths, packages=packages)


def ask_there(place: PristinePlace, question: ToolQuestion, logs: Path, stop: Stop | None, timeout: float) -> Said:
    """Return what a tool says of the tree a place was made of."""
    if place.around.obstacle:
        return Said(why=f"{question.tool.name}: {place.around.obstacle}")
    layout = read_layout(place.path)
    numbers: Iterator[int] = iter(range(1, 1 << 20))

    def start(command: str) -> tuple[Exit, bytes]:
        log = logs / f"{question.tool.program}-{next(numbers)}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        # Output is appended: what an earlier look said must not be read again.
        log.unlink(missing_ok=True)
        limit = min(timeout, TIME_MAX)
        ended = run_shell(command, place.path, place.around, log=log, timeout=limit, stop=stop)
        # Tools may say the whole path of a file: then it is one of this place, and another one in the next.
        output = files.read_plain(log, OUTPUT_MAX + 1) or b""
        return ended, output.replace(os.fsencode(f"{place.path}/"), b"")

    return ask(question, layout, start)
