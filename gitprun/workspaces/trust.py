"""Which setup commands a user lets run: they come from a file of the repository, so he is asked once for each list.

What he said lies in his own state folder (``$XDG_STATE_HOME/git-prun/trust.json``), under a hash of the repository's
place and the very commands: another repository, or one changed character, and he is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gitprun.errors import Refused
from gitprun.git.repo import Repository
from gitprun.system.files import locked, read_plain, write_whole

MAX_FILE = 16_000_000
FORMAT = 1


def trust_file(environment: Mapping[str, str]) -> Path:
    """Name the file that remembers what this user trusts."""
    state = environment.get("XDG_STATE_HOME", "")
    # A relative path is to be passed over, says the XDG specification.
    home = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return home / "git-prun" / "trust.json"


def fingerprint(repository: Repository, commands: Sequence[str]) -> str:
    """Hash a list of commands together with the place of its repository."""
    place = os.path.realpath(repository.common)
    return hashlib.sha256(json.dumps([place, *commands]).encode()).hexdigest()


def is_trusted(repository: Repository, commands: Sequence[str]) -> bool:
    """Tell whether the user has let exactly these commands run in this repository (no command needs no trust)."""
    return not commands or fingerprint(repository, commands) in _read(trust_file(os.environ))


def record_trust(repository: Repository, commands: Sequence[str]) -> None:
    """Remember that the user lets these commands run."""
    path = trust_file(os.environ)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(path.with_name("trust.lock"), doing="writing what is trusted"):
        known = _read(path)
        place = os.path.realpath(repository.common)
        row = {"repository": place, "commands": list(commands), "time": round(time.time())}
        record = {"v": FORMAT, "trusted": {**known, fingerprint(repository, commands): row}}
        write_whole(path, json.dumps(record, indent=1).encode() + b"\n", mode=0o600)


def require_trusted(repository: Repository, commands: Sequence[str]) -> None:
    """Refuse to go on while commands that would run are not trusted."""
    if not is_trusted(repository, commands):
        raise Refused(
            f"prun.toml wants to run commands in every workspace, and you have not let it yet: {'; '.join(commands)}",
            "read them; --yes lets them run, now and from then on",
        )


def _read(path: Path) -> dict[str, Any]:
    """Read what is trusted; a file that cannot be read trusts nothing."""
    try:
        record = json.loads(read_plain(path, MAX_FILE) or b"{}")
    except (ValueError, RecursionError):
        return {}
    found = record.get("trusted") if isinstance(record, dict) and record.get("v") == FORMAT else None
    return found if isinstance(found, dict) else {}
