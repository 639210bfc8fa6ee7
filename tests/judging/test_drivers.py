"""Merge drivers that attributes name: one that is missing or fails is named, what it emptied is suspect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

LINES = "".join(f"{number}\n" for number in range(1, 10))


def driven(path: Path, attribute: str, program: str = "", *, where: str = ".gitattributes") -> Repo:
    """Make a file that both sides change in different places, and a merge driver for it."""
    repo = make_repo(path, f_dot_txt=LINES)
    if program:
        repo.git("config", "merge.own.driver", program)
    repo.write(where, f"f.txt {attribute}\n")
    repo.commit("attributes", g_dot_txt="g\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_txt=f"{LINES}unit\n")
    repo.switch("main")
    repo.commit("main", f_dot_txt=f"main\n{LINES}")
    return repo


@pytest.mark.parametrize("where", [".gitattributes", ".git/info/attributes"])
def test_one_that_is_not_set_up_is_named_and_git_merges(tmp_path: Path, where: str) -> None:
    repo = driven(tmp_path / "repo", "merge=own", where=where)
    report = land_branches(repo, "topic")
    said = "topic: f.txt: its merge driver 'own' is not set up here, so git merged it as text"
    assert (states(report), report.notes) == ({"topic": "landed"}, (said,))
    assert repo.read("f.txt") == f"main\n{LINES}unit\n"


def test_for_a_branch_that_is_checked_out_nowhere_its_own_attributes_count(tmp_path: Path) -> None:
    repo = driven(tmp_path / "repo", "merge=own")
    repo.git("checkout", "-q", "--orphan", "elsewhere")
    repo.git("rm", "-rqf", ".")
    repo.commit("elsewhere", e_dot_txt="e\n")
    report = land_branches(repo, "topic", into="main")
    assert (states(report), len(report.notes)) == ({"topic": "landed"}, 1)


@pytest.mark.parametrize("attribute", ["-merge", "merge=union", "mergers=1"])
def test_what_git_brings_along_needs_no_word(tmp_path: Path, attribute: str) -> None:
    assert land_branches(driven(tmp_path / "repo", attribute), "topic").notes == ()


@pytest.mark.parametrize("program", ["no-such-program %A %O %B", "false"])
def test_one_that_fails_is_named_and_the_text_is_merged(tmp_path: Path, program: str) -> None:
    repo = driven(tmp_path / "repo", "merge=own", program)
    report = land_branches(repo, "topic")
    said = f"topic: f.txt: its merge driver 'own' failed, or left it to you: {program}"
    assert (states(report), report.notes) == ({"topic": "landed"}, (said,))


@pytest.mark.parametrize(
    ("program", "left"),
    [
        (": >%A", "nothing of it"),
        ("printf 12 >%A", "2 bytes of it, far less than either side has"),
    ],
)
def test_what_it_emptied_is_suspect(tmp_path: Path, program: str, left: str) -> None:
    repo = driven(tmp_path / "repo", "merge=own", program)
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "suspect"}
    assert report.items[0].reason == f"f.txt: its merge driver 'own' left {left}"
    assert states(land_branches(repo, "topic", allow_suspect=("f.txt",))) == {"topic": "landed"}


@pytest.mark.parametrize("program", ["true", "git merge-file %A %O %B"])
def test_one_that_works_is_left_in_peace(tmp_path: Path, program: str) -> None:
    report = land_branches(driven(tmp_path / "repo", "merge=own", program), "topic")
    assert (report.items[0].suspects, report.notes) == ((), ())


def test_what_both_sides_took_away_may_be_gone(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f_dot_txt=LINES, _dot_gitattributes="f.txt merge=own\n")
    repo.git("config", "merge.own.driver", "git merge-file %A %O %B")
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_txt="1\n2\n3\n4\n")
    repo.switch("main")
    repo.commit("main", f_dot_txt="6\n7\n8\n9\n")
    repo.git("config", "merge.own.driver", "printf '' >%A")
    # Nothing is left of what each side had, so an empty file is what both of them made; but that none has.
    assert states(land_branches(repo, "topic")) == {"topic": "suspect"}
