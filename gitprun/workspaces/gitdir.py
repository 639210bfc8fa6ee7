"""A git folder of our own for every workspace, made before its worker starts: what a worker says to git counts nowhere.

It borrows the user's objects, and holds a snapshot of what decides how files become objects: settings, ignore rules,
attributes, and the user's filters, which are kept apart and let in one by one by whoever captures.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository, read_config
from gitprun.model.names import Oid
from gitprun.model.units import WorkspaceKind
from gitprun.system.files import folder_identity, read_plain, sync_all, write_whole
from gitprun.workspaces.clone import render_alternates
from gitprun.workspaces.rulebook import SharedRules, read_rules
from gitprun.workspaces.worktree import admin_folder

NAME = "capture.git"
SNAPSHOT = "snapshot.json"
# What the setup commands made of the workspace (see ``gitprun.capture.prepared``); a workspace filled anew has none.
PREPARED = "prepared.json"
FILES = ("HEAD", "objects/info/alternates", "info/exclude", "info/attributes", "info/sparse-checkout", "shallow",
         "ignore", "attributes", SNAPSHOT)  # fmt: skip
CONTENT = frozenset(
    {
        "core.autocrlf",
        "core.bigfilethreshold",
        "core.checkroundtripencoding",
        "core.eol",
        "core.filemode",
        "core.ignorecase",
        "core.longpaths",
        "core.precomposeunicode",
        "core.protecthfs",
        "core.protectntfs",
        "core.sharedrepository",
        "core.symlinks",
    }
)
# Only a worktree is sparse as the user's checkout is; a clone holds every file.
SPARSE = frozenset(
    {"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse", "sparse.expectfilesoutsideofpatterns"}
)
SIGNING = ("commit.gpgsign", "user.signingkey")
# Where filters keep what they need beside the settings, in the user's git folder.
STORES = ("lfs", "git-crypt")
# Ignore and attribute files and settings; a few kilobytes as a rule.
_MOST = 16_000_000


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What counts and is no setting: the user's filters, where the hooks lie, whether objects may be missing.

    ``signing`` are the user's settings about signatures, key and value.
    """

    filters: Mapping[str, Mapping[str, str]]
    hooks: str = ""
    partial: bool = False
    signing: Mapping[str, str] = field(default_factory=dict)


def own_git(index: Path) -> Path:
    """Return the git folder that belongs to a private index."""
    return index.with_name(NAME)


def ensure_own_git(repository: Repository, index: Path, base: Oid, kind: WorkspaceKind | None) -> Path:
    """Return the git folder beside a private index.

    One that is not there (an older prun made the workspace) is made now.
    Then the settings of the user's checkout count as they are; a worktree's own lie where its worker can write.
    """
    folder = own_git(index)
    if not (folder / "config").is_file():
        _fill(repository, folder, base, read_config(repository.git), sparse=kind == "worktree")
        if kind == "worktree":
            # What is checked out sparsely is told by patterns of git's own, beside its settings.
            _copy(repository.common / "info" / "sparse-checkout", folder / "info" / "sparse-checkout")
    else:
        _follow_repository(repository.common, folder)
    return folder


def _follow_repository(common: Path, folder: Path) -> None:
    """Have the folder borrow from where the user's repository is now: it may have been moved since, with us in it."""
    place, wanted = folder / "objects" / "info" / "alternates", render_alternates((common / "objects").resolve())
    if read_plain(place, _MOST) == wanted:
        # Nothing moved: no git is started for that.
        return
    config = Git(cwd=folder, env={"GIT_DIR": str(folder)})
    for key, name in (("core.excludesfile", "ignore"), ("core.attributesfile", "attributes")):
        config.run("config", "--file", str(folder / "config"), key, str(folder / name))
    write_whole(place, wanted)


def borrows_elsewhere(common: Path, folder: Path) -> bool:
    """Check whether a folder borrows from where the user's repository was before it was moved."""
    said = read_plain(folder / "objects" / "info" / "alternates", _MOST)
    return said is not None and said != render_alternates((common / "objects").resolve())


def follow_alternates(common: Path, folder: Path, clone: Path) -> None:
    """Have a clone borrow from where the repository is now, if it borrowed from just where it was; and our folder too.

    Nothing is written through what a worker may have put in the place of a folder.
    """
    inner = clone / ".git" / "objects" / "info"
    before = read_plain(folder / "objects" / "info" / "alternates", _MOST)
    # A link among these would have us write wherever a worker points.
    plain = all(folder_identity(path) is not None for path in (inner, *list(inner.parents)[:3]))
    if plain and before is not None and read_plain(inner / "alternates", _MOST) == before:
        write_whole(inner / "alternates", render_alternates((common / "objects").resolve()), mode=0o644)
    _follow_repository(common, folder)


def make_own_git(
    repository: Repository, index: Path, base: Oid, *, worktree: Path | None, rules: SharedRules | None = None
) -> Path:
    """Make the git folder beside a private index, anew if there is one: its objects stay, its settings do not.

    ``worktree`` is a fresh linked worktree, whose own settings count (sparse checkout); for a clone there is none.
    ``rules`` are the shared ignore rules and attributes as they were when the run began (None: as they are now).
    """
    folder = own_git(index)
    # First, for a folder with a config counts as whole.
    (folder / "config").unlink(missing_ok=True)
    (folder / PREPARED).unlink(missing_ok=True)
    said = read_config(repository.git if worktree is None else Git(cwd=worktree))
    admin = admin_folder(repository.common, worktree) if worktree is not None else None
    if admin is not None:
        (folder / "info").mkdir(parents=True, exist_ok=True)
        _copy(admin / "info" / "sparse-checkout", folder / "info" / "sparse-checkout")
    _fill(repository, folder, base, said, sparse=worktree is not None, rules=rules)
    return folder


