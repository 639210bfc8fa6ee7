"""Remote-tracking refs: readable in a clone that has no remote, never lost under it, never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.workspaces import remotes
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.pins import pin_source, started_with, unpin_source
from tests.support.repos import Repo, make_bare, make_repo
from tests.support.workshop import pinned

BRANCH = "prun/r1/u"
ALL = ("for-each-ref", "--format=%(refname) %(objectname) %(symref)", "refs/remotes")


def clone(repo: Repo, root: Path) -> Repo:
    return Repo(make_clone(read_source(repo.repository), root / "r1" / "u", repo.head, BRANCH).path)


def forget_history(repo: Repo) -> None:
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make a clone of an origin, one commit ahead of it."""
    up = make_repo(tmp_path / "up")
    up.branch("feature/x")
    up.git("clone", "-q", str(up.path), str(tmp_path / "repo"))
    made = Repo(tmp_path / "repo")
    made.commit("local", c_dot_txt="c\n")
    return made


@pytest.mark.parametrize("packed", [False, True])
def test_what_checks_ask_of_origin_is_answered(repo: Repo, tmp_path: Path, packed: bool) -> None:
    if packed:
        repo.git("pack-refs", "--all")
    work = clone(repo, tmp_path / "w")
    origin = repo.oid("origin/main")
    assert (
        work.git(*ALL)
        == repo.git(*ALL)
        == (
            f"refs/remotes/origin/HEAD {origin} refs/remotes/origin/main\n"
            f"refs/remotes/origin/feature/x {origin} \n"
            f"refs/remotes/origin/main {origin} "
        )
    )
    assert work.git("diff", "--name-only", "origin/main...") == "c.txt"
    assert work.git("merge-base", "HEAD", "origin/main") == origin
    assert work.git("rev-parse", "origin", "origin/HEAD", "origin/feature/x").split() == [origin] * 3
    assert work.git("rev-parse", "--abbrev-ref", "origin/HEAD") == "origin/main"
    assert work.git("symbolic-ref", "refs/remotes/origin/HEAD") == "refs/remotes/origin/main"
    assert work.git("log", "--format=%s", "origin/main..") == "local"
    assert work.git("switch", "-q", "-c", "mine", "origin/feature/x") == ""
    assert work.git("fsck", "--strict") == ""


def test_there_is_no_remote_all_the_same(repo: Repo, tmp_path: Path) -> None:
    work = clone(repo, tmp_path / "w")
    assert (work.git("remote"), work.git("config", "--get-regexp", r"^(remote|branch)\.", ok=(1,))) == ("", "")
    for words in (("push",), ("push", "origin", "HEAD"), ("fetch", "origin"), ("rev-parse", "@{upstream}")):
        work.git(*words, ok=(1, 128))
    assert str(tmp_path / "up").encode() not in b"".join(
        each.read_bytes() for each in (work.path / ".git").rglob("*") if each.is_file()
    )


def test_the_file_is_one_git_need_not_sort(repo: Repo, tmp_path: Path) -> None:
    repo.git("tag", "-a", "v1", "-m", "one")
    repo.git("update-ref", "refs/heads/zz", "HEAD")
    repo.git("update-ref", "refs/heads/grün\u2028", "HEAD")
    # A remote's ref that is a tag, as some bridges make them: what it means in the end is not in the file.
    repo.git("update-ref", "refs/remotes/svn/tags/v1", repo.oid("v1"))
    work = clone(repo, tmp_path / "w")
    head, *rows = (work.path / ".git" / "packed-refs").read_bytes().split(b"\n")[:-1]
    names = [row.split(b" ")[1] for row in rows if not row.startswith(b"^")]
    assert (head, names) == (b"# pack-refs with: peeled sorted ", sorted(names))
    assert work.git("rev-parse", "svn/tags/v1^{}", "v1^{}").split() == [repo.head] * 2
    assert work.git("show-ref", "-d", "svn/tags/v1").split("\n")[1] == f"{repo.head} refs/remotes/svn/tags/v1^{{}}"
    assert {row.split(" ")[0] for row in work.git("show-ref").split("\n")} == {
        repo.head,
        repo.oid("v1"),
        repo.oid("origin/main"),
    }
    work.git("pack-refs", "--all")
    work.git("gc", "-q")
    assert work.git("rev-parse", "--abbrev-ref", "origin/HEAD") == "origin/main"


