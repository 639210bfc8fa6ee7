"""A conflict that was committed is no work: jj's own commits, and markers left in files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.conflicts_committed import count_conflicts
from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from gitprun.landing.holds import held_branches
from tests.support.cli import prun
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

REASON = "its last commit is a conflict that jj has not resolved: resolve it there (jj resolve), then land it"
GIT = "<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> topic\n"
BASED = "<<<<<<< HEAD\none\n||||||| base\nzero\n=======\ntwo\n>>>>>>> topic\n"
JJ = (
    "<<<<<<< conflict 1 of 1\n%%%%%%% diff from base\n-zero\n+one\n+++++++ side #2\ntwo\n>>>>>>> conflict 1 of 1 ends\n"
)


def commit_of_jj(repo: Repo, *, folders: bool, header: bool) -> None:
    """Make the branch wip, whose only commit jj would have made of a conflict."""
    rows = repo.git("ls-tree", "HEAD").splitlines()
    if folders:
        tree = repo.git("rev-parse", "HEAD^{tree}")
        rows += [f"040000 tree {tree}\t.jjconflict-{side}" for side in ("base-0", "side-0", "side-1")]
    tree = repo.git("mktree", stdin="".join(f"{row}\n" for row in rows).encode())
    who = "S <s@example.test> 1770000000 +0000"
    head = f"tree {tree}\nparent {repo.head}\nauthor {who}\ncommitter {who}\n"
    text = head + (f"jj:trees {tree} {tree} {tree}\n" if header else "") + "\nwip\n"
    repo.branch("wip", repo.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=text.encode()))


@pytest.mark.parametrize(("folders", "header"), [(True, True), (True, False), (False, True)])
def test_a_commit_that_jj_made_of_a_conflict(tmp_path: Path, folders: bool, header: bool) -> None:
    repo = make_repo(tmp_path / "repo")
    commit_of_jj(repo, folders=folders, header=header)
    repo.switch("fine", new=True)
    repo.commit("fine", b_dot_txt="b\n")
    repo.switch("main")
    report = land_branches(repo, "wip", "fine")
    assert states(report) == {"wip": "conflict", "fine": "landed"}
    assert report.items[0].reason == REASON
    names = [f".jjconflict-{side}" for side in ("base-0", "side-0", "side-1")] if folders else ["(the whole commit)"]
    assert [one.path for one in report.items[0].conflicts] == names
    assert sorted(repo.files()) == ["a.txt", "b.txt"]
    seen = forecast(repo.repository, repo.ledger.read().history, Asked(names=("wip",)))
    assert seen.left_out == (("wip", REASON),)
    [held] = held_branches(report)
    assert (held.opens, held.next_step) == (False, "git prun merge wip")


def test_there_is_nothing_to_open_of_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    commit_of_jj(repo, folders=True, header=True)
    said = prun(repo.path, "resolve", "wip")
    assert (said.code, said.err) == (1, f"error: wip: {REASON}\n")


def test_a_commit_of_jj_on_top_of_a_resolved_one_is_work(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    commit_of_jj(repo, folders=True, header=True)
    repo.switch("wip")
    repo.git("rm", "-rq", ".jjconflict-base-0", ".jjconflict-side-0", ".jjconflict-side-1")
    repo.commit("resolved", b_dot_txt="b\n")
    repo.switch("main")
    assert states(land_branches(repo, "wip")) == {"wip": "landed"}


def left_in(path: Path, text: str, base: str = "top\n") -> Repo:
    repo = make_repo(path, docs__f_dot_txt=base)
    repo.switch("topic", new=True)
    repo.commit("topic", docs__f_dot_txt=f"top\n{text}end\n")
    repo.switch("main")
    return repo


@pytest.mark.parametrize("text", [BASED, JJ, GIT.replace("\n", "\r\n")])
def test_markers_that_were_committed(tmp_path: Path, text: str) -> None:
    repo = left_in(tmp_path / "repo", text)
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "suspect"}
    assert report.items[0].reason == "docs/f.txt: conflict markers were committed in it"
    assert landing_events(repo) == []
    assert states(land_branches(repo, "topic", allow_suspect=("docs/f.txt",))) == {"topic": "landed"}


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("    " + GIT.replace("\n", "\n    "), "top\n"),
        (">>>>>>> b\n=======\n<<<<<<< a\n", "top\n"),
        ("more\n" + GIT, GIT),
    ],
)
def test_what_only_speaks_of_markers_or_had_them_before_lands(tmp_path: Path, text: str, base: str) -> None:
    assert states(land_branches(left_in(tmp_path / "repo", text, base), "topic")) == {"topic": "landed"}


def test_markers_of_the_target_are_not_the_branchs_doing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f_dot_txt="top\n1\n2\n3\n4\nend\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_txt="top, too\n1\n2\n3\n4\nend\n")
    repo.switch("main")
    repo.commit("main", f_dot_txt=f"top\n1\n2\n3\n4\nend\n{GIT}")
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}


def test_markers_that_the_target_has_replaced_meanwhile_are_gone(tmp_path: Path) -> None:
    repo = left_in(tmp_path / "repo", GIT)
    repo.switch("topic")
    repo.commit("mended", docs__f_dot_txt="top\nboth\nend\n")
    repo.switch("main")
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}


_SIGNS = st.sampled_from(["<<<<<<< a", ">>>>>>> b", "=======", "||||||| c", "%%%%%%% d", "+++++++ e", "text", "=" * 8])


@given(st.lists(_SIGNS, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_conflicts_are_counted_as_a_pattern_finds_them(lines: list[str], end: str) -> None:
    text = "".join(line + end for line in lines)
    inner = r"(?:(?!<{7} )[^\n]*\n)*?"
    whole = re.compile(
        rf"^<{{7}} [^\n]*\n{inner}(?:={{7}}(?=\r?\n)|%{{7}} |\+{{7}} )[^\n]*\n{inner}>{{7}} ", re.MULTILINE
    )
    assert count_conflicts(text.encode()) == len(whole.findall(text))


def test_many_middle_markers_and_no_end_take_no_time() -> None:
    assert count_conflicts(b"<<<<<<< a\n" + b"=======\n" * 200_000 + b" >>>>>>> b\n") == 0
