"""What one side took away while the other side's new lines rely on it, in whatever file: names, and files by path.

Git sees no conflict in such a merge, for the two sides changed different files. The cost follows what the sides
changed; the whole tree is read only where a name or a path of one side meets a new line of the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.store import ObjectMissing, is_partial
from gitprun.git.trees import REGULAR, TreeChange, show_path
from gitprun.git.walk import Trees
from gitprun.judging.doubts import guarded
from gitprun.judging.judged import Sides, Unchecked
from gitprun.judging.merge_reader import MergeReader, ending_of, pair_moves
from gitprun.model.findings import Suspect
from gitprun.model.names import Oid
from gitprun.resolvers.base import TIME_LIMIT, Refused, quote
from gitprun.resolvers.dangling import (
    begins_to_use,
    find_use,
    gives_more,
    imports_from,
    is_telling,
    mentions,
)
from gitprun.resolvers.mending import find_rename, rename_lines
from gitprun.resolvers.naming import Wording, wording_of
from gitprun.resolvers.references import Spelt, spelt_in, stem_of
from gitprun.resolvers.signatures import (
    called_arities,
    declared_arities,
    is_counted,
    line_of_call,
    lines_only_in,
    lost_counts,
)
from gitprun.resolvers.translations import asked_keys, holds_translations, translated_keys

NOT_READ = f"names of other files: not checked within {TIME_LIMIT:g} s of processor time"
PARTIAL = "names of other files: not checked in a partial clone"
MISSING = "names of other files: not checked: an object is not there"
# A longer line is no import and no command, but data.
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Dangling:
    """What relies on something that is gone; ``mended`` are the texts, by path, that would mend it."""

    suspect: Suspect
    mended: tuple[tuple[bytes, bytes], ...] = ()


def find_dangling(trees: Trees, sides: Sides, tree: Oid, state: Path | None) -> tuple[Dangling, ...] | Unchecked:
    """Return what of a merged tree relies on something that the other side took away."""

    def look() -> tuple[Dangling, ...] | Refused:
        main, unit = (pair_moves(changes.values()) for changes in (sides.by_main, sides.by_unit))
        one, other = _Half("main", sides.by_main, main, unit), _Half("unit", sides.by_unit, unit, main)
        looked = _Rules(MergeReader(trees, tree))
        try:
            found = [
                row for half in (one, other) for row in (*looked.names(half), *looked.files(half), *looked.keys(half))
            ]
        # In a repository that was fetched in part what a side took away may not be here.
        except (ObjectMissing, KeyError):
            return Refused(MISSING)
        # One path a line of the report: the first thing said of it is what has to be mended first.
        return tuple({one.suspect.path: one for one in reversed(found)}.values())

    # There each text that is missing would be a question to a server.
    if state is not None and is_partial(state.parent / "objects"):
        return Unchecked("the merge", PARTIAL)
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


@dataclass(frozen=True, slots=True)
class _Rules:
    """What can dangle in one merge: ``read`` gives the texts of its sides and of the merged tree."""

    read: MergeReader

    def names(self, half: _Half) -> Iterator[Dangling]:
        """Find names that a side ended and that no file of the merge has but those in which the other uses it anew."""
        own = self.read.facts_of(half.own)
        ended: dict[bytes, list[TreeChange]] = {}
        for change, facts in own:
            for name in facts.ended:
                ended.setdefault(name, []).append(change)
        written = {name: change for change, facts in own for name in facts.redeclared}
        if not ended and not written:
            return
        users: dict[bytes, list[TreeChange]] = {}
        for change, facts in self.read.facts_of(half.other):
            for name in (ended.keys() | written.keys()) & facts.added:
                users.setdefault(name, []).append(change)
        for name, changes in sorted(users.items()):
            for gone in ended.get(name, ()):
                yield from self._name(half, name, gone, changes)
            if name in written:
                yield from self._signature(half, name, written[name], changes)

    def _name(self, half: _Half, name: bytes, gone: TreeChange, changes: list[TreeChange]) -> Iterator[Dangling]:
        source = self.read.changed(gone)
        kin = wording_of(source.path)
        texts = [(change, self.read.changed(change)) for change in changes]
        users = {change.path for change, text in texts if begins_to_use(text, name, source.path)}
        where = next((path for path in sorted(users) if kin and ending_of(path) in kin.endings), None)
        if where is None or kin is None:
            return
        taken = {change.path for change, text in texts if imports_from(text, name, source.path)}
        if users <= taken and source.after and not gives_more(source):
            # Who says from where it takes a name can mean no other one.
            if mentions(self.read.merged(gone.path), name):
                return
        elif not is_telling(name) or self._is_mentioned(half, name, users, kin):
            return
        line = find_use(os.fsdecode(where), self.read.merged(where), name)
        if not line:
            return
        new = find_rename(source.before, source.after, name, kin)
        what = f"renamed {quote(name)} to {quote(new)}" if new else f"took {quote(name)} away"
        reason = f"{half.side} {what} in {show_path(gone.path)}, and line {line} uses it"
        mends = [(path, rename_lines(self.read.merged(path), name, new, kin)) for path in sorted(users) if new]
        mended = tuple((path, mend.text) for path, mend in mends if mend is not None)
        said = "; ".join(f"{mend.words} of {show_path(path)}" for path, mend in mends if mend is not None)
        # In part it would be no mend.
        whole = len(mended) == len(users)
        suspect = Suspect(path=show_path(where), reason=reason, mend=said if whole else "")
        yield Dangling(suspect, mended if whole else ())

    def _is_mentioned(self, half: _Half, name: bytes, users: set[bytes], kin: Wording) -> bool:
        """Check whether anything but those who begin to use a name has it."""
        # Cheap before dear: a side that renamed a thing mentions it nowhere in what it changed.
        own = (one for one in half.own if self.read.facts(one).added)
        if any(mentions(self.read.changed(one).after, name) for one in own):
            return True
        paths = (path for path in self.read.paths() if ending_of(path) in kin.endings and path not in users)
        return any(mentions(self.read.merged(path), name) for path in paths)

    def _signature(self, half: _Half, name: bytes, at: TreeChange, changes: list[TreeChange]) -> Iterator[Dangling]:
        """Find calls that the other side added with as many arguments as nothing of that name takes any more."""
        source = self.read.changed(at)
        old, new = lost_counts(source.path, source.before, source.after, name)
        kin = wording_of(source.path)
        if not old or kin is None:
            return
        calls: dict[int, list[bytes]] = {}
        for change in changes:
            text = self.read.changed(change)
            if ending_of(change.path) not in kin.endings or not is_counted(text.path):
                continue
            added = called_arities(text.path, text.after, name) - called_arities(text.path, text.before, name)
            for count in added:
                if any(one.takes(count) for one in old) and not any(one.takes(count) for one in new):
                    calls.setdefault(count, []).append(change.path)
        for count, users in calls.items():
            if self._is_taken(name, count, frozenset(users), kin):
                continue
            where = min(users)
            line = line_of_call(os.fsdecode(where), self.read.merged(where), name, count)
            if line:
                given = f"{count} argument{'' if count == 1 else 's'}"
                what = f"changed what {quote(name)} takes in {show_path(at.path)}"
                reason = f"{half.side} {what}, and line {line} gives it {given}"
                yield Dangling(Suspect(path=show_path(where), reason=reason))

    def _is_taken(self, name: bytes, count: int, users: frozenset[bytes], kin: Wording) -> bool:
        """Check whether anything in the merge takes so many arguments by a name, or is given as many elsewhere."""
        for path in self.read.paths():
            where = os.fsdecode(path)
            if ending_of(path) not in kin.endings or not is_counted(where):
                continue
            text = self.read.merged(path)
            if not mentions(text, name):
                continue
            if any(one.takes(count) for one in declared_arities(where, text, name)):
                return True
            if path not in users and called_arities(where, text, name)[count]:
                return True
        return False

    def files(self, half: _Half) -> Iterator[Dangling]:
        """Find files that a side removed or renamed and that lines of the other side speak of anew."""
        gone: dict[str, list[str]] = {}
        for change in half.gone.values():
            if change.removed and not self.read.has(change.path):
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

    def keys(self, half: _Half) -> Iterator[Dangling]:
        """Find keys of translations that a side removed or renamed, and that lines of the other side ask for anew."""
        gone: dict[str, bytes] = {}
        for change in half.own:
            if holds_translations(os.fsdecode(change.path)):
                text = self.read.changed(change)
                lost = translated_keys(text.path, text.before) - translated_keys(text.path, text.after)
                gone.update(dict.fromkeys(lost, change.path))
        if not gone:
            return
        for change in half.other:
            if change.removed or holds_translations(os.fsdecode(change.path)):
                continue
            text = self.read.changed(change)
            for key in sorted(asked_keys(lines_only_in(text.after, text.before)) & gone.keys()):
                merged = self.read.merged(change.path)
                if key in asked_keys(merged) and key not in asked_keys(text.before) and not self._is_translated(key):
                    line = next(n for n, row in enumerate(merged.split(b"\n"), 1) if key in asked_keys(row))
                    what = f'{half.side} took "{key}" away in {show_path(gone[key])}'
                    yield Dangling(Suspect(path=show_path(change.path), reason=f"{what}, and line {line} uses it"))
                    break

    def _is_translated(self, key: str) -> bool:
        paths = (path for path in self.read.paths() if holds_translations(os.fsdecode(path)))
        return any(key in translated_keys(os.fsdecode(path), self.read.merged(path)) for path in paths)

    def _spoken(self, half: _Half, change: TreeChange, gone: Mapping[str, list[str]]) -> Dangling | None:
        text, path = self.read.changed(change), os.fsdecode(change.path)
        known = {*text.before.split(b"\n")}
        for line in text.after.split(b"\n"):
            if line in known or len(line) > _LONGEST:
                continue
            for spelt in spelt_in(path, line.decode("utf-8", "replace")):
                lost = next((one for one in gone.get(spelt.stem, ()) if spelt.means(one)), None)
                if lost is None or self._is_there(spelt) or self._is_spoken_of(lost, spelt.stem, half, path):
                    continue
                merged = self.read.merged(change.path).split(b"\n")
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
        return any(spelt.means(os.fsdecode(path)) for path in self.read.paths())

    def _is_spoken_of(self, lost: str, stem: str, half: _Half, user: str) -> bool:
        """Check whether a file that the other side did not touch speaks of what is gone: then a library has it now."""
        touched, word = {change.path for change in half.other}, os.fsencode(stem)
        for path in self.read.paths():
            if path in touched or ending_of(path) != ending_of(os.fsencode(user)):
                continue
            text = self.read.merged(path)
            for line in text.split(b"\n") if word in text else ():
                if word in line and len(line) <= _LONGEST:
                    said = spelt_in(os.fsdecode(path), line.decode("utf-8", "replace"))
                    if any(one.means(lost) for one in said):
                        return True
        return False
