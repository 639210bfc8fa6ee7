"""New files that only ignore rules of the worker's own hide, and the rules of the base laid out apart from them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pygit2

from gitprun.capture.classification import included
from gitprun.capture.context import TREE, CaptureContext
from gitprun.capture.screen import BUILD_FOLDERS, PRODUCTS, LeftOut, build_folder, within
from gitprun.capture.tree_scan import TreeScan, size_of
from gitprun.git.command import Git
from gitprun.system.files import read_plain

# In seconds: git walks the whole workspace, node_modules and all, on whatever disk it lies.
TIMEOUT = 300.0
# A few kilobytes as a rule; what is larger counts as changed, and so as a rule of the worker's own.
MAX_RULES = 1_000_000
# Patterns that hide whatever there is: written by tools and by mistake, never to say what a product is.
_EVERYTHING = frozenset({b"*", b"/*", b"**", b"/**", b"**/*", b"*.*", b".", b"./*"})


def read_ignore_rules(
    site: CaptureContext, scan: TreeScan, shown: Iterable[bytes], excludes: Sequence[str | bytes]
) -> tuple[list[bytes], list[LeftOut]]:
    """List hidden new files that are work all the same, and those that are not; git is kept out of ``excludes``.

    Work is what a rule for everything hides, and what somebody asked for. What a narrower rule hides is left out and
    said, since both a generated folder and a mistake look like that; a new folder that hides itself is a tool's.
    """
    changed = [name for name in scan.ignore_files if _differs(site, os.fsdecode(name))]
    # The listing without any rules walks node_modules and all, so it is for workers that changed some.
    if not changed:
        return [], []
    listing = site.git.run("ls-files", "-z", "--others", *excludes, timeout=TIMEOUT).fields
    seen = set(shown)
    names = [name for name in listing if name not in seen and not name.endswith(b"/")]
    shy = [folder for name in changed if (folder := _hides_itself(site, name))]
    work: list[bytes] = []
    candidates: list[bytes] = []
    left_out: list[LeftOut] = []
    for name in _not_ignored_by_base(site, names) if names else []:
        if included(site, os.fsdecode(name)):
            work.append(name)
            continue
        folder = next((f for f in shy if within(os.fsdecode(name), (f,))), "")
        if not folder:
            candidates.append(name)
        elif build_folder(os.fsdecode(name)) is None:
            size = size_of(site.workspace.path, os.fsdecode(name))
            left_out.append(LeftOut(f"{folder}/", "build output (the folder hides itself)", size))
    for name, rule in _rules(site, candidates) if candidates else []:
        text = os.fsdecode(name)
        if rule is None or rule[1] in _EVERYTHING or build_folder(text) is not None:
            work.append(name)
            continue
        place = _collapse(text, os.path.dirname(rule[0]))
        product = place.rstrip("/").rpartition("/")[2] in PRODUCTS - BUILD_FOLDERS
        reason = f"hidden by a rule of the worker's own ({rule[0]}: {os.fsdecode(rule[1])})"
        why = f"build output, {reason}" if product else reason
        left_out.append(LeftOut(place, why, size_of(site.workspace.path, text)))
    return work, left_out


def _differs(site: CaptureContext, text: str) -> bool:
    """Check whether an ignore file is not the one of the base."""
    entry = site.base_blob(text)
    return entry is None or read_plain(site.workspace.path / text, MAX_RULES) != entry


def _hides_itself(site: CaptureContext, name: bytes) -> str:
    """Return the new folder that an ignore file hides whole; an empty text if it does not."""
    folder = os.path.dirname(os.fsdecode(name))
    if not folder or site.base_mode(folder) == TREE:
        return ""
    rules = read_plain(site.workspace.path / os.fsdecode(name), MAX_RULES) or b""
    # So pytest, mypy and virtualenv hide the folders they make.
    lines = {row.strip() for row in rules.splitlines() if row.strip() and not row.startswith(b"#")}
    return folder if lines == {b"*"} else ""


def _collapse(path: str, above: str) -> str:
    """Return what lies directly below the folder of an ignore file on the way to a path."""
    rest = path[len(above) + 1 :] if above else path
    first, slash, _ = rest.partition("/")
    return (f"{above}/" if above else "") + first + slash


def _not_ignored_by_base(site: CaptureContext, names: list[bytes]) -> list[bytes]:
    """Ask git which paths the base's ignore rules (and the user's own) do not hide."""
    with lay_out_rules(site, ".gitignore") as judge:
        listing = b"".join(name + b"\0" for name in names)
        ignored = set(judge.run("check-ignore", "--no-index", "-z", "--stdin", stdin=listing, ok=(0, 1)).fields)
    return [name for name in names if name not in ignored]


def _rules(site: CaptureContext, names: list[bytes]) -> list[tuple[bytes, tuple[str, bytes] | None]]:
    """Ask git which rule hides each path now: the file it is in, and its pattern."""
    listing = b"".join(name + b"\0" for name in names)
    words = ("check-ignore", "--no-index", "--verbose", "--non-matching", "-z", "--stdin")
    fields = site.git.run(*words, stdin=listing, ok=(0, 1), timeout=TIMEOUT).fields
    return [
        (name, (os.fsdecode(source), pattern) if source and not pattern.startswith(b"!") else None)
        for source, pattern, name in zip(fields[::4], fields[2::4], fields[3::4], strict=True)
    ]


@contextmanager
def lay_out_rules(site: CaptureContext, kind: str) -> Iterator[Git]:
    """Yield git whose work tree holds nothing but the base's files called ``kind`` (``.gitignore``, say)."""
    with tempfile.TemporaryDirectory(prefix="prun-rules-") as folder:
        wanted = os.fsencode(kind)
        for row in site.git.run("ls-tree", "-r", "-z", "--full-tree", site.base).fields:
            head, _, name = row.partition(b"\t")
            if os.path.basename(name) == wanted and head.startswith(b"100"):
                target = os.path.join(os.fsencode(folder), name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as rules:
                    rules.write(site.repo[head.split()[2].decode()].peel(pygit2.Blob).data)
        env = {key: value for key, value in site.git.env.items() if key != "GIT_INDEX_FILE"}
        # An index that is not there is empty: what only it knows counts for nothing here.
        env |= {"GIT_WORK_TREE": folder, "GIT_INDEX_FILE": os.path.join(folder, ".git-index")}
        yield replace(site.git, cwd=Path(folder), env=env)
