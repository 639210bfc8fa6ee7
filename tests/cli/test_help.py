"""``git prun help``: pages from the checkout and from an installation, commands, and what was meant."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.cli import ROOT, prun

pytestmark = pytest.mark.slow

REFERENCES = ROOT / "references"


def test_listing_names_every_page_and_its_title(tmp_path: Path) -> None:
    said = prun(tmp_path, "help")
    head, *rows = said.out.split("\n\n")[0].splitlines()
    names = [row.split()[0] for row in rows]
    assert (said.code, head.split()[0]) == (0, "topic")
    assert [name.removesuffix(".md") for name in names] == sorted(path.stem for path in REFERENCES.glob("*.md"))
    assert ["glossary", "Glossary: one word for each idea"] in [row.split(maxsplit=1) for row in rows]
    assert said.out.splitlines()[-1] == (
        "git prun help TOPIC prints a page, git prun help COMMAND says how a command is used."
    )


@pytest.mark.parametrize("word", ["plan-file", "plan-file.md", "references/plan-file.md", "Plan-File"])
def test_a_page_is_printed_as_it_is(tmp_path: Path, word: str) -> None:
    said = prun(tmp_path, "help", word)
    assert (said.code, said.out, said.err) == (0, (REFERENCES / "plan-file.md").read_text(), "")


@pytest.mark.parametrize("words", [("run",), ("gather",), ("hooks", "install"), ("help",)])
def test_a_command_is_explained_as_by_its_own_help(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert prun(tmp_path, "help", *words).out == prun(tmp_path, *words, "--help").out


def test_where_page_and_command_share_a_name_both_are_found(tmp_path: Path) -> None:
    command, page = prun(tmp_path, "help", "hooks"), prun(tmp_path, "help", "hooks.md")
    assert (command.code, command.out) == (0, prun(tmp_path, "hooks", "--help").out)
    assert command.err == "hint: git prun help hooks.md prints the page about it\n"
    assert (page.code, page.out) == (0, (REFERENCES / "hooks.md").read_text())


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("glosary",), "did you mean 'glossary'?"),
        (("troubleshoot",), "did you mean 'troubleshooting'?"),
        (("recon",), "did you mean 'reconcile'?"),
        (("hooks", "instal"), "did you mean 'install'?"),
        (("run", "fast"), "git prun help lists the pages, git prun --help the commands"),
        (("xyzzy",), "git prun help lists the pages, git prun --help the commands"),
        (("../README",), "git prun help lists the pages, git prun --help the commands"),
    ],
)
def test_what_is_not_there_is_said_with_the_nearest(tmp_path: Path, words: tuple[str, ...], advice: str) -> None:
    said = prun(tmp_path, "help", *words)
    wrong = " ".join(words)
    assert (said.code, said.out) == (129, "")
    assert said.err == f"error: there is no page and no command {wrong!r}\nhint: {advice}\n"


def test_an_installation_has_its_own_pages(tmp_path: Path) -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert build["wheel"]["sources"]["references"] == "gitprun/_references"
    assert build["wheel"]["shared-data"] == {"references/git-prun.1": "share/man/man1/git-prun.1"}
    package = tmp_path / "site" / "gitprun"
    shutil.copytree(ROOT / "gitprun", package, ignore=shutil.ignore_patterns("__pycache__"))
    assert "this installation has no pages" in installed(tmp_path, "help").stderr
    shutil.copytree(REFERENCES, package / "_references")
    assert installed(tmp_path, "help", "landing").stdout == (REFERENCES / "landing.md").read_text()
    assert installed(tmp_path, "skill", "path").stdout == f"{package / 'skill'}\n"


def installed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gitprun", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
