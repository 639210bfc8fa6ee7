"""Which commits the names of received tips stand for, asked of git all at once, or one by one where one is broken."""

from __future__ import annotations

from collections.abc import Mapping

from gitprun.capture.import_objects import _KILLED, _SICK, ImportProblem
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
            others[name] = "missing" if own.endswith(" missing") else _BROKEN if kind == "missing" else kind
    return found, others


def _ask_apart(git: Git, named: Mapping[str, Oid], timeout: float) -> tuple[dict[str, Oid], dict[str, str]]:
    """Ask for one at a time, since git dies over one that is broken; of very many none is believed."""
    if len(named) == 1 or len(named) > MOST_ALONE:
        return {}, dict.fromkeys(named, _BROKEN)
    answers = [commits_among(git, {name: oid}, timeout) for name, oid in named.items()]
    found = {name: oid for good, _ in answers for name, oid in good.items()}
    return found, {name: kind for _, bad in answers for name, kind in bad.items()}


_BROKEN = "broken object"


# So many tips are tried one by one when they cannot be taken together.
MOST_ALONE = 32


def require_healthy(problem: GitFailed) -> None:
    """Raise ImportProblem when git failed for want of space, of itself, or because somebody killed it."""
    line = next((line for line in problem.stderr.splitlines() if any(sign in line for sign in _SICK)), None)
    if line is not None:
        raise ImportProblem(f"the objects could not be brought over: {line.strip()}", "is the disk full?") from None
    if problem.code in (126, 127, *_KILLED):
        raise ImportProblem(f"the objects could not be brought over: {_explain(problem)}", "try again") from None
