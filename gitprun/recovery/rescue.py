"""Everything that is pinned, read from the refs alone, and ways to bring it back: as branches, or as files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import move_ref, open_repository, read_ref
from gitprun.git.repo import Repository, read_checkouts
from gitprun.git.revision import require_branch_name, require_no_tag
from gitprun.ledger.roster import NAMED
from gitprun.model.errors import GitFailed, GitTimeout, OperationRefused, PrunError
from gitprun.model.names import PRUN_REFS, ZERO, Oid, parse_oid
from gitprun.recovery.catalog import Label, branch_for, read_label
from gitprun.system.files import folder_identity, remove_tree
from gitprun.workspaces.base import QUIET

# Sizes and trees of all that is pinned, read from a cold disk.
TIMEOUT = 120.0
# A look of about a second; sizes beyond it are left out, not the refs.
MOST_SIZED = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedCommit:
    """One pinned commit: when it was made (seconds since 1970), what it says, how many files it changes, their bytes.

    ``whole`` is False where its objects are not all there.
    """

    ref: str
    commit: Oid
    label: Label
    time: float = 0.0
    subject: str = ""
    files: int = 0
    size: int = 0
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was brought back: the ref it came from, and the branch or the folder it is in now."""

    ref: str
    commit: Oid
    branch: str = ""
    folder: str = ""
    new: bool = True


def list_pinned(repository: Repository) -> tuple[PinnedCommit, ...]:
    """List all that is pinned below ``refs/prun/``, the newest first; no ledger is needed for that."""
    # Without looking at objects, since some may be lost.
    rows = repository.git.run("for-each-ref", "--format=%(objectname) %(refname)", PRUN_REFS).text.split("\n")
    # Forty digits of the id, a blank, the name.
    refs = [(Oid(row[:40]), row[41:]) for row in rows if row]
    looks = _look(repository, {oid for oid, _ in refs})
    found = []
    for oid, ref in refs:
        look = looks.get(oid)
        label = read_label(ref)
        if look is None:
            found.append(
                PinnedCommit(ref=ref, commit=oid, label=label, whole=False, subject="its objects are not all there")
            )
            continue
        when, subject, files, size = look
        found.append(PinnedCommit(ref=ref, commit=oid, label=label, time=when, subject=subject, files=files, size=size))
    return tuple(sorted(found, key=lambda one: (-one.time, one.ref)))


def _look(repository: Repository, oids: set[Oid]) -> dict[Oid, tuple[float, str, int, int]]:
    """Read date, subject and changes of commits; of those that are not there nothing."""
    listing = "".join(f"{oid}\n" for oid in sorted(oids)).encode()
    plain = Git(cwd=repository.common, env={"GIT_DIR": str(repository.common)}, neutral=True)
    said = plain.run("--no-replace-objects", "cat-file", "--batch-check", stdin=listing, timeout=TIMEOUT).text
    there = [row.split(" ")[0] for row in said.split("\n") if row.split(" ")[1:2] == ["commit"]]
    looks: dict[Oid, tuple[float, str, int, int]] = {}
    blobs: dict[Oid, list[str]] = {}
    for oid, when, subject, rows in _log(plain, there):
        looks[oid] = (when, subject, len(rows), 0)
        blobs[oid] = [row.split(" ")[3] for row in rows if row.split(" ")[3].strip("0")]
    sizes = _sizes(plain, {blob for names in blobs.values() for blob in names})
    return {oid: (*look[:3], sum(sizes.get(blob, 0) for blob in blobs[oid])) for oid, look in looks.items()}


def _log(git: Git, oids: Sequence[str]) -> Iterable[tuple[Oid, float, str, list[str]]]:
    """Return what commits say, and what they change against their first parent."""
    # Each option shuts out a setting of the user's that would change what is parsed; a root commit shows its files
    # only with showRoot.
    words = (
        "--no-replace-objects", "-c", "log.showRoot=true", "log", "--no-walk=unsorted", "--stdin", "-z", "--raw",
        "--no-abbrev", "--no-renames", "--no-show-signature", "--no-color", "--no-ext-diff", "--no-notes",
        "--diff-merges=first-parent", "--format=%x01%H %ct %s",
    )  # fmt: skip
    for group in _groups(oids):
        listing = "".join(f"{oid}\n" for oid in group).encode()
        try:
            out = git.run(*words, stdin=listing, timeout=TIMEOUT).out
        except (GitFailed, GitTimeout):
            if len(group) > 1:
                # One of them is broken, and must not hide the others.
                for oid in group:
                    yield from _log(git, [oid])
            continue
        yield from read_log(out)


