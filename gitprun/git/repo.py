"""Find the repository a command was called in, and read what is said about it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.revision import require_one_ref
from gitprun.git.stale import COMMONDIR
from gitprun.model.errors import GitFailed, OperationRefused, PrunError, first_words
from gitprun.model.names import Oid, parse_oid
from gitprun.system.files import read_plain
from gitprun.system.sharing import parse_sharing

# No one writes so much; only what is no settings file at all is larger, and it is not read into memory.
_MOST_CONFIG = 16 << 20


class NoRepository(PrunError):
    """The current folder is in no repository git can use."""


class NoCommit(PrunError):
    """A revision names no commit."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository lies: ``top`` is the checkout we were called in (None: bare), ``common`` its shared folder.

    ``beside`` is the folder whose ``.git`` led there although git calls the repository bare.
    """

    top: Path | None
    git_dir: Path
    common: Path
    beside: Path | None = field(default=None, compare=False)

    @property
    def git(self) -> Git:
        """Return git for the user's own repository, with the user's configuration."""
        return Git(cwd=self.top or self.common)

    @property
    def state(self) -> Path:
        """Name the folder that holds everything prun remembers."""
        return self.common / "prun"

    @property
    def trusted(self) -> Path:
        """Name the folder that is there once workers shared the settings (see ``gitprun.observe.safe_mode``)."""
        return self.state / "trusted"

    @property
    def home(self) -> Path:
        """Name the main checkout, or the bare repository itself."""
        return self.common.parent if self.common.name == ".git" else self.common


def read_sharing(repository: Repository) -> int:
    """Return how the repository's own settings share it (see ``gitprun.system.sharing``); 0 where they do not."""
    # As git reads it: from no other file. As a rule the word is not there, and nobody has to be asked.
    said = read_plain(repository.common / "config", _MOST_CONFIG) or b""
    if b"sharedrepository" not in said.lower():
        return 0
    words = ("config", "--file", str(repository.common / "config"), "--get", "core.sharedRepository")
    answer = Git(cwd=repository.common).run(*words, ok=(0, 1))
    try:
        return parse_sharing(answer.text) if answer.code == 0 else 0
    except ValueError as problem:
        raise NoRepository(str(problem), "git config core.sharedRepository group") from None


def find_repository(start: Path) -> Repository:
    """Find the repository around ``start``; raises NoRepository with the reason."""
    query = ("rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--is-bare-repository")
    # The last question fails where nothing is checked out; the answers to the others are printed before it does.
    answer = Git(cwd=start).run(*query, "--show-toplevel", ok=(0, 128))
    rows = answer.out.split(b"\n")[:-1]
    # A path may hold line ends: then there are more rows, and the questions are asked one by one below.
    if len(rows) == 4 and answer.code == 0 and rows[2] == b"false":
        return Repository(Path(os.fsdecode(rows[3])), Path(os.fsdecode(rows[0])), Path(os.fsdecode(rows[1])))
    answer = Git(cwd=start).run(*query, ok=(0, 128))
    if answer.code != 0:
        said = first_words(answer.err).removeprefix("fatal: ")
        # Git speaks English here, since LC_ALL is pinned (see ``environment``).
        if "not a git repository" in answer.err:
            raise NoRepository(f"{start} is not in a git repository", "change into one, or run git init and commit")
        if "dubious ownership" in answer.err:
            raise NoRepository(f"git refuses this repository: {said}", _trust_in(answer.err))
        astray = next(
            (line.partition("cannot chdir to ")[2] for line in answer.err.splitlines() if "cannot chdir to " in line),
            "",
        )
        if astray:
            raise NoRepository(
                f"core.worktree of this repository names {astray.partition(': ')[0]}, which is not there",
                f"git --git-dir={shlex.quote(str(_dot_git(start)))} --work-tree=. config --unset core.worktree,"
                " or name the right folder there",
            )
        raise NoRepository(f"git cannot use this repository: {said or 'no reason given'}")
    git_dir, common, bare = _three_lines(start, answer.out)
    if bare == "false":
        top = Git(cwd=start).run("rev-parse", "--path-format=absolute", "--show-toplevel", ok=(0, 128))
        if top.code == 0:
            return Repository(Path(os.fsdecode(top.out[:-1])), Path(git_dir), Path(common))
    linked = git_dir != common and (Path(git_dir) / "gitdir").is_file()
    if bare == "true" and linked:
        # core.bare in the shared configuration reaches every linked worktree once worktreeConfig is on.
        raise NoRepository(
            f"{start} is a linked worktree, but git calls it bare: the shared configuration says core.bare=true and"
            " extensions.worktreeConfig=true, and the worktree's own says nothing of core.bare",
            "git config --worktree core.bare false (in this worktree) repairs it",
        )
    dot_git = _dot_git(start)
    led = bare == "true" and git_dir == common and dot_git.name == ".git" and dot_git.is_file()
    return Repository(None, Path(git_dir), Path(common), beside=dot_git.parent if led else None)


