"""What of ``prun.toml`` a user lets count: it is a file of the repository, so each key that names a program is asked.

What was answered lies in the user's own state folder (``$XDG_STATE_HOME/git-prun/trust.json``), under a hash of the
repository's place, the key and its value: another repository, or one changed character, is asked anew. Values are
not kept, they may be credentials.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.model.errors import PrunError
from gitprun.model.powers import Power
from gitprun.system.files import locked, read_plain, write_whole

# Scripts that setup commands call; what is larger is no script, and would be hashed at every start.
MAX_FILE = 16_000_000
# Of the record of approvals: another number is of another version of prun, and counts as none.
FORMAT = 1
# One line of an error names no more of a value.
MOST_SHOWN = 200
NOT_SHOWN = "(looks like a credential, not shown)"
# Lists of commands were asked for before all other keys were, under a hash of their own.
_FORMER = ("setup", "after")


class Untrusted(PrunError):
    """Something of ``prun.toml`` counts only once the user let it, and the command needs it."""

    def __init__(self, powers: Sequence[Power]) -> None:
        said = (show_power(power) for power in powers)
        shown = "; ".join(one if len(one) <= MOST_SHOWN else f"{one[:MOST_SHOWN]} ..." for one in said)
        super().__init__(
            f"prun.toml says what you have not approved yet: {shown}", "read it; git prun trust --yes approves it"
        )
        self.powers = tuple(powers)


def trust_file(environment: Mapping[str, str]) -> Path:
    """Return the file that remembers what this user trusts."""
    state = environment.get("XDG_STATE_HOME", "")
    # A relative path is to be passed over, says the XDG specification.
    home = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return home / "git-prun" / "trust.json"


def fingerprint(repository: Repository, power: Power) -> str:
    """Return the hash of what a key says, together with the place of its repository.

    A program that is a file of the checkout is the repository's too: its content counts.
    """
    content = _content(repository, power)
    return _digest([_place(repository), {power.key: power.value}, *([content] if content else [])])


def untrusted(repository: Repository, powers: Iterable[Power]) -> tuple[Power, ...]:
    """Return those that the user has not let count in this repository."""
    asked = tuple(dict.fromkeys(power for power in powers if power.asked))
    if not asked:
        return ()
    known = _read(trust_file(os.environ))
    return tuple(power for power in asked if not _answers(repository, power) & known.keys())


def record_trust(repository: Repository, powers: Iterable[Power]) -> None:
    """Remember that the user lets these count."""
    path, place, now = trust_file(os.environ), _place(repository), round(time.time())
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(path.with_name("trust.lock"), doing="writing what is trusted"):
        # Only fingerprints are kept: a value may hold a token, and this file lies beside others in the home folder.
        rows = {
            fingerprint(repository, power): {"repository": place, "key": power.key, "time": now} for power in powers
        }
        record = {"v": FORMAT, "trusted": {**_read(path), **rows}}
        write_whole(path, json.dumps(record, indent=1).encode() + b"\n", mode=0o600)


def require_trusted(repository: Repository, powers: Iterable[Power]) -> None:
    """Raise Untrusted while something that is needed was not let by the user."""
    left = untrusted(repository, powers)
    if left:
        raise Untrusted(left)


def show_power(power: Power) -> str:
    """Return one line that tells what a key says, as it stands in the file, but for what looks like a credential."""
    if not power.value:
        return f"{power.key} (removed)"
    value = json.loads(power.value)
    if power.name == "env" and isinstance(value, dict):
        rows = ", ".join(f"{name} = {_shown(name, text)}" for name, text in value.items())
        return f"{power.key} = {{ {rows} }}"
    return f"{power.key} = {_shown('', value)}"


def _shown(name: str, value: object) -> str:
    from gitprun.model.environment import is_credential, names_secret
    from gitprun.model.secrets import find_secret

    text = json.dumps(value, ensure_ascii=False)
    # Where a program finds its settings has to be seen: the name alone hides nothing but what says that it is secret.
    if names_secret(name) or is_credential("", text) or find_secret(text.encode("utf-8", "surrogatepass")):
        return NOT_SHOWN
    return text


def _answers(repository: Repository, power: Power) -> set[str]:
    """Return the hashes under which the user may have said so."""
    hashes = {fingerprint(repository, power)}
    commands = json.loads(power.value) if power.name in _FORMER else None
    if isinstance(commands, list):
        # Approved under an older version: nobody is asked twice for the same words.
        hashes.add(_digest([_place(repository), *commands]))
    return hashes


def _content(repository: Repository, power: Power) -> str:
    """Return the hash of the file that a program's name leads to, if that lies in the checkout; empty if not."""
    named, top = json.loads(power.value) if power.name == "program" else None, repository.top
    # A name without a slash is looked for on PATH, which is the user's own business.
    if top is None or not isinstance(named, str) or os.sep not in named:
        return ""
    path = Path(os.path.realpath(top / named))
    raw = read_plain(path, MAX_FILE) if Path(os.path.realpath(top)) in path.parents else None
    return "" if raw is None else hashlib.sha256(raw).hexdigest()


def _place(repository: Repository) -> str:
    return os.path.realpath(repository.common)


def _digest(said: object) -> str:
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _read(path: Path) -> dict[str, object]:
    """Read what is trusted; a file that cannot be read trusts nothing."""
    try:
        record = json.loads(read_plain(path, MAX_FILE) or b"{}")
    except (ValueError, RecursionError):
        return {}
    found = record.get("trusted") if isinstance(record, dict) and record.get("v") == FORMAT else None
    return found if isinstance(found, dict) else {}