def read_log(out: bytes) -> Iterator[tuple[Oid, float, str, list[str]]]:
    """Read what ``git log -z --raw`` says in our format; names go unread, for they may begin as rows do."""
    fields = iter(out.split(b"\0"))
    head, rows = b"", list[str]()
    for field in fields:
        text = field.lstrip(b"\n")
        if text[:1] == b":":
            rows.append(text.decode("utf-8", "replace"))
            next(fields, None)
        elif text[:1] == b"\x01":
            if head:
                yield _commit_row(head, rows)
            head, rows = text[1:], []
    if head:
        yield _commit_row(head, rows)


def _commit_row(head: bytes, rows: list[str]) -> tuple[Oid, float, str, list[str]]:
    oid, when, subject = head.decode("utf-8", "replace").rstrip("\n").split(" ", 2)
    return parse_oid(oid), float(when), subject, rows


def _groups(oids: Sequence[str]) -> Iterable[Sequence[str]]:
    # A broken commit makes its whole group be asked one by one, so groups are not large.
    for start in range(0, len(oids), 500):
        yield oids[start : start + 500]


def _sizes(git: Git, blobs: set[str]) -> dict[str, int]:
    some = sorted(blobs)[:MOST_SIZED]
    listing = "".join(f"{blob}\n" for blob in some).encode()
    said = git.run("--no-replace-objects", "cat-file", "--batch-check", stdin=listing, timeout=TIMEOUT).text
    rows = [row.split(" ") for row in said.split("\n")]
    return {row[0]: int(row[2]) for row in rows if row[1:2] == ["blob"]}


def choose(pinned: Sequence[PinnedCommit], names: Sequence[str]) -> tuple[PinnedCommit, ...]:
    """Find what names mean: ``all``, a unit or workspace (all that is kept of it), a ref or the end of one, a commit.

    Raises OperationRefused for a name that means nothing.
    """
    chosen: dict[str, PinnedCommit] = {}
    for name in names:
        fitting = [one for one in pinned if _fits(one, name)]
        if not fitting:
            raise OperationRefused(f"nothing is pinned as {name!r}", "git prun rescue --list shows what there is")
        chosen |= {one.ref: one for one in fitting}
    return tuple(chosen.values())


def _fits(one: PinnedCommit, name: str) -> bool:
    label = one.label
    if name == "all":
        # Bases are commits of the user's own, not work that somebody would miss.
        return label.kind not in ("base", "baseline", "other")
    if name in (one.ref, one.ref.removeprefix("refs/"), one.ref.removeprefix(PRUN_REFS)) or name == one.commit:
        return True
    # Git abbreviates ids to no less.
    if len(name) >= 7 and one.commit.startswith(name):
        return True
    if label.kind in ("base", "baseline", "other") or not label.unit:
        return False
    short = name.removeprefix("prun/")
    return short in (label.unit, label.name) or (label.run == NAMED and name == f"{NAMED}/{label.unit}")


def only_captured(chosen: Sequence[PinnedCommit]) -> tuple[PinnedCommit, ...]:
    """Of all that is kept of one unit, choose its captured work, if there is any."""
    captured = tuple(one for one in chosen if one.label.kind == "captured")
    # Of several the user has to choose.
    return captured if len(captured) == 1 else tuple(chosen)


def restore_branches(
    repository: Repository, chosen: Sequence[PinnedCommit], *, to: str | None = None
) -> tuple[Restored, ...]:
    """Make a branch for each pinned commit (``to``: its name, for one); none that exists is ever moved."""
    if to is not None and len({one.commit for one in chosen}) != 1:
        refs = ", ".join(one.ref for one in chosen[:6])
        raise OperationRefused(f"{len(chosen)} things are meant, but one branch is named", f"name one of them: {refs}")
    if to is not None:
        require_branch_name(repository.git, to, "rescue/reports")
        require_no_tag(repository.git, to)
    done, seen = [], set[tuple[str, str]]()
    for one in chosen[:1] if to is not None else chosen:
        _require_whole(one)
        name = to or branch_for(one.label, one.commit)
        if (name, one.commit) in seen:
            continue
        restored = _make_branch(repository, one, name, exact=to is not None)
        seen.add((name, one.commit))
        done.append(restored)
    return tuple(done)


