"""What a change does to the checks it is to be judged by: tests gone or skipped, the script, its target, its settings.

Pure rules over two versions of a tree. They find what is worth telling, and what each such file would be with that,
and only that, put back; whether the checks then still pass is for a landing to find out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gitprun.model.lists import join_few
from gitprun.verify.cases import (
    LARGEST,
    count_live,
    find_cases,
    find_marks,
    is_empty,
    is_named_test,
    is_test,
    reaches_far,
    still_collected,
)
from gitprun.verify.parts import RUNNER, changed_keys, restore_keys, settings_of, take_back
from gitprun.verify.sources import find_sources

Kind = Literal["deleted", "emptied", "cut", "skipped", "script", "mode", "keys"]
# Reads a file of a tree by its path; None where there is none, or no plain file.
Read = Callable[[str], bytes | None]
Sources = Mapping[str, frozenset[str]]
PLAIN = ("100644", "100755")
ABSENT = "000000"
_IMPORT = ("import ", "from ", "use ", "using ", "require", "#include", "const ")


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path that two trees hold differently; modes are git's, 000000 where it is not there."""

    path: str
    old_mode: str
    new_mode: str
    old: str
    new: str

    @property
    def gone(self) -> bool:
        """Check whether what was a file is none any more."""
        return self.old_mode in PLAIN and self.new_mode not in PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class GateChange:
    """One file of the checks that was changed.

    ``count`` is how many test cases were cut or skipped, ``names`` are those that are gone, ``keys`` the parts that
    changed; ``old`` and ``new`` are git's ids of both versions.
    """

    path: str
    kind: Kind
    count: int = 0
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    old: str = ""
    new: str = ""

    @property
    def words(self) -> str:
        """Return in a few words what was changed."""
        tests = f"{self.count} test{'' if self.count == 1 else 's'}"
        if self.kind == "cut":
            return f"{tests} cut from {self.path}"
        if self.kind == "skipped":
            return f"{tests} skipped in {self.path}"
        if self.kind == "mode":
            return f"{self.path} is not executable any more"
        if self.kind == "keys":
            # Keys of a runner are names of ours, which nobody would find in the file.
            keys = ", ".join(key for key in self.keys if not key.startswith(RUNNER))
            return f"{keys} changed in {self.path}" if keys else f"which tests run changed in {self.path}"
        return f"{self.path} {'changed' if self.kind == 'script' else self.kind}"


def describe(changes: Sequence[GateChange]) -> str:
    """Return in one line what was changed; empty where nothing was."""
    return join_few(change.words for change in changes)


def find_gate_changes(
    changes: Iterable[FileChange], checks: Sequence[str], old: Read, new: Read
) -> tuple[GateChange, ...]:
    """Find what a change does to its checks; ``checks`` are the commands that judge it."""
    rows = {row.path: row for row in changes}
    sources = _changed_sources(rows, checks, old, new)
    named = {change.path for change in sources if change.kind in ("script", "mode")}
    tests = _changed_tests([row for row in rows.values() if row.path not in named], old, new)
    return tuple(sorted((*tests, *sources), key=lambda change: change.path))


def _text(read: Read, path: str) -> str | None:
    body = read(path)
    return None if body is None or len(body) > LARGEST else body.decode("utf-8", "surrogateescape")


def _changed_sources(rows: dict[str, FileChange], checks: Sequence[str], old: Read, new: Read) -> list[GateChange]:
    """Find the scripts and keys the checks lead to, in either version, that are not the same in both."""
    if not rows or not checks:
        return []
    before = find_sources(checks, lambda path: _text(old, path))
    # Followed a second time only where it may lead elsewhere: a command's files are many reads.
    after = before if _untouched(rows, before) else find_sources(checks, lambda path: _text(new, path))
    same = _same_settings(rows, before, after, old, new)
    found: list[GateChange] = []
    for path in sorted({*before, *after} & rows.keys()):
        row, keys = rows[path], before.get(path, frozenset()) | after.get(path, frozenset())
        was, now = _text(old, path) or "", _text(new, path) or ""
        if not keys:
            # What only the new version calls changes nothing by itself: then its caller did. A test that a check names
            # is judged by its cases.
            if path in before and not (is_named_test(path) and find_cases(path, was)):
                kind: Kind = "mode" if row.old == row.new and row.new_mode == "100644" else "script"
                found.append(GateChange(path=path, kind="deleted" if row.gone else kind, old=row.old, new=row.new))
            continue
        different = changed_keys(path, keys - same, was, now)
        if different:
            found.append(GateChange(path=path, kind="keys", keys=different, old=row.old, new=row.new))
    return found


