"""Which new files are one person's own: written by an agent's tool, for nobody else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.capture.private import screen_private
from gitprun.capture.screen import NewPath

WHY = "one person's own: an agent's tool wrote it"


def judge(path: str, *fence: str, there: frozenset[str] = frozenset()) -> tuple[str, str] | None:
    row = screen_private(NewPath(path), fence, lambda name: name in there)
    return (row.path, row.reason) if row else None


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (".claude/settings.local.json", ".claude/settings.local.json"),
        ("web/.claude/settings.local.json", "web/.claude/settings.local.json"),
        (".claude/history.jsonl", ".claude/history.jsonl"),
        (".claude/todos/a/b.json", ".claude/todos/"),
        ("CLAUDE.local.md", "CLAUDE.local.md"),
        (".aider.chat.history.md", ".aider.chat.history.md"),
        ("pkg/.aider.input.history", "pkg/.aider.input.history"),
        (".aider.tags.cache.v4/cache.db", ".aider.tags.cache.v4/"),
        (".playwright-mcp/page.png", ".playwright-mcp/"),
        (".codex/sessions/2026/01/x.jsonl", ".codex/sessions/"),
        (".codex/log/codex-tui.log", ".codex/log/"),
        (".codex/history.jsonl", ".codex/history.jsonl"),
        (".cursor/chats/1/store.db", ".cursor/chats/"),
        (".cursor/debug.log", ".cursor/debug.log"),
    ],
)
def test_private(path: str, told: str) -> None:
    assert judge(path) == (told, WHY)


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json", ".claude/commands/review.md", ".claude/agents/log.md", "CLAUDE.md", "aider.md",
        "docs/notes.local.md", ".codex/config.toml", ".codex/prompts/chat.md", ".cursor/rules/logs.mdc",
        ".cursor/mcp.json", "src/sessions/a.py", "settings.local.json", ".playwright-mcp.json",
    ],
)  # fmt: skip
def test_what_everybody_shares(path: str) -> None:
    assert judge(path) is None


def test_rules_for_one_person_lie_beside_those_for_all() -> None:
    assert judge("docs/mine.local.md", there=frozenset({"docs/CLAUDE.md"})) == ("docs/mine.local.md", WHY)
    assert judge("docs/mine.local.md", there=frozenset({"CLAUDE.md"})) is None


@pytest.mark.parametrize("fence", [".claude/", ".claude/settings.local.json", "*.json", "settings.local.json"])
def test_a_unit_that_is_about_it(fence: str) -> None:
    assert judge(".claude/settings.local.json", "src/", fence) is None


@pytest.mark.parametrize("fence", ["**", ".", "*", "**/*", "src/", "./"])
def test_a_unit_that_is_about_everything_does_not_speak_of_it(fence: str) -> None:
    assert judge(".claude/settings.local.json", fence) == (".claude/settings.local.json", WHY)


@given(st.lists(st.sampled_from([".codex", ".claude", "a", "logs", "x.log", ".aider", "\n", "\udc80"]), max_size=400))
def test_any_path_is_judged(parts: list[str]) -> None:
    told = judge("/".join(parts))
    assert told is None or "/".join([*parts, ""]).startswith(told[0])
