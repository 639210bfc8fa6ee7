"""Which keys of a worker's own git settings count as programs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.capture.advice import programs_named


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[core]\n\tfsmonitor = x\n\tbare = false\n", ["core.fsmonitor"]),
        ("[CORE] HooksPath = hk\n", ["core.hookspath"]),
        ('[filter "a.b"]\n\tclean = x\n\tRequired = true\n', ["filter.a.b.clean"]),
        ('[includeIf "gitdir:~/w/"]\n\tpath = x\n[include]\npath=y\n', ["includeif.gitdir:~/w/.path", "include.path"]),
        ('[alias]\n\tst = status\n\tx = "!sh"\n\ty = !sh\n', ["alias.x", "alias.y"]),
        ('[url "ext::sh"]\n\tinsteadOf = x\n[credential "https://h"]\n\thelper = !x\n', ["url.ext::sh.insteadof", "credential.https://h.helper"]),
        ("[user]\n\tname = [core] fsmonitor\n# [core]\n", []),
        ("no settings at all", []),
    ],
)  # fmt: skip
def test_keys_that_name_programs(text: str, found: list[str]) -> None:
    assert list(programs_named(text)) == found


@given(st.text(alphabet='[]"=!\\\n\t .#;aAcore[alias]fsmonitor', max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert all("." in name for name in programs_named(text))
