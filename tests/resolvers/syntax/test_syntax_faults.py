"""What is wrong with one version of a program."""

from __future__ import annotations

import pytest

from gitprun.resolvers.kinds import find_faults
from gitprun.resolvers.proof import audit

FAULTY = (
    ("a.ts", "const = 1;\n", "the file does not parse"),
    ("a.ts", "import { a } from 'x';\nimport a from 'y';\n", 'the import "a" is there twice'),
    ("a.ts", "export function f() {}\nconst f = 1;\n", 'the definition of "f" is there twice'),
    ("a.ts", "const r = { a: 1, b: 2, a };\n", 'the key "a" is there twice'),
    ("a.ts", "enum E { A, B, A }\n", 'the enum member "A" is there twice'),
    ("a.ts", "enum E { A = 1, B = 1 }\n", 'the enum value "1" is there twice'),
    ("a.ts", "class A { f() {} f() {} }\n", 'the member "f" is there twice'),
    ("a.ts", "switch (x) { case 1: break; case 1: break; }\n", 'the case "1" is there twice'),
    ("a.py", "def f():\n    pass\n\ndef f():\n    pass\n", 'the definition of "f" is there twice'),
    ("a.py", "LIMIT = 1\nother = 2\nLIMIT = 3\n", 'the name "LIMIT" is there twice'),
    ("a.py", "import os\nimport os\n", 'the import "os" is there twice'),
    ("a.py", "f(a=1, a=2)\n", 'the argument "a" is there twice'),
    ("a.py", "d = {'a': 1, 'a': 2}\n", "the key \"'a'\" is there twice"),
    ("A.java", "import a.B;\nimport a.B;\n", 'the import "B" is there twice'),
    ("A.java", "class A {\n  void f(int x) {}\n  int f(int y) {}\n}\n", 'the method "f int" is there twice'),
    ("A.java", "class A {\n  Object x = 1;\n  Integer x = 2;\n}\n", 'the field "x" is there twice'),
    ("a.c", "enum E { A = 0, B = 1, C = 1 };\n", 'the enum value "1" is there twice'),
    ("a.c", "struct S { int a; char *a; };\n", 'the member "a" is there twice'),
    ("a.c", "int f(int a) { }\nint f(int b) { }\n", 'the function "f (int)" is there twice'),
    ("a.go", 'package p\n\nimport (\n\t"io"\n\t"io"\n)\n', 'the import "io" is there twice'),
    ("a.go", "package p\n\nfunc f() {}\nfunc f() {}\n", 'the definition of "f" is there twice'),
    ("a.go", "package p\n\nfunc (t T) f() {}\nfunc (u T) f() {}\n", 'the method "f T" is there twice'),
    ("a.rs", "fn f() {}\nfn f() {}\n", 'the function "f" is there twice'),
    ("a.rs", "enum E { A, A }\n", 'the variant "A" is there twice'),
    ("a.rs", "mod a;\nmod a;\n", 'the module "a" is there twice'),
    ("a.cs", "class A { void f(int x) {} int f(int y) {} }\n", 'the method "f int" is there twice'),
    ("a.kt", "import a.B\nimport a.B\n", 'the import "B" is there twice'),
    ("a.php", "<?php\nclass A { public $x; public $x; }\n", 'the property "$x" is there twice'),
    ("a.rb", "class A\n  def f\n  end\n  def f\n  end\nend\n", 'the method "f" is there twice'),
    ("a.swift", "struct A {}\nclass A {}\n", 'the type "A" is there twice'),
    ("a.dart", "class A {}\nclass A {}\n", 'the type "A" is there twice'),
    ("a.nix", "{ a, b, a }: { }\n", 'the argument "a" is there twice'),
    ("a.svg", '<a x="1" x="2"/>\n', "the file is not well-formed"),
    ("a.ts", "export { A } from './a';\nexport { B as A } from './b';\n", 'the export "A" is there twice'),
    ("a.ts", "export * as A from './a';\nexport type { A } from './b';\n", 'the export "A" is there twice'),
    ("a.ts", "export { A } from './a';\nexport const A = 1;\n", 'the export "A" is there twice'),
    ("a.ts", "export default a;\nexport { b as default };\n", 'the export "default" is there twice'),
    ("a.ts", "export * from './a';\nexport * from './a';\n", "the export of all of \"'./a'\" is there twice"),
    ("a.js", "exports.a = 1;\nexports.a = 2;\n", 'the export "exports.a" is there twice'),
    ("a.py", "from .a import x\nfrom .b import y as x\n", 'the import "x" is there twice'),
    ("a.py", "import json\nimport other as json\n", 'the import "json" is there twice'),
    ("a.py", "from .a import *\nfrom .a import *\n", 'the import "from .a import *" is there twice'),
    ("a.py", "__all__ = ['a', \"a\"]\n", 'the export "a" is there twice'),
    ("a.py", "__all__ = ('a',)\n__all__ += ['a']\n", 'the export "a" is there twice'),
    ("a.rs", "pub use a::X;\nuse b::{self, c::{X}};\n", 'the use "X" is there twice'),
    ("a.rs", "use a::Y as X;\nuse b::X;\n", 'the use "X" is there twice'),
    ("a.go", 'package p\n\nimport (\n\t"a/json"\n\t"b/json/v2"\n)\n', 'the import "json" is there twice'),
    ("A.java", "import a.List;\nimport b.List;\n", 'the import "List" is there twice'),
    ("a.kt", "import a.List\nimport b.L as List\n", 'the import "List" is there twice'),
    ("a.php", "<?php\nuse a\\L;\nuse b\\M as L;\n", 'the use of "L" is there twice'),
    ("a.cs", "using L = A.L;\nusing L = B.L;\n", 'the using of "L" is there twice'),
)  # fmt: skip


