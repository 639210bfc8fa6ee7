"""The checkout follows, and nothing of the user's in it is ever overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.landing.engine import land
from gitprun.landing.guard import STATUS, AskedAhead, index_stamp
from gitprun.landing.move import CheckoutMoved, TargetMoved
from gitprun.landing.plan import LandingOptions
from gitprun.model.errors import OperationRefused
from tests.support.landing import candidate, land_branches, landing_events, states
from tests.support.repos import Repo, make_bare, make_repo

pytestmark = pytest.mark.slow


def branch(repo: Repo, name: str, **files: str) -> None:
    repo.switch(name, new=True, start="main")
    repo.commit(name, **files)
    repo.switch("main")


def test_unrelated_work_stays_and_overlapping_work_refuses(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", b="1\n", d="1\n")
    branch(repo, "overlap", b="agent\n")
    branch(repo, "disjoint", c2="clean one\n", d="agent\n")
    for name in ("a", "b", "notes"):
        repo.write(name, "human\n")
    report = land_branches(repo, "overlap", "disjoint")
    assert states(report) == {"overlap": "refused", "disjoint": "landed"}
    assert report.items[0].reason == "uncommitted changes are in the way: b"
    assert repo.status() == [" M a", " M b", "?? notes"]
    assert {name: repo.read(name) for name in ("a", "b", "notes", "c2", "d")} == {
        "a": "human\n",
        "b": "human\n",
        "notes": "human\n",
        "c2": "clean one\n",
        "d": "agent\n",
    }


@pytest.mark.parametrize("dry_run", [False, True])
def test_anything_staged_refuses(tmp_path: Path, dry_run: bool) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", d="1\n")
    branch(repo, "topic", c="agent\n")
    repo.write("d", "staged\n")
    repo.git("add", "d")
    with pytest.raises(OperationRefused, match=f"{repo.path} has staged changes: d"):
        land_branches(repo, "topic", dry_run=dry_run)
    assert repo.status() == ["M  d"]
    assert landing_events(repo) == []


def test_untracked_and_ignored_files_are_somebodys_only_copy(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", _dot_gitignore=".env\ncache/\n", a="1\n")
    repo.switch("ignored", new=True)
    repo.write(".env", "FROM=agent\n")
    repo.write("cache/x.db", "agent\n")
    repo.git("add", "-f", ".env", "cache/x.db")
    repo.git("commit", "-q", "-m", "env")
    repo.switch("main")
    branch(repo, "untracked", STATE_dot_md="agent\n")
    branch(repo, "other", o="o\n")
    kept = {".env": "ONLY_COPY=human\n", "cache/x.db": "human\n", "STATE.md": "human\n"}
    for name, content in kept.items():
        repo.write(name, content)
    report = land_branches(repo, "ignored", "untracked", "other")
    assert states(report) == {"ignored": "refused", "untracked": "refused", "other": "landed"}
    assert [item.reason for item in report.items[:2]] == [
        "files that are in no commit would be overwritten: .env, cache/x.db",
        "files that are in no commit would be overwritten: STATE.md",
    ]
    assert {name: repo.read(name) for name in kept} == kept


def test_what_an_earlier_branch_removes_is_not_in_the_way(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", x="file\n", a="1\n")
    repo.switch("removes", new=True)
    repo.git("rm", "-q", "x")
    repo.commit("removes")
    repo.switch("builds", new=True)
    repo.commit("builds", x__inner="i\n")
    repo.switch("main")
    assert states(land_branches(repo, "builds", "removes")) == {"removes": "landed", "builds": "landed"}
    assert repo.read("x/inner") == "i\n"
    assert repo.status() == []


def test_a_target_checked_out_elsewhere_follows_there(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    repo.branch("develop")
    branch(repo, "topic", a="topic\n", b="new\n")
    repo.switch("feature", new=True)
    clean = repo.worktree(tmp_path / "wt-main", "main")
    dirty = repo.worktree(tmp_path / "wt-dev", "develop")
    dirty.write("a", "dirty\n")
    report = land_branches(repo, "topic", into="main")
    assert states(report) == {"topic": "landed"}
    assert (clean.head, clean.status(), clean.read("b")) == (report.new, [], "new\n")
    assert clean.git("reflog", "-1", "--format=%gs") == "merge topic: Merge made by the 'ort' strategy."
    assert clean.oid("ORIG_HEAD") == report.old
    with pytest.raises(OperationRefused) as caught:
        land_branches(repo, "topic", into="develop")
    assert (caught.value.message, caught.value.hint) == (
        f"develop is checked out in {dirty.path}, which has uncommitted changes: a",
        "commit them, or land from there: then only changes in the way count",
    )
    assert (dirty.status(), dirty.read("a")) == ([" M a"], "dirty\n")
    assert (repo.git("branch", "--show-current"), repo.status()) == ("feature", [])


def test_a_target_with_any_change_elsewhere_stays(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    repo.branch("develop")
    branch(repo, "topic", b="new\n")
    dirty = repo.worktree(tmp_path / "wt-dev", "develop")
    dirty.write("a", "somebody works here\n")
    tip = repo.oid("develop")
    with pytest.raises(OperationRefused, match="which has uncommitted changes: a"):
        land_branches(repo, "topic", into="develop")
    assert (repo.oid("develop"), dirty.status(), (dirty.path / "b").exists()) == (tip, [" M a"], False)
    assert states(land_branches(dirty, "topic")) == {"topic": "landed"}
    assert (dirty.status(), dirty.read("b")) == ([" M a"], "new\n")


def test_a_target_checked_out_nowhere_only_moves(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", list="a\n", sub__x="1\n")
    repo.switch("develop", new=True)
    repo.commit(
        "union", _dot_gitattributes="list merge=union\n", list="a\ndevelop\n", sub___dot_gitattributes="x -text\n"
    )
    repo.switch("topic", new=True, start="main")
    repo.commit("topic", list="a\ntopic\n")
    repo.switch("main")
    before = repo.git("ls-files", "-s"), repo.status(), repo.head
    report = land_branches(repo, "topic", into="develop")
    # The attributes are the target's, not those of what happens to be checked out.
    assert states(report) == {"topic": "landed"}
    assert repo.files("develop")["list"] == "a\ndevelop\ntopic"
    assert (repo.git("ls-files", "-s"), repo.status(), repo.head) == before
    assert repo.git("reflog", "-1", "--format=%gs", "develop") == "merge topic: Merge made by the 'ort' strategy."
    assert repo.git("reflog", "-1", "--format=%gs", "HEAD").startswith("checkout:")


def test_a_bare_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    branch(repo, "topic", b="b\n")
    bare = make_bare(tmp_path / "bare.git", repo)
    assert states(land_branches(bare, "topic", into="main")) == {"topic": "landed"}
    assert bare.files("main") == {"a.txt": "1", "b": "b"}


def test_merges_that_merge_nothing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.branch("ancestor")
    unsaved = repo.worktree(tmp_path / "wt-a", "unsaved", new=True)
    unsaved.write("only.py", "not committed\n")
    repo.switch("squashed", new=True)
    repo.commit("b1", b1="1\n")
    repo.commit("b2", b2="2\n")
    repo.switch("empty", new=True, start="main")
    repo.git("commit", "-q", "--allow-empty", "-m", "nothing")
    branch(repo, "merged", m="m\n")
    repo.git("merge", "-q", "--squash", "squashed")
    repo.git("commit", "-q", "-m", "squashed b")
    repo.git("merge", "-q", "--no-ff", "-m", "merged", "merged")
    report = land_branches(repo, "unsaved", "squashed", "ancestor", "empty", "merged", "main")
    assert {item.candidate.branch: (item.state, item.reason) for item in report.items} == {
        "unsaved": ("refused", f"it has no commit of its own, but work that is not committed in {unsaved.path}"),
        "squashed": ("already-contained", "its changes are already in main"),
        "ancestor": ("nothing-to-merge", "it has no commit of its own"),
        "empty": ("empty", "its commits change nothing"),
        "merged": ("already-contained", "main already has its commits"),
        "main": ("nothing-to-merge", "it has no commit of its own"),
    }
    assert report.new == report.old
    assert landing_events(repo) == []


def test_uncommitted_work_of_a_branch_that_lands_is_named(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    work = repo.worktree(tmp_path / "work", "topic", new=True)
    work.commit("topic", b="b\n")
    work.write("c", "later\n")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert report.notes == (f"topic: work in {work.path} that is not committed is not part of it",)


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    branch(repo, "topic", b="b\n")
    branch(repo, "clash", a_dot_txt="x\n")
    repo.hook("commit-msg", "exit 1")
    repo.write("a.txt", "human\n")
    index = (repo.path / ".git/index").read_bytes()
    report = land_branches(repo, "topic", "clash", dry_run=True, verify=("false",))
    assert states(report) == {"topic": "would-land", "clash": "refused"}
    assert (report.old, report.new, report.verdict) == (repo.head, repo.head, None)
    assert (repo.path / ".git/index").read_bytes() == index
    assert landing_events(repo) == []


def test_hidden_edits_are_seen(tmp_path: Path) -> None:
    for flag in ("--assume-unchanged", "--skip-worktree"):
        repo = make_repo(tmp_path / flag, local="1\n")
        branch(repo, "topic", local="agent\n")
        repo.git("update-index", flag, "local")
        repo.write("local", "human\n")
        (item,) = land_branches(repo, "topic").items
        assert (item.state, "told to overlook are in the way: local " in item.reason) == ("refused", True)
        assert repo.read("local") == "human\n"
        assert landing_events(repo) == []


def test_touched_files_are_no_changes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    branch(repo, "topic", a="2\n")
    os.utime(repo.path / "a", (1, 1))
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    assert repo.read("a") == "2\n"


def test_a_sparse_checkout_stays_sparse(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", inn__a="1\n", out__b="1\n")
    branch(repo, "topic", inn__a="2\n", inn__new="n\n", out__b="2\n", out__new="n\n")
    repo.git("sparse-checkout", "set", "inn")
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    assert sorted(path.name for path in repo.path.iterdir()) == [".git", "inn"]
    assert (repo.read("inn/a"), repo.status()) == ("2\n", [])
    assert repo.files() == {"inn/a": "2", "inn/new": "n", "out/b": "2", "out/new": "n"}


def test_filters_are_applied_and_a_missing_one_refuses_in_time(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", _dot_gitattributes="*.up filter=up\n", a_dot_up="one\n", plain="1\n")
    branch(repo, "topic", a_dot_up="two\n", plain="2\n", b_dot_up="three\n")
    branch(repo, "plain", p="2\n")
    repo.git("config", "filter.up.clean", "tr A-Z a-z")
    repo.git("config", "filter.up.smudge", "no-such-program")
    repo.git("config", "filter.up.required", "true")
    with pytest.raises(OperationRefused, match=r"cannot follow: .*no-such-program.*nothing was changed"):
        land_branches(repo, "topic")
    assert (repo.read("a.up"), repo.read("plain"), repo.status()) == ("one\n", "1\n", [])
    assert landing_events(repo) == []
    assert states(land_branches(repo, "plain")) == {"plain": "landed"}
    repo.git("config", "filter.up.smudge", "tr a-z A-Z")
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    assert (repo.read("a.up"), repo.read("b.up"), repo.status()) == ("TWO\n", "THREE\n", [])
    kept = sorted(path.name for path in (repo.path / ".git/prun").iterdir())
    assert kept == ["ledger.jsonl", "ledger.reserve", "locks"]


def test_strange_names(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("topic", new=True)
    names = [b"with space", b"tab\tnl\n", b"-dash", b":(top)x", b"\xff\xfe", "ü".encode(), b'"quoted"', b"$(x)"]
    for name in names:
        Path(os.fsdecode(os.fsencode(repo.path) + b"/" + name)).write_bytes(name)
    repo.commit("names")
    repo.switch("main")
    clash = Path(os.fsdecode(os.fsencode(repo.path) + b"/tab\tnl\n"))
    clash.write_bytes(b"mine")
    [item] = land_branches(repo, "topic").items
    assert (item.state, item.reason) == ("refused", "files that are in no commit would be overwritten: tab\\tnl\\n")
    clash.unlink()
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}
    assert repo.status() == []
    assert sorted(os.listdir(os.fsencode(repo.path))) == sorted([*names, b"a.txt", b".git"])


def test_the_target_moves_meanwhile(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    branch(repo, "topic", b="b\n")
    chosen = candidate(repo, "topic")
    count = tmp_path / "count"
    # The check itself commits to main: the landing was built on what is no longer its tip.
    who = "-c user.name=x -c user.email=x@y"
    command = (
        f"echo x >>{count}; n=$(wc -l <{count}); test $n -gt LIMIT && exit 0;"
        f" echo $n >{repo.path}/m$n; cd {repo.path}; git add m$n; git {who} commit -q -m meanwhile$n"
    )
    with pytest.raises(TargetMoved, match="main moved meanwhile; nothing was changed"):
        land_branches(repo, chosen, verify=(command.replace("LIMIT", "9"),), verify_view="none")
    assert count.read_text().count("x") == 4
    assert repo.git("log", "-1", "--format=%s") == "meanwhile4"
    assert (landing_events(repo), repo.status()) == ([], [])
    report = land_branches(repo, chosen, verify=(command.replace("LIMIT", "6"),), verify_view="none")
    assert states(report) == {"topic": "landed"}
    # Twice more it was built and checked anew on what main had become, and nothing of it is lost.
    assert report.notes == ("main moved meanwhile, so everything was built on it anew",)
    assert count.read_text().count("x") == 7
    assert sorted(repo.files()) == ["a.txt", "b", "m1", "m2", "m3", "m4", "m5", "m6"]
    assert repo.status() == []


def test_the_checkout_leaves_the_target_meanwhile(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    branch(repo, "topic", b="b\n")
    repo.branch("elsewhere")
    with pytest.raises(CheckoutMoved, match="is on another branch now; nothing was changed"):
        land_branches(repo, "topic", verify=(f"git -C {repo.path} checkout -q elsewhere",), verify_view="none")
    assert (repo.git("branch", "--show-current"), landing_events(repo)) == ("elsewhere", [])


@pytest.mark.parametrize("what", ["untracked", "edited", "staged"])
def test_work_that_appears_while_the_checks_run(tmp_path: Path, what: str) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", _dot_gitignore="b\n")
    repo.switch("topic", new=True)
    repo.write("b", "agent\n")
    repo.git("add", "-f", "b")
    repo.commit("topic", a="agent\n")
    repo.switch("main")
    name = "b" if what == "untracked" else "a"
    command = f"echo human >{repo.path}/{name}" + (f"; git -C {repo.path} add a" if what == "staged" else "")
    with pytest.raises(OperationRefused):
        land_branches(repo, "topic", verify=(command,), verify_view="none")
    assert repo.read(name) == "human\n"
    assert landing_events(repo) == []


def test_a_hook_may_forbid_the_move(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    branch(repo, "topic", b="b\n")
    repo.hook("reference-transaction", 'test "$1" != prepared || ! grep -q refs/heads/main')
    with pytest.raises(OperationRefused, match=r"git would not move main: .*nothing was changed"):
        land_branches(repo, "topic")
    assert (repo.status(), repo.files()) == ([], {"a.txt": "1"})
    assert landing_events(repo) == ["landing.started", "landing.finished not-moved"]
    (repo.path / ".git/hooks/reference-transaction").unlink()
    assert states(land_branches(repo, "topic")) == {"topic": "landed"}


def test_inside_a_hook_of_another_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, outer = make_repo(tmp_path / "repo"), make_repo(tmp_path / "outer")
    branch(repo, "topic", b="b\n")
    chosen = candidate(repo, "topic")
    outer.write("staged", "s\n")
    outer.git("add", "staged")
    repository, ledger = repo.repository, repo.ledger
    index = (outer.path / ".git/index").read_bytes()
    with monkeypatch.context() as patch:
        patch.setenv("GIT_DIR", str(outer.path / ".git"))
        patch.setenv("GIT_INDEX_FILE", str(outer.path / ".git/index"))
        patch.setenv("GIT_WORK_TREE", str(outer.path))
        options = LandingOptions(verify=('test -z "$(git status --porcelain)"',))
        report = land(repository, ledger, [chosen], options)
    assert states(report) == {"topic": "landed"}
    assert (outer.path / ".git/index").read_bytes() == index
    assert repo.status() == []


def test_what_is_written_in_the_ledger(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    branch(repo, "one", b="b\n")
    branch(repo, "two", c="c\n")
    unit = candidate(repo, "one", run="r1", unit="u", verdict="pass")
    report = land_branches(repo, unit, "two")
    events = repo.ledger.read().events
    assert [(event.kind, event.run, event.unit) for event in events] == [
        ("landing.started", "", ""),
        ("landing.landed", "r1", "u"),
        ("landing.landed", "", ""),
        ("landing.finished", "", ""),
    ]
    ends = {"target": "refs/heads/main", "old": report.old, "new": report.new}
    rows = [
        {
            "branch": name,
            "commit": item.commit,
            "tip": repo.oid(name),
            "resolved": [],
            "dropped": [],
            "suspects": [],
            "present": {"whole": 1, "united": [], "missing": []},
        }
        for name, item in zip(("one", "two"), report.items, strict=True)
    ]
    assert [dict(event.payload.as_json()) for event in events] == [
        {
            **ends,
            "checkout": str(repo.path),
            "branches": ["one", "two"],
            "order": "given",
            "landings": [{**rows[0], "run": "r1", "unit": "u"}, {**rows[1], "run": "", "unit": ""}],
        },
        {**rows[0], "target": "refs/heads/main"},
        {**rows[1], "target": "refs/heads/main"},
        {**ends, "outcome": "landed"},
    ]


def test_what_was_asked_ahead_is_no_answer_once_the_index_changed(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", b="2\n")
    repo.switch("main")
    git = repo.repository.git
    ahead = AskedAhead(git, index_stamp(repo.path / ".git"))
    git.ask_ahead(*STATUS)
    repo.write("staged", "s\n")
    repo.git("add", "staged")
    with pytest.raises(OperationRefused, match="has staged changes: staged"):
        land(repo.repository, repo.ledger, [candidate(repo, "topic")], LandingOptions(no_verify=True), ahead=ahead)
    assert git.run("rev-parse", "main").text.strip() == repo.oid("main")
