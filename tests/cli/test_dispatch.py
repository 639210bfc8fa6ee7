"""``git prun dispatch`` against the literal protocol of the first seed's ``dispatch-task``."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from gitprun.model.contract import contract_for
from gitprun.runs.dispatch_unit import VARIABLES
from gitprun.supervisor.process import probe_identity
from tests.support.cli import ROOT, Said, prun, start_prun
from tests.support.codex import completed, failed, scripted, starts
from tests.support.repos import make_repo

pytestmark = pytest.mark.slow

USAGE = "Usage: git prun dispatch --prompt-file <path> --result-file <path> --unit-id <id>\n"
HEADER = (
    "# u1 result (FALLBACK, worker wrote no result file)\n"
    "Conclusion: INCOMPLETE; structured result missing, raw worker output salvaged from the dispatch tail below.\n"
    "Files: unknown\n"
    "Open items: worker did not write its result file; review the raw output below or re-dispatch this unit.\n"
    "Verification: none (salvaged by dispatch-task, not by the worker)\n"
    "\n"
)
RESULT = "# u1 result\nConclusion: ok\nFiles: none\nOpen items: none\nVerification: none\n"


class Desk:
    """A folder outside of any repository, with a prompt and a stand-in for codex."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tmp = folder / "tmp"
        (folder / "p.md").write_text("Do it.\nünïcode\n")

    def worker(self, script: str) -> None:
        """Write the worker."""
        path = self.folder / "codex"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def env(self, **more: str) -> dict[str, str]:
        return {"CODEX_BIN": "./codex", "TMPDIR": str(self.tmp), "PWD": str(self.folder), **more}

    @property
    def words(self) -> tuple[str, ...]:
        return ("dispatch", "--prompt-file", "p.md", "--result-file", "r.md", "--unit-id", "u1")

    def dispatch(self, *more: str, **env: str) -> Said:
        """Dispatch unit u1."""
        return prun(self.folder, *self.words, *more, env=self.env(**env))

    @property
    def states(self) -> list[Path]:
        """List the state folders, the oldest first."""
        return sorted(self.tmp.iterdir(), key=lambda path: path.stat().st_ctime_ns)

    @property
    def result(self) -> str:
        return (self.folder / "r.md").read_text()

    def tail(self) -> str:
        return (self.states[-1] / "tail").read_text()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_one_line_on_stdout_and_the_files_of_the_seed(desk: Desk) -> None:
    desk.worker(f"printf '{RESULT}' >\"$PRUN_RESULT\"; echo out; echo err >&2")
    said = desk.dispatch()
    (state,) = desk.states
    assert (said.code, said.out) == (0, f"STATE-DIR {state}\n")
    pwd = subprocess.run("pwd | sha256sum | cut -c1-8", shell=True, cwd=desk.folder, capture_output=True, text=True)
    assert re.fullmatch(rf"prun-task-{pwd.stdout.strip()}-u1-[0-9]+-[0-9a-f]{{16}}", state.name)
    assert state.stat().st_mode & 0o7777 == 0o700
    assert sorted(path.name for path in state.iterdir()) == [
        "dispatch-pid",
        "dispatch.json",
        "ending.json",
        "exit.json",
        "pre-mtime",
        "result-file",
        "tail",
        "timestamp",
        "warden.json",
        "work",
    ]
    assert [(state / name).read_text() for name in ("pre-mtime", "result-file", "tail")] == [
        "0\n",
        f"{desk.folder / 'r.md'}\n",
        "out\nerr\n",
    ]
    assert int((state / "timestamp").read_text()) > 1_700_000_000
    assert (
        state / "dispatch-pid"
    ).read_text() == f"{json.loads((state / 'dispatch.json').read_text())['dispatcher']['pid']}\n"
    assert desk.result == RESULT
    assert said.err == (
        "git prun dispatch: u1 ended with exit code 0 (exit code 0 without any event of codex); "
        f"result in {desk.folder / 'r.md'}\nout\nerr\n"
    )


def test_the_state_folder_is_named_before_the_worker_starts(desk: Desk) -> None:
    os.mkfifo(desk.folder / "gate")
    desk.worker(f'read -r line <{shlex.quote(str(desk.folder / "gate"))}; echo "$line"')
    process = start_prun(desk.folder, *desk.words, env=desk.env())
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    assert line == f"STATE-DIR {desk.states[0]}\n"
    (desk.folder / "gate").write_text("go on\n")
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode, desk.tail()) == (b"", 0, "go on\n")


