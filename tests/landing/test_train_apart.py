"""Merging without git where both sides changed different things: what git would have made, or left to git."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitprun.git.command import Git
from gitprun.git.refs import open_repository
from gitprun.git.trees import Objects, merge_trees, read_changes
from gitprun.git.walk import Trees, TreeTooDeep
from gitprun.landing.disjoint import Since, merge_apart
from gitprun.model.names import Oid
from tests.support.repos import make_repo

PATHS = [b"a", b"a-b", b"b", b"d/x", b"d/y", b"d-", b"d.c", b"e/f/g", b"e/f/h", b"e/k", b"z/only", b"\xff/odd"]
BODY = b"".join(b"line %d\n" % n for n in range(20))
FILES = st.dictionaries(
    st.sampled_from(PATHS),
    st.tuples(
        st.sampled_from(["100644", "100755", "120000"]), st.sampled_from([b"1\n", b"2\n", BODY, BODY + b"end\n"])
    ),
    max_size=len(PATHS),
)
EDITS = st.dictionaries(
    st.sampled_from([*PATHS, b"new", b"d/new", b"e/new/n", b"a/inner", b"d"]),
    st.one_of(st.none(), st.tuples(st.just("100644"), st.sampled_from([b"3\n", BODY, BODY + b"more\n"]))),
    max_size=4,
)
Snapshot = Mapping[bytes, tuple[str, bytes]]


def consistent(files: Snapshot) -> dict[bytes, tuple[str, bytes]]:
    """Leave out files that stand where another file's folder is."""
    folders = {path[:at] for path in files for at in range(len(path)) if path[at : at + 1] == b"/"}
    return {path: entry for path, entry in files.items() if path not in folders}


def edited(files: Snapshot, edits: Mapping[bytes, tuple[str, bytes] | None]) -> dict[bytes, tuple[str, bytes]]:
    found = dict(files)
    for path, entry in edits.items():
        found.pop(path, None)
        if entry is not None:
            found = {p: e for p, e in found.items() if not p.startswith(path + b"/") and not path.startswith(p + b"/")}
            found[path] = entry
    return found


def commit(repo: Objects, name: str, files: Snapshot, *parents: Oid) -> Oid:
    tree = _tree(repo, sorted(files.items()))
    who = pygit2.Signature("a", "a@example.test", 1767600000, 0)
    made = repo.create_commit(None, who, who, name, pygit2.Oid(hex=tree), [pygit2.Oid(hex=p) for p in parents])
    return Oid(str(made))


def _tree(repo: Objects, files: list[tuple[bytes, tuple[str, bytes]]]) -> str:
    here: dict[bytes, tuple[bytes, bytes]] = {}
    below: dict[bytes, list[tuple[bytes, tuple[str, bytes]]]] = {}
    for path, (mode, content) in files:
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, []).append((rest, (mode, content)))
        else:
            here[name] = (mode.encode(), repo.create_blob(content).raw)
    for name, inner in below.items():
        here[name] = (b"40000", bytes.fromhex(_tree(repo, inner)))
    rows = sorted(here.items(), key=lambda row: row[0] + (b"/" if row[1][0] == b"40000" else b""))
    body = b"".join(mode + b" " + name + b"\0" + oid for name, (mode, oid) in rows)
    return str(repo.write(pygit2.enums.ObjectType.TREE, body))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("apart") / "repo"
    Git(cwd=path.parent).run("init", "-q", str(path))
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(base=FILES.map(consistent), main=EDITS, unit=EDITS, more=EDITS)
def test_the_same_tree_as_gits(
    place: Path,
    base: Snapshot,
    main: Mapping[bytes, tuple[str, bytes] | None],
    unit: Mapping[bytes, tuple[str, bytes] | None],
    more: Mapping[bytes, tuple[str, bytes] | None],
) -> None:
    repo, git = open_repository(place / ".git"), Git(cwd=place)
    trees = Trees(repo)

    def tree_of(one: Oid) -> Oid:
        return Oid(str(repo[pygit2.Oid(hex=one)].peel(pygit2.Tree).id))

    old = commit(repo, "old", base)
    middle = commit(repo, "middle", edited(base, main), old)
    ours = commit(repo, "ours", edited(edited(base, main), more), middle)
    theirs = commit(repo, "theirs", edited(base, unit), old)
    since = Since(trees, tree_of(old), tree_of(middle))
    since.advance(tree_of(ours), trees.compare(tree_of(middle), tree_of(ours)))
    listed = read_changes(git, old, ours)
    assert tuple(sorted(since.changes.values(), key=lambda change: change.path)) == listed
    changes = trees.compare(tree_of(old), tree_of(theirs))
    assert changes == read_changes(git, old, theirs)
    made = merge_apart(trees, since, changes)
    if made is not None:
        by_git = merge_trees(git, ours, theirs)
        assert (by_git.clean, by_git.tree) == (True, made)
        # What has to be on disk for the new tree to be whole.
        written = set(trees.written_between(tree_of(ours), made))
        asked = f"{made}\n^{tree_of(ours)}\n".encode()
        said = git.run("rev-list", "--objects", "--stdin", stdin=asked).text.splitlines()
        assert {row.split(" ")[0] for row in said} <= written
    assert trees.apply(tree_of(old), changes) == tree_of(theirs)


def test_a_change_that_does_not_meet_what_it_changes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", d__x="1\n")
    start = repo.oid("HEAD^{tree}")
    repo.commit("edit", a="2\n", d__x="2\n", d__new="n\n")
    trees = Trees(open_repository(repo.path / ".git"))
    edit = trees.compare(start, repo.oid("HEAD^{tree}"))
    repo.commit("other", a="3\n", d__x="1\n")
    assert trees.apply(repo.oid("HEAD^{tree}"), edit) is None
    assert trees.apply(start, edit) == repo.oid("HEAD~1^{tree}")
    assert trees.find(start, b"d/x") == ("100644", repo.oid("HEAD:d/x"))
    assert [trees.find(start, path) for path in (b"d", b"a/x", b"none", b"none/x")] == [None] * 4
    assert trees.paths(repo.oid("HEAD^{tree}"), b"d") == [b"d/new", b"d/x"]
    assert trees.paths(start, b"") == [b"a", b"d/x"]
    assert [trees.paths(start, folder) for folder in (b"no/such", b"a")] == [[], []]


def test_trees_without_end_are_refused(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    objects = open_repository(repo.path / ".git")
    blob = objects.create_blob(b"x\n").raw
    made = bytes(objects.write(pygit2.enums.ObjectType.TREE, b"100644 f\0" + blob).raw)
    for _ in range(600):
        made = bytes(objects.write(pygit2.enums.ObjectType.TREE, b"40000 d\0" + made).raw)
    with pytest.raises(TreeTooDeep):
        Trees(objects).compare(repo.oid("HEAD^{tree}"), Oid(made.hex()))
