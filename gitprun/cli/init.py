"""``git prun init``: look a repository over, pin its baseline, write ``prun.toml``, say what to do next."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitprun.cli.console import hint, put, safe, say, warn
from gitprun.cli.options import Here
from gitprun.cli.places import folder_name, log_root, project
from gitprun.model.errors import OperationRefused
from gitprun.model.names import short
from gitprun.system.sharing import usual_umask

if TYPE_CHECKING:
    from gitprun.model.plan import Settings

VERSION_TIMEOUT = 10.0
EPILOG = """\b
Environment (as the seed's bootstrap): PROJECT_DIR, MONITOR_ROOT (baseline.sha and logs/ go there too),
WT_DIR_NAME or WORKTREE_DIR_NAME (workspaces go into that folder of the checkout, as with ROOT).
"""


@click.command(epilog=EPILOG)
@click.argument("root", required=False, type=click.Path())
@click.option("--baseline", metavar="REV", help="Pin the baseline anew, at this commit.")
@click.pass_context
def init(ctx: click.Context, root: str | None, baseline: str | None) -> None:
    """Prepare a repository for git prun: look it over, pin the baseline commit, write a commented prun.toml.

    ROOT is the folder for workspaces (default: ../<repo>.prun). Nothing that is there is written over, and nothing
    is changed the second time.
    """
    from gitprun.git.command import require_git
    from gitprun.git.repo import resolve_commit
    from gitprun.ledger.baseline import pin_baseline, write_baseline
    from gitprun.system.config import read_settings

    place = project(ctx)
    repository = place.repository
    version = ".".join(map(str, require_git(place.start)))
    head = resolve_commit(repository.git, "HEAD")
    settings = read_settings(repository.top)
    wanted = str((place.start / root).absolute()) if root else folder_name(os.environ) or None
    chosen = _root(place, wanted or settings.root)
    _require_same(place, settings, wanted, chosen)
    put(f"repository  {safe(str(repository.home))} at {short(head)}")
    put(f"git         {version}")
    for name, extra in (("codex", "pip install 'gitprun[codex]'"), ("claude", "")):
        _show_program(place, name, settings, extra)
    put(f"workspaces  {safe(str(chosen))}")
    _warn_inside(place, chosen)
    commit, moved = pin_baseline(repository, baseline)
    for folder in dict.fromkeys((repository.state, log_root(place.start, repository.state))):
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        moved = write_baseline(folder, commit) or moved
    put(f"baseline    {short(commit)} {'pinned' if moved else 'is pinned already (--baseline HEAD pins it anew)'}")
    written = _write_settings(place, wanted, chosen)
    if not moved and not written:
        say("nothing was changed")
    _say_next(place, written=written)


def _root(place: Here, configured: str | None) -> Path:
    from gitprun.workspaces.root import workspaces_root

    return workspaces_root(place.repository, configured)


def _require_same(place: Here, settings: Settings, wanted: str | None, chosen: Path) -> None:
    """Refuse a root that a ``prun.toml`` which is there already does not name: it is not ours to change."""
    from gitprun.system.config import CONFIG_NAME

    top = place.repository.top
    if wanted is None or top is None or not os.path.lexists(top / CONFIG_NAME):
        return
    if _root(place, settings.root) != chosen:
        raise OperationRefused(
            f"{CONFIG_NAME} is there already, and its workspaces go to {_root(place, settings.root)}",
            f"let its [workspace] say: root = {safe(_shown_root(place, chosen))!r}",
        )


def _shown_root(place: Here, chosen: Path) -> str:
    """Write a root so that it means the same for everybody: relative to the main checkout, if it is near."""
    relative = os.path.relpath(chosen, place.repository.home)
    return relative if not relative.startswith("../../") else str(chosen)


def _show_program(place: Here, name: str, settings: Settings, extra: str) -> None:
    """Show which version of a worker's program is there, and whose it is."""
    from gitprun.executors.lines import one_line
    from gitprun.model.units import ExecutorSettings
    from gitprun.supervisor.process import ProcessLimits, ProcessSpec, run, worker_environment
    from gitprun.supervisor.programs import find_program
    from gitprun.workspaces.trust import untrusted

    if untrusted(place.repository, (power for power in settings.powers if power.executor == name)):
        put(f"{name:<12}not asked for its version: what prun.toml says of it is not approved (git prun trust)")
        return
    configured = settings.executors.get(name, ExecutorSettings())
    env = worker_environment(dict(configured.env))
    program = find_program(name, configured.program, env.get("PATH"))
    if program is None:
        put(f"{name:<12}not found")
        if configured.program:
            warn(f"{safe(configured.program)}, the program of [executor.{name}], is not there")
        elif extra:
            warn(f"{name} is not on PATH, so no unit can be given to it")
            hint(f"{extra}, or set [executor.{name}] program in prun.toml")
        return
    with tempfile.TemporaryDirectory(prefix="prun-") as scratch:
        output = Path(scratch) / "version"
        asked = ProcessSpec(argv=[program.path, "--version"], cwd=Path(scratch), env=env, stdout=output)
        ended = run(asked, ProcessLimits(timeout=VERSION_TIMEOUT))
        said = output.read_bytes().decode("utf-8", "replace") if output.exists() else ""
    if ended.code == 0 and said.strip():
        whose = f" from the {name} extra" if program.source == "extra" else ""
        put(f"{name:<12}{safe(one_line(said.strip().splitlines()[-1]))}{whose}")
    else:
        put(f"{name:<12}does not work")
        warn(f"{safe(program.path)} --version: {safe(ended.detail or f'exit code {ended.shell_code}')}")


def _warn_inside(place: Here, root: Path) -> None:
    """Warn of what goes wrong when workspaces lie inside the checkout: git and tools that would see them."""
    from gitprun.git.command import Git
    from gitprun.verify.survey import wandering

    for top in dict.fromkeys(path.resolve() for path in (place.repository.home, place.repository.top) if path):
        if top == place.repository.common.resolve() or top not in root.parents:
            continue
        folder = root.relative_to(top).parts[0]
        if Git(cwd=top).run("check-ignore", "--quiet", f"{root}/x", ok=(0, 1, 128)).code != 0:
            warn(f"git does not ignore {safe(str(root))}, which lies in your checkout: runs refuse to use it")
            hint(f"echo '/{safe(str(root.relative_to(top)))}/' >>.gitignore, and commit that")
        for text in wandering(top, folder):
            warn(f"{text} (or it will take in what lies in the workspaces)")


def _write_settings(place: Here, wanted: str | None, chosen: Path) -> bool:
    """Write ``prun.toml``, unless there is one; tells whether it was."""
    from gitprun.api.starter import render
    from gitprun.system.config import CONFIG_NAME
    from gitprun.verify.survey import survey

    top = place.repository.top
    if top is None:
        put(f"{CONFIG_NAME:<12}none: this repository has no checkout")
        return False
    if os.path.lexists(top / CONFIG_NAME):
        put(f"{CONFIG_NAME:<12}is there already, and left as it is")
        return False
    found = survey(place.repository, top)
    text = render(
        verify=found.verify,
        root=_shown_root(place, chosen) if wanted else None,
        default=safe(_shown_root(place, _root(place, None))),
        copy=found.copy,
        link=found.link,
        setup=found.setup,
        hotspots=found.hotspots,
    )
    with contextlib.suppress(FileExistsError):
        with open(top / CONFIG_NAME, "x", encoding="utf-8") as target:
            target.write(text)
        # A file of the checkout is as the user's own umask says, however the repository is shared.
        os.chmod(top / CONFIG_NAME, 0o666 & ~usual_umask())
        said = [key for key in ("verify", "copy", "link", "setup") if getattr(found, key)]
        put(f"{CONFIG_NAME:<12}written" + (f": {', '.join(said)} found" if said else ", all of it comments"))
        for text in found.missing:
            warn(safe(text))
        if found.missing:
            hint("until it is there the work of units is unverified; install it, or name other checks in [run] verify")
        return True
    return False


def _say_next(place: Here, *, written: bool) -> None:
    rows = ["git add prun.toml && git commit -m 'prun: add settings'"] if written else []
    rows += [
        "git prun new NAME BRANCH                 # a workspace of your own",
        'git prun exec NAME SLUG "PROMPT"         # a worker in it; its work is committed and verified',
        "git prun run plan.toml                   # many units at once",
        "git prun monitor                         # what they do, a line a minute",
    ]
    say("next:\n" + "\n".join(f"  {row}" for row in rows))
