"""Keep alive what a clone starts with: it borrows objects, and the user may delete branches and collect garbage.

One commit has all branches as its parents that the base does not hold already, and as its tree whatever else refs
name. Annotated tags, of which a commit can hold none, are small and given to each clone as a pack of its own.
Remote-tracking refs can be many thousands: a chain of commits holds them, made once for as long as they do not move.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.model.errors import GitFailed
from gitprun.model.names import ZERO, Oid, base_tips_ref
from gitprun.system.files import locked, sync_all
from gitprun.workspaces.clone import CloneSource

_MODES = {"blob": "100644", "tree": "040000"}
_TAGS = "tags-"
_EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
# Other runs may pin at the same moment; each try is one compare-and-swap.
_TRIES = 20
# A tag of a tag is rare, a chain of more than a few a trap.
MOST_TAGS_DEEP = 16
# So many parents a commit has at most: "git log --graph --all" draws a column for each.
_WIDTH = 32
# Git keeps fewer objects than this as files of their own, too (fetch.unpackLimit).
_FEW = 100


def pin_source(repository: Repository, run: str, source: CloneSource, base: Oid) -> CloneSource:
    """Pin everything the clones of a run start with beside ``base``, once; returns the source with its tags packed.

    ``run`` is the id of a run, or ``named/<name>`` for a workspace outside of runs.
    """
    ends = {end or own for _, own, end in source.refs}
    tags = {own for _, own, end in source.refs if end}
    # The pin of the base holds all there is already; most repositories with one branch end here.
    if ends <= {base} and source.remotes.oids <= {base} and not tags:
        return source
    git = Git(cwd=repository.common, config=("core.fsync=all",), neutral=True)
    rows = "".join(f"{row}\n" for row in sorted({*ends, *tags}))
    listing = hashlib.sha1(source.remotes.text).hexdigest()
    digest = hashlib.sha1((rows + listing).encode()).hexdigest()
    place = repository.state / "runs" / run / f"{_TAGS}{digest[:12]}"
    with locked(repository.state / "locks" / f"pins-{run.replace('/', '+')}.lock", doing="pinning what clones need"):
        before = _read_pin(git, base_tips_ref(run))
        if digest not in before:
            # The pin of a run that began with the same refs leads to all of them already.
            chain = _known_chain(git, listing)
            remote = _NOTHING if chain else _sort_remote(git, source.remotes.oids)
            tags |= remote.tags
            if tags:
                _pack_tags(git, place, sorted(tags))
            if len(remote.commits) > _WIDTH:
                chain = f"{listing} {_make_chain(git, sorted(remote.commits))}"
                # One that does not hold everything is no other run's.
                chain = f"part-of-{chain}" if remote.tags or remote.others else chain
                remote = replace(remote, commits=frozenset())
            old = git.run("rev-parse", "--verify", base_tips_ref(run)).text if before else ""
            _pin_ends(git, base_tips_ref(run), source, base, _Pin(remote, digest, chain, old))
        return replace(source, tags=next(place.glob("pack-*.pack"), None))


def unpin_source(repository: Repository, run: str) -> None:
    """Unpin what the clones of a run started with; only when none of them is left."""
    git = Git(cwd=repository.common, neutral=True)
    if git.run("rev-parse", "--verify", "--quiet", base_tips_ref(run), ok=(0, 1)).code == 0:
        _update(git, "-d", base_tips_ref(run))
    for folder in (repository.state / "runs" / run).glob(f"*{_TAGS}*"):
        shutil.rmtree(folder, ignore_errors=True)


def started_with(repository: Repository, run: str) -> frozenset[str]:
    """Return the tips the clones of a run started with that its pin holds; the user's refs may have moved since."""
    git = Git(cwd=repository.common, neutral=True)
    found: set[str] = set()
    asked = base_tips_ref(run)
    while asked:
        head, _, said = _read_pin(git, asked).partition("\n\n")
        found.update(row[7:] for row in head.split("\n") if row.startswith("parent "))
        facts = dict(row.split(" ", 1) for row in said.split("\n") if row.startswith(("before ", "remotes ")))
        if "remotes" in facts:
            _, top, length = facts["remotes"].split(" ")
            words = ("rev-list", "--first-parent", "--parents", f"--max-count={length}", top)
            found.update(git.run(*words).text.split())
        asked = facts.get("before", "")
    return frozenset(found)


def _read_pin(git: Git, name: str) -> str:
    return git.run("cat-file", "commit", name, ok=(0, 128)).text


@dataclass(frozen=True, slots=True)
class _Kinds:
    """What remote-tracking refs name: commits (what tags mean in the end, too), tags, and whatever else there is."""

    commits: frozenset[str]
    tags: frozenset[str]
    others: dict[str, str]


_NOTHING = _Kinds(frozenset(), frozenset(), {})


def _sort_remote(git: Git, oids: frozenset[str]) -> _Kinds:
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    # As a rule they are thousands of commits and nothing else.
    if git.run("cat-file", "--buffer", "--batch-check=%(objecttype)", stdin=asked).out == b"commit\n" * len(oids):
        return _Kinds(oids, frozenset(), {})
    said = _ask_kinds(git, oids)
    tags = frozenset(oid for oid, kind in said.items() if kind == "tag")
    ends = {oid: kind for oid, kind in said.items() if kind != "tag"}
    ends |= _ask_kinds(git, [f"{oid}^{{}}" for oid in tags])
    commits = frozenset(oid for oid, kind in ends.items() if kind == "commit")
    return _Kinds(commits, tags, {oid: kind for oid, kind in ends.items() if kind in _MODES})


