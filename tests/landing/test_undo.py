"""A landing is taken back by moving the branch, or by the commits ``git revert`` would make; and can be redone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitprun.judging.hotspots import Hotspot
from gitprun.landing.undo import UndoReport, UndoRequest, undo
from gitprun.landing.undo_plan import TakenOut, taken_out
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import Oid
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo


def ready(path: Path) -> Repo:
    repo = make_repo(path, a="1\n", b="1\n", mine="1\n")
    for name in ("a", "b"):
        repo.switch(f"topic-{name}", new=True, start="main")
        repo.commit(f"topic {name}", **{name: "2\n", f"new__{name}": "n\n"})
    repo.switch("main")
    return repo


def take(repo: Repo, name: str | None = None, **options: Any) -> UndoReport:
    return undo(repo.repository, repo.ledger, UndoRequest(name=name, **options))


def undo_events(repo: Repo) -> list[str]:
    """List what the ledger says about undoing, in short."""
    kinds = ("undo.", "landing.undone", "landing.redone")
    return [
        " ".join(
            [
                event.kind,
                *(
                    str(event.payload.as_json()[key])
                    for key in ("branch", "way", "outcome")
                    if key in event.payload.as_json()
                ),
            ]
        )
        for event in repo.ledger.read().events
        if event.kind.startswith(kinds)
    ]


def test_the_last_landing_goes_back(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    start = repo.head
    land_branches(repo, "topic-a")
    land_branches(repo, "topic-b")
    middle, top = repo.oid("main^"), repo.head
    repo.write("mine", "human\n")
    repo.write("notes", "human\n")
    report = take(repo)
    assert report.as_json() == {
        "landing": 2,
        "target": "refs/heads/main",
        "old": top,
        "new": middle,
        "way": "moved",
        "items": [{"branch": "topic-b", "commit": top, "run": "", "unit": "", "by": ""}],
        "notes": [],
    }
    assert repo.head == middle
    assert repo.status() == [" M mine", "?? notes"]
    assert not (repo.path / "new" / "b").exists()
    assert repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/prun/undone") == (
        f"refs/prun/undone/{top[:10]} {top}"
    )
    assert repo.git("reflog", "-1", "--format=%gs") == "prun undo: took back topic-b"
    assert undo_events(repo) == ["undo.started moved", "landing.undone topic-b moved", "undo.finished done"]
    assert take(repo).new == start
    assert repo.files() == {"a": "1", "b": "1", "mine": "1"}
    with pytest.raises(OperationRefused, match="no landing is left to take back"):
        take(repo)
    assert states(land_branches(repo, "topic-b")) == {"topic-b": "landed"}
    assert take(repo).landing == 3


def test_one_branch_of_a_landing(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    start = repo.head
    land_branches(repo, "topic-a", "topic-b")
    assert take(repo, "topic-b").way == "moved"
    assert repo.files() == {"a": "2", "b": "1", "mine": "1", "new/a": "n"}
    report = take(repo, "1")
    assert ([one.branch for one in report.items], report.way, repo.head) == (["topic-a"], "moved", start)
    land_branches(repo, "topic-a", "topic-b")
    report = take(repo, "topic-a")
    assert ([one.branch for one in report.items], report.way) == (["topic-a"], "reverted")
    assert repo.files() == {"a": "1", "b": "2", "mine": "1", "new/b": "n"}


def test_reverts_are_what_git_revert_makes(tmp_path: Path) -> None:
    repo, twin = ready(tmp_path / "r"), ready(tmp_path / "twin")
    for each in (repo, twin):
        land_branches(each, "topic-a", "topic-b")
        each.commit("later", mine="2\n")
    assert repo.head == twin.head
    report = take(repo)
    assert report.way == "reverted"
    merges = [twin.oid("main~1"), twin.oid("main~2")]
    twin.git("revert", "--no-edit", "-m", "1", *merges)
    assert [one.by for one in report.items] == [repo.oid("main"), repo.oid("main^")]
    assert [repo.git("log", "-1", "--format=%T %s%n%b", rev) for rev in ("main", "main^")] == [
        twin.git("log", "-1", "--format=%T %s%n%b", rev) for rev in ("main", "main^")
    ]
    strip = [line for line in repo.raw().splitlines() if not line.startswith(("parent", "author", "committer"))]
    assert strip == [line for line in twin.raw().splitlines() if not line.startswith(("parent", "author", "committer"))]
    assert repo.files() == {"a": "1", "b": "1", "mine": "2"}
    assert repo.status() == []


def test_redo_brings_back_what_was_reverted(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a", "topic-b")
    landed, merge = repo.files(), repo.oid("main^")
    repo.commit("later", mine="2\n")
    take(repo)
    by = repo.head
    again = land_branches(repo, "topic-a")
    assert states(again) == {"topic-a": "refused"}
    with pytest.raises(OperationRefused, match=r"topic-a of landing 1 was reverted already, by \w{10}"):
        take(repo, "topic-a")
    report = take(repo, redo=True)
    assert (report.way, [one.branch for one in report.items]) == ("redone", ["topic-a", "topic-b"])
    assert repo.files() == {**landed, "mine": "2"}
    assert repo.git("log", "-1", "--format=%s").startswith('Revert "Revert "merge: ship topic-b""')
    with pytest.raises(OperationRefused, match="topic-a, topic-b of landing 1 was never reverted"):
        take(repo, "1", redo=True)
    assert take(repo, merge[:8]).way == "reverted"
    assert repo.files() == {"a": "1", "b": "2", "mine": "2", "new/b": "n"}
    with pytest.raises(PrunError, match="nothing that landed goes by the name"):
        take(repo, by[:10])
    assert take(repo, repo.head[:12]).way == "redone"
    assert repo.files() == {**landed, "mine": "2"}


def test_the_history_says_what_was_taken_out_and_brought_back(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a")
    merge = repo.head
    repo.commit("later", mine="2\n")
    assert taken_out(repo.ledger.read().history) == ()
    take(repo)
    out = TakenOut(target="refs/heads/main", branch="topic-a", commit=merge, by=repo.head, redone=False)
    assert taken_out(repo.ledger.read().history) == (out,)
    take(repo, redo=True)
    assert taken_out(repo.ledger.read().history) == (out, replace(out, by=repo.head, redone=True))


def test_later_changes_to_the_same_lines_refuse(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a", "topic-b")
    merge = repo.oid("main^")
    head = repo.commit("later", a="3\n")
    with pytest.raises(OperationRefused) as caught:
        take(repo)
    assert caught.value.message == f"what came after {merge[:10]} changed the same places: a; nothing was changed"
    assert caught.value.hint == f"take back what came after first, or revert by hand: git revert -m 1 {merge[:10]}"
    assert (repo.head, repo.status(), undo_events(repo)) == (head, [], [])


def test_what_is_published_is_reverted(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a")
    repo.git("update-ref", "refs/remotes/origin/main", "main")
    report = take(repo)
    assert (report.way, report.notes) == (
        "reverted",
        ("origin/main has it already, so it is reverted and not taken out of the history",),
    )
    assert repo.files() == {"a": "1", "b": "1", "mine": "1"}


def test_branches_built_on_it_are_named(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a")
    repo.branch("next")
    repo.branch("main-of-now")
    for pin in ("base/r1", "base-tips/r1/x", "kept/r1/u/head", "r1/u"):
        repo.git("update-ref", f"refs/prun/{pin}", "main")
    named = "main-of-now, next, prun/r1/u"
    assert take(repo).notes == (f"built on it, so that landing them brings it back: {named}",)


def test_taken_back_by_hand(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a")
    merge = repo.head
    repo.git("reset", "-q", "--hard", "HEAD^")
    with pytest.raises(OperationRefused, match=f"{merge[:10]} is not in main any more"):
        take(repo)
    repo.git("reset", "-q", "--hard", merge)
    repo.git("revert", "--no-edit", "-m", "1", merge)
    with pytest.raises(OperationRefused, match="there is nothing to do: main holds nothing of topic-a any more"):
        take(repo)


def test_dry_run_changes_nothing(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a")
    head = repo.head
    assert take(repo, dry_run=True).new == repo.oid("HEAD^")
    assert (repo.head, undo_events(repo)) == (head, [])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda repo: repo.write("a", "human\n"), "uncommitted changes are in the way: a; nothing was changed"),
        (lambda repo: repo.git("rm", "-q", "--cached", "mine"), "has staged changes: mine"),
        (lambda repo: repo.write(".git/MERGE_HEAD", f"{repo.head}\n"), "a merge is in progress"),
        (lambda repo: repo.write(".git/index.lock", ""), "another git program works in"),
    ],
)
def test_a_checkout_in_no_state_refuses(tmp_path: Path, spoil: Any, said: str) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a")
    head = repo.head
    spoil(repo)
    with pytest.raises(OperationRefused, match=said):
        take(repo)
    assert (repo.head, undo_events(repo)) == (head, [])


def test_what_came_where_a_file_was_removed_stays(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", a="1\n", gone="1\n")
    repo.switch("topic", new=True)
    repo.git("rm", "-q", "gone")
    repo.commit("topic")
    repo.switch("main")
    land_branches(repo, "topic")
    repo.write("gone", "human\n")
    with pytest.raises(OperationRefused, match="files that are in no commit would be overwritten: gone"):
        take(repo)
    assert repo.read("gone") == "human\n"


def test_a_target_checked_out_elsewhere_or_nowhere(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a")
    repo.switch("topic-b")
    other = repo.worktree(tmp_path / "w", "main")
    start = repo.oid("main^")
    assert take(repo).new == start
    assert (other.head, other.status(), repo.status()) == (start, [], [])
    land_branches(repo, "topic-a", into="main")
    repo.git("worktree", "remove", str(other.path))
    repo.git("checkout", "-q", "--detach")
    later = Oid(repo.git("commit-tree", "-p", "main", "-m", "later", "main^{tree}"))
    repo.git("update-ref", "refs/heads/main", later)
    assert take(repo).way == "reverted"
    assert repo.files("main") == {"a": "1", "b": "1", "mine": "1"}
    repo.git("branch", "-q", "-D", "main")
    with pytest.raises(PrunError, match="the branch 'main' has no commit here"):
        take(repo, redo=True)


def test_files_made_after_a_landing(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    start = repo.head
    row = Hotspot("a", after=("cat a b >both",), produces=("both",))
    again = "files that commands made after the landing are left as they are; run the commands again"

    def land_both() -> None:
        assert set(states(land_branches(repo, "topic-a", "topic-b", hotspots=(row,), may_run_after=True)).values()) == {
            "landed"
        }
        assert repo.files()["both"] == "2\n2"

    land_both()
    assert take(repo).way == "moved"
    assert (repo.head, repo.files()) == (start, {"a": "1", "b": "1", "mine": "1"})
    land_both()
    report = take(repo, "topic-b")
    assert (report.way, report.notes) == ("reverted", (again,))
    assert repo.files() == {"a": "2", "b": "1", "mine": "1", "new/a": "n", "both": "2\n2"}
    repo.git("reset", "-q", "--hard", start)
    land_both()
    repo.commit("later", mine="2\n")
    assert [one.branch for one in take(repo).items] == ["topic-a", "topic-b"]
    assert repo.files() == {"a": "1", "b": "1", "mine": "2"}
    assert take(repo, redo=True).notes == (again,)
    assert repo.files() == {"a": "2", "b": "2", "mine": "2", "new/a": "n", "new/b": "n"}


def test_numbers_commits_and_words(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    with pytest.raises(PrunError, match="nothing has landed through git prun here"):
        take(repo)
    land_branches(repo, "topic-a")
    land_branches(repo, "topic-b")
    with pytest.raises(PrunError) as caught:
        take(repo, "topic-c")
    assert caught.value.hint.startswith("did you mean 'topic-")
    assert take(repo, "#2", dry_run=True).items[0].branch == "topic-b"
    assert take(repo, repo.oid("main^")[:7], dry_run=True).items[0].branch == "topic-a"
    take(repo)
    with pytest.raises(OperationRefused) as refused:
        take(repo, "2")
    assert (refused.value.message, refused.value.hint) == (
        "topic-b of landing 2 was taken back and is in no history",
        "git prun merge topic-b",
    )


def test_what_was_moved_off_is_moved_on_again(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    start = repo.head
    land_branches(repo, "topic-a")
    land_branches(repo, "topic-b")
    first, second = repo.oid("main^"), repo.head
    assert [take(repo).way, take(repo).way, repo.head] == ["moved", "moved", start]
    # The last undo is taken back first, as often as there was one.
    for name, commit in (("topic-a", first), ("topic-b", second)):
        report = take(repo, redo=True)
        assert (report.way, [one.branch for one in report.items], report.new) == ("redone", [name], commit)
        assert (repo.head, repo.status()) == (commit, [])
    with pytest.raises(OperationRefused, match="no landing is left to bring back"):
        take(repo, redo=True)
    assert take(repo, redo=False).new == first
    assert take(repo, "topic-b", redo=True, dry_run=True).new == second
    assert repo.head == first
    # It counts as landed again.
    assert take(repo, "2", redo=True).new == second
    assert take(repo).items[0].branch == "topic-b"


def test_what_was_moved_off_stays_off_where_something_else_came(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a", "topic-b")
    take(repo)
    later = repo.commit("later", mine="2\n")
    with pytest.raises(OperationRefused) as caught:
        take(repo, redo=True)
    assert (caught.value.message, caught.value.hint, repo.head) == (
        "topic-a, topic-b of landing 1 was taken back and is in no history",
        "git prun merge topic-a topic-b",
        later,
    )


def test_one_unit_of_a_landing_is_moved_on_again(tmp_path: Path) -> None:
    repo = ready(tmp_path / "r")
    land_branches(repo, "topic-a", "topic-b")
    whole = repo.head
    assert take(repo, "topic-b").way == "moved"
    assert [one.branch for one in take(repo, redo=True).items] == ["topic-b"]
    assert repo.head == whole
    take(repo, "topic-b")
    take(repo, "topic-a")
    with pytest.raises(OperationRefused, match="topic-b of landing 1 was taken back and is in no history"):
        take(repo, "topic-b", redo=True)
    assert [one.branch for one in take(repo, redo=True).items] == ["topic-a", "topic-b"]
    assert repo.head == whole


def test_one_of_several_entries_beside_each_other_is_taken_out(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", other="o\n")
    repo.write("routes.ts", "export const routes = {\n  home: '/',\n};\n")
    repo.commit("base")
    for name in ("about", "help", "shop"):
        repo.switch(f"topic-{name}", new=True, start="main")
        repo.write("routes.ts", f"export const routes = {{\n  home: '/',\n  {name}: '/{name}',\n}};\n")
        repo.commit(name)
    repo.switch("main")
    land_branches(repo, "topic-about", "topic-help", "topic-shop")
    report = take(repo, "topic-help")
    assert (report.way, [item.branch for item in report.items]) == ("reverted", ["topic-help"])
    assert repo.read("routes.ts") == "export const routes = {\n  home: '/',\n  about: '/about',\n  shop: '/shop',\n};\n"
    take(repo, redo=True)
    assert sorted(repo.read("routes.ts").splitlines()[2:-1]) == [
        "  about: '/about',",
        "  help: '/help',",
        "  shop: '/shop',",
    ]
