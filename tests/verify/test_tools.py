"""How compilers and linters are asked, and what is read off the output each of them really prints."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from gitprun.verify.tools import TOOLS, Invocation, ToolMessage, TreeLayout, find_package

BY_NAME = {tool.name: tool for tool in TOOLS}

JAVAC = """\
src/p/A.java:2: error: package ext does not exist
import ext.Gone;
          ^
src/p/A.java:3: warning: [removal] x in y has been deprecated
  symbol: of no error
src/q/B.java:5: error: cannot find symbol
  int y() { return A.foo(); }
                    ^
  symbol:   method foo()
  location: class A
src/q/B.java:6: error: incompatible types: int cannot be converted to String
  int z() { String s = 5; return; }
                       ^
src/q/B.java:9: error: no suitable method found for go(int)
    go(1);
    ^
    method B.go(String) is not applicable
      (argument mismatch; int cannot be converted to String)
error: cannot access module-info
  cannot resolve modules
Note: Some input files use unchecked or unsafe operations.
4 errors
"""
TSC = """\
src/a.ts(3,1): error TS2304: Cannot find name 'foo'.
src/a.ts(4,39): error TS2322: Type 'string' is not assignable to type 'number'.
  The expected type comes from property 'x' which is declared here
"""
GO = """\
# x.y/z
vet: ./m.go:2:15: undeclared name: undefinedf
# x.y/z/sub
sub/s.go:3:12: fmt.Printf format %d has arg "s" of wrong type string
"""
RUFF = """\
py/a.py:2:8: F811 [*] Redefinition of unused `os` from line 1: `os` redefined here
py/a.py:5:12: F821 Undefined name `undefined_thing`
py/b.py:1:7: invalid-syntax: Expected a parameter or the end of the parameter list
warning: Invalid `# noqa` directive on py/a.py:3: expected a comma-separated list of codes
"""
PYFLAKES = """\
./py/a.py:2:1: redefinition of unused 'os' from line 1
./py/a.py:2:1: 'os' imported but unused
./py/a.py:5:12: undefined name 'undefined_thing'
./py/b.py:1:7: invalid syntax
def f(:
      ^
"""
CARGO = """\
src/main.rs:1:26: error[E0308]: mismatched types: expected `i32`, found `&str`
src/main.rs:3:1: warning: unused variable: `x`
src/main.rs:5:1: error: expected one of `!` or `::`, found `{`
error: could not compile `p` (bin "p") due to 2 previous errors
"""


def read(name: str, output: str) -> list[ToolMessage]:
    return list(BY_NAME[name].read(output.splitlines()))


def test_what_each_says() -> None:
    assert read("javac", JAVAC) == [
        ToolMessage("src/p/A.java", "package ext does not exist"),
        ToolMessage("src/q/B.java", "cannot find symbol: method foo()"),
        ToolMessage("src/q/B.java", "incompatible types: int cannot be converted to String"),
        ToolMessage("src/q/B.java", "no suitable method found for go(int)"),
    ]
    assert read("tsc", TSC) == [
        ToolMessage("src/a.ts", "TS2304: Cannot find name 'foo'."),
        ToolMessage("src/a.ts", "TS2322: Type 'string' is not assignable to type 'number'."),
    ]
    assert read("go vet", GO) == [
        ToolMessage("m.go", "undeclared name: undefinedf"),
        ToolMessage("sub/s.go", 'fmt.Printf format %d has arg "s" of wrong type string'),
    ]
    assert read("ruff", RUFF) == [
        ToolMessage("py/a.py", "F811 [*] Redefinition of unused `os` from line 1: `os` redefined here"),
        ToolMessage("py/a.py", "F821 Undefined name `undefined_thing`"),
        ToolMessage("py/b.py", "invalid-syntax: Expected a parameter or the end of the parameter list"),
    ]
    assert read("cargo check", CARGO) == [
        ToolMessage("src/main.rs", "[E0308]: mismatched types: expected `i32`, found `&str`"),
        ToolMessage("src/main.rs", ": expected one of `!` or `::`, found `{`"),
    ]


def test_of_pyflakes_only_what_makes_a_program_wrong() -> None:
    faults = BY_NAME["pyflakes"].faults
    assert faults is not None
    assert [one.text for one in read("pyflakes", PYFLAKES) if faults.match(one.text)] == [
        "redefinition of unused 'os' from line 1",
        "undefined name 'undefined_thing'",
        "invalid syntax",
    ]


def test_a_message_is_the_same_on_another_line_and_in_another_file() -> None:
    one, other = (
        ToolMessage("a.py", "redefinition of unused 'os' from line 1"),
        ToolMessage("b.py", "redefinition of unused"),
    )
    assert one.key == ToolMessage("z/a.py", "redefinition of unused 'os' from line 71").key
    assert one.key != other.key


def test_files_are_never_taken_for_options() -> None:
    layout = TreeLayout(paths={"@x.java", "-d.py", "s/p/A.java"}, packages={"s/p/A.java": "p", "@x.java": ""})
    [java] = BY_NAME["javac"].ask(["@x.java", "module-info.java", "s/p/A.java"], layout)
    assert java.text.endswith("-sourcepath ./s:./ ./@x.java ./s/p/A.java")
    [python] = BY_NAME["pyflakes"].ask(["-d.py", "a b.py"], layout)
    assert python.text == "pyflakes ./-d.py './a b.py'"
    assert BY_NAME["javac"].ask(["module-info.java"], layout) == ()


def test_projects_are_asked_one_by_one() -> None:
    files = {"tsconfig.json", "web/tsconfig.json", "web/src/a.ts", "b.ts", "m/go.mod", "m/x/a.go", "m/b.go", "c.go"}
    layout = TreeLayout(paths=files, packages={})
    asked = BY_NAME["tsc"].ask(["b.ts", "web/src/a.ts"], layout)
    assert [one.text for one in asked] == [
        "tsc --noEmit --pretty false -p ./",
        "tsc --noEmit --pretty false -p ./web",
    ]
    go = "env GOPROXY=off GOTOOLCHAIN=local go vet ./x ./"
    # What belongs to no module cannot be looked at.
    assert BY_NAME["go vet"].ask(["c.go", "m/b.go", "m/x/a.go"], layout) == (
        Invocation("m", "env GOPROXY=off GOTOOLCHAIN=local go vet ./ ./x"),
    )
    assert Invocation("m n", go).text == f"cd './m n' && {go}"


@pytest.mark.parametrize(
    ("text", "package"),
    [("package a.b;\nclass A {}\n", "a.b"), ("/* package of x */\n  package\ta ;", "a"), ("class A {}\n", "")],
)
def test_the_package_of_a_java_file(text: str, package: str) -> None:
    assert find_package(text) == package


SOURCES = {
    "javac": ("A.java", "class A { int x() { return y; } }\n", "cannot find symbol: variable y"),
    "tsc": ("a.ts", "y();\n", "TS2304: Cannot find name 'y'."),
    "go vet": ("a.go", "package a\n\nfunc x() int { return y }\n", "y"),
    "ruff": ("a.py", "x = y\n", "F821 Undefined name `y`"),
    "pyflakes": ("a.py", "x = y\n", "undefined name 'y'"),
    "cargo check": ("src/lib.rs", "pub fn x() -> i32 { y }\n", "[E0425]: cannot find value `y` in this scope"),
}
PROJECTS = {
    "tsconfig.json": "{}\n",
    "go.mod": "module a\n",
    "Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_the_real_one_is_asked_and_understood(tmp_path: Path, name: str) -> None:
    tool, (path, text, said) = BY_NAME[name], SOURCES[name]
    if shutil.which(tool.program) is None:
        pytest.skip(f"no {tool.program} on PATH")
    for file, content in {**PROJECTS, path: text}.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(content)
    layout = TreeLayout(paths={path, *PROJECTS}, packages={path: ""} if name == "javac" else {})
    [asked] = tool.ask([path], layout)
    # rustup's stand-in for cargo looks for the real one below the home folder, and tests have one of their own.
    home = Path(shutil.which(tool.program) or "").parents[2]
    env = os.environ | ({"HOME": str(home)} if (home / ".rustup").is_dir() else {})
    done = subprocess.run(asked.text, shell=True, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    found = list(tool.read((done.stdout + done.stderr).splitlines()))
    assert done.returncode in tool.codes, shlex.join(["sh", "-c", asked.text])
    assert [one.path for one in found][:1] == [path]
    assert said in found[0].text
