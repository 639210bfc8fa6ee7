"""Many merges and comparisons through one git program each: the same answers as one by one."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gitprun.git.batch as batch
from gitprun.git.batch import compare_many, merge_many, parse_comparisons, parse_merges
from gitprun.git.refs import open_repository
from gitprun.git.trees import Message, Stage, TreeMerge, merge_trees, read_changes, tree_of
from gitprun.model.names import Oid
from tests.support.repos import Repo, make_repo

TREE, OTHER = Oid("1" * 40), Oid("2" * 40)


def branches(path: Path) -> tuple[Repo, list[Oid]]:
    repo = make_repo(path, a="1\n", b="1\n", d__x="x\n", d__y="y\n")
    tips = []
    for number, files in enumerate(({"a": "2\n"}, {"a": "3\n"}, {"b": "2\n"}, {"d__n\n": "odd name\n"})):
        repo.switch(f"t{number}", new=True, start="main")
        tips.append(repo.commit(f"t{number}", **files))
    repo.switch("t4", new=True, start="main")
    repo.git("mv", "d", "e")
    tips.append(repo.commit("t4"))
    repo.git("checkout", "-q", "--orphan", "lone")
    tips.append(repo.commit("lone"))
    repo.switch("main")
    return repo, tips


def test_merges_as_one_by_one(tmp_path: Path) -> None:
    repo, tips = branches(tmp_path)
    git = repo.repository.git
    pairs = list(itertools.combinations(tips[:-1], 2))
    assert merge_many(git, pairs) == [merge_trees(git, *pair) for pair in pairs]
    assert merge_many(git, []) == []


def test_goes_on_after_what_cannot_be_merged(tmp_path: Path) -> None:
    repo, tips = branches(tmp_path)
    git = repo.repository.git
    one, two, three, *_, lone = tips
    pairs = [(one, three), (lone, one), (one, two), (two, lone)]
    assert merge_many(git, pairs) == [
        merge_trees(git, one, three),
        "refusing to merge unrelated histories",
        merge_trees(git, one, two),
        "refusing to merge unrelated histories",
    ]


def test_older_git_is_asked_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, tips = branches(tmp_path)
    pairs = [(tips[0], tips[1]), (tips[0], tips[-1])]
    now = merge_many(repo.repository.git, pairs)
    monkeypatch.setattr(batch, "require_git", lambda _: (2, 38, 1))
    assert merge_many(repo.repository.git, pairs) == now


def test_compares_as_one_by_one(tmp_path: Path) -> None:
    repo, tips = branches(tmp_path)
    git, store = repo.repository.git, open_repository(repo.repository.common)
    trees = [tree_of(store, tip) for tip in tips]
    pairs = [*itertools.permutations(trees, 2), (trees[0], trees[0])]
    assert compare_many(git, pairs) == [read_changes(git, *pair) for pair in pairs]
    assert compare_many(git, []) == []


def test_reads_whole_merges_only() -> None:
    first = [b"1", TREE.encode(), b"", b""]
    stage = f"100644 {OTHER} 2\tf".encode()
    said = [b"2", b"f", b"g", b"CONFLICT (contents)", b"CONFLICT: f\n", b"0", b"kind", b""]
    second = [b"0", OTHER.encode(), stage, b"", *said, b""]
    out = b"".join(field + b"\0" for field in [*first, *second])
    merges = [
        TreeMerge(TREE, True),
        TreeMerge(
            OTHER,
            False,
            (Stage("100644", OTHER, 2, b"f"),),
            (Message((b"f", b"g"), "CONFLICT (contents)", "CONFLICT: f"), Message((), "kind", "")),
        ),
    ]
    assert parse_merges(out) == merges
    assert parse_merges(out[:-1]) == merges[:1]
    assert parse_merges(b"") == []
    with pytest.raises(ValueError, match="not the beginning of a merge: b'fatal'"):
        parse_merges(b"fatal\0")


@given(st.lists(st.integers(0, 2), max_size=5), st.integers(0, 400))
def test_a_cut_off_answer_never_invents_a_merge(kinds: list[int], cut: int) -> None:
    bodies = [
        [b"1", TREE.encode(), b"", b""],
        [b"0", TREE.encode(), f"100644 {OTHER} 1\tp".encode(), b"", b"1", b"p", b"CONFLICT (contents)", b"t", b""],
        [b"1", OTHER.encode(), b"", b"1", b"p", b"Auto-merging", b"Auto-merging p", b""],
    ]
    out = b"".join(field + b"\0" for kind in kinds for field in bodies[kind])
    whole = parse_merges(out)
    assert len(whole) == len(kinds)
    part = parse_merges(out[:cut])
    assert part == whole[: len(part)]


def test_refuses_other_comparisons() -> None:
    with pytest.raises(ValueError, match="not the comparison"):
        parse_comparisons(b"", [(TREE, OTHER)])
    with pytest.raises(ValueError, match="more than was asked for"):
        parse_comparisons(f"{TREE} {OTHER}\n".encode() * 2, [(TREE, OTHER)])
