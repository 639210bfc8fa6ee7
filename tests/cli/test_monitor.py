"""``git prun monitor`` as people and scripts call it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import prun, start_prun
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.scene import Scene, begin, calm, open_scene

pytestmark = pytest.mark.slow

PLAN = """
[run]
verify = ["true"]
[[unit]]
id = "alpha"
prompt = "x"
command = ["sh", "-c", "echo work >work.txt"]
"""
FAILING = PLAN + '[[unit]]\nid = "beta"\nprompt = "x"\ncommand = ["false"]\n'


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path) as opened:
        begin(opened)
        yield opened


def run(repo: Repo, plan: str) -> int:
    (repo.path.parent / "plan.toml").write_text(plan)
    return prun(repo.path, "run", "../plan.toml").code


def lines_of(process: subprocess.Popen[bytes], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().decode().rstrip("\n") for _ in range(count)]


def test_once(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.start("alpha").work.write("new.py", "1\n")
    said = inside(capsys, scene.repo.path, "monitor", "--once")
    assert calm(said.out) == (
        "TIME  procs=codex:1/wrap:2  commits=main:0/all:0  (working/no-commit-yet)  [silent-edit]  :: alpha=0c/1d\n"
    )
    assert (said.code, said.err) == (0, "")


def test_what_a_flag_is_about_is_said_beside_the_line(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.start("alpha")
    for number in range(7):
        scene.repo.write(f"leak{number}", "x\n")
    said = inside(capsys, scene.repo.path, "monitor", "--once")
    assert "[main-dirty:7(alpha?),size-drift:+7files]  :: alpha=0c/0d\n" in said.out
    assert said.err == "  main-dirty:7(alpha?): leak0, leak1, leak2, leak3, leak4 and 2 more\n"


def test_once_after_a_real_run(repo: Repo) -> None:
    run(repo, PLAN)
    said = prun(repo.path, "monitor", "--once")
    assert calm(said.out) == (
        "TIME  procs=codex:0/wrap:0  commits=main:0/all:1  (+1commit)  [agent-done-committed]  :: alpha=1c/0d\n"
    )
    assert prun(repo.path, "merge").code == 0
    said = prun(repo.path, "monitor", "r1", "--once")
    assert calm(said.out) == (
        "TIME  procs=codex:0/wrap:0  commits=main:2/all:2  (+2commit)  [agent-done-committed]  :: alpha=1c/0d\n"
    )


def test_json_is_one_object_a_tick(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.start("alpha")
    said = inside(capsys, scene.repo.path, "monitor", "--once", "--json")
    row = json.loads(said.out)
    assert (said.err, said.out.count("\n")) == ("", 1)
    assert {key: row[key] for key in ("procs", "commits", "note", "flags", "base")} == {
        "procs": {"codex": 1, "wrap": 2},
        "commits": {"main": 0, "all": 0},
        "note": "working/no-commit-yet",
        "flags": [],
        "base": scene.repo.head,
    }
    assert [(unit["unit"], unit["state"], unit["dirty"]) for unit in row["units"]] == [("alpha", "running", 0)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_starts_before_any_run_and_stops_when_told(repo: Repo, number: signal.Signals) -> None:
    process = start_prun(repo.path, "monitor", "--interval", "0.2")
    said = lines_of(process, 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert [calm(line) for line in said] == [
        f"[startup TIME] baseline={repo.head} interval=0.2s notify=off",
        "TIME  procs=codex:0/wrap:0  commits=main:0/all:0  (idle)  ::",
        "TIME  procs=codex:0/wrap:0  commits=main:0/all:0  (idle)  ::",
    ]
    assert calm(out.decode()).splitlines()[-1] == "[shutdown TIME] monitor stopping"
    assert (process.returncode, err) == (0, b"")


def test_with_json_the_frame_is_no_data(repo: Repo) -> None:
    process = start_prun(repo.path, "monitor", "--json", "--interval", "60")
    row = json.loads(lines_of(process, 1)[0])
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert (row["note"], out, process.returncode) == ("idle", b"", 0)
    assert calm(err.decode()).splitlines() == [
        f"[startup TIME] baseline={repo.head} interval=60s notify=off",
        "[shutdown TIME] monitor stopping",
    ]


def test_until_done_waits_for_the_end_of_the_work(scene: Scene) -> None:
    scene.start("alpha").work.write("new.py", "1\n")
    process = start_prun(scene.repo.path, "monitor", "--until-done", "--interval", "600")
    lines_of(process, 2)
    scene.finish("alpha")
    scene.over()
    out, _ = process.communicate(timeout=60)
    assert calm(out.decode()).splitlines() == [
        "TIME  procs=codex:0/wrap:0  commits=main:0/all:1  (+1commit)  [agent-done-committed]  :: alpha=1c/0d",
        "[shutdown TIME] monitor stopping: no unit is at work",
    ]
    assert process.returncode == 0


def test_until_done_that_is_stopped_has_not_been_answered(scene: Scene) -> None:
    scene.start("alpha")
    process = start_prun(scene.repo.path, "monitor", "--until-done")
    lines_of(process, 2)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert calm(out.decode()) == "[shutdown TIME] monitor stopping\n"
    assert process.returncode == 143


def test_until_done_tells_whether_all_went_well(repo: Repo) -> None:
    run(repo, FAILING)
    assert prun(repo.path, "monitor", "--until-done", "r1").code == 1


def test_every_line_is_kept_with_the_run(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.start("alpha")
    said = "".join(inside(capsys, scene.repo.path, "monitor", "--once").out for _ in range(2))
    assert (scene.state / "logs" / "monitor.log").read_text() == said


def test_the_variables_of_the_seed(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_MONITOR_INTERVAL", "0.1")
    monkeypatch.setenv("CONSEC_WARN_AT", "2")
    process = start_prun(scene.repo.path, "monitor")
    said = lines_of(process, 3)
    process.terminate()
    process.communicate(timeout=60)
    assert said[0].endswith(" interval=0.1s notify=off")
    assert "[streak:2x]" in said[2]
    monkeypatch.setenv("CODEX_MONITOR_INTERVAL", "soon")
    wrong = inside(capsys, scene.repo.path, "monitor", "--once")
    assert (wrong.code, "hint: git prun monitor --help" in wrong.err) == (129, True)
    assert "CODEX_MONITOR_INTERVAL" in inside(capsys, scene.repo.path, "monitor", "--help").out


def notifier(tmp_path: Path, name: str) -> dict[str, str]:
    """Make a notifier that writes down its arguments."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / name).write_text(f'#!/bin/sh\nprintf "%s|" "$@" >>"{tmp_path}/told"\necho >>"{tmp_path}/told"\n')
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def told(tmp_path: Path) -> str:
    path = tmp_path / "told"
    return calm(path.read_text()) if path.exists() else ""