def _same_settings(
    rows: dict[str, FileChange], before: Sources, after: Sources, old: Read, new: Read
) -> frozenset[str]:
    """Return the runners that are set as before, whatever became of the files that do it."""
    found: set[str] = set()
    for key in {key for keys in (*before.values(), *after.values()) for key in keys if key.startswith(RUNNER)}:
        was = [settings_of(path, key, _text(old, path) or "") for path, keys in before.items() if key in keys]
        now = [settings_of(path, key, _text(new, path) or "") for path, keys in after.items() if key in keys]
        if frozenset().union(*was) == frozenset().union(*now):
            found.add(key)
    return frozenset(found)


def _untouched(rows: dict[str, FileChange], sources: Collection[str]) -> bool:
    """Check whether what the checks lead to cannot have changed: no file of them did, and none was added."""
    return all(path not in rows for path in sources) and not any(row.old_mode == ABSENT for row in rows.values())


@dataclass(frozen=True, slots=True)
class _Ledger:
    """Test cases by name: what each file lost and won."""

    lost: dict[str, Counter[str]] = field(default_factory=dict)
    won: dict[str, Counter[str]] = field(default_factory=dict)


def _changed_tests(rows: Sequence[FileChange], old: Read, new: Read) -> list[GateChange]:
    rows = [row for row in rows if is_test(row.path) or row.path.endswith(".rs")]
    gone = [row for row in rows if row.gone]
    added = [row for row in rows if row.old_mode not in PLAIN and row.new_mode in PLAIN]
    kept = [row for row in rows if row.old_mode in PLAIN and row.new_mode in PLAIN and row.old != row.new]
    moved = _moved(gone, added)
    book = _Ledger()
    for row in rows:
        was = count_live(row.path, _text(old, row.path) or "") if row.old_mode in PLAIN else Counter[str]()
        now = count_live(row.path, _text(new, row.path) or "") if row.new_mode in PLAIN else Counter[str]()
        # Moved as it was, it neither lost nor won a case.
        if row.path not in moved and row.path not in moved.values():
            # A case that is new and skipped replaces none.
            off = {mark.case for mark in find_marks(row.path, _text(new, row.path) or "")}
            won = Counter({name: many for name, many in (now - was).items() if name not in off})
            book.lost[row.path], book.won[row.path] = was - now, won
    missing = _settle(book)
    found: list[GateChange] = []
    for row in gone:
        if is_test(row.path) and row.path not in moved and _is_missing(row, missing, book, added):
            names = tuple(sorted(missing[row.path]))
            found.append(_change(row, "deleted", len(names), names))
    for row in kept:
        found += _judge_kept(row, missing, book, old, new)
    for row in added:
        text = _text(new, row.path) or ""
        came = {name for other in gone for name in book.lost.get(other.path, ())}
        before = {(m.word, m.case) for other in gone for m in find_marks(other.path, _text(old, other.path) or "")}
        marks = [m for m in find_marks(row.path, text) if (m.word, m.case) not in before]
        count = sum(reaches_far(mark) or (mark.case in came and bool(mark.case)) for mark in marks)
        if count and row.path not in moved.values():
            found.append(_change(row, "skipped", count))
    return found


def _change(row: FileChange, kind: Kind, count: int = 0, names: tuple[str, ...] = ()) -> GateChange:
    return GateChange(path=row.path, kind=kind, count=count, names=names, old=row.old, new=row.new)


def _moved(gone: Sequence[FileChange], added: Sequence[FileChange]) -> dict[str, str]:
    """Pair what went with what came, of the same content and still found by a runner: old path, then new path."""
    waiting: dict[str, list[str]] = {}
    for row in added:
        waiting.setdefault(row.new, []).append(row.path)
    found: dict[str, str] = {}
    for row in gone:
        places = [path for path in waiting.get(row.old, ()) if still_collected(row.path, path)]
        if places:
            found[row.path] = places[0]
            waiting[row.old].remove(places[0])
    return found


def _settle(book: _Ledger) -> dict[str, Counter[str]]:
    """Return which cases are nowhere any more: a case that came up in another file was moved there."""
    pool: Counter[str] = Counter()
    for path, won in book.won.items():
        if is_test(path) or path.endswith(".rs"):
            pool += won
    missing: dict[str, Counter[str]] = {}
    for path, lost in book.lost.items():
        came = lost & pool
        pool -= came
        missing[path] = lost - came
    # What came from elsewhere replaces nothing here.
    for path, won in book.won.items():
        book.won[path] = won & pool
    return missing


