"""What one side took away while the other side's new lines rely on it, in whatever file: names, and files by path.

Git sees no conflict in such a merge, for the two sides changed different files. The cost follows what the sides
changed; the whole tree is read only where a name or a path of one side meets a new line of the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from gitprun.git.store import ObjectMissing
from gitprun.git.trees import REGULAR, TreeChange, read_blob, show_path
from gitprun.git.walk import Trees
from gitprun.judging.doubts import guarded
from gitprun.judging.judged import Sides, Unchecked
from gitprun.model.budget import unbroken
from gitprun.model.findings import Suspect
from gitprun.model.names import Oid
from gitprun.resolvers.base import SIZE_LIMIT, TIME_LIMIT, Refused, quote
from gitprun.resolvers.dangling import (
    ChangedText,
    added_words,
    begins_to_use,
    ended_names,
    find_use,
    mentions,
)
from gitprun.resolvers.mending import find_rename, rename_lines
from gitprun.resolvers.naming import Names, wording_of
from gitprun.resolvers.references import Spelt, spelt_in, stem_of

NOT_READ = f"names of other files: not checked within {TIME_LIMIT:g} s of processor time"
MISSING = "names of other files: not checked: an object is not there"
# Changes between two looks at the clock: some tenths of a second.
_AT_ONCE = 64
_NOTHING: Final[tuple[Names, Names]] = (frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Dangling:
    """What relies on something that is gone; ``mended`` are the texts, by path, that would mend it."""

    suspect: Suspect
    mended: tuple[tuple[bytes, bytes], ...] = ()


def find_dangling(trees: Trees, sides: Sides, tree: Oid, state: Path | None) -> tuple[Dangling, ...] | Unchecked:
    """Return what of a merged tree relies on something that the other side took away."""

    def look() -> tuple[Dangling, ...] | Refused:
        main, unit = (_pair(changes.values()) for changes in (sides.by_main, sides.by_unit))
        one, other = _Half("main", sides.by_main, main, unit), _Half("unit", sides.by_unit, unit, main)
        looked = _Reader(trees, tree)
        try:
            found = [row for half in (one, other) for row in (*looked.names(half), *looked.files(half))]
        # In a repository that was fetched in part what a side took away may not be here.
        except (ObjectMissing, KeyError):
            return Refused(MISSING)
        # One path a line of the report: the first thing said of it is what has to be mended first.
        return tuple({one.suspect.path: one for one in reversed(found)}.values())

    said = guarded(look, state, "looking for what a merge relies on", NOT_READ, seconds=TIME_LIMIT)
    if isinstance(said, Refused):
        return Unchecked("the merge", said.reason)
    return said


@dataclass(frozen=True, slots=True)
class _Half:
    """What one side took away, and what the other one may rely on; ``gone`` has every path, the others paired ones."""

    side: str
    gone: Mapping[bytes, TreeChange]
    own: Sequence[TreeChange]
    other: Sequence[TreeChange]


def _pair(changes: Iterable[TreeChange]) -> list[TreeChange]:
    """Return changes, a file that moved under its own name as one of the new path; what only moved is none."""
    removed: dict[bytes, list[TreeChange]] = {}
    kept = []
    for change in changes:
        if change.removed:
            removed.setdefault(change.path.rpartition(b"/")[2], []).append(change)
        else:
            kept.append(change)
    for number, change in enumerate(kept):
        # Of several by one name nobody can tell which went where without git's own search for renames.
        found = removed.get(change.path.rpartition(b"/")[2], []) if change.added else []
        if len(found) == 1:
            kept[number] = replace(change, old_mode=found[0].old_mode, old=found[0].old)
    return [change for change in kept if change.old != change.new] + [one for each in removed.values() for one in each]


# What is known of a change stays known while a train is built: each merge of it has the same main side, and more.
_FACTS: WeakKeyDictionary[Trees, dict[TreeChange, tuple[Names, Names]]] = WeakKeyDictionary()


@dataclass(slots=True)
class _Reader:
    trees: Trees
    tree: Oid
    listed: tuple[bytes, ...] | None = None

    def names(self, half: _Half) -> Iterator[Dangling]:
        """Find names that a side ended and that no file of the merge has but those in which the other uses it anew."""
        ended: dict[bytes, TreeChange] = {}
        for change, facts in self._read_all(half.own):
            for name in facts[0]:
                ended.setdefault(name, change)
        if not ended:
            return
        users: dict[bytes, list[TreeChange]] = {}
        for change, facts in self._read_all(half.other):
            for name in ended.keys() & facts[1]:
                users.setdefault(name, []).append(change)
        for name, changes in sorted(users.items()):
            yield from self._name(half, name, ended[name], changes)

    def _name(self, half: _Half, name: bytes, gone: TreeChange, changes: list[TreeChange]) -> Iterator[Dangling]:
        source = self._text(gone)
        kin = wording_of(source.path)
        texts = [(change, self._text(change)) for change in changes]
        # Cheap before dear: a side that renamed a thing mentions it nowhere in what it changed.
        own = (one for one in half.own if self._facts(one)[1])
        if kin is None or any(mentions(self._text(one).after, name) for one in own):
            return
        users = {change.path for change, text in texts if begins_to_use(text, name, source.path)}
        where = next((path for path in sorted(users) if _ending(path) in kin.endings), None)
        if where is None:
            return
        for path in self._paths():
            if _ending(path) in kin.endings and path not in users and mentions(self._read(self.tree, path), name):
                return
        line = find_use(os.fsdecode(where), self._read(self.tree, where), name)
        if not line:
            return
        new = find_rename(source.before, source.after, name, kin)
        what = f"renamed {quote(name)} to {quote(new)}" if new else f"took {quote(name)} away"
        reason = f"{half.side} {what} in {show_path(gone.path)}, and line {line} uses it"
        mends = [(path, rename_lines(self._read(self.tree, path), name, new, kin)) for path in sorted(users) if new]
        mended = tuple((path, mend.text) for path, mend in mends if mend is not None)
        said = "; ".join(f"{mend.words} of {show_path(path)}" for path, mend in mends if mend is not None)
        # In part it would be no mend.
        whole = len(mended) == len(users)
        suspect = Suspect(path=show_path(where), reason=reason, mend=said if whole else "")
        yield Dangling(suspect, mended if whole else ())

    def files(self, half: _Half) -> Iterator[Dangling]:
        """Find files that a side removed or renamed and that lines of the other side speak of anew."""
        gone: dict[str, list[str]] = {}
        for change in half.gone.values():
            if change.removed and self.trees.find(self.tree, change.path) is None:
                path = os.fsdecode(change.path)
                for stem in stem_of(path):
                    gone.setdefault(stem, []).append(path)
        if not gone:
            return
        for change in half.other:
            if change.removed or change.new_mode not in REGULAR:
                continue
            found = self._spoken(half, change, gone)
            if found is not None:
                yield found

    def _spoken(self, half: _Half, change: TreeChange, gone: Mapping[str, list[str]]) -> Dangling | None:
        text, path = self._text(change), os.fsdecode(change.path)
        known = {*text.before.split(b"\n")}
        for line in text.after.split(b"\n"):
            # A longer line is no import and no command, but data.
            if line in known or len(line) > 500:
                continue
            for spelt in spelt_in(path, line.decode("utf-8", "replace")):
                lost = next((one for one in gone.get(spelt.stem, ()) if spelt.means(one)), None)
                if lost is None or self._is_there(spelt):
                    continue
                merged = self._read(self.tree, change.path).split(b"\n")
                if line in merged:
                    where = merged.index(line) + 1
                    went = self._destination(half, lost)
                    did = f"moved to {show_path(went)}" if went else "removed"
                    reason = f"line {where} needs {show_path(os.fsencode(lost))}, which {half.side} {did}"
                    return Dangling(Suspect(path=show_path(change.path), reason=reason))
        return None

    def _destination(self, half: _Half, lost: str) -> bytes:
        """Return the path to which a file was moved, as far as its content or its name tell; else nothing."""
        path = os.fsencode(lost)
        gone, added = half.gone[path], [change for change in half.gone.values() if change.added]
        same = [one.path for one in added if one.new == gone.old]
        named = [one.path for one in added if one.path.rpartition(b"/")[2] == path.rpartition(b"/")[2]]
        return next((found[0] for found in (same, named) if len(found) == 1), b"")

    def _is_there(self, spelt: Spelt) -> bool:
        return any(spelt.means(os.fsdecode(path)) for path in self._paths())

    def _read_all(self, changes: Sequence[TreeChange]) -> list[tuple[TreeChange, tuple[Names, Names]]]:
        found = []
        # As one block: to look at the clock takes longer than to read a small file.
        with unbroken() as budget:
            for number, change in enumerate(changes):
                if not number % _AT_ONCE and budget.is_over():
                    break
                found.append((change, self._facts(change)))
        return found

    def _facts(self, change: TreeChange) -> tuple[Names, Names]:
        """Return the names that a change ended, and the words it added."""
        if wording_of(os.fsdecode(change.path)) is None:
            return _NOTHING
        known = _FACTS.setdefault(self.trees, {})
        if change not in known:
            text = self._text(change)
            known[change] = (ended_names(text), added_words(text))
        return known[change]

    def _text(self, change: TreeChange) -> ChangedText:
        before, after = (
            self._content(oid) if mode in REGULAR else b""
            for mode, oid in ((change.old_mode, change.old), (change.new_mode, change.new))
        )
        return ChangedText(os.fsdecode(change.path), before, after)

    def _read(self, tree: Oid, path: bytes) -> bytes:
        found = self.trees.find(tree, path)
        return self._content(found[1]) if found is not None and found[0] in REGULAR else b""

    def _content(self, oid: Oid) -> bytes:
        # Whoever breaks off in the middle of an answer of git takes its rest for the next one.
        with unbroken():
            text = read_blob(self.trees.repo, oid)
        return text if len(text) <= SIZE_LIMIT else b""

    def _paths(self) -> tuple[bytes, ...]:
        if self.listed is None:
            with unbroken():
                self.listed = tuple(self.trees.paths(self.tree, b""))
        return self.listed


def _ending(path: bytes) -> str:
    return os.fsdecode(path.rpartition(b"/")[2].rpartition(b".")[2]).lower()
