"""The demo plays the whole loop and leaves what it says it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import prun
from tests.support.repos import Repo


@pytest.mark.slow
def test_demo_shows_what_lands_what_is_set_aside_and_an_undo(tmp_path: Path) -> None:
    said = prun(tmp_path, "demo", "--dir", str(tmp_path / "d"))
    assert said.code == 0, said.out + said.err
    repo = Repo(tmp_path / "d" / "greetings")
    status = prun(repo.path, "status", "--json").json["runs"][0]
    states = {unit["id"]: unit["state"] for unit in status["units"]}
    pairs = (("polite", "casual"), ("brief", "chatty"), ("rename", "twice"))
    first, second, third = (next(name for name in pair if states[name] == "ready") for pair in pairs)
    assert sorted(states.values()) == ["landed"] * 5 + ["ready"] * 3
    todo = repo.read("todo.md").splitlines()
    assert (todo[:3], sorted(todo[3:])) == (["# To do", "", "- [x] say hello"], ["- [x] say goodbye", "- [x] shout"])
    assert len(repo.git("log", "--merges", "--oneline").splitlines()) == 5
    landings = prun(repo.path, "undo", "--list", "--json").json["landings"]
    assert [[merge["undone"] for merge in landing["merges"]] for landing in landings] == [["moved"] * 5, [""] * 5]
    # Each of these stands in both landings.
    assert said.out.count(f"prun/r1/{first}: conflict in say_hello.py: contents") == 2
    assert said.out.count("todo.md united (") == 2
    assert said.out.count(f'prun/r1/{second}: look at settings.json: the key "limit" is there twice') == 2
    assert said.out.count("it is green by itself, red together with prun/r1/") == 2
    assert f"are green alone and red together: twice calls the name that rename took away: {third} waits" in said.out
    assert said.out.count(": taken back\n") == 5
    assert "scripted stand-in" in said.out
    assert repo.status() == []
    again = prun(repo.path, "merge", "--dry-run")
    assert (again.code, repo.oid(f"refs/prun/r1/{first}^") == repo.oid("refs/prun/base/r1")) == (1, True)


def test_demo_does_not_write_over_anything(tmp_path: Path) -> None:
    (tmp_path / "greetings").mkdir()
    said = prun(tmp_path, "demo", "--dir", str(tmp_path))
    assert (said.code, said.out) == (128, "")
    assert said.err == (
        f"error: {tmp_path}/greetings is already there\nhint: choose another folder: git prun demo --dir FOLDER\n"
    )
