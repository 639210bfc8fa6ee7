"""The pages of the documentation, taken apart: fenced blocks, command lines, links; and a place to run them in."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from gitprun.cli.main import COMMANDS, cli
from tests.support.cli import ROOT, Said
from tests.support.repos import make_repo

PAGES = (ROOT / "README.md", *sorted((ROOT / "references").glob("*.md")), ROOT / "gitprun" / "skill" / "SKILL.md")

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_CALL = re.compile(r"\bgit[ -]prun((?:[ ]|$).*)")
_ENDS = re.compile(r"\s(?:\|{1,2}|&&|&|>|>>|2>&1|2>|<)(?:\s|$)|;|\$\(|\)(?:\s|$)")
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; ``file`` is the name in its first line where that is a comment such as ``# plan.toml``."""

    language: str
    text: str

    @property
    def file(self) -> str:
        """Name the file that the block shows."""
        found = re.match(r"#\s+([\w./-]+\.(?:toml|md))\n", self.text)
        return found[1] if found else ""


def blocks_of(page: Path) -> list[Block]:
    """List the fenced blocks of a page."""
    return [Block(found["language"], found["text"]) for found in _FENCE.finditer(page.read_text())]


def links_of(page: Path) -> list[str]:
    """List what a page links to inside the repository."""
    prose = _FENCE.sub("", page.read_text())
    return re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", prose)


def calls_of(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Give every command line of ours in a page, as it stands and as words; in blocks and in code in the prose."""
    text = page.read_text()
    pieces = [line for block in blocks_of(page) for line in block.text.replace("\\\n", " ").split("\n")]
    pieces += _SPAN.findall(_FENCE.sub("", text).replace("\\|", "|"))
    for piece in pieces:
        for found in _CALL.finditer(piece):
            line = _ENDS.split(found[1], maxsplit=1)[0]
            yield piece.strip(), _words(line)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return line.split()


def spoken_of(page: Path) -> set[str]:
    """Give the words that follow our name in the prose, outside of code."""
    prose = _SPAN.sub(" ", _FENCE.sub("", page.read_text()))
    return set(re.findall(r"\bgit[ -]prun ([a-z][\w-]*)", prose))


def complaint(words: list[str]) -> str:
    """Say what is wrong with a command line: no such command, no such option. Empty: nothing."""
    command: click.Command = cli
    for word in words:
        # What follows a bare -- is no option; usage lines write optional words in brackets.
        if word == "--":
            break
        if word.strip("[").startswith("-") and word != "-":
            for option in _OPTION.findall(word):
                if option not in _options(command):
                    return f"{command.name} has no option {option}"
        elif isinstance(command, click.Group) and word.strip("[]|.") and not word.isupper():
            found = command.get_command(click.Context(command), word)
            if found is None:
                return f"{word} is no command of {command.name}"
            command = found
    return ""


def _options(command: click.Command) -> set[str]:
    known = {"--help", "-h"}
    for parameter in command.params:
        known |= {*parameter.opts, *parameter.secondary_opts}
    return known


def prepare_place(folder: Path) -> tuple[Path, dict[str, str]]:
    """Make the repository the pages speak of, and an environment with git-prun and stand-ins for other programs."""
    repo = make_repo(
        folder / "app",
        README_dot_md="# app\n",
        todo_dot_md="# To do\n\n- [ ] reports\n",
        _dot_gitignore="node_modules/\n.env\n",
        check_dot_sh="test -f README.md\n",
        src__app_dot_txt="one\n",
        **{f"prompts__{name}_dot_md": f"# Make the {name}\n\nWrite it.\n" for name in ("reports", "search", "survey")},
    )
    programs = folder / "programs"
    programs.mkdir()
    shim = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m gitprun "$@"\n'
    quiet = '#!/bin/sh\necho "1 passed"\n'
    for name, text in {
        "git-prun": shim,
        "codex": CODEX,
        "claude": CLAUDE,
        **dict.fromkeys(("npx", "cargo", "go", "pytest", "mypy", "ruff", "make"), quiet),
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    temporary = folder / "tmp"
    temporary.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(temporary)}
    return repo.path, env


def script_of(page: Path) -> str:
    """Write the blocks of a page as one script: commands as they are, named TOML and Markdown files as files."""
    parts = []
    for block in blocks_of(page):
        if block.language == "sh":
            parts.append(block.text)
        elif block.language in ("toml", "markdown") and block.file:
            folder = os.path.dirname(block.file) or "."
            parts.append(f"mkdir -p {folder}; cat >{block.file} <<'END_OF_BLOCK'\n{block.text}END_OF_BLOCK\n")
    return "\n".join(parts)


def run_script(script: str, folder: Path) -> Said:
    """Run a page's script; its trace stands on stderr."""
    place, env = prepare_place(folder)
    done = subprocess.run(
        ["sh", "-eux", "-c", script],
        cwd=place,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def names_of_commands() -> set[str]:
    """Name every command there is."""
    return set(COMMANDS)


_WORK = """
unit=${PRUN_UNIT:-demo}
cat >/dev/null
files=none
if [ -e .git ]; then
  mkdir -p "src/$unit"
  echo "made for $unit" >"src/$unit/made.txt"
  files=src/$unit/made.txt
fi
if [ -n "${PRUN_RESULT-}" ]; then
  printf '# %s result\\nConclusion: done\\nFiles: %s\\nOpen items: none\\nVerification: none\\n' \\
    "$unit" "$files" >"$PRUN_RESULT"
fi
"""
CODEX = f"""#!/bin/sh
# Stands in for codex: does a small piece of work and prints the events codex would print.
if [ "${{1-}}" != exec ]; then echo "codex-cli 0.171.0"; exit 0; fi
{_WORK}
echo '{{"type":"thread.started","thread_id":"019a0000-0000-7000-8000-000000000001"}}'
echo '{{"type":"turn.started"}}'
echo '{{"type":"item.completed","item":{{"id":"item_0","type":"agent_message","text":"done"}}}}'
echo '{{"type":"turn.completed","usage":{{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}}}'
"""
CLAUDE = f"""#!/bin/sh
# Stands in for claude -p.
{_WORK}
echo '{{"type":"system","subtype":"init","session_id":"s-1","model":"sonnet"}}'
echo '{{"type":"result","subtype":"success","is_error":false,"num_turns":1,"stop_reason":"end_turn","result":"done"}}'
"""
