"""Turn everything a worker did into one commit, pinned in the user's repository before anything else happens.

Git stages it (filters, line ends, sparse checkouts are its business) with the user's own repository as git folder
and a private index made at creation; the ``.git`` inside the workspace is never used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pygit2

from gitprun.collect.carry import import_tips
from gitprun.collect.channels import Channels, read_channels, read_head, read_log, read_unfinished
from gitprun.collect.scan import Scan, ScanProblem, scan_workspace
from gitprun.collect.screen import LeftOut
from gitprun.collect.site import Site
from gitprun.collect.stage import FilterChanged, Staged, stage
from gitprun.errors import GitFailed, GitTimeout, PrunError
from gitprun.git.refs import Signature, move_ref, read_ref, write_commit
from gitprun.globs import matches
from gitprun.names import ZERO, Oid, RunId, UnitId, kept_ref
from gitprun.system.files import folder_identity, locked
from gitprun.workspaces.worktree import admin_folder

__all__ = ["Capture", "CaptureProblem", "LeftOut", "Site", "capture", "commit_capture", "outside_fence", "pin_commits"]

LITTER = (b".codex", b".agents", b".aws")
# The hooks a commit of the user's would have started.
COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")


class CaptureProblem(PrunError):
    """The work could not be captured; it lies untouched in its workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What was found: the new tree, its changed paths, what was left out and what was pinned beside it."""

    tree: Oid
    changed: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    kept: tuple[tuple[str, Oid], ...] = ()
    own_commits: tuple[str, ...] = ()
    unfinished: str | None = None
    notes: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Write it down for the ledger."""
        return {
            "tree": self.tree,
            "changed": list(self.changed),
            "files": len(self.changed),
            "left_out": [asdict(row) for row in self.left_out],
            "kept": [list(row) for row in self.kept],
            "own_commits": list(self.own_commits),
            "unfinished": self.unfinished,
            "collect_notes": list(self.notes),
        }


def capture(site: Site, run: RunId, unit: UnitId) -> Capture:
    """Stage everything the worker did and write its tree; pins own commits, branches and a stash at once.

    Raises CaptureProblem when the workspace cannot be read whole; what was committed there is pinned even then.
    """
    path, index = site.workspace.path, site.workspace.index
    if folder_identity(path) != site.workspace.identity:
        raise CaptureProblem(f"{path} is not the folder prun made", "look at it; prun leaves it alone")
    if index is None or not index.is_file():
        raise CaptureProblem(f"the index kept for {run}/{unit} is gone", f"look at {path} yourself")
    try:
        kept, own, channels = _pin(site, run, unit)
        with locked(index.with_name("capture.lock"), doing=f"capturing {run}/{unit}"):
            # Under our lock, what still locks the index was left by a git that was killed.
            index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
            staged, notes = stage_workspace(site)
        changed = changed_paths(site.repo, site.base, staged.tree)
        notes += _hook_notes(site, staged.hooks) if changed else []
    except (ScanProblem, FilterChanged) as problem:
        raise CaptureProblem(f"the work could not be captured: {problem.message}", problem.hint) from None
    except (GitFailed, GitTimeout, OSError) as problem:
        said = problem.message if isinstance(problem, PrunError) else str(problem)
        raise CaptureProblem(f"the work in {path} could not be captured: {said}") from None
    return Capture(
        tree=staged.tree,
        changed=changed,
        left_out=staged.left_out,
        kept=kept,
        own_commits=own,
        unfinished=channels.unfinished,
        notes=(*notes, *channels.notes),
    )


def pin_commits(site: Site, run: RunId, unit: UnitId) -> tuple[tuple[str, Oid], ...]:
    """Pin what the worker committed itself; of a linked worktree this works even after its folder is gone."""
    return _pin(site, run, unit)[0]


def stage_workspace(site: Site) -> tuple[Staged, list[str]]:
    """Write the tree of what is in a workspace now, in its private index; gives notes too."""
    path = site.workspace.path
    scan = scan_workspace(path, frozenset(map(os.fsencode, (".git", *site.apart))))
    notes = _defuse(site, scan)
    staged = stage(site, scan)
    if staged.noise:
        notes.append(
            f"{staged.noise} files differ by line-end normalisation only and were left as they are in the base"
        )
    return staged, notes


def _defuse(site: Site, scan: Scan) -> list[str]:
    """Unlink what git would wait for (it holds no content), and put the base's version in its place."""
    notes = []
    for name in scan.traps:
        text = os.fsdecode(name)
        target = site.workspace.path / text
        target.unlink()
        notes.append(f"{text} was no plain file and was removed, since git would wait for it")
        mode, content = site.base_mode(text), site.base_blob(text)
        if content is not None and mode is not None and stat.S_ISREG(mode):
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o777), "wb") as restored:
                restored.write(content)
    for litter in LITTER:
        try:
            os.rmdir(os.path.join(os.fsencode(site.workspace.path), litter))
        except OSError:
            continue
    return notes


def _hook_notes(site: Site, configured: str) -> list[str]:
    """Name the user's hooks that a commit of his would have started."""
    folder = site.repository.common / "hooks"
    if configured:
        # A relative one counts from the checkout.
        folder = (site.repository.top or site.repository.common) / os.path.expanduser(configured)
    names = [name for name in COMMIT_HOOKS if os.access(folder / name, os.X_OK)]
    return [f"hooks not run: {', '.join(names)}"] if names else []


