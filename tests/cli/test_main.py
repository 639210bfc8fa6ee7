"""The program as a whole: exit codes, signals, closed pipes, and what a run says while it goes on."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from rich.console import Console

from gitprun.api.events import LedgerEvent
from gitprun.cli.live import Watch
from tests.support.cli import ROOT, program_environment, prun, start_prun
from tests.support.inside import inside, timeless
from tests.support.processes import start_program
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, sh, unit_of


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def unit(name: str, script: str, more: str = "") -> str:
    return f'[[unit]]\nid = "{name}"\nprompt = "x"\ncommand = ["sh", "-c", {json.dumps(script)}]\n{more}\n'


def test_usage(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {
        ("stauts",): "error: 'stauts' is not a git prun command\nhint: did you mean 'status'?\n",
        ("qqqq",): "error: 'qqqq' is not a git prun command\nhint: git prun --help lists them\n",
        ("show",): "error: Missing argument 'UNIT'\nhint: git prun show --help\n",
        ("status", "r1", "r2"): "error: Got unexpected extra argument (r2)\nhint: git prun status --help\n",
    }
    for args, err in expected.items():
        said = inside(capsys, repo.path, *args)
        assert (said.code, said.out, said.err) == (129, "", err)


def test_help_and_version(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, repo.path, "--version")
    assert (said.code, said.out, said.err) == (0, "git prun, version 0.2.0\n", "")
    said = inside(capsys, repo.path, "--help")
    assert (said.code, said.err) == (0, "")
    assert "Exit codes: 0 done, 1 the answer is no, 70 a bug of ours, 128 cannot, 129" in said.out
    nothing = prun(repo.path)
    assert (nothing.code, nothing.out, nothing.err.splitlines()[0]) == (
        129,
        "",
        "Usage: git prun [OPTIONS] COMMAND [ARGS]...",
    )


def test_a_bug_is_one_line_and_a_report(
    repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def surprise(_: object) -> None:
        raise RuntimeError("caf\udce9 \x1b[31m")

    monkeypatch.setattr("gitprun.cli.status.here", surprise)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said = inside(capsys, repo.path, "status")
    (report,) = tmp_path.glob("git-prun-bug-*.txt")
    assert (said.code, said.out) == (70, "")
    assert said.err == (
        "error: git prun has a bug: RuntimeError('caf\\udce9 \\x1b[31m')\n"
        f"hint: the report is in {report}; nothing was removed\n"
    )
    assert report.read_text().endswith("RuntimeError: caf\\udce9 \x1b[31m\n")
    assert report.stat().st_mode & 0o077 == 0


def test_what_the_system_refuses_is_no_bug(
    repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device", "/w/x")

    monkeypatch.setattr("gitprun.cli.status.here", full)
    said = inside(capsys, repo.path, "status")
    assert (said.code, said.err) == (128, "error: /w/x: No space left on device\nhint: free some space\n")


def test_an_interrupt_outside_of_a_run(
    repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gitprun.cli.status.here", interrupted)
    assert inside(capsys, repo.path, "status").code == 130


def test_a_reader_that_goes_away(repo: Repo) -> None:
    run_units(repo, sh("a", "head -c 3000000 /dev/zero"))
    process = start_prun(repo.path, "log", "a", "--all")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")


def test_a_run_goes_on_when_nobody_listens(repo: Repo) -> None:
    repo.write("plan.toml", unit("a", "echo x >x") + unit("b", "echo x >x"))
    process = start_prun(repo.path, "run", "plan.toml", "--json", "--verify", "true")
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    process.stdout = process.stderr = None
    assert process.wait(timeout=60) == 0
    assert [unit_of(repo, name).state for name in ("a", "b")] == ["ready", "ready"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stopped_run_keeps_the_work(repo: Repo, tmp_path: Path, number: signal.Signals, code: int) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    repo.write("plan.toml", unit("a", f"echo half >half.txt; echo go >{ready}; sleep 1000") + unit("b", "echo b >b"))
    process = start_prun(repo.path, "run", "plan.toml", "--jobs", "1", "--verify", "true")
    ready.read_text()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert timeless(err.decode()).splitlines()[-2:] == [
        "error: stopped; what was done is kept in run r1",
        "hint: git prun run --resume r1 goes on with it",
    ]
    assert [line.split()[:2] for line in out.decode().splitlines()] == [
        ["unit", "state"],
        ["a", "stopped"],
        ["b", "stopped"],
    ]
    assert repo.files("refs/prun/r1/a") == {"a.txt": "1", "half.txt": "half"}


def test_a_run_under_nohup_outlives_its_terminal(repo: Repo, tmp_path: Path) -> None:
    for name in ("ready", "go"):
        os.mkfifo(tmp_path / name)
    repo.write("plan.toml", unit("a", f"echo go >{tmp_path}/ready; read x <{tmp_path}/go; echo x >x"))
    words = f"trap '' HUP; exec {sys.executable} -m gitprun run plan.toml --verify true"
    process = start_program(
        ["sh", "-c", words],
        cwd=repo.path,
        env=program_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    (tmp_path / "ready").read_text()
    process.send_signal(signal.SIGHUP)
    (tmp_path / "go").write_text("on\n")
    assert process.wait(timeout=60) == 0
    assert unit_of(repo, "a").state == "ready"


def test_what_a_good_run_says(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("plan.toml", unit("reports", "echo x >x;" + RESULT))
    said = inside(capsys, repo.path, "run", "plan.toml", "--verify", "true")
    assert said.code == 0
    assert timeless(said.out) == (
        "unit     state  age   files  verdict  branch           note\n"
        "reports  ready  AGE  1      pass     prun/r1/reports\n"
    )
    assert timeless(said.err) == (
        "run r1: 1 unit, 1 at a time, base COMMIT (HEAD)\n"
        "TIME reports: preparing\n"
        "TIME reports: running\n"
        "TIME reports: verifying\n"
        "TIME reports: ready\n"
        "run r1: 1 ready, in AGE\n"
        "hint: git prun diff reports shows what it changed; git prun merge lands what is ready\n"
    )


def test_what_a_bad_run_says(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    units = (
        unit("a", "printf '\\033[31mboom\\n'; exit 1"),
        unit("b", "true"),
        unit("c", "echo x >x"),
        unit("d", "exit 2"),
    )
    repo.write("plan.toml", "".join(units))
    said = inside(capsys, repo.path, "run", "plan.toml", "--jobs", "1", "--verify", "false")
    assert said.code == 1
    assert [line.split()[:2] for line in said.out.splitlines()[1:]] == [
        ["a", "failed"],
        ["b", "empty"],
        ["c", "unverified"],
        ["d", "failed"],
    ]
    assert "\x1b" not in said.out + said.err
    lines = timeless(said.err).splitlines()
    assert lines[1:4] == ["TIME a: preparing", "TIME a: running", "TIME a: failed (exit code 1: boom)"]
    assert lines[-4:] == [
        "run r1: 1 unverified, 1 empty, 2 failed, in AGE",
        "hint: git prun show a and git prun log a tell more",
        "hint: git prun show b and git prun log b tell more",
        "hint: git prun log --verify c shows why its checks do not pass",
    ]


def test_work_that_nothing_proves_says_so(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, repo.path, "run", "--unit", "a", "--prompt", "x", "--command", "sh -c 'echo x >x'")
    assert said.code == 1
    assert said.err.splitlines()[-1] == (
        'hint: nothing proves the work: give the plan verify = ["..."], or use git prun merge --allow-unverified'
    )


def test_a_single_unit_without_a_plan(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    (repo.path.parent / "p.md").write_text("from a file")
    args = ("--unit", "id=a", "--unit", "mode=write", "--prompt-file", "../p.md", "--command", "sh -c 'cat >x'")
    said = inside(capsys, repo.path, "run", *args, "--path", "x", "--path", "y", "--timeout", "40m", "--verify", "true")
    assert said.code == 0, said.err
    spec = unit_of(repo, "a").as_json()["spec"]
    assert (spec["executor"], spec["command"], spec["paths"], spec["timeout"]) == (
        "command",
        ["sh", "-c", "cat >x"],
        ["x", "y"],
        2400.0,
    )
    assert repo.files("refs/prun/r1/a")["x"].startswith("from a file\n")


def test_lists_of_a_single_unit_are_written_as_in_a_plan(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    words = """command=["sh", '-c', "cat >x; echo ] >'a b'"]"""
    args = ("--unit", "id=a", "--unit", words, "--unit", 'paths=["x", "a b"]', "--prompt", "p", "--verify", "true")
    assert inside(capsys, repo.path, "run", *args).code == 0
    spec = unit_of(repo, "a").as_json()["spec"]
    assert (spec["command"], spec["paths"]) == (["sh", "-c", "cat >x; echo ] >'a b'"], ["x", "a b"])
    args = ("--unit", "id=b", "--unit", "command=[ -f a.txt ]", "--prompt", "p", "--verify", "true")
    assert inside(capsys, repo.path, "run", *args).code == 1
    assert unit_of(repo, "b").as_json()["spec"]["command"] == ["[", "-f", "a.txt", "]"]
    said = inside(capsys, repo.path, "run", "--unit", "id=c", "--unit", "command=[sh,-c,true]", "--prompt", "p")
    assert (said.code, said.err) == (
        128,
        "error: --unit command: invalid list [sh,-c,true]\n"
        """hint: a shell takes quotes away: write 'command=["sh", "-c", "true"]' in quotes\n""",
    )


def test_programs_get_json_when_they_are_refused_too(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = {"error": "nothing has been run in this repository yet", "hint": "git prun run plan.toml"}
    missing = {"error": "no run has a unit 'u'", "hint": "git prun status lists the units", "exit_code": 128}
    refused = [
        (("merge", "--json"), nothing | {"exit_code": 128}),
        (("show", "--json", "u"), missing),
        (("status", "--json", "--frob"), {"error": "No such option '--frob'.", "hint": "", "exit_code": 129}),
        (
            ("stop", "--json"),
            {"error": "nothing is running", "hint": "git prun status shows what there is", "exit_code": 1},
        ),
    ]
    for words, answer in refused:
        said = inside(capsys, repo.path, *words)
        whole = {"schema": "gitprun.error/1", **answer, "code": answer["exit_code"]}
        assert (said.json, said.code, said.err.startswith("error: ")) == (whole, answer["exit_code"], True), words
    assert inside(capsys, repo.path, "show", "u", "--", "--json").out == ""
    run_units(repo, sh("a", "exit 3"))
    assert inside(capsys, repo.path, "reconcile", "--json").json["complete"] is False
    assert len(inside(capsys, repo.path, "status", "--json").out.splitlines()) == 1


def test_what_the_units_will_not_see(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write(".gitignore", "*.db\n")
    repo.git("add", "-A"), repo.git("commit", "-qm", "ignore")
    for name in ("notes/plan.md", "fixture.db", "prompts/p.md", ".env"):
        repo.write(name, "x\n")
    repo.write("a.txt", "changed\n")
    repo.write(
        "prompts/p.md", "Follow notes/plan.md with ./fixture.db, see a.txt and https://x.example/a.b (and .env)."
    )
    repo.write(
        "plan.toml",
        '[workspace]\ncopy = [".env"]\n[[unit]]\nid = "a"\nprompt_file = "prompts/p.md"\ncommand = ["true"]\n',
    )
    said = inside(capsys, repo.path, "run", "plan.toml")
    end = "which the unit will not see as it is in your checkout (commit it, or name it in [workspace] copy)"
    assert said.err.splitlines()[1:3] == [
        "warning: 2 uncommitted changes in your checkout (a.txt, notes/plan.md) will not be visible to the units,"
        " nor what git ignores (fixture.db)",
        f"warning: the prompt of a names a.txt, fixture.db, notes/plan.md, {end}",
    ]
    repo.git("commit", "-qam", "a")
    assert (
        inside(capsys, repo.path, "run", "plan.toml").err.splitlines()[2]
        == f"warning: the prompt of a names fixture.db, notes/plan.md, {end}"
    )


def test_a_plan_of_ones_own_is_no_uncommitted_change(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("p.md", "x")
    repo.write("plan.toml", '[[unit]]\nid = "a"\nprompt_file = "p.md"\ncommand = ["true"]\n')
    assert "warning" not in inside(capsys, repo.path, "run", "plan.toml").err


def test_json_is_one_event_a_line(repo: Repo) -> None:
    repo.write("plan.toml", unit("a", "echo x >x") + unit("b", "exit 1"))
    said = prun(repo.path, "run", "plan.toml", "--json", "--verify", "true")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert (said.code, said.err) == (1, "")
    written = repo.ledger.read().events
    assert sorted((row["t"], row["kind"], row["run"], row["unit"]) for row in rows) == [
        (event.time, event.kind, event.run, event.unit) for event in written
    ]
    assert [row["kind"] for row in rows if row["unit"] == "a"] == [event.kind for event in written if event.unit == "a"]
    assert (rows[0]["kind"], rows[-1]["facts"]) == ("run.started", {"states": {"a": "ready", "b": "failed"}})


def drawn(watch: Watch, room: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=60, color_system=None).print(watch.render(room))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_the_live_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(["a", "b", "c"], as_json=False)
    monkeypatch.setattr("gitprun.cli.live.say", lambda _text: None)
    monkeypatch.setattr("gitprun.cli.live.time.time", lambda: 105.0)
    watch.began = 100.0
    for name in ("a", "b", "c"):
        watch.on_event(LedgerEvent(kind="unit.queued", t=100.0, run="r1", unit=name))
    ended = {"state": "failed", "reason": "exit \x1b[1m1"}
    watch.on_event(LedgerEvent(kind="unit.finished", t=101.0, run="r1", unit="a", facts=ended))
    watch.on_event(LedgerEvent(kind="unit.started", t=102.0, run="r1", unit="c"))
    watch.on_progress("c", "said: [bold]hello[/bold] and much, much more")
    assert drawn(watch, 10) == [
        "a  failed        4.0s   exit \\x1b[1m1",
        "b  queued        5.0s",
        "c  running       3.0s   said: [bold]hello[/bold] and much, \u2026",
        "1 of 3 units over, 5.0s (Ctrl-C stops them, keeps their wor\u2026",
    ]
    assert [line.split()[0] for line in drawn(watch, 1)] == ["c", "1"]


# A stand-in for Windows: its name, and none of the modules that only POSIX has.
WINDOWS = """
import sys
sys.platform = "win32"
for name in ("fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
before = set(sys.modules)
sys.argv = ["git-prun", *sys.argv[1:]]
from gitprun.__main__ import main
try:
    main()
finally:
    print(sorted({*sys.modules} - before))
"""


@pytest.mark.parametrize("words", [("status",), ("--version",), ("merge-file", "a", "b", "c"), ()])
def test_windows_is_refused_before_anything_is_loaded(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        128,
        "error: git prun does not run on Windows; it needs Linux or macOS\n"
        "hint: it works in WSL (Windows Subsystem for Linux): 'wsl --install', then install git prun in there\n",
    )
    assert done.stdout == "['gitprun', 'gitprun.__main__']\n"
