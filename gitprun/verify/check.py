"""Run the checks of a workspace, one after the other, and say in one word whether it is green."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.environment import ceilings
from gitprun.model.environment import missed, speaks_of_denial
from gitprun.model.errors import PrunError
from gitprun.model.units import CheckResult, Exit, Verdict, VerdictState
from gitprun.supervisor import process
from gitprun.supervisor.process import Stop, worker_environment
from gitprun.system import files
from gitprun.system.files import tail
from gitprun.verify import recipes
from gitprun.verify.judge import NOT_FOUND, judge
from gitprun.verify.output import shown
from gitprun.verify.surroundings import Surroundings
from gitprun.workspaces.base import WorkspaceProblem, empty_submodules

# A package.json or a Makefile is smaller; what is larger was made by a program.
MARKER_LIMIT = 1 << 20
# Where tools say how it went: summaries of thousands of failed tests fit, the output of a build need not.
TAIL_LIMIT = 64 << 10
DECLARE = "or declare another verify command"

# For a machine without bash: pipefail where the shell knows it, so that `missing-tool | tail` is no success.
PLAIN_SHELL = 'if (set -o pipefail) 2>/dev/null; then set -o pipefail; fi; eval "$1"'


@dataclass(frozen=True, slots=True)
class CheckPlace:
    """Where checks run: a folder, the one for their logs, what surrounds them; ``stop`` ends them early."""

    path: Path
    logs: Path
    around: Surroundings
    stop: process.Stop | None = None


def check_workspace(
    workspace: Path,
    declared: Sequence[str],
    log_dir: Path,
    *,
    around: Surroundings,
    timeout: float,
    stop: process.Stop | None = None,
) -> Verdict:
    """Run every check of a workspace and give the verdict.

    The declared commands, or else those of the languages found, run in order, all of them even after a
    failure. They share ``timeout`` seconds and write ``<log_dir>/verify-<n>.log``. Raises PrunError if the
    workspace is not there.
    """
    if not workspace.is_dir():
        raise PrunError(f"there is no workspace at {workspace}")
    checks = workspace_checks(workspace, declared)
    return run_checks(CheckPlace(workspace, log_dir, around, stop), checks, timeout=timeout)


def workspace_checks(workspace: Path, declared: Sequence[str], *, detect: bool = False) -> tuple[recipes.Check, ...]:
    """Return the checks of a workspace: the declared ones, and where there are none (or ``detect``) those found."""
    found = recipes.declared(declared)
    if not found or detect:
        known = {one.command for one in found}
        found += tuple(one for one in recipes.detect(read_markers(workspace)) if one.command not in known)
    return found


def run_checks(
    place: CheckPlace,
    checks: Sequence[recipes.Check],
    *,
    timeout: float,
    settle: Callable[[CheckResult], CheckResult] | None = None,
) -> Verdict:
    """Run these very checks, as ``check_workspace`` does; ``settle`` looks at the place after each that ran.

    It returns what the check comes to. Where it makes that ``could-not-run``, the place is not what it was, and no more
    checks run there.
    """
    workspace, around, stop = place.path, place.around, place.stop
    if checks:
        place.logs.mkdir(parents=True, exist_ok=True)
    results: list[CheckResult] = []
    for number, check in enumerate(checks, 1):
        # One limit for all of them: whoever set it waits no longer than that.
        left = timeout - sum(result.seconds for result in results)
        # Said before it is tried: a missing program read from a shell's exit code is easily taken for a failed test.
        obstacle = around.obstacle or _obstacle(check, workspace, around.env, stop) or _no_time(left, timeout)
        if obstacle:
            results.append(_not_run(check, obstacle))
        else:
            log = place.logs / f"verify-{number}.log"
            result = _run(check, workspace, log, around=around, timeout=left, stop=stop)
            settled = result if settle is None else settle(result)
            results.append(settled)
            # What comes after would be asked about another tree than the one that is to be judged.
            if settled.state == "could-not-run" and settled.state != result.state:
                break
    # Of walls and submodules there is something to say only where a command ran.
    ran = any(result.log for result in results)
    empty = empty_submodules(workspace) if ran else []
    return Verdict(
        state=judge_all(results),
        checks=tuple(results),
        confined=around.sandbox.said if ran else "",
        notes=(f"{_name_submodules(empty)}: it was checked without",) if empty else (),
    )


def read_markers(workspace: Path) -> dict[str, str]:
    """Read the files that tell which languages a workspace holds; links, fifos and devices count as absent."""
    found = {name: files.read_plain(workspace / name, MARKER_LIMIT) for name in recipes.MARKERS}
    return {name: text.decode(errors="replace") for name, text in found.items() if text is not None}


def _obstacle(check: recipes.Check, workspace: Path, env: Mapping[str, str], stop: process.Stop | None) -> str:
    """Return what keeps a check from starting; empty if nothing does."""
    if stop is not None and stop.is_set():
        return "stopped before it began"
    for program in check.needs:
        if not find_program(program, env):
            return f"{program} is not on PATH (install it, {DECLARE})"
    for path in check.needs_files:
        if not (workspace / path).exists():
            return f"{path} is missing in the workspace (install the dependencies there, {DECLARE})"
    return ""


def _no_time(left: float, timeout: float) -> str:
    return "" if left > 0 else f"no time was left of the {timeout:g} s that all checks share"


def _not_run(check: recipes.Check, reason: str) -> CheckResult:
    return CheckResult(command=check.command, state="could-not-run", code=None, seconds=0.0, log="", reason=reason)


def run_shell(
    command: str, path: Path, around: Surroundings, *, log: Path, timeout: float, stop: process.Stop | None
) -> Exit:
    """Run shell text in a folder, within its surroundings; the output is added to ``log``."""
    if around.shown is not None:
        around.shown.lay()
    # A check whose place has lost its .git must not find a repository of the user's around it.
    tops = [path, *([around.shown.checkout] if around.shown is not None else [])]
    program = process.ProcessSpec(
        argv=[*around.sandbox.prefix, *shell_argv(command, around.env)],
        cwd=path,
        env={**around.env, **ceilings(os.environ, *tops)},
        stdout=log,
        confine=around.sandbox.confine,
    )
    limits = process.ProcessLimits(timeout=timeout, grace=around.grace, output_max=around.output_max)
    ended = process.run(program, limits, stop=stop)
    if around.shown is not None:
        around.shown.take_in()
    return ended


def _run(
    check: recipes.Check,
    workspace: Path,
    log: Path,
    *,
    around: Surroundings,
    timeout: float,
    stop: process.Stop | None,
) -> CheckResult:
    # Output is appended: what an earlier verification said must not be judged again.
    log.unlink(missing_ok=True)
    ended = run_shell(check.command, workspace, around, log=log, timeout=timeout, stop=stop)
    said = files.tail(log, TAIL_LIMIT).decode(errors="replace")
    state, reason = judge(check, ended, said)
    if state != "pass" and ended.reason == "exited":
        reason = "; ".join((_name_interpreter(reason, workspace), *_what_may_be_missing(said, around)))
    if state == "fail" and (empty := empty_submodules(workspace)):
        # Whether the work is good cannot be told without them, whoever the failure speaks of.
        state, reason = "could-not-run", f"{_name_submodules(empty)} ({reason})"
    return CheckResult(
        command=check.command,
        state=state,
        code=ended.code,
        seconds=ended.seconds,
        log=str(log),
        reason=reason,
    )


def _name_submodules(names: Sequence[str]) -> str:
    more = f" (nor {len(names) - 1} more)" if len(names) > 1 else ""
    return f"submodule {shown(names[0], 120)} is not populated{more}"


def _name_interpreter(reason: str, workspace: Path) -> str:
    """Name what a script asks for that is there itself: shells say of both that the script was not found."""
    script = reason.removeprefix(NOT_FOUND)
    if script == reason or "/" not in script or not (workspace / script).is_file():
        return reason
    first = (files.read_plain(workspace / script, MARKER_LIMIT) or b"").partition(b"\n")[0].decode(errors="replace")
    wanted = first.removeprefix("#!").split()
    return f"{NOT_FOUND}{shown(wanted[0], 120)} (asked for by {script})" if first[:2] == "#!" and wanted else reason


def _what_may_be_missing(output: str, around: Surroundings) -> list[str]:
    """Return what a failed check may have lacked because we kept it away."""
    said = []
    if around.sandbox.confined and speaks_of_denial(output):
        said.append('it ran confined ([run] verify_sandbox = "none" lets it write elsewhere)')
    elif around.shown is not None and speaks_of_denial(output):
        said.append('your checkout was out of its reach ([run] verify_view = "none" shows it)')
    if names := missed(output, around.withheld):
        said.append(f"{', '.join(names)} of your environment is kept from checks")
    return said


def shell_argv(command: str, env: Mapping[str, str]) -> list[str]:
    """Return how to run shell text so that a pipeline fails with the first of its programs that does."""
    if bash := find_program("bash", env):
        return [bash, "-o", "pipefail", "-c", command]
    return [find_program("sh", env) or "/bin/sh", "-c", PLAIN_SHELL, "sh", command]


def find_program(program: str, env: Mapping[str, str]) -> str | None:
    """Return where a program is on the PATH of an environment; None if it is not."""
    return shutil.which(program, path=env.get("PATH") or os.defpath)


def judge_all(results: Sequence[CheckResult]) -> VerdictState:
    """Return what the results of all checks come to."""
    states = {result.state for result in results}
    if not states:
        return "absent"
    # A failure is certain, whatever else could not be asked.
    if "fail" in states:
        return "fail"
    return "could-not-run" if "could-not-run" in states else "pass"


# As long as all checks may take: installing dependencies from a cold cache takes minutes.
SETUP_TIMEOUT = 1800.0
# The last few lines of it.
SHOWN = 400


class SetupFailed(WorkspaceProblem):
    """A setup command failed, or there was no time left for it."""


def run_setup(
    path: Path,
    commands: Sequence[str],
    *,
    log: Path,
    timeout: float = SETUP_TIMEOUT,
    stop: Stop | None = None,
    around: Surroundings | None = None,
) -> None:
    """Run the commands one after the other in a workspace, their output going to ``log``; raises SetupFailed.

    They share ``timeout`` seconds, and the first that fails ends it. In a workspace no worker has seen they are the
    user's own, with all of the user's environment (registries want tokens); where workers' code is, ``around`` says
    more.
    """
    around = around or Surroundings(env=worker_environment({}))
    if around.obstacle:
        raise SetupFailed(f"the setup commands were not run: {around.obstacle}")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    left = timeout
    for command in commands:
        with open(log, "ab") as output:
            output.write(f"$ {command}\n".encode("utf-8", "replace"))
        ended = run_shell(command, path, around, log=log, timeout=max(left, 0.1), stop=stop)
        left -= ended.seconds
        if ended.reason == "exited" and ended.code == 0:
            continue
        why = f"exit code {ended.shell_code}"
        if ended.reason == "timeout":
            why = f"not done after {timeout:g} s, the time all of them share"
        elif ended.reason == "stopped":
            why = "stopped on request"
        raise SetupFailed(f"the setup command {command!r} failed: {why}{_last_words(log)}", f"its output is in {log}")


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in tail(log, SHOWN).decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {lines[-1]}" if lines and not lines[-1].startswith("$ ") else ""
