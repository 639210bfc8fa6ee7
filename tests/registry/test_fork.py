"""What a workspace's branch has since it forked is its work: after another worker, gone on with, or taken in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gitprun.model.names import Oid
from gitprun.registry.fork import find_fork
from tests.support.inside import inside, timeless
from tests.support.repos import Repo, make_repo_for_workers
from tests.support.rows import payload_of

pytestmark = pytest.mark.slow

NOTHING = ("--executor", "command", "--command", "true")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo_for_workers(tmp_path / "repo")


def listed(repo: Repo, capsys: pytest.CaptureFixture[str], name: str = "place") -> tuple[int, str, int | None]:
    """Give the commits ahead, the state, and how many files changed."""
    rows = inside(capsys, repo.path, "workspace", "list", "--json").json["workspaces"]
    (row,) = (row for row in rows if row["name"] == name)
    (known,) = (row for row in inside(capsys, repo.path, "status", "--json").json["named"] if row["name"] == name)
    return row["ahead"], known["state"], known["files"]


@pytest.mark.parametrize("kind", [(), ("--clone",)])
def test_another_worker_that_adds_nothing(
    repo: Repo, kind: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POST_VERIFY_TESTS", "test -f w.txt")
    assert inside(capsys, repo.path, "new", *kind, "place", "topic").code == 0
    assert inside(capsys, repo.path, "exec", "place", "p1", "x", "--command", "sh -c 'echo w >w.txt'").code == 0
    assert listed(repo, capsys) == (1, "ready", 1)
    said = inside(capsys, repo.path, "exec", "place", "p2", "x", *NOTHING)
    assert (said.code, timeless(said.out).splitlines()[2:]) == (
        1,
        [
            "[wrapper p2] no changes detected, skipping commit",
            "[wrapper p2] the branch topic has 1 commit from before, verified again",
            "[wrapper p2] post-verify verify_errors=0 (cmd='') tests='no-summary-line' (cmd='test -f w.txt')",
        ],
    )
    assert listed(repo, capsys) == (1, "ready", 1)
    assert inside(capsys, repo.path, "exec", "place", "p3", "x", "--command", "sh -c 'echo v >v.txt'").code == 0
    assert listed(repo, capsys) == (2, "ready", 2)


def test_a_worker_that_committed_and_died(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert inside(capsys, repo.path, "new", "place", "topic").code == 0
    there = Repo(repo.path.parent / "repo.prun" / "named" / "place")
    there.commit("work of the first worker", w_dot_txt="w\n")
    assert listed(repo, capsys) == (1, "idle", None)
    inside(capsys, repo.path, "exec", "place", "p2", "x", *NOTHING)
    assert listed(repo, capsys) == (1, "unverified", 1)


def test_what_came_after_the_last_worker_is_named_where_it_lands(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inside(capsys, repo.path, "new", "place", "topic").code == 0
    inside(capsys, repo.path, "exec", "place", "p1", "x", "--command", "sh -c 'echo w >w.txt'")
    there = Repo(repo.path.parent / "repo.prun" / "named" / "place")
    tip = there.commit("by hand", h="h\n")
    said = inside(capsys, repo.path, "merge", "--no-verify", "topic")
    assert (said.code, repo.read("h")) == (0, "h\n")
    assert f"topic: 1 commit came after the last worker of its workspace: {tip[:7]} by hand" in said.err


def test_gone_on_with(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert inside(capsys, repo.path, "new", "place", "topic").code == 0
    there = Repo(repo.path.parent / "repo.prun" / "named" / "place")
    there.commit("one", one="1\n")
    there.commit("two", two="2\n")
    shutil.rmtree(there.path)
    said = inside(capsys, repo.path, "new", "place", "topic", "--resume")
    assert "[setup] the branch topic has 2 commits of its own\n" in said.out
    assert listed(repo, capsys) == (2, "idle", None)
    assert inside(capsys, repo.path, "remove", "place").code == 0
    # Whatever it is called now, it is the same branch.
    assert inside(capsys, repo.path, "new", "again", "topic", "--resume", "--clone").code == 0
    assert listed(repo, capsys, "again") == (2, "idle", None)
    inside(capsys, repo.path, "exec", "again", "p1", "x", *NOTHING)
    assert listed(repo, capsys, "again") == (2, "unverified", 2)


def test_taken_in(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    linked = repo.worktree(repo.path.parent / "linked", "topic", new=True)
    linked.commit("one", one="1\n")
    repo.commit("meanwhile", m="m\n")
    said = inside(capsys, repo.path, "workspace", "adopt", str(linked.path))
    assert f"took in {linked.path} as linked, on branch topic, with 1 commit of its own\n" in said.out + said.err
    assert listed(repo, capsys, "linked") == (1, "idle", None)
    inside(capsys, repo.path, "exec", "linked", "p1", "x", *NOTHING)
    assert listed(repo, capsys, "linked") == (1, "unverified", 1)


def test_where_a_branch_forked(repo: Repo) -> None:
    base = repo.head
    repo.switch("topic", new=True)
    first = repo.commit("one", one="1\n")
    tip = repo.commit("two", two="2\n")
    repo.git("branch", "stacked")
    log = repo.path / ".git" / "logs" / "refs" / "heads" / "topic"

    def found() -> Oid:
        return find_fork(repo.repository, repo.ledger.read().events, "topic", tip)

    assert found() == base
    # Without a log another branch that has it tells; a remote's branch of its name does not.
    log.unlink()
    assert found() == tip
    repo.git("branch", "-q", "-D", "stacked")
    repo.git("update-ref", "refs/remotes/origin/topic", tip)
    assert found() == base
    repo.git("branch", "release", first)
    assert found() == first
    # prun's own row counts before all, while the branch has that commit.
    for known, expected in ((base, base), ("0" * 40, first), (repo.git("commit-tree", f"{base}^{{tree}}"), first)):
        place = {"workspace": "worktree", "path": "/w/named/a", "identity": [1, 2]}
        repo.ledger.append(
            payload_of("workspace.made", {"branch": "topic", "base": known} | place), run="named", unit="a"
        )
        assert found() == expected
    alone = Oid(repo.git("commit-tree", "-m", "x", f"{base}^{{tree}}"))
    assert find_fork(repo.repository, [], "other", alone) == alone
