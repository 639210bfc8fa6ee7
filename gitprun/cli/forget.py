"""``git prun resolve --forget``: recorded resolutions are taken back, by path or branch."""

from __future__ import annotations

from collections.abc import Sequence

from gitprun.cli.console import hint, put, safe
from gitprun.cli.options import Here
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import Oid


def forget_resolutions(place: Here, words: Sequence[str], into: str | None) -> int:
    """Forget what is recorded for paths, folders, branches and units, and say what; raises Refused where nothing is."""
    from gitprun.landing.forget import Row, forget_rows, rows_of_branch, rows_of_path

    repository, events = place.repository, place.read().events
    found: dict[Row, None] = {}
    for word in words:
        rows = rows_of_path(repository, events, word)
        branch, tip, main = _branch(place, word, into)
        rows += rows_of_branch(repository, events, branch, tip, main)
        if not rows:
            raise OperationRefused(
                f"nothing is recorded for {word}", "name a path that was in conflict, a branch or a unit"
            )
        found |= dict.fromkeys(rows)
    forget_rows(repository, place.ledger, list(found), by=" ".join(words))
    for path in dict.fromkeys(path for path, _ in found):
        put(f"{safe(path)}: forgotten; the next merge asks anew")
    hint(f"the texts are kept in {safe(str(repository.state / 'resolutions' / 'forgotten'))}")
    return 0


def _branch(place: Here, word: str, into: str | None) -> tuple[str, Oid | None, Oid | None]:
    """Return the name, the tip and the target's tip of a branch or unit; without the tips where there is none."""
    from gitprun.cli.opening import candidate_of
    from gitprun.landing.guard import read_target

    try:
        candidate = candidate_of(place, word)
        return candidate.branch, candidate.tip, read_target(place.repository, into).tip
    except PrunError:
        return word, None, None
