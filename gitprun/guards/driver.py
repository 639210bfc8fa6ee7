"""The merge driver: with it git asks ``git prun merge-file`` about files of known kinds, in every merge it makes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitprun.git.command import Git, require_git
from gitprun.git.repo import Repository
from gitprun.model.errors import OperationRefused
from gitprun.system.files import read_plain, write_whole

State = Literal["absent", "installed", "edited", "other"]

NAME = "git prun: settle what can be proved, else as git merge-file"
KEYS = ("name", "driver", "recursive")
BEGIN = b"# >>> git prun (git prun hooks uninstall takes this out again; lines of yours below it win)\n"
END = b"# <<< git prun\n"
# Attributes are some lines; the largest published ones have a few thousand.
MOST = 4_000_000
# Before this version git passes %S, %X and %Y on as they stand.
LABELS_SINCE = (2, 44)
_MERGE = re.compile(r"[-!]?merge(?:=\S*)?")
_PLAIN = re.compile(r"[\w./@+-]*")


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver as it is now and as it would be written: settings of the repository, and lines of attributes.

    ``uncarried`` names the attribute files with choices of their own that ours would hide.
    """

    state: State
    attributes: Path
    settings: tuple[tuple[str, str], ...]
    block: bytes
    uncarried: tuple[str, ...] = ()


def probe_driver(repository: Repository) -> bool:
    """Check whether there is anything of the driver in a repository; ``read_driver`` tells what."""
    return bool(_split(read_plain(_attributes(repository), MOST) or b"")[1] or _known(repository))


def _attributes(repository: Repository) -> Path:
    return repository.common / "info" / "attributes"


def _known(repository: Repository) -> dict[str, str]:
    rows = _config(repository).run("config", "-z", "--get-regexp", r"^merge\.prun\.", ok=(0, 1)).fields
    return {key: value for key, _, value in (os.fsdecode(row).partition("\n") for row in rows)}


def read_driver(repository: Repository) -> Driver:
    """Return what is there of the driver in a repository, and what belongs there."""
    path = _attributes(repository)
    settings = _settings(require_git(repository.top or repository.common))
    carried, uncarried = _carried(repository)
    lines = [*(f"{_attribute_pattern(name)} merge=prun" for name in _patterns()), *carried]
    block = BEGIN + "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape") + END
    known, present = _known(repository), _split(read_plain(path, MOST) or b"")[1]
    if not present and not known:
        state: State = "absent"
    elif present == block and known == dict(settings):
        state = "installed"
    else:
        driver = known.get("merge.prun.driver", "")
        state = "other" if driver and "merge-file --path %P" not in driver else "edited"
    return Driver(state, path, settings, block, uncarried)


def install_driver(repository: Repository, driver: Driver, *, force: bool = False) -> None:
    """Write the settings and the lines; what is there of an earlier version is replaced."""
    if driver.state == "other" and not force:
        raise OperationRefused("merge.prun.driver is set to something that is not ours", "--force replaces it")
    driver.attributes.parent.mkdir(exist_ok=True)
    before, _, after = _split(read_plain(driver.attributes, MOST) or b"")
    # First the settings: attributes that name an unknown driver would do nothing, and the other way round too.
    for key, value in driver.settings:
        _config(repository).run("config", "--replace-all", key, value)
    write_whole(driver.attributes, driver.block + before + after, mode=0o666)


def uninstall_driver(repository: Repository, driver: Driver) -> bool:
    """Take out exactly what was put in, and tell whether there was anything; a driver that is not ours stays."""
    ours = driver.state in ("installed", "edited")
    for key, _ in driver.settings if ours else ():
        _config(repository).run("config", "--unset-all", key, ok=(0, 5))
    before, block, after = _split(read_plain(driver.attributes, MOST) or b"")
    if block and not before + after:
        driver.attributes.unlink()
    elif block:
        write_whole(driver.attributes, before + after, mode=0o666)
    return ours or bool(block)


def _config(repository: Repository) -> Git:
    """Return git for the configuration that all worktrees share."""
    return Git(cwd=repository.common, env={"GIT_DIR": str(repository.common)})


def _settings(version: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    names = "%X %S %Y" if version >= LABELS_SINCE else "ours base theirs"
    labels = " ".join(f"-L {name}" for name in names.split())
    if shutil.which("git-prun"):
        there, ours = "command -v git-prun >/dev/null", "git prun"
    else:
        python = shlex.quote(sys.executable).replace("%", "%%")
        there, ours = f"[ -x {python} ]", f"{python} -P -m gitprun"
    # Without prun, git's own merge; whatever goes wrong is a conflict, never an aborted merge.
    command = (
        f"if {there}; then {ours} merge-file --path %P --marker-size %L {labels} %A %O %B; "
        f"else git merge-file --marker-size %L {labels} %A %O %B; fi || exit 1"
    )
    # What git merges for itself alone, where histories cross, stays as git has it.
    values = {"name": NAME, "driver": command, "recursive": "text"}
    return tuple((f"merge.prun.{key}", values[key]) for key in KEYS)


def _patterns() -> tuple[str, ...]:
    """List the patterns of all kinds, each once."""
    from gitprun.resolvers.kinds import all_kinds

    return tuple(sorted({pattern for kind in all_kinds() for pattern in kind.files}))


def _attribute_pattern(pattern: str) -> str:
    """Write a pattern of ours as git reads it in attributes, where brackets mean something and a folder nothing."""
    escaped = re.sub(r"[\[\\]", r"\\\g<0>", pattern) + ("**" if pattern.endswith("/") else "")
    return f'"{escaped}"'.replace("\\", "\\\\") if re.search(r'[\s"]|^[!#]', escaped) else escaped


def _carried(repository: Repository) -> tuple[list[str], tuple[str, ...]]:
    """Repeat what the repository's own attribute files say about merging, which ours would hide from git."""
    lines: list[str] = []
    uncarried: list[str] = []
    if repository.top is None:
        return lines, ()
    for name in repository.git.run("ls-files", "-z", "--", ".gitattributes", "**/.gitattributes").fields:
        path = os.fsdecode(name)
        folder = path.rpartition("/")[0]
        text = (read_plain(repository.top / path, MOST) or b"").decode("utf-8", "surrogateescape")
        for row in text.splitlines():
            words = row.split()
            said = [_as_merge(word) for word in words[1:] if _as_merge(word)]
            if not said or row.lstrip().startswith(("#", "[attr]")):
                continue
            if row.lstrip().startswith('"') or not _PLAIN.fullmatch(folder):
                uncarried.append(path)
            else:
                lines.append(f"{_below(folder, words[0])} {said[-1]}")
    return lines, tuple(dict.fromkeys(uncarried))


def _as_merge(word: str) -> str:
    return "-merge" if word == "binary" else word if _MERGE.fullmatch(word) else ""


def _below(folder: str, pattern: str) -> str:
    if not folder:
        return pattern
    return f"{folder}/{pattern.lstrip('/')}" if "/" in pattern else f"{folder}/**/{pattern}"


def _split(content: bytes) -> tuple[bytes, bytes, bytes]:
    """Split a file into what stands before our block, the block, and what follows it."""
    start, end = content.find(BEGIN[:15]), content.find(END)
    if start < 0 or end < start:
        return content, b"", b""
    return content[:start], content[start : end + len(END)], content[end + len(END) :]
