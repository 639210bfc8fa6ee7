"""Commands that run once branches are together: what they make anew lands with them, and is checked with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.judging.hotspots import Hotspot
from gitprun.model.errors import OperationRefused
from gitprun.workspaces.trust import Untrusted
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow

MAKE = Hotspot("schema", after=("sort schema >client; echo x >>$COUNT; echo new >made.txt; echo out >other.txt",))


def with_client(path: Path) -> Repo:
    """A file that is made from another one, and branches that add to that one."""
    repo = make_repo(path, schema="m\n1\n2\n3\n4\n5\n6\n", client="1\n2\n3\n4\n5\n6\nm\n")
    for name, text in {"first": "a\nm\n1\n2\n3\n4\n5\n6\n", "last": "m\n1\n2\n3\n4\n5\n6\nz\n"}.items():
        repo.switch(name, new=True, start="main")
        repo.commit(name, schema=text)
    repo.switch("elsewhere", new=True, start="main")
    repo.commit("elsewhere", e="e\n")
    repo.switch("main")
    return repo


@pytest.mark.parametrize("checked", [True, False])
def test_what_is_made_anew_lands_on_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bool) -> None:
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    repo = with_client(tmp_path / "repo")
    row = Hotspot(MAKE.path, after=MAKE.after, produces=("made.txt",))
    options = {"verify": ("sort schema | cmp - client",)} if checked else {}
    report = land_branches(repo, "first", "last", hotspots=(row,), may_run_after=True, **options)
    assert states(report) == {"first": "landed", "last": "landed"}
    assert repo.read("client") == "1\n2\n3\n4\n5\n6\na\nm\nz\n"
    assert (repo.read("made.txt"), repo.status()) == ("new\n", [])
    # All of it is taken: the checks saw it, and on a main without it they might say something else.
    assert repo.read("other.txt") == "out\n"
    assert (tmp_path / "count").read_text() == "x\n"
    assert repo.head == report.new != report.items[1].commit
    assert repo.git("log", "-1", "--format=%s%n%P") == f"merge: after {MAKE.after[0]}\n{report.items[1].commit}"
    assert f"3 files were made anew, in {report.new[:10]}" in report.notes[-1]
    started = repo.ledger.read().events[-4].payload.as_json()
    assert started["after"] == {
        "commit": report.new,
        "commands": [*MAKE.after],
        "paths": ["client", "made.txt", "other.txt"],
    }
    repo.git("fsck", "--strict")


def test_it_runs_only_where_such_a_path_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    repo = with_client(tmp_path / "repo")
    report = land_branches(repo, "elsewhere", hotspots=(MAKE,))
    assert states(report) == {"elsewhere": "landed"}
    assert not (tmp_path / "count").exists()


def test_it_needs_the_users_leave(tmp_path: Path) -> None:
    repo = with_client(tmp_path / "repo")
    with pytest.raises(Untrusted, match=r"prun.toml says what you have not approved yet: \[\[hotspot\]\] after = "):
        land_branches(repo, "first", hotspots=(MAKE,))
    assert landing_events(repo) == []
    assert states(land_branches(repo, "first", hotspots=(MAKE,), dry_run=True)) == {"first": "would-land"}


def test_nothing_made_is_no_commit(tmp_path: Path) -> None:
    repo = with_client(tmp_path / "repo")
    report = land_branches(repo, "first", hotspots=(Hotspot("schema", after=("true",)),), may_run_after=True)
    assert states(report) == {"first": "landed"}
    assert report.new == report.items[0].commit


@pytest.mark.parametrize("checked", [True, False])
def test_a_branch_with_which_it_fails_is_set_aside(tmp_path: Path, checked: bool) -> None:
    repo = with_client(tmp_path / "repo")
    row = Hotspot("schema", after=("! grep -q z schema",))
    options = {"verify": ("true",)} if checked else {}
    report = land_branches(repo, "first", "last", "elsewhere", hotspots=(row,), may_run_after=True, **options)
    assert states(report) == {"first": "landed", "last": "red", "elsewhere": "landed"}
    assert report.items[1].reason == "after: ! grep -q z schema: exit 1 (on top of main)"


def test_untracked_work_is_not_overwritten_by_what_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    repo = with_client(tmp_path / "repo")
    repo.write("made.txt", "human\n")
    row = Hotspot(MAKE.path, after=MAKE.after, produces=("made.txt",))
    with pytest.raises(
        OperationRefused, match=r"files that are in no commit would be overwritten: made.txt; nothing was changed"
    ):
        land_branches(repo, "first", hotspots=(row,), may_run_after=True)
    assert repo.read("made.txt") == "human\n"
    assert landing_events(repo) == []


def test_what_git_ignores_does_not_make_the_checks_green(tmp_path: Path) -> None:
    repo = with_client(tmp_path / "repo")
    repo.commit("ignore", _dot_gitignore="gen/\n")
    row = Hotspot("schema", after=("mkdir -p gen; cp schema gen/all",))
    report = land_branches(
        repo, "first", "elsewhere", hotspots=(row,), may_run_after=True, verify=("! test -e a || test -e gen/all",)
    )
    assert states(report) == {"first": "landed", "elsewhere": "landed"}
    report = land_branches(
        repo, "last", hotspots=(row,), may_run_after=True, verify=("! grep -q z schema || test -e gen/all",)
    )
    assert [(item.state, item.reason) for item in report.items] == [
        ("red", "! grep -q z schema || test -e gen/all: exit 1 (on top of main)")
    ]
    assert "made gen/, which git ignores: it does not land" in report.notes[0]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("git init -q lib", "they make a repository in lib/, which no commit can hold"),
        ("seq 5001 | xargs touch", "they make 5001 new files (1 ...): name what is not to land in .gitignore"),
        ("truncate -s 60000000 big", "they make big, which is too large to land unless .gitignore names it"),
    ],
)
def test_what_cannot_all_be_taken_stops_the_branch(tmp_path: Path, command: str, said: str) -> None:
    repo = with_client(tmp_path / "repo")
    row = Hotspot("schema", after=(command,))
    report = land_branches(repo, "first", "elsewhere", hotspots=(row,), may_run_after=True, verify=("true",))
    assert states(report) == {"first": "unverified", "elsewhere": "landed"}
    assert report.items[0].reason == f"the merged tree is not proved: after: {command}: {said}"


def test_what_lands_with_what_was_made_is_what_was_checked(tmp_path: Path) -> None:
    """The commands change a tracked file for good, and the checks see the tree that lands, once."""
    repo = with_client(tmp_path / "repo")
    row = Hotspot("schema", after=("sort schema >client",))
    check = f"git rev-parse HEAD^{{tree}} >>{tmp_path}/trees; git status --porcelain >>{tmp_path}/status"
    report = land_branches(repo, "first", hotspots=(row,), may_run_after=True, verify=(check,))
    assert states(report) == {"first": "landed"}
    assert (tmp_path / "trees").read_text() == repo.oid("main^{tree}") + "\n"
    assert (tmp_path / "status").read_text() == ""
