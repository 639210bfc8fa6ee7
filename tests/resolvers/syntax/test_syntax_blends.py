"""Changes of both sides in one construct that go together."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import FileConflict, Refused, Resolved
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


APART = (
    # What is asked turned round, and what is done about it changed.
    ("a.js", "while (a > b) {\n  go(2);\n}\n", "while (a <= b) {\n  go(2);\n}\n", "while (a > b) {\n  go(3);\n}\n"),
    ("a.js", "for (;a > b;) {\n  go(2);\n}\n", "for (;a <= b;) {\n  go(2);\n}\n", "for (;a > b;) {\n  go(3);\n}\n"),
    ("a.py", "x = (\n    2\n    if a\n    else 0\n)\n", "x = (\n    2\n    if not a\n    else 0\n)\n",
     "x = (\n    3\n    if a\n    else 0\n)\n"),
    ("a.go", "package p\n\nfunc f() {\n\tfor a > b {\n\t\tg(2)\n\t}\n}\n",
     "package p\n\nfunc f() {\n\tfor a <= b {\n\t\tg(2)\n\t}\n}\n",
     "package p\n\nfunc f() {\n\tfor a > b {\n\t\tg(3)\n\t}\n}\n"),
    ("a.rs", "fn f() {\n    match x {\n        v if v > b => g(2),\n        _ => {}\n    }\n}\n",
     "fn f() {\n    match x {\n        v if v <= b => g(2),\n        _ => {}\n    }\n}\n",
     "fn f() {\n    match x {\n        v if v > b => g(3),\n        _ => {}\n    }\n}\n"),
    ("a.java", "class A {{ do {\n  g(2);\n} while (a > b); }}\n", "class A {{ do {\n  g(2);\n} while (a <= b); }}\n",
     "class A {{ do {\n  g(3);\n} while (a > b); }}\n"),
    ("a.sh", 'if [ -z "$a" ]; then\n  g 2\nfi\n', 'if [ -n "$a" ]; then\n  g 2\nfi\n',
     'if [ -z "$a" ]; then\n  g 3\nfi\n'),
    # What stands beside an inserted one is another one now.
    ("a.ts", "function f(a: T, b: T) {}\n", "function f(a: T, c: T) {}\n", "function f(a: T, x: T, b: T) {}\n"),
    ("a.go", "package p\n\nfunc f(a T, b T) {}\n", "package p\n\nfunc f(a T, c T) {}\n",
     "package p\n\nfunc f(a T, x T, b T) {}\n"),
    ("a.rs", "fn f(a: T, b: T) {}\n", "fn f(a: T, c: T) {}\n", "fn f(a: T, x: T, b: T) {}\n"),
    ("A.java", "class A { void f(T a, T b) {} }\n", "class A { void f(T a, T c) {} }\n",
     "class A { void f(T a, T x, T b) {} }\n"),
    ("a.c", "int m[] = { a, b };\n", "int m[] = { a, c };\n", "int m[] = { a, x, b };\n"),
    ("a.py", "x = a + b\n", "x = a + c\n", "x = a + y + b\n"),
    ("a.js", "x = a && b;\n", "x = a && c;\n", "x = a && y && b;\n"),
    ("a.py", 'x = (\n    "a"\n    "b"\n)\n', 'x = (\n    "a"\n    "c"\n)\n', 'x = (\n    "a"\n    "y"\n    "b"\n)\n'),
)  # fmt: skip


@pytest.mark.parametrize(("path", "base", "main", "unit"), APART)
def test_neither_is_put_into_the_other(path: str, base: str, main: str, unit: str) -> None:
    for one, other in ((main, unit), (unit, main)):
        conflict = FileConflict(path, base.encode(), one.encode(), other.encode())
        found = kinds_for(path)[-1].resolvers[0](conflict)
        assert isinstance(found, Refused), found
        assert found.reason.startswith(("one side turned a condition round", "one side replaced what stands beside"))