@pytest.mark.parametrize("code", [0, 1, 7, 9, 255])
def test_the_exit_code_is_the_worker_s_and_its_output_is_salvaged(desk: Desk, code: int) -> None:
    desk.worker(f"echo I looked; exit {code}")
    assert desk.dispatch().code == code
    assert desk.result == HEADER + "I looked\n"


def test_a_worker_killed_by_a_signal(desk: Desk) -> None:
    desk.worker("echo partial; kill -KILL $$")
    assert (desk.dispatch().code, desk.result) == (137, HEADER + "partial\n")


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (
            {},
            "--ignore-user-config -c skills.include_instructions=false -s danger-full-access "
            '-c model_reasoning_effort="xhigh"',
        ),
        (
            {"CODEX_DISPATCH_SANDBOX": "workspace-write", "CODEX_DISPATCH_REASONING": "low"},
            "--ignore-user-config -c skills.include_instructions=false -s workspace-write "
            '-c model_reasoning_effort="low"',
        ),
        ({"CODEX_DISPATCH_ISOLATE_MCP": "off", "CODEX_DISPATCH_REASONING": "low"}, "-s danger-full-access"),
        ({"CODEX_DISPATCH_ISOLATE_MCP": "OFF"}, "-s danger-full-access"),
        (
            {"CODEX_DISPATCH_ISOLATE_MCP": "on", "CODEX_DISPATCH_SANDBOX": "", "CODEX_DISPATCH_REASONING": ""},
            "--ignore-user-config -c skills.include_instructions=false -s danger-full-access "
            '-c model_reasoning_effort="xhigh"',
        ),
    ],
)
def test_what_codex_is_called_with(desk: Desk, env: dict[str, str], words: str) -> None:
    desk.worker('echo "$*"')
    desk.dispatch(**env)
    (state,) = desk.states
    assert desk.tail() == f"exec --json -o {state}/last-message.txt --skip-git-repo-check {words} -\n"


def test_the_prompt_comes_on_stdin_which_is_then_closed(desk: Desk) -> None:
    desk.worker("cat; echo the end")
    prompt = "# long\n" + "x" * 300_000 + "\nünïcode -n $HOME\n"
    (desk.folder / "p.md").write_text(prompt)
    desk.dispatch()
    assert desk.tail() == prompt + "the end\n"


def test_where_the_worker_works(desk: Desk) -> None:
    desk.worker("pwd -P; env | grep '^GIT_' || echo no git variables")
    desk.dispatch(GIT_DIR="/nowhere", GIT_INDEX_FILE="x")
    assert desk.tail() == f"{desk.states[0]}/work\nno git variables\n"
    desk.dispatch(PRUN_SCRATCH_CWD="some/clone")
    assert desk.tail() == f"{desk.folder}/some/clone\nno git variables\n"


def test_a_result_of_an_earlier_run_is_never_taken_for_this_one(desk: Desk) -> None:
    old = RESULT.replace("ok", "old success")
    (desk.folder / "r.md").write_text(old)
    os.utime(desk.folder / "r.md", (1_700_000_000, 1_700_000_000))
    desk.worker("exit 1")
    said = desk.dispatch()
    assert (said.code, desk.result) == (1, HEADER)
    assert (desk.folder / "r.md.stale-1").read_text() == old
    assert said.err.splitlines()[0] == (
        f"git prun dispatch: {desk.folder}/r.md was there already; it is no result of this run and was moved to "
        f"{desk.folder}/r.md.stale-1"
    )
    assert (desk.states[0] / "pre-mtime").read_text() == "1700000000\n"
    desk.dispatch()
    assert sorted(path.name for path in desk.folder.glob("r.md*")) == ["r.md", "r.md.stale-1", "r.md.stale-2"]
    waited = prun(desk.folder, "gather", "--strict", "r.md", env=desk.env())
    assert (waited.code, waited.out) == (1, f"GATHER-START count=1 timeout=3600s\nDONE {desk.folder}/r.md\n")


