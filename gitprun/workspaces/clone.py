"""Remote-less clones: a repository of the unit's own that shares no file with the user's.

Put together by hand from ``git init``, an alternates file and the refs, since ``git clone`` would bring a remote,
template hooks and (with --local) hard links through which a worker could write into the user's objects.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository, read_config
from gitprun.model.errors import GitFailed, GitTimeout
from gitprun.model.names import Oid
from gitprun.system.files import folder_identity, remove_tree
from gitprun.workspaces.base import QUIET, Workspace, WorkspaceProblem, explain_checkout, require_room
from gitprun.workspaces.remotes import NONE, PREFIX, Remotes, ask_for_remotes, read_remotes
from gitprun.workspaces.rulebook import read_rules

# Local settings of the user's repository that decide what a checkout holds; they are the user's own, and carried over.
CARRIED = ("core.autocrlf", "core.eol", "core.safecrlf", "core.longpaths", "core.precomposeunicode")
# Without the user's filters a checkout would hold pointers where the user sees files (LFS, git-crypt).
CARRIED_PREFIX = ("filter.",)
# Nothing in a clone waits for a passphrase or packs objects behind the worker's back.
OWN = (
    ("core.longpaths", "true"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneSource:
    """What every clone of one run starts from; read once.

    ``refs`` are name, object, and for a tag what it means in the end; ``others`` the ends that are no commits, with
    their kinds; ``tags`` a pack of the annotated tags, if there is one (its index lies beside it); ``remotes`` the
    remote-tracking refs, which a clone can read although it has no remote.
    """

    objects: Path
    refs: tuple[tuple[str, str, str], ...]
    config: tuple[tuple[str, str], ...]
    exclude: bytes
    attributes: bytes
    shallow: bytes
    notes: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    tags: Path | None = None
    remotes: Remotes = NONE

    @property
    def tips(self) -> frozenset[str]:
        """Return the objects every clone starts with a ref to, and what their tags mean in the end."""
        return self.remotes.oids.union(oid for row in self.refs for oid in row[1:] if oid)

    @property
    def alternates(self) -> bytes:
        """Return the alternates file of every clone, byte for byte."""
        return render_alternates(self.objects)


def read_source(repository: Repository) -> CloneSource:
    """Read the refs and settings of the user's repository that its clones carry."""
    git, common = repository.git, repository.common
    ask_for_remotes(git)
    try:
        refs, others, notes = _read_refs(git)
        config = read_config(git)
        remotes = read_remotes(git, common)
    finally:
        git.forget()
    if remotes.note:
        notes.append(remotes.note)
    if any(key.startswith("remote.") and key.endswith(".promisor") for key in config):
        notes.append("partial clone: objects that were never fetched are missing in a clone (use workspace = worktree)")
    rules = read_rules(repository)
    kept = [(k, v) for k, v in config.items() if k in CARRIED or k.startswith(CARRIED_PREFIX)]
    # A worker's own commits carry a name the user knows; without one git refuses to commit at all.
    for key in ("user.name", "user.email"):
        if key in config:
            kept.append((key, config[key]))
    return CloneSource(
        objects=(common / "objects").resolve(),
        refs=tuple(refs),
        config=tuple(kept),
        exclude=rules.exclude,
        attributes=rules.attributes,
        shallow=_read(common / "shallow"),
        notes=(*notes, *rules.notes),
        others=tuple(others),
        remotes=remotes,
    )


