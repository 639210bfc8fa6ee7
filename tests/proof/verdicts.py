"""Workers whose folder is not what was captured of it: a check that is green there says nothing of the tree."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.proof.rows import Row, Size
from tests.support.forker import Forker
from tests.support.repos import Repo, make_repo

# What every check asks for; in the tree of the unit it is not.
APP = "test ! -e app || . ./app"


@dataclass(frozen=True, slots=True)
class Way:
    """A way in which a place differs from its tree: what the worker does, and what its app then needs to be green."""

    worker: str
    app: str
    settings: str = ""
    config: tuple[tuple[str, str], ...] = ()


WAYS = {
    "ignored": Way("mkdir gen; echo x >gen/t", "test -e gen/t"),
    "ignored-by-itself": Way("mkdir own; echo '*' >own/.gitignore; echo x >own/t", "test -e own/t"),
    "too-large": Way("head -c 3000 /dev/zero >big", "test -e big", 'collect.max_file = "2KB"'),
    "secret": Way(
        "printf 'aws_secret_access_key = %s\\n' wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY >keys", "test -e keys"
    ),
    "outbox": Way("echo x >.prun/t", "test -e .prun/t"),
    "executable": Way("chmod +x .gitignore", "test -x .gitignore", config=(("core.fileMode", "false"),)),
    "nested-repository": Way(
        "git init -q lib; cd lib; git config user.name a; git config user.email a@b; echo x >t; git add t;"
        " git commit -qm t; cd ..",
        "test -e lib/t",
    ),
    "empty-folder": Way("mkdir empty", "test -d empty"),
    "copied-file": Way("echo good >.env", "grep -q good .env", 'workspace.copy = [".env"]'),
    "git-settings": Way("git config own.key value", 'test "$(git config own.key)" = value'),
    "git-tag": Way("git tag mark", "git rev-parse -q --verify refs/tags/mark"),
    "own-branch": Way("git branch mark", "git rev-parse -q --verify refs/heads/mark"),
    "hook": Way("mkdir -p .git/hooks; echo x >.git/hooks/pre-commit", "test -e .git/hooks/pre-commit"),
    "link-to-its-folder": Way('mkdir gen; echo x >gen/t; ln -s "$PWD/gen/t" lead', "test -e lead"),
    "fifo": Way("mkfifo pipe", "test -p pipe"),
}
MODES: dict[str, tuple[str, ...]] = {
    "one": ("maker",),
    "batch": ("maker", "other"),
    "one-by-one": ("--one-by-one", "other", "maker"),
    "after": ("maker", "other", "source"),
}


def verdicts(folder: Path, size: Size) -> Row:
    """Land each in each mode; afterwards a fresh clone of the target has to pass the check, and the others are in."""
    faults: list[str] = []
    landings = red = 0
    ways = list(WAYS)[:3] if size == "quick" else list(WAYS)
    with Forker() as forker:
        for name in ways:
            repo = _prepare(folder / name, WAYS[name])
            plan = _plan(folder / name, WAYS[name])
            said = forker.run(repo.path, "run", str(plan))
            if said.code != 0:
                faults.append(f"{name}: the check was not green where the worker was: {said.err[-300:]}")
            for mode, words in MODES.items():
                target = f"to-{mode}"
                repo.git("branch", target, "main")
                done = forker.run(repo.path, "merge", "--yes", "--into", target, *words)
                landings += 1
                there = set(repo.git("ls-tree", "--name-only", target).split())
                if done.code != 1 or "app" in there:
                    faults.append(f"{name}, {mode}: landed with exit code {done.code}: {done.err[-300:]}")
                else:
                    red += 1
                others = {"other", "source"} & set(words)
                if missing := others - there:
                    faults.append(f"{name}, {mode}: {', '.join(sorted(missing))} did nothing wrong and is not in")
                if mode == "after" and "made" not in there:
                    faults.append(f"{name}, {mode}: what the after command made did not land")
                if not _passes(repo, folder / f"{name}-{mode}", target):
                    faults.append(f"{name}, {mode}: a fresh clone of what landed is red")
    return Row(
        trial=f"{len(ways)} ways in which a worker's place differs from its tree x one, batch, one-by-one, after",
        must="what lands is green in a fresh clone, the innocent land",
        found=f"{landings} landings, {red} held the unit back, {len(faults)} faults",
        faults=tuple(faults),
    )


def _prepare(folder: Path, way: Way) -> Repo:
    folder.mkdir(parents=True)
    repo = make_repo(folder / "user", _dot_gitignore="gen/\n.env\n")
    repo.write(".env", "bad\n")
    for key, value in way.config:
        repo.git("config", key, value)
    repo.commit("settings", prun_dot_toml=f'run.verify = ["{APP}"]\n{way.settings}\n' + AFTER)
    return repo


AFTER = '[[hotspot]]\npath = "source"\nafter = ["cp source made; mkdir -p gen; echo x >gen/t"]\n'


def _plan(folder: Path, way: Way) -> Path:
    workers = {
        "maker": f"{way.worker}\necho '{way.app}' >app",
        "other": "echo x >other",
        "source": "echo x >source",
    }
    rows = [
        f'[[unit]]\nid = "{name}"\nprompt = "do it"\ncommand = ["sh", "-euc", \'\'\'{script}\'\'\']\n'
        for name, script in workers.items()
    ]
    path = folder / "plan.toml"
    path.write_text("run.retries = 0\n" + "\n".join(rows))
    return path


def _passes(repo: Repo, path: Path, branch: str) -> bool:
    repo.git("clone", "-q", "--branch", branch, str(repo.path), str(path))
    (path / ".env").write_text("bad\n")
    return subprocess.run(["sh", "-c", APP], cwd=path, check=False, capture_output=True).returncode == 0
