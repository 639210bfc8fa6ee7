"""The whole prompt of a unit, letter for letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.ledger.outcome import commit_message
from gitprun.model.errors import PlanError
from gitprun.model.names import RunId, UnitId
from gitprun.model.plan import Settings, parse_plan
from gitprun.model.prompts import BYPASS, assemble_prompt, bypass_wanted, definition_of_done, subject_of, without_bypass
from gitprun.model.units import ExecutorSettings, Mode, Unit

# As the seed has it.
PREFIX = (
    "YOU ARE A CODING AGENT. SKIP ALL META-SKILLS. DO NOT READ SKILL FILES. DO NOT WRITE PLANNING DOCS. "
    "DO NOT ASK QUESTIONS. BEGIN EDITING IMMEDIATELY. THE TASK:"
)
# As the seed's template breaks it into lines.
TYPED = """\
YOU ARE A CODING AGENT. SKIP ALL META-SKILLS. DO NOT READ SKILL FILES.
DO NOT WRITE PLANNING DOCS. DO NOT ASK QUESTIONS. BEGIN EDITING
IMMEDIATELY. THE TASK:

"""
CONTRACT = """
---
How to finish (part of every unit of this run):
The current folder is a disposable copy of the repository. Edit files in it freely: everything you leave
in the files is collected when you end. Its branches, tags and remote-tracking refs can be read; do not
fetch or pull.
Do not commit, do not push, do not create branches or tags, do not run git reset or git clean.
When you are done, write one result file to .prun/result.md (also in $PRUN_RESULT), in one single write, like this:

# u1 result
Conclusion: <one line>
Files: <files created or modified, or none>
Open items: <blockers or follow-ups, or none>
Verification: <what was run or checked, or none>

<details>
"""


def unit(prompt: str = "Do it.", executor: str = "codex", *, mode: Mode = "write", bypass: bool | None = None,
         paths: tuple[str, ...] = ()) -> Unit:  # fmt: skip
    return Unit(id=UnitId("u1"), prompt=prompt, executor=executor, mode=mode, bypass=bypass, paths=paths)


def assemble(what: Unit, *verify: str, settings: ExecutorSettings | None = None) -> str:
    return assemble_prompt(what, settings or ExecutorSettings(), verify=verify, outbox=".prun")


def test_the_prefix_is_the_seeds() -> None:
    assert BYPASS == PREFIX


def test_a_whole_prompt() -> None:
    what = unit("# Reports\n\nWrite them.\n\n\n", paths=("src/reports/**", "todo.md"))
    assert assemble(what, "pytest -q", "set -e\nruff check .") == (
        f"{PREFIX}\n\n# Reports\n\nWrite them.\n\n"
        "Done means: these commands pass, run in this folder:\n- pytest -q\n- set -e\n  ruff check .\n"
        f"Change only paths that match:\n- src/reports/**\n- todo.md\n{CONTRACT}"
    )


def test_without_checks_and_fence_only_the_contract_follows() -> None:
    assert assemble(unit(executor="claude")) == f"Do it.\n{CONTRACT}"


def test_one_check() -> None:
    assert definition_of_done(unit(), ["make test"]) == (
        "Done means: this command passes, run in this folder:\n- make test"
    )


def test_a_reading_unit_is_done_with_its_result() -> None:
    told = assemble(unit(mode="read", paths=("a",)), "make test")
    assert told.startswith("Do it.\n\n---\nHow to finish")
    assert "empty scratch folder" in told


@pytest.mark.parametrize(
    ("executor", "mode", "own", "configured", "wanted"),
    [
        ("codex", "write", None, None, True),
        ("codex", "read", None, None, False),
        ("claude", "write", None, None, False),
        ("command", "write", None, None, False),
        ("codex", "write", False, True, False),
        ("codex", "write", None, False, False),
        ("codex", "read", True, None, True),
        ("claude", "write", None, True, True),
        ("claude", "write", False, True, False),
    ],
)
def test_who_gets_the_prefix(
    executor: str, mode: Mode, own: bool | None, configured: bool | None, wanted: bool
) -> None:
    assert bypass_wanted(unit(executor=executor, mode=mode, bypass=own), ExecutorSettings(bypass=configured)) is wanted


@pytest.mark.parametrize("typed", [PREFIX + "\n\n", PREFIX + " ", TYPED, "\n  " + TYPED.lower()])
def test_a_prefix_the_author_typed_is_not_doubled_and_is_no_subject(typed: str) -> None:
    what = unit(f"{typed}Add a head-to-head modal.\nMore.")
    assert assemble(what) == f"{what.prompt}\n{CONTRACT}"
    assert subject_of(what.prompt) == "Add a head-to-head modal."
    assert without_bypass(what.prompt) == "Add a head-to-head modal.\nMore."


def test_a_commit_is_named_after_the_work_not_after_the_prefix() -> None:
    what = unit(f"{TYPED}# Add a head-to-head modal\n\nMore.")
    assert commit_message(RunId("r1"), what, None, ()) == (
        "u1: Add a head-to-head modal\n\nUnit: r1/u1\nExecutor: codex\n"
    )


@pytest.mark.parametrize(
    ("prompt", "subject"),
    [
        ("Fix it", "Fix it"),
        ("\n\n## Fix it ##\nmore", "Fix it"),
        ("#\n###\nFix it", "Fix it"),
        ("#42 fix", "#42 fix"),
        ("# #42 fix #", "#42 fix"),
        ("  ### Fix issue #42", "Fix issue #42"),
        ("#deploy now", "#deploy now"),
        ("Use C#", "Use C#"),
        (PREFIX, "work"),
        ("You are a coding agent. Fix it", "You are a coding agent. Fix it"),
        ("Fix THE TASK: list", "Fix THE TASK: list"),
    ],
)
def test_subjects(prompt: str, subject: str) -> None:
    assert subject_of(prompt) == subject


def test_a_plan_says_who_gets_the_prefix() -> None:
    rows = [{"id": "a", "prompt": "x", "bypass": False}, {"id": "b", "prompt": "x"}]
    plan = parse_plan({"executor": {"codex": {"bypass": True}}, "unit": rows}, "p", str, Settings())
    assert [made.bypass for made in plan.units] == [False, None]
    assert plan.settings.executors["codex"].bypass is True
    with pytest.raises(PlanError, match=r"p: \[executor.codex\] bypass must be true or false"):
        parse_plan({"executor": {"codex": {"bypass": "no"}}, "unit": rows}, "p", str, Settings())


@given(st.text(min_size=1), st.booleans())
def test_what_the_author_wrote_stands_in_it_unchanged(prompt: str, bypass: bool) -> None:
    told = assemble(unit(prompt, bypass=bypass), "true")
    assert prompt.rstrip("\n") in told
    assert told.endswith(CONTRACT)


@given(st.text())
def test_a_subject_is_one_line_and_never_the_prefix(prompt: str) -> None:
    for text in (prompt, f"{PREFIX} {prompt}", f"{TYPED}{prompt}"):
        assert len(subject_of(text).splitlines()) == 1
        assert "CODING AGENT" not in subject_of(text)
