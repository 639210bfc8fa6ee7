"""A branch that takes back work of others it has, without a word, does not land by itself; one that says so does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.landing.choose import choose
from gitprun.landing.plan import LandingReport
from gitprun.model.findings import Suspect
from gitprun.model.names import Oid
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

LINES = "".join(f"{number}\n" for number in range(12))


def land(repo: Repo, *names: str, **options: object) -> LandingReport:
    """Land branches by name, with all that is known of them."""
    chosen = choose(repo.repository, repo.ledger.read().history, names, allow_unverified=False)
    return land_branches(repo, *chosen.candidates, **options)


def started(path: Path) -> tuple[Repo, Oid]:
    """Make a repository with a branch ``topic``, and a commit on main that came after it began."""
    repo = make_repo(path, mine="1\n", s="s1\n", t="t1\n", long=LINES)
    repo.branch("topic")
    main = repo.commit("meanwhile", other="o\n", s="s2\n", t="t2\n")
    return repo, main


def commit_old_tree(repo: Repo, message: str, *, onto: str = "main", **files: str) -> None:
    """Commit the topic's own tree with a change, its parent being another commit than it was made from."""
    repo.switch("topic")
    for name, content in files.items():
        repo.write(name, content)
    repo.git("add", "-A")
    repo.git("reset", "-q", "--soft", onto)
    repo.git("commit", "-q", "-m", message)
    repo.switch("main")


def forget_where_it_began(repo: Repo) -> None:
    (repo.path / ".git/logs/refs/heads/topic").unlink()


def said(commit: Oid) -> str:
    return f"the branch takes back what {commit[:10]} did here, and no commit of it says so"


@pytest.mark.parametrize("known", [True, False])
def test_an_old_tree_on_a_new_parent(tmp_path: Path, known: bool) -> None:
    repo, main = started(tmp_path / "repo")
    commit_old_tree(repo, "topic", mine="2\n")
    if not known:
        forget_where_it_began(repo)
    report = land(repo, "topic")
    [item] = report.items
    # What the commit added is gone too.
    assert (item.state, item.suspects) == (
        "suspect",
        tuple(Suspect(path=p, reason=said(main)) for p in ("other", "s", "t")),
    )
    assert (report.new, landing_events(repo), repo.status()) == (main, [], [])
    report = land(repo, "topic", allow_suspect=("other", "s", "t"))
    assert (states(report), report.notes) == (
        {"topic": "landed"},
        (f"topic: landed although it is suspect: other: {said(main)} (and 2 more)",),
    )


@pytest.mark.parametrize(
    "message", ['Revert "meanwhile"', "topic\n\nIt rolls back s and t.", "topic, without {main}", "Back out what came"]
)
def test_a_branch_that_says_so(tmp_path: Path, message: str) -> None:
    repo, main = started(tmp_path / "repo")
    commit_old_tree(repo, message.replace("{main}", main[:12]), mine="2\n")
    report = land(repo, "topic")
    assert (states(report), report.notes) == ({"topic": "landed"}, ())
    assert repo.read("s") == "s1\n"


def test_a_revert_of_something_else_says_nothing(tmp_path: Path) -> None:
    repo, _main = started(tmp_path / "repo")
    commit_old_tree(repo, "topic", mine="2\n")
    repo.switch("topic")
    repo.commit("Revert a change to long", long=LINES + "more\n")
    repo.switch("main")
    assert states(land(repo, "topic")) == {"topic": "suspect"}


def test_a_single_older_version_is_shown(tmp_path: Path) -> None:
    repo, main = started(tmp_path / "repo")
    repo.switch("work", new=True)
    repo.commit("s is better so", s="s1\n", mine="2\n")
    repo.switch("main")
    report = land(repo, "work")
    assert (states(report), report.notes) == ({"work": "landed"}, (f"work: s is as it was before {main[:10]}",))


