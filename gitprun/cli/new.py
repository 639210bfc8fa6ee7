"""``git prun new``: a workspace with a name and a branch of your own, outside of any run."""

from __future__ import annotations

import os

import click

from gitprun.api.places import WorkspaceRequest, make
from gitprun.api.stopping import Stop
from gitprun.cli.console import put, put_json, safe, say
from gitprun.cli.options import json_option, project
from gitprun.cli.signals import signals_stop

EPILOG = """\b
Environment (as the seed's setup-worktree): PROJECT_DIR, WORKTREE_DIR_NAME, LINK_NODE_MODULES=0,
LINK_ENV_FILE (.env.local), PRISMA_GENERATE=0|1.
"""


@click.command(epilog=EPILOG)
@click.argument("name")
@click.argument("branch")
@click.argument("base", required=False)
@click.option("--clone", "clone", is_flag=True, help="Make a remote-less clone instead of a linked worktree.")
@click.option("--resume", is_flag=True, help="Go on with a branch that exists; also where a worktree's folder is gone.")
@click.option("--root", type=click.Path(), help="The folder for workspaces (default: ../<repo>.prun).")
@click.option(
    "--yes", is_flag=True, help="Approve the setup commands of prun.toml (git prun trust), now and from now on."
)
@click.option("--no-setup", is_flag=True, help="Do not run the setup commands.")
@json_option
@click.pass_context
def new(
    ctx: click.Context,
    /,
    *,
    name: str,
    branch: str,
    base: str | None,
    clone: bool,
    resume: bool,
    root: str | None,
    yes: bool,
    no_setup: bool,
    as_json: bool,
) -> int:
    """Make the workspace NAME (wave1/x is fine) on the new branch BRANCH, starting at BASE (HEAD).

    What prun.toml names in [workspace] copy, link and setup is copied, linked and run in it.
    """
    asked = WorkspaceRequest(
        name=name,
        branch=branch,
        base=base,
        clone=clone,
        resume=resume,
        root=root,
        approve=yes,
        setup=not no_setup,
        environment=os.environ,
    )
    opened, stop = project(ctx).opened, Stop()
    tell = say if as_json else put
    with signals_stop(stop) as caught:
        made = make(opened, asked, stop, line=lambda text: tell(safe(text)))
    if as_json:
        put_json("new", made.workspace)
    return 128 + caught[0] if caught else made.code
