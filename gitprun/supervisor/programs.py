"""Which codex is meant: the configured one, else the one on PATH, else the one that pip installed with the extra."""

from __future__ import annotations

import importlib
import os
import shutil
from dataclasses import dataclass, replace
from typing import Literal

from gitprun.model.units import ExecutorSettings

Source = Literal["settings", "path", "extra"]
# The module of ``pip install 'gitprun[codex]'``; it holds the program and a function that says where.
EXTRA = "codex_cli_bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that is there, by its whole path, and who named it."""

    path: str
    source: Source


def find_program(name: str, configured: str | None, path: str | None) -> Program | None:
    """Return the program of the executor ``name``; ``path`` is the PATH of its workers (None: none is set).

    What is configured is never replaced by something else. Only codex comes with an extra of pip.
    """
    # None is a PATH that is not set: then programs are looked for where the system keeps them.
    found = shutil.which(configured or name, path=path or os.defpath)
    if found is not None:
        return Program(path=found, source="settings" if configured else "path")
    bundled = _bundled_codex() if name == "codex" and not configured else None
    return Program(path=bundled, source="extra") if bundled else None


def with_program(name: str, settings: ExecutorSettings, path: str | None) -> ExecutorSettings:
    """Return the settings of an executor with the program of the extra where that is the one to use."""
    found = find_program(name, settings.program, dict(settings.env).get("PATH", path))
    return replace(settings, program=found.path) if found is not None and found.source == "extra" else settings


def _bundled_codex() -> str | None:
    """Return the codex of the extra; None where that is not installed, or has none for this machine."""
    try:
        path = str(importlib.import_module(EXTRA).bundled_codex_path())
    except (ImportError, OSError, AttributeError):
        return None
    return path if os.access(path, os.X_OK) else None
