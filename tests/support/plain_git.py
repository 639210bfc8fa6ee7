"""What ``git init``, ``git add -A`` and ``git commit`` write in a plain repository, without starting git three times.

Tests make thousands of small repositories. Whatever is not entirely plain (settings, hooks, attributes, ignored files,
a merge under way, another identity) is left to git itself; a test holds what this writes against what git writes.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path

import pygit2

from gitprun.git.repo import Repository

# Said by the seal: they change nothing that is written here.
CALM = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
}
WHO = tuple(f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE"))
# What git looks for when it adds files or commits, below .git and in a checkout.
BUSY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer", "shallow")
BUSY_INFO = {"attributes", "grafts", "sparse-checkout"}
SPECIAL = {".git", ".gitattributes", ".gitignore", ".gitmodules"}
# Who commits is said by the environment; a user's name in the settings changes nothing.
NAMED = re.compile(rb"\[user\]\n(?:\t(?:name|email) = [^\n]*\n)*")
# Nothing that git would tidy up in a message.
TIDY = re.compile(r"[^\s#][^\n]*(?<!\s)(?:\n\n?[^\s#][^\n]*(?<!\s))*")
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
# A larger tree is quicker with git.
FILES = 100


def init_plainly(path: Path) -> bool:
    """Make a repository on ``main`` in an empty folder as ``git init`` does; False if git has to do it."""
    if not _calm() or os.listdir(path):
        return False
    folders, files = _fresh(_mask())
    for name, mode in folders:
        os.mkdir(path / name)
        os.chmod(path / name, mode)
    for name, mode, content in files:
        with open(path / name, "wb") as file:
            file.write(content)
        os.chmod(path / name, mode)
    return True


def find_plainly(path: Path) -> Repository | None:
    """Find a plain repository as ``find_repository`` does; None if git has to be asked."""
    git = path / ".git"
    if not (_calm() and git.is_dir() and (git / "HEAD").is_file() and os.path.realpath(git) == str(git)):
        return None
    fresh = {name: content for name, _, content in _fresh(_mask())[1]}
    same = NAMED.sub(b"", (git / "config").read_bytes()) == fresh[".git/config"]
    return Repository(path, git, git) if same and git.stat().st_uid == os.geteuid() else None


def commit_plainly(path: Path, message: str) -> str | None:
    """Commit everything in a checkout as ``git add -A`` and ``git commit`` do; None if git has to do it."""
    git = path / ".git"
    if not (_calm() and TIDY.fullmatch(message) and _plain(git)):
        return None
    names = _walk(path)
    identities = [_identity(role) for role in ("AUTHOR", "COMMITTER")]
    if names is None or None in identities:
        return None
    author, committer = (one for one in identities if one is not None)
    pygit2.settings.enable_fsync_gitdir(False)
    try:
        repo = pygit2.Repository(str(git))
        if repo.head_is_detached or repo.index.conflicts is not None:
            return None
        for name in {entry.path for entry in repo.index} - names:
            repo.index.remove(name)
        for name in sorted(names):
            repo.index.add(name)
        tree = repo.index.write_tree()
        branch = str(repo.lookup_reference("HEAD").target)
        parents = [] if repo.head_is_unborn else [repo.head.target]
        oid = str(repo.create_commit(None, author, committer, f"{message}\n", tree, parents))
        repo.index.write()
    except (pygit2.GitError, UnicodeError, OSError):
        return None
    finally:
        pygit2.settings.enable_fsync_gitdir(True)
    (git / "COMMIT_EDITMSG").write_text(f"{message}\n")
    kind = "commit" if parents else "commit (initial)"
    who = f"{committer.name} <{committer.email}> {committer.time} +0000"
    line = f"{parents[0] if parents else '0' * 40} {oid} {who}\t{kind}: {message.partition(chr(10))[0]}\n"
    for name in ("HEAD", branch):
        (git / "logs" / name).parent.mkdir(parents=True, exist_ok=True)
        with open(git / "logs" / name, "a") as log:
            log.write(line)
    (git / branch).parent.mkdir(parents=True, exist_ok=True)
    # As git does it: whoever reads sees the old one or the new one.
    with open(f"{git / branch}.lock", "x") as lock:
        lock.write(f"{oid}\n")
    os.rename(f"{git / branch}.lock", git / branch)
    return oid


def resolve_plainly(path: Path, revision: str) -> pygit2.Object | None:
    """Find the object ``git rev-parse --verify`` names; None if git has to say it, or why there is none."""
    if not _calm():
        return None
    try:
        return pygit2.Repository(str(path)).revparse_single(revision)
    except (pygit2.GitError, KeyError, ValueError):
        return None


def read_files(tree: pygit2.Tree, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and contents of all files of a tree in git's order, contents without the last line ends."""
    for entry in tree:
        name = f"{above}{entry.raw_name.decode('utf-8', 'surrogateescape')}"
        if isinstance(entry, pygit2.Tree):
            yield from read_files(entry, f"{name}/")
        else:
            assert isinstance(entry, pygit2.Blob), f"{name} is no file"
            yield name, entry.data.decode("utf-8", "surrogateescape").rstrip("\n")


