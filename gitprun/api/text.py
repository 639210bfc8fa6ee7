"""Three texts merged as a landing would merge them: without a repository, without starting any program."""

from __future__ import annotations

from dataclasses import dataclass

from gitprun.judging.doubts import NOT_SETTLED, find_doubts, guarded
from gitprun.resolvers.base import FileConflict, Refused
from gitprun.resolvers.cascade import prepare, run_cascade

__all__ = ["Merged", "Refused", "merge_text"]


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged text that is proved and in which nothing wrong was found; ``resolver`` is empty where none was asked."""

    text: bytes
    resolver: str = ""
    unjudged: str = ""


def merge_text(base: bytes | None, ours: bytes, theirs: bytes, path: str) -> Merged | Refused:
    """Return the merge of three texts, or why there is none; ``path`` tells of what kind they are.

    ``base`` None says that both sides added the file.
    """
    from gitprun.resolvers.base import one_sided

    conflict = FileConflict(path, base, ours, theirs)
    plain = one_sided(conflict)
    resolver = ""
    if plain is None:
        found = guarded(lambda: run_cascade(conflict), None, f"merging {path!r}", NOT_SETTLED, lambda: prepare(path))
        if isinstance(found, Refused):
            return found
        if not found.texts:
            return Refused(found.reason)
        plain, resolver = found.texts[0].text, found.texts[0].resolver
    doubts = find_doubts(conflict, plain, None)
    return Refused("; ".join(doubts.faults)) if doubts.faults else Merged(plain, resolver, doubts.unjudged)