def test_what_was_only_added_and_goes_as_a_whole(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    main = repo.commit("two files", one="1\n", two="2\n")
    repo.switch("half", new=True)
    repo.git("rm", "-q", "one")
    repo.commit("one less")
    repo.switch("whole", new=True, start="main")
    repo.git("rm", "-q", "one", "two")
    repo.commit("tidy")
    repo.switch("main")
    report = land(repo, "whole", "half")
    assert states(report) == {"whole": "suspect", "half": "landed"}
    assert report.items[0].suspects == tuple(Suspect(path=p, reason=said(main)) for p in ("one", "two"))
    assert report.notes == ()


def test_of_what_came_after_it_began_one_path_is_enough(tmp_path: Path) -> None:
    repo, main = started(tmp_path / "repo")
    repo.switch("topic")
    repo.git("merge", "-q", "--ff-only", "main")
    repo.commit("topic", s="s1\n", mine="2\n")
    repo.switch("main")
    [item] = land(repo, "topic").items
    assert (item.state, item.suspects) == ("suspect", (Suspect(path="s", reason=said(main)),))
    # Where nobody knows when it began, it is one older version.
    forget_where_it_began(repo)
    report = land(repo, "topic")
    assert (states(report), report.notes) == ({"topic": "landed"}, (f"topic: s is as it was before {main[:10]}",))


def test_a_file_that_came_after_it_began_is_not_its_to_delete(tmp_path: Path) -> None:
    repo, main = started(tmp_path / "repo")
    repo.switch("topic")
    repo.git("merge", "-q", "--ff-only", "main")
    repo.git("rm", "-q", "other")
    repo.commit("topic", mine="2\n")
    repo.switch("main")
    [item] = land(repo, "topic").items
    assert item.suspects == (Suspect(path="other", reason=said(main)),)


def test_lines_that_came_after_it_began_in_a_file_it_changed_too(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", long=LINES)
    repo.branch("topic")
    main = repo.commit("fix", long=LINES.replace("1\n", "one\n", 1))
    commit_old_tree(repo, "topic", long=LINES.replace("9\n", "nine\n"))
    [item] = land(repo, "topic").items
    assert (item.state, item.suspects) == ("suspect", (Suspect(path="long", reason=said(main)),))


@pytest.mark.parametrize("way", ["rebase", "merge", "squash"])
def test_a_branch_that_followed_honestly(tmp_path: Path, way: str) -> None:
    repo = make_repo(tmp_path / "repo", long=LINES, s="s1\n", gone="g\n")
    repo.switch("topic", new=True)
    repo.commit("topic", long=LINES.replace("9\n", "nine\n"), mine="1\n")
    repo.switch("main")
    repo.git("rm", "-q", "gone")
    repo.commit("fix", long=LINES.replace("1\n", "one\n", 1), s="s2\n", other="o\n")
    repo.switch("topic")
    if way == "rebase":
        repo.git("rebase", "-q", "main")
    elif way == "merge":
        repo.git("merge", "-q", "--no-edit", "main")
    else:
        repo.git("merge", "-q", "--squash", "main")
        repo.git("commit", "-q", "-m", "squashed main")
    repo.commit("more", mine="2\n")
    repo.switch("main")
    report = land(repo, "topic")
    assert (states(report), report.notes) == ({"topic": "landed"}, ())


def test_what_main_changed_to_and_fro_is_nobody_elses_doing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", s="s1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", mine="1\n")
    repo.switch("main")
    repo.commit("there", s="s2\n")
    repo.commit("and back", s="s1\n")
    repo.switch("topic")
    repo.git("merge", "-q", "--no-edit", "main")
    repo.commit("more", mine="2\n")
    repo.switch("main")
    report = land(repo, "topic")
    assert (states(report), report.notes) == ({"topic": "landed"}, ())


def test_a_tree_that_was_mended_is_judged_as_it_is(tmp_path: Path) -> None:
    repo, _main = started(tmp_path / "repo")
    commit_old_tree(repo, "topic", mine="2\n")
    chosen = choose(repo.repository, repo.ledger.read().history, ["topic"], allow_unverified=False).candidates[0]
    repo.git("checkout", "-q", "--detach", "main")
    mended = repo.commit("mended", mine="2\n")
    repo.switch("main")
    from dataclasses import replace

    report = land_branches(repo, replace(chosen, mended=mended))
    assert (states(report), report.notes) == ({"topic": "landed"}, ())
    assert repo.files() == {"mine": "2", "s": "s2", "t": "t2", "other": "o", "long": LINES.rstrip("\n")}


def test_a_merge_of_main_that_kept_nothing_of_it(tmp_path: Path) -> None:
    """Renames, adds and deletes are no findings of that merge; that all of a commit is gone is one."""
    repo = make_repo(tmp_path / "repo", mine="1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", mine="2\n")
    repo.switch("main")
    main = repo.commit("two files", one="1\n", two="2\n")
    repo.switch("topic")
    repo.git("merge", "-q", "-s", "ours", "-m", "Merge main", "main")
    merge = repo.head
    repo.switch("main")
    report = land(repo, "topic")
    [item] = report.items
    assert item.suspects == tuple(Suspect(path=path, reason=said(main)) for path in ("one", "two"))
    assert report.notes == tuple(
        f"topic: {path}: the merge {merge[:10]} in the branch left out what {main[:10]} had added"
        for path in ("one", "two")
    )


@pytest.mark.parametrize(
    ("log", "first"),
    [
        ("", ""),
        (f"{'0' * 40} {'a' * 40} W <w@x> 1 +0000\tbranch: Created from main\n{'a' * 40} {'b' * 40} x\n", "a" * 40),
        # Made anew under its old name.
        (
            f"{'0' * 40} {'a' * 40} W <w@x> 1 +0000\tbranch: Created from main\n"
            f"{'a' * 40} {'b' * 40} W <w@x> 1 +0000\tbranch: Reset to main\n"
            f"{'b' * 40} {'c' * 40} W <w@x> 1 +0000\treset: moving to main\n",
            "b" * 40,
        ),
        # The entries before it are expired.
        (f"{'a' * 40} {'b' * 40} W <w@x> 1 +0000\tcommit: x\n", "a" * 40),
        ("no log\n", ""),
        (f"{'0' * 40} {'0' * 40} x\n", ""),
    ],
)
def test_where_a_branch_began(tmp_path: Path, log: str, first: str) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.branch("topic")
    (repo.path / ".git/logs/refs/heads/topic").write_text(log)
    [found] = choose(repo.repository, repo.ledger.read().history, ["topic"], allow_unverified=False).candidates
    assert found.made == first


def test_a_beginning_that_is_gone_is_not_known(tmp_path: Path) -> None:
    repo, _main = started(tmp_path / "repo")
    repo.switch("topic")
    repo.git("merge", "-q", "--ff-only", "main")
    repo.commit("topic", s="s1\n")
    repo.switch("main")
    (repo.path / ".git/logs/refs/heads/topic").write_text(f"{'0' * 40} {'a' * 40} W <w@x> 1 +0000\tx\n")
    assert states(land(repo, "topic")) == {"topic": "landed"}


def test_a_target_of_one_commit_and_a_beginning_in_another_history(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("topic", new=True)
    repo.commit("topic", mine="1\n")
    alien = repo.git("commit-tree", "-m", "alien", "HEAD^{tree}")
    repo.switch("main")
    (repo.path / ".git/logs/refs/heads/topic").write_text(f"{'0' * 40} {alien} W <w@x> 1 +0000\tx\n")
    assert states(land(repo, "topic")) == {"topic": "landed"}


def test_a_shallow_history_is_asked_as_far_as_it_goes(tmp_path: Path) -> None:
    full = make_repo(tmp_path / "full", s="s1\n")
    full.commit("two", s="s2\n")
    full.commit("three", s="s3\n")
    repo = Repo(tmp_path / "repo")
    repo.path.mkdir()
    repo.git("clone", "-q", "--depth", "2", f"file://{full.path}", ".")
    repo.switch("topic", new=True)
    repo.commit("an older one", s="s1\n")
    repo.switch("main")
    assert states(land(repo, "topic")) == {"topic": "landed"}
    full.commit("four", s="s4\n")
    repo.git("fetch", "-q", "--depth", "2", "origin", "main")
    repo.switch("again", new=True, start="FETCH_HEAD")
    repo.commit("and back", s="s3\n")
    repo.git("checkout", "-q", "-B", "main", "FETCH_HEAD")
    [item] = land(repo, "again").items
    assert (item.state, item.suspects) == ("suspect", (Suspect(path="s", reason=said(full.head)),))
