"""Work outside the paths a unit was given: held at the landing, let pass by name, written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.fence import Outside, describe_outside, sort_outside
from gitprun.landing.plan import Candidate, LandingReport
from gitprun.model.globs import matches
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import Repo, make_repo

WORDS = st.sampled_from(["src", "docs", "a.txt", "yarn.lock", "TODO.md", "*", "**", "*.txt"])
PATHS = st.lists(WORDS.filter(lambda word: "*" not in word), min_size=1, max_size=3).map("/".join)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", docs__a="a\n", key="k\n", yarn_dot_lock="1\n")


def unit(repo: Repo, name: str = "u", *, fence: tuple[str, ...] = ("docs/**",), base: str = "main") -> Candidate:
    return candidate(repo, name, run="r1", unit=name, verdict="pass", fence=fence, base=repo.oid(base))


def work(repo: Repo, name: str = "u", /, start: str = "main", **files: str) -> None:
    repo.switch(name, new=True, start=start)
    repo.commit(name, **files)
    repo.switch("main")


def told(report: LandingReport) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(item.state, item.reason, item.accept) for item in report.items]


def outside_in_ledger(repo: Repo) -> list[object]:
    return [e.payload.as_json().get("outside") for e in repo.ledger.read().events if e.kind == "landing.landed"]


@given(changed=st.lists(PATHS, unique=True), fence=st.lists(st.one_of(PATHS, WORDS), max_size=3))
def test_every_changed_path_is_inside_or_held_or_told(changed: list[str], fence: list[str]) -> None:
    found = sort_outside(changed, fence)
    outside = sorted(path for path in changed if fence and not any(matches(pattern, path) for pattern in fence))
    assert sorted((*found.held, *found.common)) == outside
    assert all(path.rpartition("/")[2] in ("yarn.lock", "TODO.md") for path in found.common)
    assert not any(path.endswith(("yarn.lock", "TODO.md")) for path in found.held)


def test_words() -> None:
    assert sort_outside(["b", "x/go.sum", "CHANGELOG.md", "TODO/x", "src/a"], ["src"]) == Outside(
        held=("TODO/x", "b"), common=("CHANGELOG.md", "x/go.sum")
    )
    assert sort_outside(["b"], []) == Outside()
    assert describe_outside(["a\x1b", "b"]) == "changes a\\x1b, b outside its paths"


def test_held_with_the_way_out_and_the_others_land(repo: Repo) -> None:
    work(repo, docs__a="b\n", key="x\n", new="n\n")
    work(repo, "v", docs__b="b\n")
    report = land_branches(repo, unit(repo), unit(repo, "v"))
    assert told(report) == [("held", "it changes key, new outside its paths", ("outside",)), ("landed", "", ())]
    assert repo.read("key") == "k\n"
    report = land_branches(repo, unit(repo), allow_outside=True)
    assert (told(report), report.notes) == ([("landed", "", ())], ("u changes key, new outside its paths",))
    assert outside_in_ledger(repo) == [
        None,
        [{"path": "key", "accepted": "--allow-outside"}, {"path": "new", "accepted": "--allow-outside"}],
    ]


def test_paths_that_are_accepted_by_name_pass(repo: Repo) -> None:
    work(repo, key="x\n", new="n\n")
    assert told(land_branches(repo, unit(repo), accept=("key",))) == [
        ("held", "it changes new outside its paths", ("outside",))
    ]
    assert states(land_branches(repo, unit(repo), accept=("key", "new"))) == {"u": "landed"}


def test_files_that_every_unit_touches_are_told(repo: Repo) -> None:
    work(repo, docs__a="b\n", yarn_dot_lock="2\n", todo_dot_md="- a\n")
    report = land_branches(repo, unit(repo))
    assert report.notes == ("u changes todo.md, yarn.lock outside its paths, as any unit may",)
    assert (states(report), json.loads(json.dumps(outside_in_ledger(repo)))) == (
        {"u": "landed"},
        [[{"path": "todo.md", "accepted": "hotspot"}, {"path": "yarn.lock", "accepted": "hotspot"}]],
    )


def test_a_dry_run_says_the_same(repo: Repo) -> None:
    work(repo, key="x\n")
    assert told(land_branches(repo, unit(repo), dry_run=True)) == [
        ("held", "it changes key outside its paths", ("outside",))
    ]


def test_what_was_moved_out_of_a_foreign_folder_and_a_mode_count(repo: Repo) -> None:
    repo.switch("u", new=True)
    repo.git("mv", "key", "docs/key")
    (repo.path / "yarn.lock").chmod(0o755)
    (repo.path / "link").symlink_to("docs")
    repo.commit("u")
    repo.switch("main")
    report = land_branches(repo, unit(repo))
    assert told(report) == [("held", "it changes key, link outside its paths", ("outside",))]


def test_what_the_target_has_already_is_nobodys_to_hold(repo: Repo) -> None:
    work(repo, docs__a="b\n", key="x\n")
    base = repo.head
    repo.commit("the same, and more", key="x\n", more="m\n")
    one = candidate(repo, "u", run="r1", unit="u", verdict="pass", fence=("docs",), base=base)
    assert states(land_branches(repo, one)) == {"u": "landed"}


def test_what_the_target_renamed_is_held_by_the_name_the_unit_knew(repo: Repo) -> None:
    repo.commit("long", key="".join(f"{number}\n" for number in range(30)))
    work(repo, key="".join(f"{number}\n" for number in range(29)) + "x\n", docs__a="b\n")
    base = repo.head
    repo.git("mv", "key", "other")
    repo.git("mv", "docs", "pages")
    repo.commit("renamed")
    one = candidate(repo, "u", run="r1", unit="u", verdict="pass", fence=("docs",), base=base)
    assert told(land_branches(repo, one)) == [("held", "it changes key outside its paths", ("outside",))]
    inside = candidate(repo, "u", run="r1", unit="u", verdict="pass", fence=("docs", "key"), base=base)
    assert states(land_branches(repo, inside)) == {"u": "landed"}


def test_commits_of_its_base_are_not_its_work(repo: Repo) -> None:
    work(repo, "feature", key="f\n")
    work(repo, "u", start="feature", docs__a="b\n")
    assert states(land_branches(repo, unit(repo, base="feature"), with_base=True)) == {"u": "landed"}


def test_a_base_that_nobody_knows_is_where_it_left_the_target(repo: Repo) -> None:
    work(repo, key="x\n")
    one = candidate(repo, "u", run="r1", unit="u", verdict="pass", fence=("docs",), base="nonsense")
    assert told(land_branches(repo, one)) == [("held", "it changes key outside its paths", ("outside",))]
