"""The return contract: what a worker is asked for, and what can be read from what it wrote."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.model.contract import FIELDS, contract_for, fallback_result, parse_result

GOOD = "# u1 result\nConclusion: ok\nFiles: a.py\nOpen items: none\nVerification: pytest\n\nbody\n"
WHOLE = {"Conclusion": "ok", "Files": "a.py", "Open items": "none", "Verification": "pytest"}
ALL_MISSING = tuple(f"{name}: is missing or empty" for name in FIELDS)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "\ufeff" + GOOD.replace("\n", "\r\n"),
        "\n\n" + GOOD,
        GOOD.replace("result", "Result").replace("Open items", "OPEN ITEMS"),
        GOOD.replace("# u1 result\n", "# u1 result (second try)\n\n"),
        GOOD.replace("Files: a.py", "Files:\n- a.py"),
        GOOD + "x" * 3_000_000,
        GOOD + "\n# Another result\nwithout fields is only a heading of the body\n",
        GOOD.removesuffix("\n\nbody\n"),
    ],
)
def test_results_that_satisfy_the_contract(text: str) -> None:
    found = parse_result(text, "u1")
    assert (found.unit, dict(found.fields), found.fallback, found.problems, found.valid) == (
        "u1",
        WHOLE,
        False,
        (),
        True,
    )


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ("the first line is not '# u1 result'", *ALL_MISSING)),
        (" \n\t\n", ("the first line is not '# u1 result'", *ALL_MISSING)),
        ("\0" * 64 + GOOD, ("the first line is not '# u1 result'",)),
        (GOOD.replace("# u1 result\n", ""), ("the first line is not '# u1 result'", "Conclusion: is missing or empty")),
        (GOOD.replace("u1", "u2"), ("the heading names 'u2', not 'u1'",)),
        (GOOD + GOOD, ("a second result follows the first",)),
        (GOOD + GOOD.replace("u1", "u2"), ("a second result follows the first",)),
        (GOOD.replace("Files: a.py", "Files: "), ("Files: is missing or empty",)),
        (GOOD.replace("Files: a.py\n", ""), ("Files: is missing or empty",)),
        (GOOD.replace("Files: a.py", "Files: a.py\nFiles: b.py"), ("Files: is there twice",)),
        ("# u1 result\nConclusion: ok\n", ALL_MISSING[1:]),
        (
            GOOD.replace("pytest", "<what was run or checked, or none>"),
            ("Verification: is the text of the contract itself",),
        ),
    ],
)
def test_results_that_do_not(text: str, problems: tuple[str, ...]) -> None:
    found = parse_result(text, "u1")
    assert (found.problems, found.valid) == (problems, False)


def test_lists_under_a_field_are_its_value() -> None:
    text = "# u result\nConclusion: ok\nFiles:\n- a.py\n  * b.py\nOpen items: none\nVerification: none\n- not a value\n"
    assert parse_result(text, "u").fields["Files"] == "a.py, b.py"
    assert parse_result(text, "u").fields["Verification"] == "none"


def test_a_salvaged_result_is_marked_and_never_valid() -> None:
    text = fallback_result("u1", "the worker\nsaid nothing", "the tail\n")
    assert text == (
        "# u1 result (FALLBACK, worker wrote no result file)\n"
        "Conclusion: INCOMPLETE; the worker said nothing\n"
        "Files: unknown\n"
        "Open items: read the output below, then accept the work or run the unit again\n"
        "Verification: none (salvaged by prun, not written by the worker)\n"
        "\n"
        "the tail\n"
    )
    found = parse_result(text, "u1")
    assert (found.fallback, found.problems, found.valid) == (True, (), False)


@pytest.mark.parametrize("writes", [True, False])
def test_the_contract_itself_is_no_result(writes: bool) -> None:
    asked = contract_for("u1", writes=writes, outbox=".prun")
    echoed = asked[asked.index("# u1 result") :]
    assert parse_result(echoed, "u1").problems == tuple(
        f"{name}: is the text of the contract itself" for name in FIELDS
    )


def test_what_a_worker_is_told() -> None:
    assert contract_for("u1", writes=True, outbox=".prun") == (
        "\n---\nHow to finish (part of every unit of this run):\n"
        "The current folder is a disposable copy of the repository. Edit files in it freely: everything you leave\n"
        "in the files is collected when you end. Its branches, tags and remote-tracking refs can be read; do not\n"
        "fetch or pull.\n"
        "Do not commit, do not push, do not create branches or tags, do not run git reset or git clean.\n"
        "When you are done, write one result file to .prun/result.md (also in $PRUN_RESULT), in one single write, "
        "like this:\n\n"
        "# u1 result\nConclusion: <one line>\nFiles: <files created or modified, or none>\n"
        "Open items: <blockers or follow-ups, or none>\nVerification: <what was run or checked, or none>\n\n<details>\n"
    )
    reading = contract_for("u1", writes=False, outbox=".prun")
    assert "Read the\nrepository at $PRUN_REPO; change nothing there." in reading
    assert "Files: <none (read-only)>" in reading


@settings(deadline=None)
@given(st.text(), st.text())
def test_reading_never_fails(text: str, unit: str) -> None:
    found = parse_result(text, unit)
    assert found.valid is (not found.problems and not found.fallback)


VALUE = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=40)


@settings(deadline=None)
@given(st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True), VALUE, VALUE, st.text())
def test_what_was_written_by_the_rules_is_read_back(unit: str, conclusion: str, files: str, body: str) -> None:
    text = f"# {unit} result\nConclusion: {conclusion}\nFiles: {files}\nOpen items: none\nVerification: none\n\n{body}"
    found = parse_result(text, unit)
    assert (found.unit, found.fields["Conclusion"], found.fields["Files"]) == (unit, conclusion, files)
