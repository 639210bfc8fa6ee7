"""Suspects that have a mend land with it only where the checks are red without it and green with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.cli.main import run_cli
from gitprun.model.findings import ResolvedPath, Suspect
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

SAID = 'main renamed "net_price" to "gross_price" in prices.py, and line 1 uses it'
MEND = "net_price -> gross_price in lines 1, 3 of cart.py"
RED = "! grep -q net_price cart.py"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo", prices_dot_py="def net_price():\n    return 1\n")
    made.switch("topic", new=True)
    made.commit("topic", cart_dot_py="from prices import net_price\n\nx = net_price()\n")
    made.switch("other", new=True, start="main")
    made.commit("other", other="1\n")
    made.switch("main")
    made.commit("main", prices_dot_py="def gross_price():\n    return 1\n")
    return made


def test_red_without_and_green_with_it(repo: Repo) -> None:
    report = land_branches(repo, "topic", "other", verify=(RED,), mend=True, confirm_red=False)
    assert states(report) == {"topic": "landed", "other": "landed"}
    assert repo.read("cart.py") == "from prices import gross_price\n\nx = gross_price()\n"
    assert report.items[0].resolved == (ResolvedPath(path="cart.py", resolver=f"mended: {MEND}"),)
    assert report.notes == (f"topic: landed mended ({MEND}): red without it ({RED}: exit 1), green with it",)
    assert repo.git("log", "-1", "--format=%s").strip() == "merge: ship topic"
    assert repo.git("rev-parse", "HEAD^2").strip() == repo.oid("topic")
    assert report.verdict is not None
    assert report.verdict.state == "pass"
    rows = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert {str(row["branch"]): row["resolved"] for row in rows}["topic"] == [
        {"path": "cart.py", "resolver": f"mended: {MEND}", "added": []}
    ]


def test_it_lands_alone(repo: Repo) -> None:
    assert states(land_branches(repo, "topic", verify=(RED,), mend=True, confirm_red=False)) == {"topic": "landed"}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("true", "not mended: its checks are green without"),
        ("! test -e cart.py", "not mended: ! test -e cart.py: exit 1 with the mend, too"),
        ("no-such-program", "not mended: not proved: no-such-program: command not found: no-such-program"),
    ],
)
def test_what_the_checks_do_not_ask_for_stays_aside(repo: Repo, command: str, why: str) -> None:
    report = land_branches(repo, "topic", verify=(command,), mend=True, confirm_red=False)
    assert states(report) == {"topic": "suspect"}
    assert report.items[0].reason == f"cart.py: {SAID}; {why}"
    assert landing_events(repo) == []


@pytest.mark.parametrize("options", [{}, {"mend": True, "no_verify": True}, {"mend": True, "dry_run": True}])
def test_without_a_check_nothing_is_mended(repo: Repo, options: dict[str, bool]) -> None:
    report = land_branches(repo, "topic", **{"verify": (RED,), **options})
    assert (states(report), report.items[0].suspects) == (
        {"topic": "suspect"},
        (Suspect(path="cart.py", reason=SAID, mend=MEND),),
    )
    assert landing_events(repo) == []


def test_what_has_no_mend_is_not_tried(repo: Repo) -> None:
    repo.commit("more than a name", prices_dot_py="def gross(rate):\n    return rate\n")
    report = land_branches(repo, "topic", verify=(RED,), mend=True)
    assert (states(report), report.items[0].reason) == (
        {"topic": "suspect"},
        'cart.py: main took "net_price" away in prices.py, and line 1 uses it',
    )


def test_an_import_that_git_dropped(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    body = "class A {\n    int a;\n    int b;\n    int c;\n    int d;\n    MORE}\n"
    head = "package a;\n\nimport java.util.List;\nimport java.util.Map;\n\n"
    repo.commit("base", A_dot_java=head + body.replace("MORE", ""))
    repo.switch("topic", new=True)
    repo.commit("topic", A_dot_java=head + body.replace("MORE", "Map map;\n"))
    repo.switch("main")
    repo.commit("main", A_dot_java=head.replace("import java.util.Map;\n", "") + body.replace("MORE", ""))
    report = land_branches(repo, "topic", verify=("grep -q util.Map A.java",), mend=True, confirm_red=False)
    assert states(report) == {"topic": "landed"}
    assert repo.read("A.java") == head + body.replace("MORE", "Map map;\n")


def test_the_command_says_it_and_prun_toml_asks_for_it(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    home = str(repo.path)
    assert run_cli(["-C", home, "merge", "topic", "--verify", RED]) == 1
    told = capsys.readouterr()
    assert f"topic: look at cart.py: {SAID} (mend: {MEND})\n" in told.out
    assert "git prun merge --mend topic lands it mended, if its checks are red without and green with it" in told.err
    repo.commit("settings", prun_dot_toml='[merge]\nmend = "checked"\nconfirm_red = false\n')
    assert run_cli(["-C", home, "merge", "topic", "--verify", RED]) == 0
    assert f"topic: cart.py united (mended: {MEND})\n" in capsys.readouterr().out