def _dot_git(start: Path) -> Path:
    """Return the ``.git`` around a folder that git would not use, or the folder itself."""
    return next((place / ".git" for place in (start, *start.parents) if os.path.lexists(place / ".git")), start)


def _trust_in(stderr: str) -> str:
    """Return the command that git names for a repository of somebody else's, with the path in it."""
    command = next((line.strip() for line in stderr.splitlines() if "safe.directory" in line), "")
    return command or "git help config says what safe.directory is for"


def _three_lines(start: Path, out: bytes) -> tuple[str, str, str]:
    """Split the answer about a repository; a path may hold line ends, then each question is asked alone."""
    rows = [os.fsdecode(row) for row in out.split(b"\n")[:-1]]
    if len(rows) == 3:
        return rows[0], rows[1], rows[2]
    git = Git(cwd=start)
    questions = (("--absolute-git-dir",), ("--path-format=absolute", "--git-common-dir"))
    git_dir, common = (os.fsdecode(git.run("rev-parse", *words).out[:-1]) for words in questions)
    return git_dir, common, rows[-1]


def resolve_commit(git: Git, revision: str) -> Oid:
    """Resolve a revision to the commit it names; raises NoCommit with the nearest right answer, or SeveralMeanings."""
    require_one_ref(git, revision)
    # --end-of-options: a revision that begins with a dash must not be read as one.
    answer = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", ok=(0, 1, 128))
    if answer.code == 0:
        return parse_oid(answer.text)
    if git.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1, 128)).code != 0:
        raise NoCommit("this repository has no commits yet", "make a first commit: git commit --allow-empty -m start")
    hint = ""
    if revision.startswith("origin/"):
        local = revision.removeprefix("origin/")
        if git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{local}", ok=(0, 1, 128)).code == 0:
            hint = f"there is no remote-tracking branch of that name; the local branch is {local!r}"
    raise NoCommit(
        f"{revision!r} names no commit here", hint or "git log --oneline -5 shows commits; git branch, names"
    )


@dataclass(frozen=True, slots=True)
class Checkout:
    """One worktree of the repository: its folder, its git folder, the branch it holds (None: detached)."""

    path: Path
    head: str
    branch: str | None
    bare: bool = False
    locked: str | None = None
    prunable: str | None = None


def read_checkouts(git: Git) -> tuple[Checkout, ...]:
    """List the worktrees of a repository, the main one first."""
    found: list[Checkout] = []
    try:
        answer = git.run("worktree", "list", "--porcelain", "-z")
    except GitFailed as problem:
        # While the registration of one is half written, git lists none at all.
        if COMMONDIR.search(problem.stderr) is None:
            raise
        return _read_registrations(git)
    for block in answer.out.split(b"\0\0"):
        rows = {
            key.decode(): os.fsdecode(value)
            for key, _, value in (line.partition(b" ") for line in block.split(b"\0") if line)
        }
        if "worktree" not in rows:
            continue
        found.append(
            Checkout(
                path=Path(rows["worktree"]),
                head=rows.get("HEAD", ""),
                branch=rows.get("branch"),
                bare="bare" in rows,
                locked=rows.get("locked"),
                prunable=rows.get("prunable"),
            )
        )
    return tuple(found)


