"""What git's rerere remembers is taken where git would take it, and named elsewhere; its names are git's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitprun.judging.rerere import HINT, normalise, read_rerere
from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

BOTH = "top\nmode = fast and safe\nend\n"
_LINES = st.lists(st.sampled_from(["a\n", "b\n", "same\n", "x = 1\n", "<<<<<<\n", "\n"]), max_size=5)


def solved_before(path: Path, **config: str) -> Repo:
    """Make a conflict between main and topic that was resolved by hand once, and taken back."""
    repo = make_repo(path, f_dot_txt="top\nmode = old\nend\n")
    for key, value in {"rerere__enabled": "true", **config}.items():
        repo.git("config", key.replace("__", "."), value)
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_txt="top\nmode = fast\nend\n")
    repo.switch("main")
    repo.commit("main", f_dot_txt="top\nmode = safe\nend\n")
    repo.git("merge", "-q", "topic", ok=(1,))
    repo.commit("by hand", f_dot_txt=BOTH)
    repo.git("reset", "-q", "--hard", "HEAD~1")
    return repo


def test_the_users_own_answer_lands_where_git_takes_it_unasked(tmp_path: Path) -> None:
    repo = solved_before(tmp_path / "repo", rerere__autoUpdate="true")
    cache = {path.name: path.read_bytes() for path in (repo.path / ".git/rr-cache").rglob("*image*")}
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert [(one.path, one.resolver) for one in report.items[0].resolved] == [("f.txt", "rerere")]
    assert repo.read("f.txt") == BOTH
    assert {path.name: path.read_bytes() for path in (repo.path / ".git/rr-cache").rglob("*image*")} == cache


def test_it_fits_although_the_rest_of_the_file_went_on(tmp_path: Path) -> None:
    repo = solved_before(tmp_path / "repo", rerere__autoUpdate="true")
    repo.commit("above", f_dot_txt="new\ntop\nmode = safe\nend\n")
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    assert repo.read("f.txt") == f"new\n{BOTH}"


@pytest.mark.parametrize("style", ["merge", "zdiff3"])
def test_elsewhere_it_is_named(tmp_path: Path, style: str) -> None:
    repo = solved_before(tmp_path / "repo", merge__conflictStyle=style)
    report = land_branches(repo, "topic")
    [conflict] = report.items[0].conflicts
    assert states(report) == {"topic": "conflict"}
    assert conflict.reason.endswith(f"; {HINT}")
    assert landing_events(repo) == []
    seen = forecast(repo.repository, repo.ledger.read().history, Asked(names=("topic",)))
    [meeting] = seen.against
    assert [row.reasons[0].endswith(HINT) for row in meeting.paths] == [True]


def test_switched_off_or_for_another_conflict_it_says_nothing(tmp_path: Path) -> None:
    repo = solved_before(tmp_path / "repo")
    repo.git("config", "rerere.enabled", "false")
    assert read_rerere(repo.repository.git, repo.path / ".git") is None
    repo.git("config", "--unset", "rerere.enabled")
    known = read_rerere(repo.repository.git, repo.path / ".git")
    assert known is not None
    assert not known.update
    repo.commit("other", f_dot_txt="top\nmode = slow\nend\n")
    [conflict] = land_branches(repo, "topic").items[0].conflicts
    assert "rerere" not in conflict.reason


def test_where_workers_share_the_folder_it_is_only_named(tmp_path: Path) -> None:
    repo = solved_before(tmp_path / "repo", rerere__autoUpdate="true")
    repo.repository.trusted.mkdir(parents=True)
    [conflict] = land_branches(repo, "topic").items[0].conflicts
    assert conflict.reason.endswith(HINT)


def test_a_folder_without_an_answer_and_one_that_is_no_folder(tmp_path: Path) -> None:
    repo = solved_before(tmp_path / "repo", rerere__autoUpdate="true")
    [answer] = (repo.path / ".git/rr-cache").rglob("postimage")
    answer.unlink()
    answer.mkdir()
    assert states(land_branches(repo, "topic")) == {"topic": "conflict"}


@given(_LINES, _LINES, _LINES, st.booleans())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_its_names_are_those_of_git(
    tmp_path_factory: pytest.TempPathFactory, base: list[str], main: list[str], unit: list[str], based: bool
) -> None:
    repo = make_repo(tmp_path_factory.mktemp("names"), f_dot_txt="".join(["first\n", *base, "last\n"]))
    repo.git("config", "rerere.enabled", "true")
    repo.git("config", "merge.conflictStyle", "diff3" if based else "merge")
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_txt="".join(["first\n", *unit, "last\n"]))
    repo.switch("main")
    repo.commit("main", f_dot_txt="".join(["first\n", *main, "last\n"]))
    repo.git("merge", "-q", "topic", ok=(0, 1))
    cache = repo.path / ".git/rr-cache"
    found = {each.name: (each / "preimage").read_bytes() for each in cache.iterdir()} if cache.is_dir() else {}
    normal = normalise(repo.read("f.txt").encode())
    assert ({normal[0]: normal[1]} if normal is not None else {}) == found


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"plain\n",
        b"<<<<<<< a\none\n",
        b"<<<<<<< a\none\n=======\ntwo\n=======\n>>>>>>> b\n",
        b"<<<<<<< a\n>>>>>>> b\n",
        b"<<<<<<< a\n" * 5000,
        b"<<<<<<< a\n|||||||\n|||||||\n=======\n>>>>>>> b\n",
    ],
)
def test_what_is_no_whole_conflict_has_no_name(text: bytes) -> None:
    assert normalise(text) is None
