"""What a command staged in a place of its own, taken over into the repository: a tree, byte for byte what is there."""

from __future__ import annotations

from gitprun.git.command import Git
from gitprun.git.refs import write_object
from gitprun.git.trees import GITLINK, TreeChange, parse_change, show_path
from gitprun.git.walk import Trees
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid


class UnfitContent(PrunError):
    """What a command made cannot become part of a commit."""


def copy_staged(git: Git, trees: Trees, tree: Oid) -> tuple[Oid, tuple[TreeChange, ...]]:
    """Return the tree that an index holds, with its files written into ``trees``, and how it differs from ``tree``.

    Raises Unfit where that cannot be.
    """
    options = ("--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
    fields = git.run("diff-index", *options, tree).fields
    changes = [parse_change(about, name) for about, name in zip(fields[::2], fields[1::2], strict=True)]
    for change in changes:
        if GITLINK in (change.old_mode, change.new_mode):
            raise UnfitContent(f"they change the submodule {show_path(change.path)}", "commit that by hand")
        if not change.removed:
            content = git.run("cat-file", "blob", change.new).out
            if write_object(trees.repo, "blob", content) != change.new:
                raise UnfitContent(f"{show_path(change.path)} changed while it was read")
    after = trees.apply(tree, changes)
    if after is None:
        raise UnfitContent("what they make cannot be put into the merged tree")
    return after, tuple(changes)
