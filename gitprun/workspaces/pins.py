"""Keep alive what a clone starts with: it borrows the user's objects, and he may delete branches and collect garbage.

One commit has all branches as its parents that the base does not hold already, and as its tree whatever else refs
name. Annotated tags, of which a commit can hold none, are small and given to each clone as a pack of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from gitprun.errors import GitFailed
from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.names import ZERO, Oid, base_tips_ref
from gitprun.system.files import locked, sync_all
from gitprun.workspaces.clone import CloneSource

_MODES = {"blob": "100644", "tree": "040000"}
_TAGS = "tags-"
_TRIES = 20
MOST_TAGS_DEEP = 16


def pin_source(repository: Repository, run: str, source: CloneSource, base: Oid) -> CloneSource:
    """Pin everything the clones of a run start with beside ``base``, once; give the source with its tags packed.

    ``run`` is the id of a run, or ``named/<name>`` for a workspace outside of runs.
    """
    ends = {end or own for _, own, end in source.refs}
    tags = sorted({own for _, own, end in source.refs if end})
    if ends <= {base} and not tags:
        return source
    git = Git(cwd=repository.common, config=("core.fsync=all",), neutral=True)
    folder = repository.state / "runs" / run
    digest = hashlib.sha1("".join(f"{row}\n" for row in sorted({*ends, *tags})).encode()).hexdigest()
    with locked(repository.state / "locks" / f"pins-{run.replace('/', '+')}.lock", doing="pinning what clones need"):
        if not ends <= {base}:
            _pin_ends(git, base_tips_ref(run), source, base, ends, digest)
        return replace(source, tags=_pack_tags(git, folder, tags, digest) if tags else None)


def unpin_source(repository: Repository, run: str) -> None:
    """Let go of what the clones of a run started with; only when none of them is left."""
    git = Git(cwd=repository.common, neutral=True)
    if git.run("rev-parse", "--verify", "--quiet", base_tips_ref(run), ok=(0, 1)).code == 0:
        _update(git, "-d", base_tips_ref(run))
    for folder in (repository.state / "runs" / run).glob(f"*{_TAGS}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _pin_ends(git: Git, ref: str, source: CloneSource, base: Oid, ends: set[str], digest: str) -> None:
    answer = git.run("cat-file", "commit", ref, ok=(0, 128))
    if digest in answer.text:
        return
    old = git.run("rev-parse", "--verify", "--quiet", ref, ok=(0, 1)).text
    others = {oid: kind for oid, kind in source.others if oid in ends}
    commits = sorted(ends - others.keys() - _merged(git, source, base) - {base})
    if not commits and not others:
        return
    tree = f"{base}^{{tree}}"
    if others:
        rows = "".join(f"{_MODES[kind]} {kind} {oid}\t{oid}\n" for oid, kind in sorted(others.items()))
        tree = git.run("mktree", stdin=rows.encode()).text
    parents = [*([old] if old else []), *commits]
    who = f"git prun <prun@localhost> {int(time.time())} +0000"
    head = [f"tree {git.run('rev-parse', tree).text}", *(f"parent {oid}" for oid in parents)]
    text = f"keeps what clones of {ref.partition('tips/')[2]} started with\n\n{digest}\n"
    body = "\n".join([*head, f"author {who}", f"committer {who}", "", text])
    made = git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=body.encode()).text
    _update(git, "-m", "prun: what clones start with", ref, made, old or ZERO)


def _update(git: Git, *words: str) -> None:
    """Have git update a ref; the folder it makes for that may be taken away by whoever removes the last ref in it."""
    for left in reversed(range(_TRIES)):
        try:
            git.run("update-ref", *words)
            return
        except GitFailed as problem:
            if "unable to create directory" not in problem.stderr or not left:
                raise


def _merged(git: Git, source: CloneSource, base: Oid) -> set[str]:
    """Find the tips the base holds anyway; where that cannot be told, none."""
    words = ("for-each-ref", "--format=%(objectname)", f"--merged={base}", "refs/heads", "refs/tags")
    try:
        held = set(git.run(*words).text.split("\n"))
    except GitFailed:
        return set()
    return {end or own for _, own, end in source.refs if own in held}


def _pack_tags(git: Git, folder: Path, tags: Iterable[str], digest: str) -> Path:
    """Pack the tag objects, with those they point to; give the pack."""
    target = folder / f"{_TAGS}{digest[:12]}"
    if not target.is_dir():
        aside = folder / f".{_TAGS}{os.urandom(6).hex()}"
        aside.mkdir(parents=True)
        names = "".join(f"{oid}\n" for oid in _with_inner(git, list(tags))).encode()
        git.run("pack-objects", "--quiet", str(aside / "pack"), stdin=names)
        sync_all(map(str, aside.iterdir()))
        os.rename(aside, target)
    return next(target.glob("pack-*.pack"))


def _with_inner(git: Git, tags: list[str]) -> list[str]:
    """Add the tags that tags point to."""
    found, queue = dict.fromkeys(tags), tags
    for _ in range(MOST_TAGS_DEEP):
        out = git.run("cat-file", "--batch", "--buffer", stdin="".join(f"{oid}\n" for oid in queue).encode()).out
        queue = []
        while out:
            head, _, rest = out.partition(b"\n")
            size = int(head.rsplit(b" ", 1)[1])
            first, second, _ = rest[:size].split(b"\n", 2)
            inner = first.removeprefix(b"object ").decode()
            if second == b"type tag" and inner not in found:
                found[inner] = None
                queue.append(inner)
            out = rest[size + 1 :]
        if not queue:
            break
    return list(found)
