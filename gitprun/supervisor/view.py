"""Show other folders at paths of this process, and of all it will ever start (Linux): the mounts of a view.

Loaded by ``landlock`` within the forked child, in a mount namespace of its own, so it imports next to nothing.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MS_BIND, MS_REC = 0x1000, 0x4000


def show(
    rows: "Sequence[tuple[str, str, bool]]",
    mount: "Callable[[str, str, None, int], None]",
    protect: "Callable[[str], None]",
) -> "list[str]":
    """Mount each source on its target in order and return the targets that may be written.

    A row is source, target, and whether it may be written. All sources are what they were before the first mount: they
    are held by descriptor, so that what a mount covers can be bound back below it without a place in between.
    """
    held = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source, _, _ in rows]
    for place, (_, target, writable) in zip(held, rows):  # noqa: B905  # both are of one length, and this is hot
        mount(f"/proc/self/fd/{place}", target, None, MS_BIND | MS_REC)
        os.close(place)
        if not writable:
            protect(target)
    return [target for _, target, writable in rows if writable]
