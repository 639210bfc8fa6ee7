"""What stays what it is below the checkout's path while that shows another place: installations, and what git needs.

Rules only. Not all ignored files are kept: a ``dist`` folder of the user's is code of the checkout again, just built.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping

# Variables that name where a tool's installed packages lie, and nothing of the project's own code.
HOMES = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "UV_PROJECT_ENVIRONMENT",
    "GEM_HOME",
    "BUNDLE_PATH",
    "GOPATH",
    "GOMODCACHE",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
)
TEMPORARIES = ("TMPDIR", "TMP", "TEMP")
# What the system lies in: a checkout that holds one of them (a repository in /etc, or all of /) is not covered.
SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var")
INSTALLED = "node_modules"


def is_below(path: str, folder: str) -> bool:
    """Check whether a path is a folder or lies in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def why_covered_never(checkout: str, home: str) -> str:
    """Return why the path of a checkout cannot show anything else, empty where it can."""
    needed = next((path for path in (home, *SYSTEM) if path and is_below(path, checkout)), "")
    return f"the checkout holds {needed}" if needed else ""


def installations(
    checkout: str, env: Mapping[str, str], commands: Iterable[str], marked: Callable[[str], bool]
) -> tuple[str, ...]:
    """List the folders below a checkout that PATH, variables of tools, or the commands of checks point into.

    ``marked`` tells whether a folder is the top of an installation (it holds ``pyvenv.cfg``). A folder of programs
    alone is none: it may be the checkout's own ``bin``, which is what has to be shown.
    """
    homes = {env[name] for name in HOMES if env.get(name)}
    places = [*env.get("PATH", "").split(":"), *homes, *_words(checkout, commands)]
    found: dict[str, None] = {}
    for place in places:
        top = _top_of(place, checkout, marked)
        if top or (place in homes and is_below(place, checkout) and place.rstrip("/") != checkout):
            found[top or place.rstrip("/")] = None
    return tuple(found)


def _words(checkout: str, commands: Iterable[str]) -> list[str]:
    """List the words of commands that are paths below the checkout."""
    found: list[str] = []
    for command in commands:
        try:
            words = shlex.split(command)
        # Quotes that do not close; a shell would refuse it too, but nothing is run here.
        except ValueError:
            words = command.split()
        found += [word for word in words if word.startswith(f"{checkout}/")]
    return found


def _top_of(place: str, checkout: str, marked: Callable[[str], bool]) -> str:
    """Find the installation a path lies in, the outermost folder that is one; empty without any."""
    if not is_below(place, checkout):
        return ""
    parts = [part for part in place[len(checkout) :].split("/") if part not in ("", ".")]
    # Where such a path leads only the system can tell, through its links.
    if ".." in parts:
        return ""
    top = checkout
    for part in parts:
        top = f"{top}/{part}"
        if part == INSTALLED or marked(top):
            return top
    return ""
