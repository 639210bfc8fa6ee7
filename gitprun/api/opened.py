"""The repository that one caller works in: where it lies, its ledger, and who is told what happens on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gitprun.git.repo import Repository, find_repository, read_sharing
from gitprun.ledger.events import History
from gitprun.ledger.ledger import Ledger, Reading
from gitprun.system.sharing import share

Level = Literal["news", "warning", "hint"]
# So many numbers of unreadable lines are told: the first ones lead to the place in the file.
MOST_LINES = 5


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know that is no result: what was done on the way, what should not be missed, how to go on."""

    level: Level
    text: str


def hear_nobody(_notice: Notice) -> None:
    """Let what is told go unheard: a library is silent unless somebody listens."""


def hear_no_line(_line: str) -> None:
    """Have the lines that tell how it goes on go unheard."""


def agree_to_nothing(_question: str, _rows: Sequence[str]) -> bool:
    """Return that nothing was agreed to: without somebody to ask nothing is approved."""
    return False


@dataclass(frozen=True, slots=True)
class Opened:
    """A repository as one caller has it: ``start`` is the folder that relative paths and revisions are meant from.

    ``tell`` hears what happens on the way, ``confirm`` is asked whether something may be approved, with what it is
    about row by row. Two of them for the same repository are as safe side by side as two processes are: whatever is
    shared is the ledger and git's own locks.
    """

    start: Path
    repository: Repository
    ledger: Ledger
    tell: Callable[[Notice], None] = field(default=hear_nobody, compare=False)
    confirm: Callable[[str, Sequence[str]], bool] = field(default=agree_to_nothing, compare=False)

    def news(self, text: str) -> None:
        """Tell what happened."""
        self.tell(Notice("news", text))

    def warn(self, text: str) -> None:
        """Tell what should not be missed."""
        self.tell(Notice("warning", text))

    def hint(self, text: str) -> None:
        """Tell how to go on."""
        self.tell(Notice("hint", text))

    def history(self) -> History:
        """Read the ledger and fold it."""
        return self.read().history

    def read(self) -> Reading:
        """Read the ledger; unreadable lines are told, not hidden."""
        reading = self.ledger.read()
        if reading.unreadable:
            shown = ", ".join(map(str, reading.unreadable[:MOST_LINES]))
            self.warn(
                f"the ledger has {len(reading.unreadable)} unreadable line(s) (number {shown}) in {self.ledger.path}"
            )
        if reading.newer:
            self.warn(
                f"the ledger has {len(reading.newer)} line(s) of a newer git prun in {self.ledger.path}: "
                "what they say is not shown, and nothing can be written"
            )
        return reading


def open_at(
    start: Path,
    *,
    tell: Callable[[Notice], None] = hear_nobody,
    confirm: Callable[[str, Sequence[str]], bool] = agree_to_nothing,
) -> Opened:
    """Find the repository around a folder; raises NoRepository with the reason."""
    repository = find_repository(start)
    # Before anything is written: with core.sharedRepository others must be able to go on with it.
    share(repository.common, read_sharing(repository))
    if repository.trusted.is_dir():
        # A worker shared the settings once: from here on they are read as they were before it.
        from gitprun.observe.safe_mode import enter_safe_mode

        enter_safe_mode(repository)
    return Opened(start, repository, Ledger(repository.state), tell, confirm)


def open_damaged(
    start: Path,
    *,
    tell: Callable[[Notice], None] = hear_nobody,
    confirm: Callable[[str, Sequence[str]], bool] = agree_to_nothing,
) -> Opened:
    """Find the repository also where a worker left settings or a HEAD that git cannot read."""
    from gitprun.git.repo import NoRepository
    from gitprun.observe.snapshotter import find_damaged

    try:
        return open_at(start, tell=tell, confirm=confirm)
    except NoRepository:
        found = find_damaged(start)
        if found is None:
            raise
        tell(Notice("warning", f"git cannot read {found.common}; it is looked at by hand"))
        return Opened(start, found, Ledger(found.state), tell, confirm)
