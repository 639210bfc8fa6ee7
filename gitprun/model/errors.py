"""What can go wrong, said in one line with a hint; the exit code of each is chosen in ``cli/main``."""

from __future__ import annotations

# Of a list that git prints so many rows are told.
MOST_WORDS = 3


def first_words(stderr: str) -> str:
    """Return what a program said first; where its line ends in a colon, what follows is what the line is about."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    about = lines[1 : 1 + MOST_WORDS] if lines and lines[0].endswith(":") else []
    return " ".join([*lines[:1], ", ".join(about)]).rstrip()


class PrunError(Exception):
    """Root of all errors a user may see: the operation cannot be done (exit code 128).

    ``message`` is one line without a full stop's worth of blame, ``hint`` says how to go on.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class OperationRefused(PrunError):
    """The answer is no: the operation was understood and not done (exit code 1)."""


class UsageProblem(PrunError):
    """The command line itself is wrong (exit code 129)."""


class PlanError(PrunError):
    """A plan or configuration file cannot be used (exit code 128)."""


class Interrupted(PrunError):
    """A signal stopped the command (exit code 128 + ``signal``)."""

    def __init__(self, signal: int, message: str = "stopped", hint: str = "") -> None:
        super().__init__(message, hint)
        self.signal = signal


class GitFailed(PrunError):
    """Git answered with an exit code that the caller did not expect."""

    def __init__(self, argv: tuple[str, ...], code: int, stderr: str) -> None:
        first = first_words(stderr) or f"exit code {code}"
        super().__init__(f"git {argv[0] if argv else ''} failed: {first}")
        self.argv = argv
        self.code = code
        self.stderr = stderr


class GitTimeout(PrunError):
    """Git did not answer within its time limit; ``waited_for`` says what it waited for, where that can be told."""

    def __init__(self, argv: tuple[str, ...], seconds: float, waited_for: str = "", hint: str = "") -> None:
        super().__init__(self.describe(argv, seconds) + (f"; it waited for {waited_for}" if waited_for else ""), hint)
        self.argv = argv
        self.seconds = seconds

    @staticmethod
    def describe(argv: tuple[str, ...], seconds: float) -> str:
        """Return what happened."""
        return f"git {argv[0] if argv else ''} did not finish within {seconds:g} s"


class GitStopped(GitTimeout):
    """Git was ended because a stop was asked for."""

    @staticmethod
    def describe(argv: tuple[str, ...], seconds: float) -> str:
        """Return what happened."""
        return f"git {argv[0] if argv else ''} was stopped"
