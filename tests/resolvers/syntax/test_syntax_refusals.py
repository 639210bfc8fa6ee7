"""What the syntax resolver leaves to a person, and how it says so."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import pytest

from gitprun.resolvers.base import FileConflict, Refused, Unread
from gitprun.resolvers.kinds import kinds_for
from gitprun.resolvers.syntax.conditions import CONDITIONS, NEEDS
from gitprun.resolvers.syntax.faults import find_faults
from gitprun.resolvers.syntax.grammars import has_grammar, load_language, why_no_grammar
from gitprun.resolvers.syntax.languages import GRAMMARS
from gitprun.resolvers.syntax.languages.python import PYTHON
from gitprun.resolvers.syntax.needs import missing_names, needed_names
from gitprun.resolvers.syntax.paths import SPECIAL, SPECIAL_NEEDS
from gitprun.resolvers.syntax.resolver import resolve
from gitprun.resolvers.syntax.rows import Grammar, Group, Named, Scope, Unique

REFUSED = (
    ("a.ts", "const r = {\n  a: '/a'\n};\n", "const r = {\n  a: '/b'\n};\n", "const r = {\n  a: '/c'\n};\n",
     "both sides changed \"'/a'\""),
    ("a.ts", "const r = {\n  a: 1,\n  b: 2,\n};\n", "const r = {\n  a: 1,\n};\n", "const r = {\n  a: 1,\n  b: 3,\n};\n",
     'one side removed what the other changed: "b: 2"'),
    ("a.ts", "const r = {\n  a: 1,\n};\n", "const r = {\n  a: 1,\n  b: 2,\n};\n", "const r = {\n  b: 3,\n  a: 1,\n};\n",
     'both sides added "b: 2", each in another way'),
    ("a.ts", "q.on('a', a);\n", "q.on('a', a);\nq.on('b', b);\n", "q.on('a', a);\nq.on('b', c);\n",
     "both sides added \"q.on('b', b);\", each in another way"),
    ("a.ts", "q.on('a', a);\n", "q.on('a', a);\ndb.put('b', b);\n", "q.on('a', a);\nlog.to('c', c);\n",
     "both sides inserted at one place: \"db.put('b', b);\" and \"log.to('c', c);\""),
    ("a.ts", "app.get('/a', a);\n", "app.get('/a', a);\napp.get('/:id', b);\n",
     "app.get('/a', a);\napp.get('/new', c);\n",
     "both sides inserted at one place: \"app.get('/:id', b);\" and \"app.get('/new', c);\""),
    ("a.js", "f();\n", "f();\nconsole.log('a', 1);\n", "f();\nconsole.log('b', 2);\n",
     "both sides inserted at one place: \"console.log('a', 1);\" and \"console.log('b', 2);\""),
    ("a.js", "const r = [\n  a,\n];\n", "const r = [\n  a,\n  b,\n];\n", "const r = [\n  a,\n  c,\n];\n",
     'both sides inserted at one place: "b" and "c"'),
    ("a.js", "switch (x) {\n  case 1:\n    f();\n}\n", "switch (x) {\n  case 1:\n    f();\n  case 2:\n    break;\n}\n",
     "switch (x) {\n  case 1:\n    f();\n  case 3:\n    break;\n}\n",
     'both sides inserted at one place: "case 2:" and "case 3:"'),
    ("a.py", "def f():\n    a()\n", "def f():\n    a()\n    b()\n", "def f():\n    a()\n    c()\n",
     'both sides inserted at one place: "b()" and "c()"'),
    ("a.py", "a()\nb()\nc()\n", "a()\nc()\n", "a()\nb()\nd()\nc()\n",
     'one side removed what stands beside an insertion: "b()"'),
    ("a.py", "a()\nb()\nc()\nd()\n", "a()\nc()\nd()\n", "a()\nb()\nd()\n", 'the sides removed neighbours: "b()"'),
    ("a.py", "def f(a):\n    pass\n", "def f(a, b=1):\n    pass\n", "def f(a, c=2):\n    pass\n",
     'both sides inserted at one place: "b=1" and "c=2"'),
    ("a.py", "f()\n", "f(x=1)\n", "f(x=2)\n", 'both sides added "x=1", each in another way'),
    ("a.py", "# a\nf()\n", "# b\nf(1)\n", "# c\nf(1)\n", 'both sides changed the comments of "f(1)"'),
    ("a.py", "f()  # a\n", "f()  # b\n", "f()  # c\n", "both sides changed the comment behind an entry"),
    ("a.go", 'package p\n\nimport (\n\t"io"\n)\n', 'package p\n\nimport (\n\t"os"\n)\n',
     'package p\n\nimport (\n\t"fmt"\n)\n',
     'both sides replaced ""io""'),
    ("A.java", "class A {\n    void f() {}\n}\n", "class A {\n    void f() {}\n    void g() { a(); }\n}\n",
     "class A {\n    void g() { b(); }\n    void f() {}\n}\n",
     'both sides added "void g() { a(); }", each in another way'),
    ("A.java", "static class A {}\n", "public static class A {}\n", "private static class A {}\n",
     'both sides added "public", each in another way'),
    ("a.rs", "fn f(x: u8) {\n    match x {\n        1 => a(),\n    }\n}\n",
     "fn f(x: u8) {\n    match x {\n        1 => a(),\n        n if n > 2 => b(),\n    }\n}\n",
     "fn f(x: u8) {\n    match x {\n        1 => a(),\n        n if n > 3 => c(),\n    }\n}\n",
     'both sides inserted at one place: "n if n > 2 => b()" and "n if n > 3 => c()"'),
    ("a.py", "x()\np()\nq()\nr()\n", "p()\nx()\nq()\nr()\n", "p()\nq()\nr()\nx()\n",
     'one side moved what the other removed or moved elsewhere: "x()"'),
    ("a.py", "x()\np()\nq()\n", "p()\nq()\nx()\n", "p()\nq()\n",
     'one side moved what the other removed or moved elsewhere: "x()"'),
    ("a.js", "const t = ready ? 1 : 2;\n", "const t = ready ? 10 : 2;\n", "const t = !ready ? 1 : 2;\n",
     'one side turned a condition round, the other changed what follows: "ready"'),
    ("a.py", "if a > 1:\n    go(2)\n", "if a <= 1:\n    go(2)\n", "if a > 1:\n    go(3)\n",
     'one side turned a condition round, the other changed what follows: "a > 1"'),
    ("a.go", "package p\n\nfunc f() {\n\tif ok {\n\t\tg(1)\n\t}\n}\n",
     "package p\n\nfunc f() {\n\tif !ok {\n\t\tg(1)\n\t}\n}\n",
     "package p\n\nfunc f() {\n\tif ok {\n\t\tg(2)\n\t}\n}\n",
     'one side turned a condition round, the other changed what follows: "ok"'),
    ("a.py", "send(host, body)\n", "send(host, port, body)\n", "send(url, body)\n",
     'one side replaced what stands beside an insertion: "host"'),
    ("a.rb", "join('.', '_inc')\n", "join('.', a.b, '_inc')\n", "join(c.b, '_inc')\n",
     "one side replaced what stands beside an insertion: \"'.'\""),
    ("a.js", "a();\nfor (x of y) { f(x); }\nb();\n",
     "for (x of y) { f(x); }\na();\nfor (x of y) { f(x); }\nb();\n", "a();\nfor (x of y) { f(x, 1); }\nb();\n",
     'one side changed what the other doubled: "for (x of y) { f(x); }"'),
    ("a.ts", "enum E {\n  A,\n}\n", "enum E {\n  A,\n  B,\n}\n", "enum E {\n  A,\n  C,\n}\n",
     'both sides inserted at one place: "B" and "C"'),
    ("a.go", "package p\n\nconst (\n\tA = iota\n)\n", "package p\n\nconst (\n\tA = iota\n\tB\n)\n",
     "package p\n\nconst (\n\tA = iota\n\tC\n)\n", 'both sides inserted at one place: "B" and "C"'),
    ("a.c", "enum E { A };\n", "enum E { A, B };\n", "enum E { A, C };\n",
     'both sides inserted at one place: "B" and "C"'),
    ("a.py", "f(\n", "f(1\n", "f(2\n", "a version does not parse"),
    ("a.py", "x = 1\n", "x = (\n", "y = 1\n", "a version does not parse"),
)  # fmt: skip


@pytest.mark.parametrize(("path", "base", "main", "unit", "reason"), REFUSED, ids=lambda value: None)
def test_refuses(path: str, base: str, main: str, unit: str, reason: str) -> None:
    (kind,) = kinds_for(path)
    answer = kind.resolvers[0](FileConflict(path, base.encode(), main.encode(), unit.encode()))
    assert isinstance(answer, Unread if reason == "a version does not parse" else Refused)
    assert answer.reason == reason
    assert isinstance(kind.resolvers[0](FileConflict(path, base.encode(), unit.encode(), main.encode())), Refused)


def test_refuses_a_language_whose_grammar_is_not_installed() -> None:
    row = Grammar(name="klingon", files=("*.kl",), wheel="tree_sitter_klingon")
    assert resolve(row, FileConflict("a.kl", b"a\n", b"b\n", b"c\n")) == Unread(
        "the grammar of klingon is not installed"
    )


@pytest.mark.parametrize("row", GRAMMARS, ids=lambda row: row.name)
def test_every_row_names_kinds_of_its_grammar(row: Grammar) -> None:
    language = load_language(row)
    if language is None:
        assert why_no_grammar(row) == f"the grammar of {row.name} is not installed"
        pytest.skip("the grammar is not installed")
    # What it is known to go without is just what it does not have.
    lacking = {f'node "{name}"' for name in row.absent}
    assert set(missing_names(replace(row, absent=frozenset()), language)) == lacking


def test_every_condition_says_what_it_asks_a_node_for() -> None:
    assert set(NEEDS) <= set(CONDITIONS)
    assert set(SPECIAL_NEEDS) <= set(SPECIAL)


def test_a_row_relies_on_each_name_that_stands_in_it() -> None:
    row = Grammar(
        name="klingon",
        files=("*.kl",),
        wheel="tree_sitter_klingon",
        scopes=(Scope(("parent",), (Group(("in_field:member", "member"), only="paired"),), only="named-field"),),
        names=(Named(("named",), ("?#inner/via+|other/*", "!parameters")),),
        unique=(Unique(("unique",), ("#once/^",), "the thing", (".",), only="no-cfg"),),
        via={"wrapper": "#wrapped"},
        flat=frozenset({"flat"}),
        tails={"arm": ","},
        absent=frozenset({"once"}),
    )
    kinds = {"parent", "member", "=>", "named", "inner", "function_declarator", "unique", "attribute_item", "wrapper",
             "wrapped", "flat", "arm", ","}  # fmt: skip
    fields = {"in_field", "name", "via", "other", "declarator", "parameters"}
    assert needed_names(row) == (frozenset(kinds), frozenset(fields))


RENAMED = (
    # One name gone, several, a field gone, another grammar altogether, and a wheel that is made otherwise.
    (replace(PYTHON, joins=frozenset({"import_from_stmt"})), 'it has no node "import_from_stmt"'),
    (replace(PYTHON, joins=frozenset({"x_stmt", "y_stmt"})), 'it has no node "x_stmt" and 1 more'),
    (replace(PYTHON, names=(Named(("call",), ("no_such",)),)), 'it has no field "no_such"'),
    (replace(PYTHON, maker="languages"), "module 'tree_sitter_python' has no attribute 'languages'"),
)


@pytest.mark.parametrize(("row", "why"), RENAMED, ids=("node", "nodes", "field", "maker"))
def test_a_grammar_that_lacks_a_name_counts_as_not_installed(row: Grammar, why: str) -> None:
    told = f"the grammar of python does not fit: tree-sitter-python {version('tree-sitter-python')}: {why}"
    assert resolve(row, FileConflict("a.py", b"a\n", b"b\n", b"c\n")) == Unread(told)
    assert not has_grammar(row)
    assert find_faults(row, "a.py", b"f(\n") == ()
