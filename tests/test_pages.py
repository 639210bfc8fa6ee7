"""The pages can be read: short lines, small tables, no private words, and the README shows what is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitprun import __version__
from tests.support.cli import ROOT
from tests.support.pages import blocks_of, run_script

REFERENCES = ROOT / "references"
# The code map is generated, with one line a module; the table of packages has a licence a row.
OTHERS = {"dependencies.md"}
SKILL = ROOT / "gitprun" / "skill" / "SKILL.md"
PAGES = (ROOT / "README.md", SKILL, *(page for page in sorted(REFERENCES.glob("*.md")) if page.name not in OTHERS))
BY_NAME = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
# Fits a terminal of 120 columns, in which git prun help prints the pages as they are.
WIDTH = 119
# More rows than this are looked up, and not read: they want headings between them.
ROWS = 10
# Words of ours that nobody guesses; the field's own are in references/glossary.md.
RETIRED = (
    "aftermath",
    "brief",
    "briefs",
    "crossing",
    "crossings",
    "errand",
    "errands",
    "gone on with",
    "kin",
    "ladder",
    "let go",
    "lets go",
    "looker",
    "pile",
    "piles",
    "recollect",
    "roster",
    "rung",
    "rungs",
    "survivor",
    "survivors",
    "walls",
    "warden",
    "wardens",
    "weave",
    "witness",
)
# In pages the user is "you", in the glossary "the user".
PERSONS = ("he", "him", "his")


def prose_of(text: str) -> str:
    """Return the text of a page without its blocks and spans of code: names on disk may keep old words."""
    return re.sub(r"`[^`\n]+`", " ", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def tables_of(text: str) -> Iterator[list[str]]:
    """Yield the rows of every table, without its head."""
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for found in re.finditer(r"(?:^\|.*\n)+", outside + "\n", re.MULTILINE):
        yield found[0].splitlines()[2:]


def words_in(text: str, words: tuple[str, ...]) -> set[str]:
    """Return which of some words or phrases the prose of a page uses."""
    prose = " ".join(prose_of(text).split()).lower()
    return {word for word in words if re.search(rf"\b{word}\b", prose)}


@BY_NAME
def test_lines_are_short(page: Path) -> None:
    # What chooses a skill is one line of its head, by the format of skills.
    lines = [line for line in page.read_text().splitlines() if not line.startswith("description: ")]
    assert [line for line in lines if len(line) > WIDTH] == []


@BY_NAME
def test_tables_are_small(page: Path) -> None:
    assert [rows[0] for rows in tables_of(page.read_text()) if len(rows) > ROWS] == []


@BY_NAME
def test_no_private_words(page: Path) -> None:
    assert words_in(page.read_text(), RETIRED + PERSONS) == set()


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that a page's headings have where Markdown is shown as a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@BY_NAME
def test_anchors_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\(([\w./-]*)#([^)\s]+)\)", page.read_text())
    assert [link for link in links if link[1] not in anchors_of(page.parent / link[0] if link[0] else page)] == []


def test_what_these_rules_see() -> None:
    text = "A warden, the\nladder. `warden.json` is he\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n| a walls |\n```\n"
    assert words_in(text, RETIRED + PERSONS) == {"warden", "ladder", "he"}
    assert list(tables_of(text)) == [["| 1 | 2 |"]]


def test_the_changelog_names_this_version() -> None:
    versions = re.findall(r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$", (REFERENCES / "changelog.md").read_text(), re.M)
    assert versions == sorted(versions, key=lambda version: [int(part) for part in version.split(".")], reverse=True)
    assert __version__ in versions


def test_the_example_of_the_ledger_is_a_sound_line() -> None:
    import zlib

    (line,) = [block.text for block in blocks_of(REFERENCES / "ledger.md") if block.language == "json"]
    body, check = re.fullmatch(r'(.*),"crc":"([0-9a-f]{8})"\}\n', line).groups()  # type: ignore[union-attr]
    assert f"{zlib.crc32(body.encode() + b'}'):08x}" == check


@pytest.mark.slow
def test_the_session_of_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    blocks = blocks_of(ROOT / "README.md")
    start = next(block.text for block in blocks if block.language == "sh")
    plan = next(block.text for block in blocks if block.file == "plan.toml")
    shown = next(block.text for block in blocks if block.language == "console")
    commands = re.findall(r"^\$ (.*)$", shown, re.MULTILINE)
    assert [command.split()[2] for command in commands] == ["run", "diff", "merge", "undo"]
    script = [start, f"cat >plan.toml <<'END_OF_PLAN'\n{plan}END_OF_PLAN"]
    script += [f"echo '$ {command}'; {command} 2>&1" for command in commands]
    said = run_script("\n".join(script), tmp_path)
    assert said.code == 0, said.err[-4000:]
    printed = iter(steadied(said.out))
    # Progress and hints stand between the lines that are shown.
    assert [line for line in steadied(shown) if line and line not in printed] == []


def steadied(text: str) -> list[str]:
    """Return lines with what differs from run to run made equal: ids of commits, and times."""
    text = re.sub(r"\b[0-9a-f]{10}\b", "ID", text)
    return [line.rstrip() for line in re.sub(r"\b\d+\.\d+s\b", "AGE", text).splitlines()]
