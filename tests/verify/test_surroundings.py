"""What checks are run in: as their worker was confined, without the user's credentials, and what is said of that."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.model.environment import UNASKED
from gitprun.model.errors import PrunError
from gitprun.model.units import CheckResult, Verdict, VerifySandbox
from gitprun.supervisor import sandbox
from gitprun.supervisor.sandbox import Sandbox, SandboxKind, find_sandbox
from gitprun.verify import surroundings as module
from gitprun.verify.check import check_workspace
from gitprun.verify.surroundings import (
    CACHES,
    ConfinementRequest,
    Surroundings,
    surroundings,
    wish_for_landing,
    wish_for_worker,
)

NOT_EITHER = ConfinementRequest(confined=False, why="its worker was not confined either")
NOTHING = ConfinementRequest(confined=False, why="nothing in it came from a confined worker")
REFUSED = ConfinementRequest(confined=False, why='[run] verify_sandbox = "none"')
ALWAYS = ConfinementRequest(confined=True, required=True)


@pytest.mark.parametrize(
    ("executor", "sandbox", "asked", "wish"),
    [
        ("codex", "workspace-write", None, ConfinementRequest(confined=True)),
        ("claude", "workspace-write", "worker", ConfinementRequest(confined=True)),
        ("codex", "read-only", None, ConfinementRequest(confined=True, own_files=False)),
        ("codex", "danger-full-access", None, NOT_EITHER),
        ("claude", "danger-full-access", "worker", NOT_EITHER),
        ("command", "workspace-write", None, NOT_EITHER),
        ("command", "workspace-write", "workspace-write", ALWAYS),
        ("codex", "danger-full-access", "workspace-write", ALWAYS),
        ("codex", "workspace-write", "none", REFUSED),
    ],
)
def test_checks_are_confined_as_their_worker_was(
    executor: str, sandbox: str, asked: VerifySandbox | None, wish: ConfinementRequest
) -> None:
    assert wish_for_worker(executor, sandbox, asked) == wish


@pytest.mark.parametrize(
    ("confined", "asked", "wish"),
    [
        (False, None, NOTHING),
        (False, "worker", NOTHING),
        (True, "worker", ConfinementRequest(confined=True)),
        (False, "workspace-write", ALWAYS),
        (True, "none", REFUSED),
    ],
)
def test_one_confined_worker_confines_the_merged_tree(
    confined: bool, asked: VerifySandbox | None, wish: ConfinementRequest
) -> None:
    assert wish_for_landing(confined, asked) == wish


@pytest.fixture
def walls() -> SandboxKind:
    found = find_sandbox()
    if found.kind is None:
        pytest.skip(found.reason)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "mine").write_text("mine\n")
    return tmp_path


def check(place: Path, around: Surroundings, *commands: str) -> Verdict:
    verdict = check_workspace(place / "workspace", commands, place / "logs", around=around, timeout=60.0)
    return replace(verdict, checks=tuple(replace(one, seconds=0.0, log="") for one in verdict.checks))


def test_a_confined_check_has_folders_of_its_own(
    place: Path, walls: SandboxKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "hunter2")
    monkeypatch.setenv("GIT_DIR", "/other")
    workspace, temporary = place / "workspace", place / ".tmp" / "a"
    own, extra = {"PRUN_UNIT": "a"}, [("MY_FLAG", "1"), ("MY_SECRET", "2")]
    with surroundings(ConfinementRequest(confined=True), workspace, temporary, own, extra) as around:
        assert temporary.is_dir()
        moved = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(temporary))
        moved |= {name: f"{temporary}/caches/{folder}" for name, folder in CACHES.items()}
        expected = {**moved, **own, **UNASKED, "MY_FLAG": "1", "HOME": os.environ["HOME"], "PATH": os.environ["PATH"]}
        assert {name: around.env.get(name) for name in expected} == expected
        assert (around.withheld >= {"GH_TOKEN", "MY_SECRET"}, around.obstacle) == (True, "")
        assert not around.env.keys() & {"GH_TOKEN", "MY_SECRET", "GIT_DIR"}
        verdict = check(
            place, around, 'echo 1 >in; f=$(mktemp); mkdir -p "$GOCACHE"; case $f in $TMPDIR/*) ;; *) false; esac'
        )
    assert verdict.state == "pass"
    assert verdict.confined == ("landlock, with a read-only view" if walls.own_view else walls.kind)
    assert not (place / ".tmp").exists()
    assert [path.name for path in workspace.iterdir()] == ["in"]


def test_a_confined_check_that_fails_says_what_it_may_lack(
    place: Path, walls: SandboxKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "hunter2")
    outside = f"echo bad >{place}/mine"
    with surroundings(ConfinementRequest(confined=True), place / "workspace", place / ".tmp" / "a", {}) as around:
        verdict = check(place, around, outside, "echo GH_TOKEN is not set; exit 3", "exit 4")
    assert [one.reason.partition(";")[2] for one in verdict.checks] == [
        ' it ran confined ([run] verify_sandbox = "none" lets it write elsewhere)',
        " GH_TOKEN of your environment is kept from checks",
        "",
    ]
    assert "hunter2" not in repr(verdict)
    assert (verdict.state, (place / "mine").read_text()) == ("fail", "mine\n")


def test_a_check_that_may_not_write_even_where_it_runs(place: Path, walls: SandboxKind) -> None:
    if walls.kind == "codex":
        pytest.skip("codex lets its sandbox write there")
    wish = ConfinementRequest(confined=True, own_files=False)
    with surroundings(wish, place / "workspace", place / ".tmp" / "a", {}) as around:
        verdict = check(place, around, "cat ../mine; mktemp; ! touch in")
    assert (verdict.state, list((place / "workspace").iterdir())) == ("pass", [])


def test_a_check_that_is_not_confined_says_why(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "hunter2")
    with surroundings(NOT_EITHER, place / "workspace", place / ".tmp" / "a", {}) as around:
        verdict = check(place, around, f'echo "got $GH_TOKEN" >{place}/mine', "cat /root/none; echo denied; exit 1")
    assert verdict.confined == "none: its worker was not confined either"
    assert [one.state for one in verdict.checks] == ["pass", "fail"]
    assert "confined" not in verdict.checks[1].reason
    assert ((place / "mine").read_text(), (place / ".tmp").exists()) == ("got \n", False)


@pytest.fixture
def wall_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every kind of wall away."""
    monkeypatch.setattr(module, "find_sandbox", lambda: SandboxKind(kind=None, reason="no Landlock in the kernel"))


