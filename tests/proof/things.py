"""What is the user's stays his, and what a worker left in no commit is still there when its workspace is gone."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

from tests.proof.plans import sh, write_plan
from tests.proof.rows import Row, Size
from tests.support.forker import Forker
from tests.support.repos import Repo, make_repo

_KEEP = "kept-by-all-means"
# What workers leave; in a linked worktree the user's stash is in their reach.
LEFT = {
    "ignored-file": f"echo {_KEEP} >.env",
    "ignored-folder": f"mkdir -p data/deep; echo {_KEEP} >data/deep/db",
    "only-in-the-index": f"echo {_KEEP} >s; git add s; rm s",
    "staged-then-changed": f"echo {_KEEP} >s; git add s; echo other >s",
    "on-a-branch-of-its-own": (
        f"git checkout -q -b own-$PRUN_UNIT; echo {_KEEP} >own; git add own; git commit -q -m own;"
        ' git checkout -q --detach "$PRUN_BASE"'
    ),
    "untracked-and-left-out": f"mkdir -p .aider.x; echo {_KEEP} >.aider.x/notes",
}
STASHED = ("git stash pop", "git stash apply", "git stash drop", "git stash clear", "git -c alias.x='stash pop' x")
GOING = (("remove", "u"), ("clean",), ("gc", "--workspaces"))


def things(folder: Path, size: Size) -> Row:
    """Do all of it in clones and linked worktrees, and let the workspace go in every way."""
    faults: list[str] = []
    cells = list(itertools.product(LEFT, ("clone", "worktree"), GOING))[:: 9 if size == "quick" else 1]
    stashes = STASHED[:: 4 if size == "quick" else 1]
    with Forker() as forker:
        for number, (name, kind, going) in enumerate(cells):
            said = _let_go(folder / str(number), forker, name, kind, going)
            faults += [f"{name}, {kind}, {' '.join(going)}: {fault}" for fault in said]
        for number, words in enumerate(stashes):
            faults += [f"{words}: {fault}" for fault in _take(folder / f"stash-{number}", forker, words)]
    return Row(
        trial=f"{len(cells)} x what is in no commit when its workspace goes; {len(stashes)} x the user's stash",
        must="the content is there, in an object or a file; stash, index, edits of the user as they were",
        found=f"{len(faults)} faults",
        faults=tuple(faults),
    )


def _user(folder: Path) -> Repo:
    """Make a repository with a stash older than git keeps reflogs, an edit, and something staged."""
    repo = make_repo(folder / "user", a_dot_txt="1\n", b_dot_txt="1\n", _dot_gitignore=".env\ndata/\n")
    old = {"GIT_COMMITTER_DATE": "1000000000 +0000", "GIT_AUTHOR_DATE": "1000000000 +0000"}
    repo.write("a.txt", "stashed\n")
    repo.git("stash", env=old)
    repo.write("b.txt", "edited\n")
    repo.write("c.txt", "staged\n")
    repo.git("add", "c.txt")
    return repo


def _state(repo: Repo) -> tuple[str, str, list[str]]:
    return repo.git("stash", "list", "-p"), repo.git("diff", "--cached"), repo.status()


def _run(repo: Repo, folder: Path, forker: Forker, script: str, kind: str) -> None:
    plan = write_plan(folder, {"u": sh(script, f'workspace = "{kind}"\n')})
    forker.run(repo.path, "run", str(plan))


def _let_go(folder: Path, forker: Forker, name: str, kind: str, going: tuple[str, ...]) -> list[str]:
    repo = _user(folder)
    before, faults = _state(repo), []
    _run(repo, folder, forker, LEFT[name], kind)
    said = forker.run(repo.path, *going)
    repo.git("gc", "-q", "--prune=now")
    if _state(repo) != before:
        faults.append("stash, index or edits of the user changed")
    if not (_in_objects(repo) or _in_files(folder)):
        faults.append(f"gone: {(said.out + said.err)[-300:]}")
    return faults


def _take(folder: Path, forker: Forker, words: str) -> list[str]:
    repo = _user(folder)
    repo.branch("other")
    before, faults = _state(repo), []
    _run(repo, folder, forker, f"{words} || echo refused; echo x >x", "worktree")
    forker.run(repo.path, "merge", "--into", "other", "u")
    if _state(repo) != before:
        faults.append("the stash, the index or edits of the user changed")
    if "stashed" in repo.git("show", "other:a.txt"):
        faults.append("what was stashed landed")
    return faults


def _in_objects(repo: Repo) -> bool:
    words = ["git", "cat-file", "--batch-all-objects", "--batch"]
    return _KEEP.encode() in subprocess.run(words, cwd=repo.path, capture_output=True, check=True).stdout


def _in_files(folder: Path) -> bool:
    plain = (place for place in folder.rglob("*") if place.is_file() and "output.log" not in place.name)
    return any(place.read_bytes().strip() == _KEEP.encode() for place in plain)
