"""What one entrance used to look at and another did not: each with the answers that all have to give."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitprun.guards.driver import install_driver, read_driver
from gitprun.judging import text
from gitprun.judging.recorded_resolutions import keep_resolution
from gitprun.judging.text import blob_name, merge_text
from gitprun.landing.file import FileAnswer, FileMerge, merge_file
from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from gitprun.landing.forecast_plan import Meeting
from gitprun.landing.gate import refuse_merge
from gitprun.model.findings import MergeState
from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import CascadeResult
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

PACKAGE = '{\n  "name": "x",\n  "dependencies": {\n    "a": "1"MORE\n  }\n}\n'
LOCK = '"a@1":\n  version "1.0.0"\n\n"b@1":\n  version "1.0.0"\n'
STALE = "it does not agree with package.json about b; make it anew with: yarn install"


def look(repo: Repo, *names: str) -> tuple[Meeting, ...]:
    seen = forecast(repo.repository, repo.ledger.read().history, Asked(names=names))
    return (*seen.against, *seen.meetings)


def gate(repo: Repo, branch: str) -> str:
    repo.git("merge", "-q", "--no-commit", "--no-ff", branch)
    heads = {str(repo.oid(branch)): branch}
    said = refuse_merge(repo.repository, repo.ledger.read().history, heads, lambda note: None)
    repo.git("merge", "--abort")
    return said


def merge_of(repo: Repo, name: str, base: str, main: str, unit: str) -> FileAnswer:
    for side, content in (("base", base), ("main", main), ("unit", unit)):
        (repo.path / ".git" / side).write_text(content)
    return merge_file(FileMerge(main=".git/main", base=".git/base", unit=".git/unit", path=name), repo.path)


def test_a_manifest_on_one_side_and_its_lock_on_the_other(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", package_dot_json=PACKAGE.replace("MORE", ""), yarn_dot_lock=LOCK)
    repo.switch("p", new=True)
    repo.commit("asks for b", package_dot_json=PACKAGE.replace("MORE", ',\n    "b": "1"'))
    repo.switch("q", new=True, start="main")
    repo.commit("drops b", yarn_dot_lock='"a@1":\n  version "1.0.0"\n')
    repo.switch("main")
    [met] = look(repo, "p", "q")
    assert (met.state, [(row.path, row.kind, row.reasons) for row in met.paths]) == (
        MergeState.SUSPECT,
        [("yarn.lock", "suspect", (STALE,))],
    )
    report = land_branches(repo, "p", "q", dry_run=True)
    assert (states(report), report.items[1].reason) == ({"p": "would-land", "q": "suspect"}, f"yarn.lock: {STALE}")
    repo.git("merge", "-q", "--ff-only", "p")
    assert gate(repo, "q") == f"git merged yarn.lock, but look at it: {STALE}"


def test_one_number_given_to_two_migrations(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", migrations__0001_a_dot_sql="a\n")
    repo.switch("topic", new=True)
    repo.commit("topic", migrations__0002_b_dot_sql="b\n")
    repo.switch("main")
    repo.commit("main", migrations__0002_c_dot_sql="c\n")
    fault = "0002_b.sql and 0002_c.sql have one number: give the later one a new number"
    assert [row.reasons for met in look(repo, "topic") for row in met.paths] == [(fault,)]
    assert land_branches(repo, "topic").items[0].reason == f"migrations: {fault}"
    assert gate(repo, "topic") == f"git merged migrations, but look at it: {fault}"


def test_markers_that_a_branch_committed(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f="<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n")
    repo.switch("main")
    repo.commit("main", g="g\n")
    seen = forecast(repo.repository, repo.ledger.read().history, Asked(names=("topic",)))
    assert [one.suspect for one in seen.branches] == ["f: conflict markers were committed in it"]
    assert states(land_branches(repo, "topic")) == {"topic": "suspect"}
    assert gate(repo, "topic") == "topic is suspect: f: conflict markers were committed in it"


def test_a_proved_text_that_is_faulty_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def proved(conflict: FileConflict, *, every: bool = False, keep: bool = True) -> CascadeResult:
        return CascadeResult((Resolved(b"a = 1\na = 2\n", "made up"),))

    monkeypatch.setattr(text, "run_cascade", proved)
    repo = make_repo(tmp_path / "repo", f_dot_toml="a = 0\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_toml="a = 2\n")
    repo.switch("main")
    repo.commit("main", f_dot_toml="a = 1\n")
    [met], [item] = look(repo, "topic"), land_branches(repo, "topic").items
    [fault] = item.suspects
    assert (met.state, item.state, fault.path) == ("suspect", "suspect", "f.toml")
    by_git = merge_of(repo, "f.toml", "a = 0\n", "a = 1\n", "a = 2\n")
    assert by_git.code == 1
    assert by_git.text.startswith(b"<<<<<<<")
    assert by_git.said == (f'git prun: "f.toml": 1 conflict left: made up: {fault.reason}',)
    assert merge_text(b"a = 0\n", b"a = 1\n", b"a = 2\n", "f.toml") == Refused(fault.reason)


def test_policies_and_recorded_resolutions_of_the_repository(tmp_path: Path) -> None:
    rules = '[[hotspot]]\npath = "*.lst"\npolicy = "theirs"\n'
    repo = make_repo(tmp_path / "repo", prun_dot_toml=rules)
    assert merge_of(repo, "x.lst", "a\n", "b\n", "c\n") == FileAnswer(
        0,
        b"c\n",
        ('git prun: "x.lst": settled (unit-side)', 'git prun: "x.lst": dropped by policy: main 1: +b'),
    )
    names = [blob_name(each) for each in (b"a\n", b"b\n", b"c\n")]
    keep_resolution(repo.repository.state, names[0], names[1], names[2], b"by hand\n")
    found = merge_of(repo, "x.txt", "a\n", "b\n", "c\n")
    assert (found.code, found.text, found.said) == (0, b"by hand\n", ('git prun: "x.txt": settled (recorded)',))
    repo.write("prun.toml", "hotspot = 1\n")
    assert merge_of(repo, "y.lst", "a\n", "b\n", "d\n").code == 1


def criss_cross(folder: Path, base: str, main: str, unit: str) -> Repo:
    repo = make_repo(folder, f_dot_json=base)
    repo.switch("topic", new=True)
    topic = repo.commit("t", t="t\n")
    repo.switch("main")
    own = repo.commit("m", m="m\n")
    repo.git("merge", "-q", "--no-ff", "-m", "main<-t", topic)
    repo.switch("topic")
    repo.git("merge", "-q", "--no-ff", "-m", "t<-main", own)
    repo.commit("t2", f_dot_json=unit)
    repo.switch("main")
    repo.commit("m2", f_dot_json=main)
    return repo


def test_several_merge_bases_are_left_to_git_by_the_driver_too(tmp_path: Path) -> None:
    repo = criss_cross(
        tmp_path / "repo", '{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "b": 2\n}\n', '{\n  "a": 1,\n  "c": 3\n}\n'
    )
    assert [met.state for met in look(repo, "topic")] == ["conflict"]
    [item] = land_branches(repo, "topic").items
    assert [one.reason for one in item.conflicts] == [text.SEVERAL_BASES]
    install_driver(repo.repository, read_driver(repo.repository))
    said = subprocess.run(["git", "merge", "topic"], cwd=repo.path, capture_output=True)
    assert said.returncode == 1
    assert text.SEVERAL_BASES in said.stderr.decode()


def test_a_faulty_text_of_several_merge_bases_is_not_made_anew(tmp_path: Path) -> None:
    rows = "".join(f'  "k{n}": {n},\n' for n in range(8))
    base = "{\n" + rows + '  "z": 0\n}\n'
    first, last = base.replace("{\n", '{\n  "new": 1,\n'), base.replace('  "z": 0\n', '  "new": 1,\n  "z": 1\n')
    repo = criss_cross(tmp_path / "repo", base, first, last)
    assert [met.state for met in look(repo, "topic")] == ["suspect"]
    assert states(land_branches(repo, "topic")) == {"topic": "suspect"}
    assert "but look at it" in gate(repo, "topic")


def test_a_landing_lists_what_was_united_where_the_driver_is_installed(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f_dot_json='{\n  "a": 1\n}\n')
    repo.switch("topic", new=True)
    repo.commit("topic", f_dot_json='{\n  "a": 1,\n  "c": 3\n}\n')
    repo.switch("main")
    repo.commit("main", f_dot_json='{\n  "a": 1,\n  "b": 2\n}\n')
    install_driver(repo.repository, read_driver(repo.repository))
    [item] = land_branches(repo, "topic").items
    assert (item.state, [(one.path, one.resolver) for one in item.resolved]) == ("landed", [("f.json", "json")])
