"""The table of all kinds of workers."""

from __future__ import annotations

import pytest

from gitprun.executors.base import Executor
from gitprun.executors.catalog import EXECUTORS, UnknownExecutor, require_executor
from gitprun.model.errors import PrunError


def test_every_executor_stands_under_its_own_name() -> None:
    listed: dict[str, Executor] = EXECUTORS
    assert {name: (kind.name, kind.default_program) for name, kind in listed.items()} == {
        "codex": ("codex", "codex"),
        "claude": ("claude", "claude"),
        "command": ("command", ""),
    }
    assert [require_executor(name) for name in listed] == list(listed.values())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("codx", "did you mean codex? known executors: claude, codex, command"),
        ("Claude", "did you mean claude? known executors: claude, codex, command"),
        ("zzz", "known executors: claude, codex, command"),
        ("", "known executors: claude, codex, command"),
    ],
)
def test_an_unknown_name_is_refused_with_the_names_there_are(name: str, hint: str) -> None:
    with pytest.raises(UnknownExecutor) as caught:
        require_executor(name)
    assert isinstance(caught.value, PrunError)
    assert (caught.value.message, caught.value.hint, caught.value.name) == (
        f"no executor is named {name!r}",
        hint,
        name,
    )
