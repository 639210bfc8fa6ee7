"""The values a run is made of: a unit, how its worker ended, what its checks said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gitprun.model.lists import join_few
from gitprun.model.names import UnitId

Mode = Literal["write", "read"]
WorkspaceKind = Literal["clone", "worktree"]
Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]
# How checks are confined: as the worker was, always, or not at all.
VerifySandbox = Literal["worker", "workspace-write", "none"]
VerdictState = Literal["pass", "fail", "could-not-run", "absent"]
CheckState = Literal["pass", "fail", "could-not-run"]
# stalled: told to end because nothing came of it any more.
ExitReason = Literal["exited", "timeout", "stopped", "stalled", "not-started"]

# The states of units that are not over, in the order in which they are gone through; waiting: an attempt is over, and
# the next begins later.
LIVE = ("queued", "waiting", "preparing", "running", "collecting", "verifying")

# An agent that is at work for longer has mostly lost its way; it is captured like any other.
DEFAULT_TIMEOUT = 3600.0
# So many bytes of output are kept of one program.
DEFAULT_OUTPUT_MAX = 256_000_000
# How work is told that is green only because it changed what it is checked by.
CHANGED_CHECK = "changed its own check"
# Why checks run without walls where nobody expects any.
UNCONFINED = "its worker was not confined either"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One independent piece of work; ``timeout`` in seconds, ``paths`` is the fence as globs.

    ``bypass`` says whether its prompt begins with the bypass prefix (None: as its executor does). ``walled`` tells
    that ``sandbox`` was asked for and the executor has none of its own, so that prun builds the walls.
    """

    id: UnitId
    prompt: str
    executor: str
    command: tuple[str, ...] = ()
    mode: Mode = "write"
    workspace: WorkspaceKind = "clone"
    paths: tuple[str, ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    model: str | None = None
    reasoning: str | None = None
    sandbox: Sandbox = "workspace-write"
    bypass: bool | None = None
    walled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorSettings:
    """What the configuration says about one executor (``[executor.NAME]``).

    ``jobs`` is how many of its workers run at once (None: as many as the run allows).
    """

    program: str | None = None
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    isolate: bool = True
    bypass: bool | None = None
    jobs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a supervised program ended; ``seconds`` is how long it ran.

    ``leftovers`` counts what it left running, which was ended; ``survivors`` are the pids of what would not end, and
    ``unproved`` says why it cannot be told whether there are any. ``dropped`` counts the bytes of its output that
    were too many.
    """

    code: int | None
    signal: int | None
    reason: ExitReason
    seconds: float
    detail: str = ""
    leftovers: int = 0
    survivors: tuple[int, ...] = ()
    unproved: str = ""
    dropped: int = 0

    @property
    def shell_code(self) -> int:
        """Return the exit code a shell would report (128 + signal; 124 after a timeout)."""
        # 124 is what timeout(1) gives, 127 what a shell gives for a program that is not there.
        if self.reason in ("timeout", "stalled"):
            return 124
        if self.reason == "not-started":
            return 127
        if self.code is not None:
            return self.code
        return 128 + (self.signal or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one verification command said; ``log`` is the path of its full output.

    ``changed`` are the tracked files it rewrote although it may not; ``flaky``: it failed first, and passed on the same
    tree when it ran again.
    """

    command: str
    state: CheckState
    code: int | None
    seconds: float
    log: str
    reason: str = ""
    changed: tuple[str, ...] = ()
    flaky: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer of all verification commands together; only ``pass`` lets a unit land.

    ``confined`` names the walls the commands ran within, or ``none: why``; empty where none ran. ``notes`` are what
    you should know about a pass, too. ``gate`` says what was changed of the checks themselves (each path, in words)
    where they fail only once that is put back.
    """

    state: VerdictState
    checks: tuple[CheckResult, ...] = ()
    confined: str = ""
    notes: tuple[str, ...] = ()
    gate: tuple[tuple[str, str], ...] = ()

    @property
    def reason(self) -> str:
        """Return in a few words why the verdict is not a pass."""
        for check in self.checks:
            if check.state == self.state and check.state != "pass":
                said = f"{check.command}: {check.reason or check.state}"
                return (
                    f"{CHANGED_CHECK}: {join_few(words for _, words in self.gate)}; with it put back: {said}"
                    if self.gate
                    else said
                )
        return "no check is declared and none was detected" if self.state == "absent" else ""


def was_confined(executor: str, sandbox: str, walled: bool = False) -> bool:
    """Check whether a worker was held to its workspace; ``walled`` tells whether by walls of prun's."""
    return walled or (executor != "command" and sandbox != "danger-full-access")
