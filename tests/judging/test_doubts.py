"""A second look at a merge: what is wrong, what was not finished and what could not be checked, at every door alike."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.judging import doubts
from gitprun.judging.doubts import NOT_FINISHED, Doubts, find_doubts
from gitprun.landing.file import FileMerge, merge_file
from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from gitprun.landing.gate import refuse_merge
from gitprun.resolvers import outline
from gitprun.resolvers.base import FileConflict
from gitprun.resolvers.blocks import migrations
from gitprun.resolvers.syntax import grammars
from gitprun.system import limit
from tests.support.landing import land_branches
from tests.support.repos import Repo, make_repo

BODY = [f"def f{number}(a):\n    b = a + {number}\n    return b\n\n\n" for number in range(600)]
TWICE = 'the definition of "new" is there twice'


def functions(*news: tuple[int, str]) -> bytes:
    """Write 3,000 lines of functions, with new ones at some places."""
    lines = [*BODY]
    for at, name in sorted(news, reverse=True):
        lines.insert(at, f"def {name}(a):\n    return {at}\n\n\n")
    return "".join(lines).encode()


def two_sides(path: Path, name: str, base: bytes, main: bytes, unit: bytes) -> Repo:
    repo = make_repo(path, other="o\n")
    for branch, text in (("main", base), ("topic", unit), ("main", main)):
        if branch == "topic":
            repo.switch("topic", new=True)
        else:
            repo.switch(branch)
        repo.write(name, text)
        repo.commit(branch)
    return repo


class Doors:
    """One merge at each of the doors: what each says about a path, as suspect or as not checked, and its answer."""

    def __init__(self, folder: Path, name: str, base: bytes, main: bytes, unit: bytes) -> None:
        self.folder, self.name, self.versions = folder, name, (main, base, unit)
        self.repo = two_sides(folder / "repo", name, base, main, unit)

    def landing(self) -> tuple[str, tuple[str, ...]]:
        report = land_branches(self.repo, "topic")
        [item] = report.items
        said = [one.reason for one in item.suspects]
        return item.state, tuple(said or (note.removeprefix(f"topic: {self.name}: ") for note in report.notes))

    def forecast(self) -> tuple[str, tuple[str, ...]]:
        seen = forecast(self.repo.repository, self.repo.ledger.read().history, Asked(names=("topic",)))
        [met] = seen.against
        rows = [f"{row.kind}: {reason}" for row in met.paths for reason in row.reasons]
        return met.state, tuple(row.removeprefix("suspect: ") for row in rows)

    def merge_file(self) -> tuple[str, tuple[str, ...]]:
        for name, text in zip(("ours", "base", "theirs"), self.versions, strict=True):
            (self.folder / name).write_bytes(text)
        found = merge_file(FileMerge(main="ours", base="base", unit="theirs", path=self.name), self.folder)
        words = f'git prun: "{self.name}": '
        said = tuple(line.removeprefix(words).removeprefix("git merged it, but look at it: ") for line in found.said)
        return str(found.code), said

    def gate(self) -> tuple[str, tuple[str, ...]]:
        self.repo.git("merge", "--no-commit", "--no-ff", "topic")
        notes: list[str] = []
        repository = self.repo.repository
        heads = {str(self.repo.oid("topic")): "topic"}
        reason = refuse_merge(repository, self.repo.ledger.read().history, heads, notes.append)
        self.repo.git("merge", "--abort")
        said = reason.removeprefix(f"git merged {self.name}, but look at it: ")
        return "refused" if reason else "let", tuple(note.removeprefix(f"{self.name}: ") for note in notes) or (said,)

    def answers(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        # The landing last: it may land.
        return {each.__name__: each() for each in (self.forecast, self.merge_file, self.gate, self.landing)}


def held(*said: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        "forecast": ("suspect", said),
        "merge_file": ("1", said),
        "gate": ("refused", said),
        "landing": ("suspect", said),
    }


def let(said: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        "forecast": ("clean", (said,)),
        "merge_file": ("0", (said,)),
        "gate": ("let", (said,)),
        "landing": ("landed", (said,)),
    }


def a_function_twice(folder: Path) -> Doors:
    return Doors(folder, "big.py", functions(), functions((100, "new")), functions((500, "new")))


def nothing_wrong(folder: Path, name: str = "big.py") -> Doors:
    return Doors(folder, name, functions(), functions((100, "one")), functions((500, "two")))


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 90 s pass on the clock before anything is done, and no processor time."""

    class Clocks:
        passed = 0.0

        def thread_time(self) -> float:
            return 0.0

        def monotonic(self) -> float:
            before, self.passed = self.passed, 90.0
            return before

    def first(look: Callable[[FileConflict, bytes], tuple[str, ...]], conflict: FileConflict, text: bytes) -> object:
        signal.raise_signal(signal.SIGALRM)
        return look(conflict, text)

    monkeypatch.setattr(limit, "time", Clocks())
    real = outline.find_doubts
    monkeypatch.setattr(outline, "find_doubts", lambda conflict, text: first(real, conflict, text))