def test_notifications_through_notify_send(scene: Scene, tmp_path: Path) -> None:
    env = notifier(tmp_path, "notify-send")
    prun(scene.repo.path, "monitor", "--once", env=env)
    assert told(tmp_path) == ""
    prun(scene.repo.path, "monitor", "--once", "--notify", env=env)
    body = "procs=codex:0/wrap:1  commits=main:0/all:0  (idle)"
    assert told(tmp_path) == f"--|git prun TIME|{body}|\n"


def test_notifications_through_osascript(scene: Scene, tmp_path: Path) -> None:
    env = {**notifier(tmp_path, "osascript"), "NOTIFY_TITLE": 'My "title"'}
    prun(scene.repo.path, "monitor", "--once", "--notify", env=env)
    assert told(tmp_path).endswith('(idle)|My "title"|TIME|\n')


def test_no_notifier_is_no_error(scene: Scene, tmp_path: Path) -> None:
    for program in ("git", "sh"):
        (tmp_path / program).symlink_to(f"/usr/bin/{program}")
    said = prun(scene.repo.path, "monitor", "--once", "--notify", env={"PATH": str(tmp_path)})
    assert (said.code, said.err) == (0, "")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--once", "--until-done"), 129, "error: --once and --until-done cannot be given together\n"),
        (("--interval", "0"), 129, "error: Invalid value for '--interval'"),
        (("r9", "--once"), 128, "error: there is no run 'r9'\n"),
        (("a", "b"), 129, "error: Got unexpected extra argument"),
    ],
)
def test_wrong_use(
    repo: Repo, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], code: int, message: str
) -> None:
    said = inside(capsys, repo.path, "monitor", *args)
    assert (said.code, said.out, said.err.startswith(message)) == (code, "", True)


def test_outside_of_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, tmp_path, "monitor", "--once")
    assert (said.code, said.out) == (128, "")


def test_a_reader_that_has_gone_ends_it(scene: Scene) -> None:
    process = start_prun(scene.repo.path, "monitor", "--interval", "0.1")
    lines_of(process, 1)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
