"""Look over a checkout: what prun's settings could say about it, and which tools would wander into its workspaces."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.judging.hotspots import is_common
from gitprun.model.errors import GitFailed, GitTimeout
from gitprun.supervisor.process import ProcessLimits, ProcessSpec, run, scratch_folder, worker_environment
from gitprun.system.files import read_plain
from gitprun.verify.check import read_markers
from gitprun.verify.recipes import Check, detect

# Settings people write by hand are smaller.
MAX_FILE = 1_000_000
COPIED = (".env", ".env.local", ".env.development.local", ".env.test.local")
LINKED = ("node_modules",)
PRISMA = "prisma/schema.prisma"
# Files that every unit touches, wherever they are by convention ...
TOUCHED = (PRISMA, "src/lib/query-keys.ts", "src/lib/queue.ts", "src/routes.ts", "src/routes.tsx", "src/index.ts")
# ... and those that so many of the last commits touched.
RECENT, OFTEN, SHARE, MOST = 200, 8, 0.15, 4
# It is for a suggestion only: nobody waits longer for one.
LOG_TIMEOUT = 20.0
# Keys and values, each there once: both sides' lines one after the other say something twice, or break it.
STRUCTURED = (
    *(".json", ".jsonc", ".json5", ".toml", ".yaml", ".yml", ".xml", ".lock", ".ini", ".cfg", ".ipynb"),
    *(".csproj", ".gradle", ".kts", ".plist", ".pbxproj", ".tf", ".nix", ".properties"),
)
MANIFESTS = ("go.mod", "go.work", "gemfile", "podfile", "pipfile", "dockerfile", "makefile", "mix.exs", "version")
# A Python that has to be read from a cold disk.
MODULE_TIMEOUT = 20.0
# Each takes what lies in the checkout for its own: the configurations of one tool, and what belongs into them.
_JS = ("ts", "mts", "cts", "js", "mjs", "cjs")
SCANNERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("tsconfig.json",), 'add "{name}/**" to "exclude"'),
    (tuple(f"vitest.config.{end}" for end in _JS), 'add "**/{name}/**" to test.exclude'),
    (tuple(f"jest.config.{end}" for end in (*_JS, "json")), 'add "/{name}/" to testPathIgnorePatterns'),
    (
        (*(f"eslint.config.{end}" for end in _JS), *(f".eslintrc.{end}" for end in ("cjs", "js", "json"))),
        'add "{name}/**" to globalIgnores() or ignorePatterns',
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutSurvey:
    """What was found in a checkout; all paths are relative to it. ``missing`` says what keeps checks from running."""

    verify: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    hotspots: tuple[str, ...] = ()


def survey(repository: Repository, top: Path) -> CheckoutSurvey:
    """Look over the user's checkout."""
    tracked = _tracked(repository.git, TOUCHED)
    checks = detect(read_markers(top))
    return CheckoutSurvey(
        verify=tuple(check.command for check in checks),
        missing=tuple(_missing(checks, top)),
        copy=_ignored(repository.git, [name for name in COPIED if _is_file(top / name)]),
        link=_ignored(repository.git, [name for name in LINKED if (top / name).is_dir()]),
        setup=("npx prisma generate",) if PRISMA in tracked else (),
        hotspots=tuple(dict.fromkeys((*tracked, *_often(repository.git)))),
    )


def _missing(checks: Sequence[Check], top: Path) -> Iterator[str]:
    """Return which programs of the checks found are not there, each once."""
    told: set[str] = set()
    for check in checks:
        absent = [program for program in check.needs if shutil.which(program) is None]
        words = check.command.split()
        said = [f"{program}, the program of the check {check.command!r}, is not on PATH" for program in absent]
        for path in check.needs_files:
            if not absent and not (top / path).exists():
                said.append(f"{path}, the program of the check {check.command!r}, is not there")
        if not absent and words[1:2] == ["-m"] and not _has_module(words[0], words[2]):
            said.append(f"{words[0]} has no module {words[2]}, the program of the check {check.command!r}")
        for text in said:
            program = text.partition(", the program")[0]
            if program not in told:
                told.add(program)
                yield text


def _has_module(python: str, name: str) -> bool:
    """Check whether a Python has a module; where it cannot be asked, it is not said that there is none."""
    code = "import importlib.util, sys; sys.exit(3 if importlib.util.find_spec(sys.argv[1]) is None else 0)"
    with scratch_folder() as scratch:
        argv = [python, "-c", code, name]
        # In a folder of its own: Python would look for modules where it is.
        said, env = Path(scratch, "said"), worker_environment({})
        program = ProcessSpec(argv=argv, cwd=Path(scratch), env=env, stdout=said)
        # 3 is given by this code alone, 1 by a Python that failed for any reason.
        return run(program, ProcessLimits(timeout=MODULE_TIMEOUT)).code != 3


def wandering(top: Path, folder: str) -> list[str]:
    """Name the tools whose configuration lets them wander into a folder of the checkout, and what would keep them."""
    found = []
    for names, advice in SCANNERS:
        name = next((name for name in names if _is_file(top / name)), None)
        if name is not None and folder.encode() not in (read_plain(top / name, MAX_FILE) or b""):
            found.append(f"{name}: {advice.format(name=folder)}")
    return found


def _is_file(path: Path) -> bool:
    return path.is_file()


def _tracked(git: Git, names: Sequence[str]) -> tuple[str, ...]:
    rows = git.run("ls-files", "-z", "--", *(f":(top,literal){name}" for name in names)).fields
    known = {os.fsdecode(row) for row in rows}
    return tuple(name for name in names if name in known)


def _ignored(git: Git, names: Sequence[str]) -> tuple[str, ...]:
    """Keep what git ignores: those are the things that are nowhere but in this checkout."""
    if not names:
        return ()
    listing = b"".join(os.fsencode(name) + b"\0" for name in names)
    rows = git.run("check-ignore", "-z", "--stdin", stdin=listing, ok=(0, 1)).fields
    ignored = {os.fsdecode(row) for row in rows}
    return tuple(name for name in names if name in ignored)


def _often(git: Git) -> list[str]:
    """Find the files that many of the last commits touched, and that are still there."""
    words = ("log", f"--max-count={RECENT}", "--no-merges", "--no-renames", "--no-show-signature", "--name-only")
    try:
        rows = git.run(*words, "--format=%x01", "-z", timeout=LOG_TIMEOUT).fields
    except (GitFailed, GitTimeout):
        return []
    counts = Counter(os.fsdecode(row).lstrip("\n") for row in rows)
    enough = max(OFTEN, SHARE * counts.pop("\x01", 0))
    # More than are wanted, for some drop out below.
    often = [name for name, count in counts.most_common(3 * MOST) if count >= enough]
    own = [name for name in often if name.isprintable() and name and not _settled(name)]
    return list(_tracked(git, own))[:MOST] if own else []


def _settled(name: str) -> bool:
    """Check whether a file is a hotspot without being named, or one that no union can be right for."""
    last = name.rpartition("/")[2].lower()
    structured = last in MANIFESTS or last.endswith(STRUCTURED)
    return is_common(name) or structured or "-lock." in last
