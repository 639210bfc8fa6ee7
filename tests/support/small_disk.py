"""Small disks that can be filled; only root can mount them."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def mounted(place: Path, size: str) -> Iterator[Path]:
    """Mount a new file system of a size such as ``8m`` on a folder; raises CalledProcessError where that cannot be."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of eight megabytes for one test."""
    if os.geteuid() != 0:
        pytest.skip("mounts a small file system")
    place = tmp_path / "disk"
    place.mkdir()
    with mounted(place, "8m"):
        yield place


def fill(place: Path) -> None:
    """Write into a file until the disk is full."""
    with open(place, "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 4096)
