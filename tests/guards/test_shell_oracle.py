"""What the guard says about a command, against what a real shell does with it: its git only leaves a trace."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitprun.guards.commands import find_refused
from tests.guards.test_commands import HARMLESS_HERE, HERE, INERT, RUNS, WAYS, wrapped

BASH = shutil.which("bash")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(BASH is None, reason="no bash here")]

# These need another PATH, a real git, a password, or have no end.
NOT_HERE = ("git-push", "/usr/bin/git", "-lc", "su bob", "sudo", "watch", "git oops", "alias.x", "foreach", "while git")
PROGRAMS = ("sh", "bash", "cat", "env", "nohup", "timeout", "nice", "stdbuf", "setsid", "flock", "xargs", "ls", "find")
# Its subcommand is the first word behind its options; asked for help, none does anything.
GIT = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -C | -c | --work-tree) shift 2 ;;
        -*) shift ;;
        push | commit) case ${2-} in -h | --help) exit 0 ;; *) echo "$*" >>"$TRACE" && exit 0 ;; esac ;;
        *) exit 0 ;;
    esac
done
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shell")
    (place / "x").mkdir()
    git = place / "programs" / "git"
    git.parent.mkdir()
    git.write_text(GIT)
    git.chmod(0o755)
    # Nothing else can be started: some of what follows is made of chance.
    for name in (*PROGRAMS, "diff", "tee", "grep"):
        if found := shutil.which(name):
            (git.parent / name).symlink_to(found)
    return place


def pushes(place: Path, text: str) -> bool:
    """Tell whether bash, given this text, has git push or commit."""
    trace = place / "trace"
    trace.unlink(missing_ok=True)
    env = {"PATH": str(place / "programs"), "TRACE": str(trace)}
    subprocess.run(
        [str(BASH), "-c", text],
        cwd=place,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return trace.exists()


@pytest.mark.parametrize("text", [way for way in WAYS + HERE if not any(name in way for name in NOT_HERE)])
def test_what_is_refused_would_have_run(place: Path, text: str) -> None:
    assert pushes(place, f"x=a; {text}" if "case $x" in text else text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.recursive(INERT | RUNS, wrapped, max_leaves=4))
def test_nothing_runs_that_was_not_refused(place: Path, text: str) -> None:
    if find_refused(text) is None:
        assert not pushes(place, text)


@pytest.mark.parametrize("text", HARMLESS_HERE)
def test_what_is_let_through_runs_nothing(place: Path, text: str) -> None:
    assert (find_refused(text), pushes(place, text)) == (None, False)


SOUP = st.text(st.sampled_from("git push;&|()<>{}$`'\"\\\n# =a-c sh"), max_size=40)
CORE = st.sampled_from(["git push", " git push ", "$(git push)", "sh -c 'git push'"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.tuples(SOUP, CORE, SOUP).map("".join))
def test_nor_out_of_any_soup_of_characters(place: Path, text: str) -> None:
    if find_refused(text) is None:
        assert not pushes(place, text)
