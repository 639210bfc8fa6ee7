"""The pages keep their word: every command in them runs, every option and link exists, every TOML block is valid."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from gitprun.judging.hotspots import parse_hotspots
from gitprun.model.errors import PlanError
from gitprun.model.plan import Settings, parse_plan, parse_settings
from tests.support.cli import ROOT
from tests.support.pages import (
    PAGES,
    Block,
    blocks_of,
    calls_of,
    complaint,
    links_of,
    names_of_commands,
    run_script,
    script_of,
    spoken_of,
)

pytestmark = pytest.mark.slow

BY_NAME = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
SEED_PAGES = {
    "workflow-playbook",
    "observability-rules",
    "prompt-template",
    "troubleshooting",
    "worktree-patterns",
    "codex-exec-reference",
    "mission-gravity",
    "json-streaming",
    "language-recipes",
}
# Belong to codex, claude or git, not to us.
FOREIGN = {"CODEX_HOME", "CLAUDE_CODE_MAX_RETRIES"}
# English after our name in the prose, as in "another git prun is busy".
ENGLISH = {"is"}


def test_every_page_of_the_second_seed_has_its_successor() -> None:
    assert {page.stem for page in PAGES} >= SEED_PAGES


@BY_NAME
def test_commands_run_in_order(page: Path, tmp_path: Path) -> None:
    if not any(block.language == "sh" for block in blocks_of(page)):
        pytest.skip("this page has nothing to run")
    said = run_script(script_of(page), tmp_path)
    assert said.code == 0, said.err[-4000:]


@BY_NAME
def test_commands_and_options_exist(page: Path) -> None:
    problems = [f"{line}: {problem}" for line, words in calls_of(page) if (problem := complaint(words))]
    assert problems == []


@BY_NAME
def test_prose_names_only_commands_that_exist(page: Path) -> None:
    assert spoken_of(page) - names_of_commands() - ENGLISH == set()


@BY_NAME
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in links_of(page) if not (page.parent / link).exists()] == []


@BY_NAME
def test_blocks_say_what_they_are(page: Path) -> None:
    languages = {block.language for block in blocks_of(page)}
    assert languages <= {"", "sh", "console", "toml", "text", "markdown", "json", "yaml", "python"}


@BY_NAME
def test_no_code_breaks_at_the_end_of_a_line(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if line.count("`") % 2] == []


@BY_NAME
def test_toml_is_what_the_program_reads(page: Path) -> None:
    for block in blocks_of(page):
        if block.language == "toml":
            read_strictly(block)


def read_strictly(block: Block) -> None:
    document = tomllib.loads(block.text)
    if "unit" not in document:
        settings = parse_settings(document, "prun.toml")
    else:
        # A block may show both files at once; then it says what belongs to one of them only.
        if "prun.toml only" in block.text:
            without_units = block.text.partition("[[unit]]")[0]
            anywhere = re.sub(r"^.*plan only.*$", "", without_units, flags=re.MULTILINE)
            parse_settings(tomllib.loads(anywhere), "prun.toml")
            document = tomllib.loads(re.sub(r"^.*prun\.toml only.*$", "", block.text, flags=re.MULTILINE))
        settings = parse_plan(document, "plan.toml", lambda name: f"what stands in {name}", Settings()).settings
    parse_hotspots(settings.hotspots, "the page")


def test_toml_with_a_mistake_would_be_noticed() -> None:
    with pytest.raises(PlanError, match="unknown key 'pompt'"):
        read_strictly(Block("toml", '[[unit]]\nid = "a"\npompt = "x"\n'))


def test_every_key_of_a_plan_is_on_its_page() -> None:
    read = r"\.(?:texts?|count|duration|flag|choice|size|take|tables?)\(\"(\w+)\"|_inside\(\w+, \"(\w+)\""
    source = (ROOT / "gitprun" / "model" / "plan.py").read_text()
    keys = {first or second for first, second in re.findall(read, source)}
    shown = "".join(block.text for block in blocks_of(ROOT / "references" / "plan-file.md"))
    assert {"verify", "setup", "copy", "paths", "jobs", "unit"} <= keys
    assert {key for key in keys if not re.search(rf"^{key} = |\[{key}[\].]", shown, re.MULTILINE)} == set()


@BY_NAME
def test_variables_exist(page: Path) -> None:
    named = set(re.findall(r"\b(?:PRUN|CODEX|CLAUDE|POST_VERIFY|AGENT_CONFIG)_[A-Z_]*[A-Z]\b", page.read_text()))
    source = "".join(path.read_text() for path in (ROOT / "gitprun").rglob("*.py"))
    assert {name for name in named - FOREIGN if not re.search(rf"\b{name}\b", source)} == set()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (["run", "plan.toml", "--jobs", "2"], ""),
        (["-C", "DIR", "hooks", "install", "--all"], ""),
        (["skill", "install", "[--user|--project]"], ""),
        (["launch"], "launch is no command of cli"),
        (["hooks", "add"], "add is no command of hooks"),
        (["run", "--quick"], "run has no option --quick"),
    ],
)
def test_complaints(line: list[str], problem: str) -> None:
    assert complaint(line) == problem


def test_manual_page_names_every_command() -> None:
    page = (ROOT / "references" / "git-prun.1").read_text()
    section = page.partition(".SH COMMANDS\n")[2].partition(".SH ")[0]
    named = re.findall(r"^\.TP\n\.B ([a-z-]+)$", section, re.MULTILINE)
    # "hook" is called by the hooks, not by people.
    assert sorted(named) == sorted(names_of_commands() - {"hook"})
    assert re.findall(r"^\.SH (.*)$", page, re.MULTILINE) == [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "COMMANDS",
        "EXIT STATUS",
        "FILES",
        "ENVIRONMENT",
        "EXAMPLES",
        "SEE ALSO",
    ]
