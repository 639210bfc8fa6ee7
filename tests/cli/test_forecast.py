"""``git prun forecast`` as a user calls it: its grid, its JSON, its exit codes."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import prun
from tests.support.repos import Repo, make_repo
from tests.support.scene import open_scene


def branches(path: Path, **files: dict[str, str]) -> Repo:
    repo = make_repo(path, f="1\n", g="1\n", _dot_gitignore="a\nz\n")
    for name, changed in files.items():
        repo.switch(name, new=True, start="main")
        repo.commit(name, **changed)
    repo.switch("main")
    return repo


def test_a_grid(tmp_path: Path) -> None:
    repo = branches(
        tmp_path / "r",
        a={"f": "2\n"},
        b={"f": "3\n"},
        c={"_dot_gitignore": "a\nb\nz\n"},
        d={"_dot_gitignore": "a\nc\nz\n"},
        e={"new\x1b": "x\n"},
    )
    said = prun(repo.path, "forecast", "a", "b", "c", "d", "e")
    settled = [line for line in said.out.splitlines() if ".gitignore: settled by " in line]
    assert len(settled) == 1
    assert said.out.replace(settled[0], "SETTLED").splitlines() == [
        "5 branches into main: 10 pairs, 8 with nothing in common, 2 merged to see: 1 conflict, 1 settled",
        "",
        "   branch  paths  target  1  2  3  4  5",
        "1  a       1      .       -  X  .  .  .",
        "2  b       1      .       X  -  .  .  .",
        "3  c       1      .       .  .  -  r  .",
        "4  d       1      .       .  .  r  -  .",
        "5  e       1      .       .  .  .  .  -",
        "",
        ". nothing in common   + both changed a file, merges   r settled by a resolver   ? suspect   X conflict",
        "",
        "a and b: conflict",
        *[line for line in said.out.splitlines() if line.startswith("  f: contents: Merge conflict in f: ")],
        "c and d: settled",
        "SETTLED",
        "",
        "order: c, d, e, a, b",
    ]
    assert (said.code, said.err) == (1, "")


def test_json_and_exit_codes(tmp_path: Path) -> None:
    repo = branches(tmp_path / "r", a={"f": "2\n"}, b={"g": "2\n"})
    said = prun(repo.path, "forecast", "--all-branches", "--json")
    assert (said.code, said.err) == (0, "")
    assert said.json == {
        "schema": "gitprun.forecast/1",
        "target": "refs/heads/main",
        "tip": repo.head,
        "branches": [
            {
                "name": name,
                "tip": repo.oid(name),
                "run": "",
                "unit": "",
                "live": False,
                "paths": 1,
                "gate": "",
                "named": "",
                "suspect": "",
                "refused": "",
                "held": "",
                "accept": [],
            }
            for name in "ab"
        ],
        "pairs": [],
        "against": [],
        "order": ["a", "b"],
        "left_out": [],
        "counts": {"pairs": 1, "compared": 0, "pruned": 1, "suspect": 0, "conflict": 0, "settled": 0, "clean": 0},
    }
    repo.commit("main", f="3\n")
    said = prun(repo.path, "forecast", "a", "b")
    assert said.code == 1
    assert said.out.splitlines()[0] == (
        "2 branches into main: 1 pair, 1 with nothing in common, 0 merged to see; 1 against main itself"
    )
    assert said.out.splitlines()[3] == "1  a       1      X       -  ."
    assert prun(repo.path, "forecast", "--all-branches", "a").code == 129
    said = prun(repo.path, "forecast", "nothing")
    assert (said.code, said.err.splitlines()[0]) == (128, "error: 'nothing' is no unit, no run and no branch")


def test_without_names_the_last_run(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "empty")
    said = prun(repo.path, "forecast")
    assert (said.code, said.err.splitlines()[0]) == (128, "error: nothing has been run in this repository yet")
    with open_scene(tmp_path, f="1\n") as scene:
        for name in ("one", "two"):
            scene.start(name).work.write("f", f"{name}\n")
        scene.start("idle")
        scene.finish("one")
        said = prun(scene.repo.path, "forecast")
        assert said.err == "left out: r1/idle: running: it has changed nothing yet\n"
        assert said.out.splitlines()[:6] == [
            "2 branches into main: 1 pair, 0 with nothing in common, 1 merged to see: 1 conflict",
            "",
            "   branch              paths  target  1  2",
            "1  prun/r1/one         1      .       -  X",
            "2  prun/r1/two (live)  1      .       X  -",
            "",
        ]
        assert said.code == 1


def test_many_branches_are_listed_by_pair(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", f="1\n")
    for number in range(21):
        repo.switch(f"b{number:02}", new=True, start="main")
        repo.commit(f"{number}", **({"f": f"{number}\n"} if number in (3, 7) else {f"n{number}": "x\n"}))
    repo.switch("main")
    said = prun(repo.path, "forecast", "--all-branches")
    lines = said.out.splitlines()
    assert lines[:3] == [
        "21 branches into main: 210 pairs, 209 with nothing in common, 1 merged to see: 1 conflict",
        "",
        "b03 and b07: conflict",
    ]
    assert lines[3].startswith("  f: contents: Merge conflict in f: ")
    free = [f"b{n:02}" for n in range(21) if n not in (3, 7)]
    assert lines[4:] == ["", f"order: {', '.join([*free, 'b03', 'b07'])}"]


def test_into_takes_any_commit(tmp_path: Path) -> None:
    repo = branches(tmp_path / "r", a={"f": "2\n"})
    repo.git("tag", "v1", "main")
    repo.commit("rewrite", f="3\n")
    for into, state in {"main": "conflict", "v1": ".", "main~1": ".", repo.oid("v1"): ".", "HEAD": "conflict"}.items():
        said = prun(repo.path, "forecast", "--into", into, "a")
        assert said.out.splitlines()[0].startswith(f"1 branch into {into}: "), said.err
        assert said.code == (1 if state == "conflict" else 0), said.out
    said = prun(repo.path, "forecast", "--into", "gone", "a")
    assert (said.code, said.err.splitlines()[0]) == (128, "error: 'gone' names no commit here")


def test_work_of_others_that_a_branch_takes_back_and_its_own_that_was_taken_out(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", s="1\n")
    repo.branch("stale")
    main = repo.commit("meanwhile", s="2\n")
    repo.switch("stale")
    repo.commit("more", mine="m\n")
    repo.git("reset", "-q", "--soft", "main")
    repo.git("commit", "-q", "-m", "stale")
    repo.switch("half", new=True, start="main")
    repo.commit("one", one="1\n")
    repo.switch("main")
    assert prun(repo.path, "merge", "--no-verify", "half").code == 0
    merge = repo.head
    repo.commit("later", later="l\n")
    assert prun(repo.path, "undo", "half").code == 0
    by = repo.head
    repo.switch("half")
    repo.commit("two", two="2\n")
    repo.switch("main")
    said = prun(repo.path, "forecast", "stale", "half")
    taken = f"s: the branch takes back what {main[:10]} did here, and no commit of it says so"
    gone = f"main had it: {by[:10]} took {merge[:10]} back, so that one would stay away"
    assert said.code == 1
    assert said.out.splitlines()[-4:-2] == [
        f"stale: suspect: {taken}",
        f"half: refused: {gone}; git prun undo --redo {by[:10]} brings it back",
    ]
    # The landing says the same.
    landing = prun(repo.path, "merge", "--no-verify", "stale", "half", "--dry-run").out
    assert (taken in landing, gone in landing) == (True, True)
