"""What lies in a workspace and is not its worker's work: agents' private files, what the setup commands made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.collect.capture import Capture
from tests.support.repos import Repo, make_repo
from tests.support.workshop import open_workshop

WHY = "one person's own: an agent's tool wrote it"


def left_out(found: Capture) -> dict[str, str]:
    return {row.path: row.reason for row in found.left_out}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", app_dot_py="x=1\n", CLAUDE_dot_md="rules\n", _dot_aider_dot_conf_dot_yml="a: 1\n")


def test_private_files_are_left_out_and_go_with_the_workspace(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("app.py", "x=2\n")
    shop.work.write(".aider.conf.yml", "a: 2\n")
    shop.work.write(".claude/settings.local.json", "{}\n")
    shop.work.write("mine.local.md", "be brief\n")
    shop.work.write(".codex/sessions/1.jsonl", "{}\n")
    found = shop.finish()
    assert shop.repo.files(f"refs/prun/r1/{shop.unit}") == {
        "app.py": "x=2", "CLAUDE.md": "rules", ".aider.conf.yml": "a: 2"
    }  # fmt: skip
    assert left_out(found) == dict.fromkeys((".claude/settings.local.json", "mine.local.md", ".codex/sessions/"), WHY)
    assert shop.remove().ignored == (".claude/settings.local.json", ".codex/sessions/", "mine.local.md")


def test_private_files_a_unit_is_about_are_its_work(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop = replace(shop, site=replace(shop.site, fence=("app.py", ".claude/settings.local.json")))
    shop.work.write(".claude/settings.local.json", "{}\n")
    shop.work.write("CLAUDE.local.md", "be brief\n")
    found = shop.capture()
    assert (found.changed, left_out(found)) == ((".claude/settings.local.json",), {"CLAUDE.local.md": WHY})


def test_private_files_somebody_asks_for_are_taken_in(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop = replace(shop, site=replace(shop.site, include=("CLAUDE.local.md",)))
    shop.work.write("CLAUDE.local.md", "be brief\n")
    found = shop.capture()
    assert (found.changed, left_out(found)) == (("CLAUDE.local.md",), {})
