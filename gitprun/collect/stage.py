"""Bring the private index of a workspace up to the work in it, and write its tree."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from gitprun.collect.hidden import read_hidden
from gitprun.collect.modules import MAX_SIZE, refused_setting
from gitprun.collect.scan import Scan, look
from gitprun.collect.screen import HEAD, Found, LeftOut, gather_left_out, screen_link, screen_new, screen_size, within
from gitprun.collect.site import GITLINK, TREE, Site
from gitprun.errors import GitFailed, PrunError
from gitprun.names import Oid, parse_oid
from gitprun.system.files import read_plain

TIMEOUT = 300.0
# So many paths git may refuse one by one; more of them mean that something else is wrong.
MOST_REFUSED = 16


class FilterChanged(PrunError):
    """A filter of the user's is a program in the checkout, and the worker changed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """The tree of the work, what is not in it, how many files differ in their line ends only, core.hooksPath."""

    tree: Oid
    left_out: tuple[LeftOut, ...]
    noise: int
    hooks: str = ""


@dataclass(slots=True)
class _Pile:
    """The paths sorted so far."""

    nested: tuple[str, ...] = ()
    left_out: list[LeftOut] = field(default_factory=list)
    gone: list[bytes] = field(default_factory=list)
    wanted: list[bytes] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    noise: int = 0

    def leave(self, row: LeftOut, *, path: str | None = None) -> None:
        """Leave a path out; a reason that is empty means: litter, not worth a word."""
        self.refused.add(path or row.path)
        if row.reason:
            self.left_out.append(row)


def stage(site: Site, scan: Scan) -> Staged:
    """Stage everything the worker did that is work, and write the tree."""
    programs = _read_programs(site)
    _require_own_filters(site, programs)
    tracked, removed, new = _changes(site)
    hidden, left_out = read_hidden(site, scan, new)
    pile = _Pile(left_out=left_out)
    _sort_repositories(site, scan, pile)
    for name in dict.fromkeys([*new, *hidden]):
        _sort_new(site, name, pile)
    already = _differing(site) if tracked else frozenset()
    for name in tracked:
        _sort_tracked(site, name, pile, staged=name in already)
    pile.gone += [name for name in removed if not _below(os.fsdecode(name), pile.refused)]
    specials = [os.fsdecode(name) for name in scan.specials]
    pile.left_out += [
        LeftOut(name, "a fifo, socket, device or unreadable folder")
        for name in specials
        if not within(name, pile.nested)
    ]
    _update(site, pile)
    tree = parse_oid(site.git.run("write-tree").text)
    return Staged(
        tree=tree, left_out=gather_left_out(pile.left_out), noise=pile.noise, hooks=programs.get("core.hookspath", "")
    )


