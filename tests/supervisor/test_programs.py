"""Which codex is meant: configured, on PATH, or from the extra; one answer for everybody who asks."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from gitprun.model.units import ExecutorSettings
from gitprun.supervisor import programs
from gitprun.supervisor.programs import Program, find_program, with_program


def program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a package that brings a codex, as the extra of pip does."""
    bundled = program(tmp_path / "extra" / "codex")
    module = types.ModuleType("fake_codex_cli_bin")
    module.bundled_codex_path = lambda: bundled  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fake_codex_cli_bin", module)
    monkeypatch.setattr(programs, "EXTRA", "fake_codex_cli_bin")
    return bundled


def test_the_order(tmp_path: Path, extra: Path) -> None:
    folder = str(tmp_path / "bin")
    mine, theirs = program(tmp_path / "mine"), tmp_path / "bin" / "codex"
    assert find_program("codex", None, folder) == Program(path=str(extra), source="extra")
    program(theirs)
    assert find_program("codex", None, folder) == Program(path=str(theirs), source="path")
    assert find_program("codex", str(mine), folder) == Program(path=str(mine), source="settings")


def test_what_is_configured_is_never_replaced(tmp_path: Path, extra: Path) -> None:
    program(tmp_path / "bin" / "codex")
    assert find_program("codex", str(tmp_path / "gone"), str(tmp_path / "bin")) is None
    configured = ExecutorSettings(program="gone")
    assert with_program("codex", configured, "/nowhere") == configured


def test_others_have_no_extra(extra: Path) -> None:
    assert find_program("claude", None, "/nowhere") is None
    assert with_program("claude", ExecutorSettings(), "/nowhere") == ExecutorSettings()


def test_settings_name_the_extra_only_where_it_is_used(tmp_path: Path, extra: Path) -> None:
    mine = ExecutorSettings(args=("-x",), env=(("PATH", str(tmp_path / "bin")),))
    assert with_program("codex", mine, "/nowhere").program == str(extra)
    program(tmp_path / "bin" / "codex")
    assert with_program("codex", mine, "/nowhere") == mine


@pytest.mark.parametrize("fault", ["not installed", "no binary", "not executable", "no function"])
def test_an_extra_that_does_not_serve(extra: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    def missing() -> Path:
        raise FileNotFoundError("no binary for this machine")

    if fault == "not installed":
        monkeypatch.setattr(programs, "EXTRA", "no_such_module")
    elif fault == "no binary":
        monkeypatch.setattr(sys.modules["fake_codex_cli_bin"], "bundled_codex_path", missing)
    elif fault == "no function":
        monkeypatch.delattr(sys.modules["fake_codex_cli_bin"], "bundled_codex_path")
    else:
        extra.chmod(0o644)
    assert find_program("codex", None, "/nowhere") is None
