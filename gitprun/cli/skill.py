"""``git prun skill``: put the skill folder that ships with the program where Claude Code and Codex look."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gitprun.api.skill import install_skill, skill_source
from gitprun.cli.console import hint, put, safe
from gitprun.model.errors import PrunError, UsageProblem


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
    done = install_skill(top, force=force)
    for one in done:
        put(f"{safe(one.path)}: {one.what}")
    if project and any(one.fresh for one in done):
        hint("they are new files of your checkout: commit them to share them")
    return 0


def _home() -> Path:
    home = os.environ.get("HOME", "")
    if not os.path.isabs(home):
        raise PrunError("HOME is not set, so there is no place for your skills", "git prun skill install --project")
    return Path(home)


def _checkout(ctx: click.Context) -> Path:
    from gitprun.cli.options import here

    top = here(ctx).top
    if top is None:
        raise PrunError("a bare repository has no checkout to put the skill in", "git prun skill install --user")
    return top