def _read_refs(git: Git) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]], list[str]]:
    """Read branches and tags with what they are, peeled all the way; a ref to a lost object is passed over."""
    listing = git.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
    rows = [line.split(" ", 1) for line in listing.out.decode("utf-8", "surrogateescape").split("\n")[:-1]]
    # An answer for the ref itself, and one for what it means in the end; both need the objects.
    asked = "".join(f"{oid}\n{oid}^{{}}\n" for oid, _ in rows)
    said = git.run("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=asked.encode()).text.split("\n")
    refs, others, lost = [], {}, []
    for (oid, name), own, end in zip(rows, said[::2], said[1::2], strict=False):
        if own.endswith(" missing") or end.endswith(" missing"):
            lost.append(name)
        else:
            refs.append((name, oid, end.split(" ")[0] if own.endswith(" tag") else ""))
            if not end.endswith(" commit"):
                others[end.split(" ")[0]] = end.split(" ")[1]
    return (
        refs,
        list(others.items()),
        [f"{name} names an object that is not there, so it is not in the clone" for name in lost],
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def make_clone(source: CloneSource, path: Path, commit: Oid, branch: str) -> Workspace:
    """Make a clone at ``path`` with ``commit`` checked out on ``branch``; no remote, no hooks, no shared inode.

    Raises WorkspaceProblem, leaving nothing behind.
    """
    require_room(path.parent.parent, path)
    try:
        Git(cwd=path.parent, config=("init.defaultRefFormat=files",)).run(
            "init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={branch}", str(path)
        )
    except GitFailed as problem:
        # Half of an init: nobody has written there yet, and the next try must find no folder.
        shutil.rmtree(path, ignore_errors=True)
        raise WorkspaceProblem(f"no workspace at {path}: {problem.message}") from None
    identity = folder_identity(path)
    if identity is None:
        raise WorkspaceProblem(f"{path} vanished while it was made")
    try:
        notes = _fill(source, path / ".git", commit, branch)
        # Last: the refs, rules and settings of the lines above decide what the checkout holds.
        Git(cwd=path, config=QUIET).run("reset", "--hard", "--quiet")
    except (GitFailed, GitTimeout) as problem:
        remove_tree(path, identity)
        raise explain_checkout(problem, path) from None
    except OSError as problem:
        remove_tree(path, identity)
        raise WorkspaceProblem(f"no workspace at {path}: {problem.strerror}", "is the disk full?") from None
    return Workspace(kind="clone", path=path, identity=identity, branch=branch, notes=(*source.notes, *notes))


def _fill(source: CloneSource, git_dir: Path, commit: Oid, branch: str) -> list[str]:
    """Write objects' place, refs, settings and excludes of a fresh repository."""
    notes = []
    info = git_dir / "info"
    info.mkdir(exist_ok=True)
    (git_dir / "objects" / "info" / "alternates").write_bytes(source.alternates)
    if source.tags is not None:
        for suffix in (".pack", ".idx"):
            # A copy: a clone shares no file with anybody.
            packed = source.tags.with_suffix(suffix)
            shutil.copyfile(packed, git_dir / "objects" / "pack" / packed.name)
    own = f"refs/heads/{branch}"
    rows = [(own, str(commit), "")]
    for row in source.refs:
        # Git keeps a ref as a file: one cannot be a folder of another, and the unit's own branch must be there.
        if own.startswith(f"{row[0]}/") or row[0] == own or row[0].startswith(f"{own}/"):
            notes.append(f"{row[0]} is not in the clone: its name collides with {own}")
        else:
            rows.append(row)
    _write_refs(git_dir, rows, source.remotes)
    # The borrowed objects end where the user's history was cut off; without this file git would call them corrupt.
    if source.shallow:
        (git_dir / "shallow").write_bytes(source.shallow)
    (info / "exclude").write_bytes(source.exclude)
    if source.attributes:
        (info / "attributes").write_bytes(source.attributes)
    settings = [*source.config, *OWN]
    with open(git_dir / "config", "ab") as config:
        config.write("".join(render_setting(key, value) for key, value in settings).encode("utf-8", "surrogateescape"))
    return notes


def _write_refs(git_dir: Path, rows: list[tuple[str, str, str]], remotes: Remotes) -> None:
    """Write all refs as one file in git's order, so that no command has to sort it; symbolic refs are files."""
    before, after = list[str](), list[str]()
    for name, oid, peeled in sorted(rows, key=lambda row: os.fsencode(row[0])):
        part = after if os.fsencode(name) > PREFIX else before
        part.append(f"{oid} {name}\n" + (f"^{peeled}\n" if peeled else ""))
    # What a remote's ref means in the end was not asked, so it is not "fully-peeled".
    head = b"# pack-refs with: peeled sorted \n"
    parts = (head, os.fsencode("".join(before)), remotes.text, os.fsencode("".join(after)))
    (git_dir / "packed-refs").write_bytes(b"".join(parts))
    for name, target in remotes.symbolic:
        place = git_dir / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(os.fsencode(f"ref: {target}\n"))


def render_alternates(objects: Path) -> bytes:
    """Write a path for an alternates file, quoted where git would else split it or take it for something else."""
    raw = os.fsencode(objects)
    if b"\n" not in raw and not raw.startswith((b'"', b"#")):
        return raw + b"\n"
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"\n'


def render_setting(key: str, value: str) -> str:
    """Write one setting in the syntax of a git configuration file."""
    section, _, name = key.rpartition(".")
    head, dot, sub = section.partition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    inner = sub.replace("\\", "\\\\").replace('"', '\\"')
    title = f'[{head} "{inner}"]' if dot else f"[{head}]"
    return f'{title}\n\t{name} = "{quoted}"\n'
