"""Bring the commits a worker made in its clone into the user's repository: as one pack that git checks strictly."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

import pygit2

from gitprun.errors import GitFailed, GitTimeout
from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.names import Oid
from gitprun.system.files import read_plain

MAX_PACK = 2_000_000_000
TIMEOUT = 120.0
# So many tips are tried one by one when they cannot be taken together.
MOST_ALONE = 32


def import_tips(
    repository: Repository,
    repo: pygit2.Repository,
    git_dir: Path,
    tips: Mapping[str, Oid],
    base: Oid,
    alternates: bytes,
) -> tuple[dict[str, Oid], list[str]]:
    """Bring the objects of a clone's own commits into the user's repository; give the tips that are whole there.

    ``alternates`` is what prun wrote into the clone: if something else is there now, or objects lie behind links,
    nothing is taken.
    """
    missing = {name: oid for name, oid in tips.items() if oid not in repo}
    if not missing:
        return dict(tips), []
    objects = git_dir / "objects"
    if not _is_own(objects, alternates):
        taken = {name: oid for name, oid in tips.items() if name not in missing}
        return taken, ["the worker changed where its objects lie, so commits of its own were not taken"]
    notes = []
    try:
        there = _existing(repository, objects, missing.values())
        _carry(repository, objects, there, base)
    except (GitFailed, GitTimeout) as problem:
        notes += _carry_alone(repository, objects, missing, base, problem)
    for name, oid in missing.items():
        if oid not in repo and not notes and not name.startswith("lost/"):
            notes.append(f"the worker's {name} ({oid[:10]}) is not whole, so it was not taken over")
    return {name: oid for name, oid in tips.items() if oid in repo}, notes


def _carry_alone(
    repository: Repository, objects: Path, missing: Mapping[str, Oid], base: Oid, problem: GitFailed | GitTimeout
) -> list[str]:
    """Try tips one by one, since one that is broken spoils a pack."""
    if isinstance(problem, GitTimeout) or len(missing) > MOST_ALONE:
        return [f"the worker's own commits could not be taken over: {problem.message}"]
    notes = []
    for name, oid in missing.items():
        try:
            _carry(repository, objects, [oid], base)
        except (GitFailed, GitTimeout) as reason:
            notes.append(f"the worker's {name} ({oid[:10]}) could not be taken over: {reason.message}")
    return notes


def _is_own(objects: Path, alternates: bytes) -> bool:
    """Tell whether an object folder is plain files and folders, and refers to nothing but what prun wrote."""
    said = read_plain(objects / "info" / "alternates", 100_000)
    if said is None:
        if os.path.lexists(objects / "info" / "alternates"):
            return False
    elif said != alternates:
        return False
    if os.path.lexists(objects / "info" / "http-alternates"):
        return False
    queue = [os.fspath(objects)]
    while queue:
        folder = queue.pop()
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return False
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    queue.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    return False
    return True


def _sender(repository: Repository, objects: Path) -> Git:
    """Read the user's objects and the worker's, believing no index of commits or packs the worker wrote."""
    return Git(
        cwd=repository.common,
        env={"GIT_DIR": str(repository.common), "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects)},
        config=("core.commitGraph=false", "core.multiPackIndex=false", "pack.useBitmaps=false"),
        neutral=True,
    )


def _existing(repository: Repository, objects: Path, oids: Iterable[Oid]) -> list[Oid]:
    """Keep what exists and is a commit."""
    listing = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
    answer = _sender(repository, objects).run("cat-file", "--batch-check", stdin=listing, timeout=TIMEOUT)
    rows = [row.split(" ") for row in answer.text.splitlines()]
    return [Oid(row[0]) for row in rows if row[1:2] == ["commit"]]


def _carry(repository: Repository, objects: Path, oids: list[Oid], base: Oid) -> None:
    if not oids:
        return
    words = ("pack-objects", "--revs", "--thin", "--stdout", "--quiet")
    wanted = "".join(f"{oid}\n" for oid in oids) + f"^{base}\n"
    pack = _sender(repository, objects).run(*words, stdin=wanted.encode(), timeout=TIMEOUT)
    receiver = Git(
        cwd=repository.common, env={"GIT_DIR": str(repository.common)}, config=("core.fsync=all",), neutral=True
    )
    checks = ("--stdin", "--fix-thin", "--strict", "--fsck-objects", f"--max-input-size={MAX_PACK}")
    receiver.run("index-pack", *checks, stdin=pack.out, timeout=TIMEOUT)


def _quoted(path: Path) -> str:
    """Write a path for GIT_ALTERNATE_OBJECT_DIRECTORIES, whose separator a name may hold."""
    text = str(path)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if any(c in text for c in ':"\n') else text