def _read_registrations(git: Git) -> tuple[Checkout, ...]:
    """List the worktrees from what their registrations say, as far as they say anything."""
    common = Path(os.fsdecode(git.run("rev-parse", "--path-format=absolute", "--git-common-dir").out[:-1]))
    bare = git.run("config", "--type=bool", "--get", "core.bare", ok=(0, 1)).text == "true"
    branch, head = _read_head(git, common)
    found = [Checkout(common.parent if common.name == ".git" else common, head, branch, bare=bare)]
    for entry in sorted((common / "worktrees").iterdir()):
        # A path has at most 4096 bytes on Linux.
        place = os.fsdecode(read_plain(entry / "gitdir", 10_000) or b"").removesuffix("\n")
        if not place:
            continue
        reason = read_plain(entry / "locked", 1000)
        locked = None if reason is None else os.fsdecode(reason).strip()
        # As git has it: what is locked is never prunable, for its disk may only be unplugged.
        gone = None if locked is not None or os.path.lexists(place) else "its folder is gone"
        branch, head = _read_head(git, entry)
        found.append(Checkout(Path(place).parent, head, branch, locked=locked, prunable=gone))
    return tuple(found)


def _read_head(git: Git, folder: Path) -> tuple[str | None, str]:
    said = os.fsdecode(read_plain(folder / "HEAD", 10_000) or b"").strip()
    branch = said.removeprefix("ref:").strip() if said.startswith("ref:") else None
    if branch is None:
        return None, said
    return branch, git.run("rev-parse", "--verify", "--quiet", branch, ok=(0, 1, 128)).text


def read_config(git: Git) -> dict[str, str]:
    """Read the whole effective configuration; the last value of a key wins, as in git."""
    return dict(list_config(git))


def list_config(git: Git) -> tuple[tuple[str, str], ...]:
    """List every value of the effective configuration, in git's order: a key may have several."""
    found = []
    for row in git.run("config", "--list", "-z").fields:
        key, line_end, value = row.decode("utf-8", "surrogateescape").partition("\n")
        # A key without "=" says yes.
        found.append((key, value if line_end else "true"))
    return tuple(found)


_HIDING = r"^core\.(bare|worktree)$"


def require_seen_checkout(repository: Repository) -> None:
    """Raise Refused where ``core.bare`` or ``core.worktree`` leads git away from the checkout around a repository."""
    common = repository.common
    if repository.git_dir == common and repository.top == common.parent:
        # What git itself finds is what lies there.
        return
    settings = _read_hiding(common)
    bare, bare_file = settings.get("core.bare", ("", ""))
    named, named_file = settings.get("core.worktree", ("", ""))
    beside = common.parent if common.name == ".git" else repository.beside
    if bare == "true" and beside is not None and _holds_checkout(common, beside):
        raise OperationRefused(
            f"core.bare is true in {bare_file}, but {beside} is a checkout: what moves here would leave it behind",
            f"git config --file {shlex.quote(bare_file)} core.bare false",
        )
    if not named:
        return
    astray = ""
    place = common / named
    if not place.is_dir():
        astray = "which is not there"
    # One folder can be written in several ways, through links too.
    elif beside is not None and not os.path.samefile(place, beside) and _holds_checkout(common, beside):
        astray = f"but the checkout is {beside}"
    if astray:
        raise OperationRefused(
            f"core.worktree in {named_file} names {named}, {astray}",
            f"git config --file {shlex.quote(named_file)} --unset core.worktree, or name the right folder there",
        )


def _read_hiding(common: Path) -> dict[str, tuple[str, str]]:
    """Read the value of both settings, and in which file it stands; what is read last counts."""
    # With a work tree of our own, or git would look for the one that is not there before it reads anything.
    git = Git(cwd=common, env={"GIT_DIR": str(common), "GIT_WORK_TREE": str(common)})
    fields = git.run("config", "--show-origin", "-z", "--get-regexp", _HIDING, ok=(0, 1)).fields
    found: dict[str, tuple[str, str]] = {}
    for origin, row in zip(fields[::2], fields[1::2], strict=False):
        key, given, value = os.fsdecode(row).partition("\n")
        text = value.lower() if key == "core.bare" else value
        yes = not given or text in ("yes", "on", "1")
        # git writes `file:` before the path of a file.
        found[key] = "true" if key == "core.bare" and yes else text, str(common / os.fsdecode(origin[5:]))
    return found


def _holds_checkout(common: Path, folder: Path) -> bool:
    """Check whether a repository has an index, and files of it lie in a folder (or it is still empty)."""
    if not (common / "index").is_file():
        return False
    git = Git(cwd=folder, env={"GIT_DIR": str(common), "GIT_WORK_TREE": str(folder)}, neutral=True)
    tracked = git.run("ls-files", "-z").fields
    return not tracked or any(os.path.lexists(os.path.join(os.fsencode(folder), name)) for name in tracked)
