"""``git prun init``: look a repository over, pin its baseline, write ``prun.toml``, say what to do next."""

from __future__ import annotations

import os

import click

from gitprun.api.preparing import PreparedRepository, ProgramFound, prepare
from gitprun.api.watching import log_root
from gitprun.cli.console import hint, put, safe, say, warn
from gitprun.cli.options import project

CONFIG_NAME = "prun.toml"
EPILOG = """\b
Environment (as the seed's bootstrap): PROJECT_DIR, MONITOR_ROOT (baseline.sha and logs/ go there too),
WT_DIR_NAME or WORKTREE_DIR_NAME (workspaces go into that folder of the checkout, as with ROOT).
"""
# What brings a worker's program along, where something does.
EXTRAS = {"codex": "pip install 'gitprun[codex]'"}


@click.command(epilog=EPILOG)
@click.argument("root", required=False, type=click.Path())
@click.option("--baseline", metavar="REV", help="Pin the baseline anew, at this commit.")
@click.pass_context
def init(ctx: click.Context, root: str | None, baseline: str | None) -> None:
    """Prepare a repository for git prun: look it over, pin the baseline commit, write a commented prun.toml.

    ROOT is the folder for workspaces (default: ../<repo>.prun). Nothing that is there is written over, and nothing
    is changed the second time.
    """
    opened = project(ctx).opened
    logs = log_root(opened.start, opened.repository.state, os.environ.get("MONITOR_ROOT", ""))
    done = prepare(opened, root=root, baseline=baseline, logs=logs, environment=os.environ)
    put(f"repository  {safe(done.home)} at {done.head}")
    put(f"git         {done.git}")
    for program in done.programs:
        _show_program(program)
    put(f"workspaces  {safe(done.root)}")
    _warn_inside(done)
    put(f"baseline    {done.baseline} {'pinned' if done.moved else 'is pinned already (--baseline HEAD pins it anew)'}")
    _show_settings(done)
    if not done.moved and done.settings != "written":
        say("nothing was changed")
    _say_next(written=done.settings == "written")


def _show_program(found: ProgramFound) -> None:
    name = found.name
    if found.state == "unapproved":
        put(f"{name:<12}not asked for its version: what prun.toml says of it is not approved (git prun trust)")
    elif found.state == "missing":
        put(f"{name:<12}not found")
        if found.configured:
            warn(f"{safe(found.configured)}, the program of [executor.{name}], is not there")
        elif name in EXTRAS:
            warn(f"{name} is not on PATH, so no unit can be given to it")
            hint(f"{EXTRAS[name]}, or set [executor.{name}] program in prun.toml")
    elif found.state == "works":
        put(f"{name:<12}{safe(found.version)}{f' from the {name} extra' if found.extra else ''}")
    else:
        put(f"{name:<12}does not work")
        warn(f"{safe(found.path)} --version: {safe(found.detail)}")


def _warn_inside(done: PreparedRepository) -> None:
    """Warn of what goes wrong when workspaces lie inside the checkout: git and tools that would see them."""
    if done.seen:
        warn(f"git does not ignore {safe(done.root)}, which lies in your checkout: runs refuse to use it")
        hint(f"echo '/{safe(done.seen)}/' >>.gitignore, and commit that")
    for text in done.wandering:
        warn(f"{text} (or it will take in what lies in the workspaces)")


def _show_settings(done: PreparedRepository) -> None:
    if done.settings == "none":
        put(f"{CONFIG_NAME:<12}none: this repository has no checkout")
    elif done.settings == "kept":
        put(f"{CONFIG_NAME:<12}is there already, and left as it is")
    else:
        said = f": {', '.join(done.found)} found" if done.found else ", all of it comments"
        put(f"{CONFIG_NAME:<12}written{said}")
        for text in done.missing:
            warn(safe(text))
        if done.missing:
            hint("until it is there the work of units is unverified; install it, or name other checks in [run] verify")


def _say_next(*, written: bool) -> None:
    rows = ["git add prun.toml && git commit -m 'prun: add settings'"] if written else []
    rows += [
        "git prun new NAME BRANCH                 # a workspace of your own",
        'git prun exec NAME SLUG "PROMPT"         # a worker in it; its work is committed and verified',
        "git prun run plan.toml                   # many units at once",
        "git prun monitor                         # what they do, a line a minute",
    ]
    say("next:\n" + "\n".join(f"  {row}" for row in rows))
