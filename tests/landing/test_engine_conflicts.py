"""Conflicts are told path by path, and leave no trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitprun.model.findings import ConflictPath
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo


def trace(repo: Repo) -> tuple[object, ...]:
    """Give everything a refused landing must leave alone."""
    names = sorted(str(path.relative_to(repo.path)) for path in repo.path.rglob("*") if ".git" not in path.parts)
    files = [(repo.path / name).read_bytes() for name in names if (repo.path / name).is_file()]
    left = [name for name in ("MERGE_HEAD", "MERGE_MSG", "ORIG_HEAD") if (repo.path / ".git" / name).exists()]
    refs = repo.git("for-each-ref")
    return names, files, left, refs, repo.head, repo.status(), repo.git("ls-files", "-s"), repo.git("worktree", "list")


def test_no_side_is_ever_picked(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", app_dot_py="def f(u):\n    return u\n\n\n\ndef g():\n    return 0\n")
    repo.switch("topic", new=True)
    repo.commit("fix", app_dot_py="def f(u):\n    return check(u)\n\n\n\ndef g():\n    return 7\n")
    repo.switch("main")
    repo.commit("log", app_dot_py="def f(u):\n    return logged(u)\n\n\n\ndef g():\n    return 0\n")
    before = trace(repo)
    report = land_branches(repo, "topic")
    [item] = report.items
    assert (item.state, item.reason, item.commit) == ("conflict", "conflicts with main in 1 path", "")
    [conflict] = item.conflicts
    assert replace(conflict, reason="") == ConflictPath(
        path="app.py", kind="contents", detail="CONFLICT (content): Merge conflict in app.py"
    )
    assert conflict.reason not in ("", "not tried: more than the content is in conflict")
    assert report.new == report.old == repo.head
    assert trace(repo) == before
    assert landing_events(repo) == []


def test_modified_here_deleted_there(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", legacy_dot_py="a\nb\nc\n", util_dot_py="u\nv\nw\n")
    repo.switch("topic", new=True)
    repo.git("rm", "-q", "util.py")
    repo.commit("topic", legacy_dot_py="a\nb2\nc\n")
    repo.switch("main")
    repo.git("rm", "-q", "legacy.py")
    repo.commit("main", util_dot_py="u\nv2\nw\n")
    before = trace(repo)
    [item] = land_branches(repo, "topic").items
    assert item.conflicts == (
        ConflictPath(
            path="legacy.py",
            kind="modify/delete",
            detail="CONFLICT (modify/delete): legacy.py deleted in main and modified in topic."
            " Version topic of legacy.py left in tree.",
            reason="not tried: more than the content is in conflict",
        ),
        ConflictPath(
            path="util.py",
            kind="modify/delete",
            detail="CONFLICT (modify/delete): util.py deleted in topic and modified in main."
            " Version main of util.py left in tree.",
            reason="not tried: more than the content is in conflict",
        ),
    )
    assert trace(repo) == before


def test_both_sides_renamed(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", x_dot_py="1\n2\n3\n4\n5\n6\n", y_dot_txt="a\nb\nc\nd\ne\nf\n")
    repo.switch("topic", new=True)
    for old, new in (("x.py", "lib/x.py"), ("y.txt", "z.txt")):
        (repo.path / new).parent.mkdir(exist_ok=True)
        repo.git("mv", old, new)
    repo.commit("topic", z_dot_txt="a\nb\nc\nd\ne\nAGENT\n")
    repo.switch("main")
    for old, new in (("x.py", "core/x.py"), ("y.txt", "z.txt")):
        (repo.path / new).parent.mkdir(exist_ok=True)
        repo.git("mv", old, new)
    repo.commit("main", z_dot_txt="a\nb\nc\nd\ne\nMAIN\n")
    [item] = land_branches(repo, "topic").items
    assert [(one.path, one.kind) for one in item.conflicts] == [
        ("core/x.py", "rename/rename"),
        ("lib/x.py", "rename/rename"),
        ("x.py", "rename/rename"),
        ("z.txt", "contents"),
    ]


def test_a_conflicting_branch_is_set_aside_and_the_others_land(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n")
    for name in ("one", "two", "three"):
        repo.switch(name, new=True, start="main")
        repo.commit(name, **{"f" if name != "three" else "g": f"{name}\n"})
    repo.switch("main")
    report = land_branches(repo, "one", "two", "three")
    assert states(report) == {"one": "landed", "two": "conflict", "three": "landed"}
    assert report.items[1].reason == "conflicts with what lands before it in 1 path"
    assert repo.files() == {"f": "one", "g": "three"}
    assert repo.status() == []


def test_histories_without_a_common_commit(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", b="1\n")
    unit = make_repo(tmp_path / "unit", a="2\n")
    repo.git("fetch", "-q", str(unit.path), "main:topic")
    before = trace(repo)
    [item] = land_branches(repo, "topic").items
    assert (item.state, item.reason) == ("unrelated", "it shares no history with main")
    assert trace(repo) == before


def test_a_criss_cross_merge_is_gits_alone(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n2\n3\n4\n5\n6\n7\n8\n")
    repo.switch("topic", new=True)
    topic = repo.commit("a1", f="1\n2\n3\n4\n5\n6\n7\nAGENT\n")
    repo.switch("main")
    main = repo.commit("m1", f="MAIN\n2\n3\n4\n5\n6\n7\n8\n")
    repo.git("merge", "-q", "--no-ff", "-m", "main<-a", topic)
    repo.switch("topic")
    repo.git("merge", "-q", "--no-ff", "-m", "a<-main", main)
    repo.commit("a2", f="MAIN\n2\n3\nagent-two\n5\n6\n7\nAGENT\n")
    repo.switch("main")
    repo.commit("m2", g="g\n")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert report.notes == ("topic: 2 merge bases (criss-cross), merged by git alone",)
    assert repo.read("f") == "MAIN\n2\n3\nagent-two\n5\n6\n7\nAGENT\n"


def submodule(tmp_path: Path) -> Repo:
    lib = make_repo(tmp_path / "lib", l="0\n")
    lib.switch("m", new=True)
    lib.commit("m1", m="m\n")
    lib.switch("a", new=True, start="main")
    lib.commit("a1", a="a\n")
    lib.switch("main")
    repo = make_repo(tmp_path / "repo")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(lib.path), "lib")
    repo.commit("base")
    return repo


def test_submodules_that_went_apart(tmp_path: Path) -> None:
    repo = submodule(tmp_path)
    lib = Repo(repo.path / "lib")
    base, m1, a1 = (lib.oid(name) for name in ("origin/main", "origin/m", "origin/a"))
    repo.branch("topic")
    lib.git("checkout", "-q", m1)
    repo.commit("bump m1")
    repo.switch("topic")
    lib.git("checkout", "-q", a1)
    repo.commit("bump a1")
    repo.switch("main")
    lib.git("checkout", "-q", m1)
    [item] = land_branches(repo, "topic").items
    assert item.state == "conflict"
    [conflict] = item.conflicts
    assert (conflict.path, conflict.kind) == ("lib", "submodule") or "submodule" in conflict.kind
    for part in (f"base has {base[:10]}", f"the main side has {m1[:10]}", f"the unit side has {a1[:10]}"):
        assert part in conflict.detail


def test_submodules_that_move_are_named(tmp_path: Path) -> None:
    repo = submodule(tmp_path)
    lib = Repo(repo.path / "lib")
    base, m1 = lib.oid("origin/main"), lib.oid("origin/m")
    for name, commit in (("forwards", m1), ("unknown", "9" * 40)):
        repo.switch(name, new=True, start="main")
        repo.git("update-index", "--cacheinfo", f"160000,{commit},lib")
        repo.git("commit", "-q", "-m", name)
        repo.git("read-tree", "HEAD")
        repo.switch("main")
    report = land_branches(repo, "forwards", dry_run=True)
    assert report.notes == (f"forwards: the submodule lib moves from {base[:10]} to {m1[:10]}",)
    report = land_branches(repo, "unknown")
    moves = f"unknown: the submodule lib moves from {base[:10]} to 9999999999, a commit your copy of it does not have"
    assert [(item.state, item.reason) for item in report.items] == [
        (
            "refused",
            "the submodule lib moves to 9999999999, a commit your copy of it does not have"
            " (git -C lib fetch brings it, if it was published)",
        )
    ]
    assert (report.notes, repo.status()) == ((moves,), [])
    report = land_branches(repo, "unknown", dry_run=True, allow_suspect=("other",))
    assert states(report) == {"unknown": "refused"}
    report = land_branches(repo, "unknown", dry_run=True, allow_suspect=("lib",))
    assert (states(report), report.notes) == ({"unknown": "would-land"}, (moves,))
    assert states(land_branches(repo, "forwards")) == {"forwards": "landed"}
    lib.git("checkout", "-q", m1)
    assert repo.status() == []
    repo.switch("back", new=True)
    lib.git("checkout", "-q", base)
    repo.commit("Revert lib")
    repo.switch("main")
    report = land_branches(repo, "back")
    assert states(report) == {"back": "landed"}
    assert report.notes == (f"back: the submodule lib moves from {m1[:10]} to {base[:10]}, which is backwards",)
