"""``git prun show``, ``diff`` and ``log`` of real units, and of what workers print to harm a terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gitprun.cli.console import age, harmless, safe
from gitprun.cli.main import run_cli
from tests.support.inside import inside, timeless
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.runs import RESULT, run_units, sh, workspace
from tests.support.scene import open_scene


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


NASTY = "printf 'caf\\351 \\033]0;pwned\\007 \\033[31mred\\033[0m\\n'; echo 2 >>a.txt;"


def test_all_that_is_known(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", NASTY + "echo S=1 >.env; echo y >b.txt; sleep 9 &" + RESULT, paths=("b.txt",)))
    said = inside(capsys, repo.path, "show", "a")
    place, state = workspace(repo, "r1", "a"), repo.path / ".git" / "prun" / "runs" / "r1" / "a"
    assert said.code == 0
    head = f"""\
unit:      r1/a
state:     ready
executor:  command (write)
worker:    exit code 0 after AGE
commit:    COMMIT  prun/r1/a
verdict:   pass
confined:  none: its worker was not confined either
workspace: {place}
output:    {state}/output.log

changed:
  a.txt
  b.txt

outside its paths:
  a.txt

left out (still in the workspace):
  .env: looks like a secret by its name (4 bytes)

checks:
  pass: true (AGE)
