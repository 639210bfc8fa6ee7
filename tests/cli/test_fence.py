"""A unit that left its paths, as a user is told: by forecast, reconcile, merge; and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, sh

LEFT = "echo x >>key.txt; echo y >>docs/a.txt; echo 1 >yarn.lock\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", docs__a_dot_txt="a\n", key_dot_txt="k\n")


def test_forecast_reconcile_and_merge_say_it(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("stray", LEFT + RESULT, paths=("docs/**",)), sh("good", "echo g >g\n" + RESULT))
    said = inside(capsys, repo.path, "forecast")
    held = "prun/r1/stray: held: it changes key.txt outside its paths; --allow-outside lands it"
    assert (said.code, held in said.out.splitlines()) == (1, True)
    said = inside(capsys, repo.path, "reconcile")
    told = [line for line in said.out.splitlines() if "outside" in line]
    assert (said.code, told) == (0, ["r1/stray: changes key.txt, yarn.lock outside its paths"])
    assert inside(capsys, repo.path, "reconcile", "--strict").code == 1
    said = inside(capsys, repo.path, "merge", "--no-verify")
    assert said.code == 1
    assert sorted(line.split()[:2] for line in said.out.splitlines()[1:]) == [
        ["prun/r1/good", "landed"],
        ["prun/r1/stray", "held"],
    ]
    assert said.err.splitlines()[1:-1] == ["hint: git prun merge --allow-outside r1/stray lands it as it is"]
    assert "git prun merge --allow-outside r1/stray" in inside(capsys, repo.path, "status").out
    said = inside(capsys, repo.path, "merge", "--no-verify", "--allow-outside", "r1/stray")
    assert said.code == 0
    assert said.err.splitlines()[1:-1] == [
        "warning: prun/r1/stray changes key.txt outside its paths",
        "warning: prun/r1/stray changes yarn.lock outside its paths (it may be of every unit)",
    ]
    assert repo.read("key.txt") == "k\nx\n"


def test_an_edit_of_the_checkout_is_told_before_anything_lands(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("u", "echo d >>docs/a.txt; echo leak >>$PRUN_REPO/key.txt", paths=("docs",)))
    said = inside(capsys, repo.path, "merge", "--no-verify", "u")
    warning = "while r1 ran, key.txt changed in your checkout: if that was not you, a worker left its place"
    assert said.err.splitlines()[:2] == [f"warning: {warning}", "merging 1 branch into main"]
    run_units(repo, sh("v", "echo d >>docs/a.txt; echo leak >>$PRUN_REPO/key.txt", paths=("docs",)))
    said = inside(capsys, repo.path, "merge", "--no-verify", "--json", "v")
    assert said.json["notes"] == [warning.replace("r1", "r2")]


def test_a_resolved_conflict_of_a_unit_that_left_its_paths(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("u", "echo u >docs/a.txt; echo x >>key.txt", paths=("docs",)))
    repo.commit("main", docs__a_dot_txt="m\n")
    assert inside(capsys, repo.path, "merge", "--no-verify", "u").code == 1
    assert inside(capsys, repo.path, "resolve", "u", "--take", "docs/a.txt=unit").code == 0
    said = inside(capsys, repo.path, "resolve", "u", "--continue", "--no-verify", "--take", "docs/a.txt=unit")
    assert (said.code, "it changes key.txt outside its paths" in said.out) == (1, True)
    said = inside(capsys, repo.path, "merge", "--no-verify", "--allow-outside", "u")
    assert said.code == 0
    assert (repo.read("docs/a.txt"), repo.read("key.txt")) == ("u\n", "k\nx\n")