@pytest.mark.parametrize(("path", "text", "fault"), FAULTY, ids=lambda value: None)
def test_names_a_fault(path: str, text: str, fault: str) -> None:
    assert find_faults(path, text.encode()) == (fault,)


SOUND = (
    ("a.swift", "struct A {}\nextension A {}\nextension A {}\n"),
    ("a.ts", "function f(a: string): void;\nfunction f(a: number): void;\nfunction f(a: any) {}\n"),
    ("a.ts", "interface A { x: 1 }\ninterface A { y: 2 }\nconst A = 1;\nnamespace A {}\n"),
    ("a.ts", "class A { get x() { return 1 } set x(v) {} static x() {} }\n"),
    ("a.ts", "const r = { ['a']: 1, ['b']: 2, ...c, ...c };\n"),
    ("a.py", "class A:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n"),
    ("a.py", "@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): ...\n"),
    ("a.py", "if a:\n    def f(): ...\nelse:\n    def f(): ...\n"),
    ("a.py", "from m import a\nfrom m import b\nimport a.b\nimport a.c\n"),
    ("A.java", "class A {\n  void f(int x) {}\n  void f(int... x) {}\n  void f(String x) {}\n}\n"),
    ("a.cpp", "class A { int f() const; int f(); int f(int *a); int f(int a); };\n"),
    ("a.go", "package p\n\nfunc init() {}\nfunc init() {}\nfunc (t T) f() {}\nfunc (u U) f() {}\n"),
    ("a.rs", "#[cfg(a)]\nfn f() {}\n#[cfg(not(a))]\nfn f() {}\nimpl S { fn f() {} }\nimpl T { fn f() {} }\n"),
    ("a.cs", "class A { void f() {} void f<T>() {} void I.f() {} }\n"),
    ("a.ts", "export { a } from './a';\nconst a = 1;\nexport * from './b';\nexport * from './c';\n"),
    ("a.ts", "export function f(a: 1): void;\nexport function f(a: 2): void;\nexport function f(a: any) {}\n"),
    ("a.js", "module.exports = f;\nmodule.exports.a = 1;\nexports = 1;\nother.a = 1;\nother.a = 2;\n"),
    ("a.py", "try:\n    import json\nexcept ImportError:\n    import other as json\n"),
    ("a.py", "names = ['a', 'a']\n"),
    ("a.rs", "#[cfg(a)]\nuse a::X;\n#[cfg(b)]\nuse b::X;\nuse c::{self, T as _};\nuse d::{self, U as _};\n"),
    ("a.rs", "use a::*;\nuse b::{self, *};\nmod t {\n    use a::X;\n}\nuse a::X;\n"),
    ("a.go", 'package p\n\nimport (\n\t_ "a/x"\n\t_ "b/x"\n\ty "c/x"\n\t"d/x/v2"\n)\n'),
    ("A.java", "import static a.A.f;\nimport static b.B.f;\nimport a.*;\nimport b.*;\n"),
    ("a.kt", "import a.map\nimport b.map\nimport a.*\nimport b.*\n"),
    ("a.php", "<?php\nuse function a\\f;\nuse function b\\f;\n"),
    ("a.unknown", "x ((\n"),
)  # fmt: skip


@pytest.mark.parametrize(("path", "text"), SOUND, ids=lambda value: None)
def test_finds_nothing_wrong_with_what_is_allowed(path: str, text: str) -> None:
    assert find_faults(path, text.encode()) == ()


def test_a_clean_merge_that_doubles_a_definition_is_suspect() -> None:
    base, fun = b"def a(): ...\n\n\nx = 1\n", b"def new(): ...\n"
    main, unit = fun + base, base + fun
    assert audit("a.py", base, main, unit, fun + base + fun) == ('the definition of "new" is there twice',)
    assert audit("a.py", base, fun + base + fun, unit, fun + base + fun) == ()