@pytest.mark.parametrize(
    "name", ["grün/\u2028x", "a/HEAD/b", "HEAD", "prun/r1/u", "heads/main", "o'\"$(x)`;&|", "a.b/-c", "@", "x" * 200]
)
def test_every_name_a_remote_may_give(repo: Repo, tmp_path: Path, name: str) -> None:
    repo.git("update-ref", f"refs/remotes/up/{name}", "HEAD")
    work = clone(repo, tmp_path / "w")
    assert work.git(*ALL) == repo.git(*ALL)
    assert work.oid(f"refs/remotes/up/{name}") == repo.head


def test_bytes_that_are_no_utf8(repo: Repo, tmp_path: Path) -> None:
    repo.git(b"update-ref", b"refs/remotes/up/\xff\xfe", b"HEAD")
    repo.git(b"symbolic-ref", b"refs/remotes/\xff/HEAD", b"refs/remotes/up/\xff\xfe")
    assert clone(repo, tmp_path / "w").git(*ALL) == repo.git(*ALL)


def test_symbolic_refs_of_every_kind(repo: Repo, tmp_path: Path) -> None:
    for name, target in (
        ("up/HEAD", "refs/remotes/up2/HEAD"),
        ("up2/HEAD", "refs/remotes/origin/main"),
        ("origin/current", "refs/remotes/origin/main"),
        ("local/HEAD", "refs/heads/main"),
        ("gone/HEAD", "refs/remotes/gone/main"),
    ):
        repo.git("symbolic-ref", f"refs/remotes/{name}", target)
    source = read_source(repo.repository)
    work = clone(repo, tmp_path / "w")
    shown = ("for-each-ref", "--format=%(refname) %(objectname)", "refs/remotes")
    assert work.git(*shown) == repo.git(*shown)
    # One that leads nowhere is none in your checkout either, and nothing is said about it.
    assert (source.notes, "refs/remotes/gone" in work.git(*ALL)) == ((), False)
    assert ("refs/remotes/origin/HEAD", "refs/remotes/origin/main") in source.remotes.symbolic
    assert work.git("rev-parse", "up", "local", "origin/current").split() == [
        repo.oid("origin/main"),
        repo.head,
        repo.oid("origin/main"),
    ]


def test_broken_ones_are_passed_over_with_one_note(repo: Repo, tmp_path: Path) -> None:
    good = repo.git(*ALL)
    repo.write(".git/refs/remotes/origin/empty", "")
    repo.write(".git/refs/remotes/origin/junk", "junk\n")
    repo.write(".git/refs/remotes/origin/no..name", f"{repo.head}\n")
    for number in range(3):
        repo.write(f".git/refs/remotes/origin/lost{number}", f"{number + 1}" * 40 + "\n")
    source = read_source(repo.repository)
    assert source.notes == (
        "refs/remotes/origin/empty and 5 more: broken, or the object is not there, so not in the clone",
    )
    work = clone(repo, tmp_path / "w")
    assert work.git(*ALL) == good
    assert work.git("log", "--all", "--format=%s", "origin/main..").split() == ["local"]


def test_a_lost_branch_costs_no_remote(repo: Repo, tmp_path: Path) -> None:
    good = repo.git(*ALL)
    repo.write(".git/refs/heads/dangling", f"{'1' * 40}\n")
    assert read_source(repo.repository).notes == (
        "refs/heads/dangling names an object that is not there, so it is not in the clone",
    )
    assert clone(repo, tmp_path / "w").git(*ALL) == good


def test_too_many_are_said(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remotes, "LARGEST", 100)
    assert read_source(repo.repository).notes == (
        "refs/remotes is not in the clone: it holds 3 refs, which is too many",
    )
    assert clone(repo, tmp_path / "w").git(*ALL) == ""


