"""Reports of bugs of ours: a file to be sent to us, told in one line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gitprun import __version__


def write_bug_report(found: BaseException, folder: Path | None = None, about: str = "") -> str:
    """Keep a traceback in a new file (in ``folder``, or with the temporary files) and give the line that says where."""
    import tempfile
    import traceback

    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix="git-prun-bug-", suffix=".txt", dir=folder)
        # A traceback may quote a worker's bytes, and is to be read whatever they are.
        with os.fdopen(descriptor, "w", errors="backslashreplace") as report:
            report.write(f"git prun {__version__}, Python {sys.version}\n{sys.argv}\n{about}\n")
            traceback.print_exception(found, file=report)
        return f"the report is in {name}; nothing was removed"
    except OSError as problem:
        return f"no report could be written ({problem.strerror}); nothing was removed"