def _make_branch(repository: Repository, one: PinnedCommit, name: str, *, exact: bool) -> Restored:
    repo = open_repository(repository.common)
    for number in range(1, 1000):
        own = name if number == 1 else f"{name}-{number}"
        at = read_ref(repo, f"refs/heads/{own}")
        if at == one.commit:
            return Restored(ref=one.ref, commit=one.commit, branch=own, new=False)
        if at is None:
            try:
                move_ref(repo, f"refs/heads/{own}", one.commit, ZERO, f"prun: rescued from {one.ref}")
            except PrunError as problem:
                # A few names fail because a longer one exists; a disk that is full fails them all.
                if exact or number > 20:
                    raise OperationRefused(
                        f"the branch {own} cannot be made: {problem.message}", problem.hint
                    ) from None
                # Another name begins with this one.
                continue
            return Restored(ref=one.ref, commit=one.commit, branch=own)
        if exact:
            raise OperationRefused(f"the branch {own} exists already, at {at[:10]}", "name another one")
    raise OperationRefused(f"a thousand branches {name}-N exist already", "delete some of them")


def _require_whole(one: PinnedCommit) -> None:
    if not one.whole:
        raise PrunError(f"{one.ref} cannot be brought back: {one.subject}", "git fsck tells what is missing")


def restore_files(repository: Repository, chosen: Sequence[PinnedCommit], folder: Path) -> tuple[Restored, ...]:
    """Write the files of pinned commits into a new folder; with several, each into one of its own in there."""
    for one in chosen:
        _require_whole(one)
    if os.path.lexists(folder):
        raise OperationRefused(f"{folder} is already there", "name a folder that is not")
    if not folder.parent.is_dir():
        raise OperationRefused(f"{folder.parent} is no folder", "make it first")
    real = Path(os.path.realpath(folder.parent)) / folder.name
    for row in read_checkouts(repository.git):
        git_dir = os.path.realpath(repository.common)
        if row.bare or str(real).startswith((f"{git_dir}/",)):
            continue
        if str(real).startswith(f"{os.path.realpath(row.path)}/"):
            raise OperationRefused(f"{folder} lies in the checkout {row.path}", "name a folder outside of it")
    # Beside its place, so that a rename shows the whole folder or nothing.
    aside = real.with_name(f".{real.name}.prun-{os.urandom(4).hex()}")
    aside.mkdir(mode=0o755)
    identity = folder_identity(aside)
    assert identity is not None
    done = []
    try:
        for one in chosen:
            name = branch_for(one.label, one.commit).removeprefix("rescue/").replace("/", "+")
            place = aside / name if len(chosen) > 1 else aside
            place.mkdir(exist_ok=True)
            _check_out(repository, one.commit, place)
            shown = folder / name if len(chosen) > 1 else folder
            done.append(Restored(ref=one.ref, commit=one.commit, folder=str(shown)))
        os.rename(aside, real)
    except BaseException:
        remove_tree(aside, identity)
        raise
    return tuple(done)


def _check_out(repository: Repository, commit: Oid, place: Path) -> None:
    """Write the files of a commit: no hook runs, nothing of the user's checkout is touched."""
    # Not inside of the folder, where it would be one more file of the commit.
    index = place.with_name(f".{place.name}.index-{os.urandom(4).hex()}")
    env = {"GIT_DIR": str(repository.common), "GIT_WORK_TREE": str(place), "GIT_INDEX_FILE": str(index)}
    git = Git(cwd=place, env=env, config=(*QUIET, "core.bare=false", "core.sparseCheckout=false"), neutral=True)
    try:
        git.run("read-tree", commit)
        git.run("checkout-index", "--all", "--quiet")
    except (GitFailed, GitTimeout) as problem:
        raise PrunError(f"the files of {commit[:10]} cannot be written: {problem.message}") from None
    finally:
        index.unlink(missing_ok=True)
        # Left behind where git was killed.
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
