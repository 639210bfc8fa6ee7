"""A git program that does not end: whom it has started, and what it waits for."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.stale import is_git_in
from gitprun.supervisor import process_tree
from gitprun.supervisor.orphans import processes_of
from gitprun.system.files import read_plain

# More special files than one are no more use, and refs may be many.
_MOST_LOOKED_AT = 100_000
# About a line of a wide terminal.
_SHOWN = 120
_MERGE_FILE = re.compile(r"\.merge_file_[A-Za-z0-9]{6}")
# Times of files go by the ticks of the kernel, which lie behind the clock.
_COARSE = 0.02
_FILES = ("HEAD", "packed-refs", "config", "index", "info/attributes", "info/exclude")
_CHECKOUT_FILES = (".gitattributes", ".gitignore", ".gitmodules")


@dataclass(frozen=True, slots=True)
class Programs:
    """What a git program had started: who they are, and the words they were started with, the oldest first."""

    tree: process_tree.Kin
    words: tuple[str, ...]


def look_below(pid: int, mark: str) -> Programs:
    """List what a git program has started, by its mark and by parentage; nothing where it cannot be told."""
    processes = process_tree.list_processes() or {}
    tree = processes_of(mark) | {one: processes[one][1] for one in process_tree.below([pid], processes)}
    tree.pop(pid, None)
    own = sorted(tree, key=lambda one: (int(tree[one]), one))
    return Programs(tree, tuple(filter(None, map(_words_of, own))))


def _words_of(pid: int) -> str:
    try:
        # The beginning of a command line is enough to know it by.
        words = process_tree.read_file(f"/proc/{pid}/cmdline", 4096).rstrip(b"\0").split(b"\0")
    except OSError:
        return ""
    # What git starts to do its own work is still git.
    return "" if os.path.basename(words[0]) == b"git" else os.fsdecode(b" ".join(words))


def drop_merge_files(folder: Path, began: float) -> None:
    """Remove what an ended ``git merge-tree`` laid out for a merge driver, in the folder it ran in.

    Git takes these away only when the driver ends. Those of another git that works there are left alone with ours.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        left = [Path(entry.path) for entry in entries if _MERGE_FILE.fullmatch(entry.name)]
        found = [(place, os.lstat(place)) for place in left]
        ours = [
            place
            for place, seen in found
            if stat.S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid() and seen.st_ctime >= began - _COARSE
        ]
        if ours and not is_git_in(folder):
            for place in ours:
                place.unlink()


def explain_hung(
    command: str, words: tuple[str, ...], folder: Path, env_dir: str | None, settings: Callable[[], dict[str, str]]
) -> tuple[str, str]:
    """Return what a git program waited for, and how to go on; both empty where it cannot be told.

    ``words`` are of the programs it had started, ``settings`` reads the drivers and filters of its repository.
    """
    if not words:
        place = next(_find_special(folder, env_dir), None)
        return (f"{place}, which is no plain file", f"look at {place}, and remove it") if place else ("", "")
    merging = command.startswith("merge")
    section, kind = ("merge.", "merge driver") if merging else ("filter.", "filter")
    known = {key: program for key, program in settings().items() if key.startswith(section)}
    named = {key: program for key, program in known.items() if _stem(program) in " ".join(words)} or known
    shown = words[0] if len(words[0]) <= _SHOWN else f"{words[0][:_SHOWN]}..."
    # Several could be the one, and to name one of them would be a guess.
    if len({key.rpartition(".")[0] for key in named}) != 1:
        return repr(shown), ""
    key, program = next(iter(named.items()))
    name = key.removeprefix(section).rpartition(".")[0]
    return f"the {kind} {name!r} ({program})", f"git config {key} shows it; the program it names does not end"


def _stem(program: str) -> str:
    """Return the beginning of a configured program: what git puts in for %O and the like is not known here."""
    # An empty text would be found in any command line; a NUL is in none.
    return program.partition("%")[0].strip() or "\0"


def _find_special(folder: Path, env_dir: str | None) -> Iterator[Path]:
    """Find what is neither file nor folder where git reads files: to open a named pipe waits for ever."""
    top, git_dir = _places(folder)
    git_dir = Path(env_dir) if env_dir else git_dir
    yield from filter(_is_special, [git_dir / name for name in _FILES] + [top / name for name in _CHECKOUT_FILES])
    seen = 0
    for inside, _, names in os.walk(git_dir / "refs"):
        for name in names:
            seen += 1
            if seen > _MOST_LOOKED_AT:
                return
            if _is_special(place := Path(inside, name)):
                yield place


def _places(folder: Path) -> tuple[Path, Path]:
    """Find the checkout and the shared git folder around a folder without asking git."""
    top = next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), folder)
    git_dir = top / ".git"
    if git_dir.is_file():
        said = os.fsdecode(read_plain(git_dir, _MOST_LOOKED_AT) or b"").removeprefix("gitdir:").strip()
        shared = os.fsdecode(read_plain(top / said / "commondir", _MOST_LOOKED_AT) or b"").strip()
        git_dir = top / said / shared
    return top, git_dir if git_dir.is_dir() else folder


def _is_special(place: Path) -> bool:
    try:
        # Through links, as git opens them.
        mode = os.stat(place).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
