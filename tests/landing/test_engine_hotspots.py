"""Hotspots settle what both sides added, and nothing else; the report and the ledger name what they did."""

from __future__ import annotations

from pathlib import Path

from gitprun.judging.hotspots import Hotspot
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

UNION = (Hotspot("*.txt", "union"), Hotspot("*.ts", "union"), Hotspot("*.mk", "union"))


def appending(path: Path) -> Repo:
    repo = make_repo(path, routes_dot_txt="/home\n", queue_dot_ts="mail\n")
    for name in "abc":
        repo.switch(name, new=True, start="main")
        repo.commit(name, routes_dot_txt=f"/home\n/shared\n/{name}\n", queue_dot_ts=f"mail\n{name}\n")
    repo.switch("main")
    return repo


def test_lists_that_grow(tmp_path: Path) -> None:
    repo = appending(tmp_path / "repo")
    report = land_branches(repo, "a", "b", "c", hotspots=UNION)
    assert states(report) == {"a": "landed", "b": "landed", "c": "landed"}
    assert repo.read("routes.txt") == "/home\n/shared\n/a\n/b\n/c\n"
    assert repo.read("queue.ts") == "mail\na\nb\nc\n"
    assert repo.status() == []
    assert [one.path for one in report.items[1].resolved] == ["queue.ts", "routes.txt"]
    assert [one.added for one in report.items[1].resolved] == [("b",), ("/b",)]
    landed = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    both = ["queue.ts", "routes.txt"]
    assert [[row["path"] for row in facts["resolved"]] for facts in landed] == [[], both, both]
    repo.git("fsck", "--strict")


def test_the_same_twice(tmp_path: Path) -> None:
    one, two = (appending(tmp_path / name) for name in ("one", "two"))
    reports = [land_branches(repo, "a", "b", "c", hotspots=UNION) for repo in (one, two)]
    assert reports[0].new == reports[1].new


def test_one_unsettled_path_keeps_the_branch_out(tmp_path: Path) -> None:
    repo = appending(tmp_path / "repo")
    report = land_branches(repo, "a", "b", hotspots=(Hotspot("*.txt", "union"),))
    assert states(report) == {"a": "landed", "b": "conflict"}
    queue, routes = report.items[1].conflicts
    assert queue.path == "queue.ts"
    assert (queue.would_settle, bool(queue.reason)) == (False, True)
    assert (routes.path, routes.would_settle, routes.resolver, routes.reason) == ("routes.txt", True, "lines", "")
    assert repo.read("routes.txt") == "/home\n/shared\n/a\n"


def test_nothing_deleted_comes_back(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", list_dot_mk="225_a.test\n226_b.test\n227_c.test\n")
    repo.switch("topic", new=True)
    repo.commit("add 300", list_dot_mk="225_a.test\n226_b.test\n227_c.test\n300_new.test\n")
    repo.switch("main")
    repo.commit("drop", list_dot_mk="225_a.test\n227_renamed.test\n")
    [item] = land_branches(repo, "topic", hotspots=UNION).items
    assert item.state == "conflict"
    assert item.conflicts[0].reason != ""
    assert repo.read("list.mk") == "225_a.test\n227_renamed.test\n"


def test_more_than_content_is_not_tried(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", list_dot_mk="a\n")
    repo.switch("topic", new=True)
    repo.git("rm", "-q", "list.mk")
    repo.commit("gone")
    repo.switch("main")
    repo.commit("edit", list_dot_mk="b\n")
    [item] = land_branches(repo, "topic", hotspots=UNION).items
    assert [(one.kind, one.reason) for one in item.conflicts] == [
        ("modify/delete", "not tried: more than the content is in conflict")
    ]


def test_several_bases_are_not_tried(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", list_dot_mk="a\n")
    repo.switch("topic", new=True)
    topic = repo.commit("t", t="t\n")
    repo.switch("main")
    main = repo.commit("m", m="m\n")
    repo.git("merge", "-q", "--no-ff", "-m", "main<-t", topic)
    repo.switch("topic")
    repo.git("merge", "-q", "--no-ff", "-m", "t<-main", main)
    repo.commit("t2", list_dot_mk="a\nt\n")
    repo.switch("main")
    repo.commit("m2", list_dot_mk="a\nm\n")
    [item] = land_branches(repo, "topic", hotspots=UNION).items
    assert [one.reason for one in item.conflicts] == ["not tried: the histories have several merge bases"]


def test_both_sides_add_the_file(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    for name in ("one", "two"):
        repo.switch(name, new=True, start="main")
        repo.commit(name, new_dot_txt=f"{name}\n")
    repo.switch("main")
    report = land_branches(repo, "one", "two", hotspots=UNION)
    assert states(report) == {"one": "landed", "two": "conflict"}
    [conflict] = report.items[1].conflicts
    assert (conflict.path, conflict.kind) == ("new.txt", "contents")
    assert conflict.reason not in ("", "not tried: more than the content is in conflict")
