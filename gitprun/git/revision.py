"""Which ref a word means: one that a branch and a tag of different commits go by is refused, both named."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.git.command import Git
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import Oid

_OID = re.compile(r"[0-9a-f]{40}")
# What git reads as part of a revision, not of a ref: wip~2, wip^{tree}, wip@{1}, wip:file.
_OPERATOR = re.compile(r"[~^:\s]|@\{")
# What git makes itself, in each checkout; "@" is HEAD.
_OWN = re.compile(r"@|[A-Z_]*HEAD")
# Where git looks for a short name, a branch first: what a user of prun names is a branch more often than not.
_PLACES = ("refs/heads/", "refs/tags/", "refs/", "refs/remotes/")


class SeveralMeanings(PrunError):
    """A word is the name of several refs that are at different commits."""


def read_tips(git: Git, words: Sequence[str]) -> dict[str, Oid]:
    """Resolve words to commits with one program; what is no plain word, or no commit, is left out.

    A branch comes first: git by itself would take a tag of its name. Raises SeveralMeanings where they differ.
    """
    plain = [word for word in dict.fromkeys(words) if word and not _OPERATOR.search(word)]
    if not plain:
        return {}
    asked = {word: (*_refs_of(word), word) for word in plain}
    listing = "".join(f"{name}^{{commit}}\n" for names in asked.values() for name in names)
    rows = git.run("cat-file", "--batch-check=%(objectname)", stdin=listing.encode("utf-8", "surrogateescape")).text
    answers = iter(rows.split("\n"))
    found: dict[str, Oid] = {}
    for word, names in asked.items():
        # The names come first: zip asks them first, and takes no answer that is the next word's.
        tips = [(name, Oid(oid)) for name, oid in zip(names, answers, strict=False) if _OID.fullmatch(oid)]
        _require_one(word, [(name, oid) for name, oid in tips if name != word])
        if tips:
            found[word] = tips[0][1]
    return found


def require_one_ref(git: Git, revision: str) -> None:
    """Raise SeveralMeanings where the name in a revision (``wip``, ``wip~2``) is that of several, unlike refs."""
    word = _OPERATOR.split(revision, maxsplit=1)[0]
    if _refs_of(word):
        read_tips(git, (word,))


def _refs_of(word: str) -> tuple[str, ...]:
    """Return the full names a short one may stand for; of a full name, a commit or HEAD there are none."""
    if not word or word.startswith("refs/") or _OWN.fullmatch(word) or _OID.fullmatch(word):
        return ()
    return tuple(place + word for place in _PLACES)


def _require_one(word: str, rows: Sequence[tuple[str, Oid]]) -> None:
    # Two refs at one commit mean the same thing, whichever is taken.
    if len({oid for _, oid in rows}) < 2:
        return
    kinds = [f"{_kind(name)} ({name}, at {oid[:10]})" for name, oid in rows]
    raise SeveralMeanings(
        f"{word!r} is the name of {' and of '.join(kinds)}",
        f"write {' or '.join(name for name, _ in rows)}, whichever is meant",
    )


def _kind(ref: str) -> str:
    kinds = (("refs/heads/", "a branch"), ("refs/tags/", "a tag"), ("refs/remotes/", "a remote-tracking branch"))
    return next((kind for place, kind in kinds if ref.startswith(place)), "a ref")


def require_branch_name(git: Git, branch: str, example: str) -> None:
    """Refuse a name for a new branch that git would not take, or would read as something else afterwards."""
    checked = git.run("check-ref-format", f"refs/heads/{branch}", ok=(0, 1, 129))
    reads_otherwise = branch.startswith(("-", "refs/")) or _OWN.fullmatch(branch) or _OID.fullmatch(branch)
    if checked.code != 0 or reads_otherwise or "\n" in branch:
        raise OperationRefused(f"invalid branch name {branch!r}", f"such as {example}; git help check-ref-format")


def require_no_tag(git: Git, branch: str) -> None:
    """Refuse a name for a new branch that is the name of a tag: one would be taken for the other."""
    if git.run("show-ref", "--verify", "--quiet", f"refs/tags/{branch}", ok=(0, 1, 128)).code == 0:
        raise OperationRefused(
            f"{branch!r} is the name of a tag: a branch would be taken for it", "choose another name"
        )
