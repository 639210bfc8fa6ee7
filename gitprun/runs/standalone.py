"""One unit without a run: a worker, its output in a state folder, its result file, as the first seed dispatched it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast, get_args

from gitprun.contract import FALLBACK_MARK, parse_result
from gitprun.errors import UsageProblem
from gitprun.executors.base import Ending, Place
from gitprun.executors.catalog import require_executor
from gitprun.names import nearest
from gitprun.runs.outcome import exit_facts
from gitprun.runs.statedir import (
    StateDir,
    list_state_dirs,
    make_state_dir,
    read_line,
    read_state_dir,
    write_identity,
    write_line,
    write_record,
)
from gitprun.system.files import read_plain, tail, write_whole
from gitprun.system.process import Identity, Stop, probe_identity, read_exit, run, worker_environment
from gitprun.tables import parse_duration
from gitprun.units import ExecutorSettings, Exit, Sandbox, Unit

DEFAULT_SANDBOX: Final = "danger-full-access"
DEFAULT_REASONING: Final = "xhigh"
# The process of a worker without a time limit would outlive no machine.
NO_LIMIT = 10 * 365 * 86400.0
MAX_RESULT = 4_000_000
MAX_TAIL = 64_000
# Of a longer output only the head and the end are read to tell how it ended.
HEAD, END = 1 << 16, 16 << 20

# Literal text of the seed's protocol: scripts look for it.
SALVAGE: Final = """# {unit} result {mark}
Conclusion: INCOMPLETE; structured result missing, raw worker output salvaged from the dispatch tail below.
Files: unknown
Open items: worker did not write its result file; review the raw output below or re-dispatch this unit.
Verification: none (salvaged by dispatch-task, not by the worker)

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the seed's environment variables say about a worker; ``timeout`` in seconds, None: no limit."""

    sandbox: Sandbox = DEFAULT_SANDBOX
    reasoning: str = DEFAULT_REASONING
    isolate: bool = True
    program: str | None = None
    scratch: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What came of a unit: how its worker ended, whether its result is a salvage, why none could be written."""

    ended: Exit
    ending: Ending
    fallback: bool
    problem: str = ""


def read_wishes(environment: Mapping[str, str]) -> Wishes:
    """Read the seed's environment variables; raises UsageProblem that names the one that is wrong."""
    said = {name: environment.get(name) or "" for name in VARIABLES}
    sandbox = said["CODEX_DISPATCH_SANDBOX"] or DEFAULT_SANDBOX
    if sandbox not in get_args(Sandbox):
        meant = nearest(sandbox, get_args(Sandbox))
        raise UsageProblem(
            f"CODEX_DISPATCH_SANDBOX cannot be {sandbox!r}",
            f"one of: {', '.join(get_args(Sandbox))}" + (f" (meant {meant}?)" if meant else ""),
        )
    return Wishes(
        sandbox=cast(Sandbox, sandbox),
        reasoning=said["CODEX_DISPATCH_REASONING"] or DEFAULT_REASONING,
        isolate=said["CODEX_DISPATCH_ISOLATE_MCP"].lower() != "off",
        program=said["CODEX_BIN"] or None,
        scratch=said["PRUN_SCRATCH_CWD"] or None,
        timeout=read_limit(said["CODEX_DISPATCH_TIMEOUT"], "CODEX_DISPATCH_TIMEOUT"),
    )


VARIABLES = (
    "CODEX_BIN",
    "CODEX_DISPATCH_SANDBOX",
    "CODEX_DISPATCH_REASONING",
    "CODEX_DISPATCH_ISOLATE_MCP",
    "CODEX_DISPATCH_TIMEOUT",
    "PRUN_SCRATCH_CWD",
)


def read_limit(text: str, name: str) -> float | None:
    """Read a time limit in seconds, None where it is empty or zero (off); raises UsageProblem."""
    if not text.strip("0 "):
        return None
    seconds = parse_duration(text)
    if seconds is None:
        raise UsageProblem(f"{name} is no duration: {text!r}", 'write seconds, or "90s", "40m", "1h30m"; 0 is off')
    return seconds


def dispatch_unit(
    unit: Unit,
    settings: ExecutorSettings,
    result: Path,
    *,
    base: Path,
    caller: str,
    scratch: Path | None,
    stop: Stop,
    announce: Callable[[Path], None],
    say: Callable[[str], None],
) -> Settled:
    """Run one worker to its end and see to its result file; raises UsageProblem before anything was started.

    ``announce`` hears the state folder before the worker starts, ``say`` everything a person should know.
    """
    before = _require_result_path(result)
    _require_nobody_else(base, result)
    _make(result.parent, "the folder of the result file")
    if scratch is not None:
        _make(scratch, "the working folder")
    folder = make_state_dir(base, caller, unit.id)
    cwd = scratch or _make(folder / "work", "the working folder")
    me = probe_identity(os.getpid())
    place = Place(cwd=str(cwd), result=str(result), last_message=str(folder / "last-message.txt"), repository=str(cwd))
    launch = require_executor(unit.executor).launch(unit, unit.prompt, place, settings)
    asked = {"unit": unit.id, "executor": unit.executor, "cwd": str(cwd), "argv": list(launch.argv)}
    write_record(folder, "dispatch.json", asked | {"dispatcher": asdict(me) if me else None})
    write_line(folder, "dispatch-pid", str(os.getpid()))
    write_line(folder, "pre-mtime", str(int(before)))
    write_line(folder, "timestamp", str(int(time.time())))
    # From here on whoever waits for this result knows that somebody is at work on it, so the old one can go.
    write_line(folder, "result-file", str(result))
    if (aside := _rotate(result)) is not None:
        say(f"{result} was there already; it is no result of this run and was moved to {aside}")
    announce(folder)
    own = {"PRUN_UNIT": unit.id, "PRUN_RESULT": str(result)}

    def started(warden: Identity | None) -> None:
        write_identity(folder, "warden.json", warden)

    ended = run(
        launch.argv,
        cwd=cwd,
        env=worker_environment(dict(launch.env) | own),
        stdin=launch.stdin,
        stdout=folder / "tail",
        timeout=unit.timeout,
        stop=stop,
        record=folder,
        started=started,
    )
    with open(folder / "tail", "ab") as output:
        if ended.reason == "not-started":
            output.write(f"git prun dispatch: {ended.detail}\n".encode(errors="replace"))
    return settle(folder, ended)


