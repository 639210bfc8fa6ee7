"""What a change does to the checks it is judged by: literal tables, and what is put back of it."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.verify.cases import find_cases, find_marks, is_test, still_collected
from gitprun.verify.gate_changes import ABSENT, FileChange, GateChange, describe, find_gate_changes, put_back_text
from gitprun.verify.parts import restore_keys
from gitprun.verify.sources import find_sources, split_commands

Files = dict[str, str]


def change(old: Files, new: Files, *checks: str) -> tuple[GateChange, ...]:
    """Find what the way from one set of files to another does to the checks."""
    rows = [
        FileChange(
            path,
            *(("100644" if path in side else ABSENT) for side in (old, new)),
            *(_id(side.get(path)) for side in (old, new)),
        )
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    ]
    return find_gate_changes(rows, checks or ("true",), _reader(old), _reader(new))


def _id(text: str | None) -> str:
    return "0" * 40 if text is None else hashlib.sha1(text.encode("utf-8", "surrogateescape")).hexdigest()


def _reader(files: Files):  # type: ignore[no-untyped-def]
    return lambda path: files[path].encode("utf-8", "surrogateescape") if path in files else None


def put_back(old: Files, new: Files, found: tuple[GateChange, ...]) -> Files:
    """Return the new files with all that was found put back."""
    made = dict(new)
    for path in {one.path for one in found}:
        first, *also = (one for one in found if one.path == path)
        body = put_back_text(first, also, _reader(old)(path), _reader(new)(path))
        made.pop(path, None)
        if body is not None:
            made[path] = body.decode("utf-8", "surrogateescape")
    return made


TESTS = [
    *("tests/data.json", "a/test/b/c.txt", "spec/x_spec.rb", "src/__tests__/a.tsx", "My.Tests/Some.cs"),
    *("test_a.py", "pkg/a_test.py", "conftest.py", "a_test.go", "a.test.ts", "a.spec.mjs", "UserTest.java"),
    *("UserTests.cs", "user_spec.rb", "test_a.c", "a.bats", "UserTest.php", "UserTests.swift", "a_test.exs"),
]
NO_TESTS = ["src/app.py", "testing.py", "latest.go", "contest/a.py", "a.ts", "Attest.javax", "spec.md", "protest.sh"]


@pytest.mark.parametrize("path", TESTS)
def test_these_are_tests(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", NO_TESTS)
def test_these_are_none(path: str) -> None:
    assert not is_test(path)


@pytest.mark.parametrize(
    ("old", "new", "still"),
    [
        ("tests/test_a.py", "tests/unit/test_b.py", True),
        ("src/a_test.go", "src/b/a_test.go", True),
        ("tests/data.json", "tests/more/other.json", True),
        ("tests/test_a.py", "tests/a_test.py.off", False),
        ("tests/test_a.py", "tests/a.py", False),
        ("tests/test_a.py", "test_a.py", False),
        ("tests/test_a.py", "tests/disabled/test_a.py", False),
        ("tests/data.json", "data.json", False),
    ],
)
def test_what_a_runner_still_finds(old: str, new: str, still: bool) -> None:
    assert still_collected(old, new) is still


PY = "def test_a():\n    assert f(1) == 2\n\n\ndef test_b():\n    assert f(2) == 3\n"
JS = "it('a', () => {\n  expect(f(1)).toBe(2);\n});\n\nit('b', () => {\n  expect(f(2)).toBe(3);\n});\n"
GO = "package a\n\nfunc TestA(t *testing.T) {\n\tf(t)\n}\n\nfunc TestB(t *testing.T) {\n\tg(t)\n}\n"
RUST = (
    "pub fn f() {}\n\n#[test]\nfn a() {\n    assert_eq!(f(), 1);\n}\n\n#[test]\nfn b() {\n    assert_eq!(f(), 2);\n}\n"
)
JAVA = "class XTest {\n  @Test\n  void a() {\n    f();\n  }\n\n  @Test\n  void b() {\n    g();\n  }\n}\n"
RUBY = "describe X do\n  it 'a' do\n    expect(f).to eq 1\n  end\n\n  it 'b' do\n    expect(g).to eq 1\n  end\nend\n"
CS = "class X {\n  [Fact]\n  public void A() {\n    F();\n  }\n\n  [Fact]\n  public void B() {\n    G();\n  }\n}\n"


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("test_a.py", PY, "test_a test_b"),
        ("a.test.js", JS, "a b"),
        ("a_test.go", GO, "TestA TestB"),
        ("src/lib.rs", RUST, "a b"),
        ("XTest.java", JAVA, "a b"),
        ("x_spec.rb", RUBY, "a b"),
        ("XTests.cs", CS, "A B"),
        ("a.test.js", "it('empty', () => {})\nit('says', () => { expect(1).toBe(2) })\n", "says"),
        ("test_a.py", "def test_a(): pass\ndef test_b(x):\n    return\ndef test_c(): assert f()\n", "test_c"),
    ],
)
def test_cases_are_found(path: str, text: str, names: str) -> None:
    assert [case.name for case in find_cases(path, text) if case.live] == names.split()


@pytest.mark.parametrize(
    ("path", "line"),
    [
        *(
            ("test_a.py", line)
            for line in (
                "@pytest.mark.skip",
                "@pytest.mark.skipif(True, reason='x')",
                "@pytest.mark.xfail",
                "    pytest.skip('x')",
                "@unittest.skip('x')",
                "    self.skipTest('x')",
                "raise SkipTest",
                "pytestmark = pytest.mark.skip",
                "collect_ignore = ['tests']",
                "if False:",
                "sys.exit(0)",
                "__test__ = False",
            )
        ),
        *(
            ("a.test.ts", line)
            for line in (
                "it.skip('a', f)",
                "describe.skip('a', f)",
                "test.only('a', f)",
                "xit('a', f)",
                "xdescribe('a', f)",
                "fit('a', f)",
                "fdescribe('a', f)",
                "test('a', { skip: true }, f)",
                "this.skip()",
                "it.todo('a')",
                "process.exit(0)",
            )
        ),
        *(("a_test.go", line) for line in ("\tt.Skip(1)", "\tt.SkipNow()", "//go:build ignore", "\tos.Exit(0)")),
        *(("lib.rs", line) for line in ("#[ignore]", '#[ignore = "slow"]', "#[cfg(any())]")),
        *(("XTest.java", line) for line in ("@Disabled", "@Ignore", "@Test(enabled = false)", "assumeTrue(false);")),
        *(("XTests.cs", line) for line in ("[Ignore]", '[Fact(Skip = "x")]', "Assert.Ignore();")),
        *(("x_spec.rb", line) for line in ("skip 'x'", "pending", "it 'a', skip: true do", "xit 'a' do", "fit 'a' do")),
        *(("test_a.sh", line) for line in ("exit 0", "exit 77", "skip 'x'")),
        ("XTest.php", "$this->markTestSkipped();"),
        ("XTests.swift", "throw XCTSkip()"),
        ("test_a.c", "#if 0"),
        ("a_test.exs", "@tag :skip"),
        ("a_test.cc", "TEST(A, DISABLED_b) {"),
        ("a_test.dart", "skip: true,"),
    ],
)
def test_marks_are_found(path: str, line: str) -> None:
    assert len(find_marks(path, f"a\n{line}\nb\n")) == 1
    comment = "#" if path.endswith((".py", ".rb", ".sh", ".exs")) else "//"
    assert find_marks(path, f"a\n{comment} {line}\nb\n") == ()


SKIPPED = PY.replace("def test_b", "@pytest.mark.skip\ndef test_b")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"tests/test_a.py": PY}, {}, "tests/test_a.py deleted"),
        ({"tests/x/data.bin": "x"}, {}, "tests/x/data.bin deleted"),
        ({"src/app.py": PY}, {}, ""),
        ({"src/lib.rs": RUST}, {}, ""),
        ({"src/lib.rs": RUST}, {"src/lib.rs": "pub fn f() {}\n"}, "2 tests cut from src/lib.rs"),
        (
            {"src/lib.rs": RUST},
            {"src/lib.rs": RUST.replace("#[test]\nfn a", "#[test]\n#[ignore]\nfn a")},
            "1 test skipped in src/lib.rs",
        ),
        ({"tests/test_a.py": PY}, {"tests/test_a.py": ""}, "tests/test_a.py emptied"),
        ({"tests/test_a.py": PY}, {"tests/test_a.py": "# later\n"}, "tests/test_a.py emptied"),
        ({"tests/test_a.sh": "grep x y\n"}, {"tests/test_a.sh": "#!/bin/sh\nexit 0\n"}, "tests/test_a.sh emptied"),
        ({"tests/test_a.py": PY}, {"tests/test_a.py": PY.partition("\n\n\n")[0]}, "1 test cut from tests/test_a.py"),
        (
            {"tests/test_a.py": PY},
            {"tests/test_a.py": PY.replace("assert f(2) == 3", "pass")},
            "1 test cut from tests/test_a.py",
        ),
        (
            {"tests/test_a.py": PY},
            {"tests/test_a.py": PY.replace("def test_b", "def no_test_b")},
            "1 test cut from tests/test_a.py",
        ),
        ({"tests/test_a.py": PY}, {"tests/test_a.py": PY.replace("test_b", "test_c")}, ""),
        (
            {"tests/test_a.py": PY},
            {"tests/test_a.py": SKIPPED.replace("test_b", "test_c")},
            "1 test cut from tests/test_a.py",
        ),
        ({"tests/test_a.py": PY}, {"tests/test_a.py": PY.replace("== 3", "== 4")}, ""),
        ({"tests/test_a.py": PY}, {"tests/test_a.py": SKIPPED}, "1 test skipped in tests/test_a.py"),
        ({"tests/test_a.py": SKIPPED}, {"tests/test_a.py": PY}, ""),
        (
            {"tests/test_a.py": PY},
            {"tests/test_a.py": PY + "\n@pytest.mark.skip\ndef test_new():\n    assert g()\n"},
            "",
        ),
        ({"a.test.js": JS}, {"a.test.js": JS.replace("it('b'", "it.skip('b'")}, "1 test skipped in a.test.js"),
        ({"a.test.js": JS}, {"a.test.js": f"describe.skip('x', () => {{\n{JS}}});\n"}, "1 test skipped in a.test.js"),
        ({"a.test.js": JS}, {"a.test.js": JS, "b.test.js": "it.only('x', f)\n"}, "1 test skipped in b.test.js"),
        (
            {"XTest.java": JAVA},
            {"XTest.java": JAVA.replace("@Test\n  void b", "@Test @Disabled\n  void b")},
            "1 test skipped in XTest.java",
        ),
        ({"tests/test_a.py": PY}, {"tests/unit/test_a.py": PY}, ""),
        ({"tests/test_a.py": PY}, {"tests/a_test.py.off": PY}, "tests/test_a.py deleted"),
        (
            {"tests/test_a.py": PY},
            {"tests/test_1.py": PY.partition("\n\n\n")[0], "tests/test_2.py": PY.partition("\n\n\n")[2]},
            "",
        ),
        ({"tests/test_a.py": PY, "tests/test_b.py": ""}, {"tests/test_b.py": SKIPPED}, "tests/test_a.py deleted"),
        ({"tests/lib.sh": "a() { b; }\n"}, {"tests/more/lib.sh": "a() { c; }\n"}, ""),
        (
            {"tests/test_a.py": PY},
            {"tests/test_a.py": PY, "conftest.py": "collect_ignore = ['tests']\n"},
            "1 test skipped in conftest.py",
        ),
    ],
)
def test_what_became_of_tests(old: Files, new: Files, said: str) -> None:
    assert describe(change(old, new)) == said


MAKE = "ALL = x\nTESTS = a b\n\nall: x\n\tcc x\n\ntest: all\n\tfor t in $(TESTS); do sh $$t; done\n\nlint:\n\ttrue\n"
JSON = '{\n  "name": "x",\n  "scripts": {\n    "test": "jest",\n    "x": "y"\n  }\n}\n'
TOML = "[project]\nname = 'x'\n\n[tool.pytest.ini_options]\naddopts = '-q'\nmarkers = ['a']\n"


@pytest.mark.parametrize(
    ("check", "files", "path", "was", "now", "said"),
    [
        ("sh check.sh", {"check.sh": "a\n"}, "check.sh", "a", "exit 0", "check.sh changed"),
        ("./ci/check --all", {"ci/check": "a\n"}, "ci/check", "a", "b", "ci/check changed"),
        ("cd ci && bash -e check", {"ci/check": "a\n"}, "ci/check", "a", "b", "ci/check changed"),
        ("python3 tools/check.py", {"tools/check.py": "a\n"}, "tools/check.py", "a", "b", "tools/check.py changed"),
        ("python3 src/app.py", {"src/app.py": "a\n"}, "src/app.py", "a", "b", ""),
        ("sh check.sh", {"check.sh": "sh ci/one.sh\n", "ci/one.sh": "a"}, "ci/one.sh", "a", "b", "ci/one.sh changed"),
        (
            "sh ci/c.sh",
            {"ci/c.sh": '"$(dirname "$0")/one.sh"\n', "ci/one.sh": "a"},
            "ci/one.sh",
            "a",
            "b",
            "ci/one.sh changed",
        ),
        ("sh check.sh", {"check.sh": "make\n", "other.sh": "a"}, "other.sh", "a", "b", ""),
        ("make test", {"Makefile": MAKE}, "Makefile", "for t in", "true", "test changed in Makefile"),
        ("make test", {"Makefile": MAKE}, "Makefile", "TESTS = a b", "TESTS = a", "$TESTS changed in Makefile"),
        ("make test", {"Makefile": MAKE}, "Makefile", "cc x", "cc y", ""),
        ("make -C sub test", {"sub/Makefile": MAKE}, "sub/Makefile", "for t", "true", "test changed in sub/Makefile"),
        (
            "npm test",
            {"package.json": JSON},
            "package.json",
            '"jest"',
            '"true"',
            "scripts.test changed in package.json",
        ),
        ("npm test", {"package.json": JSON}, "package.json", '"y"', '"z"', ""),
        ("npm run x", {"package.json": JSON}, "package.json", '"y"', '"z"', "scripts.x changed in package.json"),
        (
            "yarn test",
            {"package.json": JSON},
            "package.json",
            '"jest"',
            '"true"',
            "scripts.test changed in package.json",
        ),
        (
            "npm test",
            {"package.json": JSON},
            "package.json",
            '"x": "y"',
            '"pretest": "true"',
            "scripts.pretest changed in package.json",
        ),
        (
            "pytest",
            {"pyproject.toml": TOML},
            "pyproject.toml",
            "'-q'",
            "'--ignore=tests/x'",
            "which tests run changed in pyproject.toml",
        ),
        ("pytest", {"pyproject.toml": TOML}, "pyproject.toml", "'-q'", "['-q']", ""),
        ("pytest", {"pyproject.toml": TOML}, "pyproject.toml", "['a']", "['a', 'b']", ""),
        ("pytest", {"pyproject.toml": TOML}, "pyproject.toml", "'x'", "'y'", ""),
        ("sh x.sh", {"pyproject.toml": TOML}, "pyproject.toml", "'-q'", "'-k x'", ""),
        (
            "npx jest",
            {"jest.config.js": "module.exports = {\n  testPathIgnorePatterns: [\n    'a',\n  ],\n};\n"},
            "jest.config.js",
            "'a'",
            "'a', 'b'",
            "which tests run changed in jest.config.js",
        ),
        (
            "npx jest",
            {"jest.config.js": "module.exports = {\n  verbose: true,\n};\n"},
            "jest.config.js",
            "true",
            "false",
            "",
        ),
        (
            "tox",
            {"tox.ini": "[testenv]\ncommands = pytest\ndeps = a\n"},
            "tox.ini",
            "pytest",
            "true",
            "which tests run changed in tox.ini",
        ),
        ("tox", {"tox.ini": "[testenv]\ncommands = pytest\ndeps = a\n"}, "tox.ini", "= a", "= b", ""),
        ("nox", {"noxfile.py": "a\n"}, "noxfile.py", "a", "b", "noxfile.py changed"),
        (
            "just ci",
            {"justfile": "ci: test\n  echo\n\ntest:\n  pytest\n\nx:\n  y\n"},
            "justfile",
            "pytest",
            "true",
            "test changed in justfile",
        ),
        ("just ci", {"justfile": "ci: test\n  echo\n\ntest:\n  pytest\n\nx:\n  y\n"}, "justfile", "  y", "  z", ""),
    ],
)
def test_what_the_check_leads_to(check: str, files: Files, path: str, was: str, now: str, said: str) -> None:
    assert was in files[path]
    new = {**files, path: files[path].replace(was, now, 1)}
    found = change(files, new, check)
    assert describe(found) == said
    if found:
        assert describe(change(files, put_back(files, new, found), check)) == ""


@pytest.mark.parametrize(
    ("check", "found"),
    [
        ("A=1 timeout 60 poetry run python -m tools.check", {"tools/check.py": frozenset()}),
        ("sh -c 'sh a.sh; ./b'", {"a.sh": frozenset(), "b": frozenset()}),
        ("if test -x ./b; then ./b; fi", {"b": frozenset()}),
        ("go test ./... && cargo test", {}),
        ('unbalanced " quote', {}),
    ],
)
def test_which_files_a_command_names(check: str, found: dict[str, frozenset[str]]) -> None:
    files = dict.fromkeys(("tools/check.py", "a.sh", "b"), "")
    assert find_sources((check,), files.get) == found


def test_commands_are_split_as_a_shell_would() -> None:
    assert split_commands("a 'b c' && d | e; (f)\ng") == [["a", "b c"], ["d"], ["e"], ["f"], ["g"]]


def test_a_config_that_takes_the_place_of_another() -> None:
    found = change(
        {"pyproject.toml": TOML}, {"pyproject.toml": TOML, "pytest.ini": "[pytest]\naddopts = -k x\n"}, "pytest"
    )
    assert describe(found) == "which tests run changed in pytest.ini"
    moved = TOML.replace("addopts = '-q'\n", "")
    assert (
        change({"pyproject.toml": TOML}, {"pyproject.toml": moved, "pytest.ini": "[pytest]\naddopts = -q\n"}, "pytest")
        == ()
    )


def test_only_the_lines_that_skip_are_put_back() -> None:
    new = SKIPPED.replace("== 2", "== 22") + "\n\ndef test_c():\n    assert g()\n"
    found = change({"tests/test_a.py": PY}, {"tests/test_a.py": new})
    assert put_back({"tests/test_a.py": PY}, {"tests/test_a.py": new}, found) == {
        "tests/test_a.py": PY.replace("== 2", "== 22") + "\n\ndef test_c():\n    assert g()\n"
    }


def test_a_cut_test_comes_back_with_its_import_beside_what_is_new() -> None:
    old = "from app import f\nfrom app import g\n\n\n" + PY
    new = "from app import f\n\n\ndef test_a():\n    assert f(1) == 22\n"
    found = change({"tests/test_a.py": old}, {"tests/test_a.py": new})
    assert describe(found) == "1 test cut from tests/test_a.py"
    made = put_back({"tests/test_a.py": old}, {"tests/test_a.py": new}, found)["tests/test_a.py"]
    assert "from app import g\n" in made
    assert "f(1) == 22" in made
    assert "def test_b" in made


def test_a_key_is_set_back_and_all_else_stays() -> None:
    new = JSON.replace('"jest"', '"true"').replace('"y"', '"z"')
    assert restore_keys("package.json", {"scripts.test"}, JSON, new) == JSON.replace('"y"', '"z"')
    assert restore_keys("package.json", {"scripts.test"}, JSON, "no json") == "no json"
    new = MAKE.replace("for t in", "true").replace("cc x", "cc y")
    assert restore_keys("Makefile", {"test"}, MAKE, new) == MAKE.replace("cc x", "cc y")


PATHS = [
    "tests/test_a.py",
    "tests/test_b.py",
    "tests/unit/test_a.py",
    "src/app.py",
    "check.sh",
    "a.test.js",
    "src/lib.rs",
    "package.json",
    "Makefile",
    "pyproject.toml",
    "tests/data.txt",
    "conftest.py",
    "tests/a.off",
]
LINES = [
    "def test_a():",
    "def test_b():",
    "    assert f()",
    "    pass",
    "@pytest.mark.skip",
    "exit 0",
    "it('a', () => {",
    "});",
    "it.skip('b', f)",
    "#[test]",
    "#[ignore]",
    "fn a() {",
    "}",
    "test:",
    "\tsh check.sh",
    "\ttrue",
    "[tool.pytest.ini_options]",
    "addopts = '-q'",
    "",
    "x",
    '{"scripts": {"test": "x"}}',
    "from a import b",
    "\udcff",
]
TEXTS = st.lists(st.sampled_from(LINES), max_size=12).map("\n".join)
TREES = st.dictionaries(st.sampled_from(PATHS), TEXTS, max_size=6)


@given(TREES, TREES)
def test_nothing_but_what_was_named_is_put_back(old: Files, new: Files) -> None:
    found = change(old, new, "sh check.sh", "make test", "npm test", "pytest")
    made = put_back(old, new, found)
    named = {one.path for one in found}
    assert {path for path in {*made, *new} if made.get(path) != new.get(path)} <= named
    # What is no test and no script of the checks never comes back from the dead.
    assert {path for path in named if path not in new} <= {path for path in PATHS if is_test(path)} | {
        *("check.sh", "package.json", "Makefile", "pyproject.toml")
    }
    assert all(old.get(one.path) != new.get(one.path) for one in found)


@given(TREES)
def test_what_did_not_change_changes_no_check(files: Files) -> None:
    assert change(files, files, "sh check.sh", "make test", "npm test", "pytest") == ()


@given(
    st.text(max_size=200),
    st.sampled_from([f"a.{end}" for end in ("py", "js", "go", "rs", "java", "rb", "sh", "c", "cs")]),
)
def test_any_text_is_read(text: str, path: str) -> None:
    assert all(0 <= case.first < case.end <= text.count("\n") + 1 for case in find_cases(path, text))
    assert all(0 <= mark.line <= text.count("\n") for mark in find_marks(path, text))
    find_sources((text,), {"check.sh": text, "Makefile": text, "package.json": text}.get)
