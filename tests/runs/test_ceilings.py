"""A workspace that lost its .git: git there never reaches a repository around it, and that it is gone is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.git.environment import ceilings
from gitprun.verify.check import run_setup
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, sh, unit_of, workspace

LOSE = "rm -rf .git; mkdir -p sub; cd sub; git rev-parse --show-toplevel >../found.txt 2>&1 || true"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    # A repository of the user's is around everything, workspaces too.
    make_repo(tmp_path)
    return make_repo(tmp_path / "r")


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_workers_and_checks_find_no_repository_around_theirs(repo: Repo, kind: str) -> None:
    check = "! git rev-parse --show-toplevel && ! (cd sub && git log -1)"
    run_units(repo, sh("u", f"{LOSE}; cd ..; {RESULT}", workspace=kind), verify=(check,))
    unit = unit_of(repo, "u")
    assert (unit.state, unit.as_json()["changed"]) == ("ready", ["found.txt"])
    assert (workspace(repo, "r1", "u") / "found.txt").read_text().startswith("fatal: not a git repository")
    assert [text for text in unit.as_json()["collect_notes"] if text.startswith("its .git is gone, so ")] != []


def test_setup_finds_none_either(repo: Repo) -> None:
    place = repo.path.parent / "r.prun" / "w"
    place.mkdir(parents=True)
    run_setup(place, ("git rev-parse --show-toplevel >said 2>&1; true",), log=place / "log")
    assert (place / "said").read_text().startswith("fatal: not a git repository")


def test_a_unit_that_only_reads_finds_none_either(repo: Repo) -> None:
    run_units(repo, sh("u", f"! git rev-parse --show-toplevel; {RESULT}", mode="read"))
    assert unit_of(repo, "u").state == "done"


def test_both_spellings_and_the_callers_own(tmp_path: Path) -> None:
    (tmp_path / "real" / "w").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    told = ceilings({"GIT_CEILING_DIRECTORIES": f"/mine:{tmp_path}/link"}, tmp_path / "link" / "w", Path("/a:b/c"))
    rows = told["GIT_CEILING_DIRECTORIES"].split(os.pathsep)
    assert rows == [f"{tmp_path}/link", f"{tmp_path}/real", "/mine"]
