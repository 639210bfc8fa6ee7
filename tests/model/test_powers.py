"""Which keys of prun.toml start programs, say where walls stand, or let things land."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.model.powers import Power, changed_powers, read_powers

EVERYTHING = """
[run]
jobs = 4
verify = ["pytest -q"]
verify_in = "pristine"
verify_may_change = ["*.lock"]
verify_sandbox = "none"
verify_view = "none"
[workspace]
root = "../x"
copy = [".env"]
setup = ["npm ci"]
[collect]
max_file = "5MB"
filters = ["lfs"]
[merge]
message = "m"
protected = ["ci/**"]
max_deleted = "none"
[executor.codex]
program = "./tool"
args = ["-c", "x"]
env = { B = "2", A = "1" }
isolate = false
jobs = 2
[executor.claude]
program = "claude"
[[hotspot]]
path = "a"
after = ["make a", "make b"]
[[hotspot]]
path = "b"
after = ["make b", "make c"]
"""


def test_every_key_that_counts() -> None:
    assert read_powers(tomllib.loads(EVERYTHING)) == (
        Power("[executor.codex] program", '"./tool"', True),
        Power("[executor.claude] program", '"claude"', True),
        Power("[executor.codex] args", '["-c", "x"]', True),
        Power("[executor.codex] env", '{"A": "1", "B": "2"}', True),
        Power("[executor.codex] isolate", "false", True),
        Power("[run] verify_sandbox", '"none"', True),
        Power("[run] verify_view", '"none"', True),
        Power("[workspace] setup", '["npm ci"]', True),
        Power("[collect] filters", '["lfs"]', True),
        Power("[[hotspot]] after", '["make a", "make b", "make c"]', True),
        Power("[run] verify", '["pytest -q"]', False),
        Power("[run] verify_in", '"pristine"', False),
        Power("[run] verify_may_change", '["*.lock"]', False),
        Power("[merge] protected", '["ci/**"]', False),
        Power("[merge] max_deleted", '"none"', False),
    )


@pytest.mark.parametrize(
    "text",
    [
        "[run]\nverify_sandbox = 'worker'\nverify_view = 'checkout'",
        "[run]\nverify_sandbox = 'workspace-write'",
        "[executor.codex]\nisolate = true\nargs = []\nenv = {}",
        "[workspace]\nsetup = []\n[collect]\nfilters = []",
        "[[hotspot]]\npath = 'a'\npolicy = 'union'",
    ],
)
def test_what_gives_nothing_away_is_not_asked(text: str) -> None:
    assert [power for power in read_powers(tomllib.loads(text)) if power.asked] == []


def test_only_what_changed_is_told() -> None:
    old = "[executor.codex]\nprogram = 'a'\nargs = ['x']\n[run]\nverify = ['t']\njobs = 1\n"
    new = "[executor.codex]\nargs = ['y']\n[run]\nverify = ['u']\njobs = 2\n[workspace]\nsetup = ['s']\n"
    assert changed_powers(tomllib.loads(old), tomllib.loads(new)) == (
        Power("[executor.codex] args", '["y"]', True),
        Power("[workspace] setup", '["s"]', True),
        Power("[run] verify", '["u"]', False),
        Power("[executor.codex] program", "", True),
    )
    assert changed_powers(tomllib.loads(old), tomllib.loads(old.replace("jobs = 1", "jobs = 9"))) == ()


@pytest.mark.parametrize(
    ("document", "powers"),
    [
        ({"executor": 1, "run": [], "workspace": "x", "hotspot": "make", "collect": None}, ()),
        ({"executor": {"codex": 1}, "run": {"verify": 5}}, (Power("[run] verify", "5", False),)),
        ({"hotspot": {"after": "make"}}, (Power("[[hotspot]] after", '["make"]', True),)),
        ({"hotspot": [1, {"after": [["x"], 2]}]}, (Power("[[hotspot]] after", '[["x"], 2]', True),)),
        ({"executor": {"codex": {"isolate": 1}}}, (Power("[executor.codex] isolate", "1", True),)),
        ({"run": {"verify_sandbox": ["worker"]}}, (Power("[run] verify_sandbox", '["worker"]', True),)),
    ],
)
def test_odd_types_are_said_as_they_are(document: dict[str, Any], powers: tuple[Power, ...]) -> None:
    assert read_powers(document) == powers


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["run", "executor", "hotspot", "workspace", "codex", "program", "after", "verify", "setup"])
DOCUMENTS = st.dictionaries(KEYS, ANYTHING | st.dictionaries(KEYS, ANYTHING | st.dictionaries(KEYS, ANYTHING)))


@given(DOCUMENTS, DOCUMENTS)
def test_two_files_differ_in_what_differs(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert changed_powers(old, old) == ()
    changed = {power.key: power.value for power in changed_powers(old, new)}
    before = {power.key: power.value for power in read_powers(old)}
    after = {power.key: power.value for power in read_powers(new)}
    assert changed == {
        key: after.get(key, "") for key in (*after, *before) if before.get(key, "") != after.get(key, "")
    }
