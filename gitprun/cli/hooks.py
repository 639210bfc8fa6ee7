"""``git prun hooks``: install, remove and show the hooks that keep workers away from history, and the merge driver."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from gitprun.cli.console import put, safe, say, table, warn
from gitprun.cli.hook import run_hook
from gitprun.cli.hook_driver import driver_rows, install_asked, uninstall_told
from gitprun.cli.options import here
from gitprun.guards.install import (
    GATES,
    GUARDS,
    HOOKS,
    USUAL,
    Hook,
    HooksFolder,
    claude_guard,
    install_hook,
    read_hook,
    read_hooks_folder,
    require_installable,
    uninstall_hook,
)
from gitprun.model.errors import OperationRefused

if TYPE_CHECKING:
    from gitprun.git.repo import Repository

SHOWN = {"absent": "not installed", "installed": "installed", "edited": "edited", "other": "not ours"}


@click.group()
def hooks() -> None:
    """Install, remove and show the hooks that keep workers away from history, the gates of your merges, the driver.

    Guards refuse refs, commits and pushes to the workers of live units, and to nobody else. Gates look at merges you
    make with git itself while prun has runs here. The driver lets git settle what git prun merge-file can prove. A
    hook of yours at the same place is kept, called with the same arguments and input, and given back by uninstall.
    """


def _chosen(flags: dict[str, bool], driver: bool) -> tuple[str, ...]:
    guards = tuple(GUARDS) if flags.pop("all") else ()
    named = tuple(name for name in HOOKS if name in guards or flags[name.replace("-", "_")])
    return named or (() if driver else USUAL)


@hooks.command()
@click.option("--reference-transaction", is_flag=True, help="The guard of refs: no commit, branch, tag (usual).")
@click.option("--pre-push", is_flag=True, help="The guard against pushes (usual).")
@click.option("--pre-commit", is_flag=True, help="Tells a worker early that it cannot commit.")
@click.option("--all", is_flag=True, help="All three of these guards.")
@click.option("--pre-merge-commit", is_flag=True, help="The gate of merges: dirty, in the way of live units, suspect.")
@click.option("--commit-msg", is_flag=True, help="The gate of merge messages: leftovers of conflicts, wrong branches.")
@click.option("--driver", is_flag=True, help="The merge driver, for merge, rebase, cherry-pick; always asks first.")
@click.option("--force", is_flag=True, help="Also into shared folders, over edited hooks, around doubtful ones.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def install(ctx: click.Context, /, force: bool, yes: bool, driver: bool, **flags: bool) -> int:
    """Install hooks where git looks for them here (core.hooksPath counts)."""
    repository = here(ctx).repository
    chosen = _chosen(flags, driver)
    if driver:
        install_asked(repository, yes=yes, force=force)
    if not chosen:
        return 0
    folder = read_hooks_folder(repository)
    wanted = [read_hook(folder.path, name) for name in chosen]
    missing = [hook for hook in wanted if hook.state != "installed"]
    for hook in missing:
        require_installable(folder, hook, force=force)
    if missing and not yes and not _agreed(folder, missing):
        raise OperationRefused("nothing was installed")
    repository.state.mkdir(exist_ok=True)
    for hook in wanted:
        if hook in missing:
            install_hook(hook)
        put(f"{hook.name}: {_told(hook, missing)}")
    _say_asleep(repository, chosen)
    return 0


def _say_asleep(repository: Repository, names: Iterable[str]) -> None:
    """Say that a gate looks at nothing yet where no unit has ever been worked on."""
    gates = [name for name in names if name in GATES]
    if gates and not (repository.state / "runs").is_dir():
        say(
            f"{' and '.join(gates)}: silent until the first git prun run here; until then your merges are not looked at"
        )


def _told(hook: Hook, missing: Sequence[Hook]) -> str:
    if hook not in missing:
        return f"already installed in {safe(str(hook.path.parent))}"
    if hook.state == "other":
        return f"installed; your hook is kept as {hook.before.name} and called after it"
    return f"installed in {safe(str(hook.path.parent))}"


def _agreed(folder: HooksFolder, missing: Sequence[Hook]) -> bool:
    """Ask on a terminal; elsewhere the command itself was the answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    say(f"Into {safe(str(folder.path))}:")
    for hook in missing:
        say(f"  {hook.name}: {HOOKS[hook.name]}" + (" (your hook is chained)" if hook.state == "other" else ""))
    if folder.shared:
        warn(folder.shared)
    return click.confirm("Install?", default=True, err=True)


@hooks.command()
@click.option("--force", is_flag=True, help="Also hooks of ours that were edited (kept as NAME.edited).")
@click.pass_context
def uninstall(ctx: click.Context, force: bool) -> int:
    """Remove our hooks and the merge driver, and give your hooks back, byte for byte."""
    repository = here(ctx).repository
    driven = uninstall_told(repository)
    folder = read_hooks_folder(repository)
    found = [read_hook(folder.path, name) for name in HOOKS]
    ours = [hook for hook in found if hook.state in ("installed", "edited")]
    for hook in ours:
        uninstall_hook(hook, force=force)
        put(f"{hook.name}: removed" + ("; your hook is back" if hook.chained else ""))
    for hook in found:
        if hook.chained and hook not in ours:
            warn(f"{safe(str(hook.path))} is not ours any more; your hook from before is {hook.before.name}")
    if not ours and not driven:
        put("no hook of git prun is installed here")
    return 0


@hooks.command()
@click.pass_context
def status(ctx: click.Context) -> int:
    """Show which hooks are installed; exit code 1 unless all usual ones are."""
    repository = here(ctx).repository
    folder = read_hooks_folder(repository)
    found = [read_hook(folder.path, name) for name in HOOKS]
    rows = [
        (hook.name, SHOWN[hook.state] + (f", then {hook.before.name}" if hook.chained else ""), HOOKS[hook.name])
        for hook in found
        if hook.name in GUARDS or hook.state in ("installed", "edited")
    ]
    rows += driver_rows(repository)
    put(table(("hook", "state", "what it does"), rows))
    say(f"hooks lie in {safe(str(folder.path))}" + (f" ({folder.shared})" if folder.shared else ""))
    _say_asleep(repository, (hook.name for hook in found if hook.state == "installed"))
    if any(hook.name == "reference-transaction" and (hook.state == "other" or hook.chained) for hook in found):
        say("your reference-transaction runs when a landing moves a branch, not for the refs prun keeps (refs/prun)")
    more = [name for name in GATES if all(name != row[0] for row in rows)]
    more += [] if any(row[0] == "driver" for row in rows) else ["driver"]
    if more:
        say(f"more can be installed: {' '.join(f'--{name}' for name in more)}")
    say(f"claude workers get: {safe(claude_guard()) or 'no guard: it is not part of this installation'}")
    return 0 if all(hook.state == "installed" for hook in found if hook.name in USUAL) else 1


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, hidden=True)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def hook(words: tuple[str, ...]) -> int:
    """Be a hook: NAME [BEFORE [ARGS]...]. Called by the hooks themselves."""
    return run_hook(words)
