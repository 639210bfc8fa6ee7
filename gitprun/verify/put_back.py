"""A tree with what a change did to its checks, and nothing else, put back as the target has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gitprun.git.refs import write_object
from gitprun.git.trees import ABSENT, REGULAR, TreeChange, read_blob, show_path
from gitprun.git.walk import Trees
from gitprun.model.names import ZERO, Oid
from gitprun.verify.gate_changes import FileChange, GateChange, find_gate_changes, put_back_text

Version = tuple[str, Oid]


@dataclass(frozen=True, slots=True)
class PutBack:
    """A tree in which these changes are put back."""

    tree: Oid
    changes: tuple[GateChange, ...]


def read_gate_changes(
    trees: Trees,
    old: Oid,
    new: Oid,
    declared: Sequence[str],
    changes: Sequence[TreeChange] | None = None,
    *,
    detect: bool = False,
) -> tuple[GateChange, ...]:
    """Find what the way from one tree to another changed of the checks: declared, or else (or with ``detect``) found.

    ``changes`` are those between the two, where they are known already.
    """
    rows = [_row(change) for change in (trees.compare(old, new) if changes is None else changes)]
    if not rows:
        return ()
    before = reader(trees, old)
    return find_gate_changes(rows, checks_of(declared, before, also=detect), before, reader(trees, new))


def checks_of(declared: Sequence[str], read: Callable[[str], bytes | None], *, also: bool = False) -> tuple[str, ...]:
    """Return the commands that judge a tree; where they are detected, the script they were detected by counts too."""
    if declared and not also:
        return tuple(declared)
    # Loaded late, for who declares checks needs none of it.
    from gitprun.verify.recipes import MARKERS, detect

    found = {name: body.decode(errors="replace") for name in MARKERS if (body := read(name)) is not None}
    commands = tuple(check.command for check in detect(found))
    return (*declared, *commands, *(("npm test",) if "package.json" in found and commands else ()))


def reader(trees: Trees, tree: Oid) -> Callable[[str], bytes | None]:
    """Return a function that reads plain files of a tree by their paths."""

    def read(path: str) -> bytes | None:
        found = trees.find(tree, _raw(path)) if path else None
        return read_blob(trees.repo, found[1]) if found is not None and found[0] in REGULAR else None

    return read


def put_back(trees: Trees, old: Oid, new: Oid, changes: Iterable[GateChange]) -> PutBack | None:
    """Write the new tree with these changes put back as the old one has them; None where that changes nothing."""
    by_path: dict[str, list[GateChange]] = {}
    for change in changes:
        by_path.setdefault(change.path, []).append(change)
    rows: dict[bytes, TreeChange] = {}
    done: list[GateChange] = []
    before, after = reader(trees, old), reader(trees, new)
    for path, (first, *also) in by_path.items():
        was, now = before(path), after(path)
        text = put_back_text(first, also, was, now)
        there = trees.find(new, _raw(path))
        wanted: Version | None = None
        # The whole version as it was, with its mode.
        if text is not None and text == was:
            wanted = trees.find(old, _raw(path))
        elif text is not None and there is not None:
            wanted = (there[0], write_object(trees.repo, "blob", text))
        if wanted == there:
            continue
        # Before the file itself, which could not be put where something else is.
        rows |= _make_room(trees, new, _raw(path)) if wanted is not None else {}
        rows[_raw(path)] = _change(_raw(path), there, wanted)
        done += [first, *also]
    made = trees.apply(new, rows.values()) if rows else None
    return None if made is None or made == new else PutBack(made, tuple(done))


def _make_room(trees: Trees, tree: Oid, path: bytes) -> dict[bytes, TreeChange]:
    """Take away what lies in the way of a file: a link or a submodule in place of its folder, a folder in its place."""
    parts = path.split(b"/")
    above = [b"/".join(parts[:number]) for number in range(1, len(parts))]
    return {
        place: _change(place, found, None)
        for place in (*above, *trees.paths(tree, path))
        if (found := trees.find(tree, place)) is not None
    }


def _change(path: bytes, old: Version | None, new: Version | None) -> TreeChange:
    was, now = old or (ABSENT, ZERO), new or (ABSENT, ZERO)
    return TreeChange(path, was[0], now[0], was[1], now[1])


def _row(change: TreeChange) -> FileChange:
    path = change.path.decode("utf-8", "surrogateescape")
    return FileChange(path, change.old_mode, change.new_mode, change.old, change.new)


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def shown(path: str) -> str:
    """Write a path so that it can be printed anywhere."""
    return show_path(_raw(path))
