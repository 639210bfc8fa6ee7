"""A red train is split: each culprit is found in few checks and set aside, and the rest lands in one go."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gitprun.landing.plan import LandingReport
from tests.support.landing import candidate, land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow


def train(path: Path, *names: str, **odd: str) -> Repo:
    """Make branches that each add a file of their name; ``odd`` says what else is in some of them."""
    repo = make_repo(path, a="1\n")
    for name in names:
        repo.switch(name, new=True, start="main")
        repo.commit(name, **{name: odd.get(name, "fine\n")})
    repo.switch("main")
    return repo


def counted(tmp_path: Path, check: str) -> tuple[str, ...]:
    """Write down every check: the tree it ran on."""
    return (f"git rev-parse HEAD^{{tree}} >>{tmp_path}/checks; {check}",)


def checks(tmp_path: Path) -> list[str]:
    found = (tmp_path / "checks").read_text().split()
    assert len(found) == len(set(found)), "a tree was checked twice"
    return found


def red(report: LandingReport) -> list[str]:
    return [item.candidate.branch for item in report.items if item.state == "red"]


NAMES = tuple(f"b{number:02}" for number in range(16))


@pytest.mark.parametrize("bad", [("b00",), ("b07",), ("b15",), ("b02", "b11")])
def test_culprits_are_found_by_halving(tmp_path: Path, bad: tuple[str, ...]) -> None:
    repo = train(tmp_path / "repo", *NAMES, **dict.fromkeys(bad, "broken\n"))
    report = land_branches(repo, *NAMES, verify=counted(tmp_path, "! grep -q broken b*"), confirm_red=False)
    assert red(report) == list(bad)
    assert sorted(repo.files()) == sorted({"a", *NAMES} - {*bad})
    assert {item.state for item in report.items if item.candidate.branch not in bad} == {"landed"}
    assert landing_events(repo) == [
        "landing.started",
        *(f"landing.landed {name}" for name in NAMES if name not in bad),
        "landing.finished landed",
    ]
    assert repo.status() == []
    # The whole, the target by itself, and per culprit a halving, the culprit alone, and the rest without it.
    assert len(checks(tmp_path)) <= 2 + len(bad) * (math.log2(len(NAMES)) + 2)
    for item in report.items:
        if item.state == "red":
            assert item.reason.startswith(counted(tmp_path, "! grep -q broken b*")[0])


def test_the_partner_is_named_among_many(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", *NAMES)
    report = land_branches(
        repo, *NAMES, verify=counted(tmp_path, "! { test -e b04 && test -e b13; }"), confirm_red=False
    )
    assert red(report) == ["b13"]
    [item] = [item for item in report.items if item.state == "red"]
    assert item.reason.endswith("(it is green by itself, red together with b04)")
    # Whose partner it is, the two alone tell: one check more than the two halvings.
    assert len(checks(tmp_path)) <= 2 + 2 * math.log2(len(NAMES)) + 3
    assert sorted(repo.files()) == sorted({"a", *NAMES} - {"b13"})


def test_a_red_branch_is_red_by_itself(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", "x", "y", "z", y="broken\n")
    report = land_branches(repo, "x", "y", "z", verify=("! grep -q broken [xyz]",))
    assert report.items[1].reason == "! grep -q broken [xyz]: exit 1 (on top of main)"
    assert report.verdict is not None
    assert report.verdict.state == "pass"


def test_all_are_red(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", "x", "y", x="broken\n", y="broken\n")
    report = land_branches(repo, "x", "y", verify=counted(tmp_path, "! grep -q broken x y"), confirm_red=False)
    assert states(report) == {"x": "red", "y": "red"}
    assert (report.new, landing_events(repo)) == (report.old, [])
    assert report.verdict is not None
    assert report.verdict.state == "fail"
    checks(tmp_path)


def test_one_that_keeps_the_checks_from_running(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", "x", "y", "z")
    report = land_branches(repo, "x", "y", "z", verify=("test ! -e y || exit 127",))
    assert states(report) == {"x": "landed", "y": "unverified", "z": "landed"}
    assert report.items[1].reason.startswith("the merged tree is not proved: test ! -e y || exit 127")


def test_nothing_lands_after_the_first_that_cannot(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", "w", "x", "y", "z", x="broken\n")
    report = land_branches(repo, "w", "x", "y", "z", verify=("! grep -q broken [wxyz]",), keep_going=False)
    assert states(report) == {"w": "landed", "x": "red", "y": "not-tried", "z": "not-tried"}
    assert report.items[2].reason == "not tried: x could not land before it"
    assert sorted(repo.files()) == ["a", "w"]
    repo.switch("clash", new=True, start="main~1")
    repo.commit("clash", w="other\n")
    repo.switch("main")
    report = land_branches(repo, "w", "clash", "y", keep_going=False)
    assert states(report) == {"w": "already-contained", "clash": "conflict", "y": "not-tried"}


def test_one_by_one(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", "w", "x", "y", "z", x="broken\n")
    command = counted(tmp_path, "! grep -q broken [wxyz]")
    report = land_branches(repo, "w", "x", "y", "z", verify=command, one_by_one=True, confirm_red=False)
    assert states(report) == {"w": "landed", "x": "red", "y": "landed", "z": "landed"}
    # Each on top of the others, and the culprit by itself.
    assert len(checks(tmp_path)) == 5
    assert report.verdict is not None
    assert report.verdict.state == "pass"


def test_one_by_one_on_a_red_target(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", "x", "y")
    report = land_branches(repo, "x", "y", verify=("false",), one_by_one=True)
    assert {item.reason for item in report.items} == {"main was red before: false: exit 1"}


def test_hooks_are_asked_once_for_each_merge(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", "x", "y", "z", y="broken\n")
    repo.hook("commit-msg", f"git rev-parse MERGE_HEAD >>{tmp_path}/asked")
    report = land_branches(repo, "x", "y", "z", verify=("! grep -q broken [xyz]",))
    assert red(report) == ["y"]
    asked = (tmp_path / "asked").read_text().split()
    # z is merged anew, without y below it: that is another merge.
    assert asked == [repo.oid(name) for name in ("x", "y", "z", "z")]


def test_a_green_tree_is_remembered_only_where_that_is_asked_for(tmp_path: Path) -> None:
    repo = train(tmp_path / "repo", "x")
    command = counted(tmp_path, "true")
    repo.hook("reference-transaction", 'test "$1" != prepared || ! grep -q refs/heads/main')
    for count in (1, 2):
        # What was green for one command is nothing to the next: tools and copied files may have changed.
        with pytest.raises(Exception, match="git would not move main"):
            land_branches(repo, "x", verify=command)
        assert (tmp_path / "checks").read_text().count("\n") == count
    (repo.path / ".git/hooks/reference-transaction").unlink()
    report = land_branches(repo, "x", verify=command, reuse_green=3600.0)
    assert states(report) == {"x": "landed"}
    assert report.notes == ("the merged tree is one that was verified before, so it was not checked again",)
    assert (tmp_path / "checks").read_text().count("\n") == 2


@pytest.mark.parametrize("other", [{"verify": ("true ",)}, {"copy": ("a",)}, {"verify_sandbox": "none"}])
def test_what_is_remembered_is_the_answer_to_one_question(tmp_path: Path, other: dict[str, object]) -> None:
    repo = train(tmp_path / "repo", "x")
    repo.hook("reference-transaction", 'test "$1" != prepared || ! grep -q refs/heads/main')
    with pytest.raises(Exception, match="git would not move main"):
        land_branches(repo, "x", verify=("true",), verify_sandbox="workspace-write")
    (repo.path / ".git/hooks/reference-transaction").unlink()
    given = {"verify": ("true",), "verify_sandbox": "workspace-write", "reuse_green": 3600.0, **other}
    report = land_branches(repo, "x", **given)
    assert states(report) == {"x": "landed"}
    assert "verified before" not in " ".join(report.notes)


def test_the_safe_order(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    for name, files in {
        "crowded": {"f": "one\n2\n3\n4\n5\n6\n7\n8\n9\n", "c": "c\n"},
        "meets": {"f": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"},
        "large": {"l1": "l\n", "l2": "l\n", "l3": "l\n"},
        "small": {"s": "s\n"},
    }.items():
        repo.switch(name, new=True, start="main")
        repo.commit(name, **files)
    repo.switch("on-crowded", new=True, start="crowded")
    repo.commit("on-crowded", o="o\n")
    repo.switch("main")
    names = ("on-crowded", "crowded", "meets", "large", "small")
    report = land_branches(repo, *names, order="safe")
    assert list(states(report)) == ["small", "large", "meets", "crowded", "on-crowded"]
    assert set(states(report).values()) == {"landed"}
    started = repo.ledger.read().events[0].payload.as_json()
    assert (started["order"], started["branches"]) == ("safe", list(states(report)))
    assert candidate(repo, "small").tip == report.items[0].candidate.tip


def test_a_partner_is_named_only_after_that_very_pair_was_checked(tmp_path: Path) -> None:
    """Red with the two before it together, and with neither of them alone: nobody is called its partner."""
    repo = train(tmp_path / "repo", "x", "y", "z", "w")
    report = land_branches(repo, "x", "y", "z", "w", verify=("! { test -e x && test -e y && test -e z; }",))
    assert states(report) == {"x": "landed", "y": "landed", "z": "red", "w": "landed"}
    assert report.items[2].reason.endswith("(it is green by itself and with y, red on top of x, y)")


@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_check_that_fails_once_blames_nobody(tmp_path: Path, one_by_one: bool) -> None:
    repo = train(tmp_path / "repo", "x", "y", "z")
    command = f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; echo timing; exit 1; }}"
    report = land_branches(repo, "x", "y", "z", verify=(command,), one_by_one=one_by_one)
    assert set(states(report).values()) == {"landed"}
    assert report.notes == (
        f"flaky: {command} failed once (exit 1: timing) and passed on the same tree when it ran again",
    )
    assert report.verdict is not None
    # The verdict that is told is that of the last tree.
    assert (report.verdict.state, report.verdict.checks[0].flaky) == ("pass", not one_by_one)


@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_check_that_mends_keeps_its_branch_out(tmp_path: Path, one_by_one: bool) -> None:
    repo = train(tmp_path / "repo", "x", "y", "z", y="bad\n")
    mend = "for f in x y z; do test ! -e $f || sed -i s/bad/good/ $f; done"
    report = land_branches(repo, "x", "y", "z", verify=(mend, "! grep bad x y z"), one_by_one=one_by_one)
    assert states(report) == {"x": "landed", "y": "red", "z": "landed"}
    assert report.items[1].reason == (
        f"{mend}: changed-files: it changes y itself, so it proves nothing of the tree (on top of main)"
    )
    repo = train(tmp_path / "may", "x", "y", y="bad\n")
    report = land_branches(repo, "x", "y", verify=(mend,), verify_may_change=("y",), one_by_one=one_by_one)
    assert (set(states(report).values()), repo.read("y")) == ({"landed"}, "bad\n")
