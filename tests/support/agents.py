"""The real programs, and the settings that make them work for the model server and for nobody else."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict


class ExecutorTable(TypedDict):
    """The `[executor.NAME]` table of a configuration."""

    program: str
    args: list[str]
    env: dict[str, str]


def codex_program() -> str | None:
    """Find the real codex: the test extra's own binary first, then the PATH."""
    try:
        bundled = importlib.import_module("codex_cli_bin").bundled_codex_path()
    except (ImportError, FileNotFoundError):
        return shutil.which("codex")
    return str(bundled)


def claude_program() -> str | None:
    """Find the real claude on the PATH."""
    return shutil.which("claude")


def codex_settings(server_url: str, home: Path) -> ExecutorTable:
    """Give the `[executor.codex]` table for a model server; `home` comes from `agent_home`."""
    program = codex_program()
    if program is None:
        raise FileNotFoundError("no codex on this machine")
    provider = {
        "name": "scripted",
        "base_url": server_url,
        "wire_api": "responses",
        "request_max_retries": 1,
        "stream_max_retries": 1,
    }
    settings = {
        "model_provider": "scripted",
        **{f"model_providers.scripted.{key}": value for key, value in provider.items()},
        # Else every good run ends with a five-second flush to a host that is not there ...
        "analytics.enabled": False,
        # ... and one whose server has gone waits for the network without end.
        "features.unbounded_connection_retries": False,
    }
    args = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
    # The plugins feature asks github.com at every start.
    return {
        "program": program,
        "args": [*args, "--disable", "plugins"],
        "env": {"CODEX_HOME": str(_ensure(home / "codex")), **_user_folders(home)},
    }


def claude_settings(server_url: str, home: Path) -> ExecutorTable:
    """Give the `[executor.claude]` table for a model server; `home` comes from `agent_home`."""
    program = claude_program()
    if program is None:
        raise FileNotFoundError("no claude on this machine")
    env = {
        "ANTHROPIC_BASE_URL": server_url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CONFIG_DIR": str(_ensure(home / "claude")),
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",  # root may then let claude edit without asking
    }
    return {"program": program, "args": [], "env": {**env, **_user_folders(home)}}


@contextmanager
def agent_home() -> Iterator[Path]:
    """Make a folder in which codex's sandbox works, and remove it afterwards.

    Under the temporary folder codex refuses to make its sandbox program, and its sandbox leaves that folder
    writable, repositories in it included. Keep the homes and the repositories of real workers in here.
    """
    home = Path(tempfile.mkdtemp(prefix="git-prun-test.", dir="/var/tmp"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _user_folders(home: Path) -> dict[str, str]:
    # An own TMPDIR, for where the machine's is /var/tmp the home would be "under the temporary folder" again.
    return {"HOME": str(_ensure(home / "user")), "TMPDIR": str(_ensure(home / "scratch"))}


def _ensure(folder: Path) -> Path:
    os.makedirs(folder, exist_ok=True)
    return folder