def renew_own_git(repository: Repository, index: Path, base: Oid) -> Path:
    """Take the user's settings down anew before another worker starts; of a sparse checkout what was known stays."""
    folder = own_git(index)
    listing = Git(cwd=folder).run("config", "--file", str(folder / "config"), "--list", "-z").fields
    rows = [row.decode("utf-8", "surrogateescape").partition("\n") for row in listing]
    sparse = {key: value for key, _, value in rows if key in SPARSE}
    said = {key: value for key, value in read_config(repository.git).items() if key not in SPARSE}
    (folder / "config").unlink()
    _fill(repository, folder, base, said | sparse, sparse=bool(sparse))
    return folder


def _fill(
    repository: Repository,
    folder: Path,
    base: Oid,
    said: Mapping[str, str],
    *,
    sparse: bool,
    rules: SharedRules | None = None,
) -> None:
    common, rules = repository.common, rules or read_rules(repository)
    for inner in ("objects/info", "objects/pack", "refs", "info"):
        (folder / inner).mkdir(parents=True, exist_ok=True)
    objects = (common / "objects").resolve()
    (folder / "objects" / "info" / "alternates").write_bytes(render_alternates(objects))
    (folder / "HEAD").write_text(f"{base}\n")
    (folder / "info" / "exclude").write_bytes(rules.exclude)
    (folder / "info" / "attributes").write_bytes(rules.attributes)
    _copy(common / "shallow", folder / "shallow")
    _copy(_own_file(said, "core.excludesfile", "ignore"), folder / "ignore")
    # Copied, so that what counts is as it was before the worker began.
    _copy(_own_file(said, "core.attributesfile", "attributes"), folder / "attributes")
    filters = {key: value for key, value in said.items() if key.startswith("filter.")}
    partial = any(key.startswith("remote.") and key.endswith(".promisor") for key in said)
    signing = {key: value for key, value in said.items() if key in SIGNING or key.startswith("gpg.")}
    snapshot = {
        "filters": filters,
        "hooks": said.get("core.hookspath", ""),
        "partial": partial,
        "signing": signing,
    }
    (folder / SNAPSHOT).write_text(json.dumps(snapshot))
    if filters:
        _borrow_stores(common, folder)
    # On disk before the config that says the folder is whole.
    sync_all(str(folder / name) for name in FILES)
    # Last, and in one step: with it the folder is whole.
    write_whole(folder / "config", _render(_settings(said, folder, common, sparse=sparse)))


def read_snapshot(folder: Path) -> SourceSettings:
    """Read what was taken down beside the settings when the folder was made."""
    record = json.loads(read_plain(folder / SNAPSHOT, _MOST) or b"{}")
    filters: dict[str, dict[str, str]] = {}
    for key, value in record.get("filters", {}).items():
        name, _, setting = key.removeprefix("filter.").rpartition(".")
        filters.setdefault(name, {})[setting] = value
    hooks, partial = str(record.get("hooks", "")), bool(record.get("partial"))
    return SourceSettings(filters, hooks, partial, record.get("signing", {}))


def _settings(said: Mapping[str, str], folder: Path, common: Path, *, sparse: bool) -> dict[str, str]:
    carried = CONTENT | SPARSE if sparse else CONTENT
    # No other setting comes along: each could name a program, or lead to a file that does.
    found = {key: value for key, value in said.items() if key in carried}
    found |= {
        "core.repositoryformatversion": "0",
        "core.bare": "true",
        "core.excludesfile": str(folder / "ignore"),
        "core.attributesfile": str(folder / "attributes"),
        "gc.auto": "0",
        "maintenance.auto": "false",
    }
    if any(key.startswith("filter.lfs.") for key in said):
        # Large files belong where the user's checkout looks for them.
        found["lfs.storage"] = os.path.join(common, os.path.expanduser(said.get("lfs.storage", "lfs")))
    return found


def _render(settings: Mapping[str, str]) -> bytes:
    """Write settings in the syntax of a git configuration file; none of them has a part in the middle."""
    rows = []
    for key, value in sorted(settings.items()):
        section, _, name = key.partition(".")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        rows.append(f'[{section}]\n\t{name} = "{quoted}"\n')
    return "".join(rows).encode("utf-8", "surrogateescape")


def _own_file(said: Mapping[str, str], key: str, name: str) -> Path:
    """Find a file of rules the user keeps for all repositories."""
    if said.get(key):
        return Path(os.path.expanduser(said[key]))
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home, "git", name)


def _copy(source: Path, target: Path) -> None:
    """Copy a plain file, or what a link of the user's leads to; what is not there is not there."""
    content = read_plain(Path(os.path.realpath(source)), _MOST)
    target.unlink(missing_ok=True)
    if content is not None:
        target.write_bytes(content)


def _borrow_stores(common: Path, folder: Path) -> None:
    for name in STORES:
        if (common / name).is_dir() and not os.path.lexists(folder / name):
            (folder / name).symlink_to(common / name, target_is_directory=True)
