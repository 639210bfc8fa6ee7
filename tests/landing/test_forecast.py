"""A forecast names every pair that cannot land together, and leaves no trace."""

from __future__ import annotations

import os
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from gitprun.git.batch import merge_many
from gitprun.git.trees import TreeMerge, read_changes
from gitprun.judging.hotspots import Hotspot
from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from gitprun.landing.forecast_plan import Forecast, Meeting
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid
from tests.support.repos import Repo, make_repo
from tests.support.scene import open_scene
from tests.support.workshop import fingerprint

LINES = "".join(f"line {number}\n" for number in range(1, 21))


def look(repo: Repo, *names: str, **asked: Any) -> Forecast:
    """Forecast the named branches, or every one; the repository must be as before."""
    before = fingerprint(repo.path)
    seen = forecast(
        repo.repository, repo.ledger.read().history, Asked(names=names, every=asked.pop("every", not names), **asked)
    )
    assert fingerprint(repo.path) == before
    return seen


def branch(repo: Repo, name: str, start: str = "main", **files: str | None) -> Oid:
    """Make a branch with one commit; None deletes a file."""
    repo.switch(name, new=True, start=start)
    for path in [path for path, content in files.items() if content is None]:
        repo.git("rm", "-q", path.replace("__", "/").replace("_dot_", "."))
    tip = repo.commit(name, **{path: content for path, content in files.items() if content is not None})
    repo.switch("main")
    return tip


def short(meetings: tuple[Meeting, ...]) -> dict[tuple[str, str], tuple[object, ...]]:
    """Give the state of each meeting, and its paths with who settles them."""
    return {(m.one, m.other): (m.state, *((row.path, row.resolver) for row in m.paths)) for m in meetings}


def changed(*lines: int, by: str) -> str:
    return "".join(f"line {n} by {by}\n" if n in lines else f"line {n}\n" for n in range(1, 21))