@pytest.mark.usefixtures("busy")
def test_a_busy_machine_finds_what_a_quiet_one_does(tmp_path: Path) -> None:
    assert a_function_twice(tmp_path).answers() == held(TWICE)


def test_a_quiet_machine_finds_it(tmp_path: Path) -> None:
    assert a_function_twice(tmp_path).answers() == held(TWICE)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every look one that does not end."""

    def look(conflict: FileConflict, text: bytes) -> tuple[str, ...]:
        while True:
            sum(range(100))

    monkeypatch.setattr(outline, "find_doubts", look)
    monkeypatch.setattr(doubts, "AUDIT_LIMIT", 0.02)


@pytest.mark.usefixtures("endless")
def test_what_is_not_finished_is_suspect(tmp_path: Path) -> None:
    assert nothing_wrong(tmp_path).answers() == held(NOT_FINISHED)


@pytest.mark.usefixtures("endless")
def test_what_is_not_finished_can_be_let(tmp_path: Path) -> None:
    doors = nothing_wrong(tmp_path)
    report = land_branches(doors.repo, "topic", allow_suspect=("big.py",))
    assert report.notes == (f"topic: landed although it is suspect: big.py: {NOT_FINISHED}",)


def test_what_is_too_large_is_said(tmp_path: Path) -> None:
    text = b"x = 1\n" * 350_000
    doors = Doors(tmp_path, "large.py", text, b"a = 1\n" + text, text + b"b = 1\n")
    assert doors.answers() == let("not checked: too large (2.1 MB)")


def test_a_missing_grammar_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammars, "_open", lambda row: f"the grammar of {row.name} is not installed")
    doors = Doors(tmp_path, "x.tf", b"a\nb\nc\nd\ne\nf\n", b"A\nb\nc\nd\ne\nf\n", b"a\nb\nc\nd\ne\nF\n")
    assert doors.answers() == let("not checked: no grammar for .tf (pip install 'gitprun[grammars]')")


def test_a_look_that_fails_is_said_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(conflict: FileConflict, text: bytes) -> tuple[str, ...]:
        raise IndexError("mine")

    monkeypatch.setattr(outline, "find_doubts", look)
    repo = nothing_wrong(tmp_path).repo
    [note] = land_branches(repo, "topic").notes
    [report] = (repo.repository.state / "bugs").iterdir()
    assert note == (
        "topic: big.py: not checked: the unknown resolver failed: IndexError('mine'); this is a bug, please report it: "
        f"the report is in {report}; nothing was removed"
    )


@pytest.mark.parametrize("name", ["a.py", "a.md", "a.txt", "LICENSE", "Dockerfile"])
def test_nothing_is_said_where_all_was_checked(tmp_path: Path, name: str) -> None:
    text = b"a = 1\nb = 1\nc = 1\nd = 1\ne = 1\n"
    conflict = FileConflict(name, text, b"z = 1\n" + text, text + b"y = 1\n")
    assert find_doubts(conflict, b"z = 1\n" + text + b"y = 1\n", tmp_path) == Doubts()


def test_migrations_that_could_not_be_compared_are_suspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*words: object) -> tuple[str, ...]:
        while True:
            sum(range(100))

    monkeypatch.setattr(migrations, "find_clashes", look)
    monkeypatch.setattr("gitprun.judging.audit.AUDIT_LIMIT", 0.02)
    repo = make_repo(tmp_path / "repo")
    repo.switch("topic", new=True)
    repo.commit("topic", db__migrations__0002_b_dot_py="b\n")
    repo.switch("main")
    repo.commit("main", db__migrations__0002_a_dot_py="a\n")
    [item] = land_branches(repo, "topic").items
    assert (item.state, item.reason) == ("suspect", f"db/migrations: {NOT_FINISHED}")


@pytest.mark.parametrize("kind", ["yaml", "toml"])
def test_a_key_twice_in_a_large_file_is_found(tmp_path: Path, kind: str) -> None:
    """Larger than what is merged by key, and no reason not to look."""
    line = "k%d: %s\n" if kind == "yaml" else "k%d = '%s'\n"
    lines = [line % (number, "x" * 1000) for number in range(310)]
    extra = "twice: 1\n" if kind == "yaml" else "twice = 1\n"
    sides = [[extra, *lines], [*lines, extra], [extra, *lines, extra]]
    main, unit, both = ("".join(side).encode() for side in sides)
    assert len(main) > 300_000
    found = find_doubts(FileConflict(f"a.{kind}", "".join(lines).encode(), main, unit), both, tmp_path)
    assert ["twice" in fault for fault in found.faults] == [True], found
