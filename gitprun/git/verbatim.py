"""Files that hold what is recorded byte for byte, whatever git says of them: filters and line ends make it err."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from gitprun.system.files import read_plain

LARGEST = 50_000_000


def is_verbatim(path: Path, oid: str) -> bool:
    """Tell whether a file (not a link) holds exactly the bytes of a blob; False for what is too large to look at."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return False
    raw = read_plain(path, LARGEST)
    if raw is None or len(raw) != found.st_size:
        return False
    return hashlib.new("sha1" if len(oid) == 40 else "sha256", b"blob %d\0" % len(raw) + raw).hexdigest() == oid
