"""Trees: merged by git's own merge-tree, compared, and mended in place; no checkout and no index is touched."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gitprun.git.command import Git
from gitprun.git.refs import write_object
from gitprun.git.store import store_of
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid, parse_oid

if TYPE_CHECKING:
    import pygit2

    # An open repository, for those who only pass it on.
    Objects = pygit2.Repository
else:
    Objects = object

GITLINK = "160000"
REGULAR = ("100644", "100755")
ABSENT = "000000"
# Bytes of a SHA-1; repositories with SHA-256 are refused at the door.
_OID_LENGTH = 20
# DOTALL: a binary object id may hold a line end.
_ROWS = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
# Control characters, separators of lines, and those that turn the direction of text round.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Stage:
    """One side's version of a conflicted path: ``number`` 1 is the base, 2 the main side, 3 the unit side."""

    mode: str
    oid: Oid
    number: int
    path: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """One thing git said about a merge; ``kind`` is stable, ``text`` is for people."""

    paths: tuple[bytes, ...]
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class TreeMerge:
    """A merged tree; unless ``clean`` it holds conflict markers and ``stages`` tells what is unsettled."""

    tree: Oid
    clean: bool
    stages: tuple[Stage, ...] = ()
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One path that two trees hold differently; mode 000000 means it is not there."""

    path: bytes
    old_mode: str
    new_mode: str
    old: Oid
    new: Oid

    @property
    def added(self) -> bool:
        """Check whether only the new tree has it."""
        return self.old_mode == ABSENT

    @property
    def removed(self) -> bool:
        """Check whether only the old tree has it."""
        return self.new_mode == ABSENT


# Our own merge driver would settle conflicts before anybody lists them: by what, and which lines a policy drops. Here
# git leaves them, with the text it would have made itself, and the judge asks the same resolvers afterwards. It is not
# an empty command, which git takes for one that succeeded.
WITHOUT_OUR_DRIVER = "merge.prun.driver=git merge-file --marker-size %L %A %O %B"


def leave_conflicts(git: Git) -> Git:
    """Return git for merges whose conflicts we settle ourselves; the drivers of others are asked as ever."""
    return replace(git, config=(*git.config, WITHOUT_OUR_DRIVER))


def merge_trees(git: Git, main: Oid, unit: Oid) -> TreeMerge:
    """Merge two commits as ``git merge`` would; raises GitFailed when git cannot (unrelated histories, say).

    Attributes are read from the folder git runs in, drivers from its configuration.
    """
    answer = leave_conflicts(git).run("merge-tree", "--write-tree", "-z", "--messages", main, unit, ok=(0, 1))
    # Exit code 1 means conflicts, and then a tree is printed; with nothing printed it is a failure.
    if not answer.out:
        said = answer.err.strip().splitlines()
        raise PrunError(f"git could not merge {unit}: {said[0] if said else 'no reason given'}")
    return parse_merge_tree(answer.out, clean=answer.code == 0)


def parse_merge_tree(out: bytes, *, clean: bool) -> TreeMerge:
    """Read the output of ``git merge-tree --write-tree -z --messages``; raises ValueError for anything else."""
    fields = out.split(b"\0")[:-1]
    try:
        tree, rest = parse_oid(fields[0].decode()), fields[1:]
        end = rest.index(b"") if b"" in rest else len(rest)
        return TreeMerge(tree, clean, tuple(map(_parse_stage, rest[:end])), tuple(_parse_messages(rest[end + 1 :])))
    except (IndexError, UnicodeDecodeError) as problem:
        raise ValueError(f"not the output of merge-tree: {problem}") from None


def _parse_stage(field: bytes) -> Stage:
    about, tab, path = field.partition(b"\t")
    words = about.decode().split(" ")
    if not tab or len(words) != 3:
        raise ValueError(f"not a stage: {field!r}")
    return Stage(words[0], parse_oid(words[1]), int(words[2]), path)


def _parse_messages(fields: Sequence[bytes]) -> list[Message]:
    found, at = [], 0
    while at < len(fields):
        count = int(fields[at])
        if count < 0:
            raise ValueError(f"not a number of paths: {count}")
        kind, text = fields[at + 1 + count], fields[at + 2 + count]
        paths = tuple(fields[at + 1 : at + 1 + count])
        found.append(Message(paths, kind.decode(), text.decode("utf-8", "surrogateescape").strip()))
        at += count + 3
    return found


def read_changes(git: Git, old: Oid, new: Oid) -> tuple[TreeChange, ...]:
    """List the paths that two trees (or commits) hold differently; a rename is a removal and an addition."""
    options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    fields = git.run("diff-tree", *options, old, new).fields
    return tuple(parse_change(about, path) for about, path in zip(fields[::2], fields[1::2], strict=True))


def parse_change(about: bytes, path: bytes) -> TreeChange:
    """Read one row of ``git diff-tree --raw --no-abbrev``."""
    old_mode, new_mode, old, new, _ = about.decode().removeprefix(":").split(" ")
    return TreeChange(path, old_mode, new_mode, Oid(old), Oid(new))


def read_bases(git: Git, repo: Objects, main: Oid, unit: Oid) -> tuple[Oid, ...]:
    """List all best common ancestors of two commits; none means unrelated histories."""
    # Most units are one commit on the main side: its parent is the base, and no program is needed.
    if unit != main and is_one_commit_on(repo, unit, main) and not repo.descendant_of(main, unit):
        return parents_of(repo, unit)
    answer = git.run("merge-base", "--all", main, unit, ok=(0, 1))
    return tuple(parse_oid(line) for line in answer.text.splitlines())


def is_one_commit_on(repo: Objects, unit: Oid, main: Oid) -> bool:
    """Check whether a commit has exactly one parent, and the main side has that."""
    parents = parents_of(repo, unit)
    return len(parents) == 1 and (str(parents[0]) == main or repo.descendant_of(main, str(parents[0])))


def parents_of(repo: Objects, commit: Oid) -> tuple[Oid, ...]:
    """Name the parents of a commit."""
    store = store_of(repo)
    if store is not None:
        return store.commit(commit)[1]
    import pygit2

    return tuple(Oid(str(parent)) for parent in repo[pygit2.Oid(hex=commit)].peel(pygit2.Commit).parent_ids)


def tree_of(repo: Objects, commit: str) -> Oid:
    """Name the tree of a commit given by its full id."""
    store = store_of(repo)
    if store is not None:
        return store.commit(commit)[0]
    import pygit2

    return Oid(str(repo[pygit2.Oid(hex=commit)].peel(pygit2.Tree).id))


def read_blob(repo: Objects, oid: Oid) -> bytes:
    """Read the content of a file."""
    store = store_of(repo)
    if store is not None:
        return store.content(oid)
    import pygit2

    _, content = repo.read(pygit2.Oid(hex=oid))
    return bytes(content)


def size_of_blob(repo: Objects, oid: Oid) -> int:
    """Return how large the content of a file is, without reading it where that can be had."""
    store = store_of(repo)
    if store is not None:
        return store.size(oid)
    import pygit2

    return int(cast("pygit2.Blob", repo[pygit2.Oid(hex=oid)]).size)


def replace_blobs(repo: Objects, tree: Oid, contents: Mapping[bytes, bytes]) -> Oid:
    """Return a tree with new content of files, writing only the trees on the way to the root; modes stay.

    Raises KeyError for a path the tree does not hold. Trees are patched as bytes, since names need not be UTF-8
    (which libgit2's tree builder demands in Python) and everything else must stay as it was.
    """
    here: dict[bytes, Oid] = {}
    below: dict[bytes, dict[bytes, bytes]] = {}
    for path, content in contents.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = content
        else:
            here[name] = write_object(repo, "blob", content)
    rows = split_tree(read_blob(repo, tree))
    for name, inner in below.items():
        here[name] = replace_blobs(repo, Oid(rows[name][1].hex()), inner)
    for name, oid in here.items():
        rows[name] = (rows[name][0], bytes.fromhex(oid))
    patched = b"".join(mode + b" " + name + b"\0" + oid for name, (mode, oid) in rows.items())
    return write_object(repo, "tree", patched)


def split_tree(body: bytes) -> dict[bytes, tuple[bytes, bytes]]:
    """Split a tree object into names with their mode and binary object id, in their order."""
    rows = {name: (mode, oid) for mode, name, oid in _ROWS.findall(body)}
    # Taken apart in C; then every byte must be accounted for, the mode being five or six digits.
    most = sum(map(len, rows)) + len(rows) * (_OID_LENGTH + 2 + 6)
    if most - sum(1 for mode, _ in rows.values() if len(mode) == 5) == len(body):
        return rows
    rows, at = {}, 0
    while at < len(body):
        end = body.index(b"\0", at)
        mode, _, name = body[at:end].partition(b" ")
        rows[name] = (mode, body[end + 1 : end + 1 + _OID_LENGTH])
        at = end + 1 + _OID_LENGTH
    return rows


def show_path(path: bytes) -> str:
    """Write a path so that it can be printed anywhere: control characters and bytes that are no UTF-8 as escapes."""
    text = path.decode("utf-8", "backslashreplace")
    return _UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def place_versions(git_dir: Path, tree: Oid, versions: Mapping[bytes, str | None]) -> Oid:
    """Return a tree with other versions of paths (mode and object id, None: it goes), folders made as needed."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="prun-index-") as folder:
        # An index of its own: the user's may be locked, and holds what is staged.
        git = Git(cwd=git_dir, env={"GIT_DIR": str(git_dir), "GIT_INDEX_FILE": os.path.join(folder, "index")})
        git.run("read-tree", tree)
        # A file may take the place of a folder, so what goes has to go first.
        gone = [b"0 " + b"0" * 40 + b"\t" + path for path in versions]
        rows = [version.encode() + b"\t" + path for path, version in versions.items() if version is not None]
        git.run("update-index", "-z", "--index-info", stdin=b"".join(row + b"\0" for row in (*gone, *rows)))
        return parse_oid(git.run("write-tree").text)
