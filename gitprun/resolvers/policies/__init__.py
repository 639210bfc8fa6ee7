"""Policies for what the kinds of files refuse on principle: two versions of one dependency, one number given twice.

They are never on by default: a path is configured so, and each line they drop or change is listed.
"""

from __future__ import annotations

from gitprun.resolvers.base import FileConflict, Refused, Resolved

HIGHER_VERSION = "higher-version"
RENUMBER = "renumber"


def higher_version(conflict: FileConflict) -> Resolved | Refused:
    """Merge a file, and where both sides set another version of one dependency take the higher one."""
    from gitprun.resolvers.policies.aligned import settle_aligned
    from gitprun.resolvers.policies.tables import version_aligner

    align = version_aligner(conflict.path)
    if align is None:
        return Refused(f"{HIGHER_VERSION} does not know this kind of file")
    return settle_aligned(HIGHER_VERSION, align, conflict)


def renumber(conflict: FileConflict) -> Resolved | Refused:
    """Merge a file, and where the unit added what has a number that main has taken give it the next free one.

    It is right only while nothing has been written with the unit's numbers.
    """
    from gitprun.resolvers.policies.aligned import settle_aligned
    from gitprun.resolvers.policies.tables import number_aligner

    align = number_aligner(conflict.path)
    if align is None:
        return Refused(f"{RENUMBER} does not know this kind of file")
    return settle_aligned(RENUMBER, align, conflict)
