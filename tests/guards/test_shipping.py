"""The hooks ship in the wheel, and through the pre-commit framework."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"


def test_the_wheel_takes_the_hooks_along() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert build["wheel"]["sources"]["hooks"] == "gitprun/_hooks"
    assert "/hooks" in build["sdist"]["include"]


def manifest() -> list[dict[str, str]]:
    """Read the manifest, which is a list of flat tables."""
    tables = []
    for block in re.split(r"^- ", MANIFEST.read_text(), flags=re.MULTILINE)[1:]:
        rows = [re.fullmatch(r"(?:  )?([a-z_]+): (.+)", row) for row in block.splitlines()]
        assert all(rows), block
        tables.append({row[1]: row[2] for row in rows if row})
    return tables


def test_the_manifest_of_the_pre_commit_framework() -> None:
    assert [{key: table[key] for key in ("id", "entry", "language", "stages")} for table in manifest()] == [
        {"id": "prun-guard-commit", "entry": "hooks/pre-commit", "language": "script", "stages": "[pre-commit]"},
        {"id": "prun-guard-push", "entry": "hooks/pre-push", "language": "script", "stages": "[pre-push]"},
        {
            "id": "prun-gate-merge",
            "entry": "hooks/pre-merge-commit",
            "language": "script",
            "stages": "[pre-merge-commit]",
        },
        {"id": "prun-gate-message", "entry": "hooks/commit-msg", "language": "script", "stages": "[commit-msg]"},
    ]
    for table in manifest():
        assert (ROOT / table["entry"]).is_file()
        # The hook of messages is given the file with the message.
        named = "true" if table["id"] == "prun-gate-message" else table["pass_filenames"]
        assert (table["always_run"], named) == ("true", "true" if table["id"] == "prun-gate-message" else "false")


def test_the_framework_itself_takes_the_manifest() -> None:
    program = shutil.which("pre-commit")
    if program is None:
        pytest.skip("no pre-commit here")
    assert subprocess.run([program, "validate-manifest", str(MANIFEST)], check=False).returncode == 0
