"""Every place from which a branch's content could become a program of the user: held, accepted, undone, met again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.proof.plans import sh, write_plan
from tests.proof.rows import Row, Size
from tests.support.cli import program_environment
from tests.support.forker import Forker
from tests.support.repos import Repo, make_repo

_HOOKS = "pre-commit commit-msg post-commit post-merge post-checkout post-index-change reference-transaction"


@dataclass(frozen=True, slots=True)
class Place:
    """One place: ``user`` is what the user has there (run in his checkout), ``worker`` what the branch writes.

    ``path`` is what would have to be accepted; empty where the place is only named. ``{mark}`` is a program that
    leaves its mark.
    """

    worker: str
    path: str = ""
    user: str = ""


def _hooks(folder: str) -> str:
    write = f"printf '#!/bin/sh\\n{{mark}}\\n' >{folder}/$hook; chmod +x {folder}/$hook"
    return f"mkdir -p {folder}; for hook in {_HOOKS}; do {write}; done"


def _hook(text: str, name: str = "pre-commit") -> str:
    return (
        f"mkdir -p .git/hooks; printf '#!/bin/sh\\n{text} || exit 0\\n' >.git/hooks/{name}; chmod +x .git/hooks/{name}"
    )


def _toml(text: str) -> Place:
    return Place(f"cat >prun.toml <<'EOF'\n{text}\nEOF\n", "prun.toml")


_RUN = '["sh", "-c", "{mark}"]'
PLACES = {
    "hooks-folder": Place(_hooks(".githooks"), ".githooks", "git config core.hooksPath .githooks"),
    "hooks-by-absolute-path": Place(
        _hooks("tools/hooks"), "tools/hooks", 'git config core.hooksPath "$PWD/tools/hooks"'
    ),
    "husky": Place(
        _hooks(".husky"),
        ".husky",
        "git config core.hooksPath .husky/_; mkdir -p .husky/_; echo '*' >.husky/_/.gitignore;"
        " for hook in post-merge pre-commit; do printf '#!/bin/sh\\nh=.husky/${0##*/}; [ ! -f $h ] || sh $h\\n'"
        " >.husky/_/$hook; chmod +x .husky/_/$hook; done",
    ),
    "linked-hook": Place(
        "mkdir -p tools; printf '#!/bin/sh\\n{mark}\\n' >tools/merged; chmod +x tools/merged",
        "tools/merged",
        "mkdir -p .git/hooks; ln -s ../../tools/merged .git/hooks/post-merge",
    ),
    "called-by-a-hook": Place(
        "mkdir -p tools; printf '#!/bin/sh\\n{mark}\\n' >tools/lint.sh; chmod +x tools/lint.sh",
        "tools/lint.sh",
        _hook("[ ! -x tools/lint.sh ] || ./tools/lint.sh", "post-merge"),
    ),
    "pre-commit": Place(
        "echo 'repos: []' >.pre-commit-config.yaml", ".pre-commit-config.yaml", _hook("pre-commit run")
    ),
    "lefthook": Place("echo 'pre-commit: []' >lefthook.yml", "lefthook.yml", _hook("lefthook run pre-commit")),
    "filter": Place(
        "echo '*.txt filter=own' >.gitattributes",
        ".gitattributes",
        "git config filter.own.smudge '{mark}; cat'; git config filter.own.clean '{mark}; cat'",
    ),
    "filter-below": Place(
        "mkdir -p deep; echo '*.txt filter=own' >deep/.gitattributes",
        "deep/.gitattributes",
        "git config filter.own.process '{mark}; cat'",
    ),
    "merge-driver": Place(
        "echo '*.txt merge=own' >.gitattributes", ".gitattributes", "git config merge.own.driver '{mark}; false'"
    ),
    "diff-driver": Place(
        "echo '*.txt diff=own' >.gitattributes", ".gitattributes", "git config diff.own.textconv '{mark}; cat'"
    ),
    "settings-included": Place(
        "printf '[core]\\n\\tfsmonitor = {mark}\\n' >.gitconfig", ".gitconfig", "git config include.path ../.gitconfig"
    ),
    "modules": Place(
        "printf '[submodule \"m\"]\\n\\tpath = m\\n\\turl = https://example.org/m\\n' >.gitmodules",
        ".gitmodules",
    ),
    "claude": Place("mkdir -p .claude; echo '{{}}' >.claude/settings.json", ".claude/settings.json"),
    "claude-below": Place("mkdir -p a/.claude; echo '{{}}' >a/.claude/settings.json", "a/.claude/settings.json"),
    "mcp": Place("echo '{{}}' >.mcp.json", ".mcp.json"),
    "codex": Place("mkdir -p .codex; echo 'x = 1' >.codex/config.toml", ".codex/config.toml"),
    "cursor": Place("mkdir -p .cursor; echo '{{}}' >.cursor/mcp.json", ".cursor/mcp.json"),
    "setup": _toml('[workspace]\nsetup = ["{mark}"]'),
    "after": _toml('[[hotspot]]\npath = "**"\nafter = ["{mark}"]'),
    "program": _toml(f'[executor.codex]\nprogram = "sh"\nargs = {_RUN}'),
    "environment": _toml('[executor.command]\nenv = {{ PATH = "/nowhere" }}'),
    "walls": _toml('[run]\nverify_sandbox = "none"'),
    "view": _toml('[run]\nverify_view = "none"'),
    "check": _toml('[run]\nverify = ["true"]'),
    "protected": Place(
        "mkdir -p ops; echo x >ops/x", "ops", "printf '[merge]\\nprotected = [\"ops/**\"]\\n' >prun.toml"
    ),
    "workflow": Place("mkdir -p .github/workflows; echo 'on: push' >.github/workflows/x.yml"),
    "tasks": Place("mkdir -p .vscode; echo '{{}}' >.vscode/tasks.json"),
    "direnv": Place("echo '{mark}' >.envrc"),
    "mise": Place("echo '[tasks]' >mise.toml"),
    "pre-commit-nobody-installed": Place("echo 'repos: []' >.pre-commit-config.yaml"),
    "lefthook-nobody-installed": Place("echo 'pre-commit: []' >lefthook.yml"),
    "husky-nobody-installed": Place(_hooks(".husky")),
}


@dataclass(slots=True)
class Trial:
    """One place in a repository of its own, and what its programs leave."""

    name: str
    place: Place
    repo: Repo
    fired: Path
    state: Path
    forker: Forker

    def do(self, *words: str) -> tuple[int, str]:
        """Run one command; give its exit code and all it said."""
        said = self.forker.run(self.repo.path, *words, env={"XDG_STATE_HOME": str(self.state)})
        return said.code, said.out + said.err

    def ran(self) -> list[str]:
        """List which programs ran, and forget it."""
        found = sorted(os.listdir(self.fired))
        for name in found:
            (self.fired / name).unlink()
        return found

    def faults(self) -> Iterator[str]:
        """Land, accept, undo, bring back and begin the next run; say what was not as it must be."""
        place, repo = self.place, self.repo
        code, said = self.do("run", str(self._plan("planter", place.worker)))
        yield from self._quiet("run", [0], code, said)
        main = repo.head
        if place.path:
            code, said = self.do("merge", "planter")
            yield from self._quiet("landing", [1], code, said)
            if repo.head != main or f"--accept {place.path}" not in said:
                yield f"landing: not held by name: {said[-300:]}"
            code, said = self.do("merge", "--accept", place.path, "planter")
        else:
            code, said = self.do("forecast", "planter")
            yield from self._quiet("forecast", [0], code, said)
            if "changes what starts programs elsewhere" not in said:
                yield f"forecast: not named: {said[-300:]}"
            code, said = self.do("merge", "planter")
        yield from self._quiet("accepted landing", [0], code, said)
        yield from self._quiet("undo", [0], *self.do("undo"))
        yield from self._quiet("undo --redo", [0], *self.do("undo", "--redo"))
        yield from self._quiet("undo again", [0], *self.do("undo"))
        if place.path == "prun.toml":
            # Somebody else brings it in: nobody here has accepted it.
            self.state = self.state.with_name("nothing-accepted")
            repo.git("merge", "-q", "--no-ff", "-m", "by hand", "refs/prun/r1/planter")
            asks = self.name not in ("check", "program", "after")
            code, said = self.do("run", str(self._plan("next", "echo x >next")))
            yield from self._quiet("next run", [128] if asks else [0], code, said)
            if asks and "git prun trust" not in said:
                yield f"next run: says nothing of git prun trust: {said[-300:]}"

    def _quiet(self, step: str, codes: list[int], code: int, said: str) -> Iterator[str]:
        ran = self.ran()
        # A filter of the user's that he accepted lays out the files it was accepted for, as git merge has it do; git
        # also asks it whether a file is as it was, wherever file and index were written in one second.
        if ran and not (self.name == "filter" and step not in ("run", "landing")):
            yield f"{step}: the planted program ran"
        if code not in codes:
            yield f"{step}: exit code {code}: {said[-300:]}"

    def _plan(self, unit: str, script: str) -> Path:
        folder = self.repo.path.parent / unit
        folder.mkdir()
        return write_plan(folder, {unit: sh(_marked(script, self.fired))})


def _marked(script: str, fired: Path) -> str:
    return script.replace("{mark}", f"touch {fired}/it").replace("{{", "{").replace("}}", "}")


def _prepare(folder: Path, name: str, forker: Forker) -> Trial:
    repo, fired = make_repo(folder / "user", a_dot_txt="1\n"), folder / "fired"
    fired.mkdir()
    script = _marked(PLACES[name].user, fired)
    subprocess.run(["sh", "-euc", script], cwd=repo.path, env=program_environment(), check=True)
    if repo.status():
        repo.git("add", "-A")
        repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "what the user has")
    return Trial(name, PLACES[name], repo, fired, folder / "state", forker)


def trust(folder: Path, size: Size) -> Row:
    """Try every place in a repository of its own."""
    names = list(PLACES)[:: 8 if size == "quick" else 1]
    faults: list[str] = []
    with Forker() as forker:
        for name in names:
            faults += [f"{name}: {fault}" for fault in _prepare(folder / name, name, forker).faults()]
    held = sum(bool(PLACES[name].path) for name in names)
    return Row(
        trial=f"{len(names)} places whose content becomes a program of the user x landing, undo, redo, next run",
        must="held or named as its grade says; no planted program runs by any of these",
        found=f"{held} held by name, {len(names) - held} named, {len(faults)} faults",
        faults=tuple(faults),
    )
