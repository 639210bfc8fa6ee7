"""What the end of a check means: rules over its exit code and the last part of its output.

A check that could not run is never a pass: a missing tool, an empty collection and a time limit have their
own state, also where a script hides them behind exit code 0.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from gitprun.model.units import CheckState, Exit
from gitprun.verify.output import first_complaint, name_missing, name_not_executable, plain_lines, shown
from gitprun.verify.recipes import Check
from gitprun.verify.runners import refused_to_run, was_tested

NO_TESTS = "no tests ran"
NOT_FOUND = "command not found: "
# Said by a tool that gave up before it looked at the code; means something only beside a failing exit code.
_GAVE_UP = re.compile(
    r"error TS(?:5094|18003): .*|There are no \.py\[i\] files .*|mypy: error: .*|Can't find package .*"
    r"|npm (?:error|ERR!) npx canceled .*"
)
# Of pytest's documented codes; 5 (nothing collected) is told apart, for others use it as well.
_PYTEST_GAVE_UP = {3: "pytest stopped on an error of its own", 4: "pytest was called in a wrong way"}
_PYTEST_SAID = re.compile(r"(?:ERROR: (?!usage:)|INTERNALERROR> (?=\S*Error\b)|.*: error: ).*")


def judge(check: Check, ended: Exit, tail: str) -> tuple[CheckState, str]:
    """Return what the end of a check means, and why in one line; ``tail`` is the last part of its output.

    Sources: pytest's documented exit codes; the shell's 126, 127 and 128 + signal.
    """
    if ended.reason == "timeout":
        return "could-not-run", f"stopped after {round(ended.seconds, 1):g} s"
    if ended.reason == "stopped":
        return "could-not-run", f"stopped before its end{_aside(ended.detail)}"
    if ended.reason == "not-started":
        return "could-not-run", f"could not be started{_aside(ended.detail)}"
    if ended.signal is not None:
        return "fail", f"killed by {_signal_name(ended.signal)}"
    lines = plain_lines(tail)
    if ended.code == 0:
        return _judge_success(check, lines)
    state, reason = _judge_failure(check, ended.code, lines)
    return state, shown(reason)


def _judge_success(check: Check, lines: Sequence[str]) -> tuple[CheckState, str]:
    if was_tested(lines) is False:
        return "could-not-run", NO_TESTS
    # A pipe or a trailing command inside a script hides exit code 127, but not the shell's last word.
    if name := name_missing(lines, check.command, 0):
        return "could-not-run", f"{NOT_FOUND}{name}"
    return "pass", ""


def _judge_failure(check: Check, code: int | None, lines: Sequence[str]) -> tuple[CheckState, str]:
    pytest = re.search(r"(?:^|[\s/;&|(])(?:pytest|py\.test)(?![\w./-])", check.command) is not None
    if code is None:
        return "could-not-run", "ended without an exit code"
    if code == 126:
        return "could-not-run", f"command not executable: {name_not_executable(lines, check.command)}"
    tested = was_tested(lines)
    if code == 127 or tested is not True:
        if name := name_missing(lines, check.command, code):
            return "could-not-run", f"{NOT_FOUND}{name}"
        if code == 5 and (pytest or tested is False):
            return "could-not-run", NO_TESTS
    # A conftest.py that does not load is broken code, though pytest calls it a usage error.
    if pytest and code in _PYTEST_GAVE_UP and not any("while loading conftest" in line for line in lines):
        said = next((line for line in lines if _PYTEST_SAID.fullmatch(line)), "") or first_complaint(lines)
        return "could-not-run", f"{_PYTEST_GAVE_UP[code]}{_aside(said)}"
    if tested is not True:
        if refused_to_run(lines):
            return "could-not-run", NO_TESTS
        if said := next((line for line in lines if _GAVE_UP.fullmatch(line)), ""):
            return "could-not-run", said
    # A shell gives 128 and the signal of what it ran; a program may give the same number for itself.
    killed = f" (perhaps {_signal_name(code - 128)})" if 129 < code < 160 else ""
    complaint = first_complaint(lines)
    return "fail", f"exit {code}{killed}" + (f": {complaint}" if complaint else "")


def _aside(text: str) -> str:
    return f" ({text})" if text else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
