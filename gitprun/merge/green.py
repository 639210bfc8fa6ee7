"""Trees that were found green a short while ago: a landing that was cut off need not check them again."""

from __future__ import annotations

import hashlib
import json

from gitprun.merge.plan import LandingOptions
from gitprun.merge.prove import Proof
from gitprun.runs.ledger import Ledger

# For so long a tree that was green is taken to be green still, if it was checked by the same commands.
STILL_GREEN = 3600.0


def _way_of_checking(options: LandingOptions) -> str:
    after = [row.after for row in options.hotspots]
    parts = [options.verify, options.setup, options.copy, options.link, after, options.verify_sandbox]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def read_proved(ledger: Ledger, options: LandingOptions) -> frozenset[str]:
    """List the trees that were green a short while ago, checked in the same way."""
    if options.no_verify:
        return frozenset()
    way, now = _way_of_checking(options), ledger.clock.now()
    return frozenset(
        str(event.facts.get("tree"))
        for event in ledger.read().events
        if event.kind == "verify.passed" and event.facts.get("way") == way and now - event.time < STILL_GREEN
    )


def remember_proved(ledger: Ledger, options: LandingOptions, proof: Proof) -> None:
    """Write down which trees were found green."""
    verdicts = proof.site.memory.verdicts
    green = [tree for tree in proof.checked if verdicts[tree].state == "pass" and not options.no_verify]
    if green:
        way = _way_of_checking(options)
        ledger.append_all([("verify.passed", "", "", {"tree": tree, "way": way}) for tree in green])
