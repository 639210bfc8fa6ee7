"""Workers that are any program of the user's: the prompt on stdin, the exit code is the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitprun.executors.base import Ending, Launch, Progress, WorkerPaths, cut_short, note
from gitprun.executors.lines import one_line, plain_text
from gitprun.model.errors import PlanError
from gitprun.model.units import ExecutorSettings, Exit, Unit


class Command:
    """Starts the command of the unit as it stands; its output is its own and is not judged."""

    name = "command"
    default_program = ""

    def launch(self, unit: Unit, prompt: str, place: WorkerPaths, settings: ExecutorSettings) -> Launch:
        """Return how to start the command; raises PlanError where the unit has none."""
        if not unit.command:
            raise PlanError(
                f"unit {unit.id} has no command to run",
                'give it one, as in: command = ["make", "docs"]',
            )
        # A lone surrogate cannot be written as UTF-8.
        stdin = prompt.encode("utf-8", "replace")
        return Launch(argv=unit.command, env=settings.env, stdin=stdin, program=unit.command[0])

    def state(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """List nothing: what a program keeps where is its own business."""
        return ()

    def progress(self, line: bytes) -> Progress | None:
        """Show every line that has something to show."""
        progress = note("said", plain_text(line))
        return progress if progress.text else None

    def ending(self, lines: Iterable[bytes], outcome: Exit) -> Ending:
        """Return how the command ended; a failure is explained by its last line of output."""
        if not (cut := cut_short(outcome)) and outcome.code == 0:
            return Ending("done")
        last = ""
        # What a program says last is mostly why it failed.
        for line in lines:
            last = one_line(plain_text(line)) or last
        why = cut or f"exit code {outcome.code}"
        return Ending("failed", one_line(f"{why}: {last}" if last else why))