def _require_result_path(result: Path) -> float:
    """Refuse a result path that is no file; gives the time of a file that is there already, or 0."""
    try:
        found = result.stat()
    except OSError:
        return 0.0
    if not stat.S_ISREG(found.st_mode):
        raise UsageProblem(f"the result file {result} is not a file", "name a file that is written anew")
    return found.st_mtime


def _require_nobody_else(base: Path, result: Path) -> None:
    """Refuse a result file another worker is still writing: neither would know whose it is."""
    for path in list_state_dirs(base):
        if place_of(read_line(path, "result-file")) == place_of(str(result)) and read_state_dir(path).alive:
            raise UsageProblem(
                f"another worker is still at work on {result} (state folder {path})",
                "give each unit a result file of its own, or wait for that one to end",
            )


def place_of(path: str) -> str:
    """Name a result file the same way whatever links lead to its folder."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _make(folder: Path, what: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageProblem(f"{what} {folder} cannot be made: {problem.strerror}") from None
    return folder


def _rotate(result: Path) -> Path | None:
    """Move a result that is there already aside, so that it is never taken for this run's."""
    if not has_content(result):
        return None
    number = 1
    while os.path.lexists(aside := result.with_name(f"{result.name}.stale-{number}")):
        number += 1
    try:
        os.rename(result, aside)
    except OSError as problem:
        raise UsageProblem(f"the old {result} cannot be moved aside: {problem.strerror}", "remove it") from None
    return aside


def has_content(path: Path) -> bool:
    """Tell whether a file is there and not empty."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def settle(folder: Path, ended: Exit | None = None) -> Settled:
    """See to the result of a unit whose worker has ended, and write down what came of it.

    A result the worker wrote is never touched. Without one its last message is taken if it follows the contract;
    else its output is salvaged. Without ``ended`` the warden's own record says how the worker ended.
    """
    state = read_state_dir(folder)
    said = ended or read_exit(folder / "exit.json") or Exit(
        code=None, signal=9, reason="exited", seconds=0.0, detail="dispatcher and worker were killed"
    )  # fmt: skip
    ending = require_executor(str(state.asked.get("executor") or "codex")).ending(_lines(folder / "tail"), said)
    result, fallback, problem = Path(state.result), False, ""
    if not has_content(result):
        text = _last_message(state, ending)
        fallback = not text
        try:
            result.parent.mkdir(parents=True, exist_ok=True)
            write_whole(result, (text or salvaged(state, ending)).encode("utf-8", "replace"), mode=0o666)
        except OSError as trouble:
            problem = f"the result file {result} could not be written: {trouble.strerror}"
    record: dict[str, Any] = {"unit": state.unit, "result": state.result, "fallback": fallback, "problem": problem}
    record |= {"exit": exit_facts(said), "ending": asdict(ending) | {"message": ""}}
    write_record(folder, "ending.json", record)
    return Settled(ended=said, ending=ending, fallback=fallback, problem=problem)


def _last_message(state: StateDir, ending: Ending) -> str:
    """Give the worker's last message if it follows the contract."""
    left = (read_plain(state.path / "last-message.txt", MAX_RESULT) or b"").decode("utf-8", "replace")
    return next((said for said in (ending.message, left) if parse_result(said, state.unit).valid), "")


def salvaged(state: StateDir, ending: Ending) -> str:
    """Write the result of a worker that wrote none: the seed's header, its last message, the end of its output."""
    output = state.path / "tail"
    size = output.stat().st_size if output.exists() else 0
    body = tail(output, MAX_TAIL).decode("utf-8", "replace")
    if size > MAX_TAIL:
        body = f"(the last {MAX_TAIL // 1000} kB of {size / 1e6:.1f} MB; all of it is in {output})\n{body}"
    if ending.message.strip():
        body = f"The worker's last message:\n\n{ending.message.rstrip()}\n\nThe end of its output:\n\n{body}"
    return SALVAGE.format(unit=state.unit, mark=FALLBACK_MARK) + body


def _lines(path: Path) -> Iterator[bytes]:
    """Give a file's lines without ever holding more than 4 MiB of one; of a huge file only the head and the end."""
    if not path.exists():
        return
    with open(path, "rb") as source:
        size = source.seek(0, os.SEEK_END)
        source.seek(0)
        while line := source.readline(4 << 20):
            yield line.rstrip(b"\n")
            if HEAD <= source.tell() < size - END:
                source.seek(size - END)
                source.readline(4 << 20)
