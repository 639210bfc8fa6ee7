"""What settles a conflict beside proof: records, policies, favours and -X; and what a resolver that fails costs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import gitprun.judging.text
from gitprun.judging import doubts
from gitprun.judging.hotspots import Hotspot, parse_favor
from gitprun.judging.recorded_resolutions import keep_resolution
from gitprun.resolvers import near
from gitprun.resolvers.base import FileConflict, Resolved
from gitprun.resolvers.cascade import CascadeResult
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow


def clash(path: Path, name: str = "f.txt", base: str = "1\n", main: str = "main\n", unit: str = "topic\n") -> Repo:
    repo = make_repo(path, other="o\n")
    repo.write(name, base)
    repo.commit("base")
    repo.switch("topic", new=True)
    repo.write(name, unit)
    repo.commit("topic", mine="m\n")
    repo.switch("main")
    repo.write(name, main)
    repo.commit("main")
    return repo


def test_the_cascade_needs_no_configuration(tmp_path: Path) -> None:
    repo = clash(tmp_path / "repo", base="a\nb\n", main="A\nb\n", unit="a\nB\n")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert repo.read("f.txt") == "A\nB\n"
    assert [one.path for one in report.items[0].resolved] == ["f.txt"]
    assert repo.status() == []


def test_a_side_that_only_wrote_other_line_ends(tmp_path: Path) -> None:
    base = "a=1\nb=2\nc=3\nd=4\ne=5\nf=6\n"
    unit = base.replace("f=6", "f=66").replace("\n", "\r\n")
    repo = clash(tmp_path / "repo", "util.py", base, base.replace("a=1", "a=11"), unit)
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert (repo.path / "util.py").read_bytes() == b"a=11\nb=2\nc=3\nd=4\ne=5\nf=66\n"
    assert report.notes == ("topic: util.py: the unit side has CRLF line ends; the main side's LF were kept",)


def test_a_recorded_resolution_comes_before_a_policy(tmp_path: Path) -> None:
    repo = clash(tmp_path / "repo")
    base, main, unit = (repo.oid(f"{revision}:f.txt") for revision in ("main~1", "main", "topic"))
    keep_resolution(repo.repository.state, base, main, unit, b"by hand\n")
    report = land_branches(repo, "topic", hotspots=(Hotspot("*.txt", "ours"),))
    assert states(report) == {"topic": "landed"}
    assert (repo.read("f.txt"), report.items[0].resolved[0].resolver) == ("by hand\n", "recorded")


def test_a_recorded_resolution_with_markers_is_not_believed(tmp_path: Path) -> None:
    repo = clash(tmp_path / "repo")
    base, main, unit = (repo.oid(f"{revision}:f.txt") for revision in ("main~1", "main", "topic"))
    keep_resolution(repo.repository.state, base, main, unit, b"<<<<<<< main\nby hand\n")
    [item] = land_branches(repo, "topic").items
    assert item.state == "conflict"
    assert "the recorded resolution is faulty: a conflict marker is left" in item.conflicts[0].reason


@pytest.mark.parametrize(("favour", "text"), [("f.txt=ours", "main\n"), ("*.txt=theirs", "topic\n")])
def test_a_favour_wins_over_the_configuration(tmp_path: Path, favour: str, text: str) -> None:
    repo = clash(tmp_path / "repo")
    rows = (Hotspot("f.txt", "union"), parse_favor(favour))
    report = land_branches(repo, "topic", hotspots=rows)
    assert states(report) == {"topic": "landed"}
    assert repo.read("f.txt") == text
    assert report.items[0].resolved[0].dropped != ()


def test_one_side_wins_only_if_its_losses_are_accepted(tmp_path: Path) -> None:
    body = "".join(f"{n}\n" for n in range(9))
    main, unit = body.replace("0\n", "main\n"), body.replace("0\n", "check\n").replace("8\n", "eight\n")
    repo = clash(tmp_path / "repo", base=body, main=main, unit=unit)
    report = land_branches(repo, "topic", strategy="ours")
    [item] = report.items
    assert (item.state, item.reason) == (
        "drops",
        "-X ours would drop lines of 1 path; look at them, then --accept-drops lands it",
    )
    assert item.resolved[0].dropped == ("unit 1: +check",)
    assert (report.new, landing_events(repo), repo.read("f.txt")) == (report.old, [], main)
    report = land_branches(repo, "topic", strategy="ours", accept_drops=True)
    assert states(report) == {"topic": "landed"}
    # What git merge -X ours would have made, and the losses written down.
    assert repo.read("f.txt") == main.replace("8\n", "eight\n")
    [landed] = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert landed["dropped"] == [{"path": "f.txt", "lines": ["unit 1: +check"]}]


def test_a_branch_that_loses_all_it_has_is_landed_not_called_contained(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="a\nb\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f="X\nb\n")
    repo.switch("main")
    repo.commit("main", f="A\nb\n")
    report = land_branches(repo, "topic", strategy="ours", accept_drops=True)
    assert (states(report), report.items[0].resolved[0].dropped) == ({"topic": "landed"}, ("unit 1: +X",))
    # As git has it: a merge whose tree is the main side's.
    assert repo.oid("main^{tree}") == repo.oid("main^1^{tree}")
    assert (repo.oid("main^2"), repo.read("f"), repo.status()) == (repo.oid("topic"), "A\nb\n", [])


def test_one_side_wins_nothing_where_a_proof_is_possible(tmp_path: Path) -> None:
    repo = clash(tmp_path / "repo", base="a\nb\n", main="A\nb\n", unit="a\nB\n")
    report = land_branches(repo, "topic", strategy="ours")
    assert states(report) == {"topic": "landed"}
    assert (repo.read("f.txt"), report.items[0].resolved[0].dropped) == ("A\nB\n", ())


def test_one_side_does_not_win_where_a_file_was_deleted(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", legacy="a\nb\n")
    repo.switch("topic", new=True)
    repo.commit("topic", legacy="a\nb2\n")
    repo.switch("main")
    repo.git("rm", "-q", "legacy")
    repo.commit("main", other="o\n")
    report = land_branches(repo, "topic", strategy="ours", accept_drops=True)
    assert states(report) == {"topic": "conflict"}


def test_a_resolver_that_fails_is_a_conflict_and_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(conflict: FileConflict) -> Resolved:
        raise IndexError("out of range")

    monkeypatch.setattr(near, "merge_near", fail)
    repo = clash(tmp_path / "repo")
    repo.switch("other", new=True, start="main")
    repo.commit("other", o="o\n")
    repo.switch("main")
    report = land_branches(repo, "topic", "other")
    assert states(report) == {"topic": "conflict", "other": "landed"}
    said = report.items[0].conflicts[0].reason
    assert said.startswith("the cascade resolver failed: IndexError('out of range'); this is a bug, please report it: ")
    [written] = (repo.path / ".git/prun/bugs").iterdir()
    assert str(written) in said
    assert "out of range" in written.read_text()
    assert "f.txt" in written.read_text()


def test_a_resolver_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(conflict: FileConflict) -> Resolved:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            pass
        raise AssertionError

    monkeypatch.setattr(near, "merge_near", slow)
    monkeypatch.setattr(doubts, "TIME_LIMIT", 0.2)
    repo = clash(tmp_path / "repo")
    report = land_branches(repo, "topic", hotspots=(Hotspot("f.txt", "ours"),))
    # The policy is still asked.
    assert states(report) == {"topic": "landed"}
    report = land_branches(clash(tmp_path / "again"), "topic")
    assert report.items[0].conflicts[0].reason == doubts.NOT_SETTLED


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    body = "x" * 70 + "\n"
    repo = clash(tmp_path / "repo", base="1\n" + body * 20_000, main="m\n" + body * 20_000, unit="u\n" + body * 20_000)
    [item] = land_branches(repo, "topic").items
    assert item.state == "conflict"
    assert item.conflicts[0].reason.startswith("the file is too large to be resolved")


def test_the_next_proved_text_is_tried_before_a_branch_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_texts(
        conflict: FileConflict, state: Path | None, *, every: bool = False, keep: bool = True
    ) -> CascadeResult:
        texts = (Resolved(b"broken\n", "first"), Resolved(b"still broken\n", "second"), Resolved(b"good\n", "third"))
        return CascadeResult(texts if every else texts[:1])

    monkeypatch.setattr(gitprun.judging.text, "cascade_guarded", two_texts)
    repo = clash(tmp_path / "repo")
    command = f"echo x >>{tmp_path}/checks; ! grep -q broken f.txt"
    report = land_branches(repo, "topic", verify=(command,), confirm_red=False)
    assert states(report) == {"topic": "landed"}
    assert (repo.read("f.txt"), report.items[0].resolved[0].resolver) == ("good\n", "third")
    assert report.notes == ("topic: green with the next proved text: f.txt (third)",)
    # The whole, the target by itself, and two more texts.
    assert (tmp_path / "checks").read_text().count("x") == 4
    [landed] = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert landed["resolved"] == [{"path": "f.txt", "resolver": "third", "added": []}]
    report = land_branches(clash(tmp_path / "again"), "topic", verify=("false",))
    assert states(report) == {"topic": "red"}


def test_what_was_brought_is_proved_to_be_there(tmp_path: Path) -> None:
    repo = clash(tmp_path / "repo", base="a\nb\n", main="A\nb\n", unit="a\nB\n")
    repo.switch("later", new=True, start="main")
    repo.git("rm", "-q", "other")
    repo.commit("later", l="l\n")
    repo.switch("main")
    land_branches(repo, "topic", "later")
    landed = [
        event.payload.as_json()["present"] for event in repo.ledger.read().events if event.kind == "landing.landed"
    ]
    assert landed == [
        {"whole": 1, "united": ["f.txt"], "missing": []},
        {"whole": 2, "united": [], "missing": []},
    ]


def test_unrelated_history_comes_with_a_way_out(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", b="1\n")
    unit = make_repo(tmp_path / "unit", a="2\n", b="1\n")
    repo.git("fetch", "-q", str(unit.path), "main:topic")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "unrelated"}
    [note] = report.notes
    assert note.startswith("topic shares no history with main: if it began as a copy of a commit BASE, ")
    # The words of the note, done.
    command = note.partition("can land: ")[2].replace("BASE", "main").replace("NEW", "fixed").replace("MESSAGE", "all")
    assert command == "git branch fixed $(git commit-tree -p main -m all 'topic^{tree}')"
    repo.branch("fixed", repo.git("commit-tree", "-p", "main", "-m", "all", "topic^{tree}"))
    assert states(land_branches(repo, "fixed")) == {"fixed": "landed"}
    assert repo.files() == {"a": "2", "b": "1"}
