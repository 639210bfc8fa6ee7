"""Changes of both sides in one construct that go together."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import FileConflict, Resolved
from gitprun.resolvers.kinds import kinds_for

TOGETHER = (
    # More is asked for, and what follows is another thing: people keep both.
    ("a.py", "if a:\n    go(2)\n", "if a and b:\n    go(2)\n", "if a:\n    go(3)\n", "if a and b:\n    go(3)\n"),
    ("a.py", "if x == 'a':\n    go(2)\n", 'if x == "a":\n    go(2)\n', "if x == 'a':\n    go(3)\n",
     'if x == "a":\n    go(3)\n'),
    # A number that is another one is still what it was for.
    ("a.py", "f(1)\n", "f(2)\n", "f(1, x)\n", "f(2, x)\n"),
    ("a.py", "f(g(1), y)\n", "f(g(2), y)\n", "f(g(1), x, y)\n", "f(g(2), x, y)\n"),
    ("a.ts", "enum E {\n  A = 1,\n}\n", "enum E {\n  A = 1,\n  B = 2,\n}\n", "enum E {\n  A = 1,\n  C = 3,\n}\n",
     "enum E {\n  A = 1,\n  B = 2,\n  C = 3,\n}\n"),
    # Who puts a member before others gives those new numbers, and means none by them.
    ("a.ts", "enum E {\n  A,\n  Z,\n}\n", "enum E {\n  A,\n  B,\n  Z,\n}\n", "enum E {\n  A,\n  C,\n  Z,\n}\n",
     "enum E {\n  A,\n  B,\n  C,\n  Z,\n}\n"),
)  # fmt: skip


@pytest.mark.parametrize(("path", "base", "main", "unit", "merged"), TOGETHER)
def test_both_are_kept(path: str, base: str, main: str, unit: str, merged: str) -> None:
    conflict = FileConflict(path, base.encode(), main.encode(), unit.encode())
    (kind,) = kinds_for(path)
    for resolver in kind.resolvers:
        found = resolver(conflict)
        assert isinstance(found, Resolved), found
        assert found.text == merged.encode()
