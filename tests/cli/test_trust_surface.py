"""Where a user reads what a unit changes of what starts programs: show, forecast, reconcile, merge and its hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.repos import make_repo
from tests.support.runs import RESULT, run_units, sh

PLANT = """
mkdir -p .github/workflows .husky .claude
echo 'on: push' >.github/workflows/ci.yml
echo 'touch ../ran' >.husky/post-merge; chmod +x .husky/post-merge
echo '{}' >.claude/settings.json
"""
REASON = (
    "it changes what is run here: .claude/settings.json (settings of Claude Code, with its hooks),"
    " .husky/post-merge (git runs hooks from .husky here)"
)


def test_it_is_named_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = make_repo(tmp_path / "repo", _dot_husky__x="1\n")
    repo.git("config", "core.hooksPath", ".husky")
    run_units(repo, sh("u", PLANT + RESULT), sh("plain", "echo 1 >b.txt" + RESULT))
    shown = inside(capsys, repo.path, "show", "u").out
    assert (
        """
changes what is run here:
  .claude/settings.json (settings of Claude Code, with its hooks)
  .husky/post-merge (git runs hooks from .husky here)

changes what starts programs elsewhere:
  .github/workflows/ci.yml (a workflow)
"""
        in shown
    )
    told = inside(capsys, repo.path, "show", "u", "--json").json["trust"]
    assert [(row["path"], row["grade"]) for row in told] == [
        (".claude/settings.json", "held"),
        (".github/workflows/ci.yml", "named"),
        (".husky/post-merge", "held"),
    ]
    assert inside(capsys, repo.path, "show", "plain", "--json").json["trust"] == []

    seen = inside(capsys, repo.path, "forecast", "u", "plain")
    assert seen.code == 1
    assert seen.out.splitlines()[-4:-1] == [
        "prun/r1/u changes what starts programs elsewhere: .github/workflows/ci.yml (a workflow)",
        f"prun/r1/u: held: {REASON}; --accept .claude/settings.json --accept .husky/post-merge lands it",
        "",
    ]
    [row, other] = inside(capsys, repo.path, "forecast", "u", "plain", "--json").json["branches"]
    assert (row["held"], row["accept"]) == (REASON, [".claude/settings.json", ".husky/post-merge"])
    assert (other["held"], other["accept"], other["named"]) == ("", [], "")

    looked = inside(capsys, repo.path, "reconcile").out.splitlines()
    assert [line for line in looked if "changes what" in line] == [
        f"r1/u: {REASON.removeprefix('it ')}",
        "r1/u: changes what starts programs elsewhere: .github/workflows/ci.yml (a workflow)",
    ]
    rows = inside(capsys, repo.path, "reconcile", "--json").json["units"]
    assert [("trust" in one, one["unit"]) for one in rows] == [(True, "u"), (False, "plain")]

    said = inside(capsys, repo.path, "merge", "u", "plain")
    assert said.code == 1
    assert said.out.splitlines()[2].split(maxsplit=3) == ["prun/r1/u", "held", "-", REASON]
    command = ["merge", "--accept", ".claude/settings.json", "--accept", ".husky/post-merge", "r1/u"]
    assert f"git prun {' '.join(command)}" in said.err
    assert (repo.path / "b.txt").exists()
    assert inside(capsys, repo.path, "status", "--json").json["held"][0]["next"] == f"git prun {' '.join(command)}"
    landed = inside(capsys, repo.path, *command)
    assert (landed.code, (tmp_path / "ran").exists()) == (0, False)
    note = (
        "not run, because .husky/post-merge changed: post-merge; read what they do, then run:"
        " git hook run post-merge -- 0"
    )
    assert note in landed.err + landed.out
