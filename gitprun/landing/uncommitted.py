"""Work that a worktree holds and its branch does not: not committed, or committed on a detached HEAD."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gitprun.git.command import Git
from gitprun.landing.context import LandingContext
from gitprun.landing.plan import Candidate
from gitprun.model.errors import PrunError
from gitprun.model.lists import listed
from gitprun.system.files import read_plain
from gitprun.workspaces.worktree import admin_folder

# Some 20,000 moves of one HEAD; only the last line is asked for.
MOST_LOG = 4_000_000


def dirty_checkout(site: LandingContext, candidate: Candidate) -> Path | None:
    """Find the worktree in which a branch has work that is not committed."""
    for checkout in site.checkouts:
        # A worktree on a disk that is not mounted says nothing about its files.
        if checkout.branch != f"refs/heads/{candidate.branch}" or not checkout.path.is_dir():
            continue
        try:
            # "normal" names a new folder once; what is in it does not matter for whether there is work.
            options = ("--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=none", "--no-renames")
            rows = Git(cwd=checkout.path).run("status", *options).fields
            # A link into another checkout, such as a shared node_modules, is nobody's work.
            work = [row for row in rows if row[:2] != b"??" or not os.path.islink(_below(checkout.path, row[3:]))]
            return checkout.path if work else None
        except PrunError:
            return None
    return None


def detached_ahead(site: LandingContext, candidate: Candidate) -> str | None:
    """Return in which worktree commits go on from a branch without belonging to it: its HEAD was detached there."""
    # The first is the main checkout, which has no folder of its own whose log could be read.
    for checkout in site.checkouts[1:]:
        if checkout.branch is not None or checkout.bare or checkout.head in ("", candidate.tip):
            continue
        admin = admin_folder(site.state.parent, checkout.path)
        if admin is None or left_from(admin) != candidate.branch:
            continue
        try:
            words = ("rev-list", "--left-right", "--count", f"{candidate.tip}...{checkout.head}")
            behind, ahead = site.git.run(*words).text.split("\t")
        except PrunError:
            continue
        if ahead != "0":
            taking = f"git branch -f {candidate.branch} {checkout.head[:10]} takes them"
            # git branch -f would throw away what the branch alone has.
            how = taking if behind == "0" else "they went apart"
            many = "commit" if ahead == "1" else "commits"
            return f"the detached HEAD of {checkout.path} has {ahead} {many} that it has not ({how})"
    return None


def later_commits(site: LandingContext, candidate: Candidate) -> str:
    """Return which commits a named workspace's branch got after its last worker: its own checks have not seen them."""
    seen = candidate.captured
    if seen in ("", candidate.tip):
        return ""
    words = ("rev-list", "--no-commit-header", "--format=%h %s", f"{seen}..{candidate.tip}")
    rows = site.git.run(*words, ok=(0, 128)).out.decode("utf-8", "replace").split("\n")[:-1]
    if not rows:
        return ""
    many = "1 commit" if len(rows) == 1 else f"{len(rows)} commits"
    return f"{many} came after the last worker of its workspace: {listed(rows, between='; ')}"


def left_from(admin: Path) -> str:
    """Read which branch a worktree's HEAD was on last, by its log; empty where that does not say."""
    raw = read_plain(admin / "logs" / "HEAD", MOST_LOG) or b""
    # The last move counts; a HEAD may have been on many branches.
    for line in reversed(raw.split(b"\n")):
        found = re.search(rb"\tcheckout: moving from (\S+) to ", line)
        if found:
            return os.fsdecode(found[1])
    return ""


def _below(top: Path, name: bytes) -> bytes:
    return os.path.join(os.fsencode(top), name.rstrip(b"/"))
