"""``git prun demo``: the whole loop in a throw-away repository; only the worker is a stand-in."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import click

from gitprun.api.demo import make_repository, read_git
from gitprun.api.plans import read_plan_file
from gitprun.api.repo import Repo
from gitprun.api.settings import MergeRequest
from gitprun.cli.merge import land_names
from gitprun.cli.options import hear
from gitprun.cli.run import Afterwards, run_and_report
from gitprun.cli.undo import render

# Whoever is captured first lands; the other one is set aside, each pair for a reason of its own.
RIVALS = {
    ("polite", "casual"): "rewrote the same line, which is a conflict",
    (
        "brief",
        "chatty",
    ): "each gave settings.json a limit, in different places: git sees no conflict, the file holds it twice",
    ("rename", "twice"): "are green alone and red together: twice calls the name that rename took away",
}


@click.command()
@click.option("--dir", "folder", type=click.Path(), help="Where to make the repository (default: a temporary folder).")
@click.pass_context
def demo(ctx: click.Context, folder: str | None) -> int:
    """Show the whole loop in a throw-away repository of eight units: what lands, what is set aside, and an undo.

    Two units meet in a list, which is united. Of three other pairs one lands each: the other conflicts, or makes the
    result wrong in a way git does not see, or turns the checks red. The landing is then taken back and made again.

    No account and no network are needed: the worker is a small script. Everything else is what run and merge do.
    """
    top = Path(folder).absolute() if folder else Path(tempfile.mkdtemp(prefix="git-prun-demo-"))
    repository = top / "greetings"
    make_repository(top, repository)
    click.echo(f"A throw-away repository: {repository}")
    click.echo("Eight units; the worker is a scripted stand-in (no account, no network), the rest is the real thing.")
    return _play(repository)


def _program() -> str:
    """Return in words how to call us from here: git finds only what is on PATH."""
    own = Path(sys.argv[0])
    return "git prun" if shutil.which("git-prun") or own.name != "git-prun" else shlex.quote(str(own.absolute()))


def _play(top: Path) -> int:
    repo = Repo.open(top, tell=hear)
    click.echo("\n$ git prun run ../plan.toml")
    source = str(top.parent / "plan.toml")
    run_and_report(repo, read_plan_file(repo.opened, source), source=source, after=Afterwards())
    click.echo("\n$ git prun merge")
    land_names(repo, (), MergeRequest(), as_json=False)
    click.echo("\n$ git log --graph --oneline")
    click.echo(read_git(top, "log", "--graph", "--oneline", "--no-decorate", "--no-color", "main"))
    states = _states(repo)
    click.echo("\n$ cat todo.md          # two units added a line at the same place: united, nothing lost")
    click.echo((top / "todo.md").read_text().rstrip("\n"))
    aside = {pair: next((unit for unit in pair if states.get(unit) == "ready"), pair[0]) for pair in RIVALS}
    click.echo("\nThree pairs could not land both. All work of those set aside is kept:")
    for pair, why in RIVALS.items():
        click.echo(f"  {' and '.join(pair)} {why}: {aside[pair]} waits")
    as_meant = sorted(states.values()) == ["landed"] * 5 + ["ready"] * 3
    landed = read_git(top, "rev-parse", "main^{tree}")
    click.echo("\n$ git prun undo          # take it all back ...")
    render(repo.undo())
    as_meant = as_meant and set(_states(repo).values()) == {"ready"}
    click.echo("\n$ git prun merge         # ... and land it again")
    land_names(repo, (), MergeRequest(), as_json=False)
    as_meant = as_meant and read_git(top, "rev-parse", "main^{tree}") == landed
    click.echo("\nWhere to look:")
    first = aside[next(iter(RIVALS))]
    for words in ("status", f"show {first}", f"diff {first}", f"resolve {first}", "log farewell", "undo --list"):
        click.echo(f"  cd {shlex.quote(str(top))} && {_program()} {words}")
    click.echo(f"Remove it all: rm -rf {shlex.quote(str(top.parent))}")
    return 0 if as_meant else 1


def _states(repo: Repo) -> dict[str, str]:
    runs = repo.runs()
    return {unit.id: unit.state for unit in runs[-1].units} if runs else {}
