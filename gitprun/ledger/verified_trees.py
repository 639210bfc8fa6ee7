"""Trees that were found green in a pristine place, as the ledger tells them, and for whom they count.

A verdict stands on more than its tree: on programs, linked folders, copied files. So what was green for one command is
not taken for green by the next, unless ``[merge] reuse_green`` says for how long it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitprun.ledger.events import Event
from gitprun.ledger.house_events import VerifyPassed
from gitprun.ledger.ledger import Ledger
from gitprun.supervisor.process import new_mark

# Tells this process's rows from those of every other.
_SESSION = new_mark()


def read_verified(ledger: Ledger, way: str, *, reuse: float, run: str) -> frozenset[str]:
    """List the trees that count as green, checked in the same ``way``.

    Those of the last ``reuse`` seconds (0: none), and those that this process found while it worked on ``run``.
    """
    if not reuse and not run:
        return frozenset()
    now = ledger.clock.now()

    def counts(event: Event, proof: VerifyPassed) -> bool:
        # Within one run of one process nothing around the tree has changed.
        mine = bool(run) and event.run == run and proof.by == _SESSION
        return proof.way == way and (mine or now - event.time < reuse)

    rows = ((one, one.payload) for one in ledger.read().events)
    return frozenset(proof.tree for event, proof in rows if isinstance(proof, VerifyPassed) and counts(event, proof))


def note_verified(ledger: Ledger, trees: Iterable[str], way: str, run: str = "") -> None:
    """Write down which trees were found green, for a unit of ``run`` or for a landing."""
    rows = [(VerifyPassed(tree=tree, way=way, by=_SESSION), run, "") for tree in trees]
    if rows:
        ledger.append_all(rows)
