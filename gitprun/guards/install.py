"""Where hooks lie and how they get there: a user's own hook is kept, called, and given back."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gitprun.git.repo import Repository
from gitprun.model.errors import OperationRefused
from gitprun.system.files import read_plain, write_whole

GUARDS: Final[dict[str, str]] = {
    "reference-transaction": "a worker in a linked worktree makes, moves and deletes no refs, so it cannot commit",
    "pre-push": "a worker pushes nothing",
    "pre-commit": "a worker is told earlier that it cannot commit",
}
GATES: Final[dict[str, str]] = {
    "pre-merge-commit": "your own git merge is refused while it is dirty, in the way of a live unit, or suspect",
    "commit-msg": "a merge message loses git's list of conflicts; one that names another branch is refused",
}
HOOKS: Final[dict[str, str]] = {**GUARDS, **GATES}
USUAL = ("reference-transaction", "pre-push")
BEFORE = ".before-prun"
# A hook that is larger is a compiled program, whose text says nothing.
MOST = 4_000_000

State = Literal["absent", "installed", "edited", "other"]

_MARKS = (b"# Keeps a worker of git prun away from history.", b"# Looks at your own merges for git prun.")
_PYTHON = re.compile(rb"^python=.*$", re.MULTILINE)
# A hook that asks for its own name, or lets a file beside it do so, would not know itself under another one.
_LOOKS_AT_NAME = re.compile(
    rb"basename|0##\*/|argv\[0\]|PROGRAM_NAME|__FILE__|__file__|^[ \t]*(?:\.|source)[ \t]+[^\n]*\$0", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class HooksFolder:
    """The folder git looks for hooks in; ``shared`` says why others would get them too (empty: nobody would)."""

    path: Path
    shared: str = ""


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook as it is now; ``chained`` tells that a hook of the user's is called after ours."""

    name: str
    path: Path
    state: State
    chained: bool

    @property
    def before(self) -> Path:
        """Name the place where the user's hook is kept."""
        return self.path.with_name(self.name + BEFORE)


def hooks_source() -> Path:
    """Find the folder with our hooks: inside the installed package, or at the top of the source tree."""
    package = Path(__file__).parents[1]
    return next(
        (folder for folder in (package / "_hooks", package.parent / "hooks") if (folder / "pre-push").is_file()),
        package / "_hooks",
    )


def claude_guard() -> str:
    """Return the command Claude Code runs before each use of its shell tool; empty if it is not there."""
    guard = hooks_source() / "claude-guard"
    if not guard.is_file():
        return ""
    return f"PRUN_PYTHON={shlex.quote(sys.executable)} sh {shlex.quote(str(guard))}"


def read_hooks_folder(repository: Repository) -> HooksFolder:
    """Ask git where hooks lie here, core.hooksPath included; raises Refused where hooks are switched off."""
    git = repository.git
    path = Path(os.fsdecode(git.run("rev-parse", "--path-format=absolute", "--git-path", "hooks").out[:-1]))
    if os.path.lexists(path) and not path.is_dir():
        raise OperationRefused(
            f"hooks are switched off here: core.hooksPath is {path}", "git config --unset core.hooksPath"
        )
    top = repository.top
    if top is not None and path.resolve().is_relative_to(top.resolve()) and not path.is_relative_to(repository.common):
        tracked = git.run("ls-files", "-z", "--", str(path)).out
        ignored = git.run("check-ignore", "--quiet", f"{path}/x", ok=(0, 1, 128)).code == 0
        if tracked or not ignored:
            return HooksFolder(path, "its files are part of your repository")
    elif not path.resolve().is_relative_to(repository.common.resolve()):
        return HooksFolder(path, "it lies outside of this repository, and others may use it")
    return HooksFolder(path)


def read_hook(folder: Path, name: str) -> Hook:
    """Return what stands at a hook's place."""
    path = folder / name
    content = read_plain(path, MOST)
    if not os.path.lexists(path):
        state: State = "absent"
    elif content is not None and _PYTHON.sub(b"python=", content) == shipped(name):
        state = "installed"
    else:
        state = "edited" if content is not None and any(mark in content for mark in _MARKS) else "other"
    return Hook(name, path, state, os.path.lexists(path.with_name(name + BEFORE)))


def is_gate_alone(folder: Path, name: str) -> bool:
    """Check whether a hook is one of our gates, with no hook of the user's to be called after it."""
    if name not in GATES:
        return False
    hook = read_hook(folder, name)
    return hook.state == "installed" and not hook.chained


def shipped(name: str) -> bytes:
    """Read our hook as it ships."""
    return (hooks_source() / name).read_bytes()


def require_installable(folder: HooksFolder, hook: Hook, *, force: bool) -> None:
    """Refuse what could hurt: shared folders, hooks that look at their own name, a kept hook already there."""
    if folder.shared and not force:
        raise OperationRefused(
            f"{folder.path} is where core.hooksPath points, and {folder.shared}",
            "--force installs there all the same",
        )
    if hook.state == "edited" and not force:
        raise OperationRefused(
            f"{hook.path} is a hook of git prun that was edited, or is of another version",
            f"--force moves it to {hook.name}.edited and installs this version",
        )
    if hook.state != "other":
        return
    if hook.chained:
        raise OperationRefused(
            f"{hook.before} is already there, and {hook.path} is not ours", "one of the two has to go first"
        )
    content = (read_plain(hook.path.resolve(), MOST) or b"\0") if not force else b""
    if b"\0" in content or _LOOKS_AT_NAME.search(content):
        raise OperationRefused(
            f"{hook.path} looks at its own name or is no script, so it may not work when called as {hook.before.name}",
            f"--force chains it all the same; or let it call: git-prun hook {hook.name}",
        )


def install_hook(hook: Hook) -> None:
    """Put our hook in its place; at no moment is there no hook where the user had one."""
    hook.path.parent.mkdir(parents=True, exist_ok=True)
    if hook.state == "other":
        # A link and no move: until ours replaces it the user's hook stands where git looks.
        try:
            os.link(hook.path, hook.before, follow_symlinks=False)
        except (OSError, NotImplementedError):
            os.rename(hook.path, hook.before)
    elif hook.state == "edited":
        os.replace(hook.path, hook.path.with_name(f"{hook.name}.edited"))
    python = b"python=" + os.fsencode(shlex.quote(sys.executable))
    write_whole(hook.path, _PYTHON.sub(lambda _: python, shipped(hook.name), count=1), mode=0o755)


def uninstall_hook(hook: Hook, *, force: bool) -> None:
    """Take our hook away and give the user's back, byte for byte; raises Refused for one that was edited."""
    if hook.state == "edited":
        if not force:
            raise OperationRefused(
                f"{hook.path} was edited, or is of another version", f"--force moves it to {hook.name}.edited"
            )
        os.replace(hook.path, hook.path.with_name(f"{hook.name}.edited"))
    if hook.chained:
        os.replace(hook.before, hook.path)
    elif hook.state == "installed":
        hook.path.unlink()
