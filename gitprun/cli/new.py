"""``git prun new``: a workspace with a name and a branch of your own, outside of any run."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import hint, put, safe, say, warn
from gitprun.cli.options import Here, json_option
from gitprun.cli.places import project, say_untrusted, settle_trust, workspace_root
from gitprun.model.errors import OperationRefused, PrunError

if TYPE_CHECKING:
    from gitprun.ledger.events import UnitState
    from gitprun.model.plan import Settings

PRISMA = "npx prisma generate"
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
def new(ctx: click.Context, /, name: str, branch: str, base: str | None, as_json: bool, **given: Any) -> int:
    """Make the workspace NAME (wave1/x is fine) on the new branch BRANCH, starting at BASE (HEAD).

    What prun.toml names in [workspace] copy, link and setup is copied, linked and run in it.
    """
    from gitprun.ledger.roster import parse_name
    from gitprun.registry.inventory import count_own
    from gitprun.registry.make import WorkspaceSpec, make_user_workspace
    from gitprun.system.config import read_settings

    place = project(ctx)
    settings = read_settings(place.repository.top)
    copy, link = provisions(place, settings, os.environ)
    spec = WorkspaceSpec(
        name=parse_name(name),
        branch=branch,
        base=base,
        kind="clone" if given["clone"] else "worktree",
        root=workspace_root(place, given["root"], settings),
        resume=given["resume"],
        copy=copy,
        link=link,
    )
    tell = say if as_json else put
    made = make_user_workspace(place.repository, place.ledger, spec)
    path = str(made.facts["path"])
    tell(f"[setup] {made.facts['workspace']} {safe(path)} on branch {safe(branch)} from {_start(base, made)}")
    own = count_own(place.repository, made, str(made.facts["base"])) if given["resume"] else 0
    if own:
        tell(f"[setup] the branch {safe(branch)} has {own} commit{'s' if own > 1 else ''} of its own")
    for text in made.facts.get("notes", ()):
        warn(safe(text))
    _say_unseen(place, name, {*copy, *link})
    _say_hooks(place, name, Path(path))
    state, code = _set_up(place, made, settings, yes=given["yes"], skip=given["no_setup"])
    if code == 0:
        tell(f"[setup] ready: {safe(path)} (branch {safe(branch)})")
        tell(f'[setup] next: git prun exec {name} <slug> "<prompt>"')
    if as_json:
        facts = {key: made.facts[key] for key in ("path", "branch", "base", "workspace", "provided", "notes")}
        put(json.dumps({"name": name, **facts, "setup": state}))
    return code


def _say_unseen(place: Here, name: str, provided: Collection[str]) -> None:
    from gitprun.cli.unseen import read_unseen, warn_unseen

    if place.repository.top is not None:
        unseen = read_unseen(place.repository.git, place.repository.top)
        warn_unseen(unseen, f"the workspace {name}", provided=provided, own=("prun.toml",))


def _say_hooks(place: Here, name: str, path: Path) -> None:
    """Say that commits made by hand in the workspace run no hook, where a relative core.hooksPath leads to none."""
    from gitprun.landing.hooks import find_hooks
    from gitprun.landing.settings import hooks_folder, read_merge_settings
    from gitprun.runs.user_commit import COMMIT_HOOKS, main_checkout

    settings, common = read_merge_settings(place.repository.git), place.repository.common
    active = find_hooks(hooks_folder(settings, common, main_checkout(place.repository)), COMMIT_HOOKS).names
    if settings.hooks and active and not hooks_folder(settings, common, path).is_dir():
        warn(
            f"hooks not active in {name}: core.hooksPath={safe(settings.hooks)} is not there ({', '.join(active)});"
            " git prun exec commits through those of your checkout"
        )


def _start(base: str | None, made: UnitState) -> str:
    from gitprun.model.names import short

    commit = short(str(made.facts["base"]))
    return f"{safe(base)} ({commit})" if base else commit


def provisions(
    place: Here, settings: Settings, environment: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose what is copied and linked: what is configured, else what the seed took along, if it is there."""
    top = place.repository.top
    copy, link = settings.copy, settings.link
    if link is None:
        wanted = environment.get("LINK_NODE_MODULES", "1") == "1" and "node_modules" not in (copy or ())
        link = ("node_modules",) if wanted and top and (top / "node_modules").is_dir() else ()
    if copy is None:
        name = environment.get("LINK_ENV_FILE", ".env.local")
        there = name and top and (top / name).is_file() and name not in link
        copy = (name,) if there and not _is_tracked(place, name) else ()
    return copy, link


def _is_tracked(place: Here, name: str) -> bool:
    """Tell whether a path is the repository's own; one outside of the checkout is nothing to copy either."""
    answer = place.repository.git.run("ls-files", "-z", "--", f":(literal){name}", ok=(0, 128))
    return answer.code != 0 or bool(answer.out)


def _set_up(place: Here, made: UnitState, settings: Settings, *, yes: bool, skip: bool) -> tuple[str, int]:
    """Run the setup commands if they may run; gives how that went, and the exit code."""
    from gitprun.cli.signals import signals_stop
    from gitprun.registry.make import setup_user_workspace
    from gitprun.supervisor.process import Stop

    own, commands = _setup_commands(settings, os.environ)
    asked = [power for power in settings.powers if power.name == "setup"] if commands else []
    if (not own and not commands) or made.facts.get("setup") == "done" or skip:
        return str(made.facts.get("setup", "none")), 0
    if settle_trust(place, asked, yes=yes):
        place.ledger.append("workspace.setup", run=made.run, unit=made.id, facts={"setup": "not run"})
        say_untrusted(commands)
        hint(f"the workspace is there; git prun new {made.id} {made.facts['branch']} --resume --yes makes it ready")
        return "not run", 1
    stop = Stop()
    try:
        with signals_stop(stop) as caught:
            work = setup_user_workspace(place.repository, place.ledger, made, (*commands, *own), stop=stop)
    except PrunError as problem:
        if caught:
            return "failed", 128 + caught[0]
        raise OperationRefused(problem.message, problem.hint) from None
    if work:
        more = f" and {len(work) - 1} more" if len(work) > 1 else ""
        say(f"setup made {safe(work[0])}{more}: no work, unless somebody changes it there")
    say(f"setup done: {safe('; '.join((*commands, *own)))}")
    return "done", 0


def _setup_commands(settings: Settings, environment: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the commands the user asks for himself in the environment, and those of ``prun.toml``."""
    said = environment.get("PRISMA_GENERATE", "")
    commands = settings.setup or ()
    if said == "0":
        return (), tuple(command for command in commands if command != PRISMA)
    return ((PRISMA,) if said == "1" and PRISMA not in commands else ()), commands