def test_conflict_clean_and_disjoint(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", f=LINES, g="1\n")
    branch(repo, "a", f=changed(2, by="a"))
    branch(repo, "b", f=changed(2, by="b"), h="new\n")
    branch(repo, "c", f=changed(18, by="c"))
    branch(repo, "d", g="2\n")
    seen = look(repo)
    assert short(seen.meetings) == {
        ("a", "b"): ("conflict", ("f", "")),
        ("a", "c"): ("clean",),
        ("b", "c"): ("clean",),
    }
    assert seen.against == ()
    assert seen.order == ("c", "d", "a", "b")
    assert [(one.name, one.paths) for one in seen.branches] == [("a", 1), ("b", 2), ("c", 1), ("d", 1)]
    (row,) = seen.meetings[0].paths
    assert (row.kind, row.detail) == ("contents", "CONFLICT (content): Merge conflict in f")
    assert row.reasons


def test_a_resolver_a_policy_a_record(tmp_path: Path) -> None:
    from gitprun.judging.recorded_resolutions import keep_resolution

    repo = make_repo(tmp_path / "r", _dot_gitignore="a\nz\n", f="1\n", g="1\n")
    branch(repo, "a", _dot_gitignore="a\nb\nz\n", f="2\n")
    branch(repo, "b", _dot_gitignore="a\nc\nz\n", f="3\n")
    branch(repo, "c", g="2\n")
    branch(repo, "d", g="3\n")
    assert short(look(repo).meetings)["a", "b"][0] == "conflict"
    seen = look(repo, hotspots=(Hotspot("f", "ours"),))
    (met, other) = seen.meetings
    assert (met.state, [row.path for row in met.paths], other.state) == ("settled", [".gitignore", "f"], "conflict")
    assert all(row.resolver for row in met.paths)
    assert (met.paths[1].dropped, other.paths[0].reasons != ()) == (1, True)
    base, main, unit = (repo.oid(f"{name}:g") for name in ("main", "c", "d"))
    keep_resolution(repo.repository.state, base, main, unit, b"4\n")
    assert short(look(repo).meetings)["c", "d"] == ("settled", ("g", "recorded"))


def test_a_merge_that_git_makes_and_that_is_wrong(tmp_path: Path) -> None:
    inner = "".join(f'  "k{number}": {number},\n' for number in range(20))
    repo = make_repo(tmp_path / "r", x_dot_json="{\n" + inner + '  "last": 0\n}\n')
    branch(repo, "a", x_dot_json='{\n  "twin": 1,\n' + inner + '  "last": 0\n}\n')
    branch(repo, "b", x_dot_json="{\n" + inner + '  "last": 0,\n  "twin": 2\n}\n')
    seen = look(repo)
    assert short(seen.meetings) == {("a", "b"): ("suspect", ("x.json", ""))}
    assert seen.bad == seen.meetings
    assert "twin" in seen.meetings[0].paths[0].reasons[0]


def test_deletions_renames_and_folders(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", d__x=LINES, d__y=LINES + "y\n", p="p\n", q="q\n")
    repo.switch("moves", new=True)
    repo.git("mv", "d", "e")
    repo.commit("moves")
    repo.switch("main")
    branch(repo, "adds", d__z="z\n")
    branch(repo, "edits", d__x=changed(2, by="edits"))
    branch(repo, "drops", p=None)
    branch(repo, "keeps", p="P\n")
    branch(repo, "far", q="Q\n")
    seen = short(look(repo).meetings)
    assert seen == {
        ("adds", "moves"): ("conflict", ("d/z", ""), ("e/z", "")),
        ("drops", "keeps"): ("conflict", ("p", "")),
        ("edits", "moves"): ("clean",),
    }


def test_two_migrations_in_one_folder_meet(tmp_path: Path) -> None:
    migration = (
        "from django.db import migrations\n\n\nclass Migration(migrations.Migration):\n    dependencies = [{}]\n"
    )
    repo = make_repo(tmp_path / "r")
    repo.commit("first", app__migrations__0001_one_dot_py=migration.format(""))
    for name in ("a", "b"):
        branch(repo, name, **{f"app__migrations__0002_{name}_dot_py": migration.format('("app", "0001_one")')})
    branch(repo, "c", app__other_dot_py="x = 1\n")
    (met,) = look(repo).meetings
    assert (met.one, met.other, met.state) == ("a", "b", "suspect")
    assert "0002_a" in met.paths[0].reasons[0]


def test_odd_names(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    odd = b"d\xff/\n\x1b"
    for name, text in (("a", "2\n"), ("b", "3\n")):
        repo.switch(name, new=True, start="main")
        place = repo.path / os.fsdecode(odd)
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
        repo.commit(name)
    repo.switch("main")
    assert short(look(repo).meetings) == {("a", "b"): ("conflict", ("d\\xff/\\n\\x1b", ""))}


def test_against_the_target(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", f="1\n", g="1\n")
    branch(repo, "a", f="2\n")
    branch(repo, "b", g="2\n")
    repo.commit("main goes on", f="3\n")
    branch(repo, "late", g="3\n")
    branch(repo, "in", start="main~1")
    branch(repo, "again", start="a")
    repo.git("branch", "-f", "in", "main~1")
    repo.git("branch", "-f", "again", "a")
    seen = look(repo)
    assert short(seen.against) == {("a", "main"): ("conflict", ("f", ""))}
    assert short(seen.meetings) == {("b", "late"): ("conflict", ("g", ""))}
    assert seen.left_out == (("again", "the same commit as a"), ("in", "main has its commits"))
    assert seen.order == ("a", "b", "late")
    assert short(look(repo, into="late").against) == {
        ("a", "late"): ("conflict", ("f", "")),
        ("b", "late"): ("conflict", ("g", "")),
    }


def test_stacked_tangled_and_unrelated(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", f="1\n", g="1\n")
    branch(repo, "a", f="2\n")
    branch(repo, "on-a", start="a", f="3\n")
    branch(repo, "beside", start="a", f="4\n")
    repo.commit("main goes on", g="2\n")
    repo.switch("merged", new=True, start="a")
    repo.git("merge", "-q", "--no-edit", "main")
    repo.commit("after", g="3\n")
    repo.git("checkout", "-q", "--orphan", "lone")
    repo.commit("lone")
    repo.switch("main")
    seen = look(repo, "a", "on-a", "beside", "merged", "lone")
    lone = ("conflict", ("", ""))
    assert short(seen.meetings) == {
        ("on-a", "beside"): ("conflict", ("f", "")),
        ("on-a", "merged"): ("clean",),
        ("beside", "merged"): ("clean",),
        **{(name, "lone"): lone for name in ("a", "on-a", "beside", "merged")},
    }
    assert short(seen.against) == {("lone", "main"): lone}
    assert seen.against[0].paths[0].detail == "refusing to merge unrelated histories"


def test_criss_cross_is_left_to_git(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", _dot_gitignore="a\nz\n")
    branch(repo, "a", _dot_gitignore="a\nb\nz\n")
    branch(repo, "b", other="x\n")
    for name, other in (("x", "b"), ("y", "a")):
        repo.switch(name, new=True, start="a" if name == "x" else "b")
        repo.git("merge", "-q", "--no-edit", other)
        repo.commit(name, _dot_gitignore=f"a\nb\n{name}\nz\n")
    repo.switch("main")
    (met,) = look(repo, "x", "y").meetings
    assert [(row.path, row.reasons) for row in met.paths] == [
        (".gitignore", ("not tried: the histories have several merge bases",))
    ]


def test_a_live_unit_counts_as_it_is_now(tmp_path: Path) -> None:
    with open_scene(tmp_path, f=LINES, g="1\n") as scene:
        one, two = scene.start("one"), scene.start("two")
        scene.start("idle")
        scene.add("waits")
        scene.note("unit.queued", "later", spec={}, executor="codex")
        one.work.write("f", changed(2, by="one"))
        one.work.git("add", "f")
        one.work.write("node_modules/x.js", "no work\n")
        two.work.write("f", changed(2, by="two"))
        (two.path / "g").unlink()
        done = scene.start("done")
        done.work.write("g", "2\n")
        done.work.write("new", "2\n")
        scene.finish("done")
        places = [scene.units[name].path for name in ("one", "two", "idle")]
        before = [fingerprint(place) for place in places]
        seen = look(scene.repo, every=False)
        assert [fingerprint(place) for place in places] == before
        assert [(one.name, one.live, one.paths) for one in seen.branches] == [
            ("prun/r1/done", False, 2),
            ("prun/r1/one", True, 1),
            ("prun/r1/two", True, 2),
        ]
        assert short(seen.meetings) == {
            ("prun/r1/one", "prun/r1/two"): ("conflict", ("f", "")),
            ("prun/r1/done", "prun/r1/two"): ("conflict", ("g", "")),
        }
        assert seen.left_out == (
            ("r1/idle", "running: it has changed nothing yet"),
            ("r1/waits", "preparing: it has changed nothing yet"),
            ("r1/later", "queued: it has no workspace"),
        )


def test_a_live_unit_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with open_scene(tmp_path, f="1\n") as scene:
        trap, gone = scene.start("trap"), scene.start("gone")
        os.mkfifo(trap.path / ".gitignore")
        gone.path.rename(tmp_path / "elsewhere")
        seen = look(scene.repo, "trap", "gone")
        assert seen.left_out == (
            ("r1/trap", "running: git would wait for .gitignore in its workspace"),
            ("r1/gone", "running: its workspace is not there"),
        )
        assert seen.branches == ()


def test_no_branch_to_land_on(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", f="1\n")
    branch(repo, "a", f="2\n")
    repo.git("checkout", "-q", "--detach")
    with pytest.raises(PrunError, match="HEAD is detached"):
        look(repo)
    assert look(repo, into="main").order == ("a",)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_not_merged_is_the_sum_of_both(tmp_path: Path, seed: int) -> None:
    """Branches that edit, add, delete and move at random: git merges every pruned pair to just both changes."""
    dice = random.Random(seed)
    names = [f"{a}/{b}/{c}" for a in "pq" for b in "rs" for c in "tu"] + ["v", "w"]
    repo = make_repo(tmp_path / "r")
    repo.commit("files", **{name.replace("/", "__"): f"{name}\n{LINES}" for name in names})
    for number in range(14):
        repo.switch(f"b{number:02}", new=True, start="main")
        for _ in range(dice.choice((1, 1, 2))):
            held = repo.git("ls-files").splitlines()
            name = dice.choice(held)
            match dice.choice(("edit", "add", "drop", "move", "move folder", "to folder")):
                case "edit":
                    repo.write(name, repo.read(name) + f"{number}\n")
                case "add":
                    repo.write(f"{name.rpartition('/')[0] or 'x'}/n{dice.randrange(3)}/new", f"{number}\n{LINES}")
                case "drop":
                    repo.git("rm", "-q", name)
                case "move":
                    repo.git("mv", name, f"m{dice.randrange(3)}")
                case "move folder":
                    folder = name.rpartition("/")[0]
                    if folder:
                        repo.git("mv", folder, f"f{dice.randrange(3)}-{number}")
                case "to folder":
                    repo.git("rm", "-q", name)
                    repo.write(f"{name}/inner", f"{number}\n")
            repo.git("add", "-A")
        repo.commit(f"b{number}")
        repo.git("clean", "-qfd")
    repo.switch("main")
    seen = look(repo)
    met = {(one.one, one.other) for one in seen.meetings}
    pairs = [pair for pair in combinations([one.name for one in seen.branches], 2) if pair not in met]
    assert pairs
    assert met
    git = repo.repository.git
    main, tips = repo.head, {name: repo.oid(name) for pair in pairs for name in pair}
    changes = {name: set(read_changes(git, main, tip)) for name, tip in tips.items()}
    for (one, other), merge in zip(pairs, merge_many(git, [(tips[a], tips[b]) for a, b in pairs]), strict=True):
        assert isinstance(merge, TreeMerge)
        assert merge.clean
        assert set(read_changes(git, main, merge.tree)) == changes[one] | changes[other]
