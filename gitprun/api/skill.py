"""The skill folder that ships with the program, written to where coordinating models look for it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.model.errors import OperationRefused
from gitprun.system.files import read_plain, write_whole

PLACES = (".claude/skills/prun/SKILL.md", ".agents/skills/prun/SKILL.md")
# A skill is a page or two: what is larger is somebody else's file, and need not be read to know that.
MOST = 1_000_000
# Tells a copy nobody touched, which a newer version may replace, from one that somebody has edited.
_SEAL = re.compile(rb"\n<!-- put here by git prun skill install; ([0-9a-f]{16}) -->\n\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillWritten:
    """One file of a skill and what became of it; ``fresh``: it was not as it is to be."""

    path: str
    what: str
    fresh: bool


def install_skill(top: Path, *, force: bool = False) -> Sequence[SkillWritten]:
    """Write the skill below a folder; raises OperationRefused over a file that was edited or is not ours.

    With ``force`` such a file is kept beside it.
    """
    wanted = sealed(skill_source().read_bytes())
    targets = [top / place for place in PLACES]
    before = {target: _state(target, wanted) for target in targets}
    for target, state in before.items():
        if state == "other" and not force:
            raise OperationRefused(
                f"{target} was edited, or is not ours; nothing was written",
                "--force keeps it as SKILL.md.old and writes ours",
            )
    done = []
    for target in targets:
        # Asked once more: one of the two folders may be a link to the other.
        what = _write(target, _state(target, wanted), wanted)
        done.append(SkillWritten(path=str(target), what=what, fresh=before[target] != "same"))
    return done


def skill_source() -> Path:
    """Return the skill as it ships."""
    return Path(__file__).parents[1] / "skill" / "SKILL.md"


def sealed(text: bytes) -> bytes:
    """Return the text with a last line that tells later whether anybody has edited the text since."""
    return text + b"\n<!-- put here by git prun skill install; " + _digest(text) + b" -->\n"


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()


def _state(target: Path, wanted: bytes) -> str:
    if not os.path.lexists(target):
        return "absent"
    found = read_plain(target, MOST)
    if found == wanted:
        return "same"
    seal = _SEAL.search(found or b"")
    return "ours" if found and seal and seal[1] == _digest(found[: seal.start()]) else "other"


def _write(target: Path, state: str, wanted: bytes) -> str:
    if state == "same":
        return "already up to date"
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = _set_aside(target) if state == "other" else ""
    write_whole(target, wanted, mode=0o644)
    return {"absent": "written", "ours": "brought up to date"}.get(state, f"written; what was there is kept as {kept}")


def _set_aside(target: Path) -> str:
    """Move a file to the first free name beside it."""
    number = 1
    while os.path.lexists(free := target.with_name(f"{target.name}.old{'' if number == 1 else f'-{number}'}")):
        number += 1
    os.rename(target, free)
    return free.name
