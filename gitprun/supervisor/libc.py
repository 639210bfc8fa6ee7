"""Calls that Python does not offer, made without the weight of ``ctypes``: the supervisor is many at once."""

import sys


def call(name: str, *arguments: "int | bytes") -> int:
    """Call a function of the C library; -1 where it fails or there is none. Integers are passed as 64 bits."""
    if not sys.platform.startswith("linux"):
        return -1
    try:
        import _ctypes

        simple = _ctypes._SimpleCData
        long = type("Long", (simple,), {"_type_": "l"})
        function = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
        ready = tuple(long(word) if isinstance(word, int) else word for word in arguments)
        return int(_ctypes.call_cdeclfunction(function, ready))
    except (ImportError, OSError, AttributeError, TypeError):
        return -1


# The kernel's numbers (asm/unistd.h, linux/sched.h).
CLONE3 = 435
CLONE_INTO_CGROUP = 0x200000000


def fork_into(group: int, signal: int) -> int:
    """Fork, the child being born in a cgroup (an open folder); its parent hears of its end by ``signal``.

    Gives 0 in the child, -1 where this cannot be done. To fork and then move the child would wait for the kernel to
    bring all processors to rest, 30 ms; for a process without threads this is all that a fork does otherwise.
    """
    rows = (CLONE_INTO_CGROUP, 0, 0, 0, signal, 0, 0, 0, 0, 0, group)
    wanted = b"".join(row.to_bytes(8, sys.byteorder) for row in rows)
    return call("syscall", CLONE3, wanted, len(wanted))
