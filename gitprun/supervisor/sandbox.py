"""Which sandbox this machine has for programs that may write in a few places only, and how to start one within them.

In order of trust: Landlock (the kernel's own, nothing to start), bwrap, and the sandbox of an installed codex. A kind
counts only once it has been tried here and kept a write out. So does a view, in which paths show other folders.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitprun.supervisor import landlock
from gitprun.supervisor.process import ProcessLimits, ProcessSpec, run, scratch_folder
from gitprun.supervisor.programs import find_program
from gitprun.system.files import read_plain

Kind = Literal["landlock", "bwrap", "codex"]
# Source, the path that shows it, and whether it may be written there (see ``system/view``).
Row = tuple[str, str, bool]
# A program that starts, writes a file and ends: a tenth of a second, on a machine that is overloaded some seconds.
_TRIAL = ProcessLimits(timeout=20.0)
# Where programs write that do not ask.
TMP = "/tmp"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxKind:
    """What this machine has; ``kind`` is None without any, and ``reason`` says why."""

    kind: Kind | None
    program: str = ""
    own_view: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """How to start a program within walls: ``prefix`` goes before its words, ``confine`` to ``process.run``.

    ``said`` names them for people: the kind, or ``none: why``.
    """

    said: str
    confined: bool = False
    prefix: tuple[str, ...] = ()
    confine: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Viewer:
    """How paths are made to show other folders here: by mounts of our own, or by ``program`` (bwrap).

    ``reason`` says why they cannot be; empty where they can.
    """

    program: str = ""
    reason: str = ""


_lock = threading.Lock()
_known: dict[str, SandboxKind] = {}
_views: list[Viewer] = []


def find_sandbox(path: str | None = None) -> SandboxKind:
    """Find the best walls there are, with programs looked for on ``path`` (None: PATH); tried once a process."""
    path = os.environ.get("PATH", os.defpath) if path is None else path
    # Units start at the same time, and one trial is enough for all of them.
    with _lock:
        if path not in _known:
            _known[path] = _find(path)
        return _known[path]


def _find(path: str) -> SandboxKind:
    reasons: list[str] = []
    for kind, program in (("landlock", sys.executable), ("bwrap", "bwrap"), ("codex", "codex")):
        found = find_program(program, None, path)
        if found is None:
            reasons.append(f"{kind} is not installed")
            continue
        walls = _try_landlock() if kind == "landlock" else _try_program(kind, os.path.abspath(found.path))  # type: ignore[arg-type]
        if walls.kind is not None:
            return walls
        reasons.append(walls.reason)
    return SandboxKind(kind=None, reason=", ".join(reasons))


def find_view(path: str | None = None) -> Viewer:
    """Find how a path can be made to show another folder here, with bwrap looked for on ``path``; tried once."""
    with _lock:
        if not _views:
            _views.append(_look_for_view(os.environ.get("PATH", os.defpath) if path is None else path))
        return _views[0]


def _look_for_view(path: str) -> Viewer:
    if not sys.platform.startswith("linux"):
        return Viewer(reason="this system has no mount namespaces")
    bwrap = shutil.which("bwrap", path=path)
    # Some systems let bwrap make a user namespace, and nobody else.
    for viewer in (Viewer(), *([Viewer(program=os.path.abspath(bwrap))] if bwrap else [])):
        if _shows(viewer):
            return viewer
    return Viewer(reason="mount namespaces cannot be had here")


def _shows(viewer: Viewer) -> bool:
    """Show a folder at the path of another one, with a folder of the latter bound back, and write in both."""
    with scratch_folder() as scratch:
        covered, place, log = (Path(os.path.realpath(scratch), name) for name in ("covered", "place", "log"))
        for folder in (covered / "kept", place / "kept"):
            folder.mkdir(parents=True)
        (covered / "kept" / "mine").touch()
        kept = str(covered / "kept")
        sandbox = open_sandbox("", [(str(place), str(covered), True), (kept, kept, False)], viewer)
        script = 'cd "$1" && test -f kept/mine && echo in >in && if (echo out >kept/out); then exit 1; fi'
        argv = [*sandbox.prefix, "/bin/sh", "-c", script, "sh", str(covered)]
        env = dict(os.environ)
        ended = run(ProcessSpec(argv=argv, cwd=place, env=env, stdout=log, confine=sandbox.confine), _TRIAL)
        return ended.code == 0 and (place / "in").exists() and not (covered / "kept" / "out").exists()


def _try_landlock() -> SandboxKind:
    version = landlock.abi()
    if version < landlock.LEAST_ABI:
        why = "no Landlock in the kernel" if version < 1 else "the kernel's Landlock is too old (6.2 or later has one)"
        return SandboxKind(kind=None, reason=why)
    with scratch_folder() as scratch:
        said, inside = Path(scratch, "said"), Path(scratch, "inside")
        inside.mkdir()
        argv = [sys.executable, "-I", "-S", landlock.__file__, str(inside)]
        ended = run(ProcessSpec(argv=argv, cwd=inside, env=dict(os.environ), stdout=said), _TRIAL)
        words = (read_plain(said, 1000) or b"").split()
    if ended.code != 0 or len(words) != 2:
        return SandboxKind(kind=None, reason="Landlock does not work here")
    return SandboxKind(kind="landlock", own_view=words[1] == b"own-view")


def _try_program(kind: Kind, program: str) -> SandboxKind:
    walls = SandboxKind(kind=kind, program=program)
    with scratch_folder() as scratch:
        inside, outside, said = (Path(scratch, name) for name in ("inside", "outside", "said"))
        inside.mkdir()
        script = 'echo in >in; echo out >"$1" || exit 0'
        argv = (*make_sandbox(walls, [inside]).prefix, "/bin/sh", "-c", script, "sh", str(outside))
        ended = run(ProcessSpec(argv=argv, cwd=inside, env=dict(os.environ), stdout=said), _TRIAL)
        if ended.code == 0 and (inside / "in").exists() and not outside.exists():
            return walls
    return SandboxKind(kind=None, reason=f"{kind} does not work here")


def open_sandbox(said: str, rows: Sequence[Row] = (), viewer: Viewer | None = None) -> Sandbox:
    """Return a sandbox that denies nothing, whose programs see at some paths what ``rows`` say."""
    viewer = viewer or (find_view() if rows else Viewer())
    if rows and viewer.program:
        return Sandbox(
            said=said, prefix=(viewer.program, "--dev-bind", "/", "/", *_shown(rows), "--die-with-parent", "--")
        )
    return Sandbox(said=said, confine={"view": list(rows), "write": None} if rows else None)


def make_sandbox(
    walls: SandboxKind, write: Sequence[Path], *, temporary: Path | None = None, rows: Sequence[Row] = ()
) -> Sandbox:
    """Return a sandbox whose programs write only in ``write``: folders, or files that are there.

    ``temporary`` is one of them that stands for /tmp too, where that can be done and nothing they need lies there.
    They write as well where ``rows``, which say what is shown at some paths, let them.
    """
    if walls.kind is None:
        return open_sandbox(f"none: {walls.reason}", rows)
    viewer = find_view() if rows else Viewer()
    if viewer.program:
        # Within the kernel's own walls nothing can be mounted any more.
        walls = SandboxKind(kind="bwrap", program=viewer.program)
    shown = [target for _, target, writable in rows if writable]
    # Walls are built around real folders; a link would let in what it leads to.
    folders = list(dict.fromkeys(map(os.path.realpath, write)))
    allowed = list(dict.fromkeys([*folders, *shown]))
    tmp = os.path.realpath(temporary) if temporary is not None and not _needed_below(TMP, allowed) else ""
    if walls.kind == "landlock":
        said = "landlock, with a read-only view" if walls.own_view else "landlock"
        spec = {"write": allowed, "own_view": walls.own_view, "hide": hidden_doors(allowed), "tmp": tmp}
        return Sandbox(said=said, confined=True, confine=spec | ({"view": list(rows)} if rows else {}))
    if walls.kind == "bwrap":
        inner = _bwrap(folders, tmp, hidden_doors(allowed), rows if viewer.program else ())
        # Where the view is ours it comes first, and the walls are built within it.
        more = () if viewer.program else tuple(word for path in shown for word in ("--bind", path, path))
        words = (*inner, *more, "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--")
    else:
        words = _codex(allowed)
    confine = None if viewer.program or not rows else open_sandbox("", rows, viewer).confine
    return Sandbox(said=str(walls.kind), confined=True, prefix=(walls.program, *words), confine=confine)


def _bwrap(folders: Sequence[str], tmp: str, hidden: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...]:
    # bwrap mounts in the order of its words: what comes later lies over what came before.
    words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *(["--bind", tmp, TMP] if tmp else [])]
    for path in hidden:
        # A folder is covered with an empty one, a socket with /dev/null.
        words += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    words += _shown(rows)
    for folder in folders:
        words += ["--bind", folder, folder]
    return tuple(words)


def _shown(rows: Sequence[Row]) -> list[str]:
    """Write a view in the words of bwrap, which takes all sources from what there was before it."""
    return [word for source, target, may in rows for word in ("--bind" if may else "--ro-bind", source, target)]


def _codex(folders: Sequence[str]) -> tuple[str, ...]:
    settings = (
        'sandbox_mode="workspace-write"',
        "sandbox_workspace_write.network_access=true",
        "sandbox_workspace_write.exclude_slash_tmp=true",
        "sandbox_workspace_write.exclude_tmpdir_env_var=true",
        f"sandbox_workspace_write.writable_roots={json.dumps(list(folders))}",
    )
    return ("sandbox", *(word for setting in settings for word in ("-c", setting)), "--")


def hidden_doors(folders: Sequence[str]) -> list[str]:
    """List sockets through which somebody outside acts for whoever asks: agents, the session's bus, containers."""
    user = os.getuid()
    named = [os.environ.get("SSH_AUTH_SOCK", ""), os.environ.get("TMUX", "").partition(",")[0]]
    usual = (f"/run/user/{user}", f"/tmp/tmux-{user}", "/run/docker.sock", "/run/podman", "/run/containerd")
    found = {os.path.realpath(path) for path in (*named, *usual) if path and os.path.lexists(path)}
    return sorted(path for path in found if not _needed_below(path, folders))


def _needed_below(place: str, folders: Sequence[str]) -> bool:
    """Check whether what programs need lies below a place: their folders, home, the current folder, all of PATH."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    usual = (_here(), sys.executable, sys.prefix, os.environ.get("HOME", "/"), *filter(None, path))
    needed = {*folders, *map(os.path.realpath, usual)}
    return any(one == place or one.startswith(f"{place}/") for one in needed)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"
