"""``git prun collect``: what was left out is brought after all, verified, and the commit before it stays pinned."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.model.units import WorkspaceKind
from tests.support.cli import prun
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.runs import RESULT, events_of, run_units, sh, unit_of, workspace

TOKEN = "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYzA"
# In two parts, since what a unit was asked for is written down.
WORK = f"""
echo 2 >a.txt; echo token=ghp_{TOKEN[:9]}''{TOKEN[9:]} >config.ini; mkdir -p data; head -c 2000 /dev/zero >data/big.bin
mkfifo pipe; ln -s /etc/passwd out; git init -q inner; echo x >inner/x.txt
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


def pins(repo: Repo) -> dict[str, str]:
    """Read the refs of the run, by their names below refs/prun."""
    rows = repo.git("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/prun").splitlines()
    return dict(row.split(" ") for row in rows if not row.startswith("base/"))


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_what_was_left_out_is_brought_and_verified(repo: Repo, kind: WorkspaceKind) -> None:
    run_units(repo, sh("u", WORK + RESULT, workspace=kind), verify=("test -f data/big.bin",), max_file=1000)
    first = unit_of(repo, "u")
    assert (first.state, first.as_json()["changed"]) == ("ready", ["a.txt"])
    said = prun(repo.path, "collect", "u", "--include", "data", "--include", "inner/*", "--include", "pipe")
    assert (said.code, said.out) == (0, "data/big.bin\ninner/x.txt\n")
    after = unit_of(repo, "u")
    assert after.commit is not None
    assert said.err.splitlines() == [
        "stays out: inner/.git: a repository inside the workspace: its files came without it",
        "stays out: pipe: a fifo, socket, device or unreadable folder",
        f"r1/u is ready at {after.commit[:10]}",
        "  the commit it had is pinned as refs/prun/kept/r1/u/collected-1",
    ]
    assert pins(repo) == {"r1/u": after.commit, "kept/r1/u/collected-1": first.commit}
    assert repo.git("rev-list", "--parents", "-1", after.commit).split()[1:] == [repo.head]
    assert set(repo.files(after.commit)) == {"a.txt", "data/big.bin", "inner/x.txt"}
    assert [event.kind for event in events_of(repo, "u")][-4:] == [
        "unit.captured", "unit.verifying", "unit.verified", "unit.finished",
    ]  # fmt: skip
    assert after.verdict == "pass"
    assert {row["path"] for row in after.as_json()["left_out"]} == {"config.ini", "inner/.git", "out", "pipe"}
    if kind == "worktree":
        there = Repo(workspace(repo, "r1", "u"))
        assert (there.head, there.git("status", "--porcelain", "-uno")) == (after.commit, "")


def test_a_secret_somebody_insists_on_and_a_verdict_that_changes(repo: Repo) -> None:
    run_units(repo, sh("u", WORK + RESULT), verify=("grep -rqL token . && test ! -f ../bad",))
    (workspace(repo, "r1", "u").parent / "bad").touch()
    said = prun(repo.path, "collect", "u", "--include", "config.ini", "--json")
    after = unit_of(repo, "u")
    assert said.code == 0
    assert said.json == {
        "schema": "gitprun.collect/1",
        "run": "r1", "unit": "u", "commit": after.commit, "before": pins(repo)["kept/r1/u/collected-1"],
        "state": "unverified", "kept": "refs/prun/kept/r1/u/collected-1", "brought": ["config.ini"], "stays_out": [],
    }  # fmt: skip
    assert (after.state, after.verdict) == ("unverified", "fail")
    assert TOKEN not in (repo.path / ".git" / "prun" / "ledger.jsonl").read_text()


def test_nothing_new_is_no(repo: Repo) -> None:
    run_units(repo, sh("u", WORK + RESULT))
    before = (pins(repo), (repo.path / ".git/prun/ledger.jsonl").read_bytes())
    for words in ((), ("--include", "nothing/like/this"), ("--include", "out")):
        said = prun(repo.path, "collect", "u", *words)
        assert (said.code, said.out) == (1, "")
        assert said.err.splitlines()[-2:] == [
            "nothing new in r1/u", "hint: git prun show r1/u lists what is left out",
        ]  # fmt: skip
    assert (pins(repo), (repo.path / ".git/prun/ledger.jsonl").read_bytes()) == before
    assert prun(repo.path, "remove", "u").code == 1
    assert prun(repo.path, "remove", "u", "--discard-left-out").code == 0
    said = prun(repo.path, "collect", "u")
    assert (said.code, said.err.splitlines()[0]) == (1, "error: r1/u has no workspace")


def test_a_unit_that_failed_stays_failed_and_what_was_empty_is_not(repo: Repo) -> None:
    run_units(
        repo, sh("bad", "echo 2 >a.txt; exit 3"), sh("nil", "head -c 2000 /dev/zero >big.bin" + RESULT), max_file=9
    )
    assert (unit_of(repo, "bad").state, unit_of(repo, "nil").state) == ("failed", "empty")
    (workspace(repo, "r1", "bad") / "late.txt").write_text("l\n")
    assert prun(repo.path, "collect", "bad").out == "late.txt\n"
    assert prun(repo.path, "collect", "nil", "--include", "*.bin").out == "big.bin\n"
    bad, nil = unit_of(repo, "bad"), unit_of(repo, "nil")
    assert (bad.state, bad.verdict, nil.state, nil.verdict) == ("failed", "", "ready", "pass")
    assert set(pins(repo)) == {"r1/bad", "r1/nil", "kept/r1/bad/collected-1"}


@pytest.mark.parametrize(
    ("state", "line"),
    [("landed", "error: r1/u has landed"), ("read", "error: r1/u only reads, so there is nothing to collect")],
)
def test_what_cannot_be_collected(repo: Repo, state: str, line: str) -> None:
    run_units(repo, sh("u", f"echo 2 >a.txt; {RESULT}", mode="read" if state == "read" else "write"))
    if state == "landed":
        assert prun(repo.path, "merge", "u").code == 0
    said = prun(repo.path, "collect", "u", "--include", "*")
    assert (said.code, said.err.splitlines()[0]) == (1, line)


def test_a_named_workspace_is_the_users_own(repo: Repo) -> None:
    assert prun(repo.path, "new", "mine", "topic").code == 0
    said = prun(repo.path, "collect", "mine", "--include", "*")
    assert (said.code, said.err.splitlines()[0]) == (1, "error: mine is a named workspace")


def test_one_that_still_works_is_left_alone(repo: Repo) -> None:
    run_units(repo, sh("u", "echo 2 >a.txt" + RESULT))
    me = {"pid": os.getpid(), "start": Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]}
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    repo.ledger.append(payload_of("run.resumed", {"coordinator": {**me, "boot": boot}, "again": ["u"]}), run="r1")
    repo.ledger.append(payload_of("unit.started", {"process": {**me, "boot": boot}}), run="r1", unit="u")
    said = prun(repo.path, "collect", "u", "--include", "*")
    assert (said.code, said.err.splitlines()[0]) == (1, "error: r1/u is still running")
