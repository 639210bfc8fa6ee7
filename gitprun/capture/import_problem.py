"""What it means where git fails over objects that were received, and what is said of it."""

from __future__ import annotations

import signal

from gitprun.git.command import Bounds
from gitprun.model.errors import GitFailed, PrunError

BROKEN = "broken object"
# Signs of a sick machine; and signals nobody but a person or a machine short of memory sends.
_SICK = ("No space left", "Disk quota exceeded", "Read-only file system", "Input/output error", "Too many open files")
_KILLED = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, -signal.SIGQUIT)
# Git needs a fraction of it with the windows below, and any machine of a developer's has it to spare; a chain of deltas
# made to be expensive ends here, in either measure.
BOUNDS = Bounds(memory=256 << 20, processor=240)


def require_healthy(problem: GitFailed) -> None:
    """Raise ImportProblem when git failed for want of space, of itself, or because somebody killed it."""
    line = next((line for line in problem.stderr.splitlines() if any(sign in line for sign in _SICK)), None)
    if line is not None:
        raise ImportProblem(f"the objects could not be brought over: {line.strip()}", "is the disk full?") from None
    if problem.code in (126, 127, *_KILLED):
        raise ImportProblem(f"the objects could not be brought over: {explain(problem)}", "try again") from None


class ImportProblem(PrunError):
    """Nothing was found out about the work: the machine failed, not what the worker wrote. To be tried again."""


def explain(problem: PrunError) -> str:
    """Return why in one line; a git that was ended by a signal is told for what it was."""
    if isinstance(problem, GitFailed) and problem.code < 0:
        program = problem.argv[0] if problem.argv else ""
        why = {-24: f"used more than {BOUNDS.processor} s of processor time", -11: "crashed over it (too deep?)"}
        return f"git {program} {why.get(problem.code, f'was ended by signal {-problem.code}')}"
    if isinstance(problem, GitFailed) and "Out of memory" in problem.stderr:
        return f"git {problem.argv[0]} would need more than {BOUNDS.memory >> 20} MiB of memory"
    return problem.message
