"""What the refs of prun pin, as their names tell; and units whose work no ref pins any more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.ledger.events import Event, RunState, UnitState
from gitprun.ledger.house_events import GcDone
from gitprun.ledger.roster import NAMED
from gitprun.model.names import PRUN_REFS, TRASH_REFS, is_run_id, unit_ref

# Where the channel of a kept ref begins; the name of a workspace may have slashes, as a channel may.
_CHANNEL = re.compile(
    r"head|stash|staged|submodule|branch|lost|worktree|adopted|attempt-[0-9]+|base-[0-9]+|left-in-workspace(?:-[0-9]+)?"
    r"|stood-on-[0-9a-f]+"
)
_MARK = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is pinned: ``kind`` is captured, kept, attempt, base, trash, undone, resolve, baseline or other.

    ``source`` is the ref something in the trash was pinned by before, ``day`` since when it is there.
    """

    kind: str
    run: str = ""
    unit: str = ""
    channel: str = ""
    source: str = ""
    day: str = ""

    @property
    def name(self) -> str:
        """Write whose work it is, as people do."""
        return self.unit if self.run == NAMED else f"{self.run}/{self.unit}" if self.unit else self.run


def read_label(ref: str) -> Label:
    """Return what a ref below ``refs/prun/`` pins."""
    parts = ref.removeprefix(PRUN_REFS).split("/")
    if ref.startswith(TRASH_REFS):
        day, source = parts[1] if len(parts) > 1 else "", "/".join(parts[2:])
        head, _, mark = source.rpartition("/")
        source = f"refs/{head if _MARK.fullmatch(mark) else source}"
        before = read_label(source) if source.startswith(PRUN_REFS) else Label(kind="other", channel=source)
        if source.startswith("refs/heads/prun/"):
            before = read_label(f"{PRUN_REFS}{source.removeprefix('refs/heads/prun/')}")
        return Label(kind="trash", run=before.run, unit=before.unit, channel=source, source=source, day=day)
    if is_run_id(parts[0]) and len(parts) > 1:
        return Label(kind="captured", run=parts[0], unit="/".join(parts[1:]))
    # Run, unit and channel; with less it is none that prun wrote.
    if parts[0] == "kept" and len(parts) > 3:
        return _read_kept(parts[1], parts[2:])
    if parts[0] == "base" and len(parts) > 1:
        return Label(kind="base", run=parts[1], unit="/".join(parts[2:]))
    if parts[0] == "base-tips" and len(parts) > 1:
        return Label(kind="base", run=parts[1], unit="/".join(parts[2:]), channel="tips")
    if parts[0] in ("undone", "resolve", "baseline"):
        return Label(kind=parts[0], channel="/".join(parts[1:]))
    return Label(kind="other", channel="/".join(parts))


def _read_kept(run: str, rest: list[str]) -> Label:
    cut = 1
    if run == NAMED:
        cut = next((at for at in range(1, len(rest)) if _CHANNEL.fullmatch(rest[at])), len(rest) - 1)
    channel = "/".join(rest[cut:])
    kind = "attempt" if channel.startswith("attempt-") else "base" if channel.startswith("base-") else "kept"
    return Label(kind=kind, run=run, unit="/".join(rest[:cut]), channel=channel)


def days_in_trash(day: str, now: float) -> int | None:
    """Count the whole days something has been in the trash; None where its day cannot be read."""
    try:
        return (datetime.fromtimestamp(now, UTC).date() - date.fromisoformat(day)).days
    # A ref below trash/ that somebody made by hand has no day.
    except ValueError:
        return None


def branch_for(label: Label, oid: str) -> str:
    """Name the branch something is brought back as."""
    end = re.sub(r"[^A-Za-z0-9_.-]+", "-", label.channel).strip("-.")
    if label.kind == "captured":
        return f"rescue/{label.name}"
    if label.kind == "trash":
        name = label.source.removeprefix("refs/heads/").removeprefix("refs/").replace("/", "-")
        return f"rescue/trash/{re.sub(r'[^A-Za-z0-9_.-]+', '-', name).strip('-.')}-{oid[:7]}"
    if label.name:
        return f"rescue/{label.name}-{end or label.kind}"
    return f"rescue/{label.kind}-{end or oid[:7]}"


@dataclass(frozen=True, slots=True)
class Unpinned:
    """A unit whose captured commit no ref of prun's holds any more; ``there``: git has its objects still."""

    unit: UnitState
    there: bool

    @property
    def name(self) -> str:
        """Name the unit as people do."""
        return f"{self.unit.run}/{self.unit.id}"

    @property
    def command(self) -> str:
        """Write the command that pins it again."""
        return f"git update-ref {unit_ref(self.unit.run, self.unit.id)} {self.unit.commit}"


def find_unpinned(repository: Repository, runs: Iterable[RunState], events: Iterable[Event]) -> tuple[Unpinned, ...]:
    """Find units whose work is pinned no more, though it did not land and prun did not let it go."""
    units = [unit for run in runs for unit in run.units.values() if unit.commit and unit.state != "landed"]
    if not units:
        return ()
    held = set(repository.git.run("for-each-ref", "--format=%(objectname)", PRUN_REFS).text.split("\n"))
    gone = [unit for unit in units if unit.commit not in held]
    # Only where something is missing is a long ledger gone through.
    if gone:
        released = {event.payload.oid for event in events if isinstance(event.payload, GcDone)}
        gone = [unit for unit in gone if unit.commit not in released]
    if not gone:
        return ()
    # Of the tree: a commit without it cannot be brought back.
    asked = "".join(f"{unit.commit}^{{tree}}\n" for unit in gone).encode("utf-8", "replace")
    rows = repository.git.run("cat-file", "--batch-check=%(objecttype)", stdin=asked).text.split("\n")
    return tuple(Unpinned(unit, row == "tree") for unit, row in zip(gone, rows, strict=False))


def pruning_refspecs(git: Git) -> tuple[tuple[str, str], ...]:
    """List remotes with a fetch refspec that covers our refs: a fetch from there that prunes deletes them."""
    fields = git.run("config", "-z", "--get-regexp", r"^remote\..*\.fetch$", ok=(0, 1)).fields
    rows = [os.fsdecode(row).partition("\n") for row in fields]
    specs = [(key.removeprefix("remote.").removesuffix(".fetch"), spec) for key, _, spec in rows]
    # A refspec that begins with ^ leaves refs out of a fetch, and of what it prunes.
    spared = {remote for remote, spec in specs if spec.startswith("^") and _covers(spec[1:])}
    found = {
        remote: spec
        for remote, spec in specs
        if remote not in spared and not spec.startswith("^") and _covers(spec.rpartition(":")[2] if ":" in spec else "")
    }
    return tuple(sorted(found.items()))


def _covers(pattern: str) -> bool:
    """Check whether a side of a refspec takes in all of ``refs/prun/``, or some of it."""
    before, star, _ = pattern.partition("*")
    return (bool(star) and PRUN_REFS.startswith(before)) or before.startswith(PRUN_REFS)
