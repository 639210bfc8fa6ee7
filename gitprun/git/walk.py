"""Trees read as bytes: compared and changed at a cost that follows the change, not the repository."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping

from gitprun.git.refs import write_object
from gitprun.git.store import store_of
from gitprun.git.trees import ABSENT, Objects, TreeChange, read_blob, split_tree
from gitprun.model.errors import PrunError
from gitprun.model.names import ZERO, Oid

# Mode as a tree holds it, and the binary object id.
Entry = tuple[bytes, bytes]
Rows = Mapping[bytes, Entry]

_FOLDER = b"40000"
# Folders held in memory, a kilobyte or two each: Linux has 6,000, and a landing looks at few of a larger one.
_KEPT = 20_000
# Git itself fails on absurdly deep trees; nobody has one on purpose.
DEEPEST = 500


class TreeTooDeep(PrunError):
    """A tree is nested deeper than anything that is meant to be a project."""


class Trees:
    """The trees of one repository; what was read is remembered, since a train looks at the same ones many times."""

    def __init__(self, repo: Objects) -> None:
        self.repo = repo
        self._rows: dict[bytes, Rows] = {}

    def rows(self, oid: bytes) -> Rows:
        """Read a tree: names with mode and object id, in their order."""
        found = self._rows.get(oid)
        if found is None:
            if len(self._rows) >= _KEPT:
                # All at once: to know which of them are used again would cost more than reading them.
                self._rows.clear()
            found = self._rows[oid] = split_tree(read_blob(self.repo, Oid(oid.hex())))
        return found

    def read_ahead(self, pairs: Iterable[tuple[Oid, Oid]]) -> None:
        """Read what comparing each pair of trees will need, a level of folders at a time instead of one by one."""
        store = store_of(self.repo)
        if store is None:
            return
        waiting = {(bytes.fromhex(old), bytes.fromhex(new)) for old, new in pairs if old != new}
        for _ in range(DEEPEST):
            if not waiting:
                return
            store.read_ahead(oid.hex() for pair in waiting for oid in pair if oid not in self._rows)
            folders: set[tuple[bytes, bytes]] = set()
            for one, other in waiting:
                for _name, left, right in _unequal(self.rows(one), self.rows(other)):
                    if left and right and _is_folder(left) and _is_folder(right):
                        folders.add((left[1], right[1]))
            waiting = folders

    def compare(self, old: Oid, new: Oid) -> tuple[TreeChange, ...]:
        """List the paths that two trees hold differently, sorted; a rename is a removal and an addition."""
        found: list[TreeChange] = []
        waiting: list[tuple[bytes, bytes | None, bytes | None]] = [(b"", bytes.fromhex(old), bytes.fromhex(new))]
        while waiting:
            above, one, other = waiting.pop()
            if one == other:
                continue
            if above.count(b"/") > DEEPEST:
                raise TreeTooDeep(f"folders are nested more than {DEEPEST} deep")
            before = self.rows(one) if one is not None else {}
            after = self.rows(other) if other is not None else {}
            for name, left, right in _unequal(before, after):
                path = above + name
                one_below, other_below = (e[1] if e and _is_folder(e) else None for e in (left, right))
                if one_below or other_below:
                    waiting.append((path + b"/", one_below, other_below))
                change = _change(path, left, right)
                if change is not None:
                    found.append(change)
        return tuple(sorted(found, key=lambda change: change.path))

    def find(self, tree: Oid, path: bytes) -> tuple[str, Oid] | None:
        """Return mode and object id of a path that is no folder; None if there is none."""
        folder, _, name = path.rpartition(b"/")
        at = self._folder(tree, folder)
        entry = None if at is None else self.rows(at).get(name)
        return None if entry is None or _is_folder(entry) else (_mode(entry), Oid(entry[1].hex()))

    def _folder(self, tree: Oid, folder: bytes) -> bytes | None:
        """Return the binary id of a folder's tree (the top is empty); None where there is none."""
        at = bytes.fromhex(tree)
        for part in folder.split(b"/") if folder else ():
            entry = self.rows(at).get(part)
            if entry is None or not _is_folder(entry):
                return None
            at = entry[1]
        return at

    def names(self, tree: Oid, folder: bytes) -> list[bytes]:
        """List the names right in a folder (the top is empty); nothing where there is none."""
        at = self._folder(tree, folder)
        return [] if at is None else list(self.rows(at))

    def paths(self, tree: Oid, folder: bytes) -> list[bytes]:
        """List the files below a folder."""
        top = self._folder(tree, folder)
        if top is None:
            return []
        found, waiting = [], [(folder + b"/" if folder else b"", top)]
        while waiting:
            above, at = waiting.pop()
            for name, entry in self.rows(at).items():
                if _is_folder(entry):
                    waiting.append((above + name + b"/", entry[1]))
                else:
                    found.append(above + name)
        return sorted(found)

    def apply(self, tree: Oid, changes: Iterable[TreeChange]) -> Oid | None:
        """Write a tree in which the changes are made; None if one does not meet exactly what it is a change of."""
        wanted = [(change.path.split(b"/"), change) for change in changes]
        if any(len(parts) > DEEPEST for parts, _ in wanted):
            return None
        made = self._apply(bytes.fromhex(tree), wanted)
        if made is None:
            return None
        # Only the top may be an empty tree: in git a folder without entries is none.
        return Oid(self._write({}).hex() if made == b"" else made.hex())

    def _apply(self, at: bytes | None, wanted: list[tuple[list[bytes], TreeChange]]) -> bytes | None:
        """Change one folder (None: there is none yet); returns its new id, empty bytes if nothing is left in it."""
        rows = dict(self.rows(at)) if at is not None else {}
        here: dict[bytes, TreeChange] = {}
        below: dict[bytes, list[tuple[list[bytes], TreeChange]]] = {}
        for parts, change in wanted:
            if len(parts) == 1:
                here[parts[0]] = change
            else:
                below.setdefault(parts[0], []).append((parts[1:], change))
        grown = False
        for name in {**here, **below}:
            entry = rows.get(name)
            changed = self._change_entry(entry, here.get(name), below.get(name))
            if changed is None:
                return None
            if changed == (b"", b""):
                del rows[name]
            else:
                grown = grown or entry is None or _is_folder(entry) != _is_folder(changed)
                rows[name] = changed
        # A change of content leaves the order as it is; sorting is what takes long in a large folder.
        if grown:
            rows = dict(sorted(rows.items(), key=_place))
        return self._write(rows) if rows else b""

    def _change_entry(
        self, entry: Entry | None, change: TreeChange | None, below: list[tuple[list[bytes], TreeChange]] | None
    ) -> Entry | None:
        """Change one name of a folder; None if that does not fit, a pair of empty bytes if it goes."""
        if change is not None and not change.added:
            if entry is None or (_mode(entry), entry[1].hex()) != (change.old_mode, change.old):
                return None
            entry = None
        if below is not None:
            # A file stands where the folder has to be, and no change takes it away.
            if entry is not None and not _is_folder(entry):
                return None
            made = self._apply(entry[1] if entry else None, below)
            if made is None:
                return None
            entry = (_FOLDER, made) if made else None
        if change is None or change.removed:
            return entry or (b"", b"")
        return None if entry is not None else (change.new_mode.lstrip("0").encode(), bytes.fromhex(change.new))

    def _write(self, rows: Rows) -> bytes:
        body = b"".join(mode + b" " + name + b"\0" + oid for name, (mode, oid) in rows.items())
        oid = bytes.fromhex(write_object(self.repo, "tree", body))
        self._rows[oid] = dict(rows)
        return oid

    def written_between(self, old: Oid, new: Oid) -> Iterator[Oid]:
        """Name every object that ``new`` holds below itself where ``old`` holds another one, itself included."""
        waiting: list[tuple[bytes | None, bytes]] = [(bytes.fromhex(old), bytes.fromhex(new))]
        while waiting:
            one, other = waiting.pop()
            if one == other:
                continue
            yield Oid(other.hex())
            before = self.rows(one) if one is not None else {}
            for name, entry in self.rows(other).items():
                known = before.get(name)
                if known is not None and known[1] == entry[1]:
                    continue
                if _is_folder(entry):
                    waiting.append((known[1] if known is not None and _is_folder(known) else None, entry[1]))
                # The commit of a submodule lies in another repository.
                elif _mode(entry) != "160000":
                    yield Oid(entry[1].hex())