def _is_missing(row: FileChange, missing: dict[str, Counter[str]], book: _Ledger, added: Sequence[FileChange]) -> bool:
    """Check whether a test file that is gone is nowhere any more."""
    if book.lost[row.path]:
        return bool(missing[row.path])
    name = row.path.rpartition("/")[2]
    return not any(other.path.rpartition("/")[2] == name and still_collected(row.path, other.path) for other in added)


def _judge_kept(
    row: FileChange, missing: dict[str, Counter[str]], book: _Ledger, old: Read, new: Read
) -> list[GateChange]:
    was, now = _text(old, row.path), _text(new, row.path)
    if was is None or now is None:
        return []
    cut, won = missing[row.path], book.won[row.path]
    emptied = is_test(row.path) and not is_empty(was) and (is_empty(now) or now.strip() == "")
    cases = count_live(row.path, was)
    if emptied or (cases and cut == cases and not won and not count_live(row.path, now) and is_test(row.path)):
        return [_change(row, "emptied", sum(cut.values()), tuple(sorted(cut)))]
    before = Counter((mark.word, mark.case) for mark in find_marks(row.path, was))
    after = Counter((mark.word, mark.case) for mark in find_marks(row.path, now))
    known = {case.name for case in find_cases(row.path, was)} | {""}
    skipped = sum(many for (_, case), many in (after - before).items() if case in known)
    # A case that was renamed is lost and won at once.
    less = sum(cut.values()) - sum(won.values())
    found = [_change(row, "cut", less, tuple(sorted(cut)))] if less > 0 else []
    return found + ([_change(row, "skipped", skipped)] if skipped else [])


def put_back_text(change: GateChange, also: Sequence[GateChange], old: bytes | None, new: bytes | None) -> bytes | None:
    """Return a file of the new tree with its changes of the gate, and only these, put back; None: it goes.

    ``also`` are further changes of the same file. Where a file holds other changes too, only the lines that skip or
    cut test cases are taken back; where that does not come out, a test file is taken whole as it was before.
    """
    changes = (change, *also)
    if change.kind in ("deleted", "emptied", "script", "mode") or old is None or new is None:
        return old
    was, now = (body.decode("utf-8", "surrogateescape") for body in (old, new))
    if change.kind == "keys":
        return _bytes(restore_keys(change.path, {key for one in changes for key in one.keys}, was, now))
    names = {name for one in changes for name in one.names}
    if is_test(change.path) and _only_less(change.path, was, now, names):
        return old
    made = _take_back_cases(change.path, was, now, names)
    good = _marks(change.path, made) <= _marks(change.path, was) and all(
        count_live(change.path, made)[name] >= count_live(change.path, was)[name] for name in names
    )
    if good:
        return _bytes(made)
    return old if is_test(change.path) else new


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _marks(path: str, text: str) -> Counter[tuple[str, str]]:
    return Counter((mark.word, mark.case) for mark in find_marks(path, text))


def _only_less(path: str, was: str, now: str, names: Collection[str]) -> bool:
    """Check whether a test file only lost: no test case is new in it, and none that stays says anything else."""
    before, after = _bodies(path, was), _bodies(path, now)
    return all(name in names or before.get(name) == body for name, body in after.items())


def _bodies(path: str, text: str) -> dict[str, list[str]]:
    """Return the lines of each test case, without those that keep it from running."""
    lines, marked = text.split("\n"), {mark.line for mark in find_marks(path, text)}
    return {
        case.name: [
            lines[at].strip() for at in range(case.first + 1, case.end) if at not in marked and lines[at].strip()
        ]
        for case in find_cases(path, text)
    }


def _take_back_cases(path: str, was: str, now: str, names: Collection[str]) -> str:
    """Take back what cut these test cases, what skips any, and imports that went with them."""
    old_lines = was.split("\n")
    added = _marks(path, now) - _marks(path, was)
    skips = {mark.line for mark in find_marks(path, now) if (mark.word, mark.case) in added}
    lost = {at for case in find_cases(path, was) if case.name in names for at in range(case.first, case.end)}
    hollow = {at for case in find_cases(path, now) if case.name in names for at in range(case.first, case.end)}

    def touched(one: range, other: range) -> bool:
        if not lost.isdisjoint(one) or not (skips | hollow).isdisjoint(other):
            return True
        # A missing import would make a test fail that says nothing about the work.
        return not other and all(old_lines[at].lstrip().startswith(_IMPORT) or not old_lines[at].strip() for at in one)

    return take_back(was, now, touched)