def test_a_shallow_clone_of_a_clone(tmp_path: Path) -> None:
    up = make_repo(tmp_path / "up")
    up.commit("second")
    up.git("clone", "-q", "--depth=1", "--no-single-branch", f"file://{up.path}", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    repo.commit("local", b_dot_txt="b\n")
    work = pinned(repo, tmp_path / "w")
    assert work.git("log", "--format=%s", "origin/main") == "second"
    assert work.git("diff", "--name-only", "origin...") == "b.txt"
    repo.git("fsck")


def test_a_bare_source_with_remotes(repo: Repo, tmp_path: Path) -> None:
    hub = make_bare(tmp_path / "hub.git", repo)
    hub.git("update-ref", "refs/remotes/origin/x", "HEAD")
    assert clone(hub, tmp_path / "w").oid("origin/x") == hub.head


@pytest.mark.parametrize("count", [3, 100])
def test_no_gc_takes_away_what_only_remotes_held(repo: Repo, tmp_path: Path, count: int) -> None:
    base = repo.head
    for number in range(count):
        repo.git("update-ref", f"refs/remotes/up/b{number}", make_commit(repo, base, f"n{number}"))
    repo.git("tag", "-a", "t", "-m", "a tag that is a remote's alone", repo.oid("refs/remotes/up/b0"))
    repo.git("update-ref", "refs/remotes/up/tag", repo.oid("t"))
    repo.git("update-ref", "refs/remotes/up/blob", repo.oid("HEAD:c.txt"))
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"nowhere else\n")
    repo.git("update-ref", "refs/remotes/up/text", blob)
    repo.git("tag", "-d", "t")
    work = pinned(repo, tmp_path / "w")
    refs = work.git(*ALL)
    assert refs == repo.git(*ALL)
    for row in repo.git("for-each-ref", "--format=%(refname)", "refs/remotes").split():
        repo.git("update-ref", "--no-deref", "-d", row)
    forget_history(repo)
    assert (work.git(*ALL), work.git("fsck", "--connectivity-only", "--no-dangling")) == (refs, "")
    assert work.git("cat-file", "blob", "up/text") == "nowhere else"
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    unpin_source(repo.repository, "r1")
    forget_history(repo)
    assert repo.git("cat-file", "-e", blob, ok=(1,)) == ""


def make_commit(repo: Repo, base: str, message: str) -> str:
    return repo.git("commit-tree", "-p", base, "-m", message, f"{base}^{{tree}}")


def test_many_are_held_by_a_chain_made_once(repo: Repo, tmp_path: Path) -> None:
    base = repo.head
    tips = [make_commit(repo, base, f"n{number}") for number in range(100)]
    for number, tip in enumerate(tips):
        repo.git("update-ref", f"refs/remotes/up/b{number}", tip)
    for run in ("r1", "r1", "r2"):
        pin_source(repo.repository, run, read_source(repo.repository), base)
    chains = [repo.git("log", "-1", "--format=%P", f"refs/prun/base-tips/{run}") for run in ("r1", "r2")]
    assert chains[0] == chains[1]
    # 100 and origin's own: three commits of 32 others, and one of five.
    widths = repo.git("rev-list", "--first-parent", "--parents", "--max-count=4", chains[0]).split("\n")
    assert [len(row.split()) - 1 for row in widths] == [6, 33, 33, 32]
    assert started_with(repo.repository, "r1") >= {*tips, repo.oid("origin/main")}
    # They move: what earlier clones of the run began with stays held beside what is there now.
    later = make_commit(repo, base, "later")
    repo.git("update-ref", "refs/remotes/up/b0", later)
    pin_source(repo.repository, "r1", read_source(repo.repository), base)
    assert started_with(repo.repository, "r1") >= {*tips, later}
    assert later not in started_with(repo.repository, "r2")
    assert started_with(repo.repository, "r3") == frozenset()


def test_a_chain_holds_for_a_run_on_another_base(repo: Repo, tmp_path: Path) -> None:
    base = repo.head
    for number in range(40):
        repo.git("update-ref", f"refs/remotes/up/b{number}", make_commit(repo, base, f"n{number}"))
    first = repo.oid("refs/remotes/up/b0")
    for run, at in (("r1", first), ("r2", base)):
        pin_source(repo.repository, run, read_source(repo.repository), at)
    assert first in started_with(repo.repository, "r2")
    unpin_source(repo.repository, "r1")
    repo.git("update-ref", "-d", "refs/remotes/up/b0")
    forget_history(repo)
    assert repo.git("log", "-1", "--format=%s", first) == "n0"


def test_what_is_at_the_base_needs_no_pin(tmp_path: Path) -> None:
    up = make_repo(tmp_path / "up")
    up.git("clone", "-q", str(up.path), str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    pinned(repo, tmp_path / "w")
    assert repo.git("for-each-ref", "refs/prun") == ""
