"""A branch that is green only because it changed what it is checked by is held, with the way out named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.landing.plan import LandingReport
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import Repo, make_repo

CHECK = 'for t in tests/test_*.sh; do sh "$t" || exit 1; done\n'
FILES = {
    "app.txt": "good\n",
    "other.txt": "good\n",
    "tests/test_app.sh": "grep -q good app.txt\n",
    "tests/test_other.sh": "grep -q good other.txt\n",
    "check.sh": CHECK,
}


def project(path: Path, files: dict[str, str] | None = None) -> Repo:
    repo = make_repo(path)
    return put(repo, "base", files or FILES)


def put(repo: Repo, message: str, files: dict[str, str | None]) -> Repo:
    """Commit files; None deletes one."""
    for name, text in files.items():
        if text is None:
            (repo.path / name).unlink()
        else:
            repo.write(name, text)
    repo.commit(message)
    return repo


def branch(repo: Repo, name: str, files: dict[str, str | None]) -> None:
    repo.switch(name, new=True, start="main")
    put(repo, name, files)
    repo.switch("main")


def counted(tmp_path: Path, command: str = "sh check.sh") -> tuple[str, ...]:
    return (f"git rev-parse HEAD^{{tree}} >>{tmp_path}/checks; {command}",)


def checks(tmp_path: Path) -> int:
    found = (tmp_path / "checks").read_text().split()
    assert len(found) == len(set(found)), "a tree was checked twice"
    return len(found)


def land(repo: Repo, tmp_path: Path, *names: str, **options: object) -> LandingReport:
    given: dict[str, object] = {"verify": counted(tmp_path), "confirm_red": False, **options}
    return land_branches(repo, *names, **given)


def reason(report: LandingReport, name: str) -> str:
    [item] = [item for item in report.items if item.candidate.branch == name]
    return item.reason.replace(item.reason[item.reason.find("git rev-parse") : item.reason.find("sh check.sh")], "")


@pytest.mark.parametrize(
    ("files", "what", "path"),
    [
        ({"tests/test_app.sh": None}, "tests/test_app.sh deleted", "tests/test_app.sh"),
        ({"tests/test_app.sh": "exit 0\n"}, "tests/test_app.sh emptied", "tests/test_app.sh"),
        (
            {"tests/test_app.sh": "exit 0\ngrep -q good app.txt\n"},
            "1 test skipped in tests/test_app.sh",
            "tests/test_app.sh",
        ),
        (
            {"tests/test_app.sh": None, "tests/app.sh": FILES["tests/test_app.sh"]},
            "tests/test_app.sh deleted",
            "tests/test_app.sh",
        ),
        ({"check.sh": "exit 0\n"}, "check.sh changed", "check.sh"),
    ],
)
def test_what_hides_a_bug_is_held(tmp_path: Path, files: dict[str, str | None], what: str, path: str) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "hides", {"app.txt": "bug\n", **files})
    report = land(repo, tmp_path, "hides")
    assert states(report) == {"hides": "held"}
    assert reason(report, "hides") == f"changed its own check: {what}; with it put back: sh check.sh: exit 1"
    assert report.items[0].accept == (path,)
    assert (report.new, repo.read("app.txt")) == (report.old, "good\n")
    assert repo.status() == []
    # The merged tree, the same with the check put back, and the target.
    assert checks(tmp_path) == 3


def test_what_is_accepted_lands_and_is_written_down(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "hides", {"app.txt": "bug\n", "tests/test_app.sh": None})
    before = repo.oid("main:tests/test_app.sh")
    report = land(repo, tmp_path, "hides", accept=("tests/test_app.sh",))
    assert states(report) == {"hides": "landed"}
    assert report.notes == ("hides changes its own check: tests/test_app.sh deleted",)
    assert checks(tmp_path) == 1
    [landed] = [event for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert landed.payload.as_json()["gate"] == [
        {
            "path": "tests/test_app.sh",
            "what": "tests/test_app.sh deleted",
            "old": before,
            "new": "0" * 40,
            "accepted": "--accept",
        }
    ]


def test_a_folder_is_accepted_with_all_below_it(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "hides", {"app.txt": "bug\n", "tests/test_app.sh": None})
    assert states(land(repo, tmp_path, "hides", accept=("test", "other"))) == {"hides": "held"}
    assert states(land(repo, tmp_path, "hides", accept=("./tests/",))) == {"hides": "landed"}


@pytest.mark.parametrize(
    ("fence", "state"),
    [
        (("app.*", "tests/test_app.sh"), "landed"),
        (("*.txt", "./tests/test_app.sh"), "landed"),
        (("app.*", "tests/**"), "held"),
        (("app.*", "tests"), "held"),
        (("app.*", "tests/test_*.sh"), "held"),
    ],
)
def test_a_plan_that_names_the_file_accepts_it(tmp_path: Path, fence: tuple[str, ...], state: str) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "unit", {"app.txt": "bug\n", "tests/test_app.sh": None})
    one = candidate(repo, "unit", run="r1", unit="unit", verdict="pass", fence=fence)
    report = land_branches(repo, one, verify=("sh check.sh",))
    assert states(report) == {"unit": state}
    assert report.items[0].accept == (("tests/test_app.sh",) if state == "held" else ())


def test_another_one_does_not_ride_on_what_a_plan_names(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "named", {"tests/test_app.sh": None, "a": "a\n"})
    branch(repo, "rider", {"tests/test_app.sh": None, "app.txt": "bug\n"})
    facts = {"run": "r1", "verdict": "pass"}
    named = candidate(repo, "named", unit="named", since=1.0, fence=("tests/test_app.sh", "a"), **facts)
    rider = candidate(repo, "rider", unit="rider", since=2.0, **facts)
    report = land_branches(repo, named, rider, verify=("sh check.sh",), confirm_red=False)
    assert states(report) == {"named": "landed", "rider": "held"}


def test_a_feature_that_goes_with_its_tests_is_held_until_accepted(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "less", {"other.txt": None, "tests/test_other.sh": None})
    report = land(repo, tmp_path, "less")
    assert states(report) == {"less": "held"}
    assert report.items[0].accept == ("tests/test_other.sh",)
    report = land(repo, tmp_path, "less", accept=report.items[0].accept)
    assert states(report) == {"less": "landed"}


def test_a_test_that_moved_needs_no_second_look(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    text = FILES["tests/test_app.sh"]
    branch(repo, "moves", {"tests/test_app.sh": None, "tests/test_application.sh": text, "app.txt": "good, new\n"})
    report = land(repo, tmp_path, "moves")
    assert (states(report), report.notes) == ({"moves": "landed"}, ())
    assert checks(tmp_path) == 1


def test_work_that_changes_no_check_costs_none_more(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "one", {"app.txt": "good 1\n", "tests/test_new.sh": "true\n"})
    branch(repo, "two", {"other.txt": "good 2\n"})
    report = land(repo, tmp_path, "one", "two")
    assert states(report) == {"one": "landed", "two": "landed"}
    assert checks(tmp_path) == 1


def test_a_green_landing_costs_one_check_more_at_most(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "one", {"tests/test_app.sh": None, "a": "a\n"})
    branch(repo, "two", {"tests/test_other.sh": "exit 0\n", "b": "b\n"})
    branch(repo, "three", {"check.sh": f"# faster\n{CHECK}"})
    report = land(repo, tmp_path, "one", "two", "three")
    assert states(report) == {"one": "landed", "two": "landed", "three": "landed"}
    assert report.notes == (
        "one changes its own check: tests/test_app.sh deleted",
        "two changes its own check: tests/test_other.sh emptied",
        "three changes its own check: check.sh changed",
    )
    assert checks(tmp_path) == 2


def test_of_several_only_the_one_that_skips_is_held(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "fine", {"other.txt": "good, too\n"})
    branch(repo, "skips", {"app.txt": "bug\n", "tests/test_app.sh": "exit 0\n" + FILES["tests/test_app.sh"]})
    branch(repo, "last", {"c": "c\n"})
    report = land(repo, tmp_path, "fine", "skips", "last")
    assert states(report) == {"fine": "landed", "skips": "held", "last": "landed"}


def test_whose_doing_it_was_is_told(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "deletes", {"tests/test_app.sh": None})
    branch(repo, "breaks", {"app.txt": "bug\n"})
    report = land(repo, tmp_path, "deletes", "breaks")
    assert states(report) == {"deletes": "landed", "breaks": "held"}
    assert reason(report, "breaks") == (
        "changed its own check: tests/test_app.sh deleted; with it put back: sh check.sh: exit 1 (changed by deletes)"
    )


def test_no_checks_are_asked_for_and_it_is_told_all_the_same(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "hides", {"app.txt": "bug\n", "tests/test_app.sh": None})
    report = land_branches(repo, "hides", dry_run=True)
    assert (states(report), report.notes) == (
        {"hides": "would-land"},
        ("hides changes its own check: tests/test_app.sh deleted",),
    )
    report = land_branches(repo, "hides")
    assert states(report) == {"hides": "landed"}


PACKAGE = '{\n  "name": "x",\n  "scripts": {\n    "test": "sh check.sh",\n    "build": "true"\n  }\n}\n'
# What npm test does, as far as it is needed here: CI has no npm everywhere.
NPM = """#!/bin/sh
exec sh -c "$(sed -n 's/^ *"test": "\\(.*\\)",*$/\\1/p' package.json)"
"""


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "bin" / "npm"
    tool.parent.mkdir()
    tool.write_text(NPM)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("npm")
def test_of_a_manifest_only_the_script_of_the_check_counts(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo", {**FILES, "package.json": PACKAGE})
    branch(repo, "skips", {"app.txt": "bug\n", "package.json": PACKAGE.replace("sh check.sh", "true")})
    branch(repo, "builds", {"package.json": PACKAGE.replace('"build": "true"', '"build": "false"')})
    given = {"verify": ("npm test",), "confirm_red": False}
    report = land_branches(repo, "skips", **given)
    assert states(report) == {"skips": "held"}
    assert report.items[0].reason == (
        "changed its own check: scripts.test changed in package.json; with it put back: npm test: exit 1"
    )
    report = land_branches(repo, "builds", **given)
    assert (states(report), report.notes) == ({"builds": "landed"}, ())


def test_a_target_of_make_and_a_script_that_another_calls(tmp_path: Path) -> None:
    make = "build:\n\ttrue\n\ntest:\n\tsh ci/all.sh\n"
    repo = project(tmp_path / "repo", {**FILES, "Makefile": make, "ci/all.sh": "sh check.sh\n"})
    branch(repo, "target", {"app.txt": "bug\n", "Makefile": make.replace("sh ci/all.sh", "true")})
    branch(repo, "called", {"app.txt": "bug 2\n", "check.sh": "true\n"})
    branch(repo, "builds", {"Makefile": make.replace("\ttrue", "\ttrue 1")})
    given = {"verify": ("make test",), "confirm_red": False}
    for name, what in (("target", "test changed in Makefile"), ("called", "check.sh changed")):
        report = land_branches(repo, name, **given)
        assert states(report) == {name: "held"}
        assert report.items[0].reason.startswith(f"changed its own check: {what}; with it put back: make test: ")
    report = land_branches(repo, "builds", **given)
    assert (states(report), report.notes) == ({"builds": "landed"}, ())


def test_a_link_or_a_submodule_in_place_of_a_folder_of_tests(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo")
    branch(repo, "elsewhere", {"empty/test_none.sh": "true\n"})
    repo.switch("links", new=True, start="main")
    repo.git("rm", "-rq", "tests")
    (repo.path / "tests").symlink_to("empty")
    put(repo, "links", {"app.txt": "bug\n", "empty/test_none.sh": "true\n"})
    repo.switch("main")
    report = land(repo, tmp_path, "links")
    assert states(report) == {"links": "held"}
    assert report.items[0].accept == ("tests/test_app.sh", "tests/test_other.sh")


def test_an_executable_bit_that_is_lost(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo", {**FILES, "check.sh": f"#!/bin/sh\n{CHECK}"})
    (repo.path / "check.sh").chmod(0o755)
    # Not by a commit of its own: that one would be taken back.
    repo.git("commit", "-q", "-a", "--amend", "--no-edit")
    repo.switch("mode", new=True)
    (repo.path / "check.sh").chmod(0o644)
    put(repo, "mode", {"app.txt": "bug\n"})
    repo.switch("main")
    report = land_branches(repo, "mode", verify=("if test -x check.sh; then ./check.sh; fi",), confirm_red=False)
    # A command that another one begins with is followed, too.
    assert states(report) == {"mode": "held"}
    assert report.items[0].reason.startswith("changed its own check: check.sh is not executable any more; with it")


def test_what_cannot_run_with_it_put_back_is_said(tmp_path: Path) -> None:
    repo = project(tmp_path / "repo", {**FILES, "check.sh": "sh ci.sh\n", "ci.sh": "exit 127\n"})
    branch(repo, "mends", {"ci.sh": CHECK})
    report = land_branches(repo, "mends", verify=("sh check.sh",))
    assert states(report) == {"mends": "landed"}
    assert report.notes == (
        "with ci.sh changed put back, the checks could not run: sh check.sh: command not found: a program that"
        " sh check.sh starts",
        "mends changes its own check: ci.sh changed",
    )


def much(path: Path) -> Repo:
    return project(path, {**FILES, **{f"docs/{number:02}.md": f"{number}\n" for number in range(40)}})


def test_who_deletes_much_is_held(tmp_path: Path) -> None:
    repo = much(tmp_path / "repo")
    branch(repo, "few", {f"docs/{number:02}.md": None for number in range(20)})
    branch(repo, "many", {f"docs/{number:02}.md": None for number in range(15, 36)})
    report = land_branches(repo, "many")
    assert states(report) == {"many": "held"}
    assert report.items[0].reason == "it deletes 21 of 46 files, such as docs/15.md"
    assert report.items[0].accept == ("deletions",)
    assert states(land_branches(repo, "many", dry_run=True)) == {"many": "held"}
    assert states(land_branches(repo, "many", dry_run=True, max_deleted=0.5)) == {"many": "would-land"}
    assert states(land_branches(repo, "many", dry_run=True, max_deleted=1.0)) == {"many": "would-land"}
    assert states(land_branches(repo, "few")) == {"few": "landed"}
    assert states(land_branches(repo, "many", accept=("deletions",))) == {"many": "landed"}


def test_moving_everything_deletes_nothing(tmp_path: Path) -> None:
    repo = much(tmp_path / "repo")
    repo.switch("moves", new=True)
    repo.git("mv", "docs", "pages")
    for number in range(20):
        repo.write(f"pages/{number:02}.md", f"moved {number}\n")
    repo.commit("moves")
    repo.switch("main")
    assert states(land_branches(repo, "moves")) == {"moves": "landed"}


def test_emptied_files_count_as_deleted(tmp_path: Path) -> None:
    repo = much(tmp_path / "repo")
    branch(repo, "empties", {f"docs/{number:02}.md": "" for number in range(25)})
    assert states(land_branches(repo, "empties")) == {"empties": "held"}
