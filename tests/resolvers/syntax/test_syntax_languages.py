"""What is united in the other languages: an entry of each side at one place, main's first."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import FileConflict, Resolved
from gitprun.resolvers.kinds import find_faults, kinds_for
from gitprun.resolvers.proof import prove

# A text with the places M (main's addition) and U (the unit's); without both it is the base.
UNITED = (
    ("imports", "p.go", 'package p\n\nimport (\n\t"fmt"\nMU)\n', '\t"io"\n', '\tx "os"\n'),
    ("functions", "p.go", "package p\n\nfunc F() {}\nMU", "\nfunc G() {}\n", "\nfunc (t *T) G() {}\n"),
    ("fields", "p.go", "package p\n\ntype T struct {\n\ta int\nMU}\n", "\tb int // b\n", "\tc string\n"),
    ("composite literals", "p.go", "package p\n\nvar t = T{\n\tA: 1,\nMU}\n", "\tB: 2,\n", "\tC: 3,\n"),
    ("cases", "p.go", "package p\n\nfunc f() {\n\tswitch x {\n\tcase 1:\n\t\ta()\nMU\t}\n}\n",
     "\tcase 2:\n\t\tb()\n", "\tcase 3:\n\t\tc()\n"),
    ("modules", "mod.rs", "mod a;\nMU", "mod b;\n", "pub mod c;\n"),
    ("uses", "a.rs", "use std::fs;\nMU", "use std::io;\n", "use x::{a, b};\n"),
    ("lists of a use", "a.rs", "use x::{z, b,MU a};\n", " c,", " d as e,"),
    ("fields with attributes", "a.rs", "struct S {\n    a: u8,\nMU}\n", "    /// b\n    #[x]\n    b: u8,\n",
     "    c: u8,\n"),
    ("variants", "a.rs", "enum E {\n    A,\nMU}\n", "    B(u8),\n", "    C { x: u8 },\n"),
    ("arms of different literals", "a.rs",
     "fn f(x: u8) {\n    match x {\n        1 => a(),\nMU        _ => z(),\n    }\n}\n",
     "        2 => b(),\n", "        3 => c(),\n"),
    ("items of an impl", "a.rs", "impl S {\n    fn a(&self) {}\nMU}\n", "\n    fn b(&self) {}\n",
     "\n    fn c(&self) {}\n"),
    ("imports", "A.java", "import a.A;\nMU\nclass A {}\n", "import a.B;\n", "import static a.C.c;\n"),
    ("overloads", "A.java", "class A {\n    void f(int x) {}\nMU}\n", "\n    void f() {}\n",
     "\n    void f(boolean x) {}\n"),
    ("constants of an enum", "A.java", "enum E {\n    A,\nMU    Z;\n}\n", "    B(1),\n", "    C,\n"),
    ("annotations", "A.java", "class A {\nMU    void f() {}\n}\n", "    @X\n", "    @Y(1)\n"),
    ("modifiers", "A.java", "class A {\n    privateMU int x;\n}\n", " static", " final"),
    ("includes", "a.c", "#include <a.h>\nMU\nint x;\n", "#include <b.h>\n", '#include "c.h"\n'),
    ("members of an enum", "a.c", "enum E {\n    A = 0,\nMU};\n", "    B = 1,\n", "    C = 2,\n"),
    ("functions", "a.c", "int f(void) { return 1; }\nMU", "\nint g(void) { return 2; }\n",
     "\nint *h(int x) { return 0; }\n"),
    ("overloads", "a.cpp", "class A {\n    void f(int x);\nMU};\n", "    void f();\n", "    void f(bool x);\n"),
    ("usings", "A.cs", "using System;\nMU\nclass A {}\n", "using System.IO;\n", "using X = A.B;\n"),
    ("properties", "A.cs", "class A {\n    int X { get; set; }\nMU}\n", "    int Y { get; set; }\n",
     "    int Z { get; }\n"),
    ("imports", "a.kt", "import a.A\nMU\nobject O\n", "import a.B\n", "import a.C as D\n"),
    ("functions", "a.kt", "class A {\n    fun f() {}\nMU}\n", "\n    fun g() {}\n", "\n    fun f(x: Int) {}\n"),
    ("modifiers", "a.kt", "class A {\n    overrideMU fun f() {}\n}\n", " final", " protected"),
    ("uses", "a.php", "<?php\nuse A\\A;\nMUclass X {}\n", "use A\\B;\n", "use A\\C as D;\n"),
    ("members", "a.php", "<?php\nclass X {\n    public $a;\nMU}\n", "    public $b;\n", "    function c() {}\n"),
    ("keys of an array", "a.php", "<?php\n$x = [\n    'a' => 1,\nMU];\n", "    'b' => 2,\n", "    'c' => 3,\n"),
    ("methods", "a.rb", "class A\n  def f\n    1\n  end\nMUend\n", "\n  def g\n    2\n  end\n",
     "\n  def self.h\n    3\n  end\n"),
    ("gems", "Gemfile", "source 'x'\ngem 'a', '1'\nMU", "gem 'b'\n", "gem 'c', '1'\n"),
    ("routes", "routes.rb", "Rails.application.routes.draw do\n  resources :a\nMUend\n", "  resources :b\n",
     "  resources :c\n"),
    ("definitions", "a.scala", "object A {\n  def f = 1\nMU}\n", "\n  def g = 2\n", "\n  def h(x: Int) = 3\n"),
    ("imports", "a.hs", "import A (a)\nMU\nx = 1\n", "import B\n", "import qualified C as D\n"),
    ("fields of a record", "a.hs", "x = R {\n  a = 1,\nMU  z = 9\n}\n", "  b = 2,\n", "  c = 3,\n"),
    ("blocks with labels", "a.tf", 'resource "a" "b" {\n  x = 1\n}\nMU', '\nresource "a" "c" {\n  x = 2\n}\n',
     '\nresource "a" "d" {\n  x = 3\n}\n'),
    ("attributes", "a.tf", 'resource "a" "b" {\n  x = 1\nMU}\n', "  y = 2\n", "  z = 3\n"),
    ("arguments and keys", "a.nix", "{\n  a,\nMU  z\n}: { }\n", "  b,\n", "  c ? 1,\n"),
    ("rules", "Makefile", "all: a\n\tx\nMU", "\nb:\n\ty\n", "\nc: d\n\tz\n"),
    ("uses", "a.f90", "program p\n  use a\nMU  implicit none\nend program p\n", "  use b\n", "  use c, only: x\n"),
    ("events and functions", "a.sol", "contract C {\n    uint a;\nMU}\n", "    event E(uint a);\n", "    uint b;\n"),
    ("values of an enum", "a.dart", "enum E {\n  a,\nMU}\n", "  b,\n", "  c,\n"),
    ("properties", "a.dts", "/ {\n\ta = <1>;\nMU\n\tn { };\n};\n", "\tb = <2>;\n", '\tc = "3";\n'),
    ("attributes", "a.xml", '<r>\n  <a x="1"MU/>\n</r>\n', ' y="2"', ' z="3"'),
    ("attributes", "a.html", '<p class="a"MU>t</p>\n', ' id="i"', ' title="t"'),
    ("functions", "a.lua", "local function f() end\nMU", "\nfunction M.g() end\n", "\nlocal function h() end\n"),
    ("functions", "a.sh", "set -e\nf() { a; }\nMU", "g() { b; }\n", "h() { c; }\n"),
    ("members", "a.swift", "class A {\n    var a = 1\nMU}\n", "    var b = 2\n", "    func c() {}\n"),
)  # fmt: skip


def resolved(path: str, base: bytes, main: bytes, unit: bytes) -> str:
    conflict = FileConflict(path, base, main, unit)
    kind = kinds_for(path)[-1]
    answer = kind.resolvers[0](conflict)
    assert isinstance(answer, Resolved), answer
    assert answer.resolver == "syntax"
    assert prove(conflict, answer.text, kind) is None
    return answer.text.decode()


@pytest.mark.parametrize(("title", "path", "text", "main", "unit"), UNITED, ids=lambda value: None)
def test_unites_additions_at_one_place(title: str, path: str, text: str, main: str, unit: str) -> None:
    before, behind = text.split("MU")
    versions = [f"{before}{added}{behind}".encode() for added in ("", main, unit, main + unit, unit + main)]
    assert resolved(path, *versions[:3]) == versions[3].decode()
    assert resolved(path, versions[0], versions[2], versions[1]) == versions[4].decode()
    assert [find_faults(path, version) for version in versions] == [()] * 5


# What both sides changed in one place, and yet each in its own part: base, main, unit, merge.
WOVEN = (
    ("a.rs", "#[derive(Debug)]\nstruct A;\n", "#[derive(Debug, Clone)]\n#[x]\nstruct A;\n",
     "/// doc\n#[derive(Debug)]\n#[y]\nstruct A { a: u8 }\n",
     "/// doc\n#[derive(Debug, Clone)]\n#[x]\n#[y]\nstruct A { a: u8 }\n"),
    ("a.rs", "fn f(x: u8) {\n    match x {\n        1 => a()\n    }\n}\n",
     "fn f(x: u8) {\n    match x {\n        1 => a(),\n        2 => b()\n    }\n}\n",
     "fn f(x: u8) {\n    match x {\n        1 => a(),\n        3 => c()\n    }\n}\n",
     "fn f(x: u8) {\n    match x {\n        1 => a(),\n        2 => b(),\n        3 => c()\n    }\n}\n"),
    ("A.java", "class A {\n    void f() {}\n}\n", "class A implements X {\n    static void f() throws E {}\n}\n",
     "class A implements Y {\n    @Z void f() throws F {}\n}\n",
     "class A implements X, Y {\n    @Z static void f() throws E, F {}\n}\n"),
    ("A.java", "class A {\n    /** a */\n    int a;\n\n    // b\n    int b;\n}\n",
     "class A {\n    /** a! */\n    int a;\n\n    // b\n    int b;\n\n    // c\n    int c;\n}\n",
     "class A {\n    /** a */\n    int a = 1;\n\n    // d\n    int d;\n\n    // b\n    int b;\n}\n",
     "class A {\n    /** a! */\n    int a = 1;\n\n    // d\n    int d;\n\n    // b\n    int b;\n\n    // c\n"
     "    int c;\n}\n"),
    ("a.h", "#ifndef A\n#define A\n\nint f(void);\n\n#endif\n",
     "#ifndef A\n#define A\n\nint f(void);\nint g(void);\n\n#endif\n",
     "#ifndef A\n#define A\n\nint f(int x);\nint h(int x);\n\n#endif\n",
     "#ifndef A\n#define A\n\nint f(int x);\nint g(void);\nint h(int x);\n\n#endif\n"),
    ("p.go", "package p\n\nfunc f() {}\n", 'package p\n\nimport (\n\t"io"\n)\n\nfunc f() {}\n',
     'package p\n\nimport (\n\t"os"\n)\n\nfunc f() {}\n', 'package p\n\nimport (\n\t"io"\n\t"os"\n)\n\nfunc f() {}\n'),
    ("a.rs", "fn f() {\n    a(first_word == second_word);\n}\n",
     "fn f() {\n    a(first_word == second_word.len());\n}\n",
     "fn f() {\n    b(g());\n}\n\nfn g() -> bool {\n    first_word == second_word\n}\n",
     "fn f() {\n    b(g());\n}\n\nfn g() -> bool {\n    first_word == second_word.len()\n}\n"),
)  # fmt: skip


@pytest.mark.parametrize(("path", "base", "main", "unit", "both"), WOVEN, ids=lambda value: None)
def test_weaves_what_touches(path: str, base: str, main: str, unit: str, both: str) -> None:
    assert resolved(path, base.encode(), main.encode(), unit.encode()) == both


# Both sides change something else inside one statement of a language without rows of its own.
APART = (
    ("a.css", "a { color: red; margin: 0 }\n", ("red", "blue"), ("0", "1px")),
    ("a.sv", "module m ();\n  assign x = a[b] + 1;\nendmodule\n", ("b]", "c]"), ("1;", "2;")),
    ("a.ex", "defmodule A do\n  def f(a), do: a + 1\nend\n", ("a)", "a, b)"), ("1", "2")),
    ("a.c", 'int f() {\n    p("a" "b" "c");\n}\n', ('"a"', '"A"'), ('"c"', '"C"')),
    ("a.java", "class A {\n    boolean f() { return a() && b(); }\n}\n", ("a()", "a(x)"), ("b()", "b() < 1")),
    ("a.scala", "object A:\n  def f(x: Int) = x\n", ("f(", "g("), ("= x", "= x + 1")),
    ("a.js", "const { a } = f(b);\n", ("{ a }", "{ a, c }"), ("(b)", "(b, d)")),
    ("a.js", "call(x);\n", ("x", "x.y"), (");", ", z);")),
    ("a.py", "def f(a):\n    return a + b\n", ("a)", "a, c)"), ("b\n", "b * 2\n")),
)  # fmt: skip


@pytest.mark.parametrize(("path", "base", "main", "unit"), APART, ids=lambda value: None)
def test_unites_changes_within_one_line(path: str, base: str, main: tuple[str, str], unit: tuple[str, str]) -> None:
    left, right, both = base.replace(*main), base.replace(*unit), base.replace(*main).replace(*unit)
    assert resolved(path, base.encode(), left.encode(), right.encode()) == both
