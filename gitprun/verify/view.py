"""The view of a check: the path of the user's checkout shows the place that is checked.

Editable installs, workspaces of npm, a linked ``.venv`` and a copied ``.env`` lead back to that path: without a view a
check looks at the checkout's code, and calls broken work green. The path shows a folder of links, one for each
entry of the place; installations and what git needs are bound back below it, read-only.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.model.names import Oid
from gitprun.model.plan import Settings, VerifyView
from gitprun.supervisor.sandbox import Row, find_view
from gitprun.system.files import read_plain
from gitprun.verify.installations import TEMPORARIES, installations, is_below, why_covered_never
from gitprun.workspaces.clone import render_alternates
from gitprun.workspaces.scratch import drop_temporary, make_temporary
from gitprun.workspaces.worktree import admin_folder

# Of a linked worktree's own folder this much of one file is copied: no index of a repository people use is larger.
MOST_COPIED = 1 << 30
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutView:
    """The checkout whose path shows what is checked, and what leads to it.

    ``common`` is the shared git folder, ``commands`` those of the checks; ``changed`` lists the paths in which the
    place differs from what the checkout's branch holds (None: perhaps all), asked only where no view can be had.
    ``hidden`` are folders that show nothing: a tree that leads into its worker's folder is none that stands by itself.
    """

    checkout: Path
    common: Path
    link: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    changed: Callable[[], Iterable[str]] | None = None
    hidden: tuple[Path, ...] = ()


def view_of(
    repository: Repository,
    wanted: VerifyView | None,
    *,
    link: Iterable[str] | None,
    copy: Iterable[str] | None,
    commands: Iterable[str] | None,
    changed: Callable[[], Iterable[str]] | None = None,
) -> CheckoutView | None:
    """Return the view the checks of a repository are to run in; None without a checkout, or where none is wanted."""
    if repository.top is None or wanted == "none":
        return None
    return CheckoutView(
        # Mounts are made at real paths.
        checkout=Path(os.path.realpath(repository.top)),
        common=Path(os.path.realpath(repository.common)),
        link=tuple(link or ()),
        copy=tuple(copy or ()),
        commands=tuple(commands or ()),
        changed=changed,
    )


def view_for(
    repository: Repository, said: Settings, changed: Callable[[], Iterable[str]] | None = None
) -> CheckoutView | None:
    """Return the view the settings ask for."""
    return view_of(repository, said.verify_view, link=said.link, copy=said.copy, commands=said.verify, changed=changed)


def differing(repository: Repository, commit: Oid) -> tuple[str, ...]:
    """List the paths in which a commit differs from what the checkout has checked out."""
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "HEAD", commit)
    return tuple(map(os.fsdecode, repository.git.run(*words).fields))


def obstacle(view: CheckoutView, env: Mapping[str, str]) -> str:
    """Return why a view cannot be had, empty where it can."""
    checkout, home = str(view.checkout), os.path.realpath(os.environ.get("HOME") or "/nowhere")
    kept = installed(view, env)
    # Prun itself may be started from the checkout's own environment, which is kept; anything else of it is not.
    prefixes = (os.path.realpath(path) for path in (sys.prefix, sys.base_prefix))
    lost = next((path for path in prefixes if is_below(path, checkout) and not _kept(path, kept)), "")
    return (
        why_covered_never(checkout, home)
        or (f"the checkout holds {lost}" if lost else "")
        or ("the checkout is an environment itself" if _is_environment(checkout) else "")
        or find_view().reason
    )


def installed(view: CheckoutView, env: Mapping[str, str]) -> tuple[str, ...]:
    """List the installations below the checkout that an environment and the checks point into."""
    checkout = str(view.checkout)
    # A path that goes through a link above the checkout, or within it, means the same folder.
    ways = {name: text for name, text in env.items() if not (name == "PATH" or os.path.isabs(text))}
    ways |= {name: os.path.realpath(text) for name, text in env.items() if os.path.isabs(text) and name != "PATH"}
    paths = env.get("PATH", "").split(":")
    ways["PATH"] = ":".join(dict.fromkeys(way for path in paths for way in (path, os.path.realpath(path)) if path))
    found = installations(checkout, ways, view.commands, _is_environment)
    return tuple(path for path in found if os.path.isdir(path))


def _is_environment(folder: str) -> bool:
    return os.path.isfile(f"{folder}/pyvenv.cfg") or os.path.isdir(f"{folder}/conda-meta")


def _kept(path: str, kept: Iterable[str]) -> bool:
    return any(is_below(path, one) for one in kept)


@contextmanager
def shown(
    view: CheckoutView,
    place: Path,
    folder: Path,
    env: Mapping[str, str],
    *,
    inside: Iterable[Path] = (),
    writable: bool = True,
) -> Iterator[Shown]:
    """Make ready what the checkout's path shows while the block runs; ``folder`` is made for that, and removed.

    ``inside`` are folders of the checks' own that stay what they are, if they lie in the checkout. Unless
    ``writable``, nothing at all may be written there.
    """
    folder, place = _real(folder), _real(place)
    # What one that was killed left is none of ours.
    drop_temporary(folder)
    make_temporary(folder)
    try:
        kept = _keep(view, place, folder, env, tuple(map(_real, inside)), writable=writable)
        covered: list[Row] = [(str(folder / "top"), str(view.checkout), writable)]
        covered += [(path, path, may) for path, may in kept.items()]
        yield Shown(
            checkout=view.checkout,
            place=place,
            folder=folder,
            # What lies in another one comes after it: the checkout itself may lie in its git folder.
            rows=(
                *_hide(view, folder, env),
                *sorted(covered, key=lambda row: row[1]),
                *_git_rows(view, place, folder, writable=writable),
            ),
            points=_points(view.checkout, kept),
        )
    finally:
        drop_temporary(folder)


def _hide(view: CheckoutView, folder: Path, env: Mapping[str, str]) -> list[Row]:
    """Cover folders with an empty one, but for those that programs come from."""
    nothing = folder / "nothing"
    nothing.mkdir(mode=0o755)
    needed = [*env.get("PATH", "").split(":"), env.get("VIRTUAL_ENV", ""), sys.prefix, str(view.checkout)]
    used = [os.path.realpath(path) for path in needed if path]
    found = (os.path.realpath(path) for path in view.hidden)
    return [(str(nothing), path, False) for path in found if not any(is_below(one, path) for one in used)]


def _real(path: Path) -> Path:
    """Return a path whose folder is the real one; the path itself may not be there, or be somebody's link."""
    return Path(os.path.realpath(path.parent), path.name)


