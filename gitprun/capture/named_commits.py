"""Which commits the names of received tips stand for, asked of git all at once, or one by one where one is broken."""

from __future__ import annotations

from collections.abc import Mapping

from gitprun.capture.import_problem import BROKEN, require_healthy
from gitprun.git.command import Git
from gitprun.model.errors import GitFailed
from gitprun.model.names import Oid


def commits_among(git: Git, named: Mapping[str, Oid], timeout: float) -> tuple[dict[str, Oid], dict[str, str]]:
    """Find the commits that names mean in the end, through tags; and what the others are ('missing' if nothing)."""
    listing = "".join(f"{oid}\n{oid}^{{}}\n" for oid in named.values()).encode()
    words = ("cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer")
    try:
        rows = git.run(*words, stdin=listing, timeout=timeout).text.split("\n")
    except GitFailed as problem:
        require_healthy(problem)
        return _ask_apart(git, named, timeout)
    found: dict[str, Oid] = {}
    others: dict[str, str] = {}
    for name, own, end in zip(named, rows[::2], rows[1::2], strict=False):
        oid, _, kind = end.rpartition(" ")
        if kind == "commit":
            found[name] = Oid(oid)
        else:
            others[name] = "missing" if own.endswith(" missing") else BROKEN if kind == "missing" else kind
    return found, others


def _ask_apart(git: Git, named: Mapping[str, Oid], timeout: float) -> tuple[dict[str, Oid], dict[str, str]]:
    """Ask for one at a time, since git dies over one that is broken; of very many none is believed."""
    if len(named) == 1 or len(named) > MOST_ALONE:
        return {}, dict.fromkeys(named, BROKEN)
    answers = [commits_among(git, {name: oid}, timeout) for name, oid in named.items()]
    found = {name: oid for good, _ in answers for name, oid in good.items()}
    return found, {name: kind for _, bad in answers for name, kind in bad.items()}


# So many tips are tried one by one when they cannot be taken together.
MOST_ALONE = 32
