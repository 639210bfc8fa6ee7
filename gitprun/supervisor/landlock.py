"""Confine the process that calls it, and all it will ever start, to a view and to writing in a few places (Linux).

The supervisor's forked child imports it right before it turns into the program, so it imports next to nothing itself.
Two walls, each of which holds alone: Landlock (kernel 6.2 and later; no rights needed), which lets nobody out again,
denies writes, and keeps it from looking into or ending processes outside; and, where the kernel lets us make one, a
view of the file system of its own that is read-only elsewhere, with terminals and shared memory of its own. Run as a
program it probes: it confines itself and prints what it got.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Before 3 it lets a process truncate any file.
LEAST_ABI = 3
CREATE_RULESET, ADD_RULE, RESTRICT_SELF, MOUNT_SETATTR = 444, 445, 446, 442

WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO = (
    1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10)
)
MAKE_BLOCK, MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in (11, 12, 13, 14, 15))
# Device nodes are made nowhere. Reading and starting programs are not touched at all.
IN_FOLDER = (
    WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE
)
ON_FILE = WRITE_FILE | TRUNCATE
# The kernel's numbers (linux/landlock.h).
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2

# What every program may write, none of which keeps anything.
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
TERMINALS, SHARED_MEMORY = "/dev/pts", "/dev/shm"

# The kernel's numbers (sched.h, sys/mount.h, fcntl.h, sys/prctl.h): importing them would load ctypes.
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
MS_BIND, MS_REC, MS_SLAVE, MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x1000, 0x4000, 0x80000, 2, 4, 8
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
# What root could use to change the kernel or its view of files: neither wall binds those.
# DAC_READ_SEARCH, LINUX_IMMUTABLE, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, SYS_TIME, MKNOD, ...
# ... AUDIT_CONTROL, MAC_OVERRIDE, MAC_ADMIN, SYSLOG, PERFMON, BPF
DROPPED = (2, 9, 16, 17, 19, 21, 22, 25, 27, 30, 32, 33, 34, 38, 39)


class NotConfined(Exception):
    """The kernel did not do what was asked of it: the program must not be started."""


def _call(name: str, *arguments: "int | bytes | None") -> int:
    import _ctypes

    # Words as wide as the kernel reads them, without the weight of ``ctypes``.
    word = type("Word", (_ctypes._SimpleCData,), {"_type_": "l"})
    address = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    ready = tuple(word(one) if isinstance(one, int) else one for one in arguments)
    return int(_ctypes.call_cdeclfunction(address, ready))


def _require(what: str, answer: int) -> int:
    if answer < 0:
        raise NotConfined(f"{what} was refused")
    return answer


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, sys.byteorder) for number in numbers)


def abi() -> int:
    """Return which version of Landlock the kernel has; 0 or less without it."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return _call("syscall", CREATE_RULESET, None, 0, 1)
    except (ImportError, OSError, AttributeError):
        return 0


def confine(spec: "dict[str, Any]") -> None:
    """Confine this process for good; raises NotConfined, after which it is good for nothing.

    ``view`` are the rows of ``_show_view`` (none: paths lead where they did). ``write`` lists the folders that may be
    written, with what of the view may be (None: no walls); ``own_view`` says whether to make the second wall too: there
    ``hide`` are sockets (or folders of such) not to be seen, and ``tmp`` is the folder that is /tmp (empty: the usual
    one stays, read-only). Standard output and error may be opened again.
    """
    rows, walled = spec.get("view") or (), spec.get("write") is not None
    own_view = walled and spec["own_view"]
    shown: list[str] = []
    if rows or own_view:
        _enter_namespace(CLONE_NEWNS | (CLONE_NEWIPC if own_view else 0))
    if rows:
        shown = _show_view(rows)
    if not walled:
        return
    folders = [os.path.realpath(path) for path in (*spec["write"], *shown)]
    if own_view:
        _make_own_view(folders, spec["hide"], spec["tmp"])
    _require("to gain no rights", _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if os.geteuid() == 0:
        for capability in DROPPED:
            # One the kernel does not know, or that is not there to be dropped, is none to worry about.
            _call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    _restrict(folders, own_view=own_view)


def _show_view(rows: "Sequence[tuple[str, str, bool]]") -> "list[str]":
    """Mount each source on its target in order and return the targets that may be written.

    A row is source, target, and whether it may be written. All sources are what they were before the first mount: they
    are held by descriptor, so that what a mount covers can be bound back below it without a place in between.
    """
    held = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source, _, _ in rows]
    for place, (_, target, writable) in zip(held, rows):  # noqa: B905  # both are of one length, and this is hot
        _mount(f"/proc/self/fd/{place}", target, None, MS_BIND | MS_REC)
        os.close(place)
        if not writable:
            _protect(target)
    return [target for _, target, writable in rows if writable]