def _keep(
    view: CheckoutView, place: Path, folder: Path, env: Mapping[str, str], inside: tuple[Path, ...], *, writable: bool
) -> dict[str, bool]:
    """List the paths that stay what they are, and whether they may be written; no path is in it that is not there."""
    checkout = str(view.checkout)
    kept = {f"{checkout}/.git": False, str(view.common): False}
    kept |= dict.fromkeys(installed(view, env), False)
    # A name that the place has of its own is not linked there: it is what has to be seen.
    linked = (name for name in view.link if _leads_to(place / name, view.checkout / name))
    kept |= {f"{checkout}/{name}": False for name in linked}
    own = [place, folder, *inside, *(Path(env[name]) for name in TEMPORARIES if os.path.isabs(env.get(name, "")))]
    kept |= {str(path): writable for path in own if is_below(str(path), checkout) and path != view.checkout}
    return {path: may for path, may in kept.items() if os.path.exists(path)}


def _leads_to(link: Path, target: Path) -> bool:
    try:
        said = os.path.join(link.parent, os.readlink(link))
    except OSError:
        return False
    return os.path.join(os.path.realpath(os.path.dirname(said)), os.path.basename(said)) == str(_real(target))


def _points(checkout: Path, kept: Iterable[str]) -> dict[str, bool]:
    """List where something has to be mounted, relative to the checkout, and whether that is a folder."""
    inner = sorted(path for path in kept if is_below(path, str(checkout)))
    # What lies below another one comes along with it.
    tops = [path for path in inner if not any(path != other and is_below(path, other) for other in inner)]
    return {os.path.relpath(path, checkout): os.path.isdir(path) for path in tops}


