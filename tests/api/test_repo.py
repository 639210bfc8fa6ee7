"""``Repo`` as a program uses it: a run in the background, its landing, and that back again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gitprun.api import Repo
from gitprun.model.errors import PrunError
from tests.support.repos import Repo as Made
from tests.support.repos import make_repo

PLAN = """
[run]
verify = ["true"]
[[unit]]
id = "u"
prompt = "x"
executor = "command"
command = ["sh", "-c", "echo new >n.txt"]
"""


@pytest.fixture
def made(tmp_path: Path) -> Made:
    repo = make_repo(tmp_path / "r", f="f\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    return repo


def test_a_plan_file_is_run_landed_and_taken_back(made: Made, capfd: pytest.CaptureFixture[str]) -> None:
    repo, before = Repo.open(made.path), made.head
    handle = repo.start(made.path.parent / "plan.toml")
    ended = [event.kind for event in handle.events()][-1]
    assert (handle.run, ended, {unit.id: unit.state for unit in handle.wait().units}) == (
        "r1",
        "run.finished",
        {"u": "ready"},
    )
    assert [run.run for run in repo.runs()] == ["r1"]
    assert (repo.run("r1").units[0].id, repo.unit("r1/u").state, repo.unit("u").files) == ("u", "ready", 1)
    # One text is one name, and not its letters.
    assert [one.name for one in repo.forecast("u").branches] == ["prun/r1/u"]
    assert [(item.branch, item.state) for item in repo.merge("u").items] == [("prun/r1/u", "landed")]
    assert made.files("main")["n.txt"] == "new"
    assert repo.undo().way == "moved"
    assert (made.head, made.status()) == (before, [])
    # Nothing was said but by what was returned.
    assert capfd.readouterr() == ("", "")


def test_several_at_once_in_one_process(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    (tmp_path / "plan.toml").write_text(PLAN)
    homes = {name: make_repo(tmp_path / name, f="f\n") for name in names}
    states: dict[str, tuple[str, ...]] = {}

    def work(name: str) -> None:
        handle = Repo.open(homes[name].path).start(tmp_path / "plan.toml")
        states[name] = tuple(unit.state for unit in handle.wait().units)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states == dict.fromkeys(names, ("ready",))


def test_what_is_not_there_is_raised_with_a_way_on(made: Made, tmp_path: Path) -> None:
    repo = Repo.open(made.path)
    for ask in (lambda: repo.unit("nobody"), lambda: repo.start(tmp_path / "none.toml"), lambda: repo.undo()):
        with pytest.raises(PrunError) as caught:
            ask()
        assert caught.value.message
        assert "\n" not in caught.value.message
    with pytest.raises(PrunError, match="no such folder"):
        Repo.open(tmp_path / "nowhere")