@pytest.mark.usefixtures("wall_less")
def test_without_walls_a_check_runs_and_says_so(place: Path) -> None:
    with surroundings(ConfinementRequest(confined=True), place / "workspace", place / ".tmp" / "a", {}) as around:
        assert around.sandbox == Sandbox(said="none: no Landlock in the kernel")
        verdict = check(place, around, "true")
    assert (verdict.state, verdict.confined) == ("pass", "none: no Landlock in the kernel")


@pytest.mark.usefixtures("wall_less")
def test_walls_that_were_asked_for_are_not_done_without(place: Path) -> None:
    with surroundings(ALWAYS, place / "workspace", place / ".tmp" / "a", {}) as around:
        verdict = check(place, around, "touch ran")
    why = "it cannot be confined: no Landlock in the kernel"
    none = CheckResult(command="touch ran", state="could-not-run", code=None, seconds=0.0, log="", reason=why)
    assert verdict == Verdict(state="could-not-run", checks=(none,))
    assert list((place / "workspace").iterdir()) == []


def test_walls_that_fall_while_they_are_made_are_no_pass(place: Path, walls: SandboxKind) -> None:
    """A kernel that lets us try, and refuses later: the check is not started."""
    made = sandbox.make_sandbox(SandboxKind(kind="landlock"), [place / "workspace", place / "gone"])
    verdict = check(place, Surroundings(env={"PATH": os.environ["PATH"]}, sandbox=made), "touch ran")
    assert verdict.state == "could-not-run"
    assert verdict.checks[0].reason.startswith("could not be started (confinement: ")
    assert list((place / "workspace").iterdir()) == []


def test_walls_are_put_up_round_no_link(place: Path) -> None:
    (place / "user").mkdir()
    (place / "link").symlink_to(place / "user")
    with (
        pytest.raises(PrunError, match="is no folder any more"),
        surroundings(ALWAYS, place / "link", place / ".tmp" / "a", {}),
    ):
        pass


def test_nothing_asks_the_user(place: Path) -> None:
    with surroundings(NOT_EITHER, place / "workspace", place / ".tmp" / "a", {}) as around:
        verdict = check(
            place,
            around,
            "! git credential fill </dev/null",
            'test -z "$(git config --get credential.helper)" && test "$GIT_TERMINAL_PROMPT$GIT_ASKPASS" = 0',
            "! echo | (printf 'protocol=https\\nhost=example.test\\n\\n' | git credential fill)",
        )
    assert [one.state for one in verdict.checks] == ["pass", "pass", "pass"]
