"""Three versions of a file in one text, with markers where they are in conflict, as git writes it for people."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from gitprun.git.command import Git

LABELS = ("main side", "base", "unit side")


def read_style(git: Git) -> str:
    """Return how the user has git write conflicts; where nothing is said, git says ``merge``."""
    return git.run("config", "--get", "merge.conflictStyle", ok=(0, 1)).text


def mark_conflict(main: bytes, base: bytes, unit: bytes, style: str, labels: Sequence[str] = LABELS) -> bytes | None:
    """Write three versions as one text; None where git cannot (binary files)."""
    with tempfile.TemporaryDirectory(prefix="prun-marked-") as folder:
        for name, text in (("main", main), ("base", base), ("unit", unit)):
            Path(folder, name).write_bytes(text)
        # "merge" is no option of git's: it is what git does without one.
        options = () if style in ("", "merge") else (f"--{style}",)
        # Names of the temporary files would stand in the markers otherwise.
        named = [word for label in labels for word in ("-L", label)]
        # merge-file's exit code is the number of conflicts, up to 127; from 128 on git could not do it.
        answer = Git(cwd=Path(folder), neutral=True).run(
            "merge-file", "-p", *options, *named, "main", "base", "unit", ok=tuple(range(256))
        )
    return answer.out if answer.code < 128 else None
