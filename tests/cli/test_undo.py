"""``git prun undo`` as a user calls it, from a run's landing to its redo."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.cli import prun
from tests.support.repos import Repo, make_repo
from tests.support.runs import run_units, sh, unit_of


def calm(text: str) -> str:
    """Take commits and times out of a text."""
    return re.sub(r"\b[0-9a-f]{10}\b", "COMMIT", re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", text))


def landed(path: Path) -> Repo:
    repo = make_repo(path, a="1\n")
    run_units(repo, sh("one", "echo 2 >a"), sh("two", "echo n >new"), jobs=1)
    said = prun(repo.path, "merge", "--no-verify")
    assert said.code == 0, said.err
    return repo


def test_back_and_again(tmp_path: Path) -> None:
    repo = landed(tmp_path / "r")
    top, start = repo.head, repo.oid("HEAD~2")
    said = prun(repo.path, "undo", "--dry-run")
    assert (said.code, said.out) == (0, "prun/r1/one: would be taken back\nprun/r1/two: would be taken back\n")
    assert (repo.head, unit_of(repo, "one").state) == (top, "landed")
    said = prun(repo.path, "undo")
    assert (said.code, said.out) == (0, "prun/r1/one: taken back\nprun/r1/two: taken back\n")
    assert said.err == (
        f"main is now at {start[:10]} (was {top[:10]})\nhint: git prun merge r1/one r1/two lands it again\n"
    )
    assert (repo.head, repo.status()) == (start, [])
    assert [unit_of(repo, name).state for name in ("one", "two")] == ["ready", "ready"]
    assert prun(repo.path, "merge", "--no-verify", "r1/one", "r1/two").code == 0
    assert repo.files() == {"a": "2", "new": "n"}
    assert [unit_of(repo, name).state for name in ("one", "two")] == ["landed", "landed"]
    said = prun(repo.path, "undo", "--list")
    assert calm(said.out).splitlines() == [
        "landing  when      on    commit      branch       now",
        "2        TIME  main  COMMIT  prun/r1/one  landed",
        "                         COMMIT  prun/r1/two  landed",
        "1        TIME  main  COMMIT  prun/r1/one  taken back",
        "                         COMMIT  prun/r1/two  taken back",
    ]


def test_reverted_is_not_merged_by_accident(tmp_path: Path) -> None:
    repo = landed(tmp_path / "r")
    merge = repo.oid("HEAD^")
    repo.commit("later", other="x\n")
    said = prun(repo.path, "undo", "one")
    by = repo.head
    assert (said.code, said.out) == (0, f"prun/r1/one: reverted by {by[:10]}\n")
    assert said.err.splitlines()[1:] == [
        "hint: git prun undo --redo 1 brings it back; a merge of the same commits would not"
    ]
    assert unit_of(repo, "one").state == "landed"
    assert f"reverted by {by[:10]}" in prun(repo.path, "status").out
    said = prun(repo.path, "merge", "--no-verify", "one")
    assert said.code == 1
    took = f"main had it: {by[:10]} took {merge[:10]} back, so that a would stay away"
    assert f"{took}; git prun undo --redo {by[:10]} brings it back\n" in said.out
    assert repo.head == by
    assert prun(repo.path, "undo", by[:10]).out == f"prun/r1/one: brought back by {repo.head[:10]}\n"
    assert repo.files() == {"a": "2", "new": "n", "other": "x"}
    assert prun(repo.path, "merge", "--no-verify", "one").code == 0


def test_what_is_brought_back_has_to_be_green(tmp_path: Path) -> None:
    repo = landed(tmp_path / "r")
    repo.commit("later", prun_dot_toml='run.verify = ["! test -e new"]\n')
    assert prun(repo.path, "undo", "two").code == 0
    by = repo.head
    for words in (("--redo",), (by[:10],)):
        said = prun(repo.path, "undo", *words)
        assert (said.code, said.err) == (
            1,
            "error: main with what is brought back is red: ! test -e new: exit 1; nothing was changed\n"
            "hint: git prun undo --redo --no-verify brings it back unchecked\n",
        )
        assert (repo.head, repo.status()) == (by, [])
    assert prun(repo.path, "undo", "--redo", "--verify", "test -e new").code == 0
    assert repo.read("new") == "n\n"


def test_json_and_refusals(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", a="1\n")
    said = prun(repo.path, "undo")
    assert (said.code, said.err) == (
        128,
        "error: nothing has landed through git prun here\nhint: git prun merge lands branches\n",
    )
    assert prun(repo.path, "undo", "--list").err == "nothing has landed through git prun here\n"
    assert prun(repo.path, "undo", "--list", "--json").json == {
        "schema": "gitprun.landings/1",
        "landings": [],
        "drifts": [],
    }
    assert prun(repo.path, "undo", "--list", "1").code == 129
    repo.switch("topic", new=True)
    tip = repo.commit("topic", a="2\n")
    repo.switch("main")
    start = repo.head
    assert prun(repo.path, "merge", "--no-verify", "topic").code == 0
    top = repo.head
    (landing,) = prun(repo.path, "undo", "--list", "--json").json["landings"]
    assert landing.pop("time") > 0
    assert landing == {
        "number": 1,
        "target": "refs/heads/main",
        "old": start,
        "new": top,
        "merges": [{"branch": "topic", "commit": top, "tip": tip, "run": "", "unit": "", "undone": "", "by": ""}],
        "after": "",
    }
    repo.write("a", "human\n")
    said = prun(repo.path, "undo", "--json")
    assert (said.code, said.json["error"]) == (1, "uncommitted changes are in the way: a; nothing was changed")
    assert said.err.startswith("error: uncommitted changes are in the way: a; nothing was changed\n")
    repo.git("checkout", "-q", "a")
    assert prun(repo.path, "undo", "--json").json == {
        "schema": "gitprun.undo/1",
        "landing": 1,
        "target": "refs/heads/main",
        "old": top,
        "new": start,
        "way": "moved",
        "items": [{"branch": "topic", "commit": top, "run": "", "unit": "", "by": ""}],
        "notes": [],
        "dry_run": False,
    }
