"""``git prun merge-file`` without click: git starts it once a file, so it must start fast."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.model.errors import PrunError, UsageProblem
from gitprun.model.escapes import safe
from gitprun.model.exit_codes import EXIT_CANNOT, EXIT_USAGE

if TYPE_CHECKING:
    from gitprun.api.file import FileMerge

USAGE = "git prun merge-file [-p] --path PATH [--marker-size N] [-L LABEL]... OURS BASE THEIRS"
_SHORT = "pqL:"
_PASSED_ON = ("diff3", "zdiff3", "ours", "theirs", "union")
_FAVORS = ("--ours", "--theirs", "--union")
_LONG = ("stdout", "quiet", "path=", "marker-size=", *_PASSED_ON)
FLAGS = ("-p", "--stdout", "-q", "--quiet", *(f"--{name}" for name in _PASSED_ON))


def merge_words(words: Sequence[str], cwd: Path) -> int:
    """Do what ``git prun merge-file WORDS`` asks for; returns git's exit code, raises UsageProblem."""
    wanted, flags = parse_words(words)
    from gitprun.api.file import CANNOT, merge_file, replace_file

    answer = merge_file(wanted, cwd)
    if flags.isdisjoint(("-q", "--quiet")):
        for line in answer.said:
            print(safe(line), file=sys.stderr)
    if answer.code >= CANNOT:
        return answer.code
    if flags.isdisjoint(("-p", "--stdout")):
        replace_file(cwd / wanted.main, answer.text)
    else:
        sys.stdout.buffer.write(answer.text)
        sys.stdout.buffer.flush()
    return answer.code


def parse_words(words: Sequence[str]) -> tuple[FileMerge, frozenset[str]]:
    """Read the words after ``merge-file`` as git reads those of its own; returns the flags too."""
    from gitprun.api.file import FileMerge

    options, files = _split(words)
    if len(files) != 3:
        raise UsageProblem(f"merge-file: three files are needed, not {len(files)}", USAGE)
    path, passed = files[0], []
    for name, value in options:
        if name == "--path":
            path = value
        elif name == "--marker-size":
            if not value.isascii() or not value.isdigit() or len(value) > 9:
                raise UsageProblem(f"merge-file: --marker-size: invalid number {value!r}", USAGE)
            passed.append(f"{name}={value}")
        elif name == "-L":
            passed += [name, value]
        elif name.removeprefix("--") in _PASSED_ON:
            passed.append(name)
    flags = frozenset(name for name, _ in options if name in FLAGS)
    favored = not flags.isdisjoint(_FAVORS)
    main, base, unit = files
    return FileMerge(main=main, base=base, unit=unit, path=path, options=tuple(passed), favored=favored), flags


def _split(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Split words into options with their values and the rest, as getopt does (whose translations load slowly)."""
    options: list[tuple[str, str]] = []
    files: list[str] = []
    left = [*words]
    while left:
        word = left.pop(0)
        if word == "--":
            return options, files + left
        if word.startswith("--"):
            given, equals, value = word.partition("=")
            name = _whole_name(given[2:])
            if f"{name}=" in _LONG:
                if not equals and not left:
                    raise UsageProblem(f"merge-file: option --{name} requires argument", USAGE)
                value = value if equals else left.pop(0)
            elif equals:
                raise UsageProblem(f"merge-file: option --{name} must not have an argument", USAGE)
            options.append((f"--{name}", value))
        elif word.startswith("-") and word != "-":
            options += _split_short(word[1:], left)
        else:
            files.append(word)
    return options, files


def _split_short(letters: str, left: list[str]) -> list[tuple[str, str]]:
    found = []
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in _SHORT or letter == ":":
            raise UsageProblem(f"merge-file: option -{letter} not recognized", USAGE)
        value = ""
        if f"{letter}:" in _SHORT:
            if not letters and not left:
                raise UsageProblem(f"merge-file: option -{letter} requires argument", USAGE)
            value, letters = letters or left.pop(0), ""
        found.append((f"-{letter}", value))
    return found


def _whole_name(given: str) -> str:
    names = [name.rstrip("=") for name in _LONG]
    meant = [given] if given in names else [name for name in names if name.startswith(given)]
    if len(meant) != 1:
        raise UsageProblem(
            f"merge-file: option --{given} not {'recognized' if not meant else 'a unique prefix'}", USAGE
        )
    return meant[0]


def main(words: Sequence[str], cwd: Path | None = None) -> int:
    """Be ``git prun merge-file`` started as a program of its own; errors become a line and git's exit codes."""
    # The process is over before its garbage matters.
    gc.disable()
    try:
        return merge_words(words, cwd or Path.cwd())
    except PrunError as problem:
        print(f"error: {safe(problem.message)}", file=sys.stderr)
        if problem.hint:
            print(f"hint: {safe(problem.hint)}", file=sys.stderr)
        return EXIT_USAGE if isinstance(problem, UsageProblem) else EXIT_CANNOT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as problem:
        print(f"error: {safe(os.fsdecode(problem.filename or ''))}: {problem.strerror}", file=sys.stderr)
        return EXIT_CANNOT
    except KeyboardInterrupt:
        return 130
    finally:
        gc.enable()
