"""What is united in TypeScript, JavaScript, Python and Starlark, as whole texts."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gitprun.resolvers.base import FileConflict, Resolved
from gitprun.resolvers.cascade import run_cascade


@dataclass(frozen=True)
class Case:
    title: str
    path: str
    base: str | None
    main: str
    unit: str
    merged: str


CASES = (
    Case(
        "named imports of one module",
        "a.ts",
        "import { a } from './w';\n",
        "import { a, b } from './w';\n",
        "import { a, c } from './w';\n",
        "import { a, b, c } from './w';\n",
    ),
    Case(
        "an import of one module on either side",
        "a.ts",
        "import x from 'x';\n",
        "import x from 'x';\nimport { a, b } from './w';\n",
        "import x from 'x';\nimport { b, c } from './w';\n",
        "import x from 'x';\nimport { a, b, c } from './w';\n",
    ),
    Case(
        "the same import at two places",
        "a.ts",
        "import m from 'm';\n\nf();\n",
        "import m from 'm';\nimport z from 'z';\n\nf();\n",
        "import z from 'z';\nimport m from 'm';\n\nf();\n",
        "import z from 'z';\nimport m from 'm';\n\nf();\n",
    ),
    Case(
        "a registry with groups, no comma at the end, and a neighbour removed",
        "keys.ts",
        "export const keys = {\n  users: {\n    all: ['u'],\n    one: (id) => ['u', id]\n  }\n} as const;\n",
        "export const keys = {\n  users: {\n    all: ['u'],\n    one: (id) => ['u', id],\n    two: 1\n  },\n"
        "  teams: { all: ['t'] }\n} as const;\n",
        "export const keys = {\n  users: {\n    one: (id) => ['u', id],\n    three: 2\n  },\n"
        "  orgs: { all: ['o'] }\n} as const;\n",
        "export const keys = {\n  users: {\n    one: (id) => ['u', id],\n    two: 1,\n    three: 2\n  },\n"
        "  teams: { all: ['t'] },\n  orgs: { all: ['o'] }\n} as const;\n",
    ),
    Case(
        "comments go with their entry, behind it and in front",
        "keys.ts",
        "const r = {\n  a: 1, // first\n};\n",
        "const r = {\n  a: 1, // first\n  // about b\n  b: 2, // second\n};\n",
        "const r = {\n  a: 1, // first!\n  c: 3, // third\n};\n",
        "const r = {\n  a: 1, // first!\n  // about b\n  b: 2, // second\n  c: 3, // third\n};\n",
    ),
    Case(
        "a comma is put in front of the comment of what was last",
        "keys.js",
        "const r = {\n  a: 1 // first\n};\n",
        "const r = {\n  a: 1, // first\n  b: 2 // second\n};\n",
        "const r = {\n  a: 1, // first\n  c: 3 // third\n};\n",
        "const r = {\n  a: 1, // first\n  b: 2, // second\n  c: 3 // third\n};\n",
    ),
    Case(
        "registrations under different names",
        "queue.ts",
        "queue.register('a', ja);\n",
        "queue.register('a', ja);\nqueue.register('b', jb);\n",
        "queue.register('a', ja);\nqueue.register('c', jc);\n",
        "queue.register('a', ja);\nqueue.register('b', jb);\nqueue.register('c', jc);\n",
    ),
    Case(
        "registrations by a bare function",
        "queue.ts",
        'register("mail", mail);\n',
        'register("mail", mail);\nregister("a", a);\n',
        'register("mail", mail);\nregister("b", b);\n',
        'register("mail", mail);\nregister("a", a);\nregister("b", b);\n',
    ),
    Case(
        "routes in a function that has nothing else",
        "routes.ts",
        "export function setup(app: App) {\n  app.get('/a', a);\n}\n",
        "export function setup(app: App) {\n  app.get('/a', a);\n  app.post('/b', b);\n}\n",
        "export function setup(app: App) {\n  app.get('/a', a);\n  app.get('/c', c);\n}\n",
        "export function setup(app: App) {\n  app.get('/a', a);\n  app.post('/b', b);\n  app.get('/c', c);\n}\n",
    ),
    Case(
        "tests of one suite",
        "a.test.ts",
        "describe('a', () => {\n  it('one', () => {\n    f(1);\n  });\n});\n",
        "describe('a', () => {\n  it('one', () => {\n    f(1);\n  });\n\n  it('two', () => {\n    f(2);\n  });\n});\n",
        "describe('a', () => {\n  it('one', () => {\n    f(1);\n  });\n\n  it('three', () => {\n    f(3);\n"
        "  });\n});\n",
        "describe('a', () => {\n  it('one', () => {\n    f(1);\n  });\n\n  it('two', () => {\n    f(2);\n  });\n\n"
        "  it('three', () => {\n    f(3);\n  });\n});\n",
    ),
    Case(
        "cases of a switch that end",
        "a.ts",
        "switch (x) {\n  case 'a':\n    f();\n    break;\n  default:\n    g();\n}\n",
        "switch (x) {\n  case 'a':\n    f();\n    break;\n  case 'b':\n    return 2;\n  default:\n    g();\n}\n",
        "switch (x) {\n  case 'a':\n    f();\n    break;\n  case 'c':\n    return 3;\n  default:\n    g();\n}\n",
        "switch (x) {\n  case 'a':\n    f();\n    break;\n  case 'b':\n    return 2;\n  case 'c':\n    return 3;\n"
        "  default:\n    g();\n}\n",
    ),
    Case(
        "members of a class, getter and setter of one name",
        "a.ts",
        "class A {\n  f() {}\n}\n",
        "class A {\n  f() {}\n\n  get x() {\n    return 1;\n  }\n}\n",
        "class A {\n  f() {}\n\n  set x(v) {\n    this.v = v;\n  }\n}\n",
        "class A {\n  f() {}\n\n  get x() {\n    return 1;\n  }\n\n  set x(v) {\n    this.v = v;\n  }\n}\n",
    ),
    Case(
        "members of a union type",
        "a.ts",
        "type T = 'a' | 'z';\n",
        "type T = 'a' | 'b' | 'z';\n",
        "type T = 'a' | 'c' | 'z';\n",
        "type T = 'a' | 'b' | 'c' | 'z';\n",
    ),
    Case(
        "attributes of an element",
        "a.tsx",
        "const x = <a href='/'>t</a>;\n",
        "const x = <a href='/' id='i'>t</a>;\n",
        "const x = <a href='/' onClick={f}>t</a>;\n",
        "const x = <a href='/' id='i' onClick={f}>t</a>;\n",
    ),
    Case(
        "a barrel",
        "index.ts",
        "export * from './a';\n",
        "export * from './a';\nexport * from './b';\n",
        "export * from './a';\nexport { c } from './c';\n",
        "export * from './a';\nexport * from './b';\nexport { c } from './c';\n",
    ),
    Case(
        "both sides added the file",
        "a.ts",
        None,
        "import { a } from 'x';\n\nexport const one = a(1);\n",
        "import { b } from 'x';\n\nexport const two = b(2);\n",
        "import { a, b } from 'x';\n\nexport const one = a(1);\n\nexport const two = b(2);\n",
    ),
    Case(
        "one side laid the arguments out anew",
        "a.ts",
        "call(first, second, third);\n",
        "call(\n  first,\n  second,\n  third,\n);\n",
        "call(first, other(1), third);\n",
        "call(\n  first,\n  other(1),\n  third,\n);\n",
    ),
    Case(
        "imports and the list of exports",
        "__init__.py",
        'from .a import A\n\n__all__ = ["A"]\n',
        'from .a import A\nfrom .b import B\n\n__all__ = ["A", "B"]\n',
        'from .a import A\nfrom .c import C\n\n__all__ = ["A", "C"]\n',
        'from .a import A\nfrom .b import B\nfrom .c import C\n\n__all__ = ["A", "B", "C"]\n',
    ),
    Case(
        "a sorted list of imports stays sorted",
        "a.py",
        "import a\nimport c\nimport e\n",
        "import a\nimport c\nimport d2\nimport e\n",
        "import a\nimport c\nimport d1\nimport e\n",
        "import a\nimport c\nimport d1\nimport d2\nimport e\n",
    ),
    Case(
        "an import and the first statement behind the imports",
        "a.py",
        "import a\n\nrun()\n",
        "import a\n\nstart()\nrun()\n",
        "import a\nimport b\n\nrun()\n",
        "import a\nimport b\n\nstart()\nrun()\n",
    ),
    Case(
        "functions in front of what the module runs",
        "a.py",
        "def f():\n    a()\n\n\nif True:\n    f()\n",
        "def f():\n    a()\n\n\n# about g\ndef g():\n    b()\n\n\nif True:\n    f()\n",
        "def f():\n    a()\n\n\ndef h():\n    c()\n\n\nif True:\n    f()\n    h()\n",
        "def f():\n    a()\n\n\n# about g\ndef g():\n    b()\n\n\ndef h():\n    c()\n\n\nif True:\n    f()\n    h()\n",
    ),
    Case(
        "keyword arguments, keys of a dictionary, members of a set",
        "a.py",
        "f(1)\nd = {'a': 1}\ns = {1}\n",
        "f(1, x=2)\nd = {'a': 1, 'b': 2}\ns = {1, 2}\n",
        "f(1, y=3)\nd = {'a': 1, 'c': 3}\ns = {1, 3}\n",
        "f(1, x=2, y=3)\nd = {'a': 1, 'b': 2, 'c': 3}\ns = {1, 2, 3}\n",
    ),
    Case(
        "methods and fields of a class",
        "a.py",
        "class A:\n    x = 1\n\n    def f(self):\n        pass\n",
        "class A:\n    x = 1\n    y = 2\n\n    def f(self):\n        pass\n\n    @property\n    def g(self):\n"
        "        pass\n",
        "class A:\n    x = 1\n    z = 3\n\n    def f(self):\n        pass\n\n    @g.setter\n"
        "    def g(self, v):\n        pass\n",
        "class A:\n    x = 1\n    y = 2\n    z = 3\n\n    def f(self):\n        pass\n\n"
        "    @property\n    def g(self):\n        pass\n\n    @g.setter\n    def g(self, v):\n        pass\n",
    ),
    Case(
        "an edit follows code that the other side moved and indented",
        "a.py",
        "class Alpha:\n    size = 1\n\n    def f(self):\n        pass\n",
        "if True:\n    class Alpha:\n        size = 1\n\n        def f(self):\n            pass\n",
        "class Alpha:\n    size = 1\n\n    def f(self):\n        pass\n\n    def g(self):\n        return [\n"
        "            1,\n        ]\n",
        "if True:\n    class Alpha:\n        size = 1\n\n        def f(self):\n            pass\n\n"
        "        def g(self):\n            return [\n                1,\n            ]\n",
    ),
    Case(
        "brackets that one side took off an import",
        "a.py",
        "from m import (\n    a,\n    c,\n)\n",
        "from m import (\n    a,\n    b,\n    c,\n)\n",
        "from m import a, c\n",
        "from m import a, b, c\n",
    ),
    Case(
        "build targets and loads",
        "BUILD",
        'load("//a:a.bzl", "a")\n\na(\n    name = "x",\n    deps = ["y"],\n)\n',
        'load("//a:a.bzl", "a")\nload("//b:b.bzl", "b")\n\na(\n    name = "x",\n    deps = ["y"],\n)\n\nb(\n'
        '    name = "z",\n)\n',
        'load("//a:a.bzl", "a")\nload("//c:c.bzl", "c")\n\na(\n    name = "x",\n    deps = ["y"],\n)\n\nc(\n'
        '    name = "w",\n)\n',
        'load("//a:a.bzl", "a")\nload("//b:b.bzl", "b")\nload("//c:c.bzl", "c")\n\na(\n    name = "x",\n'
        '    deps = ["y"],\n)\n\n'
        'b(\n    name = "z",\n)\n\nc(\n    name = "w",\n)\n',
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path}: {case.title}")
def test_unites(case: Case) -> None:
    base = None if case.base is None else case.base.encode()
    answer = run_cascade(FileConflict(case.path, base, case.main.encode(), case.unit.encode()))
    assert answer.refusals == ()
    assert [text.text.decode() for text in answer.texts] == [case.merged]
    assert isinstance(answer.texts[0], Resolved)
    assert answer.texts[0].resolver == "syntax"
