"""What a worker says in its result, against what was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.ledger.claims import check_claims, check_files, check_verification, claimed_paths, covers
from gitprun.model.contract import FALLBACK_MARK, parse_result

CHANGED = ("docs/my file, v2.md", "src/a.py", "src/app/(auth)/page.tsx", "todo.md")


@pytest.mark.parametrize(
    "value",
    [
        "docs/my file, v2.md, src/a.py, src/app/(auth)/page.tsx, todo.md",
        "`docs/my file, v2.md`, `src/a.py`, `src/app/(auth)/page.tsx`, `todo.md`",
        "- `src/a.py`: rewritten, * todo.md (one line), docs/my file, v2.md - new, src/app/(auth)/page.tsx",
        "modified src/a.py and todo.md; created docs/my file, v2.md & src/app/(auth)/page.tsx.",
        "src/, docs/, todo.md",
        "src/**, docs/*, ./todo.md",
        "/home/u/r.prun/r1/u1/src/a.py:10-20, a.py, page.tsx#L3, todo.md:7, docs/my file, v2.md",
        "[a.py](src/a.py), [todo](https://example.test/x) **todo.md**, docs, docs/, page.tsx",
        "src/{a.py,app/}, todo.md, docs/, .prun/result.md, result.md",
        "4 files (see below): .../src/a.py, \u2026/(auth)/page.tsx, docs/my file, v2.md, todo.md",
    ],
)
def test_ways_to_name_every_changed_path(value: str) -> None:
    assert check_files(value, CHANGED, {}) == []


NONE = ["Files: says none, but 'a.py', 'b.py' changed"]
SILENT = "Files: does not name 'a.py', 'b.py', which changed"


def strange(names: str) -> str:
    return f"Files: names {names}, but no such change was found"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("none", NONE),
        ("None (read-only)", NONE),
        ("`none`", NONE),
        ("no files were changed", NONE),
        ("n/a", NONE),
        ("a.py", ["Files: does not name 'b.py', which changed"]),
        ("several, see below", [SILENT]),
        ("a.py, b.py, c.py", [strange("'c.py'")]),
        ("data.py", [strange("'data.py'"), SILENT]),
        ("a.py, b.py.bak", [strange("'b.py.bak'"), "Files: does not name 'b.py', which changed"]),
        ("a.py, b.py, Makefile, `Rules`", [strange("'Makefile', 'Rules'")]),
        ("a.py, b.py, c/1, c/2, c/3, c/4", [strange("'c/1', 'c/2', 'c/3' and 1 more")]),
        ("a.py, b.py, .env", ["Files: names .env (may hold secrets), which was left out"]),
        ("", []),
        ("   ", []),
    ],
)
def test_files_that_do_not_agree(value: str, said: list[str]) -> None:
    assert check_files(value, ("a.py", "b.py"), {".env": "may hold secrets"}) == said


@pytest.mark.parametrize(
    ("value", "changed", "said"),
    [
        ("none (read-only)", None, []),
        ("see below", None, []),
        ("src/a.py", None, ["Files: names 'src/a.py', but a unit that only reads changes nothing"]),
        ("none", (), []),
        ("a.py", (), ["Files: names 'a.py', but no such change was found"]),
        ("none (only .prun/result.md)", (), []),
    ],
)
def test_files_of_a_unit_that_changed_nothing(value: str, changed: tuple[str, ...] | None, said: list[str]) -> None:
    assert check_files(value, changed, {}) == said


def test_names_are_read_out_of_prose() -> None:
    value = (
        "Changed 2 files, e.g. src/x.py (not z.py), https://example.test/a.b and/or `b c/d e.txt`: LICENSE v1.2 -> y.md"
    )
    assert claimed_paths(value) == ("src/x.py", "b c/d e.txt", "LICENSE", "y.md")


@pytest.mark.parametrize(
    ("word", "path", "yes"),
    [
        ("a.py", "src/a.py", True),
        ("src/a.py", "src/a.py", True),
        ("/w/src/a.py", "src/a.py", True),
        ("src", "src/a.py", True),
        ("src/", "src/a.py", True),
        ("*.py", "src/a.py", True),
        ("src/*.md", "src/a.py", False),
        ("a.p", "src/a.py", False),
        ("sr", "src/a.py", False),
        ("b/a.py", "src/a.py", False),
    ],
)
def test_what_a_name_covers(word: str, path: str, yes: bool) -> None:
    assert covers(word, path) is yes


BELIED = "but prun's own check fails: pytest -q"
RED, GREEN = [("pytest -q", "fail")], [("ruff check .", "pass"), ("pytest -q", "pass")]


@pytest.mark.parametrize(
    ("value", "verdict", "checks", "said"),
    [
        ("pytest passes", "fail", RED, [f"Verification: says 'pytest passes', {BELIED}"]),
        ("ran it, 0 errors", "fail", RED, [f"Verification: says 'ran it, 0 errors', {BELIED}"]),
        ("x " * 200, "fail", RED, [f"Verification: says '{('x ' * 39).strip()}...', {BELIED}"]),
        ("pytest: 2 failed", "fail", RED, []),
        ("none", "fail", RED, []),
        ("not run, no network", "fail", RED, []),
        ("pytest -q", "pass", GREEN, []),
        ("all green, no failures", "pass", GREEN, []),
        ("none", "pass", GREEN, []),
        (
            "3 tests fail",
            "pass",
            GREEN,
            ["Verification: says '3 tests fail', but prun's own checks pass: ruff check .; pytest -q"],
        ),
        (
            "pytest -q passes",
            "could-not-run",
            [("pytest -q", "could-not-run")],
            ["Verification: names 'pytest -q', which prun could not run"],
        ),
        ("read it twice", "could-not-run", [("pytest -q", "could-not-run")], []),
        ("pytest passes", "absent", [], []),
        ("", "fail", RED, []),
    ],
)
def test_verification_against_what_ran(
    value: str, verdict: str, checks: list[tuple[str, str]], said: list[str]
) -> None:
    assert check_verification(value, verdict, checks) == said


def test_both_fields_of_a_result() -> None:
    text = "# u result\nConclusion: ok\nFiles:\n- a.py\n- gone.py\nOpen items: none\nVerification: pytest passes\n"
    assert check_claims(parse_result(text, "u"), changed=["a.py"], verdict="fail", checks=RED) == (
        "Files: names 'gone.py', but no such change was found",
        "Verification: says 'pytest passes', but prun's own check fails: pytest -q",
    )


def test_a_salvaged_result_claims_nothing() -> None:
    text = f"# u result {FALLBACK_MARK}\nConclusion: x\nFiles: unknown\nOpen items: y\nVerification: none\n"
    assert check_claims(parse_result(text, "u"), changed=["a.py"], verdict="fail", checks=RED) == ()


@given(st.text(), st.lists(st.text(min_size=1)), st.text())
def test_any_text_can_be_compared(files: str, changed: list[str], verification: str) -> None:
    check_files(files, changed, dict.fromkeys(changed, "why"))
    check_verification(verification, "fail", RED)


WORD = st.text("abz_09", min_size=1, max_size=6)
NAME = st.builds(lambda parts, end: f"{'/'.join(parts)}.{end}", st.lists(WORD, min_size=1, max_size=4), st.just("py"))


@given(st.lists(NAME, min_size=1, max_size=8, unique=True), st.sampled_from([", ", "; ", " and ", "\n- ", "`, `"]))
def test_a_list_of_all_changed_paths_always_agrees(changed: list[str], between: str) -> None:
    assert check_files(between.join(changed), changed, {}) == []


@pytest.mark.parametrize(
    "text", ["(" * 8000, " (" * 8000, "{a," * 8000, "[" * 8000, "`" * 8000, "a." * 8000, "/" * 8000]
)
def test_long_fields_of_brackets_take_no_time(text: str) -> None:
    """Each of these took minutes with patterns that are not bounded."""
    assert isinstance(check_files(text, ("a.py",), {}), list)