"""
    shown = timeless(said.out)
    assert shown.startswith(head), shown
    assert shown.endswith(
        "\nresult:\n  # a result\n  Conclusion: done\n  Files: some\n  Open items: none\n  Verification: none\n"
    )


def test_all_that_is_known_as_json(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "echo 2 >>a.txt"))
    row = inside(capsys, repo.path, "show", "r1/a", "--json").json
    assert (row["id"], row["state"], row["verdict"], row["facts"]["changed"]) == ("a", "ready", "pass", ["a.txt"])
    assert row["result"].startswith("# a result (FALLBACK, worker wrote no result file)\n")
    status = inside(capsys, repo.path, "status", "--json").json["runs"][0]["units"][0]
    assert {**status, "age": 0} == {**{key: row[key] for key in status}, "age": 0}


def test_a_broken_unit_says_how_to_go_on(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    blocker = repo.path.parent / "file"
    blocker.write_text("")
    report = run_units(repo, sh("a", "true"), root=str(repo.path.parent / "work"))
    assert report.states == {"a": "empty"}
    repo.ledger.append(
        payload_of("unit.finished", {"state": "broken", "reason": "why", "hint": "how"}), run="r1", unit="a"
    )
    lines = inside(capsys, repo.path, "show", "a").out.splitlines()
    assert lines[:3] == ["unit:      r1/a", "state:     broken (why)", "hint:      how"]


def test_a_unit_that_is_not_known(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("reports", "true"))
    for command in ("show", "diff", "log", "remove"):
        said = inside(capsys, repo.path, command, "report")
        assert (said.code, said.out, said.err) == (
            128,
            "",
            "error: no run has a unit 'report'\nhint: did you mean 'reports'?\n",
        )


def test_what_a_unit_changed(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "echo 2 >>a.txt"))
    said = inside(capsys, repo.path, "diff", "a")
    assert (said.code, said.err) == (0, "")
    assert said.out == (
        "diff --git a/a.txt b/a.txt\nindex d00491f..1191247 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n 1\n+2\n"
    )
    assert inside(capsys, repo.path, "diff", "a", "--name-only").out == "a.txt\n"


def test_no_diff_without_a_commit(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "true"))
    said = inside(capsys, repo.path, "diff", "a")
    assert (said.code, said.out, said.err) == (1, "", "error: r1/a has no commit (empty)\nhint: git prun show r1/a\n")


def test_what_a_worker_printed(repo: Repo, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run_units(repo, sh("a", NASTY), verify=("echo checking",))
    printed = {}
    for option in ("--all", "--verify", "--prompt"):
        run_cli(["-C", str(repo.path), "log", "a", option])
        printed[option] = capfdbinary.readouterr().out
    assert printed["--all"] == b"caf\xe9 \x1b]0;pwned\x07 \x1b[31mred\x1b[0m\n"
    assert printed["--verify"] == b"checking\n"
    assert b"Do a.\n" in printed["--prompt"]


def test_the_end_of_much_output(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done"))
    said = inside(capsys, repo.path, "log", "a")
    lines = said.out.splitlines()
    assert (lines[-1], lines[0][:5], len(said.out) <= 64_000) == ("line 8999", "line ", True)
    assert said.err == "(the last 64 kB of 0.1 MB; --all prints everything)\n"
    assert inside(capsys, repo.path, "log", "a", "--all").out.splitlines()[0] == "line 0"


@pytest.mark.parametrize("by", ["the worker", "somebody"])
def test_a_log_that_was_deleted(repo: Repo, capsys: pytest.CaptureFixture[str], by: str) -> None:
    log = repo.path / ".git" / "prun" / "runs" / "r1" / "a" / "output.log"
    run_units(repo, sh("a", f"echo said; rm {log}" if by == "the worker" else "echo said"))
    log.unlink(missing_ok=True)
    said = inside(capsys, repo.path, "log", "a")
    assert (said.code, said.err) == (
        1, f"error: {log} is gone: somebody deleted it\nhint: git prun show r1/a tells what is still known\n"
    )  # fmt: skip
    fallback = (log.parent / "result.md").read_text()
    assert ("(its output is gone: somebody deleted it)" in fallback) == (by == "the worker")


def test_logs_that_are_not_there(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "true"))
    assert inside(capsys, repo.path, "log", "a").err == "(it printed nothing)\n"
    said = inside(capsys, repo.path, "log", "a", "--verify")
    assert (said.code, said.err) == (1, "error: no check of r1/a was run (empty)\nhint: git prun show r1/a\n")
    repo.ledger.append(payload_of("unit.queued", {}), run="r1", unit="b")
    said = inside(capsys, repo.path, "log", "b")
    assert (said.code, said.err) == (
        1,
        "error: the worker of r1/b was not started (queued)\nhint: git prun show r1/b\n",
    )


def test_the_events_of_a_unit(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "true"))
    rows = [json.loads(line) for line in inside(capsys, repo.path, "log", "a", "--events").out.splitlines()]
    assert [row["kind"] for row in rows] == [
        f"unit.{verb}" for verb in ("queued", "preparing", "prepared", "started", "exited", "captured", "finished")
    ]
    assert rows[-1]["state"] == "empty"


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"plain\ttext\n", b"plain\ttext\n"),
        (b"\x1b[31mred\n", b"\x1b[31mred\n\x1b[0m"),
        (b"\x1b]0;title\x07x\n", b"]0;title?x\n"),
        (b"\x1b[2J\x1b[Hclear\n", b"[2J[Hclear\n"),
        (b"\x1bPq\x1b\\sixel", b"Pq\\sixel"),
        (b"one\rtwo\r\n", b"one\ntwo\n"),
        (b"bell\x07 back\x08 nul\x00 del\x7f\n", b"bell? back? nul? del?\n"),
        ("c1 \x9b31m \u202eback\u2066".encode(), b"c1 ?31m ?back?"),
        (b"caf\xe9\n", b"caf\xe9\n"),
        ("grün \u2026\n".encode(), "grün \u2026\n".encode()),
    ],
)
def test_a_terminal_sees_nothing_that_could_harm_it(content: bytes, shown: bytes) -> None:
    assert harmless(content) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\rmore", "two\\nlines\\tand\\rmore"),
        ("\x1b[31m\x9b \x00", "\\x1b[31m\\x9b \\x00"),
        ("\u202eback \u2028 \ufeff", "\\u202eback \\u2028 \\ufeff"),
        (os.fsdecode(b"caf\xe9"), "caf\\xe9"),
        ("\ud800", "\\ud800"),
        ("grün", "grün"),
    ],
)
def test_one_line_of_anybodys_text(text: str, shown: str) -> None:
    assert safe(text) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (-3, "0.0s"),
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (42, "42s"),
        (120, "2m"),
        (7200, "2h"),
        (864000, "10d"),
    ],
)
def test_ages(seconds: float | None, shown: str) -> None:
    assert age(seconds) == shown


def test_what_a_worker_wrote_is_shown_without_its_sequences(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    words = r"\033[31mred\033[0m \033]8;;http://x.test\007text\033]8;;\007\ttab\n"
    run_units(
        repo,
        sh("a", f"echo a >a; printf '# a result\\n\\nConclusion: {words}' >$PRUN_RESULT"),
        sh("b", f"echo b >b; printf '{words}'; exit 3"),
    )
    said = inside(capsys, repo.path, "show", "a").out
    shown = "\\x1b[31mred\\x1b[0m \\x1b]8;;http://x.test\\x07text\\x1b]8;;\\x07"
    assert said.endswith(f"result:\n  # a result\n  \n  Conclusion: {shown}\ttab\n")
    assert inside(capsys, repo.path, "show", "b").out.endswith(
        "by prun, not written by the worker)\n  \n  red text\ttab\n"
    )
    assert "\x1b[31mred" in inside(capsys, repo.path, "log", "b").out
    for words in (("status",), ("reconcile",), ("forecast",), ("merge", "a"), ("status", "--json")):
        said = inside(capsys, repo.path, *words)
        assert ("\x1b" in said.out + said.err, "\x07" in said.out + said.err) == (False, False)


def test_what_a_unit_at_work_has_by_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_scene(tmp_path, f="1\n") as scene:
        scene.start("idle")
        scene.start("busy").work.write("f", "1\n2\n")
        said = inside(capsys, scene.repo.path, "diff", "busy", "--stat")
        assert (said.code, said.out) == (0, " f | 1 +\n 1 file changed, 1 insertion(+)\n")
        assert said.err == "r1/busy is running: this is what it has by now\n"
        assert inside(capsys, scene.repo.path, "diff", "busy").out.endswith("@@ -1 +1,2 @@\n 1\n+2\n")
        said = inside(capsys, scene.repo.path, "diff", "idle")
        assert (said.code, said.err.splitlines()[0]) == (1, "error: r1/idle is running: it has changed nothing yet")
