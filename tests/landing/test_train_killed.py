"""A train killed at any moment: main is where it was or at the whole train, and the next landing finishes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitprun.landing.move import CheckoutStuck
from gitprun.landing.plan import LandingReport
from tests.support.landing import land_branches, landing_events
from tests.support.processes import start_program
from tests.support.repos import Repo

ROOT = Path(__file__).parents[2]
NAMES = tuple(f"b{number:02}" for number in range(20))
MOMENTS = 50
pytestmark = [pytest.mark.kill, pytest.mark.slow]

SCRIPT = (
    "import os, sys, pygit2;"
    "[pygit2.settings.search_path.__setitem__(level, os.devnull) for level in"
    " (pygit2.enums.ConfigLevel.GLOBAL, pygit2.enums.ConfigLevel.XDG, pygit2.enums.ConfigLevel.SYSTEM)];"
    "from pathlib import Path; from tests.support.landing import land_branches; from tests.support.repos import Repo;"
    "print('go', flush=True); land_branches(Repo(Path(sys.argv[1])), *sys.argv[2:])"
)


@dataclass(frozen=True, slots=True)
class Station:
    """A train ready to leave, the tree it leads to, and the seconds it takes."""

    template: Path
    old: str
    tree: str
    seconds: float


def history() -> bytes:
    """Write a repository of 200 files, and branches that change ten of them each, for ``git fast-import``."""
    head = "committer C <c@example.test> 1767600000 +0000\ndata 1\nx\n"
    rows = [f"commit refs/heads/main\nmark :1\n{head}"]
    rows += [f"M 100644 inline d{n % 7}/f{n}\ndata 2\n1\n\n" for n in range(200)]
    for number, name in enumerate(NAMES):
        rows.append(f"commit refs/heads/{name}\n{head}from :1\n")
        rows += [f"M 100644 inline d{n % 7}/f{n}\ndata 3\n{name}\n" for n in range(number * 10, number * 10 + 10)]
    return "".join(rows).encode()


def start(repo: Repo) -> subprocess.Popen[bytes]:
    process = start_program(
        [sys.executable, "-c", SCRIPT, str(repo.path), *NAMES],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process.stdout as pipe:
        assert pipe.readline() == b"go\n"
    return process


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Station:
    folder = tmp_path_factory.mktemp("train")
    repo = Repo(folder / "template")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "A")
    repo.git("config", "user.email", "a@example.test")
    repo.git("fast-import", "--quiet", stdin=history())
    repo.git("reset", "-q", "--hard")
    # See once what it comes to, and how long it takes.
    tried = leave(repo.path, folder / "tried")
    process = start(tried)
    began = time.monotonic()
    assert process.wait(timeout=300) == 0
    return Station(repo.path, repo.head, tried.oid("HEAD^{tree}"), time.monotonic() - began)


def leave(template: Path, path: Path) -> Repo:
    shutil.copytree(template, path, symlinks=True)
    return Repo(path)


def land_again(repo: Repo) -> LandingReport:
    """Land, waiting for a git program that outlived its landing."""
    until = time.monotonic() + 60
    while True:
        try:
            return land_branches(repo, *NAMES)
        except CheckoutStuck as problem:
            if "another git program works in it" not in problem.message or time.monotonic() > until:
                raise
            time.sleep(0.05)


def where(repo: Repo, station: Station) -> str:
    """Tell whether main is where it was, or at the whole train: nothing else may be."""
    if repo.head == station.old:
        return "old"
    assert repo.oid("HEAD^{tree}") == station.tree
    merged = repo.git("log", "--first-parent", "--reverse", "--format=%P", f"{station.old}..").splitlines()
    assert [row.split()[1] for row in merged] == [repo.oid(name) for name in NAMES]
    return "whole"


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_killed_at_any_moment(tmp_path: Path, station: Station, moment: int) -> None:
    repo = leave(station.template, tmp_path / "repo")
    tips = repo.git("for-each-ref", "refs/heads/b*")
    process = start(repo)
    time.sleep(station.seconds * moment / MOMENTS)
    process.kill()
    code = process.wait()
    assert code in (0, -signal.SIGKILL)
    stood = where(repo, station)
    report = land_again(repo)
    came = {item.state for item in report.items}
    if stood == "old" and came == {"already-contained"}:
        # The git that was to move main outlived its landing, and did so after we had looked.
        stood = "whole"
    assert came == {"landed" if stood == "old" else "already-contained"}
    assert where(repo, station) == "whole"
    assert repo.status() == []
    assert repo.git("for-each-ref", "refs/heads/b*") == tips
    events = landing_events(repo)
    assert [event for event in events if event.startswith("landing.landed")] == [
        f"landing.landed {name}" for name in NAMES
    ]
    assert events[-1] == "landing.finished landed"
    if stood == "whole" and report.notes:
        assert report.notes == (f"a landing on main that was cut off is complete now, at {repo.head[:10]}",)
    repo.git("fsck", "--strict")
