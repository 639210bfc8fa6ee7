"""The base's own files of rules, laid out apart: what a worker wrote into the same files says nothing there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pygit2

from gitprun.capture.context import CaptureContext
from gitprun.git.command import Git


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