def test_an_empty_file_and_a_missing_folder_are_no_result(desk: Desk) -> None:
    (desk.folder / "r.md").write_text("")
    desk.worker("echo said")
    desk.dispatch()
    assert desk.result == HEADER + "said\n"
    assert not (desk.folder / "r.md.stale-1").exists()
    desk.dispatch("--result-file", "new/folder/r.md")
    assert (desk.folder / "new" / "folder" / "r.md").read_text() == HEADER + "said\n"


def test_a_last_message_that_follows_the_contract_is_the_result(desk: Desk) -> None:
    events = [
        {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": RESULT}},
        {"type": "turn.completed", "usage": {}},
    ]
    rows = "\n".join(map(json.dumps, events))
    desk.worker(f"cat <<'END'\n{rows}\nEND")
    assert (desk.dispatch().code, desk.result) == (0, RESULT)
    desk.worker(f"cat <<'END'\n{rows.replace('# u1 result', '# u9 result')}\nEND")
    desk.dispatch()
    assert desk.result.startswith(HEADER + "The worker's last message:\n\n# u9 result\n")


def test_of_a_long_output_the_end_is_salvaged(desk: Desk) -> None:
    desk.worker("yes 0123456789abcde | head -n 200000; echo the end")
    desk.dispatch()
    body = desk.result.removeprefix(HEADER)
    assert body.startswith(f"(the last 64 kB of 3.2 MB; all of it is in {desk.states[0]}/tail)\n")
    assert body.endswith("0123456789abcde\nthe end\n")
    assert len(body) < 65_000


def test_stderr_ends_with_the_last_80_lines(desk: Desk) -> None:
    desk.worker("seq 200; exit 3")
    said = desk.dispatch()
    assert said.err.splitlines()[1:] == [str(number) for number in range(121, 201)]


@pytest.mark.parametrize(
    ("words", "env"),
    [((), {"CODEX_DISPATCH_TIMEOUT": "0.4"}), (("--timeout", "0.4s"), {"CODEX_DISPATCH_TIMEOUT": "0"})],
)
def test_the_time_limit_is_code_124(desk: Desk, words: tuple[str, ...], env: dict[str, str]) -> None:
    desk.worker("echo working; exec sleep 300")
    assert (desk.dispatch(*words, **env).code, desk.result) == (124, HEADER + "working\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_killed_dispatcher_ends_the_whole_tree_and_salvages(desk: Desk, number: int, code: int) -> None:
    os.mkfifo(desk.folder / "up")
    desk.worker(f"sleep 300 & echo working; echo $! >{shlex.quote(str(desk.folder / 'up'))}; wait")
    process = start_prun(desk.folder, *desk.words, env=desk.env())
    child = int((desk.folder / "up").read_text())
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out, desk.result) == (
        code,
        f"STATE-DIR {desk.states[0]}\n".encode(),
        HEADER + "working\n",
    )
    assert probe_identity(child) is None


def test_a_dispatcher_killed_hard_is_waited_for_and_salvaged_by_gather(desk: Desk) -> None:
    os.mkfifo(desk.folder / "up")
    os.mkfifo(desk.folder / "gate")
    desk.worker(f"cd {shlex.quote(str(desk.folder))}; echo working; echo up >up; read -r line <gate; echo $line")
    process = start_prun(desk.folder, *desk.words, env=desk.env())
    assert (desk.folder / "up").read_text() == "up\n"
    process.kill()
    process.communicate(timeout=60)
    quick = {"AGENT_CONFIG_GATHER_TIMEOUT": "0"}
    waited = prun(desk.folder, "gather", "r.md", env=desk.env(**quick))
    assert (waited.code, waited.out) == (2, "GATHER-START count=1 timeout=0s\nTIMEOUT remaining=1\n")
    again = desk.dispatch()
    assert (again.code, again.out, again.err) == (
        2,
        "",
        f"git prun dispatch: another worker is still at work on {desk.folder}/r.md (state folder {desk.states[0]})\n"
        "hint: give each unit a result file of its own, or wait for that one to end\n" + USAGE,
    )
    (desk.folder / "gate").write_text("done\n")
    waited = prun(desk.folder, "gather", "r.md", env=desk.env(PRUN_GATHER_POLL="0.02"))
    assert (waited.code, waited.out) == (0, f"GATHER-START count=1 timeout=3600s\nDONE {desk.folder}/r.md\n")
    assert desk.result == HEADER + "working\ndone\n"


def test_a_program_that_is_not_there(desk: Desk) -> None:
    said = desk.dispatch(CODEX_BIN="no-such-codex")
    assert (said.code, desk.result) == (127, HEADER + "git prun dispatch: no-such-codex: No such file or directory\n")


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (("dispatch",), {}, "Missing option '--prompt-file'"),
        (("dispatch", "--prompt-file"), {}, "Option '--prompt-file' requires an argument"),
        (("dispatch", "--prompt-file", "p.md", "--unit-id", "u1"), {}, "Missing option '--result-file'"),
        (("--unit-id", "a b"), {}, "--unit-id: unit id 'a b' is not usable"),
        (("--unit-id", "../x"), {}, "--unit-id: unit id '../x' is not usable"),
        (("--prompt-file", "none.md"), {}, "prompt file none.md does not exist"),
        (("--bogus",), {}, "No such option"),
        (("extra",), {}, "Got unexpected extra argument (extra)"),
        (("--executor", "sonnet"), {}, "Invalid value for '--executor': 'sonnet' is not one of 'codex', 'claude'"),
        (("--result-file", "folder"), {}, "the result file {folder}/folder is not a file"),
        (("--result-file", "p.md/r.md"), {}, "the folder of the result file {folder}/p.md cannot be made: File exists"),
        (("--timeout", "soon"), {}, "--timeout: invalid duration 'soon'"),
        ((), {"CODEX_DISPATCH_SANDBOX": "none"}, "CODEX_DISPATCH_SANDBOX cannot be 'none'"),
        ((), {"CODEX_DISPATCH_TIMEOUT": "-1"}, "CODEX_DISPATCH_TIMEOUT: invalid duration '-1'"),
        ((), {"PRUN_SCRATCH_CWD": "p.md"}, "the working folder {folder}/p.md cannot be made: File exists"),
    ],
)
def test_wrong_usage_is_code_2_with_the_usage_line(
    desk: Desk, words: tuple[str, ...], env: dict[str, str], message: str
) -> None:
    (desk.folder / "folder").mkdir()
    desk.worker("echo started >started")
    whole = words if words[:1] == ("dispatch",) else (*desk.words, *words)
    said = prun(desk.folder, *whole, env=desk.env(**env))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"git prun dispatch: {message}".replace("{folder}", str(desk.folder)))
    assert said.err.endswith(USAGE)
    assert not (desk.folder / "started").exists()


