"""Who changed what: the commits, and the units, that wrote the lines of a place or touched a path."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gitprun.git.command import Git
from gitprun.git.trees import show_path
from gitprun.landing.hunks import Span
from gitprun.ledger.events import History
from gitprun.model.names import Oid, short

# More names than this tell nobody whom to ask.
MOST_COMMITS = 5
# The first line of each entry of ``git blame --porcelain``; the lines of the file itself begin with a tab.
_HEADER = re.compile(rb"([0-9a-f]{40}) [0-9]+ ([0-9]+)(?: [0-9]+)?")


def unit_labels(history: History) -> dict[str, str]:
    """Name the units whose captured commit something may be: RUN/UNIT by commit."""
    units = [unit for run in history.runs.values() for unit in run.units.values()]
    return {unit.commit: f"{unit.run}/{unit.id}" for unit in units if unit.commit}


def who_wrote(
    git: Git, base: Oid, side: Oid, path: bytes, spans: Sequence[Span], labels: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """Name the commits since ``base`` that wrote the lines of each span, the newest of the file where it has none."""
    asked = [f"-L{span.line},+{span.count}" for span in spans if span.count]
    rows: dict[int, str] = {}
    if asked:
        # No textconv: it runs a program of the user's settings, and the branch's attributes say on which files.
        words = ("blame", "--porcelain", "--no-textconv", *asked, f"{base}..{side}")
        answer = git.run(*words, "--", path, ok=(0, 128))
        rows = _read_blame(answer.out, labels) if answer.code == 0 else {}
    any_of = who_touched(git, base, side, path, labels) if not all(_found(rows, span) for span in spans) else ()
    return [_found(rows, span) or any_of for span in spans]


def _found(rows: Mapping[int, str], span: Span) -> tuple[str, ...]:
    lines = range(span.line, span.line + span.count)
    return tuple(dict.fromkeys(rows[line] for line in lines if line in rows))[:MOST_COMMITS]


def _read_blame(porcelain: bytes, labels: Mapping[str, str]) -> dict[int, str]:
    """Read which commit wrote each line; lines that are older than what was asked about are left out."""
    subjects: dict[str, str] = {}
    old: set[str] = set()
    lines: dict[int, str] = {}
    oid = ""
    for row in porcelain.split(b"\n"):
        header = _HEADER.fullmatch(row)
        if header:
            oid = header[1].decode()
            lines[int(header[2])] = oid
        elif row.startswith(b"summary "):
            subjects[oid] = row[8:].decode("utf-8", "backslashreplace")
        # Git marks so the commit where the range begins: its lines are older than either side.
        elif row == b"boundary":
            old.add(oid)
    return {line: _row(oid, subjects.get(oid, ""), labels) for line, oid in lines.items() if oid not in old}


def who_touched(git: Git, base: Oid, side: Oid, path: bytes, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Name the last commits since ``base`` that touched a path, the newest first."""
    # log.showSignature and color.ui would put lines and escapes of their own among the rows.
    words = ("log", "--no-show-signature", "--no-color", "--no-merges", "--format=%H %s", f"--max-count={MOST_COMMITS}")
    listing = git.run(*words, f"{base}..{side}", "--", b":(top,literal)" + path, ok=(0, 128)).out
    rows = [row.partition(" ") for row in listing.decode("utf-8", "backslashreplace").splitlines()]
    return tuple(_row(oid, subject, labels) for oid, _, subject in rows)


def units_that_touched(
    git: Git, history: History, base: Oid, main: Oid, paths: Sequence[bytes]
) -> list[tuple[str, str]]:
    """List the units (run, unit) that landed on the main side since ``base`` and changed one of some paths there."""
    # Nothing of prun's has landed yet: git need not be asked.
    if not paths or not any(landing.unit for landing in history.landings):
        return []
    # Units land as merges on the main line, so only its own commits can be theirs.
    words = ("log", "--no-show-signature", "--first-parent", "--format=%H", f"{base}..{main}")
    literal = [b":(top,literal)" + path for path in paths]
    touched = {*git.run(*words, "--", *literal, ok=(0, 128)).text.split()}
    found = [(one.run, one.unit) for one in history.landings if one.unit and one.commit in touched]
    return list(dict.fromkeys(found))


def _row(oid: str, subject: str, labels: Mapping[str, str]) -> str:
    # Subjects are text of workers: escaped, and cut where a line of a report ends anyway.
    said = f"{short(oid)} {show_path(subject[:200].encode('utf-8', 'surrogateescape'))}"
    return f"{said} ({labels[oid]})" if oid in labels else said
