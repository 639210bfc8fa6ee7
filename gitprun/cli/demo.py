"""``git prun demo``: the whole loop in a throw-away repository; only the worker is a stand-in."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitprun.cli.options import Here
from gitprun.model.errors import PrunError

if TYPE_CHECKING:
    from gitprun.git.repo import Repository

GREET = """def greet(name):
    return f"Hello, {name}"
"""
CHECK = '''"""The check of the demo: every module imports, and every greeting names whom it greets."""

import importlib
import json
import pathlib

for path in sorted(pathlib.Path(".").glob("say_*.py")):
    module = importlib.import_module(path.stem)
    words = [value("Ada") for name, value in vars(module).items() if not name.startswith("_")]
    assert words and all("ada" in word.lower() for word in words), (path, words)
    print(f"{path}: {words}")
json.loads(pathlib.Path("settings.json").read_text())
'''
TODO = """# To do

- [x] say hello
"""
THANKS = """def thanks(name):
    return f"Thank you, {name}"
"""
REPLY = """from say_thanks import thanks


def reply(name):
    return thanks(name) + "!"
"""
# Both units that add a limit add it far from each other: git merges them without a conflict.
SETTINGS = """{
  "language": "en",
  "colours": true,
  "width": 72,
  "bell": false,
  "history": 100,
  "pager": "less",
  "prompt": ">"
}
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
brief)
  sed 's/"language"/"limit": 10,\n  "language"/' settings.json >new && mv new settings.json
  files="settings.json" ;;
chatty)
  sed 's/"pager"/"limit": 500,\n  "pager"/' settings.json >new && mv new settings.json
  files="settings.json" ;;
rename)
  sed 's/thanks(/thank_you(/' say_thanks.py >new && mv new say_thanks.py
  sed 's/import thanks/import thank_you/; s/thanks(/thank_you(/' say_reply.py >new && mv new say_reply.py
  files="say_thanks.py, say_reply.py" ;;
twice)
  printf 'from say_thanks import thanks\n\n\ndef twice(name):\n    return thanks(name) * 2\n' >say_twice.py
  files="say_twice.py" ;;
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
    "brief": "Set a limit of 10 in settings.json.",
    "chatty": "Set a limit of 500 in settings.json.",
    "rename": "Rename thanks() to thank_you(), callers too.",
    "twice": "Add a module that says thanks twice.",
}
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
    _make_repository(top, repository)
    click.echo(f"A throw-away repository: {repository}")
    click.echo("Eight units; the worker is a scripted stand-in (no account, no network), the rest is the real thing.")
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
        ("say_thanks.py", THANKS),
        ("say_reply.py", REPLY),
        ("settings.json", SETTINGS),
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
    from gitprun.cli.undo import render
    from gitprun.git.repo import find_repository
    from gitprun.landing.undo import undo
    from gitprun.ledger.ledger import Ledger

    repository = find_repository(top)
    place = Here(top, repository, Ledger(repository.state))
    click.echo("\n$ git prun run ../plan.toml")
    given = {"verify": (), "unit_rows": (), "paths": ()}
    plan, source = read_units(place, str(top.parent / "plan.toml"), given)
    run_and_report(place, plan, source=source, land=False, as_json=False)
    click.echo("\n$ git prun merge")
    land_names(place, (), as_json=False)
    _show_log(repository)
    states = _states(place)
    click.echo("\n$ cat todo.md          # two units added a line at the same place: united, nothing lost")
    click.echo((top / "todo.md").read_text().rstrip("\n"))
    aside = {pair: next((unit for unit in pair if states.get(unit) == "ready"), pair[0]) for pair in RIVALS}
    click.echo("\nThree pairs could not land both. All work of those set aside is kept:")
    for pair, why in RIVALS.items():
        click.echo(f"  {' and '.join(pair)} {why}: {aside[pair]} waits")
    as_meant = sorted(states.values()) == ["landed"] * 5 + ["ready"] * 3
    landed = repository.git.run("rev-parse", "main^{tree}").text
    click.echo("\n$ git prun undo          # take it all back ...")
    render(undo(repository, place.ledger), dry_run=False)
    as_meant = as_meant and set(_states(place).values()) == {"ready"}
    click.echo("\n$ git prun merge         # ... and land it again")
    land_names(place, (), as_json=False)
    as_meant = as_meant and repository.git.run("rev-parse", "main^{tree}").text == landed
    click.echo("\nWhere to look:")
    first = aside[next(iter(RIVALS))]
    for words in ("status", f"show {first}", f"diff {first}", f"resolve {first}", "log farewell", "undo --list"):
        click.echo(f"  cd {shlex.quote(str(top))} && {_program()} {words}")
    click.echo(f"Remove it all: rm -rf {shlex.quote(str(top.parent))}")
    return 0 if as_meant else 1


def _show_log(repository: Repository) -> None:
    click.echo("\n$ git log --graph --oneline")
    click.echo(repository.git.run("log", "--graph", "--oneline", "--no-decorate", "--no-color", "main").text)


def _states(place: Here) -> dict[str, str]:
    run = place.history().last
    return {unit.id: unit.state for unit in run.units.values()} if run else {}
