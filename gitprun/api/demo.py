"""The throw-away repository of the demo: its files, the plan of eight units, the script that stands in for an agent."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from gitprun.model.errors import PrunError

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
  printf 'def twice(name):\n    import say_thanks\n\n    return say_thanks.thanks(name) * 2\n' >say_twice.py
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


def make_repository(top: Path, repository: Path) -> None:
    """Make the repository, and beside it the plan and the script; raises PrunError where something is there already."""
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


def read_git(top: Path, *words: str) -> str:
    """Return what git says in the throw-away repository."""
    from gitprun.git.command import Git

    return Git(cwd=top).run(*words).text
