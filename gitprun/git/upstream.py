"""How a branch stands to the remote branch it follows, as far as it was fetched; nothing is fetched here."""

from __future__ import annotations

import re
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import has_refs

_BEHIND = re.compile(r"behind (\d+)")
_AHEAD = re.compile(r"ahead (\d+)")


def describe_behind(git: Git, common: Path, ref: str) -> str:
    """Say that a branch (a full ref) lacks commits that its remote branch is known to have; empty if it does not.

    Where no upstream is set, the branch of the same name at the remote counts, if one remote alone has it.
    """
    if not has_refs(common, "refs/remotes/"):
        return ""
    words = ("for-each-ref", "--format=%(upstream)%00%(upstream:short)%00%(upstream:track)", "--", ref)
    full, short, track = (*git.run(*words).text.split("\0"), "", "", "")[:3]
    branch = ref.removeprefix("refs/heads/")
    if full:
        behind, ahead = (int(found[1]) if (found := sign.search(track)) else 0 for sign in (_BEHIND, _AHEAD))
    else:
        names = git.run("for-each-ref", "--format=%(refname)", f"refs/remotes/*/{branch}").text.splitlines()
        if len(names) != 1 or not branch:
            return ""
        full, short = names[0], names[0].removeprefix("refs/remotes/")
        counts = git.run("rev-list", "--left-right", "--count", f"{ref}...{full}", ok=(0, 128)).text.split()
        ahead, behind = map(int, counts) if len(counts) == 2 else (0, 0)
    if not behind:
        return ""
    commits = f"{behind} commit{'' if behind == 1 else 's'}"
    how = f"has parted from {short}, and lacks {commits} of it" if ahead else f"is {commits} behind {short}"
    return f"{branch} {how}: git log {branch}..{short} shows {'it' if behind == 1 else 'them'}"
