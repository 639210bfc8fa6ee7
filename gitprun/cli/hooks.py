"""``git prun hooks``: install, remove and show the hooks that keep workers away from history, and the merge driver."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import click

from gitprun.api.guarding import (
    GATES,
    GUARDS,
    HOOKS,
    USUAL,
    HooksStatus,
    HookStatus,
    install_hooks,
    read_hooks,
    sleeping_gates,
    uninstall_hooks,
)
from gitprun.api.worker_hooks import run_hook
from gitprun.cli.console import put, safe, say, table, warn
from gitprun.cli.hook_driver import driver_rows, install_asked, uninstall_told
from gitprun.cli.options import here, is_terminal
from gitprun.model.errors import OperationRefused

SHOWN = {"absent": "not installed", "installed": "installed", "edited": "edited", "other": "not ours"}


@click.group()
def hooks() -> None:
    """Install, remove and show the hooks that keep workers away from history, the gates of your merges, the driver.

    Guards refuse refs, commits and pushes to the workers of live units, and to nobody else. Gates look at merges you
    make with git itself while prun has runs here. The driver lets git settle what git prun merge-file can prove. A
    hook of yours at the same place is kept, called with the same arguments and input, and given back by uninstall.
    """


@hooks.command()
@click.option("--reference-transaction", is_flag=True, help="The guard of refs: no commit, branch, tag (usual).")
@click.option("--pre-push", is_flag=True, help="The guard against pushes (usual).")
@click.option("--pre-commit", is_flag=True, help="Tells a worker early that it cannot commit.")
@click.option("--all", "every", is_flag=True, help="All three of these guards.")
@click.option("--pre-merge-commit", is_flag=True, help="The gate of merges: dirty, in the way of live units, suspect.")
@click.option("--commit-msg", is_flag=True, help="The gate of merge messages: leftovers of conflicts, wrong branches.")
@click.option("--driver", is_flag=True, help="The merge driver, for merge, rebase, cherry-pick; always asks first.")
@click.option("--force", is_flag=True, help="Also into shared folders, over edited hooks, around doubtful ones.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def install(
    ctx: click.Context,
    /,
    *,
    reference_transaction: bool,
    pre_push: bool,
    pre_commit: bool,
    every: bool,
    pre_merge_commit: bool,
    commit_msg: bool,
    driver: bool,
    force: bool,
    yes: bool,
) -> int:
    """Install hooks where git looks for them here (core.hooksPath counts)."""
    asked = {
        "reference-transaction": reference_transaction,
        "pre-push": pre_push,
        "pre-commit": pre_commit,
        "pre-merge-commit": pre_merge_commit,
        "commit-msg": commit_msg,
    }
    chosen = tuple(name for name in HOOKS if asked.get(name) or (every and name in GUARDS))
    if not chosen and not driver:
        chosen = tuple(USUAL)
    opened = here(ctx).opened
    if driver:
        install_asked(opened, yes=yes, force=force)
    if not chosen:
        return 0

    def agreed(folder: HooksStatus, missing: tuple[HookStatus, ...]) -> bool:
        return yes or _agreed(folder, missing)

    done = install_hooks(opened, chosen, force=force, agreed=agreed)
    if done is None:
        raise OperationRefused("nothing was installed")
    for hook, missing in done:
        put(f"{hook.name}: {_told(hook, missing)}")
    _say_asleep(read_hooks(opened), chosen)
    return 0


def _say_asleep(status: HooksStatus, names: Iterable[str]) -> None:
    """Say that a gate looks at nothing yet where no unit has ever been worked on."""
    gates = sleeping_gates(status, names)
    if gates:
        say(
            f"{' and '.join(gates)}: silent until the first git prun run here; until then your merges are not looked at"
        )


def _told(hook: HookStatus, missing: bool) -> str:
    folder = safe(os.path.dirname(hook.path))
    if not missing:
        return f"already installed in {folder}"
    if hook.state == "other":
        return f"installed; your hook is kept as {hook.before} and called after it"
    return f"installed in {folder}"


def _agreed(folder: HooksStatus, missing: Sequence[HookStatus]) -> bool:
    """Ask on a terminal; elsewhere the command itself was the answer."""
    if not is_terminal():
        return True
    say(f"Into {safe(folder.folder)}:")
    for hook in missing:
        say(f"  {hook.name}: {hook.what}" + (" (your hook is chained)" if hook.state == "other" else ""))
    if folder.shared:
        warn(folder.shared)
    return click.confirm("Install?", default=True, err=True)


@hooks.command()
@click.option("--force", is_flag=True, help="Also hooks of ours that were edited (kept as NAME.edited).")
@click.pass_context
def uninstall(ctx: click.Context, force: bool) -> int:
    """Remove our hooks and the merge driver, and give your hooks back, byte for byte."""
    opened = here(ctx).opened
    removed: list[HookStatus] = []

    def tell(hook: HookStatus) -> None:
        removed.append(hook)
        put(f"{hook.name}: removed" + ("; your hook is back" if hook.chained else ""))

    driven = uninstall_told(opened)
    for hook in uninstall_hooks(opened, force=force, removed=tell):
        warn(f"{safe(hook.path)} is not ours any more; your hook from before is {hook.before}")
    if not removed and not driven:
        put("no hook of git prun is installed here")
    return 0


@hooks.command()
@click.pass_context
def status(ctx: click.Context) -> int:
    """Show which hooks are installed; exit code 1 unless all usual ones are."""
    opened = here(ctx).opened
    found = read_hooks(opened)
    rows = [
        (hook.name, SHOWN[hook.state] + (f", then {hook.before}" if hook.chained else ""), hook.what)
        for hook in found.hooks
        if hook.name in GUARDS or hook.state in ("installed", "edited")
    ]
    rows += driver_rows(opened)
    put(table(("hook", "state", "what it does"), rows))
    say(f"hooks lie in {safe(found.folder)}" + (f" ({found.shared})" if found.shared else ""))
    _say_asleep(found, (hook.name for hook in found.hooks if hook.state == "installed"))
    if any(hook.name == "reference-transaction" and (hook.state == "other" or hook.chained) for hook in found.hooks):
        say("your reference-transaction runs when a landing moves a branch, not for the refs prun keeps (refs/prun)")
    more = [name for name in GATES if all(name != row[0] for row in rows)]
    more += [] if any(row[0] == "driver" for row in rows) else ["driver"]
    if more:
        say(f"more can be installed: {' '.join(f'--{name}' for name in more)}")
    say(f"claude workers get: {safe(found.claude) or 'no guard: it is not part of this installation'}")
    return 0 if all(hook.state == "installed" for hook in found.hooks if hook.name in USUAL) else 1


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, hidden=True)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def hook(words: tuple[str, ...]) -> int:
    """Be a hook: NAME [BEFORE [ARGS]...]. Called by the hooks themselves."""
    return run_hook(words)
