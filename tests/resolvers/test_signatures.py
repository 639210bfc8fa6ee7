"""How many arguments a thing takes and is given: by language, and for any text at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict
from gitprun.resolvers.signatures import Arity, called_arities, declared_arities, find_recounted, line_of_call

# Path, text, what declarations of "f" take, and how often it is called with how many arguments.
COUNTED = {
    "python": (
        "a.py",
        "def f(a, b=1, *, c):\n    f(1, x=2)\nclass A:\n    def f(self, q): pass\n    async def f(self): self.f(*a)\n",
        [Arity(2, 3), Arity(1, 1), Arity(0, 0)],
        {2: 1},
    ),
    "python, any number": ("a.py", "def f(a, *rest, **named):\n    pass\nf()\n", [Arity(1, None)], {0: 1}),
    "java": (
        "A.java",
        'class A {\n  public int f(Map<A, B> m, int x) throws E {\n   f(1, "a,b", new Map<A,B>()); return f(2); }\n'
        "  void f(String... s);\n  A(int x) { this.f(a, (b, c) -> d); }\n  // f(1, 2, 3, 4)\n}\n",
        [Arity(2, 2), Arity(0, None)],
        {3: 1, 1: 1, 2: 1},
    ),
    "typescript": (
        "a.ts",
        "export function f<T>(a: Map<string, number>, b?: string, c = 1): void {\n  f(1, {a: 1, b: 2});\n}\n"
        "class X {\n  async f(a: number): Promise<void> {\n  }\n}\nconst f = (a, b) => 1;\n  f(3);\n",
        [Arity(1, 3), Arity(2, 2), Arity(1, 1)],
        {2: 1, 1: 1},
    ),
    "c": (
        "a.c",
        "static int f(const char *a, int b);\nint f(const char *a, int b)\n{\n\tint x = f(a, 2);\n\treturn f(a);\n}\n"
        "void g(void)\n{\n}\n",
        [Arity(2, 2), Arity(2, 2)],
        {2: 1, 1: 1},
    ),
    "go": ("a.go", "func (s *S) f(a int, b ...string) error {\n\tf(1, 2, 3)\n}\n", [Arity(1, None)], {3: 1}),
    "rust": (
        "a.rs",
        "fn f<'a>(&self, a: Vec<(u8, u8)>) -> u8 { x.f(vec![1,2]); f(a, |b, c| d) }\n",
        [Arity(1, 1)],
        {1: 1, 2: 1},
    ),
    "c#": (
        "A.cs",
        'class A {\n public async Task<int> f(int a, string b = "x") => await f(1);\n}\n',
        [Arity(1, 2)],
        {1: 1},
    ),
    "kotlin": ("a.kt", "fun f(a: Int, b: Int = 2) = f(1)\n", [Arity(1, 2)], {1: 1}),
    "php": ("a.php", "<?php function f($a, $b = 1) { $this->f(1, 2); }", [Arity(1, 2)], {2: 1}),
    "ruby": ("a.rb", "def f(a, b = 1, k: 2)\n  f(1)\nend\n", [Arity(1, 3)], {1: 1}),
    "a list that does not end": ("a.py", "f(1, (2\n", [], {}),
    "a comma at the end": ("a.py", "f(\n    1,\n    2,\n)\n", [], {2: 1}),
}


@pytest.mark.parametrize("case", COUNTED)
def test_counted(case: str) -> None:
    path, text, declared, called = COUNTED[case]
    found = declared_arities(path, text.encode(), b"f")
    assert sorted(found, key=str) == sorted(declared, key=str)
    assert dict(called_arities(path, text.encode(), b"f")) == called


def test_the_line_of_a_call() -> None:
    text = b"f(1)\n# f(1, 2)\n\nf(1, 2)\n"
    assert [line_of_call("a.py", text, b"f", count) for count in (1, 2, 3)] == [1, 4, 0]


def text_of(row: str) -> bytes:
    return row.replace("|", "\n").encode()


BODY = "||def f():|    pass||def g():|    pass|"
# Path, base, main, unit, merged, and what is said.
IN_ONE_FILE = {
    "python": (
        *("a.py", f"def net(a):|    return a|{BODY}", f"def net(a, b):|    return a|{BODY}"),
        f"def net(a):|    return a|{BODY}net(1)|",
        f"def net(a, b):|    return a|{BODY}net(1)|",
        ('main changed what "net" takes, and line 10 gives it 1 argument',),
    ),
    "a method of the own object": (
        *("A.java", "class A {|  int net(int a) {|  }|}|", "class A {|  int net(int a, int b) {|  }|}|"),
        "class A {|  int net(int a) {|  }|  int f() { return this.net(1); }|}|",
        "class A {|  int net(int a, int b) {|  }|  int f() { return this.net(1); }|}|",
        ('main changed what "net" takes, and line 4 gives it 1 argument',),
    ),
    "of another object": (
        *("A.java", "class A {|  int net(int a) {|  }|}|", "class A {|  int net(int a, int b) {|  }|}|"),
        "class A {|  int net(int a) {|  }|  int f() { return x.net(1); }|}|",
        "class A {|  int net(int a, int b) {|  }|  int f() { return x.net(1); }|}|",
        (),
    ),
    "an overload takes it": (
        *("A.java", "class A {|  int net(int a) {|  }|}|", "class A {|  int net(int a, int b) {|  }|}|"),
        "class A {|  int net(int a) {|  }|  int net(A a) {|  }|  int f() { return net(1); }|}|",
        "class A {|  int net(int a, int b) {|  }|  int net(A a) {|  }|  int f() { return net(1); }|}|",
        (),
    ),
    "the side calls it so as well": (
        *("a.py", f"def net(a):|    return a|{BODY}", f"def net(a, b):|    return a|{BODY}net(2)|"),
        f"def net(a):|    return a|{BODY}net(1)|",
        f"def net(a, b):|    return a|{BODY}net(1)|net(2)|",
        (),
    ),
}


@pytest.mark.parametrize("case", IN_ONE_FILE)
@pytest.mark.parametrize("turned", [False, True])
def test_a_call_in_the_file_of_its_declaration(case: str, turned: bool) -> None:
    path, base, main, unit, merged, said = IN_ONE_FILE[case]
    sides = (unit, main) if turned else (main, unit)
    conflict = FileConflict(path, text_of(base), *map(text_of, sides))
    due = tuple(f"unit{one[4:]}" for one in said) if turned else said
    assert find_recounted(conflict, text_of(merged)) == due


PARTS = st.sampled_from(
    ["f(", "def f(", ")", "(", ",", "a", "=1", "*", "\n", " ", '"', "'", "{", "}", "<", ">", "self", "# "]
)
ENDINGS = st.sampled_from(["py", "java", "ts", "go", "rs", "cs", "kt", "php", "rb"])


@given(ENDINGS, st.lists(PARTS, max_size=40))
def test_any_text_is_counted_without_an_end_of_the_world(ending: str, parts: list[str]) -> None:
    text = "".join(parts).encode()
    for arity in declared_arities(f"a.{ending}", text, b"f"):
        assert arity.least >= 0
        assert arity.most is None or arity.most >= arity.least
    assert all(count >= 0 and many > 0 for count, many in called_arities(f"a.{ending}", text, b"f").items())


NAMED = st.text("abcxyz", min_size=1, max_size=3).filter(lambda name: name not in ("as", "in", "is"))


@given(st.lists(NAMED, max_size=5), st.lists(NAMED, max_size=3), st.booleans())
def test_what_is_declared_is_what_is_counted(needed: list[str], optional: list[str], rest: bool) -> None:
    row = ", ".join([*needed, *(f"{name}=(1, 2)" for name in optional), *(["*rest"] if rest else [])])
    calls = "".join(f"f({', '.join(['[1, 2]'] * count)})\n" for count in range(4))
    text = f"def f({row}):\n    pass\n{calls}".encode()
    assert declared_arities("a.py", text, b"f") == [Arity(len(needed), None if rest else len(needed) + len(optional))]
    assert dict(called_arities("a.py", text, b"f")) == dict.fromkeys(range(4), 1)
