"""Nothing lands that was not proved: the merged tree is checked in a private clone before the branch moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.landing.engine import land
from gitprun.landing.plan import Candidate, LandingOptions
from gitprun.supervisor.process import Stop
from tests.support.landing import candidate, land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow

CHECK = ("sh test.sh",)


def green_plus_green(path: Path) -> Repo:
    """One branch renames a function, another calls it by its old name; a third has nothing to do with them."""
    repo = make_repo(
        path,
        lib_dot_sh="total() { echo 3; }\n",
        use1_dot_sh=". ./lib.sh; total\n",
        test_dot_sh="for f in use*.sh; do sh $f >/dev/null 2>&1 || exit 1; done\n",
    )
    for name, files in {
        "renames": {"lib_dot_sh": "grand_total() { echo 3; }\n", "use1_dot_sh": ". ./lib.sh; grand_total\n"},
        "calls": {"use2_dot_sh": ". ./lib.sh; total\n"},
        "other": {"other_dot_txt": "x\n"},
    }.items():
        repo.switch(name, new=True, start="main")
        repo.commit(name, **files)
    repo.switch("main")
    return repo


def units(repo: Repo, *names: str) -> list[Candidate]:
    tree = {name: repo.oid(f"{name}^{{tree}}") for name in names}
    return [
        candidate(repo, name, run="r1", unit=name, verdict="pass", tree=tree[name], since=float(number))
        for number, name in enumerate(names)
    ]


def test_the_pair_that_does_not_get_along_is_named(tmp_path: Path) -> None:
    repo = green_plus_green(tmp_path / "repo")
    report = land_branches(repo, *units(repo, "renames", "calls", "other"), verify=CHECK)
    assert states(report) == {"renames": "landed", "calls": "red", "other": "landed"}
    assert report.items[1].reason == ("sh test.sh: exit 1 (it is green by itself, red together with renames)")
    assert report.verdict is not None
    assert report.verdict.state == "pass"
    assert sorted(repo.files()) == ["lib.sh", "other.txt", "test.sh", "use1.sh"]
    assert repo.status() == []
    assert landing_events(repo) == [
        "landing.started",
        "landing.landed renames",
        "landing.landed other",
        "landing.finished landed",
    ]


def test_one_red_branch_does_not_land(tmp_path: Path) -> None:
    repo = green_plus_green(tmp_path / "repo")
    assert states(land_branches(repo, "renames", verify=CHECK)) == {"renames": "landed"}
    report = land_branches(repo, "calls", verify=CHECK)
    assert states(report) == {"calls": "red"}
    assert report.items[0].reason == "sh test.sh: exit 1 (on top of main)"
    assert report.new == report.old == repo.head


def test_a_target_that_was_red_before(tmp_path: Path) -> None:
    repo = green_plus_green(tmp_path / "repo")
    repo.commit("break", use0_dot_sh="exit 1\n")
    report = land_branches(repo, "other", "calls", verify=CHECK)
    assert states(report) == {"other": "red", "calls": "red"}
    assert {item.reason for item in report.items} == {"main was red before: sh test.sh: exit 1"}
    assert report.new == report.old


def test_a_branch_that_makes_a_red_target_green_lands(tmp_path: Path) -> None:
    repo = green_plus_green(tmp_path / "repo")
    repo.commit("break", use0_dot_sh="exit 1\n")
    repo.switch("repair", new=True)
    repo.commit("repair", use0_dot_sh="true\n")
    repo.switch("main")
    assert states(land_branches(repo, "repair", verify=CHECK)) == {"repair": "landed"}


def test_a_conflict_may_vanish_with_the_red_branch(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n")
    for name, content in {"red": "red\n", "fine": "fine\n"}.items():
        repo.switch(name, new=True, start="main")
        repo.commit(name, f=content)
    repo.switch("third", new=True, start="main")
    repo.commit("third", t="t\n")
    repo.switch("main")
    report = land_branches(repo, "red", "fine", "third", verify=("! grep red f",))
    assert states(report) == {"red": "red", "fine": "landed", "third": "landed"}


@pytest.mark.parametrize(
    ("verify", "said"), [((), "no check is declared and none was detected"), (("no-such-tool",), "")]
)
def test_what_cannot_be_proved_does_not_land(tmp_path: Path, verify: tuple[str, ...], said: str) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("topic", new=True)
    repo.commit("topic", b="b\n")
    repo.switch("main")
    report = land_branches(repo, "topic", verify=verify)
    assert states(report) == {"topic": "unverified"}
    assert report.items[0].reason.startswith(f"the merged tree is not proved: {said}")
    assert report.new == report.old
    report = land_branches(repo, "topic", verify=verify, allow_unverified=True)
    assert states(report) == {"topic": "landed"}
    assert any(note.startswith("landed without proof") for note in report.notes)


def test_units_need_a_verdict_of_their_own(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("topic", new=True)
    repo.commit("topic", b="b\n")
    repo.switch("main")
    unit = candidate(repo, "topic", run="r1", unit="topic", verdict="fail")
    report = land_branches(repo, unit, verify=("true",))
    assert [(item.state, item.reason) for item in report.items] == [("unverified", "its checks failed")]
    assert states(land_branches(repo, unit, verify=("false",), allow_unverified=True)) == {"topic": "red"}
    assert states(land_branches(repo, unit, verify=("true",), allow_unverified=True)) == {"topic": "landed"}


@pytest.mark.parametrize("one_by_one", [False, True])
def test_the_verdict_of_a_workers_folder_proves_no_tree(tmp_path: Path, one_by_one: bool) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("topic", new=True)
    repo.commit("topic", b="b\n")
    repo.switch("main")
    unit = candidate(repo, "topic", run="r1", unit="topic", verdict="pass", tree=repo.oid("topic^{tree}"))
    report = land_branches(repo, unit, verify=("! test -e b",), one_by_one=one_by_one)
    assert [(item.state, item.reason) for item in report.items] == [("red", "! test -e b: exit 1 (on top of main)")]
    assert report.new == report.old == repo.head


def test_where_the_checks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repo(tmp_path / "repo", _dot_gitignore="node_modules/\n.env\n")
    repo.write("node_modules/tool", "t\n")
    repo.write(".env", "e\n")
    repo.switch("topic", new=True)
    topic = repo.commit("topic", b="b\n")
    repo.switch("main")
    said = tmp_path / "said"
    command = (
        f"{{ pwd; git branch --show-current; git log -1 --format='%P %s'; cat b .env node_modules/tool;"
        f" env | grep -E '^GIT_(DIR|INDEX|WORK|AUTHOR|CONFIG_GLOBAL)' | wc -l; echo soiled >b; }} >{said};"
        " git checkout -q b"
    )
    report = land_branches(repo, "topic", verify=(command,), copy=(".env",), link=("node_modules",))
    assert states(report) == {"topic": "landed"}
    folder, *rest = said.read_text().splitlines()
    assert rest == ["main", f"{report.old} {topic} merge: ship topic", "b", "e", "t", "0"]
    assert Path(folder).name == "repo"
    assert Path(folder).parent.parent == tmp_path / "repo.prun" / "checks"
    assert sorted(path.name for path in (tmp_path / "repo.prun").iterdir()) == []
    assert (repo.read("b"), repo.read("node_modules/tool"), repo.status()) == ("b\n", "t\n", [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert report.verdict is not None
    assert Path(report.verdict.checks[0].log).is_file()


def test_a_stop_before_the_move(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("topic", new=True)
    repo.commit("topic", b="b\n")
    repo.switch("main")
    stop = Stop()
    stop.set()
    for options in (LandingOptions(verify=("true",), allow_unverified=True), LandingOptions(no_verify=True)):
        report = land(repo.repository, repo.ledger, [candidate(repo, "topic")], options, stop=stop)
        assert states(report) == {"topic": "unverified"}
        assert report.items[0].reason == "stopped before it could land"
    assert landing_events(repo) == []