def _unequal(before: Rows, after: Rows) -> Iterator[tuple[bytes, Entry | None, Entry | None]]:
    # Sets of pairs are compared in C: most entries of a large folder are the same.
    for name in {name for name, _ in before.items() ^ after.items()}:
        yield name, before.get(name), after.get(name)


def _change(path: bytes, left: Entry | None, right: Entry | None) -> TreeChange | None:
    """Return how a path changed as a file; None if it is a folder, or nothing, on both sides, or the same."""
    sides = [
        (ABSENT, ZERO) if entry is None or _is_folder(entry) else (_mode(entry), Oid(entry[1].hex()))
        for entry in (left, right)
    ]
    if sides[0] == sides[1]:
        return None
    (old_mode, old), (new_mode, new) = sides
    return TreeChange(path, old_mode, new_mode, old, new)


def _is_folder(entry: Entry) -> bool:
    # Some old tools wrote the mode with a leading zero.
    return entry[0] in (_FOLDER, b"040000")


def _mode(entry: Entry) -> str:
    """Write a mode as git's plumbing does; very old trees hold other bits."""
    mode = int(entry[0], 8)
    if stat.S_ISREG(mode):
        return "100755" if mode & 0o100 else "100644"
    return f"{mode:06o}"


def _place(item: tuple[bytes, Entry]) -> bytes:
    """Sort names as git does: a folder as if its name ended in a slash."""
    name, entry = item
    return name + b"/" if _is_folder(entry) else name
