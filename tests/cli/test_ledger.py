"""``git prun ledger``: what is lost is found and named, and nothing else is called a loss."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from gitprun.ledger.archive import read_archived
from tests.support.cli import Said, prun
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.runs import run_units, sh, unit_of, workspace
from tests.support.small_disk import fill, small_disk

__all__ = ["small_disk"]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    made.git("config", "user.name", "Ada Author")
    made.git("config", "user.email", "ada@example.test")
    run_units(made, sh("a", "echo x >a.txt"), sh("b", "echo x >b.txt; git add .; git commit -qm own"))
    return made


def verify(repo: Repo) -> Said:
    return prun(repo.path, "ledger", "verify")


def findings(repo: Repo, code: int) -> list[str]:
    said = verify(repo)
    assert (said.code, said.err) == (code, ""), said.out
    return said.out.splitlines()[:-1]


def drop(repo: Repo, oid: str) -> None:
    """Take an object away, as a careless git gc would."""
    objects = repo.path / ".git" / "objects"
    for pack in list((objects / "pack").glob("*.pack")):
        content = pack.read_bytes()
        for part in objects.glob(f"pack/{pack.stem}.*"):
            part.unlink()
        repo.git("unpack-objects", "-q", stdin=content)
    place = repo.path / ".git" / "objects" / oid[:2] / oid[2:]
    place.chmod(0o644)
    place.unlink()


def test_all_is_there(repo: Repo) -> None:
    said = verify(repo)
    assert (said.code, said.err) == (0, "")
    assert said.out == "20 rows, 1 runs, 2 units, 4 refs, 0 landings, 2 workspaces: all is there\n"
    told = prun(repo.path, "ledger", "verify", "--json").json
    assert (told["ok"], told["runs"], told["units"]) == (True, 1, 2)


def test_landed_undone_and_compacted_all_is_there(repo: Repo) -> None:
    assert prun(repo.path, "merge", "r1/a", "r1/b").code == 0
    assert findings(repo, 0) == []
    assert prun(repo.path, "clean").code == 0
    before = prun(repo.path, "status", "--json").json["runs"][0]["units"]
    log = prun(repo.path, "log", "--events", "a").out
    assert repo.ledger.compact(days=-1).runs == ("r1",)
    assert findings(repo, 0) == []
    after = prun(repo.path, "status", "--json").json["runs"][0]["units"]
    assert [{**row, "age": 0} for row in after] == [{**row, "age": 0} for row in before]
    # What a unit went through is still told, from the archive.
    assert prun(repo.path, "log", "--events", "a").out.splitlines()[:9] == log.splitlines()[:9]
    assert prun(repo.path, "undo").code == 0
    assert [unit_of(repo, name).state for name in ("a", "b")] == ["ready", "ready"]
    assert findings(repo, 0) == []
    shown = prun(repo.path, "ledger", "show", "--archived", "--run", "r1").out.splitlines()
    kinds = [json.loads(line)["kind"] for line in shown]
    assert (kinds[0], kinds.count("run.started"), kinds.count("unit.started")) == ("run.started", 1, 2)


def test_a_commit_that_is_gone(repo: Repo) -> None:
    commit = repo.oid("refs/prun/r1/a")
    drop(repo, commit)
    assert findings(repo, 1) == [
        f"lost: r1/a: its commit {commit[:10]} is missing or damaged"
        " (git fsck tells more; another clone or a backup may have it)",
        f"lost: refs/prun/r1/a: {commit[:10]} is missing or damaged (git fsck tells more)",
    ]


def test_a_commit_whose_tree_is_gone(repo: Repo) -> None:
    drop(repo, repo.oid("refs/prun/r1/a^{tree}"))
    assert [line.partition(" is missing")[0].split()[1] for line in findings(repo, 1)] == ["r1/a:", "refs/prun/r1/a:"]


def test_a_commit_that_nothing_pins(repo: Repo) -> None:
    commit = repo.oid("refs/prun/r1/a")
    repo.git("update-ref", "-d", "refs/prun/r1/a")
    todo = f"git update-ref refs/prun/r1/a {commit}"
    problem = f"no ref pins its commit {commit[:10]} any more: git may delete it"
    assert findings(repo, 1) == [f"lost: r1/a: {problem} ({todo})"]
    repo.git(*todo.split()[1:])
    assert findings(repo, 0) == []
    # In the trash, or kept elsewhere, it is pinned all the same.
    repo.git("update-ref", f"refs/prun/trash/2026-01-05/prun/r1/a/{commit[:12]}", commit)
    repo.git("update-ref", "-d", "refs/prun/r1/a")
    assert findings(repo, 0) == []


def test_what_was_kept_beside_is_looked_at_too(repo: Repo) -> None:
    (ref,) = repo.git("for-each-ref", "--format=%(refname)", "refs/prun/kept").splitlines()
    repo.git("update-ref", "-d", ref)
    (line,) = findings(repo, 1)
    assert line.startswith("lost: r1/b: no ref pins its kept ")


def test_a_base_that_is_not_pinned(repo: Repo) -> None:
    base = repo.oid("refs/prun/base/r1")
    repo.git("update-ref", "-d", "refs/prun/base/r1")
    assert findings(repo, 1) == [f"lost: r1: its base is not pinned any more (git update-ref refs/prun/base/r1 {base})"]


def test_refs_nobody_knows_are_named_and_no_loss(repo: Repo) -> None:
    for ref in ("refs/prun/r7/x", "refs/prun/r1/zzz", "refs/prun/odd", "refs/prun/base/r9"):
        repo.git("update-ref", ref, "HEAD")
    assert [line.split(": ")[:2] for line in findings(repo, 0)] == [
        ["note", "refs/prun/base/r9"],
        ["note", "refs/prun/odd"],
        ["note", "refs/prun/r1/zzz"],
        ["note", "refs/prun/r7/x"],
    ]


def test_a_landing_that_was_thrown_away(repo: Repo) -> None:
    base = repo.head
    assert prun(repo.path, "merge", "r1/a").code == 0
    landed = repo.head
    repo.git("update-ref", "refs/heads/main", base)
    (line,) = findings(repo, 0)
    assert line == (
        f"note: prun/r1/a: its merge {landed[:10]} is not in main any more, and prun did not undo it"
        " (git prun merge prun/r1/a lands it again)"
    )


def test_workspaces_that_are_not_those_that_were_made(repo: Repo) -> None:
    a, b = workspace(repo, "r1", "a"), workspace(repo, "r1", "b")
    shutil.rmtree(a)
    b.rename(b.with_name("c"))
    b.mkdir()
    lines = findings(repo, 0)
    assert lines[0] == f"note: r1/a: its workspace {a} is gone (git prun remove r1/a forgets it)"
    assert lines[1] == f"note: r1/b: {b} is not the folder prun made"
    assert [line for line in lines[2:] if str(b.with_name("c")) in line and line.startswith("note: ")]


def test_lines_that_were_torn_or_altered(repo: Repo) -> None:
    path = repo.ledger.path
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"v":1,"t":5,"kind":"unit.st')
    number = whole.count(b"\n") + 1
    said = verify(repo)
    assert (said.code, said.out.splitlines()[0]) == (
        0,
        f"note: line {number}: was cut off by a crash, before it was acknowledged",
    )
    path.write_bytes(whole.replace(b'"unit":"a","facts":{"state":"ready"', b'"unit":"a","facts":{"state":"landed"'))
    said = verify(repo)
    assert (said.code, "was altered: its checksum does not fit" in said.out) == (1, True)


def test_a_run_nobody_works_on(repo: Repo) -> None:
    gone = {"pid": 1, "start": "never", "boot": "never"}
    repo.ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": gone}), run="r2")
    repo.ledger.append(payload_of("unit.queued"), run="r2", unit="a")
    assert findings(repo, 0) == [
        "note: r2: nobody works on a any more (lost) (git prun run --resume r2 goes on with it)"
    ]


def test_a_ledger_that_is_gone_or_cannot_be_read(repo: Repo) -> None:
    path = repo.ledger.path
    path.unlink()
    assert findings(repo, 1)[0] == (
        f"lost: {path}: has no rows, but the refs show that there were runs"
        " (git prun rescue lists everything that is pinned)"
    )
    path.mkdir()
    said = verify(repo)
    assert (said.code, said.out) == (128, "")
    assert said.err.startswith(f"error: the ledger {path} cannot be read: Is a directory\n")


def test_a_ledger_of_a_newer_version_is_shown_and_left_alone(repo: Repo) -> None:
    path, body = repo.ledger.path, '{"v":2,"t":1.0,"what":"new"}'
    with open(path, "ab") as target:
        target.write(f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'.encode())
    before = path.read_bytes()
    said = prun(repo.path, "status", "--json")
    assert (said.code, [unit["state"] for unit in said.json["runs"][0]["units"]]) == (0, ["ready", "ready"])
    table = prun(repo.path, "status")
    assert "what they say is not shown, and nothing can be written" in table.err
    for words in (["merge", "r1/a"], ["run", "--unit", "id=c", "--command", "true", "--prompt", "p"]):
        said = prun(repo.path, *words)
        assert said.code == 128
        assert f"error: the ledger {path} was written by a newer git prun (its format is later than 1)\n" in said.err
    said = verify(repo)
    assert (said.code, said.out) == (128, "")
    assert path.read_bytes() == before
    assert repo.git("for-each-ref", "refs/prun/base", "--format=%(refname)") == "refs/prun/base/r1"


def test_an_archive_that_is_gone(repo: Repo) -> None:
    assert prun(repo.path, "clean").code == 0
    archive = repo.ledger.compact(days=-1).archive
    assert archive is not None
    assert len(list(read_archived(repo.ledger.path.parent, repo.ledger.read().events[0]))) > 10
    os.truncate(archive, 50)
    assert findings(repo, 0) == [f"note: {archive}: cannot be read: the rows in it are shown no more"]


def test_nothing_was_run(tmp_path: Path) -> None:
    empty = make_repo(tmp_path / "empty")
    said = verify(empty)
    assert (said.code, said.out) == (0, "0 rows, 0 runs, 0 units, 0 refs, 0 landings, 0 workspaces: all is there\n")
    assert not (empty.path / ".git" / "prun").exists()


PLAN = """
[run]
verify = []
[[unit]]
id = "a"
prompt = "do a"
executor = "command"
command = ["sh", "-c", "echo x >a.txt"]
[[unit]]
id = "b"
prompt = "do b"
executor = "command"
command = ["sh", "-c", "echo x >b.txt"]
"""


@pytest.fixture
def tight(small_disk: Path, tmp_path: Path) -> Repo:
    """Make a repository whose git folder lies on a small disk, its workspaces on a large one."""
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    repo.git("config", "user.name", "Ada Author")
    repo.git("config", "user.email", "ada@example.test")
    shutil.move(repo.path / ".git", small_disk / "git")
    (repo.path / ".git").symlink_to(small_disk / "git")
    (tmp_path / "plan.toml").write_text(PLAN)
    return repo


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_on_a_full_disk_commands_say_so_and_a_run_is_gone_on_with(tight: Repo, small_disk: Path) -> None:
    state = small_disk / "git" / "prun"
    root = ("--root", str(tight.path.parent / "w"))
    run_units(tight, sh("first", "echo x >first.txt"), root=root[1])
    fill(small_disk / "filler")
    before = (state / "ledger.jsonl").read_bytes()
    said = prun(tight.path, "run", "../plan.toml", *root)
    assert said.code == 128, said.err
    assert "No space left on device" in said.err or "the disk is full" in said.err
    assert "Traceback" not in said.err
    assert (state / "ledger.jsonl").read_bytes().startswith(before)
    assert tight.ledger.read().unreadable == ()
    # What only reads works, and says the truth.
    assert prun(tight.path, "status", "--json").json["runs"][0]["units"][0]["state"] == "ready"
    assert prun(tight.path, "ledger", "verify").code == 0
    for words in (["merge", "r1/first"], ["new", "w", *root], ["exec", "x", "--prompt", "p"]):
        said = prun(tight.path, *words)
        assert (said.code not in (0, 70), "Traceback" in said.err) == (True, False), (words, said.err)
    (small_disk / "filler").unlink()
    said = prun(tight.path, "run", "../plan.toml", *root)
    assert said.code == 0 or "unverified" in said.out, said.err
    assert prun(tight.path, "ledger", "verify").code == 0


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_disk_that_fills_while_a_run_goes_on(tight: Repo, small_disk: Path, tmp_path: Path) -> None:
    """The first worker fills the disk the ledger lies on: what it did is kept or named, and the rest comes later."""
    script = f"echo x >a.txt; test -e {tmp_path}/again || cat /dev/zero >{small_disk}/filler 2>/dev/null; true"
    plan = PLAN.replace("echo x >a.txt", script).replace("verify = []", "verify = []\njobs = 1")
    (tmp_path / "plan.toml").write_text(plan)
    said = prun(tight.path, "run", "../plan.toml", "--root", str(tmp_path / "w"))
    assert said.code in (1, 128), said.err
    assert "Traceback" not in said.err
    reading = tight.ledger.read()
    assert reading.unreadable == ()
    run = reading.history.runs["r1"]
    assert {unit.state for unit in run.units.values()} <= {"broken", "unverified", "queued", "preparing", "collecting"}
    (small_disk / "filler").unlink()
    (tmp_path / "again").touch()
    said = prun(tight.path, "run", "--resume")
    run = tight.ledger.read().history.runs["r1"]
    assert [unit.state for unit in run.units.values()] == ["unverified", "unverified"], said.err
    assert tight.files("refs/prun/r1/a") == {"a.txt": "x"}
    assert tight.files("refs/prun/r1/b") == {"a.txt": "1", "b.txt": "x"}
    assert prun(tight.path, "ledger", "verify").code == 0
    assert subprocess.run(["git", "fsck", "--strict"], cwd=tight.path, check=False, capture_output=True).returncode == 0