def _calm() -> bool:
    """Check whether no variable tells git anything but who commits and when."""
    return all(
        CALM.get(name) == value or name in WHO for name, value in os.environ.items() if name.startswith("GIT_")
    ) and all(name in os.environ for name in (*CALM, *WHO))


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@cache
def _fresh(mask: int) -> tuple[list[tuple[str, int]], list[tuple[str, int, bytes]]]:
    """Give the folders and files that git makes for a new repository, by name and mode."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="fresh-") as place:
        top = Path(place)
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=top, check=True, umask=mask)
        found = sorted(top.rglob("*"))
        folders = [(str(one.relative_to(top)), one.stat().st_mode & 0o7777) for one in found if one.is_dir()]
        files = [
            (str(one.relative_to(top)), one.stat().st_mode & 0o7777, one.read_bytes())
            for one in found
            # Fourteen more files in each of thousands of repositories, and no git reads them.
            if one.is_file() and one.suffix != ".sample"
        ]
        return folders, files


def _plain(git: Path) -> bool:
    """Check whether a git folder is as new, but for commits."""
    if not git.is_dir():
        return False
    fresh = {name: content for name, _, content in _fresh(_mask())[1]}
    here = {*os.listdir(git)}
    if here.intersection(BUSY) or "index.lock" in here or "hooks" not in here or "info" not in here:
        return False
    if any(not name.endswith(".sample") for name in os.listdir(git / "hooks")):
        return False
    if BUSY_INFO.intersection(os.listdir(git / "info")):
        return False
    if "index" in here and (git / "index").read_bytes()[4:8] != b"\0\0\0\2":
        return False
    exclude = git / "info" / "exclude"
    return (
        exclude.exists()
        and exclude.read_bytes() == fresh[".git/info/exclude"]
        and NAMED.sub(b"", (git / "config").read_bytes()) == fresh[".git/config"]
    )


def _walk(top: Path) -> set[str] | None:
    """Name the files of a checkout; None if there is anything among them that git looks at with more than one eye."""
    names: set[str] = set()
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(top / folder) as entries:
            for entry in entries:
                name = f"{folder}{entry.name}"
                if entry.name.lower() in SPECIAL:
                    if name != ".git":
                        return None
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(f"{name}/")
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    names.add(name)
                else:
                    return None
        if len(names) > FILES:
            return None
    return names


def _identity(role: str) -> pygit2.Signature | None:
    """Read who and when from the environment; None if git has to understand it."""
    name, email, when = (os.environ[f"GIT_{role}_{what}"] for what in ("NAME", "EMAIL", "DATE"))
    if not (DATE.fullmatch(when) and re.fullmatch(r"[\w ]+", name) and re.fullmatch(r"[\w.@]+", email)):
        return None
    return pygit2.Signature(name, email, int(datetime.fromisoformat(when).timestamp()), 0)
