"""Where a unit is checked, and for whom what was found counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.landing.plan import checking_options
from gitprun.landing.prove import landing_checks
from gitprun.ledger.verified_trees import read_verified
from gitprun.model.plan import Settings
from gitprun.supervisor.sandbox import find_sandbox
from gitprun.verify.surroundings import wish_for_landing
from tests.support.cli import prun
from tests.support.repos import Repo, make_repo
from tests.support.runs import run_units, sh, unit_of

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a="1\n", _dot_gitignore="gen/\n")


def test_in_the_workspace_a_check_sees_all_its_worker_left(repo: Repo) -> None:
    run_units(repo, sh("a", "mkdir gen; echo x >gen/t; echo b >b"), verify=("test -e gen/t",))
    unit = unit_of(repo, "a")
    assert (unit.state, "verify_in" in unit.as_json()) == ("ready", False)
    assert [event for event in repo.ledger.read().events if event.kind == "verify.passed"] == []


def test_in_a_pristine_place_it_sees_what_was_captured(repo: Repo) -> None:
    run_units(
        repo,
        sh("a", "mkdir gen; echo x >gen/t; echo b >b"),
        verify=("test -e b", "test -e gen/t"),
        verify_in="pristine",
    )
    unit = unit_of(repo, "a")
    assert (unit.state, unit.as_json()["verdict"]["reason"], unit.as_json()["verify_in"]) == (
        "unverified",
        "test -e gen/t: exit 1",
        "pristine",
    )


def test_that_is_a_proof_of_its_tree_for_the_same_way_only(repo: Repo) -> None:
    report = run_units(repo, sh("a", "echo b >b"), verify=("true",), verify_in="pristine")
    tree = str(unit_of(repo, "a").tree)

    def way(**settings: object) -> str:
        wish = wish_for_landing(False, None)
        options = checking_options(Settings(verify=("true",), **settings))  # type: ignore[arg-type]
        return landing_checks(options, wish, "main").way

    assert read_verified(repo.ledger, way(), reuse=0, run=report.run) == {tree}
    assert read_verified(repo.ledger, way(), reuse=60, run="") == {tree}
    assert read_verified(repo.ledger, way(), reuse=0, run="") == frozenset()
    assert read_verified(repo.ledger, way(), reuse=0, run="r9") == frozenset()
    assert read_verified(repo.ledger, way(copy=(".env",)), reuse=60, run=report.run) == frozenset()


@pytest.mark.parametrize(
    ("words", "reuse", "checks"),
    [(("run", "--merge"), "", 1), (("run",), "", 2), (("run",), 'reuse_green = "1h"', 1)],
)
def test_who_checks_again(repo: Repo, tmp_path: Path, words: tuple[str, ...], reuse: str, checks: int) -> None:
    calls = tmp_path / "calls"
    repo.commit(
        "settings",
        prun_dot_toml=f'[run]\nverify = ["echo x >>{calls}"]\nverify_in = "pristine"\n[merge]\n{reuse}\n'
        "[executor.command]\n",
        plan_dot_toml='[[unit]]\nid = "u"\nprompt = "x"\ncommand = ["sh", "-c", "echo b >b"]\n',
    )
    said = prun(repo.path, words[0], "plan.toml", *words[1:])
    assert said.code == 0, said.err
    if "--merge" not in words:
        said = prun(repo.path, "merge", "u")
        assert said.code == 0, said.err
    assert repo.read("b") == "b\n"
    assert calls.read_text() == "x\n" * checks
    assert ("verified before" in said.err) == (checks == 1)


def test_a_unit_that_asked_for_walls_is_checked_within_walls_there_too(repo: Repo, tmp_path: Path) -> None:
    out = tmp_path / "out"
    unit = sh("a", "echo b >b", sandbox="workspace-write", walled=True)
    run_units(repo, unit, verify=(f"echo x >{out}",), verify_in="pristine")
    facts = unit_of(repo, "a").as_json()
    if find_sandbox().kind is None:
        pytest.skip("no walls here")
    assert (facts["verdict"]["state"], facts["verify_in"], out.exists()) == ("fail", "pristine", False)
