"""Remote-tracking refs in a clone: those it began with are no work of its worker, those it moves or makes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.capture.worker_refs import read_worker_refs
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.pins import pin_source
from tests.support.repos import Repo, make_repo
from tests.support.workshop import RUN, Workshop, open_workshop


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    repo = make_repo(tmp_path / "repo")
    for name in ("main", "x", "y"):
        tip = repo.git("commit-tree", "-p", "HEAD", "-m", f"of {name}", "HEAD^{tree}")
        repo.git("update-ref", f"refs/remotes/origin/{name}", tip)
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    return open_workshop(repo, tmp_path / "w")


def test_what_was_there_is_nobodys_work(shop: Workshop) -> None:
    found = shop.capture()
    assert (found.kept, found.own_commits, found.notes, shop.refs()) == ((), (), (), {})


def test_what_a_worker_moves_or_makes_is_kept(shop: Workshop) -> None:
    work = shop.work
    own = work.commit("own", b_dot_txt="b\n")
    moved = work.git("commit-tree", "-p", own, "-m", "moved", "HEAD^{tree}")
    made = work.git("commit-tree", "-p", own, "-m", "made", "HEAD^{tree}")
    packed = work.git("commit-tree", "-p", own, "-m", "packed", "HEAD^{tree}")
    work.git("update-ref", "refs/remotes/origin/y", packed)
    work.git("pack-refs", "--all")
    work.git("update-ref", "refs/remotes/origin/HEAD", moved)
    work.git("update-ref", "refs/remotes/mine/z", made)
    work.git("update-ref", "-d", "refs/remotes/origin/x")
    found = shop.capture()
    assert shop.refs() == {
        "head": own,
        "branch/remotes/mine/z": made,
        "branch/remotes/origin/main": moved,
        "branch/remotes/origin/y": packed,
    }
    assert {oid for _, oid in found.kept} == {own, made, moved, packed}
    assert shop.repo.git("log", "-1", "--format=%s", "origin/main") == "of main"
    shop.repo.git("fsck", "--strict")


def test_names_that_collide_lose_nothing(shop: Workshop) -> None:
    work, tips = shop.work, {}
    for name in ("refs/heads/remotes/origin/x", "refs/remotes/origin/x", "refs/other", "refs/heads/other"):
        tips[name] = work.git("commit-tree", "-p", "HEAD", "-m", name, "HEAD^{tree}")
        work.git("update-ref", name, tips[name])
    shop.capture()
    assert shop.refs() == {
        "branch/other": tips["refs/heads/other"],
        f"branch/{tips['refs/other']}": tips["refs/other"],
        "branch/remotes/origin/x": tips["refs/heads/remotes/origin/x"],
        f"branch/{tips['refs/remotes/origin/x']}": tips["refs/remotes/origin/x"],
    }


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_packed_head_is_found_among_them(shop: Workshop, end: str) -> None:
    own = shop.work.commit("own", b_dot_txt="b\n")
    shop.work.git("pack-refs", "--all")
    place = shop.path / ".git" / "packed-refs"
    place.write_text(place.read_text().rstrip("\n") + end)
    found = read_worker_refs(shop.path / ".git", shop.site.known)
    assert (found.head, found.tips) == (own, {"head": own})
    place.write_text(f"{own} refs/heads/prun/r1/u{end}")
    assert read_worker_refs(shop.path / ".git", shop.site.known).head == own


@pytest.mark.parametrize(
    "text",
    ["", "\n", "junk", f"{'1' * 39} refs/heads/prun/r1/u\n", f"x{'1' * 40} refs/heads/prun/r1/u\n", "\xff\n\x00"],
)
def test_what_is_no_line_of_refs_is_no_ref(shop: Workshop, text: str) -> None:
    (shop.path / ".git" / "packed-refs").write_bytes(text.encode("latin-1"))
    found = read_worker_refs(shop.path / ".git", shop.site.known)
    assert (found.head, found.tips) == ("", {})


def test_a_fetch_of_yours_makes_nothing_the_workers(shop: Workshop) -> None:
    repo: Repo = shop.repo
    pin_source(repo.repository, RUN, read_source(repo.repository), repo.head)
    shop.finish()
    for name in ("main", "x"):
        tip = repo.git("commit-tree", "-p", "HEAD", "-m", f"new {name}", "HEAD^{tree}")
        repo.git("update-ref", f"refs/remotes/origin/{name}", tip)
    assert shop.remove().removed
    assert shop.refs() == {}
