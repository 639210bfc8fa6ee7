"""Trials of the view of checks, to be run by root and by a plain user alike: ``python -m tests.support.views``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.repo import find_repository
from gitprun.model.names import Oid
from gitprun.model.plan import Settings
from gitprun.system.files import folder_identity
from gitprun.verify.check import run_shell
from gitprun.verify.surroundings import ConfinementRequest, Surroundings, surroundings
from gitprun.verify.view import view_for
from gitprun.workspaces.base import provide
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.worktree import make_worktree

KINDS = ("clone", "worktree", "inside")
FILES = {
    ".gitignore": ".env\n.venv\n/node_modules\nnode_modules\n/dist\n/ws\n/app/deps\n",
    "src/app.py": "VALUE = 'main'\n",
    "packages/lib/index.txt": "main\n",
    "data.txt": "main\n",
    "a.sh": "echo main\n",
}
IGNORED = {
    ".venv/pyvenv.cfg": "home = /usr/bin\n",
    "dist/bundle.txt": "built of main\n",
    "app/deps/one.txt": "dep\n",
}
WORK = {
    "src/app.py": "VALUE = 'unit'\n",
    "packages/lib/index.txt": "unit\n",
    "data.txt": "unit\n",
    "a.sh": "echo unit\n",
}


def git(folder: Path, *words: str) -> str:
    """Run git as somebody."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(
        ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@dataclass(slots=True)
