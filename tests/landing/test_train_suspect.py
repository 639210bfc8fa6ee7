"""What git merged without a conflict is looked at all the same; what looks wrong does not land by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.model.findings import Suspect
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow

LISTED = '{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4,\n  "e": 5,\n  "f": 6,\n  "g": 7\n}\n'


def two_sides(path: Path, name: str, base: str, main: str, unit: str) -> Repo:
    repo = make_repo(path, other="o\n")
    repo.write(name, base)
    repo.commit("base")
    repo.switch("topic", new=True)
    repo.write(name, unit)
    repo.commit("topic")
    repo.switch("main")
    repo.write(name, main)
    repo.commit("main")
    return repo


def test_the_same_key_twice_after_a_clean_merge(tmp_path: Path) -> None:
    first, last = '{\n  "new": true,\n', '  "g": 7,\n  "new": false\n}\n'
    main, unit = LISTED.replace("{\n", first), LISTED.replace('  "g": 7\n}\n', last)
    repo = two_sides(tmp_path / "repo", "conf.json", LISTED, main, unit)
    report = land_branches(repo, "topic")
    [item] = report.items
    assert item.state == "suspect"
    assert [suspect.path for suspect in item.suspects] == ["conf.json"]
    assert "new" in item.suspects[0].reason
    assert item.reason == f"conf.json: {item.suspects[0].reason}"
    assert (report.new, landing_events(repo), repo.status()) == (report.old, [], [])
    assert states(land_branches(repo, "topic", allow_suspect=("other", "conf"))) == {"topic": "suspect"}
    report = land_branches(repo, "topic", allow_suspect=("conf.json",))
    assert states(report) == {"topic": "landed"}
    assert report.notes == (f"topic: landed although it is suspect: conf.json: {item.suspects[0].reason}",)
    # What lands is git's own text.
    assert repo.read("conf.json") == main.replace('  "g": 7\n}\n', last)
    [landed] = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert landed["suspects"] == [{"path": "conf.json", "reason": item.suspects[0].reason}]


def test_what_could_not_be_looked_at_is_told(tmp_path: Path) -> None:
    body = "".join(f"{number}\n" for number in range(200_000))
    repo = two_sides(tmp_path / "repo", "large.txt", body, "first\n" + body, body + "last\n")
    report = land_branches(repo, "topic")
    assert (states(report), report.notes) == (
        {"topic": "landed"},
        ("topic: large.txt: not checked: too large (1.3 MB)",),
    )


def test_where_the_resolvers_know_better_their_text_lands(tmp_path: Path) -> None:
    first, last = '{\n  "new": true,\n', '  "g": 70,\n  "new": true\n}\n'
    main, unit = LISTED.replace("{\n", first), LISTED.replace('  "g": 7\n}\n', last)
    repo = two_sides(tmp_path / "repo", "conf.json", LISTED, main, unit)
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert repo.read("conf.json").count('"new"') == 1
    [resolved] = report.items[0].resolved
    assert resolved.path == "conf.json"
    assert report.notes == (f"topic: git's own merge of conf.json was faulty, so {resolved.resolver} made another one",)


def test_what_git_merges_well_is_gits_byte_for_byte(tmp_path: Path) -> None:
    main, unit = LISTED.replace('"a": 1', '"a":   10'), LISTED.replace('"g": 7', '"g": 70,\n      "h" : 8')
    repo = two_sides(tmp_path / "repo", "conf.json", LISTED, main, unit)
    tree = repo.git("merge-tree", "--write-tree", "main", "topic")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert (repo.oid("HEAD^{tree}"), report.items[0].resolved) == (tree, ())


def test_a_file_that_the_other_side_renamed_is_looked_at_too(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.write("conf.json", LISTED)
    repo.commit("base")
    repo.switch("topic", new=True)
    repo.git("mv", "conf.json", "moved.json")
    repo.write("moved.json", LISTED.replace("{\n", '{\n  "new": 1,\n'))
    repo.commit("topic")
    repo.switch("main")
    repo.write("conf.json", LISTED.replace('  "g": 7\n', '  "g": 7,\n  "new": 2\n'))
    repo.commit("main")
    [item] = land_branches(repo, "topic").items
    assert (item.state, item.reason.partition(":")[0]) == ("suspect", "moved.json")


def test_a_branch_that_threw_the_main_side_away(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", fix_dot_py="v=1\n", a_dot_txt="1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", a_dot_txt="2\n")
    repo.switch("main")
    urgent = repo.commit("urgent fix", fix_dot_py="v=2  # urgent fix\n")
    repo.switch("topic")
    repo.git("merge", "-q", "-s", "ours", "-m", "Merge main", "main")
    evil = repo.head
    repo.commit("more", b_dot_txt="b\n")
    repo.switch("main")
    report = land_branches(repo, "topic")
    [item] = report.items
    reason = f"the merge {evil[:10]} in the branch threw away what {urgent[:10]} had changed here"
    assert (item.state, item.suspects) == ("suspect", (Suspect(path="fix.py", reason=reason),))
    assert repo.read("fix.py") == "v=2  # urgent fix\n"
    # Once the branch has it back, there is nothing to look at.
    repo.switch("topic")
    repo.commit("put it back", fix_dot_py="v=2  # urgent fix\n")
    repo.switch("main")
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}


def test_a_branch_that_merged_main_honestly(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n2\n3\n4\n5\n6\n7\n", g="g\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f="one\n2\n3\n4\n5\n6\n7\n", mine="m\n")
    repo.switch("main")
    repo.commit("main", f="1\n2\n3\n4\n5\n6\nseven\n", g="main\n")
    repo.switch("topic")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge main", "main")
    repo.switch("main")
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}


def test_two_branches_that_add_the_same_migration_number(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", shop__migrations__0001_initial_dot_py="dependencies = []\n")
    for name in ("colour", "size"):
        repo.switch(name, new=True, start="main")
        text = f'class Migration:\n    dependencies = [("shop", "0001_initial")]\n    x = "{name}"\n'
        repo.write(f"shop/migrations/0002_{name}.py", text)
        repo.commit(name)
    repo.switch("main")
    report = land_branches(repo, "colour", "size")
    assert states(report) == {"colour": "landed", "size": "suspect"}
    [suspect] = report.items[1].suspects
    assert suspect.path == "shop/migrations"
    assert suspect.reason.startswith("0002_colour.py and 0002_size.py ")


def test_two_branches_that_add_the_next_record_of_a_numbered_folder(tmp_path: Path) -> None:
    records = {f"docs__adr__000{number}-{name}_dot_md": "x\n" for number, name in enumerate("abc", 1)}
    repo = make_repo(tmp_path / "repo", **records)
    for name in ("events", "queues"):
        repo.switch(name, new=True, start="main")
        repo.write(f"docs/adr/0004-{name}.md", f"# {name}\n")
        repo.commit(name)
    repo.switch("main")
    report = land_branches(repo, "events", "queues")
    assert states(report) == {"events": "landed", "queues": "suspect"}
    [suspect] = report.items[1].suspects
    assert suspect.path == "docs/adr"
    assert suspect.reason == ("0004-events.md and 0004-queues.md have one number: give the later one the next number")


def test_migrations_that_each_have_a_folder(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", db__migrations__20260101000000_start__migration_dot_sql="create table a ();\n")
    for name in ("colour", "size"):
        repo.switch(name, new=True, start="main")
        repo.write(f"db/migrations/20260102000000_{name}/migration.sql", f"alter table a add {name} int;\n")
        repo.commit(name)
    repo.switch("main")
    report = land_branches(repo, "colour", "size")
    assert states(report) == {"colour": "landed", "size": "suspect"}
