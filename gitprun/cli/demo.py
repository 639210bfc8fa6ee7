"""``git prun demo``: the whole loop in a throw-away repository; only the worker is a stand-in."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import click

from gitprun.cli.options import Here
from gitprun.errors import PrunError

GREET = """def greet(name):
    return f"Hello, {name}"
"""
CHECK = '''"""The check of the demo: every module imports, and every greeting names whom it greets."""

import importlib
import pathlib

for path in sorted(pathlib.Path(".").glob("say_*.py")):
    module = importlib.import_module(path.stem)
    words = [value("Ada") for name, value in vars(module).items() if not name.startswith("_")]
    assert words and all("ada" in word.lower() for word in words), (path, words)
    print(f"{path}: {words}")
'''
TODO = """# To do

- [x] say hello
"""
WORKER = r"""#!/bin/sh
# The scripted stand-in for a coding agent: reads its prompt, edits files as a real one would, writes its result.
set -eu
cat >/dev/null
case "$PRUN_UNIT" in
farewell)
  printf 'def farewell(name):\n    return f"Goodbye, {name}"\n' >say_farewell.py
  printf '%s\n' '- [x] say goodbye' >>todo.md
  files="say_farewell.py, todo.md" ;;
shout)
  printf 'def shout(name):\n    return f"HEY {name.upper()}!"\n' >say_shout.py
  printf '%s\n' '- [x] shout' >>todo.md
  files="say_shout.py, todo.md" ;;
polite)
  printf 'def greet(name):\n    return f"Good day, dear {name}"\n' >say_hello.py
  files="say_hello.py" ;;
casual)
  printf 'def greet(name):\n    return f"Yo, {name}"\n' >say_hello.py
  files="say_hello.py" ;;
esac
echo "scripted worker: edited $files"
printf '# %s result\nConclusion: done by the scripted worker\nFiles: %s\nOpen items: none\nVerification: none\n' \
  "$PRUN_UNIT" "$files" >"$PRUN_RESULT"
"""
CONFIG = """# How the branches of this repository come home.
[[hotspot]]
path = "todo.md"
policy = "union"    # both sides may add lines; anything else stays a conflict
"""
TASKS = {
    "farewell": "Add a module that says goodbye, and tick it off in todo.md.",
    "shout": "Add a module that shouts, and tick it off in todo.md.",
    "polite": "Make the greeting polite.",
    "casual": "Make the greeting casual.",
}
# Whoever is captured first lands; the other one conflicts with it.
CONTENDERS = ("polite", "casual")


@click.command()
@click.option("--dir", "folder", type=click.Path(), help="Where to make the repository (default: a temporary folder).")
@click.pass_context
def demo(ctx: click.Context, folder: str | None) -> int:
    """Show the whole loop in a throw-away repository: four units, one hotspot united, one conflict set aside.

    No account and no network are needed: the worker is a small script. Everything else is what run and merge do.
    """
    top = Path(folder).absolute() if folder else Path(tempfile.mkdtemp(prefix="git-prun-demo-"))
    repository = top / "greetings"
    _make_repository(top, repository)
    click.echo(f"A throw-away repository: {repository}")
    click.echo("Four units; the worker is a scripted stand-in (no account, no network), the rest is the real thing.")
    return _play(repository)


def _program() -> str:
    """Say how to call us from here: git finds only what is on PATH."""
    own = Path(sys.argv[0])
    return "git prun" if shutil.which("git-prun") or own.name != "git-prun" else shlex.quote(str(own.absolute()))


def _make_repository(top: Path, repository: Path) -> None:
    from gitprun.git.command import Git, require_git

    if repository.exists():
        raise PrunError(f"{repository} is already there", "choose another folder: git prun demo --dir FOLDER")
    repository.mkdir(parents=True)
    require_git(repository)
    for name, text in (
        ("say_hello.py", GREET),
        ("check.py", CHECK),
        ("todo.md", TODO),
        ("prun.toml", CONFIG),
        (".gitignore", "__pycache__/\n"),
    ):
        (repository / name).write_text(text)
    (top / "worker.sh").write_text(WORKER)
    git = Git(cwd=repository, config=("core.hooksPath=/dev/null",))
    git.run("init", "--quiet", "--initial-branch=main")
    # The demo must look the same whatever the user's own configuration says.
    for key, value in (
        ("user.name", "Demo User"),
        ("user.email", "demo@example.invalid"),
        ("commit.gpgSign", "false"),
        ("core.hooksPath", "/dev/null"),
        ("core.autocrlf", "false"),
    ):
        git.run("config", key, value)
    git.run("add", "--all")
    git.run("commit", "--quiet", "--message=say hello")
    (top / "plan.toml").write_text(_plan(top / "worker.sh"))


def _plan(worker: Path) -> str:
    """Write the plan; a JSON text is a TOML text too."""
    rows = [f"[run]\nverify = [{json.dumps(f'{shlex.quote(sys.executable)} check.py')}]\n"]
    for unit, prompt in TASKS.items():
        rows.append(
            f"[[unit]]\nid = {json.dumps(unit)}\nprompt = {json.dumps(prompt)}\n"
            f'executor = "command"\ncommand = ["sh", {json.dumps(str(worker))}]\n'
        )
    return "\n".join(rows)


def _play(top: Path) -> int:
    from gitprun.cli.merge import land_names
    from gitprun.cli.run import read_units, run_and_report
    from gitprun.git.repo import find_repository
    from gitprun.runs.ledger import Ledger

    repository = find_repository(top)
    place = Here(top, repository, Ledger(repository.state))
    click.echo("\n$ git prun run ../plan.toml")
    given = {"verify": (), "unit_rows": (), "paths": ()}
    plan, source = read_units(place, str(top.parent / "plan.toml"), given)
    run_and_report(place, plan, source=source, land=False, as_json=False)
    click.echo("\n$ git prun merge")
    land_names(place, (), as_json=False)
    click.echo("\n$ git log --graph --oneline")
    click.echo(repository.git.run("log", "--graph", "--oneline", "--no-decorate", "--no-color", "main").text)
    run = place.history().last
    states: dict[str, str] = {unit.id: unit.state for unit in run.units.values()} if run else {}
    click.echo("\n$ cat todo.md          # two units added a line at the same place: united, nothing lost")
    click.echo((top / "todo.md").read_text().rstrip("\n"))
    aside = next((unit for unit in CONTENDERS if states.get(unit) == "ready"), CONTENDERS[0])
    click.echo(f"\n{' and '.join(CONTENDERS)} rewrote the same line: {aside} was set aside, and all of it is kept.")
    click.echo("Where to look:")
    for words in ("status", f"show {aside}", f"diff {aside}", "log farewell"):
        click.echo(f"  cd {shlex.quote(str(top))} && {_program()} {words}")
    click.echo(f"Remove it all: rm -rf {shlex.quote(str(top.parent))}")
    as_meant = sorted(states.values()) == ["landed", "landed", "landed", "ready"] and states.get(aside) == "ready"
    return 0 if as_meant else 1