def _git_rows(view: CheckoutView, place: Path, folder: Path, *, writable: bool) -> list[Row]:
    """Make a linked worktree a git folder to write into that is not the user's: a copy, and a place for objects."""
    if not _is_file(place / ".git") or (admin := admin_folder(view.common, place)) is None:
        return []
    shared, objects, own = folder / "shared", folder / "objects", folder / "admin"
    for made in (shared, objects / "info", objects / "pack"):
        made.mkdir(parents=True)
    real = view.common / "objects"
    (objects / "info" / "alternates").write_bytes(render_alternates(shared) + _alternates(real))
    _copy_plain(str(admin), str(own), skip="modules")
    rows: list[Row] = [
        (str(real), str(shared), False),
        (str(objects), str(real), writable),
        (str(own), str(admin), writable),
    ]
    if (admin / "modules").is_dir():
        # Whole repositories of submodules: to be read.
        (own / "modules").mkdir()
        rows.append((str(admin / "modules"), str(admin / "modules"), False))
    return rows


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _alternates(objects: Path) -> bytes:
    """Read the alternates of an object folder that are given relative to it, and write them so that others find them.

    Git reads the rest of them by itself, from where the folder is shown.
    """
    said = (read_plain(objects / "info" / "alternates", 1 << 20) or b"").split(b"\n")
    relative = (os.fsdecode(row) for row in said if row and not row.startswith((b"/", b"#", b'"')))
    return b"".join(render_alternates(Path(os.path.realpath(objects / row))) for row in relative)


def _copy_plain(source: str, target: str, skip: str = "") -> None:
    """Copy the plain files of a folder a worker could write: links and special files are left out."""
    os.mkdir(target)
    for entry in os.scandir(source):
        if entry.is_dir(follow_symlinks=False):
            if entry.name != skip:
                _copy_plain(entry.path, f"{target}/{entry.name}")
        elif (content := read_plain(Path(entry.path), MOST_COPIED)) is not None:
            with open(f"{target}/{entry.name}", "wb") as copy:
                copy.write(content)
            # Git tells by the time of an index which files it has to read again.
            about = entry.stat(follow_symlinks=False)
            os.utime(copy.name, ns=(about.st_atime_ns, about.st_mtime_ns))


@dataclass(slots=True, kw_only=True)
class Shown:
    """What the checkout's path shows; ``rows`` are the mounts of every command that is run in it.

    ``points`` are where something is mounted below the checkout, relative to it, and whether that is a folder.
    """

    checkout: Path
    place: Path
    folder: Path
    rows: tuple[Row, ...]
    points: Mapping[str, bool]
    _made: set[str] = field(default_factory=set)
    _links: dict[str, str] = field(default_factory=dict)
    _used: int = 0

    def lay(self) -> None:
        """Make the folder the path shows next: a link for each entry of the place, and room for what is kept."""
        top = self.folder / "top"
        if self._used:
            # What the command before left there goes with the rest.
            os.rename(top, self.folder / f"used-{self._used}")
        self._used += 1
        self._made, self._links = {""}, {}
        for point in self.points:
            parts = point.split("/")
            self._made |= {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        for inner in sorted(self._made):
            os.mkdir(top / inner, 0o755)
            self._link(inner, top)
        for point, is_folder in self.points.items():
            if is_folder:
                os.mkdir(top / point)
            else:
                (top / point).touch()

    def _link(self, inner: str, top: Path) -> None:
        """Lay a link for each entry of one folder of the place, unless something is kept there or below it."""
        folder = self.place / inner
        try:
            # A worker may have put a link there, which leads anywhere.
            names = os.listdir(folder) if stat.S_ISDIR(os.lstat(folder).st_mode) else []
        except OSError:
            names = []
        for name in names:
            path = f"{inner}/{name}" if inner else name
            if path not in self._made and path not in self.points:
                self._links[path] = f"{folder}/{name}"
                os.symlink(self._links[path], top / path)

    def take_in(self) -> None:
        """Move what a command made at the checkout's path into the place: as if both were one.

        What it removed or replaced there is left as it is in the place, but for plain files that were replaced.
        """
        for inner in sorted(self._made):
            with suppress(OSError), _opened(self.folder / "top", inner) as made, _opened(self.place, inner) as place:
                for name in os.listdir(made):
                    path = f"{inner}/{name}" if inner else name
                    if path in self.points or path in self._made or self._is_ours(name, path, made):
                        continue
                    with suppress(OSError):
                        # A folder only goes where nothing is, a file also over another file.
                        os.rename(name, name, src_dir_fd=made, dst_dir_fd=place)

    def _is_ours(self, name: str, path: str, folder: int) -> bool:
        try:
            return os.readlink(name, dir_fd=folder) == self._links.get(path)
        except OSError:
            return False


@contextmanager
def _opened(top: Path, inner: str) -> Iterator[int]:
    """Open a folder below one of ours, none of whose names is a link."""
    place = os.open(top, OPEN_FOLDER)
    try:
        for part in filter(None, inner.split("/")):
            deeper = os.open(part, OPEN_FOLDER, dir_fd=place)
            os.close(place)
            place = deeper
        yield place
    finally:
        os.close(place)
