"""Who else may use the files prun makes in a repository: ``core.sharedRepository``, as git itself reads it.

While a shared repository is used, the umask of this process lets its group in. Programs that are started have the
user's own umask: git honours the setting by itself, and nobody else's files are anybody's business.
"""

from __future__ import annotations

import os
from pathlib import Path

# The bits git adds for a group, and for everybody.
_GROUP, _EVERYBODY = 0o660, 0o664
_WORDS = {"umask": 0, "group": _GROUP, "all": _EVERYBODY, "world": _EVERYBODY, "everybody": _EVERYBODY}
_NUMBERS = {0: 0, 1: _GROUP, 2: _EVERYBODY}
_BOOLEANS = {"true": _GROUP, "yes": _GROUP, "on": _GROUP, "": _GROUP, "false": 0, "no": 0, "off": 0}

# By folder, with a slash at its end: one process may work in several repositories.
_shared: dict[str, int] = {}
# Our own umask; to ask for it changes it for a moment, so that is done once.
_usual = -1
# Whether the umask is another than that now.
_let_in = False


def parse_sharing(value: str) -> int:
    """Read a value of ``core.sharedRepository``: bits to add, below zero bits to have instead, 0 for none.

    Raises ValueError for what git refuses.
    """
    word = value.strip().lower()
    known = _WORDS.get(word, _BOOLEANS.get(word))
    if known is not None:
        return known
    if not word.isdecimal():
        raise ValueError(f"core.sharedRepository = {value}: no word git knows")
    number = int(word, 8)
    # 0, 1 and 2 are old spellings of the words; larger numbers git reads as modes, in octal.
    if number in _NUMBERS:
        return _NUMBERS[number]
    if number & 0o600 != 0o600:
        raise ValueError(f"core.sharedRepository = {value}: its owner could not read and write")
    return -(number & 0o666)


def share(folder: Path, permission: int) -> None:
    """Have what this process makes below ``folder`` shared as ``permission`` says (0: as the umask says).

    The umask is the whole process's: it is touched only for a shared repository, and put back as soon as one that is
    not shared is opened, so that nobody is let into that.
    """
    global _let_in
    _shared.pop(f"{folder}/", None)
    if permission:
        _shared[f"{folder}/"] = permission
    if not permission and not _let_in:
        return
    usual, _let_in = usual_umask(), bool(permission)
    # Who may read a folder has to be able to enter it.
    bits = abs(permission) | (abs(permission) & 0o444) >> 2
    os.umask(0o777 & ~bits if permission < 0 else usual & ~bits)


def usual_umask() -> int:
    """Return the umask this process was started with."""
    global _usual
    if _usual < 0:
        # There is no way to read it but to set it; nothing else runs yet.
        _usual = os.umask(0o077)
        os.umask(_usual)
    return _usual


def shared_mode(path: Path, mode: int) -> int:
    """Return the mode for a file or folder that would have ``mode`` where nobody else is let in."""
    permission = next((bits for folder, bits in _shared.items() if str(path).startswith(folder)), 0)
    if not permission:
        return mode
    bits = abs(permission)
    # What its owner cannot write, an object say, is nobody's to write.
    if not mode & 0o200:
        bits &= ~0o222
    if mode & 0o100:
        bits |= (bits & 0o444) >> 2
    return (mode & ~0o777) | bits if permission < 0 else mode | bits


def make_private(path: Path) -> None:
    """Make a folder outside of the repository, and those above it, as the user's own umask says."""
    missing = [path]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        folder.mkdir(mode=0o777 & ~usual_umask(), exist_ok=True)
