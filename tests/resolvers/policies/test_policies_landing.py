"""Policies in a landing with real git: tried only where configured, only after the kinds refused, and told."""

from __future__ import annotations

from pathlib import Path

from gitprun.judging.hotspots import Hotspot, parse_favor, parse_hotspots
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

PINS = "one==1\ntwo==1\n"
ENUM = "enum E {\n  A = 0,\n};\n"
ROWS = (
    *parse_hotspots([{"path": "requirements.txt", "resolver": "higher-version"}], "prun.toml"),
    parse_favor("src/*.c=renumber"),
)


def clashing(path: Path) -> Repo:
    repo = make_repo(path, requirements_dot_txt=PINS, src__e_dot_c=ENUM)
    for name, version in (("a", 3), ("b", 2)):
        repo.switch(name, new=True, start="main")
        pins = PINS.replace("one==1", f"one=={version}")
        members = ENUM.replace("0,\n", f"0,\n  {name.upper() * 2} = 1,\n")
        repo.commit(name, requirements_dot_txt=pins, src__e_dot_c=members)
    repo.switch("main")
    return repo


def test_what_clashes_is_settled_and_each_line_that_changed_is_in_the_ledger(tmp_path: Path) -> None:
    repo = clashing(tmp_path / "repo")
    report = land_branches(repo, "a", "b", hotspots=ROWS)
    assert states(report) == {"a": "landed", "b": "landed"}
    assert repo.read("requirements.txt") == "one==3\ntwo==1\n"
    assert repo.read("src/e.c") == "enum E {\n  A = 0,\n  AA = 1,\n  BB = 2,\n};\n"
    assert [(one.path, one.resolver, one.dropped) for one in report.items[1].resolved] == [
        ("requirements.txt", "higher-version", ("unit 1: +one==2",)),
        ("src/e.c", "renumber", ("unit 3: +  BB = 1,",)),
    ]
    landed = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert landed[1]["dropped"] == [
        {"path": "requirements.txt", "lines": ["unit 1: +one==2"]},
        {"path": "src/e.c", "lines": ["unit 3: +  BB = 1,"]},
    ]


def test_without_configuration_both_stay_conflicts(tmp_path: Path) -> None:
    report = land_branches(clashing(tmp_path / "repo"), "a", "b")
    assert states(report) == {"a": "landed", "b": "conflict"}


def test_a_refusal_of_the_policy_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", requirements_dot_txt=PINS)
    for name, spec in (("a", "one==3"), ("b", "one>=2")):
        repo.switch(name, new=True, start="main")
        repo.commit(name, requirements_dot_txt=PINS.replace("one==1", spec))
    repo.switch("main")
    report = land_branches(repo, "a", "b", hotspots=(Hotspot("requirements.txt", "higher-version"),))
    assert states(report) == {"a": "landed", "b": "conflict"}
    assert (
        report.items[1]
        .conflicts[0]
        .reason.endswith('higher-version: "one" is changed on both sides, and "==3" and ">=2" are not of one form')
    )
