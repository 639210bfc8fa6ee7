"""What is said of files whose faults nobody can look for."""

from __future__ import annotations

import pytest

from gitprun.resolvers.kinds import why_unjudged
from gitprun.resolvers.syntax import grammars

HINT = "(pip install 'gitprun[grammars]')"
UNJUDGED = (
    ("a.tf", f"no grammar for .tf {HINT}"),
    ("a.css", f"no grammar for .css {HINT}"),
    ("a.html", f"no grammar for .html {HINT}"),
    ("a.py", f"no grammar for .py {HINT}"),
    ("Rakefile", f"no grammar for Rakefile {HINT}"),
    # Read without one: by brackets, by the standard library, by readers of prun's own.
    ("a.graphql", ""),
    ("a.scss", ""),
    ("a.xml", ""),
    ("a.svg", ""),
    ("a.proto", ""),
    ("a.json", ""),
    # Languages that nothing is known of, and what is none.
    ("a.zig", "nothing is known of .zig files"),
    ("a.VUE", "nothing is known of .VUE files"),
    ("notes.txt", ""),
    ("LICENSE", ""),
)


@pytest.mark.parametrize(("path", "why"), UNJUDGED)
def test_what_is_said_where_no_grammar_is_installed(monkeypatch: pytest.MonkeyPatch, path: str, why: str) -> None:
    monkeypatch.setattr(grammars, "_open", lambda row: f"the grammar of {row.name} is not installed")
    assert why_unjudged(path, 10) == why