class Trial:
    """A checkout with installations that lead back into it, and a workspace with a unit's work."""

    folder: Path
    kind: str
    settings: Settings = field(
        default_factory=lambda: Settings(link=(".venv", "node_modules", "app/deps"), copy=(".env",))
    )
    place: Path = Path()

    @property
    def checkout(self) -> Path:
        """Name the user's checkout."""
        return self.folder / "repo"

    def make(self) -> Trial:
        """Make both, as prun does."""
        write(self.checkout, FILES)
        git(self.folder, "init", "-q", "-b", "main", str(self.checkout))
        git(self.checkout, "add", ".")
        git(self.checkout, "commit", "-qm", "one")
        write(self.checkout, IGNORED)
        write(
            self.checkout,
            {".venv/lib/site/app.pth": f"{self.checkout}/src\n", ".env": f"DATA={self.checkout}/data.txt\n"},
        )
        (self.checkout / "node_modules/@w").mkdir(parents=True)
        (self.checkout / "node_modules/@w/lib").symlink_to("../../packages/lib")
        (self.checkout / "node_modules/whole").symlink_to(self.checkout / "packages/lib")
        repository = find_repository(self.checkout)
        root = self.checkout / "ws" if self.kind == "inside" else self.folder / "repo.prun"
        self.place, commit = root / "r1" / "u", Oid(git(self.checkout, "rev-parse", "HEAD"))
        if self.kind == "worktree":
            made = make_worktree(repository, self.place, commit, "unit")
        else:
            made = make_clone(read_source(repository), self.place, commit, "unit")
        assert made.path == self.place
        _, notes = provide(repository.top, self.place, self.settings.copy or (), self.settings.link or ())
        assert notes == []
        write(self.place, WORK)
        return self

    def make_tracked(self) -> Trial:
        """Make both, with names that are to be linked and are tracked, so that the workspace has its own."""
        made = self.settings
        self.settings = Settings()
        self.make()
        self.settings = made
        return self

    @contextmanager
    def around(self, *, confined: bool, own_files: bool = True) -> Iterator[Surroundings]:
        """Make what checks run in."""
        view = view_for(find_repository(self.checkout), self.settings)
        wish = ConfinementRequest(confined=confined, why="nobody asked", own_files=own_files)
        with surroundings(wish, self.place, self.place.parent / ".tmp" / "u", {}, view=view) as made:
            yield made

    def say(self, around: Surroundings, command: str) -> str:
        """Run a command as a check; give what it said, with its exit code where that is not 0."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        env = f"R={self.checkout}; W={self.place}; "
        ended = run_shell(env + command, self.place, around, log=log, timeout=60.0, stop=None)
        said = log.read_text(errors="replace").strip().replace(str(self.folder), "DIR")
        return said if ended.code == 0 else f"{ended.detail or ended.shell_code}: {said}"


QUESTIONS = {
    ".pth": "PYTHONDONTWRITEBYTECODE=1 python3 -c"
    " \"import site; site.addsitedir('.venv/lib/site'); import app; print(app.VALUE)\"",
    "node_modules": "cat node_modules/@w/lib/index.txt node_modules/whole/index.txt",
    ".env": ". ./.env; cat $DATA",
    "a program": "sh $R/a.sh",
    "main's build": "test ! -e $R/dist && echo not there",
    "kept": "cat $R/.venv/pyvenv.cfg $R/app/deps/one.txt",
    "kept is not written": "{ echo bad >$R/.venv/new; echo bad >$R/app/deps/new; } 2>/dev/null;"
    " ls $R/.venv $R/app/deps",
    "git folder": "git -C $R log --format=%s; git -C $R config x.y z 2>/dev/null || echo refused",
    "written": "echo w >$R/data.txt; echo n >$R/new.txt; mkdir -p $R/made/deep; echo d >$R/made/deep/f; cat data.txt",
    "and found": "cat new.txt made/deep/f $R/new.txt; echo x >.env.new && mv .env.new $R/.env; cat $R/.env",
    "in the place": "cat .env",
    "cd": "cd $R && cat src/app.py && pwd && ls app",
    "own path": "echo own >$W/own.txt; cat own.txt; git log --format=%s",
    "then seen": "cat $R/own.txt",
}
ANSWERS = {
    ".pth": "unit",
    "node_modules": "unit\nunit",
    ".env": "unit",
    "a program": "unit",
    "main's build": "not there",
    "kept": "home = /usr/bin\ndep",
    "kept is not written": "DIR/repo/.venv:\nlib\npyvenv.cfg\n\nDIR/repo/app/deps:\none.txt",
    "git folder": "one\nrefused",
    "written": "w",
    "and found": "n\nd\nn\nx",
    "in the place": "x",
    "cd": "VALUE = 'unit'\nDIR/repo\ndeps",
    "own path": "own\none",
    "then seen": "own",
    "git": "src/app.py\ncommit\nunit",
    "shown": True,
    "changed": [],
    "left": ["u"],
}
# What a check in a linked worktree does with git goes nowhere, and does not fail.
GIT = (
    "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;"
    ' git add src; git diff --cached --name-only; test -n "$(git stash create)";'
    " git cat-file -t $(git commit-tree -m x HEAD^{tree}); git rev-parse --abbrev-ref HEAD"
)


def trial(folder: Path, kind: str, *, confined: bool) -> dict[str, object]:
    """Ask all questions, and tell whether anything of the user's changed."""
    one = Trial(folder, kind).make()
    before = snapshot(one)
    with one.around(confined=confined) as around:
        answers: dict[str, object] = {name: one.say(around, text) for name, text in QUESTIONS.items()}
        answers["git"] = one.say(around, GIT)
        answers["shown"] = around.shown is not None
    answers["changed"] = sorted(name for name, about in snapshot(one).items() if before.get(name) != about)
    answers["left"] = [path.name for path in one.place.parent.iterdir()]
    return answers


def snapshot(one: Trial) -> dict[str, tuple[int, int]]:
    """Take down all of the checkout but the workspace that may lie in it."""
    found = {}
    for path in one.checkout.rglob("*"):
        about, name = path.lstat(), str(path.relative_to(one.checkout))
        if not path.is_dir() and not name.startswith("ws/"):
            found[name] = (about.st_mtime_ns, about.st_size)
    assert folder_identity(one.checkout) is not None
    return found


if __name__ == "__main__":
    place, asked, walls = sys.argv[1:4]
    os.umask(0o022)
    print(json.dumps(trial(Path(place), asked, confined=walls == "True")))
