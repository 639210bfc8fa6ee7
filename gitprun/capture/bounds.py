"""How much that is new one capture takes: which files go when they are too many, or too large together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from gitprun.capture.screen import LeftOut


def leave_out_crowds(sizes: Mapping[str, int], most: int, tracked: Callable[[str], bool]) -> dict[str, list[str]]:
    """Choose what goes where more than ``most`` files are new: the fullest new folders, by place.

    ``tracked`` tells whether the base holds a folder: of such a one only the new files right in it can go
    (``src/*``), of any other all of it (``src/new/``).
    """
    left, gone = dict.fromkeys(sizes), dict[str, list[str]]()
    known: dict[str, bool] = {"": True}

    def is_tracked(folder: str) -> bool:
        if folder not in known:
            known[folder] = tracked(folder)
        return known[folder]

    while len(left) > most:
        crowds: Counter[str] = Counter()
        for path in left:
            crowds.update(_places(path, is_tracked))
        place = _fullest(crowds)
        # All of one place go together: half of a generated folder is of no use to anybody.
        gone[place] = [path for path in left if place in _places(path, is_tracked)]
        for path in gone[place]:
            del left[path]
    return gone


def _places(path: str, is_tracked: Callable[[str], bool]) -> list[str]:
    """List the places a new file can go with: each new folder above it, or the folder of the base it lies in."""
    folders = [path[:at] for at, char in enumerate(path) if char == "/"]
    new = [f"{folder}/" for folder in folders if not is_tracked(folder)]
    return new or [f"{folders[-1]}/*" if folders else "*"]


def _fullest(crowds: Mapping[str, int]) -> str:
    """Choose the fullest place, and in it the innermost folder that holds nearly all of it."""
    place = max(crowds, key=lambda one: (crowds[one], -len(one)))
    # Nine tenths: the rest beside it may well be work.
    inner = [one for one in crowds if one.startswith(place) and one != place and crowds[one] * 10 > crowds[place] * 9]
    return max(inner, key=len, default=place)


def leave_out_large(sizes: Mapping[str, int], most: int) -> list[str]:
    """Choose what goes where new files are larger than ``most`` bytes together: the largest first."""
    over, gone = sum(sizes.values()) - most, []
    # The largest first, so that as few paths as possible stay behind.
    for path in sorted(sizes, key=lambda one: (-sizes[one], one)):
        if over <= 0:
            break
        gone.append(path)
        over -= sizes[path]
    return gone


def crowd_row(place: str, sizes: Sequence[int], most: int) -> LeftOut:
    """Describe a place that is left out for the number of files in it."""
    reason = f"{len(sizes)} new files, with which more than {most} would be new ([collect] max_files)"
    return LeftOut(place, reason, sum(sizes))


def large_row(path: str, size: int, most: int) -> LeftOut:
    """Describe a file that is left out for what all new files come to."""
    return LeftOut(
        path, f"with it the new files would be larger than {most} bytes together ([collect] max_total)", size
    )
