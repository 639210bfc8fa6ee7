"""``git prun prompt``: what would be sent is what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.model.prompts import BYPASS
from tests.support.cli import prun
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow

PLAN = """
[run]
verify = ["test -f told"]
[[unit]]
id = "keeps"
prompt = "Keep what you are told."
command = ["sh", "-c", "cat >told"]
paths = ["told"]
[[unit]]
id = "coder"
prompt = "Write code."
[[unit]]
id = "slash"
prompt = "/init the parser"
executor = "claude"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "r")
    (tmp_path / "plan.toml").write_text(PLAN)
    return made


def test_what_would_be_sent_is_what_is_sent(repo: Repo, tmp_path: Path) -> None:
    only = PLAN[: PLAN.index('[[unit]]\nid = "coder"')]
    (tmp_path / "one.toml").write_text(only)
    before = prun(repo.path, "prompt", "--plan", "../one.toml")
    assert prun(repo.path, "run", "../one.toml").code == 0
    after = prun(repo.path, "prompt", "keeps")
    received = repo.git("cat-file", "blob", "prun/r1/keeps:told") + "\n"
    assert before.out == after.out == received
    assert received.startswith(
        "Keep what you are told.\n\nDone means: this command passes, run in this folder:\n- test -f told\n"
        "Change only paths that match:\n- told\n\n---\nHow to finish"
    )
    assert prun(repo.path, "prompt", "r1/keeps").out == after.out


def test_the_prefix_and_how_it_is_left_out(repo: Repo, tmp_path: Path) -> None:
    def told(*args: str) -> str:
        said = prun(repo.path, "prompt", "--plan", "../plan.toml", "coder", *args)
        assert said.code == 0, said.err
        return said.out

    assert told().startswith(f"{BYPASS}\n\nWrite code.\n\nDone means:")
    assert told("--no-bypass").startswith("Write code.\n\nDone means:")
    assert "- make\n- make test\n" in told("--verify", "make", "--verify", "make test")
    repo.write("prun.toml", "[executor.codex]\nbypass = false\n")
    assert told().startswith("Write code.\n")
    (tmp_path / "plan.toml").write_text(PLAN.replace('"Write code."', '"Write code."\nbypass = true'))
    assert told().startswith(BYPASS)


def test_no_bypass_reaches_the_units_of_a_run(repo: Repo) -> None:
    single = ("--unit", "id=u", "--prompt", "Do it.", "--command", "true")
    assert prun(repo.path, "run", *single, "--unit", "bypass=true").code == 1
    assert prun(repo.path, "prompt", "u").out.startswith(f"{BYPASS}\n\nDo it.\n")
    assert prun(repo.path, "run", *single, "--unit", "bypass=true", "--no-bypass").code == 1
    assert prun(repo.path, "prompt", "u").out.startswith("Do it.\n")
    assert prun(repo.path, "prompt", "r1/u").out.startswith(BYPASS)


def test_what_an_executor_puts_in_front_is_shown(repo: Repo) -> None:
    said = prun(repo.path, "prompt", "--plan", "../plan.toml", "slash")
    assert said.out.startswith("Do what follows.\n\n/init the parser\n")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((), 129, "error: a unit is missing\nhint: git prun prompt UNIT, or git prun prompt --plan PLAN UNIT\n"),
        (("--plan", "../plan.toml"), 129, "error: a unit is missing\nhint: one of: keeps, coder, slash\n"),
        (
            ("--plan", "../plan.toml", "code"),
            128,
            "error: ../plan.toml has no unit 'code'\nhint: did you mean 'coder'?\n",
        ),
        (("--no-bypass", "u"), 129, "error: --verify and --no-bypass go with --plan\n"),
        (("nobody",), 128, "error: no run has a unit 'nobody'\n"),
    ],
)
def test_complaints(repo: Repo, args: tuple[str, ...], code: int, said: str) -> None:
    answer = prun(repo.path, "prompt", *args)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(said)
