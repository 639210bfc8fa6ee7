"""History that is there and not seen: cut off in a shallow clone, joined by replace refs; the rest of it fetched."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.environment import WITH_REPLACEMENTS
from gitprun.git.refs import has_refs
from gitprun.git.repo import Repository
from gitprun.landing.guard import Target
from gitprun.landing.plan import Candidate
from gitprun.ledger.landing_events import LandingDeepened
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import GitFailed, GitStopped, GitTimeout
from gitprun.model.names import Oid
from gitprun.model.units import LIVE
from gitprun.system.files import read_plain

# Most branches fork from the last few commits: the whole history of a large project is asked for only when these are
# not enough.
STEPS = ("--deepen=100", "--deepen=1000", "--unshallow")
# The whole history of a large project over a slow line.
TIMEOUT = 3600.0
# A line of 41 bytes for each commit at which the history is cut off: more than a million of them.
_MOST = 64 << 20
# Only objects: no tag, no remote branch and no FETCH_HEAD of the user's is written, no submodule fetched.
_QUIET = ("--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=")


def is_shallow(common: Path) -> bool:
    """Check whether the history of a repository is cut off somewhere."""
    return bool((read_plain(common / "shallow", _MOST) or b"").strip())


def has_replacements(common: Path) -> bool:
    """Check whether git is told to take objects for others."""
    return has_refs(common, "refs/replace/")


def describe_replaced(git: Git, main: Oid, unit: Oid, bases: Sequence[Oid]) -> str:
    """Return that replace refs give two commits another history (or content) than they have; empty if they do not.

    What lands is what every clone has: replacements are not part of a clone.
    """
    # prun runs git with replacements off; here it is asked what the user's own git sees.
    seeing = replace(git, env={**git.env, **WITH_REPLACEMENTS}, _ahead={})
    found = tuple(map(Oid, seeing.run("merge-base", "--all", main, unit, ok=(0, 1)).text.split()))
    trees = ("rev-parse", *(f"{commit}^{{tree}}" for commit in (main, unit, *bases)))
    if set(found) == set(bases) and seeing.run(*trees).text == git.run(*trees).text:
        return ""
    return "refs/replace gives it another history here, which git merge sees and a landing does not"


def explain_unrelated(git: Git, common: Path, main: Oid, unit: Oid, name: str) -> str:
    """Return why a branch that seems to share no history may do so after all; empty where nothing tells."""
    replaced = describe_replaced(git, main, unit, ()) if has_replacements(common) else ""
    if replaced:
        return replaced
    if not is_shallow(common):
        return ""
    return f"the history of this clone is cut off (shallow): git prun merge --deepen {shlex.quote(name)} fetches more"


def deepen(
    repository: Repository,
    ledger: Ledger,
    target: Target,
    candidates: Iterable[Candidate],
    say: Callable[[str], None],
) -> tuple[str, ...]:
    """Fetch what a shallow clone lacks until every candidate shares history with the target; returns notes.

    No ref moves: objects come, and the place where the history is cut off moves back.
    """
    git = repository.git
    # Nothing is fetched for branches that share history already, however shallow the clone is.
    apart = [one for one in candidates if not _meet(git, target.tip, one.tip)]
    if not apart or not is_shallow(repository.common):
        return ()
    if any(unit.state in LIVE for run in ledger.read().history.runs.values() for unit in run.units.values()):
        # A change of the shared settings, which nobody could tell from one that a worker made.
        return ("the history is not fetched while units are at work: git prun merge --deepen again when they are done",)
    remote = _remote(git, target.branch)
    if not remote:
        return ("the history is cut off, and there is no remote to fetch the rest from",)
    if repository.trusted.is_dir():
        # A remote may name programs, and whoever shares the settings may have written it.
        return (
            f"workers shared the settings of this repository, so fetch it yourself: git fetch --unshallow {remote}",
        )
    # The event first: what changes in the repository from here on is prun's own doing, not drift.
    ledger.append(LandingDeepened(remote=remote, branches=tuple(one.branch for one in apart)))
    try:
        refs = _tracked(git, remote)
        for step in STEPS:
            say(f"fetching history from {remote} ({step.removeprefix('--')})")
            git.run("fetch", "--quiet", *_QUIET, step, remote, *refs, timeout=TIMEOUT)
            apart = [one for one in apart if not _meet(git, target.tip, one.tip)]
            if not apart or not is_shallow(repository.common):
                break
    except GitStopped:
        raise
    except (GitFailed, GitTimeout) as problem:
        return (f"the history could not be fetched from {remote}: {problem.message}",)
    return (f"more of the history was fetched from {remote}",)


def _meet(git: Git, main: Oid, unit: Oid) -> bool:
    return git.run("merge-base", main, unit, ok=(0, 1)).code == 0


def _remote(git: Git, branch: str) -> str:
    """Choose the remote a branch comes from, else origin, else the only one there is."""
    configured = git.run("config", "--get", f"branch.{branch}.remote", ok=(0, 1)).text
    names = git.run("remote").text.splitlines()
    wanted = [configured, "origin", *(names if len(names) == 1 else [])]
    return next((name for name in wanted if name in names), "")


def _tracked(git: Git, remote: str) -> list[str]:
    """List the branches of a remote that are known here, as far as it still has them."""
    there = {row.partition("\t")[2] for row in git.run("ls-remote", "--heads", remote).text.splitlines()}
    words = ("for-each-ref", "--format=%(refname:lstrip=3)", f"refs/remotes/{remote}")
    known = {f"refs/heads/{name}" for name in git.run(*words).text.splitlines()}
    # Of branches that were never fetched nothing is brought; a clone that knows none takes all.
    return sorted(there & known) or sorted(there)
