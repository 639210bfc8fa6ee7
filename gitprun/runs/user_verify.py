"""The verification after a worker: checks first, tests only when those are clean, as the second seed has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.executors.lines import one_line
from gitprun.model.units import CheckResult, Verdict, VerdictState, VerifySandbox
from gitprun.runs.messages import count_errors, skipped_line, summary_line, verify_line
from gitprun.supervisor.process import Stop
from gitprun.system.files import tail
from gitprun.verify.check import CheckPlace, read_markers, run_checks
from gitprun.verify.recipes import Check, declared, detect
from gitprun.verify.surroundings import Surroundings

# What looks at code without running it; all other checks found are tests.
LOOKING = frozenset({"tsc", "mypy", "cargo check", "go vet"})
# The end of a log, where every test runner sums up; counted errors beyond it change no verdict.
READ = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PostVerify:
    """Which commands verify: the environment's, else the declared ones, else (None) what is found."""

    checks: str = ""
    tests: str = ""
    declared: tuple[str, ...] | None = None
    timeout: float
    sandbox: VerifySandbox | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the verification said: its line, and the verdict over all that ran."""

    line: str
    verdict: Verdict


def verify(asked: PostVerify, path: Path, folder: Path, *, around: Surroundings, skip: str, stop: Stop) -> Verified:
    """Verify a workspace; ``skip`` says why no tests are to be run (empty: they are), the checks are in any case."""
    checks, tests = choose(asked, path)
    looked = run_checks(CheckPlace(path, folder / "verify", around, stop), checks, timeout=asked.timeout)
    errors = _errors(looked)
    if skip:
        return Verified(line=skipped_line(errors, skip), verdict=looked)
    # One limit for both: whoever set it waits no longer than that.
    left = asked.timeout - sum(result.seconds for result in looked.checks)
    # As the second seed has it: tests of a program that does not compile say nothing.
    if errors == "0":
        tried = run_checks(CheckPlace(path, folder / "tests", around, stop), tests, timeout=max(left, 0.1))
        said = _tests_said(tried)
    else:
        tried, said = Verdict(state="absent"), "skipped"
    line = verify_line(errors, _shown(checks), said, _shown(tests))
    results = (*looked.checks, *tried.checks)
    verdict = Verdict(
        state=_overall(errors, looked, tried),
        checks=results,
        confined=looked.confined or tried.confined,
        notes=tuple(dict.fromkeys((*looked.notes, *tried.notes))),
    )
    return Verified(line=line, verdict=verdict)


def choose(asked: PostVerify, path: Path) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
    """Choose the checks, and the tests that run when those are clean.

    A declared command takes the place of whichever of the two the environment does not name.
    """
    checks, tests = declared([asked.checks]), declared([asked.tests])
    if asked.declared is not None:
        rest = declared(asked.declared)
        return (checks, tests or rest) if checks else (rest, tests)
    found = detect(read_markers(path))
    return (
        checks or tuple(check for check in found if check.label in LOOKING),
        tests or tuple(check for check in found if check.label not in LOOKING),
    )


def _errors(verdict: Verdict) -> str:
    """Count errors: a number, or ``?`` where a check failed without a line that says so."""
    count = sum(count_errors(_output(check)) for check in verdict.checks)
    return str(count) if count or verdict.state in ("pass", "absent") else "?"


def _tests_said(verdict: Verdict) -> str:
    if not verdict.checks:
        return "none found"
    said = summary_line(line for check in verdict.checks for line in _output(check).splitlines())
    bad = next((check for check in verdict.checks if check.state == verdict.state != "pass"), None)
    if bad is None or (said and bad.state == "fail"):
        return said or "no-summary-line"
    return one_line(f"{bad.state}: {bad.reason or f'exit code {bad.code}'}")


def _output(check: CheckResult) -> str:
    return tail(Path(check.log), READ).decode("utf-8", "replace") if check.log else ""


def _overall(errors: str, looked: Verdict, tried: Verdict) -> VerdictState:
    if looked.state not in ("pass", "absent"):
        return looked.state
    # A checker that prints errors has failed, whatever its exit code says.
    if errors != "0":
        return "fail"
    return looked.state if tried.state == "absent" else tried.state


def _shown(checks: Sequence[Check]) -> str:
    return " && ".join(check.command for check in checks)