def test_a_state_folder_that_cannot_be_made(desk: Desk) -> None:
    said = desk.dispatch(TMPDIR=str(desk.folder / "p.md"))
    assert (said.code, said.out) == (2, "")
    assert re.match(
        r"git prun dispatch: the state folder \S+ cannot be made: (File exists|Not a directory)\n", said.err
    )


def test_in_a_repository_its_settings_for_the_executor_hold(desk: Desk) -> None:
    repo = make_repo(desk.folder / "repo")
    desk.worker('echo "$*"; echo "$WHO"')
    repo.write(
        "prun.toml",
        f'[executor.codex]\nprogram = "{desk.folder}/codex"\nargs = ["-c", "a=1"]\nenv = {{ WHO = "me" }}\n',
    )
    before = repo.status()
    words = ("dispatch", "--prompt-file", "../p.md", "--result-file", "../r.md", "--unit-id", "u1")
    said = prun(repo.path, *words, env={**desk.env(), "CODEX_BIN": ""})
    assert (said.code, said.out) == (128, "")
    repo.approve()
    said = prun(repo.path, *words, env={**desk.env(), "CODEX_BIN": ""})
    assert said.code == 0, said.err
    assert desk.tail().endswith(' -c model_reasoning_effort="xhigh" -c a=1 -\nme\n')
    assert repo.status() == before


def test_claude_works_too(desk: Desk) -> None:
    (desk.folder / "claude").write_text('#!/bin/sh\necho "$*"\n')
    (desk.folder / "claude").chmod(0o755)
    path = f"{desk.folder}:{os.environ['PATH']}"
    said = desk.dispatch("--executor", "claude", "--model", "opus", PATH=path)
    assert said.code == 0
    assert desk.tail().startswith("-p --model opus --output-format stream-json --verbose --permission-mode bypass")


