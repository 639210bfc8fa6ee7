"""What a policy keeps is not deleted, emptied or halved by a branch unless somebody lets it pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.judging.hotspots import Hotspot, Policy
from tests.support.landing import candidate, land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

LINES = "".join(f"line {number}\n" for number in range(1, 11))
MANY = "".join(f"line {number}\n" for number in range(1, 61))


def changed(path: Path, name: str, base: str, unit: str | None, **more: str) -> Repo:
    """Make a branch that gives a file other content (None: it goes), and further files."""
    repo = make_repo(path, other="o\n")
    repo.write(name, base)
    # In the first commit: who takes back all that a later one added is asked about that.
    repo.git("add", "-A")
    repo.git("commit", "-q", "--amend", "-m", "base")
    repo.switch("topic", new=True)
    if unit is None:
        repo.git("rm", "-q", name)
    else:
        repo.write(name, unit)
    repo.commit("topic", t_dot_txt="t\n", **more)
    repo.switch("main")
    return repo


@pytest.mark.parametrize(
    ("policy", "unit", "words"),
    [
        ("ours", None, "deletes"),
        ("ours", "", "leaves 0 of 10 lines of"),
        ("union", None, "deletes"),
        ("union", "line 1\n", "leaves 1 of 10 lines of"),
    ],
)
def test_a_branch_that_takes_away_what_a_policy_keeps(
    tmp_path: Path, policy: Policy, unit: str | None, words: str
) -> None:
    repo = changed(tmp_path / "repo", "src/f.txt", LINES, unit)
    rows = (Hotspot("src/*", policy),)
    report = land_branches(repo, "topic", hotspots=rows)
    [item] = report.items
    said = f"it {words} src/f.txt, whose policy is {policy}"
    assert (item.state, item.reason, item.accept) == ("held", said, ("src/f.txt",))
    assert (landing_events(repo), repo.status()) == ([], [])
    assert states(land_branches(repo, "topic", hotspots=rows, accept=("src",))) == {"topic": "landed"}


@pytest.mark.parametrize("value", ["union", "ours"])
def test_attributes_are_policies_too(tmp_path: Path, value: str) -> None:
    repo = changed(tmp_path / "repo", "f.txt", LINES, None)
    repo.git("config", "merge.ours.driver", "true")
    repo.commit("attributes", _dot_gitattributes=f"*.txt merge={value}\n")
    report = land_branches(repo, "topic")
    assert (states(report), report.items[0].accept) == ({"topic": "held"}, ("f.txt",))


@pytest.mark.parametrize(
    ("policy", "base", "unit"),
    [
        ("theirs", LINES, None),
        ("ours", LINES, LINES.replace("line", "row")),
        ("union", LINES, LINES.replace("line 3\n", "")),
        ("ours", "1.0\n", "1.1\n"),
    ],
)
def test_other_policies_and_plain_edits_pass(tmp_path: Path, policy: Policy, base: str, unit: str | None) -> None:
    repo = changed(tmp_path / "repo", "f.txt", base, unit)
    assert states(land_branches(repo, "topic", hotspots=(Hotspot("f.txt", policy),))) == {"topic": "landed"}


def test_a_file_that_moved_is_not_gone(tmp_path: Path) -> None:
    repo = changed(tmp_path / "repo", "f.txt", LINES, None, docs__f_dot_txt=LINES)
    assert states(land_branches(repo, "topic", hotspots=(Hotspot("*.txt", "ours"),))) == {"topic": "landed"}


def test_the_plan_may_name_the_path(tmp_path: Path) -> None:
    repo = changed(tmp_path / "repo", "f.txt", LINES, None)
    rows, mine = (Hotspot("*.txt", "ours"),), candidate(repo, "topic", fence=("f.txt", "t.txt"))
    assert states(land_branches(repo, mine, hotspots=rows)) == {"topic": "landed"}


@pytest.mark.parametrize(
    ("base", "unit", "state"),
    [
        # A list by convention gets shorter as things are done.
        (LINES, "line 1\n", "landed"),
        (MANY, "line 1\n", "held"),
        (LINES, None, "held"),
    ],
)
def test_lists_by_convention(tmp_path: Path, base: str, unit: str | None, state: str) -> None:
    repo = changed(tmp_path / "repo", "TODO.md", base, unit)
    assert states(land_branches(repo, "topic")) == {"topic": state}
