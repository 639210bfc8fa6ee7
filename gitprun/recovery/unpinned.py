"""Refs that pin work and are gone, by a mirror's pruning fetch for one; and the refspecs that would do that."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.ledger.events import Event, RunState, UnitState
from gitprun.ledger.house_events import GcDone
from gitprun.model.names import PRUN_REFS, unit_ref


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
    if gone:
        released = {event.payload.oid for event in events if isinstance(event.payload, GcDone)}
        gone = [unit for unit in gone if unit.commit not in released]
    if not gone:
        return ()
    asked = "".join(f"{unit.commit}^{{tree}}\n" for unit in gone).encode("utf-8", "replace")
    rows = repository.git.run("cat-file", "--batch-check=%(objecttype)", stdin=asked).text.split("\n")
    return tuple(Unpinned(unit, row == "tree") for unit, row in zip(gone, rows, strict=False))


def pruning_refspecs(git: Git) -> tuple[tuple[str, str], ...]:
    """List remotes with a fetch refspec that covers our refs: a fetch from there that prunes deletes them."""
    fields = git.run("config", "-z", "--get-regexp", r"^remote\..*\.fetch$", ok=(0, 1)).fields
    rows = [os.fsdecode(row).partition("\n") for row in fields]
    specs = [(key.removeprefix("remote.").removesuffix(".fetch"), spec) for key, _, spec in rows]
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
