"""``git prun skill``: put the skill folder that ships with the program where Claude Code and Codex look."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import click

from gitprun.cli.console import hint, put, safe
from gitprun.model.errors import OperationRefused, PrunError, UsageProblem
from gitprun.system.files import read_plain, write_whole

PLACES = (".claude/skills/prun/SKILL.md", ".agents/skills/prun/SKILL.md")
MOST = 1_000_000
# Tells a copy nobody touched, which a newer version may replace, from one that somebody has edited.
_SEAL = re.compile(rb"\n<!-- put here by git prun skill install; ([0-9a-f]{16}) -->\n\Z")


@click.group()
def skill() -> None:
    """Teach a coordinating model to use git prun: a skill for Claude Code and Codex."""


@skill.command()
def path() -> None:
    """Print the folder of the skill as it ships."""
    put(str(skill_source().parent))


@skill.command()
@click.option("--user", "for_user", is_flag=True, help="For you, in all projects: below your home folder (default).")
@click.option("--project", is_flag=True, help="For everybody in this checkout: at its top, to be committed.")
@click.option("--force", is_flag=True, help="Also over files that were edited, or are not ours (kept as SKILL.md.old).")
@click.pass_context
def install(ctx: click.Context, for_user: bool, project: bool, force: bool) -> int:
    """Write the skill to .claude/skills/prun (Claude Code) and .agents/skills/prun (Codex).

    A file that is there already is replaced only if it is ours and nobody has edited it.
    """
    if for_user and project:
        raise UsageProblem("--user and --project cannot be given together", "leave one of them out")
    top = _checkout(ctx) if project else _home()
    wanted = sealed(skill_source().read_bytes())
    targets = [top / place for place in PLACES]
    before = {_state(target, wanted) for target in targets}
    for target in targets:
        if _state(target, wanted) == "other" and not force:
            raise OperationRefused(
                f"{target} was edited, or is not ours; nothing was written",
                "--force keeps it as SKILL.md.old and writes ours",
            )
    for target in targets:
        # Asked once more: one of the two folders may be a link to the other.
        put(f"{safe(str(target))}: {_write(target, _state(target, wanted), wanted)}")
    if project and before != {"same"}:
        hint("they are new files of your checkout: commit them to share them")
    return 0


def skill_source() -> Path:
    """Find the skill as it ships."""
    return Path(__file__).parents[1] / "skill" / "SKILL.md"


def sealed(text: bytes) -> bytes:
    """Add a last line that tells later whether anybody has edited the text since."""
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


def _home() -> Path:
    home = os.environ.get("HOME", "")
    if not os.path.isabs(home):
        raise PrunError("HOME is not set, so there is no place for your skills", "git prun skill install --project")
    return Path(home)


def _checkout(ctx: click.Context) -> Path:
    from gitprun.cli.options import here

    top = here(ctx).repository.top
    if top is None:
        raise PrunError("a bare repository has no checkout to put the skill in", "git prun skill install --user")
    return top
