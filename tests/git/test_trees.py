"""Trees: what merge-tree says, what two trees differ in, and files replaced without touching anything else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.git.command import Git
from gitprun.git.refs import open_repository
from gitprun.git.trees import (
    Message,
    Stage,
    TreeChange,
    TreeMerge,
    merge_trees,
    parse_merge_tree,
    read_bases,
    read_changes,
    replace_blobs,
    show_path,
    tree_of,
)
from gitprun.git.walk import Trees
from gitprun.model.errors import GitFailed, PrunError
from gitprun.model.names import Oid
from tests.support.repos import make_repo

TREE = Oid("1" * 40)


def test_reads_a_clean_answer() -> None:
    assert parse_merge_tree(TREE.encode() + b"\0\0", clean=True) == TreeMerge(TREE, True)
    assert parse_merge_tree(TREE.encode() + b"\0", clean=True) == TreeMerge(TREE, True)


def test_reads_stages_and_messages() -> None:
    fields = [
        TREE.encode(),
        b"100644 " + b"2" * 40 + b" 1\tdir/a\tb\xff\n",
        b"100755 " + b"3" * 40 + b" 2\tf",
        b"",
        *(b"1", b"f", b"Auto-merging", b"Auto-merging f\n"),
        *(b"2", b"f", b"g", b"CONFLICT (rename/delete)", b"CONFLICT: f\n"),
    ]
    out = b"".join(field + b"\0" for field in fields)
    assert parse_merge_tree(out, clean=False) == TreeMerge(
        TREE,
        False,
        (Stage("100644", Oid("2" * 40), 1, b"dir/a\tb\xff\n"), Stage("100755", Oid("3" * 40), 2, b"f")),
        (
            Message((b"f",), "Auto-merging", "Auto-merging f"),
            Message((b"f", b"g"), "CONFLICT (rename/delete)", "CONFLICT: f"),
        ),
    )


@pytest.mark.parametrize(
    "out", [b"", b"\0", b"no\0\0", b"\xff\0\0", TREE.encode() + b"\0x\0\0", TREE.encode() + b"\0\0-3\0a\0"]
)
def test_refuses_anything_else(out: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_merge_tree(out, clean=True)


@given(st.binary())
def test_never_breaks_in_another_way(out: bytes) -> None:
    for text in (out, TREE.encode() + b"\0" + out):
        try:
            parse_merge_tree(text, clean=False)
        except ValueError:
            pass


def test_merges_and_tells_failure_apart(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n")
    base = repo.head
    repo.switch("topic", new=True)
    topic = repo.commit("topic", f="topic\n")
    repo.switch("main")
    main = repo.commit("main", f="main\n")
    git, objects = Git(cwd=repo.path), open_repository(repo.repository.common)
    merge = merge_trees(git, main, topic)
    assert not merge.clean
    assert [(stage.number, stage.path) for stage in merge.stages] == [(1, b"f"), (2, b"f"), (3, b"f")]
    assert [note.kind for note in merge.messages] == ["Auto-merging", "CONFLICT (contents)"]
    assert merge_trees(git, base, topic) == TreeMerge(tree_of(objects, topic), True)
    assert read_bases(git, objects, main, topic) == (base,)
    repo.git("checkout", "-q", "--orphan", "alone")
    alone = repo.commit("alone")
    assert read_bases(git, objects, main, alone) == ()
    with pytest.raises(GitFailed, match="refusing to merge unrelated histories"):
        merge_trees(git, main, alone)
    with pytest.raises(PrunError, match="not something we can merge"):
        merge_trees(git, main, Oid("9" * 40))


def test_changes_are_whole_paths(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n", gone="2\n", same="s\n")
    repo.git("config", "diff.noprefix", "true")
    repo.git("config", "diff.renames", "copies")
    old = repo.head
    one, two = repo.oid("HEAD:f"), repo.oid("HEAD:gone")
    repo.git("mv", "gone", "new\nname")
    repo.write("f", "1\n", executable=True)
    new = repo.commit("change")
    zero = "0" * 40
    assert read_changes(Git(cwd=repo.path), old, new) == (
        TreeChange(b"f", "100644", "100755", one, one),
        TreeChange(b"gone", "100644", "000000", two, Oid(zero)),
        TreeChange(b"new\nname", "000000", "100644", Oid(zero), two),
    )


def test_comparing_without_a_process_gives_the_same(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n", gone="2\n", becomes_link="l\n", d__x="x\n", plain="p\n", same="s\n")
    git, objects = Git(cwd=repo.path), open_repository(repo.repository.common)
    old = repo.head
    (repo.path / "becomes_link").unlink()
    (repo.path / "becomes_link").symlink_to("f")
    repo.git("mv", "gone", "new\nname")
    repo.git("rm", "-rq", "d", "plain")
    repo.write("d", "now a file\n")
    repo.write("plain/inner", "now a folder\n")
    repo.write("f", "1\n", executable=True)
    Path(os.fsdecode(os.fsencode(repo.path) + b"/odd\xff")).write_bytes(b"odd\n")
    repo.commit("change")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{old},sub")
    repo.git("commit", "-qm", "submodule")
    listed = read_changes(git, old, repo.head)
    assert len(listed) == 10
    assert Trees(objects).compare(tree_of(objects, old), tree_of(objects, repo.head)) == listed


def test_bases_of_a_branch_with_one_commit_need_no_process(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n")
    objects = open_repository(repo.repository.common)
    base = repo.head
    repo.switch("topic", new=True)
    topic = repo.commit("topic", f="topic\n")
    nowhere = Git(cwd=tmp_path)
    assert read_bases(nowhere, objects, base, topic) == (base,)
    repo.switch("main")
    main = repo.commit("main", g="2\n")
    assert read_bases(nowhere, objects, main, topic) == (base,)
    repo.git("merge", "-q", "--no-ff", "-m", "m", "topic")
    assert read_bases(Git(cwd=repo.path), objects, repo.head, topic) == (topic,)


def test_replaces_files_and_nothing_else(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n", a__b__c="2\n", a__b__d="3\n", a_dot_b="x\n", z="z\n")
    (repo.path / "a" / "link").symlink_to("b")
    odd = os.fsencode(repo.path) + b"/a/odd\xff"
    Path(os.fsdecode(odd)).write_bytes(b"odd\n")
    repo.write("f", "1\n", executable=True)
    repo.commit("more")
    before = repo.git("ls-tree", "-r", "-z", "HEAD").split("\0")
    contents = {b"f": b"one\n", b"a/b/c": b"two\n", b"a/odd\xff": b"\0\1"}
    store = open_repository(repo.path / ".git")
    tree = replace_blobs(store, repo.oid("HEAD^{tree}"), contents)
    after = repo.git("ls-tree", "-r", "-z", tree).split("\0")
    assert [row.split("\t")[-1] for row in before] == [row.split("\t")[-1] for row in after]
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    blobs = {name: repo.git("hash-object", "--stdin", stdin=content) for name, content in contents.items()}
    assert changed == [
        f"100644 blob {blobs[b'a/b/c']}\ta/b/c",
        f"100644 blob {blobs[b'a/odd' + bytes([255])]}\ta/odd\udcff",
        f"100755 blob {blobs[b'f']}\tf",
    ]
    repo.git("fsck", "--strict")
    assert replace_blobs(store, tree, {}) == tree
    with pytest.raises(KeyError):
        replace_blobs(store, tree, {b"nowhere": b""})


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"a/b c", "a/b c"),
        ("ä".encode(), "ä"),
        (b"a\nb\x1b[0m", "a\\nb\\x1b[0m"),
        (b"x\xff", "x\\xff"),
        ("\u202e".encode(), "\\u202e"),
    ],
)
def test_paths_can_be_printed(path: bytes, shown: str) -> None:
    assert show_path(path) == shown