def _restrict(folders: "Sequence[str]", *, own_view: bool) -> None:
    """Build the wall of Landlock."""
    version = abi()
    if version < LEAST_ABI:
        raise NotConfined(f"Landlock {LEAST_ABI} is not there")
    handled = IN_FOLDER | MAKE_CHAR | MAKE_BLOCK | (IOCTL_DEV if version >= 5 else 0)
    scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS if version >= 6 else 0
    attributes = _words(handled, 0, scoped)
    ruleset = _require("a rule set", _call("syscall", CREATE_RULESET, attributes, len(attributes), 0))
    for folder in folders:
        _allow(ruleset, folder, (IN_FOLDER if os.path.isdir(folder) else ON_FILE) & handled)
    for device in DEVICES:
        _allow(ruleset, device, ON_FILE & handled, needed=False)
    _allow(ruleset, SHARED_MEMORY, IN_FOLDER & handled, needed=False)
    if own_view:
        # These are ours alone there; otherwise they are the terminals of the user.
        _allow(ruleset, TERMINALS, (ON_FILE | IOCTL_DEV) & handled, needed=False)
        _allow(ruleset, "/dev/ptmx", (ON_FILE | IOCTL_DEV) & handled, needed=False)
    for stream in (1, 2):
        # `echo >/dev/stderr` opens the log anew. What is no file is not refused anyway.
        _add(ruleset, stream, ON_FILE & handled)
    _require("to be restricted", _call("syscall", RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, access: int, *, needed: bool = True) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        if needed:
            raise
        return
    try:
        answer = _add(ruleset, place, access)
    finally:
        os.close(place)
    if needed:
        _require(f"a rule for {path}", answer)


def _add(ruleset: int, place: int, access: int) -> int:
    # ``struct landlock_path_beneath_attr`` is packed: eight bytes of rights, four of the descriptor.
    rule = _words(access) + place.to_bytes(4, sys.byteorder, signed=True)
    return _call("syscall", ADD_RULE, ruleset, 1, rule, 0)


def _enter_namespace(kinds: int) -> None:
    """Leave the mounts everybody shares (and more, as ``kinds`` says); without root's rights as its own user."""
    user, group = os.getuid(), os.getgid()
    if user != 0 or _call("unshare", kinds) != 0:
        _require("a name space", _call("unshare", CLONE_NEWUSER | kinds))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as target:
                target.write(text)
    _mount(None, "/", None, MS_REC | MS_SLAVE)


def _make_own_view(folders: "Sequence[str]", hidden: "Sequence[str]", tmp: str) -> None:
    """Build the wall of mounts: everything read-only but ``folders``, and nobody outside sees it."""
    for folder in folders:
        _mount(folder, folder, None, MS_BIND | MS_REC)
    _protect("/")
    for folder in folders:
        writable = _words(0, MOUNT_ATTR_RDONLY, 0, 0)
        answer = _call("syscall", MOUNT_SETATTR, AT_FDCWD, os.fsencode(folder), 0, writable, len(writable))
        _require(f"to write in {folder}", answer)
    quiet = MS_NOSUID | MS_NOEXEC
    _mount("devpts", TERMINALS, "devpts", quiet, "newinstance,ptmxmode=0666,mode=620")
    _mount("tmpfs", SHARED_MEMORY, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    if tmp:
        _mount(tmp, "/tmp", None, MS_BIND)
    for path in hidden:
        if os.path.isdir(path):
            _mount("tmpfs", path, "tmpfs", quiet | MS_NODEV, "mode=700,size=4k")
        elif os.path.exists(path):
            _mount("/dev/null", path, None, MS_BIND)


def _protect(path: str) -> None:
    """Make a mount read-only, with all that is mounted below it."""
    wanted = _words(MOUNT_ATTR_RDONLY, 0, 0, 0)
    answer = _call("syscall", MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), AT_RECURSIVE, wanted, len(wanted))
    _require(f"a read-only view of {path}", answer)


def _mount(source: "str | None", target: str, kind: "str | None", flags: int, options: "str | None" = None) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, options)]
    answer = _call("mount", words[0], words[1], words[2], flags, words[3])
    _require(f"a mount on {target}", answer)


def main(folder: str) -> None:
    """Confine this process to a folder and say how far that went: ``<abi>`` or ``<abi> own-view``, nothing if not."""
    version = abi()
    if version < LEAST_ABI:
        print(version)
        return
    child = os.fork()
    if child == 0:
        try:
            confine({"write": [folder], "own_view": True, "hide": [], "tmp": ""})
            with open(os.path.join(folder, "probe"), "w"):
                os._exit(0)
        except BaseException:
            os._exit(1)
    own_view = os.waitpid(child, 0)[1] == 0
    if not own_view:
        confine({"write": [folder], "own_view": False})
    print(f"{version} own-view" if own_view else f"{version} confined", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
