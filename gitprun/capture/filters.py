"""Content filters: which of the user's may run over a worker's files, and what becomes of files they cannot take.

Nothing runs that the base (or the user) does not name, and what the base stores filtered is never stored raw.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gitprun.capture.context import CaptureContext
from gitprun.capture.ignore_rules import lay_out_rules
from gitprun.capture.screen import LeftOut
from gitprun.capture.tree_scan import size_of
from gitprun.git.command import Git
from gitprun.model.errors import PrunError
from gitprun.system.files import read_plain
from gitprun.workspaces.gitdir import read_snapshot

# The pointer of a large file, as git-lfs stores it: a filter has been at work already.
POINTER = b"version https://git-lfs.github.com/spec/"
# Only as a word of its own: ``xfilter=`` is another attribute.
_NAMES = re.compile(rb"(?:^|[ \t])filter=(\S+)")
# Attribute files; a few kilobytes as a rule.
_MOST_RULES = 4_000_000
# A filter that lies in the repository is a script; a larger file counts as changed.
_MOST_PROGRAM = 10_000_000
# Which attribute files there are is asked of the whole base, since a folder of it may have its own.
_ATTRIBUTES = (":(glob).gitattributes", ":(glob)**/.gitattributes")


class FilterChanged(PrunError):
    """A filter of the user's is a program in the checkout, and the worker changed it."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The user's filters by name, their settings, and the names of those that may run."""

    known: Mapping[str, Mapping[str, str]]
    named: frozenset[str]

    def git(self, git: Git) -> Git:
        """Return git with the filters that may run; one that fails stops it, whatever its settings say."""
        rows: list[tuple[str, str]] = []
        for name, settings in self.known.items():
            if name in self.named:
                # The user's own ``required`` may be off, and then git would store raw what a filter fails on.
                rows += [(f"filter.{name}.{key}", value) for key, value in settings.items() if key != "required"]
                rows.append((f"filter.{name}.required", "true"))
        if not rows:
            return git
        env = {"GIT_CONFIG_COUNT": str(len(rows))}
        for number, (key, value) in enumerate(rows):
            env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return replace(git, env={**git.env, **env})

    def program(self, name: str) -> str:
        """Return what a filter starts."""
        settings = self.known.get(name, {})
        command = settings.get("process") or settings.get("clean") or ""
        return command.split(" ")[0] or name


def read_allowed(site: CaptureContext) -> Filters:
    """Find out which filters may run in this capture."""
    if site.own is None:
        # The user's own git folder with all its settings: what runs there is up to them.
        return Filters(_read_live(site), frozenset())
    # One that only works the other way, into the checkout, changes nothing here.
    known = {
        name: row for name, row in read_snapshot(site.own).filters.items() if row.get("clean") or row.get("process")
    }
    if not known:
        return Filters({}, frozenset())
    named = frozenset(site.filters) if site.filters is not None else _named_by_base(site)
    return Filters(known, named & known.keys())


def _read_live(site: CaptureContext) -> dict[str, dict[str, str]]:
    rows = site.git.run("config", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$", ok=(0, 1)).fields
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        key, _, value = row.decode("utf-8", "surrogateescape").partition("\n")
        name, _, setting = key.removeprefix("filter.").rpartition(".")
        found.setdefault(name, {})[setting] = value
    return found


def _named_by_base(site: CaptureContext) -> frozenset[str]:
    """List the filters that the base's attribute files and the user's own ones name."""
    assert site.own is not None
    # A look for the word in all of them costs one program, however many folders there are.
    words = ("grep", "-h", "-I", "--no-color", "-e", "filter=", site.base, "--", *_ATTRIBUTES)
    texts = [site.git.run(*words, ok=(0, 1)).out]
    for name in ("info/attributes", "attributes"):
        texts.append(read_plain(site.own / name, _MOST_RULES) or b"")
    found = {name for text in texts for row in text.splitlines() for name in _NAMES.findall(row)}
    return frozenset(os.fsdecode(name) for name in found)


def require_own_programs(site: CaptureContext, filters: Filters) -> None:
    """Refuse to run a filter that is a program of the checkout once the worker changed that program."""
    for name, settings in filters.known.items():
        if site.own is not None and name not in filters.named:
            continue
        for way in ("clean", "process"):
            text = _changed_program(site, settings.get(way, ""))
            if text:
                raise FilterChanged(
                    f"filter.{name}.{way} is the program {text} of the checkout, and the worker changed it",
                    "look at that program, then run the unit with a filter outside the checkout",
                )


def _changed_program(site: CaptureContext, command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for number, word in enumerate(words):
        if os.path.isabs(word) or (number == 0 and "/" not in word):
            continue
        text = os.path.normpath(word)
        if text.startswith("../") or "\0" in text:
            continue
        found = read_plain(site.workspace.path / text, _MOST_PROGRAM)
        if found is not None and found != site.base_blob(text):
            return text
    return ""


@dataclass(frozen=True, slots=True)
class FilteredPaths:
    """Paths by the filter that takes them (an empty name: none does), what is left out, and notes."""

    groups: Mapping[str, Sequence[bytes]]
    left_out: Sequence[LeftOut]
    notes: tuple[str, ...] = ()


def judge_filters(
    site: CaptureContext, filters: Filters, names: Sequence[bytes], *, rules: bool, changed: bool
) -> FilteredPaths:
    """Sort the paths to be staged by their filter.

    ``rules`` tells whether there are attribute files at all, ``changed`` whether they differ from the base's.
    """
    if site.own is None or not names or not rules:
        return FilteredPaths({"": names}, ())
    now = _filters_of(site.git, names)
    then = _filters_in_base(site, names) if changed else now
    groups: dict[str, list[bytes]] = {}
    left_out, unknown = [], set()
    for name in names:
        found, before = now.get(name, ""), then.get(name, "")
        reason = _refuse(site, filters, name, found, before)
        if reason:
            left_out.append(LeftOut(os.fsdecode(name), reason, size_of(site.workspace.path, os.fsdecode(name))))
            continue
        if found not in ("", "lfs") and found not in filters.known:
            unknown.add(found)
        groups.setdefault(found if found in filters.named else "", []).append(name)
    notes = [f"the filter {name} is not set up, so its files were stored as they are" for name in sorted(unknown)]
    return FilteredPaths(groups, left_out, tuple(notes))


def _refuse(site: CaptureContext, filters: Filters, name: bytes, found: str, before: str) -> str:
    """Return why a path cannot be stored.

    ``found`` is its filter as the attributes are now, ``before`` by the base's.
    """
    if before != found and before in filters.known and not _starts_as_pointer(site, name):
        return f"the base stores it through the filter {before}, which the worker's attributes take away"
    if not found:
        return ""
    if found in filters.named:
        return ""
    if found in filters.known and found == before:
        return f"its filter {found} is not among [collect] filters"
    if found in filters.known:
        return f'a filter the worker asked for ({found}); [collect] filters = ["{found}"] lets it run'
    if found == "lfs" and not _starts_as_pointer(site, name):
        return "its filter lfs (git-lfs) is not set up here, and stored as it is the whole file would be in the history"
    return ""


def _starts_as_pointer(site: CaptureContext, name: bytes) -> bool:
    return (read_plain(site.workspace.path / os.fsdecode(name), len(POINTER)) or b"") == POINTER


def _filters_of(git: Git, names: Sequence[bytes]) -> dict[bytes, str]:
    """Ask git for the filter of each path that has one."""
    listing = b"".join(name + b"\0" for name in names)
    fields = git.run("check-attr", "-z", "--stdin", "filter", stdin=listing).fields
    values = zip(fields[::3], fields[2::3], strict=True)
    # Git says ``unset`` for ``-filter`` and ``set`` for a filter without a name.
    return {name: os.fsdecode(value) for name, value in values if value not in (b"unspecified", b"unset", b"set", b"")}


def _filters_in_base(site: CaptureContext, names: Sequence[bytes]) -> dict[bytes, str]:
    """Ask for the filters the base's own attributes give."""
    with lay_out_rules(site, ".gitattributes") as git:
        return _filters_of(git, names)


def attributes_changed(site: CaptureContext, files: Iterable[bytes], removed: Iterable[bytes]) -> tuple[bool, bool]:
    """Check whether attributes can matter at all, and whether the worker changed any of their files."""
    here = list(files)
    gone = [name for name in removed if os.path.basename(name) == b".gitattributes"]
    own = site.own is not None and any(
        (read_plain(site.own / name, 1) or b"") != b"" for name in ("info/attributes", "attributes")
    )
    changed = bool(gone) or any(
        read_plain(site.workspace.path / os.fsdecode(name), _MOST_RULES) != site.base_blob(os.fsdecode(name))
        for name in here
    )
    return bool(here or gone or own), changed
