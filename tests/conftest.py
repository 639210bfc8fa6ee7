"""The seal: no test sees the machine's configuration, and none leaves the process changed."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pygit2
import pytest
from hypothesis import settings

from gitprun.git import command
from tests.support.cli import end_forkers
from tests.support.processes import end_started, hear_signals

# Few examples for everybody, many with `--hypothesis-profile=thorough`; how fast a machine is, is no finding.
settings.register_profile("quick", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=400, deadline=None)
settings.load_profile("quick")

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada Author",
    "GIT_AUTHOR_EMAIL": "ada@example.test",
    "GIT_COMMITTER_NAME": "Carl Committer",
    "GIT_COMMITTER_EMAIL": "carl@example.test",
    "GIT_AUTHOR_DATE": "2026-01-05T10:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-05T10:00:00Z",
}
SEALED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "NO_COLOR": "1",
    "COLUMNS": "120",
}

# One number for each folder of a test in this process.
_count = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the slow tests in."""
    parser.addoption("--slow", action="store_true", help="also run what starts hundreds of programs (CI does)")
    parser.addoption("--kill", action="store_true", help="also run the long trials with killed processes (CI does)")


def pytest_configure(config: pytest.Config) -> None:
    """Be the same however the tests were started: under nohup, in the background, without a terminal."""
    hear_signals()
    _keep_bytecode(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go what tests share."""
    end_forkers()


def _keep_bytecode(config: pytest.Config) -> None:
    """Compile each module once, here and in children, even where nothing may be written beside the sources."""
    if not sys.dont_write_bytecode or not hasattr(config, "cache"):
        return
    folder = str(config.cache.mkdir("bytecode"))
    sys.dont_write_bytecode, sys.pycache_prefix = False, folder
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = folder


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests and trials out, unless they are asked for or their file is named."""
    if any(".py" in arg for arg in config.args):
        return
    left_out = [name for name in ("slow", "kill") if not config.getoption(f"--{name}")]
    apart = {item for item in items if any(item.get_closest_marker(name) for name in left_out)}
    config.hook.pytest_deselected(items=list(apart))
    items[:] = [item for item in items if item not in apart]


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give every test a folder of its own, as pytest does, but without counting thousands of others first."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(_count)}", numbered=False)


@pytest.fixture(autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give every test a home of its own and a neutral git; fail a test that leaks a changed folder or variable."""
    home = tmp_path_factory.mktemp(f"home{next(_count)}", numbered=False)
    for name in list(os.environ):
        if name.startswith(("GIT_", "PRUN_", "XDG_", "CODEX_", "CLAUDE", "ANTHROPIC_", "OPENAI_")):
            monkeypatch.delenv(name)
    for name, value in {**SEALED, **IDENTITY, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}.items():
        monkeypatch.setenv(name, value)
    # libgit2 does not obey the environment: it has to be told apart.
    for level in (
        pygit2.enums.ConfigLevel.GLOBAL,
        pygit2.enums.ConfigLevel.XDG,
        pygit2.enums.ConfigLevel.SYSTEM,
        pygit2.enums.ConfigLevel.PROGRAMDATA,
    ):
        pygit2.settings.search_path[level] = str(home / "none")
    folder, variables = os.getcwd(), dict(os.environ)
    # What one repository made this process cautious about is no business of the next.
    command._cautions.clear()
    yield home
    end_started()
    changed = {k for k in {*variables, *os.environ} if variables.get(k) != os.environ.get(k)} - {"PYTEST_CURRENT_TEST"}
    assert (os.getcwd(), changed - set(_patched(monkeypatch))) == (folder, set())


def _patched(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Name the variables a test changed through monkeypatch, which undoes them."""
    return {name for mapping, name, _ in monkeypatch._setitem if mapping is os.environ}