def _channels(site: Site) -> Channels:
    git_dir = site.workspace.path / ".git"
    if site.workspace.kind == "clone":
        channels = read_channels(git_dir, site.known)
        tips, notes = import_tips(site.repository, site.repo, git_dir, channels.tips, site.base, site.alternates)
        return Channels(tips, channels.unfinished, (*channels.notes, *notes))
    return _linked_channels(site)


def _linked_channels(site: Site) -> Channels:
    """Read what a worker in a linked worktree committed: its objects are in the user's repository already."""
    branch = f"refs/heads/{site.workspace.branch}"
    found = {f"branch/{site.workspace.branch}": read_ref(site.repo, branch)}
    admin = admin_folder(site.repository.common, site.workspace.path)
    if admin is None:
        notes: tuple[str, ...] = ("the worktree's registration is gone",)
    else:
        notes = ()
        head = read_head(admin / "HEAD")
        found["head"] = read_ref(site.repo, head) if head.startswith("refs/") else Oid(head) if head else None
        found |= {f"lost/{oid[:12]}": Oid(oid) for oid in read_log(admin / "logs" / "HEAD")}
    tips: dict[str, Oid] = {}
    for channel, oid in found.items():
        if oid and oid != site.base and oid not in site.known and oid not in tips.values() and oid in site.repo:
            tips[channel] = oid
    return Channels(tips, read_unfinished(admin) if admin else None, notes)


def _pin(site: Site, run: RunId, unit: UnitId) -> tuple[tuple[tuple[str, Oid], ...], tuple[str, ...], Channels]:
    """Pin the tips of the worker's own commits, and describe those commits for the report."""
    channels = _channels(site)
    kept: list[tuple[str, Oid]] = []
    tips = _independent(site, {name: oid for name, oid in channels.tips.items() if _is_commit(site, oid)})
    for channel, oid in tips.items():
        kept.append((_keep(site, run, unit, channel, oid), oid))
    described = [oid for channel, oid in tips.items() if channel != "stash"]
    if not described:
        return tuple(kept), (), channels
    words = ("log", "--no-show-signature", "--no-color", "--no-decorate", "--format=%h %an: %s", "--max-count=200")
    listing = site.repository.git.run(*words, *described, "--not", site.base)
    own = listing.out.decode("utf-8", "replace").rstrip("\n")
    return tuple(kept), tuple(own.split("\n")) if own else (), channels


def _is_commit(site: Site, oid: Oid) -> bool:
    found = site.repo.get(pygit2.Oid(hex=oid))
    return isinstance(found, pygit2.Commit)


def _independent(site: Site, tips: dict[str, Oid]) -> dict[str, Oid]:
    """Drop the lost commits that another tip, the base or a ref of the user's holds anyway."""
    lost = [oid for channel, oid in tips.items() if channel.startswith("lost/")]
    if not lost:
        return tips
    named = [oid for channel, oid in tips.items() if not channel.startswith("lost/")]
    held = (site.base, *named, f"--exclude={site.workspace.branch}", "--branches", "--tags", "--remotes")
    only = set(site.repository.git.run("rev-list", *lost, "--not", *held).text.split("\n"))
    lost = [oid for oid in lost if oid in only]
    if len(lost) > 1:
        lost = [Oid(row) for row in site.repository.git.run("merge-base", "--independent", *lost).text.split("\n")]
    return {name: oid for name, oid in tips.items() if not name.startswith("lost/") or oid in lost}


def _keep(site: Site, run: RunId, unit: UnitId, channel: str, oid: Oid) -> str:
    """Pin one commit; what was pinned under that name before and is no part of it stays pinned as lost."""
    name = kept_ref(run, unit, channel)
    before = read_ref(site.repo, name)
    if before == oid:
        return name
    if before is not None and not site.repo.descendant_of(pygit2.Oid(hex=oid), pygit2.Oid(hex=before)):
        _create(site, kept_ref(run, unit, f"lost/{before[:12]}"), before)
    try:
        move_ref(site.repo, name, oid, before or ZERO, "prun: kept what the worker committed itself")
    except PrunError:
        # The name of another ref stands in the way: a branch `a` beside `a/b`.
        name = kept_ref(run, unit, f"lost/{oid[:12]}")
        _create(site, name, oid)
    return name


def _create(site: Site, name: str, oid: Oid) -> None:
    if read_ref(site.repo, name) != oid:
        move_ref(site.repo, name, oid, ZERO, "prun: kept what the worker committed itself")


def changed_paths(repo: pygit2.Repository, base: Oid, tree: Oid) -> tuple[str, ...]:
    """List the paths that differ between a commit's tree and another tree."""
    before, after = repo[base].peel(pygit2.Tree), repo[tree].peel(pygit2.Tree)
    found: set[str] = set()
    for delta in before.diff_to_tree(after).deltas:
        found.update((os.fsdecode(delta.old_file.raw_path), os.fsdecode(delta.new_file.raw_path)))
    return tuple(sorted(found))


def commit_capture(
    site: Site, found: Capture, ref: str, message: str, who: tuple[Signature, Signature], old: Oid = ZERO
) -> Oid:
    """Make the one commit of a unit on its base and pin it; the ref moves only after the commit was read back."""
    commit = write_commit(site.repo, found.tree, (site.base,), message, *who)
    move_ref(site.repo, ref, commit, old, "prun: captured")
    return commit


def outside_fence(changed: Sequence[str], fence: Sequence[str]) -> tuple[str, ...]:
    """List the changed paths that no pattern of the unit's fence covers."""
    return tuple(path for path in changed if fence and not any(matches(pattern, path) for pattern in fence))
