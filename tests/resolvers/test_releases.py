"""Under which release a note stands, and which of two notes say one thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.judging.text import Merged, merge_text
from gitprun.resolvers.base import FileConflict
from gitprun.resolvers.releases import find_misfiled

LOG = "# Changelog||## [Unreleased]||- import of CSV||## 1.0.0||- first release|"
CUT = "# Changelog||## [Unreleased]||## 1.1.0||- import of CSV||## 1.0.0||- first release|"
MORE = LOG.replace("- import of CSV|", "- import of CSV|- import of JSON|")


def look(base: str, main: str, unit: str, merged: str, path: str = "CHANGELOG.md") -> tuple[str, ...]:
    texts = [text.replace("|", "\n").encode() for text in (base, main, unit, merged)]
    return find_misfiled(FileConflict(path, *texts[:3]), texts[3])


def test_a_note_that_git_puts_under_a_release_that_was_cut() -> None:
    merged = CUT.replace("- import of CSV|", "- import of CSV|- import of JSON|")
    assert look(LOG, CUT, MORE, merged) == (
        'the note "import of JSON" stands under 1.1.0; the unit has it under unreleased',
    )
    assert look(LOG, MORE, CUT, merged) == (
        'the note "import of JSON" stands under 1.1.0; main has it under unreleased',
    )
    # Under the new heading of what is not released, all is well; and so it is in any other file.
    assert look(LOG, CUT, MORE, CUT.replace("d]||", "d]||- import of JSON||")) == ()
    assert look(LOG, CUT, MORE, merged, "notes.md") == ()


@pytest.mark.parametrize(
    "heading", ["Unreleased", "HEAD", "2.0.0 (unreleased)", "1.x.x", "Next release", "1.1.0 - TBD"]
)
def test_a_heading_that_is_only_renamed(heading: str) -> None:
    named = f"## {heading}"
    merged = MORE.replace("## [Unreleased]", named)
    assert look(LOG, LOG.replace("## [Unreleased]", named), MORE, merged) == ()


def test_a_release_that_got_another_number_meanwhile() -> None:
    base = "# Changelog||## 2.0.5||- one|"
    main = base.replace("## 2.0.5|", "## 2.1.0||Merged from 2.0 branch:|")
    assert look(base, main, base + "- two|", main + "- two|") == ()
    # Where its own heading is still there it stands under the wrong one.
    both = base.replace("## 2.0.5", "## 2.0.5||## 2.0.4")
    assert look(base, both, base + "- two|", both + "- two|") == (
        'the note "two" stands under 2.0.4; the unit has it under 2.0.5',
    )


def test_headings_with_a_line_below() -> None:
    base = "News|====||Version 2.0|-----------||* one|"
    main = base.replace("Version 2.0|", "Unreleased|----------||Version 2.0|")
    unit = base.replace("* one|", "* one|* two|")
    assert look(base, main, unit, main.replace("* one|", "* one|* two|"), "NEWS") == ()
    wrong = main.replace("----------||V", "----------||* two||V")
    assert look(base, main, unit, wrong, "NEWS") == ()


SAME = [
    ("- Add `QueryMap`, see [#987](http://x/987)", "- Add `QueryMap`, see #987", True),
    (
        "- Fix the loss of objects when a pack is written twice",
        "- Fix the loss of objects if a pack is written twice",
        True,
    ),
    ("- Fix flush, see #1460", "- Fix close, see #1461", False),
    ("- Fix typo", "- Fix typos", False),
    ("- Rename a to b (#7)", "- Something else entirely, that is about the same thing (#7)", False),
]


@pytest.mark.parametrize(("one", "other", "same"), SAME)
def test_one_note_in_two_wordings(one: str, other: str, same: bool) -> None:
    main, unit, both = (LOG.replace("- import", f"{rows}|- import") for rows in (one, other, f"{one}|{other}"))
    found = look(LOG, main, unit, both)
    assert bool(found) == same
    assert all(words.startswith("both sides wrote the note ") for words in found)


def test_releases_in_order() -> None:
    base = "## 3.3|### 3.3.2|* a|"
    main = "## 3.3|### 3.4|* c|### 3.3.2|* a|"
    unit = "## 3.3|### 3.3.3|* b|### 3.3.2|* a|"
    right, wrong = "## 3.3|### 3.4|* c|### 3.3.3|* b|### 3.3.2|* a|", "## 3.3|### 3.3.3|* b|### 3.4|* c|### 3.3.2|* a|"
    assert look(base, main, unit, right) == ()
    assert look(base, main, unit, wrong) == ("release 3.4 stands below 3.3.3",)
    # Oldest first, as the sides have it.
    upward = "## 1.0|* a|## 1.1|* b|"
    assert look(upward, upward, upward + "## 1.2|* c|", upward + "## 1.2|* c|") == ()


@pytest.mark.parametrize(("one", "other"), [("2.0.0", "2.0.0-rc.1"), ("1.10", "1.9.3"), ("v2.1", "v2.0")])
def test_versions_are_compared_by_their_numbers(one: str, other: str) -> None:
    text = f"## {one}|* a|## {other}|* b|"
    assert look("", text, text, text) == ()
    merged = f"## {other}|* b|## {one}|* a|"
    assert look("", text, text, merged) == (
        () if "rc" in other else (f"release {one.lstrip('v')} stands below {other.lstrip('v')}",)
    )


NOTES = st.lists(
    st.sampled_from(["## Unreleased", "## 1.0", "## 2.0", "- a note of four words", "- another one, quite so", ""])
)


@given(NOTES, NOTES)
def test_a_side_by_itself_is_never_called(base: list[str], own: list[str]) -> None:
    text = "|".join(own)
    assert look("|".join(base), text, text, text) == ()
    assert look("|".join(base), text, "|".join(base), text) == ()


def test_the_note_follows_what_is_not_released() -> None:
    texts = [text.replace("|", "\n").encode() for text in (LOG, CUT, MORE)]
    found = merge_text(*texts, "CHANGELOG.md")
    wanted = CUT.replace("d]||", "d]|- import of JSON||").replace("|", "\n").encode()
    assert found == Merged(wanted, "changelog")
