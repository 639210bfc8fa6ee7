"""The demo plays the whole loop and leaves what it says it leaves."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import prun
from tests.support.repos import Repo


def test_demo_unites_one_file_and_sets_one_branch_aside(tmp_path: Path) -> None:
    said = prun(tmp_path, "demo", "--dir", str(tmp_path / "d"))
    assert said.code == 0, said.out + said.err
    repo = Repo(tmp_path / "d" / "greetings")
    status = prun(repo.path, "status", "--json").json["runs"][0]
    states = {unit["id"]: unit["state"] for unit in status["units"]}
    aside = next(name for name in ("polite", "casual") if states[name] == "ready")
    assert sorted(states.values()) == ["landed", "landed", "landed", "ready"]
    todo = repo.read("todo.md").splitlines()
    assert (todo[:3], sorted(todo[3:])) == (["# To do", "", "- [x] say hello"], ["- [x] say goodbye", "- [x] shout"])
    assert len(repo.git("log", "--merges", "--oneline").splitlines()) == 3
    assert f"prun/r1/{aside}: conflict in say_hello.py: contents" in said.out
    assert "todo.md united (lines)" in said.out
    assert "scripted stand-in" in said.out
    assert repo.status() == []
    again = prun(repo.path, "merge", "--dry-run")
    assert (again.code, repo.oid(f"refs/prun/r1/{aside}^") == repo.oid("refs/prun/base/r1")) == (1, True)


def test_demo_does_not_write_over_anything(tmp_path: Path) -> None:
    (tmp_path / "greetings").mkdir()
    said = prun(tmp_path, "demo", "--dir", str(tmp_path))
    assert (said.code, said.out) == (128, "")
    assert said.err == (
        f"error: {tmp_path}/greetings is already there\nhint: choose another folder: git prun demo --dir FOLDER\n"
    )
