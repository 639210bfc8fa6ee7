"""Where no view can be had: does what a check uses lead back into the user's checkout, and to what changed there?

Linked folders, copied files and environments are looked over for links, ``.pth`` files and settings that name the
checkout's path. A check of a unit that changed what lies there would look at the checkout's code, and prove nothing.
"""

from __future__ import annotations

import functools
import os
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitprun.system.files import read_plain
from gitprun.verify.installations import INSTALLED, is_below
from gitprun.verify.view import CheckoutView, installed, obstacle

# What leads back lies near the top: npm's links in node_modules, .pth files in site-packages. Breadth first, so many
# entries hold them all, and a look at so many takes about a quarter of a second.
MOST_ENTRIES = 20_000
# On a slow disk a check must not wait longer for being asked about than many take to run.
MOST_SECONDS = 2.0
# Settings people write by hand are smaller; what is larger is made by programs.
MOST_READ = 64 << 10
IMPORTED = (".pth", ".egg-link")
SETTINGS = (".cfg", ".conf", ".ini", ".properties", ".toml", ".yaml", ".yml")
_PATH_END = rb"""[^\s"'`:;,<>|()\[\]{}\0]*"""


@dataclass(frozen=True, slots=True)
class BackReference:
    """What leads back, as people know it, and where to, relative to the checkout (empty: all of it)."""

    what: str
    target: str


def find_back_references(view: CheckoutView, env: Mapping[str, str]) -> tuple[BackReference, ...]:
    """List what leads back into the checkout of all that is linked, copied, or an environment of the checks."""
    names = (*view.link, *view.copy)
    things = dict.fromkeys((*(f"{view.checkout}/{name}" for name in names), *installed(view, env)))
    return _look(str(view.checkout), tuple(things))


def describe_obstacle(view: CheckoutView, env: Mapping[str, str], why: str) -> str:
    """Return why a check without a view would prove nothing, empty where it does; ``why`` there is no view."""
    leads = find_back_references(view, env)
    if not leads:
        return ""
    changed = None if view.changed is None else tuple(view.changed())
    for lead in leads:
        if changed is None or not lead.target or any(is_below(path, lead.target) for path in changed):
            return f"{lead.what} leads to your checkout, and the path cannot show what is checked: {why}"
    return ""


def describe_back_references(view: CheckoutView | None, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return what leads from a place back into the checkout, where no view can be had."""
    why = obstacle(view, env) if view is not None else ""
    leads = find_back_references(view, env) if view is not None and why else ()
    if not leads:
        return ()
    more = f" (and {len(leads) - 1} more)" if len(leads) > 1 else ""
    where = leads[0].target or "all of it"
    return (f"{leads[0].what} leads to your checkout ({where}){more}: checks of changes there cannot run: {why}",)


@functools.cache
def _look(checkout: str, things: tuple[str, ...]) -> tuple[BackReference, ...]:
    """Look things over, once a process: all units of a run share them."""
    found: dict[BackReference, None] = {}
    until, left = time.monotonic() + MOST_SECONDS, MOST_ENTRIES
    for thing in things:
        for path, targets in _leading(thing, checkout):
            left -= 1
            if left <= 0 or time.monotonic() > until:
                return tuple(found)
            for target in targets:
                # What leads into another one of them stays in what is shown.
                if not any(is_below(target, other) for other in things):
                    shown = os.path.relpath(path, checkout) if is_below(path, checkout) else path
                    found[BackReference(shown, target[len(checkout) + 1 :])] = None
    return tuple(found)


def _leading(thing: str, checkout: str) -> Iterator[tuple[str, list[str]]]:
    """Yield all paths of a thing, the outer ones first, each with the paths below the checkout it leads to."""
    pending = deque([thing])
    while pending:
        path = pending.popleft()
        if os.path.islink(path):
            target = os.path.realpath(path)
            yield path, [target] if is_below(target, checkout) else []
        elif os.path.isdir(path):
            yield path, []
            try:
                pending.extend(f"{path}/{name}" for name in sorted(os.listdir(path)))
            except OSError:
                continue
        else:
            yield path, _named(path, checkout) if _may_name(path) else []


def _may_name(path: str) -> bool:
    """Check whether a file is one that tools take paths from: what is installed names its own place all over."""
    folder, name = os.path.split(path)
    if name.endswith(IMPORTED) or name.startswith("__editable__"):
        return True
    if INSTALLED in folder or "site-packages" in folder or name == "pyvenv.cfg":
        return False
    return name.startswith(".env") or name.endswith(SETTINGS)


def _named(path: str, checkout: str) -> list[str]:
    """List the paths below the checkout that a text names."""
    # One byte more tells what is too large from what just fits.
    text = read_plain(Path(path), MOST_READ + 1) or b""
    if len(text) > MOST_READ or b"\0" in text:
        return []
    # Not where a longer name goes on: /home/me/app-old does not lead to /home/me/app.
    pattern = re.escape(os.fsencode(checkout)) + rb"(?![\w.-])" + _PATH_END
    found: Iterable[bytes] = re.findall(pattern, text)
    return [os.path.normpath(os.fsdecode(one)) for one in dict.fromkeys(found)]
