"""Workers are started with the codex of the extra, where neither the settings nor PATH have one."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from gitprun.supervisor import programs
from tests.support.codex import codex, completed, scripted
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, unit_of

# In a named workspace nobody asks for a result file.
WORK = f'echo b >b.txt\nif [ -n "${{PRUN_RESULT:-}}" ]; then {RESULT} fi\n' + completed("Done.")


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a package with a codex, and a PATH without any."""
    program = scripted(tmp_path, WORK)["codex"].program
    assert program is not None
    module = types.ModuleType("fake_codex_cli_bin")
    module.bundled_codex_path = lambda: Path(program)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fake_codex_cli_bin", module)
    monkeypatch.setattr(programs, "EXTRA", "fake_codex_cli_bin")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return program


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


def test_run(repo: Repo, bundled: str) -> None:
    run_units(repo, codex("u"), verify=("test -f b.txt",), verify_sandbox="none")
    assert (unit_of(repo, "u").state, unit_of(repo, "u").program) == ("ready", bundled)


def test_exec(repo: Repo, bundled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert inside(capsys, repo.path, "new", "x", "x").code == 0
    said = inside(capsys, repo.path, "exec", "x", "slug", "Do it.")
    assert "b.txt" in repo.files("x"), said
    assert bundled.endswith("/codex")


def test_dispatch(tmp_path: Path, bundled: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prompt.md").write_text("Do it.\n")
    words = ("--prompt-file", "prompt.md", "--result-file", "result.md", "--unit-id", "u")
    said = inside(capsys, tmp_path, "dispatch", *words)
    assert said.code == 0, said
    assert (tmp_path / "result.md").read_text().startswith("# u result\n")