def test_a_result_that_cannot_be_written_is_no_success(desk: Desk) -> None:
    (desk.folder / "out").mkdir()
    desk.worker(f"rmdir {shlex.quote(str(desk.folder))}/out; : >{shlex.quote(str(desk.folder))}/out; echo said")
    said = desk.dispatch("--result-file", "out/r.md")
    assert said.code == 1
    assert said.err.splitlines()[0] == (
        f"git prun dispatch: the result file {desk.folder}/out/r.md could not be written: File exists"
    )


@pytest.mark.parametrize("again", [True, False])
def test_a_worker_its_service_failed_is_tried_again_where_that_is_asked_for(desk: Desk, again: bool) -> None:
    said = failed("unexpected status 503 Service Unavailable: Try again in 0s")
    steps = [said, f"printf '{RESULT}' >\"$PRUN_RESULT\"\n{completed('Did it.')}"]
    program = scripted(desk.folder, *steps)["codex"].program
    answer = desk.dispatch(*(["--retry"] if again else []), CODEX_BIN=str(program))
    (state,) = desk.states
    assert (answer.code, answer.out) == (0 if again else 1, f"STATE-DIR {state}\n")
    assert (desk.result == RESULT, starts(desk.folder, "u1")) == (again, 2 if again else 1)
    first = re.sub(r"\d\d:\d\d:\d\dZ", "CLOCK", answer.err.splitlines()[0])
    assert first == (
        "git prun dispatch: u1 ended with exit code 1 (unexpected status 503 Service Unavailable: Try again in 0s); "
        + ("trying again at CLOCK" if again else f"salvaged result in {desk.folder / 'r.md'}")
    )


def test_a_worker_that_stalls_is_named_and_nothing_is_killed_for_silence(desk: Desk) -> None:
    make_repo(desk.folder / "r", prun_dot_toml='[run]\nstall = "0.3s"\n')
    os.mkfifo(desk.folder / "gate")
    desk.worker(f"echo hm; read -r line <{shlex.quote(str(desk.folder / 'gate'))}")
    words = ("dispatch", "--prompt-file", "../p.md", "--result-file", "../r.md", "--unit-id", "u1")
    process = start_prun(desk.folder / "r", *words, env=desk.env(CODEX_BIN="../codex"))
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    assert re.sub(r"for [0-9.]+ s", "for AGE", line) == (
        "git prun dispatch: u1 stalled: no output and no change of a file for AGE (hm)\n"
    )
    assert json.loads((desk.states[0] / "stall.json").read_text())["ends"] is False
    (desk.folder / "gate").write_text("go on\n")
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_the_page_of_the_protocol_tells_what_is_so() -> None:
    page = (ROOT / "references" / "seed-protocol.md").read_text()
    for word in (*VARIABLES, "TMPDIR", "AGENT_CONFIG_GATHER_TIMEOUT", "PRUN_GATHER_POLL", "PRUN_GATHER_STABLE_WINDOW"):
        assert f"`{word}`" in page
    assert HEADER.replace("u1", "<unit>").rstrip() in page
    asked = contract_for("<unit>", writes=True, outbox=".prun")
    assert asked[asked.index("# <unit> result") : asked.index("\n\n<details>")] in page


def test_a_sign_of_life_every_now_and_then(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gitprun.cli import dispatch

    class Twice(threading.Event):
        """Is over at the third look."""

        looks = 0

        def wait(self, timeout: float | None = None) -> bool:
            """Grow the output between looks."""
            self.looks += 1
            if self.looks == 2:
                (tmp_path / "tail").write_text("x" * 2500)
            return self.looks > 2

    dispatch.show_life("u", tmp_path / "tail", Twice())
    said = re.sub(r"[0-9.]+ ?s\b", "AGE", capsys.readouterr().err).splitlines()
    assert said == [
        "git prun dispatch: u is at work for AGE: no output yet",
        "git prun dispatch: u is at work for AGE: 2.5 kB of output, the last AGE ago",
    ]


def test_a_limit_is_there_unless_it_is_taken_off() -> None:
    from gitprun.runs.dispatch_unit import NO_LIMIT, read_limit, read_variables

    assert [read_limit(text, "x") for text in ("", "0", "00", "90s")] == [3600.0, NO_LIMIT, NO_LIMIT, 90.0]
    assert read_variables({}).timeout == 3600.0
    assert read_variables({"CODEX_DISPATCH_TIMEOUT": "0"}).timeout == NO_LIMIT
