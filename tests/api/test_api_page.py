"""The page of the Python interface: every example runs, in a real repository with a real worker."""

from __future__ import annotations

import contextlib
import doctest
from pathlib import Path

from tests.support.pages import blocks_of
from tests.support.repos import make_repo_for_workers

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "references" / "api.md"


def test_examples_are_what_happens(tmp_path: Path) -> None:
    repo = make_repo_for_workers(tmp_path / "repo")
    blocks = blocks_of(PAGE)
    (plan,) = (block.text for block in blocks if block.file == "plan.toml")
    # Beside the commit: what is not committed does not keep anything from landing.
    repo.write("plan.toml", plan)
    text = "\n".join(block.text for block in blocks if block.language == "python")
    parsed = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    with contextlib.chdir(repo.path):
        result = doctest.DocTestRunner().run(parsed, out=said.append)
    assert "".join(said) == ""
    assert result.attempted > 25
