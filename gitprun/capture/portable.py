"""Names that are fine here and trouble elsewhere: said of every tree that work makes, whoever made its commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitprun.capture.lint import collisions, fold, lint_path, shown
from gitprun.git.trees import TreeChange
from gitprun.git.walk import Trees
from gitprun.model.names import Oid

# More of them have one cause, and the first few show it.
MOST_TOLD = 5


def describe_names(trees: Trees, before: Oid, after: Oid, step: Sequence[TreeChange]) -> tuple[str, ...]:
    """Return notes on paths a step from one tree to another adds and other systems cannot hold.

    Some they cannot hold beside another one: names that differ in case or Unicode form only.
    """
    added = [change for change in step if change.added]
    told = [str(found) for change in added if (found := lint_path(change.path, int(change.new_mode, 8))) is not None]
    told += _twins(trees, before, after, added)
    if len(told) > MOST_TOLD:
        told[MOST_TOLD:] = [f"and {len(told) - MOST_TOLD} more names that trouble other systems"]
    return tuple(told)


def _twins(trees: Trees, before: Oid, after: Oid, added: Sequence[TreeChange]) -> Iterator[str]:
    folders: dict[bytes, set[bytes]] = {}
    for change in added:
        parts = change.path.split(b"/")
        for number, part in enumerate(parts):
            folders.setdefault(b"/".join(parts[:number]), set()).add(part)
    for folder, names in sorted(folders.items()):
        # In a folder of thousands only those are compared that may be a twin of a new name.
        keys = {fold(name) for name in names}
        alike = [name for name in trees.names(after, folder) if fold(name) in keys]
        if len(alike) == len(keys):
            continue
        known = {*trees.names(before, folder)}
        for one, other, why in collisions(alike):
            if names.isdisjoint((one, other)) or known.issuperset((one, other)):
                continue
            first, second = (shown(b"/".join(filter(None, (folder, name)))) for name in (one, other))
            yield f"{second}: the same as {first} where {'case' if why == 'case' else 'Unicode form'} does not count"