def _ask_kinds(git: Git, names: Iterable[str]) -> dict[str, str]:
    asked = "".join(f"{name}\n" for name in names).encode()
    said = git.run("cat-file", "--buffer", "--batch-check=%(objectname) %(objecttype)", stdin=asked).text
    return dict(line.split(" ", 1) for line in said.split("\n") if line)


@dataclass(frozen=True, slots=True)
class _Pin:
    """One pin to be made: what the remote-tracking refs name, the digest of all that is pinned, and what it follows.

    ``chain`` is the chain of commits that hold the remote-tracking branches (empty: none), ``old`` the pin before it.
    """

    remote: _Kinds
    digest: str
    chain: str
    old: str


def _pin_ends(git: Git, ref: str, source: CloneSource, base: Oid, pin: _Pin) -> None:
    remote, chain, old = pin.remote, pin.chain, pin.old
    ends = {end or own for _, own, end in source.refs}
    others = {oid: kind for oid, kind in source.others if oid in ends} | remote.others
    left = ends - others.keys() - {base}
    commits = sorted((left - _merged(git, source, base) if left else left) | (remote.commits - {base}))
    if not commits and not others and not chain:
        return
    tree = f"{base}^{{tree}}"
    if others:
        rows = "".join(f"{_MODES[kind]} {kind} {oid}\t{oid}\n" for oid, kind in sorted(others.items()))
        tree = git.run("mktree", stdin=rows.encode()).text
    # The pin before it stays reachable: clones of earlier attempts still borrow what it holds.
    parents = [*([old] if old else []), *commits]
    who = f"git prun <prun@localhost> {int(time.time())} +0000"
    said = f"{pin.digest}\n"
    if old:
        said += f"before {old}\n"
    if chain:
        parents.append(chain.split(" ")[1])
        said += f"remotes {chain}\n"
    head = [f"tree {git.run('rev-parse', tree).text}", *(f"parent {oid}" for oid in parents)]
    text = f"keeps what clones of {ref.partition('tips/')[2]} started with\n\n{said}"
    body = "\n".join([*head, f"author {who}", f"committer {who}", "", text])
    made = git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=body.encode()).text
    _update(git, "-m", "prun: what clones start with", ref, made, old or ZERO)


def _known_chain(git: Git, listing: str) -> str:
    """Find what the pin of another run says of a chain for the same refs; an empty text if none does."""
    known = git.run("for-each-ref", "--format=%(contents)", base_tips_ref("").rstrip("/")).text.split("\n")
    return next((line for line in known if line.startswith(f"remotes {listing} ")), "").partition(" ")[2]


def _make_chain(git: Git, commits: Sequence[str]) -> str:
    """Make a chain of commits that hold others; returns its last commit and its length."""
    who, bodies, last = f"git prun <prun@localhost> {int(time.time())} +0000", [b""], ""
    for at in range(0, len(commits), _WIDTH):
        parents = "".join(f"parent {oid}\n" for oid in filter(None, (last, *commits[at : at + _WIDTH])))
        text = f"tree {_EMPTY}\n{parents}author {who}\ncommitter {who}\n\nkeeps remote-tracking branches\n"
        bodies.append(text.encode())
        last = hashlib.sha1(b"commit %d\0" % len(bodies[-1]) + bodies[-1]).hexdigest()
    # A pack for a handful of objects would stay for good; so many loose ones would slow the user's own git down.
    words = ("unpack-objects", "-q") if len(bodies) < _FEW else ("index-pack", "--stdin")
    git.run(*words, stdin=_pack(bodies))
    return f"{last} {len(bodies) - 1}"


def _pack(bodies: Sequence[bytes]) -> bytes:
    """Write a pack of one tree and of commits."""
    parts = [b"PACK" + (2).to_bytes(4, "big") + len(bodies).to_bytes(4, "big")]
    for number, body in enumerate(bodies):
        # Four bits of the length stand in the first byte, beside the kind of the object; then seven a byte.
        byte, left = (0x10 if number else 0x20) | len(body) & 15, len(body) >> 4
        head = bytearray()
        while left:
            head.append(byte | 0x80)
            byte, left = left & 0x7F, left >> 7
        parts += [bytes([*head, byte]), zlib.compress(body, 0)]
    whole = b"".join(parts)
    return whole + hashlib.sha1(whole).digest()


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


def _pack_tags(git: Git, target: Path, tags: list[str]) -> None:
    """Pack the tag objects, with those they point to, into a folder that is there whole or not at all."""
    # Made by an earlier attempt of the run, whole: it was renamed into its place.
    if target.is_dir():
        return
    aside = target.with_name(f".{_TAGS}{os.urandom(6).hex()}")
    aside.mkdir(parents=True)
    names = "".join(f"{oid}\n" for oid in _with_inner(git, tags)).encode()
    git.run("pack-objects", "--quiet", str(aside / "pack"), stdin=names)
    sync_all(map(str, aside.iterdir()))
    os.rename(aside, target)


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