def _changes(site: Site) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Ask git which tracked paths changed, which are gone, which are new (and not ignored)."""
    words = ("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
    by_tag: dict[bytes, list[bytes]] = {b"C": [], b"R": [], b"?": []}
    for row in site.git.run(*words, *site.excludes, timeout=TIMEOUT).fields:
        by_tag.setdefault(row[:1], []).append(row[2:])
    removed = list(dict.fromkeys(by_tag[b"R"]))
    gone = set(removed)
    return [name for name in dict.fromkeys(by_tag[b"C"]) if name not in gone], removed, by_tag[b"?"]


def _differing(site: Site) -> frozenset[bytes]:
    """List what an earlier capture staged already: the paths whose index entry is not the base's."""
    words = ("diff-index", "--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "-z", site.base)
    return frozenset(site.git.run(*words).fields)


def _sort_repositories(site: Site, scan: Scan, pile: _Pile) -> None:
    """Leave repositories inside the workspace out, but not a folder of the base that got a ``.git``."""
    nested: list[str] = []
    for folder in map(os.fsdecode, scan.repositories):
        mode = site.base_mode(folder)
        if within(folder, tuple(nested)):
            continue
        if mode == TREE:
            pile.left_out.append(LeftOut(f"{folder}/.git", "a repository inside the workspace"))
            continue
        nested.append(folder)
        if mode != GITLINK:
            pile.leave(LeftOut(f"{folder}/", "a repository inside the workspace"), path=folder)
    for folder in _gitlinks(site):
        if _filled(site, folder):
            pile.leave(LeftOut(f"{folder}/", "inside a submodule: not captured"), path=folder)
    pile.nested = tuple(nested)


def _gitlinks(site: Site) -> list[str]:
    """List the submodules in the index."""
    if site.base_blob(".gitmodules") is None:
        return []
    rows = site.git.run("ls-files", "-z", "--stage").fields
    return [os.fsdecode(row.partition(b"\t")[2]) for row in rows if row.startswith(b"160000 ")]


def _filled(site: Site, folder: str) -> bool:
    """Tell whether anything is in a submodule's folder (a fresh workspace has it empty)."""
    seen = look(site.workspace.path, folder)
    return seen is not None and stat.S_ISDIR(seen[0]) and bool(os.listdir(site.workspace.path / folder))


def _sort_new(site: Site, name: bytes, pile: _Pile) -> None:
    text = os.fsdecode(name)
    if text.endswith("/") or within(text, pile.nested) or within(text, site.apart):
        return
    seen = look(site.workspace.path, text)
    # Codex leaves an empty file of this name.
    if seen is None or (text == ".codex" and seen[1] == 0):
        return
    head = read_plain(site.workspace.path / text, HEAD) if stat.S_ISREG(seen[0]) else None
    found = Found(text, seen[1], seen[2], head or b"", bool(seen[0] & 0o111) and seen[2] is None)
    refused = screen_new(found, site.max_file, lambda folder: site.base_mode(folder) == TREE)
    refused = refused or _screen_modules(site, text)
    if refused is None:
        pile.wanted.append(name)
    else:
        pile.leave(refused, path=text)


def _sort_tracked(site: Site, name: bytes, pile: _Pile, *, staged: bool) -> None:
    """Judge a path git calls changed; what is refused keeps the version of the base."""
    text = os.fsdecode(name)
    if _below(text, pile.refused):
        return
    seen = look(site.workspace.path, text)
    if seen is None or _behind_link(site, text):
        pile.gone.append(name)
    elif stat.S_ISDIR(seen[0]):
        if site.base_mode(text) == GITLINK:
            pile.leave(LeftOut(f"{text}/", "inside a submodule: not captured"), path=text)
        elif text not in pile.nested:
            pile.gone.append(name)
    elif seen[2] is not None:
        refused = screen_link(Found(text, link=seen[2]))
        if refused:
            pile.leave(refused)
        else:
            pile.wanted.append(name)
    elif stat.S_ISREG(seen[0]):
        _sort_file(site, name, pile, seen, staged=staged)


def _sort_file(site: Site, name: bytes, pile: _Pile, seen: tuple[int, int, str | None], *, staged: bool) -> None:
    text = os.fsdecode(name)
    mode, before = site.base_mode(text), None
    if not staged and mode is not None and stat.S_ISREG(mode) and bool(seen[0] & 0o100) == bool(mode & 0o100):
        before = site.base_blob(text)
    same = before is not None and len(before) == seen[1]
    if same and read_plain(site.workspace.path / text, seen[1] + 1) == before:
        # Line-end rules that came after the file: git calls it changed, yet it has the very bytes of the base.
        pile.noise += 1
        return
    refused = screen_size(Found(text, seen[1]), site.max_file)
    if refused and len(site.base_blob(text) or b"") > site.max_file:
        refused = None
    refused = refused or _screen_modules(site, text)
    if refused:
        pile.leave(refused)
    else:
        pile.wanted.append(name)


def _screen_modules(site: Site, text: str) -> LeftOut | None:
    """Judge a file of submodule settings, which git reads wherever the commit is cloned."""
    if os.path.basename(text).lower() != ".gitmodules":
        return None
    content = read_plain(site.workspace.path / text, MAX_SIZE) or b""
    refused = refused_setting(site.repository.git, content)
    return LeftOut(text, f"a submodule setting that git refuses: {refused}", len(content)) if refused else None


def _below(text: str, folders: Iterable[str]) -> bool:
    """Tell whether a path, or a folder above it, is among the given ones."""
    parts = text.split("/")
    known = folders if isinstance(folders, set) else set(folders)
    return any("/".join(parts[:number]) in known for number in range(1, len(parts) + 1))


def _behind_link(site: Site, text: str) -> bool:
    """Tell whether a folder above a path is a link now."""
    parts = text.split("/")[:-1]
    return any(os.path.islink(os.path.join(site.workspace.path, *parts[: number + 1])) for number in range(len(parts)))


def _update(site: Site, pile: _Pile) -> None:
    if pile.gone:
        listing = b"".join(name + b"\0" for name in pile.gone)
        site.git.run("update-index", "--force-remove", "-z", "--stdin", stdin=listing, timeout=TIMEOUT)
    if pile.wanted:
        refused: list[LeftOut] = []
        _add(site, pile.wanted, refused)
        pile.left_out += refused


def _add(site: Site, names: list[bytes], refused: list[LeftOut]) -> None:
    """Stage paths; git refuses all for one it cannot take, which is searched by halves and left out."""
    listing = b"".join(name + b"\0" for name in names)
    words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
    try:
        site.git.run(*words, stdin=listing, timeout=TIMEOUT)
    except GitFailed as problem:
        if len(refused) >= MOST_REFUSED:
            raise
        if len(names) > 1:
            _add(site, names[: len(names) // 2], refused)
            _add(site, names[len(names) // 2 :], refused)
            return
        said = problem.stderr.strip().splitlines() or [problem.message]
        reason = said[0].removeprefix("error: ").removeprefix("fatal: ")
        refused.append(LeftOut(os.fsdecode(names[0]), f"git could not stage it: {reason}"))


def _read_programs(site: Site) -> dict[str, str]:
    """Read the settings of the user's that name programs staging or committing would start."""
    keys = r"^(filter\..*\.(clean|process)|core\.hookspath)$"
    rows = site.git.run("config", "-z", "--get-regexp", keys, ok=(0, 1)).fields
    # What prun itself sets on its command lines comes last, and counts for nothing here.
    found = [row.decode("utf-8", "surrogateescape").partition("\n") for row in rows]
    return {key: value for key, _, value in found if value != "/dev/null"}


def _require_own_filters(site: Site, programs: dict[str, str]) -> None:
    """Refuse to run a filter that is a program of the checkout once the worker changed that program."""
    for key, command in programs.items():
        if not key.startswith("filter."):
            continue
        try:
            words = shlex.split(command)
        except ValueError:
            words = command.split()
        for number, word in enumerate(words):
            if os.path.isabs(word) or (number == 0 and "/" not in word):
                continue
            text = os.path.normpath(word)
            found = read_plain(site.workspace.path / text, 10_000_000)
            if found is not None and not text.startswith("../") and found != site.base_blob(text):
                raise FilterChanged(
                    f"{key} is the program {text} of the checkout, and the worker changed it",
                    "look at that program, then run the unit with a filter outside the checkout",
                )
