"""Clones: whole, usable, and without any way back to the user's repository."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gitprun.model.units import WorkspaceKind
from gitprun.workspaces.base import Workspace, WorkspaceProblem
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.pins import pin_source, unpin_source
from tests.support.cases import crossed
from tests.support.repos import Repo, make_bare, make_repo
from tests.support.workshop import fingerprint, open_workshop, pinned

BRANCH = "prun/r1/u"


def clone(repo: Repo, root: Path, base: str = "HEAD") -> tuple[Workspace, Repo]:
    workspace = make_clone(read_source(repo.repository), root / "r1" / "u", repo.oid(base), BRANCH)
    return workspace, Repo(workspace.path)


def inodes(path: Path) -> set[int]:
    return {os.lstat(os.path.join(folder, name)).st_ino for folder, _, names in os.walk(path) for name in names}


def test_a_clone_shares_no_file_and_knows_no_remote(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    repo.git("gc", "-q")
    repo.commit("loose", b_dot_txt="2\n")
    workspace, work = clone(repo, tmp_path / "w")
    assert (workspace.kind, workspace.branch, workspace.notes) == ("clone", BRANCH, ())
    assert inodes(work.path) & inodes(repo.path) == set()
    assert work.git("remote") == ""
    assert (work.head, work.git("branch", "--show-current"), work.status()) == (repo.head, BRANCH, [])
    assert not (work.path / ".git" / "hooks").exists()
    assert work.git("fsck", "--strict") == ""


def test_nothing_but_alternates_names_the_source(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "source-repo")
    _, work = clone(repo, tmp_path / "w")
    work.commit("own")
    named = [
        os.path.relpath(os.path.join(folder, name), work.path)
        for folder, _, names in os.walk(work.path)
        for name in names
        if b"source-repo" in Path(folder, name).read_bytes()
    ]
    assert named == [".git/objects/info/alternates"]


def test_branches_and_tags_are_there(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.branch("topic/a")
    repo.git("tag", "light")
    repo.git("tag", "-a", "v1", "-m", "one")
    repo.git("tag", "-a", "v2", "-m", "a tag of a tag", "v1")
    repo.git("tag", "blob", "HEAD:a.txt")
    repo.git("update-ref", "refs/heads/u\u2028sep", "HEAD")
    repo.git("pack-refs", "--all")
    main = repo.head
    repo.commit("unpacked")
    _, work = clone(repo, tmp_path / "w", main)
    refs = ("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", "refs/heads", "refs/tags")
    theirs = repo.git(*refs).split("\n")
    assert work.git(*refs).split("\n") == sorted([*theirs, f"refs/heads/{BRANCH} {main} "])
    assert work.git("rev-parse", "v2^{commit}", "v1^{}", "topic/a").split() == [main] * 3
    shown = work.git("show-ref", "--dereference", "v2", "v1").split("\n")
    assert [row for row in shown if row.endswith("^{}")] == [f"{main} refs/tags/v{n}^{{}}" for n in (1, 2)]


def test_a_ref_whose_object_is_lost_spoils_nothing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.write(".git/refs/heads/dangling", f"{'1' * 40}\n")
    workspace, work = clone(repo, tmp_path / "w")
    assert workspace.notes == ("refs/heads/dangling names an object that is not there, so it is not in the clone",)
    assert work.git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", f"refs/heads/{BRANCH}"]


@pytest.mark.parametrize("name", ["prun", "prun/r1", "prun/r1/u", "prun/r1/u/below"])
def test_a_branch_in_the_way_is_not_in_the_clone(tmp_path: Path, name: str) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.branch(name)
    workspace, work = clone(repo, tmp_path / "w")
    assert workspace.notes == (f"refs/heads/{name} is not in the clone: its name collides with refs/heads/{BRANCH}",)
    assert work.git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", f"refs/heads/{BRANCH}"]


def test_local_setup_is_carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n", w_dot_dat="1\n")
    monkeypatch.delenv("GIT_AUTHOR_NAME")
    monkeypatch.delenv("GIT_AUTHOR_EMAIL")
    repo.git("config", "user.name", 'Dev "One" \\ #; x')
    repo.git("config", "user.email", "dev@example.test")
    repo.git("config", "user.signingKey", "ABC")
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", 'filter.we"ird name.clean', "tr a-z A-Z")
    repo.git("config", "core.hooksPath", "/hooks")
    repo.git("config", "remote.origin.url", "https://user:token@example.test/x")
    repo.git("config", "http.extraHeader", "Authorization: secret")
    repo.write(".git/info/exclude", "secrets.txt\n")
    repo.write(".git/info/attributes", '*.dat filter="we"\n')
    repo.hook("commit-msg", "exit 1")
    _, work = clone(repo, tmp_path / "w")
    assert work.read("a.txt").encode() == b"1\n"
    assert (work.path / "a.txt").read_bytes() == b"1\r\n"
    assert (work.path / ".git" / "info" / "attributes").read_text() == '*.dat filter="we"\n'
    keys = ("user.name", "user.email", "core.autocrlf", 'filter.we"ird name.clean', "commit.gpgsign")
    values = [work.git("config", "--local", key) for key in keys]
    assert values == ['Dev "One" \\ #; x', "dev@example.test", "true", "tr a-z A-Z", "false"]
    text = (work.path / ".git" / "config").read_text()
    assert [word for word in ("token", "secret", "/hooks", "ABC", "remote") if word in text] == []
    work.write("secrets.txt", "x\n")
    work.commit("own", b_dot_txt="b\n")
    assert work.git("log", "-1", "--format=%an %ae") == 'Dev "One" \\ #; x dev@example.test'
    assert "secrets.txt" not in work.files()


def test_gc_of_the_users_repository_breaks_no_clone(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("short-lived", new=True)
    repo.commit("only here", only_dot_txt="here\n")
    shop = open_workshop(repo, tmp_path / "w")
    repo.switch("main")
    repo.git("branch", "-q", "-D", "short-lived")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert shop.work.files() == {"a.txt": "1", "only.txt": "here"}
    shop.work.commit("own", b_dot_txt="b\n")
    assert shop.capture().changed == ("b.txt",)
    repo.git("fsck", "--strict")


def test_a_shallow_source(tmp_path: Path) -> None:
    up = make_repo(tmp_path / "up")
    up.commit("second")
    up.git("clone", "-q", "--depth=1", f"file://{up.path}", str(tmp_path / "repo"))
    shop = open_workshop(Repo(tmp_path / "repo"), tmp_path / "w")
    assert shop.work.git("log", "--format=%s") == "second"
    shop.work.commit("own", b_dot_txt="b\n")
    assert (shop.capture().changed, list(shop.refs())) == (("b.txt",), ["head"])
    shop.repo.git("fsck")


def test_objects_behind_a_link(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    shutil.move(repo.path / ".git" / "objects", tmp_path / "bigdisk")
    (repo.path / ".git" / "objects").symlink_to(tmp_path / "bigdisk")
    shop = open_workshop(repo, tmp_path / "w")
    assert (shop.path / ".git/objects/info/alternates").read_text() == f"{tmp_path}/bigdisk\n"
    shop.work.commit("own", b_dot_txt="b\n")
    assert (shop.capture().changed, shop.work.head) == (("b.txt",), repo.oid("refs/prun/kept/r1/u/head"))


def test_objects_borrowed_by_the_source(tmp_path: Path) -> None:
    up = make_repo(tmp_path / "up")
    up.git("clone", "-q", "--shared", ".", str(tmp_path / "repo"))
    _, work = clone(Repo(tmp_path / "repo"), tmp_path / "w")
    assert work.files() == {"a.txt": "1"}


@pytest.mark.parametrize(
    ("name", "kind"),
    crossed(
        ("with space", "quo'te\"s", "new\nline", '"begins', "#begins", "grün:\u2028", "back\\slash"),
        ("clone", "worktree"),
    ),
)
def test_every_kind_of_path(tmp_path: Path, name: str, kind: WorkspaceKind) -> None:
    if kind == "worktree" and "\n" in name:
        pytest.skip("git cannot keep a linked worktree there")
    repo = make_repo(tmp_path / name / "repo")
    shop = open_workshop(repo, tmp_path / name / "w", kind)
    shop.work.commit("own", b_dot_txt="b\n")
    shop.work.write("a.txt", "2\n")
    found = shop.finish()
    assert (shop.files(found), set(shop.refs().values())) == (
        {"a.txt": "100644 2", "b.txt": "100644 b"},
        {shop.work.head},
    )
    assert shop.remove().removed
    assert not (tmp_path / name / "w").exists()


def test_a_bare_source(tmp_path: Path) -> None:
    hub = make_bare(tmp_path / "hub.git", make_repo(tmp_path / "up"))
    _, work = clone(hub, tmp_path / "w")
    assert (work.files(), work.git("rev-parse", "--is-bare-repository")) == ({"a.txt": "1"}, "false")


def test_a_partial_clone_is_said(tmp_path: Path) -> None:
    up = make_repo(tmp_path / "up")
    up.git("config", "uploadpack.allowFilter", "true")
    up.git("clone", "-q", "--filter=blob:none", f"file://{up.path}", str(tmp_path / "repo"))
    assert read_source(Repo(tmp_path / "repo").repository).notes == (
        "partial clone: objects that were never fetched are missing in a clone (use workspace = worktree)",
    )


def test_a_filter_that_is_not_installed_leaves_nothing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", _dot_gitattributes="*.bin filter=lfs -text\n", d_dot_bin="pointer\n")
    for way in ("clean", "smudge"):
        repo.git("config", f"filter.lfs.{way}", f"/nonexistent/git-lfs {way} %f")
    repo.git("config", "filter.lfs.required", "true")
    before = fingerprint(repo.path)
    with pytest.raises(WorkspaceProblem) as caught:
        clone(repo, tmp_path / "w")
    assert caught.value.message == (
        "the checkout needs a filter program that does not work: "
        "external filter '/nonexistent/git-lfs smudge %f' failed 127"
    )
    assert "/nonexistent/git-lfs: not found" in caught.value.hint
    assert list((tmp_path / "w" / "r1").iterdir()) == []
    assert fingerprint(repo.path) == before


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    (tmp_path / "w" / "r1" / "u").mkdir(parents=True)
    with pytest.raises(WorkspaceProblem, match="is already there"):
        clone(repo, tmp_path / "w")
    (tmp_path / "w" / "r1" / "u").rmdir()
    (tmp_path / "w" / "r1").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "w" / "r1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceProblem, match="is a link or no folder"):
        clone(repo, tmp_path / "w")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_units_that_differ_in_case_only_have_folders_of_their_own(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    shops = [open_workshop(repo, tmp_path / "w", unit=unit) for unit in ("feat-login", "feat_login", "feat-Login")]
    assert len({shop.site.workspace.identity for shop in shops}) == 3
    assert len({shop.site.workspace.index for shop in shops}) == 3


@pytest.mark.parametrize("linked", [False, True])
def test_no_gc_takes_away_what_a_clone_began_with(tmp_path: Path, linked: bool) -> None:
    repo = make_repo(tmp_path / "repo")
    if linked:
        shutil.move(repo.path / ".git" / "objects", tmp_path / "bigdisk")
        (repo.path / ".git" / "objects").symlink_to(tmp_path / "bigdisk")
    repo.git("branch", "merged")
    repo.commit("main goes on")
    for name in ("topic/a", "topic/b"):
        repo.switch(name, new=True, start="main")
        repo.commit(name, **{f"{name[-1]}_dot_txt": name})
    repo.git("tag", "-a", "v1", "-m", "one")
    repo.git("tag", "-a", "v2", "-m", "a tag of a tag", "v1")
    repo.git("tag", "-a", "text", "-m", "a text", "HEAD:b.txt")
    repo.git("tag", "folder", "HEAD^{tree}")
    repo.switch("main")
    work = pinned(repo, tmp_path / "w")
    refs = work.git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)")
    for kind, names in (("branch", ("merged", "topic/a", "topic/b")), ("tag", ("v1", "v2", "text", "folder"))):
        repo.git(kind, "-q", "-D", *names) if kind == "branch" else repo.git(kind, "-d", *names)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert work.git("fsck", "--connectivity-only", "--no-dangling") == ""
    assert work.git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)") == refs
    assert sorted(work.git("log", "--all", "--format=%s").split("\n")) == ["base", "main goes on", "topic/a", "topic/b"]
    assert (work.files("v2^{commit}")["b.txt"], work.git("cat-file", "-p", "text^{}")) == ("topic/b", "topic/b")
    assert work.git("ls-tree", "--name-only", "folder").split() == ["a.txt", "b.txt"]
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def test_what_clones_begin_with_is_pinned_once(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    before = repo.git("count-objects")
    repo.git("branch", "same")
    repo.git("tag", "light")
    source = read_source(repo.repository)
    assert pin_source(repo.repository, "r1", source, repo.head) == source
    assert (repo.git("for-each-ref", "refs/prun"), repo.git("count-objects")) == ("", before)
    repo.switch("topic", new=True)
    topic = repo.commit("topic", t_dot_txt="t\n")
    repo.git("tag", "-a", "v1", "-m", "one")
    repo.switch("main")
    pins, tags = [], []
    for _ in range(2):
        tags.append(pin_source(repo.repository, "r1", read_source(repo.repository), repo.head).tags)
        pins.append(repo.oid("refs/prun/base-tips/r1"))
    assert (pins[0], tags[0]) == (pins[1], tags[1])
    assert repo.git("log", "-1", "--format=%P|%an|%s", pins[0]) == (
        f"{topic}|git prun|keeps what clones of r1 started with"
    )
    repo.switch("later", new=True)
    later = repo.commit("later", l_dot_txt="t\n")
    repo.switch("main")
    pin_source(repo.repository, "r1", read_source(repo.repository), repo.head)
    assert repo.git("log", "-1", "--format=%P", "refs/prun/base-tips/r1") == " ".join(
        [pins[0], *sorted([topic, later])]
    )
    for _ in range(2):
        unpin_source(repo.repository, "r1")
    assert repo.git("for-each-ref", "refs/prun") == ""
    assert list((repo.repository.state / "runs" / "r1").iterdir()) == []


def test_tags_of_a_clone_are_files_of_its_own(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.git("tag", "-a", "v1", "-m", "one")
    work = pinned(repo, tmp_path / "w")
    assert inodes(work.path) & inodes(repo.path) == set()
    assert work.git("cat-file", "tag", "v1") == repo.git("cat-file", "tag", "v1")
    work.git("gc", "-q")
    assert work.git("fsck", "--strict") == ""
