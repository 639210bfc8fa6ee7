"""``git prun reconcile``, what it keeps from landing, and results against what was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import prun
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.runs import RESULT, run_units, sh

pytestmark = pytest.mark.slow

GOOD = """
echo 1 >$PRUN_UNIT.txt
printf '# %s result\\nConclusion: done\\nFiles: %s.txt\\nOpen items: none\\nVerification: none\\n' \\
  "$PRUN_UNIT" "$PRUN_UNIT" >"$PRUN_RESULT"
"""
SILENT = "echo 1 >$PRUN_UNIT.txt; echo I forgot\n"
WRONG = "echo 1 >$PRUN_UNIT.txt; echo done >$PRUN_RESULT\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", base_dot_txt="0\n")


def traces(repo: Repo, unit: str) -> str:
    return f"{repo.path}/.git/prun/runs/r1/{unit}"


def test_a_run_whose_results_are_all_there(repo: Repo) -> None:
    run_units(repo, sh("a", GOOD), sh("b", GOOD))
    said = prun(repo.path, "reconcile")
    assert (said.code, said.out, said.err) == (
        0,
        "unit  state  result  conclusion\na     ready  valid   done\nb     ready  valid   done\n",
        "",
    )
    assert prun(repo.path, "reconcile", "r1", "--strict").code == 0


def test_units_without_a_result_are_named_with_their_folder(repo: Repo) -> None:
    run_units(repo, sh("a", GOOD), sh("b", SILENT), sh("c", WRONG), sh("d", "exit 3"), sh("e", "true", mode="read"))
    (repo.path / ".git" / "prun" / "runs" / "r1" / "e" / "result.md").unlink()
    said = prun(repo.path, "reconcile")
    assert (said.code, said.out, said.err) == (
        1,
        "unit  state   result    conclusion\n"
        "a     ready   valid     done\n"
        "b     ready   fallback  -\n"
        "c     ready   invalid   -\n"
        "d     failed  fallback  -\n"
        "e     failed  missing   -\n"
        f"r1/b: salvaged: the worker wrote no result file; see {traces(repo, 'b')}\n"
        f"r1/c: the first line is not '# c result' and 4 more; see {traces(repo, 'c')}\n"
        f"r1/d: salvaged: exit code 3; see {traces(repo, 'd')}\n"
        f"r1/e: failed without a result file: the worker wrote no result file; see {traces(repo, 'e')}\n",
        "hint: git prun run --resume r1 runs failed ones again; git prun merge UNIT lands a verified one as it is\n",
    )
    told = prun(repo.path, "reconcile", "--json").json
    assert (told["run"], told["complete"]) == ("r1", False)
    assert told["units"][1] == {
        "run": "r1",
        "unit": "b",
        "state": "ready",
        "result": "fallback",
        "reason": "salvaged: the worker wrote no result file",
        "state_dir": traces(repo, "b"),
        "fields": {},
        "claims": [],
        "outside": [],
    }


def test_a_unit_of_which_only_the_name_was_written_down_is_not_forgotten(repo: Repo) -> None:
    run_units(repo, sh("a", GOOD))
    ledger = repo.path / ".git" / "prun" / "ledger.jsonl"
    rows = ledger.read_bytes().splitlines(keepends=True)
    repo.ledger.append(payload_of("run.started", {"units": ["a", "b"], "base": repo.head}), run="r2")
    assert len(rows) > 1
    said = prun(repo.path, "reconcile", "r2", "--json")
    assert said.code == 1
    assert [(unit["unit"], unit["result"], unit["reason"]) for unit in said.json["units"]] == [
        ("a", "pending", "is still queued"),
        ("b", "pending", "is still queued"),
    ]


def test_what_a_result_says_is_held_against_what_was_found(repo: Repo) -> None:
    script = "echo 1 >a.txt; echo 2 >new.txt\n" + RESULT.replace("some", "a.txt, gone.txt")
    run_units(repo, sh("a", script.replace("Verification: none", "Verification: all tests pass")), verify=("false",))
    claims = [
        "Files: names 'gone.txt', but no such change was found",
        "Files: does not name 'new.txt', which changed",
        "Verification: says 'all tests pass', but prun's own check fails: false",
    ]
    assert prun(repo.path, "status", "--json").json["runs"][0]["units"][0]["claims"] == claims
    assert prun(repo.path, "show", "a", "--json").json["claims"] == claims
    shown = prun(repo.path, "show", "a").out
    assert "\nthe result does not agree with what was found:\n" + "".join(f"  {line}\n" for line in claims) in shown
    plain, strict = prun(repo.path, "reconcile"), prun(repo.path, "reconcile", "--strict")
    assert (plain.code, strict.code) == (0, 1)
    assert (
        plain.out
        == strict.out
        == (
            "unit  state       result  conclusion\na     unverified  valid   done\n"
            + "".join(f"r1/a: {line}\n" for line in claims)
        )
    )


def test_a_named_run_does_not_land_while_a_result_is_missing(repo: Repo) -> None:
    run_units(repo, sh("a", GOOD), sh("b", SILENT))
    before = repo.head
    said = prun(repo.path, "merge", "r1")
    assert (said.code, said.out, said.err) == (
        1,
        "",
        "warning: b of r1 has no result of its own; git prun reconcile r1 says why\n"
        "error: nothing was landed: 1 of 2 units of r1 have no result of their own\n"
        "hint: git prun run --resume r1 runs the failed ones again; units that are named land as they are\n",
    )
    assert repo.head == before
    assert prun(repo.path, "merge", "--strict").code == 1
    assert repo.head == before


def test_without_names_it_is_a_warning_and_what_is_verified_lands(repo: Repo) -> None:
    run_units(repo, sh("a", GOOD), sh("b", SILENT), sh("c", "exit 3"))
    said = prun(repo.path, "merge", "--json")
    assert [(row["unit"], row["result"]) for row in said.json["without_result"]] == [
        ("b", "fallback"),
        ("c", "fallback"),
    ]
    assert [line for line in said.err.splitlines() if "no result" in line] == [
        "warning: b, c of r1 have no results of their own; git prun reconcile r1 says why"
    ]
    assert sorted(repo.files("main")) == ["a.txt", "b.txt", "base.txt"]


def test_a_unit_that_is_named_lands_without_a_result(repo: Repo) -> None:
    run_units(repo, sh("a", SILENT))
    assert prun(repo.path, "merge", "a").code == 0
    assert sorted(repo.files("main")) == ["a.txt", "base.txt"]


def test_the_configuration_can_demand_results(repo: Repo) -> None:
    repo.commit("settings", prun_dot_toml="[run]\nrequire_results = true\n")
    run_units(repo, sh("a", GOOD), sh("b", SILENT))
    before = repo.head
    assert (prun(repo.path, "merge").code, repo.head) == (1, before)
    assert prun(repo.path, "merge", "a", "b").code == 0


def test_a_complete_run_lands_by_its_name(repo: Repo) -> None:
    run_units(repo, sh("a", GOOD), sh("b", GOOD))
    said = prun(repo.path, "merge", "r1")
    assert (said.code, "no result" in said.err) == (0, False)
    assert sorted(repo.files("main")) == ["a.txt", "b.txt", "base.txt"]


def test_a_run_nobody_knows(repo: Repo) -> None:
    assert prun(repo.path, "reconcile").err == (
        "error: nothing has been run in this repository yet\nhint: git prun run plan.toml\n"
    )
