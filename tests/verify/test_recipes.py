"""Which checks a workspace has, and what their ending means."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitprun.model.units import Exit
from gitprun.verify.judge import judge
from gitprun.verify.recipes import MARKERS, Check, declared, detect


def npx(program: str, arguments: str) -> Check:
    return Check(
        command=f"npx --no-install {program} {arguments}",
        label=program,
        needs=("npx",),
        needs_files=(f"node_modules/.bin/{program}",),
    )


TSC = npx("tsc", "--noEmit")
VITEST = npx("vitest", "run")
JEST = npx("jest", "--silent")
MYPY = Check(command="python3 -m mypy", label="mypy", needs=("python3",))
MYPY_DOT = Check(command="python3 -m mypy .", label="mypy", needs=("python3",))
PYTEST = Check(command="python3 -m pytest -q", label="pytest", needs=("python3",))
CARGO = (
    Check(command="cargo check --quiet", label="cargo check", needs=("cargo",)),
    Check(command="cargo test --quiet", label="cargo test", needs=("cargo",)),
)
GO = (
    Check(command="go vet ./...", label="go vet", needs=("go",)),
    Check(command="go test ./...", label="go test", needs=("go",)),
)
SOLUTION = '{\n  // solution\n  "files": [],\n  "references": [{"path": "./tsconfig.app.json"}]\n}'


@pytest.mark.parametrize(
    ("files", "checks"),
    [
        ({}, ()),
        ({"README.md": "pytest"}, ()),
        ({"package.json": "{}"}, ()),
        ({"tsconfig.json": ""}, (TSC,)),
        ({"tsconfig.json": SOLUTION}, (npx("tsc", "--build --noEmit"),)),
        ({"vitest.config.mts": ""}, (VITEST,)),
        ({"jest.config.cjs": ""}, (JEST,)),
        ({"package.json": '{"devDependencies": {"vitest": "^3"}}'}, (VITEST,)),
        ({"package.json": '\ufeff{"dependencies": {"jest": "^29"}}'}, (JEST,)),
        ({"package.json": '{"devDependencies": {"@vitest/ui": "^3", "jest-dom": "1"}}'}, ()),
        ({"package.json": '{"jest": {"rootDir": "src"}}'}, (JEST,)),
        ({"package.json": '{"scripts": {"test": "CI=1 vitest run --coverage"}}'}, (VITEST,)),
        ({"package.json": '{"scripts": {"test": "vitest run && jest"}}'}, (VITEST, JEST)),
        ({"package.json": '{"scripts": {"test": "vitest"}, "devDependencies": {"jest": "1"}}'}, (VITEST,)),
        ({"package.json": '{"scripts": {"test": "vitest"}}', "jest.config.js": ""}, (VITEST, JEST)),
        ({"package.json": '{"scripts": {"test": "node --test"}, "devDependencies": {"jest": "1"}}'}, (JEST,)),
        ({"package.json": '<<<<<<< main\n{"devDependencies": {"vitest": "1"}}'}, (VITEST,)),
        ({"package.json": '{"scripts": ["vitest"], "devDependencies": "jest"}'}, ()),
        ({"pytest.ini": ""}, (PYTEST,)),
        ({"conftest.py": ""}, (PYTEST,)),
        ({"setup.cfg": "[metadata]\nname = x\n[tool:pytest]\naddopts = -q\n"}, (PYTEST,)),
        ({"setup.cfg": "[metadata]\ndescription = not [tool:pytest]\n"}, ()),
        ({"tox.ini": "[tox]\n[pytest]\n"}, (PYTEST,)),
        ({"requirements-dev.txt": "ruff\npytest>=8\n"}, (PYTEST,)),
        ({"requirements.txt": "pytestify\n"}, ()),
        ({"pyproject.toml": '[project]\nname = "pytest-like"\n'}, ()),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, (PYTEST,)),
        ({"pyproject.toml": "[tool.pytest]\n"}, (PYTEST,)),
        ({"pyproject.toml": '[project.optional-dependencies]\ntest = ["pytest-cov"]\n'}, (PYTEST,)),
        ({"pyproject.toml": '[dependency-groups]\ndev = ["Pytest ~= 8.0"]\n'}, (PYTEST,)),
        ({"pyproject.toml": '[tool.poetry.group.dev.dependencies]\npytest = "^8"\n'}, (PYTEST,)),
        ({"pyproject.toml": '[tool.uv]\ndev-dependencies = ["pytest"]\n'}, (PYTEST,)),
        ({"pyproject.toml": "[tool.pytest\n"}, (PYTEST,)),
        ({"mypy.ini": ""}, (MYPY_DOT,)),
        ({".mypy.ini": "[mypy]\nfiles =\n  a.py\n"}, (MYPY,)),
        ({"pyproject.toml": "[tool.mypy]\nstrict = true\n"}, (MYPY_DOT,)),
        ({"pyproject.toml": '[tool.mypy]\npackages = ["x"]\n'}, (MYPY,)),
        ({"pyproject.toml": "[tool.mypy]\nstrict = \n"}, (MYPY_DOT,)),
        ({"setup.cfg": "[mypy]\nmodules: x\n"}, (MYPY,)),
        ({"setup.cfg": "[mypy-foo.*]\nfiles = x\n"}, ()),
        ({"mypy.ini": "[mypy]\n", "setup.cfg": "[mypy]\nfiles = x\n"}, (MYPY_DOT,)),
        ({"Cargo.toml": ""}, CARGO),
        ({"go.mod": ""}, GO),
        (
            {
                "go.mod": "",
                "Cargo.toml": "",
                "pytest.ini": "",
                "mypy.ini": "",
                "tsconfig.json": "",
                "jest.config.ts": "",
            },
            (TSC, JEST, MYPY_DOT, PYTEST, *CARGO, *GO),
        ),
    ],
)
def test_detect(files: dict[str, str], checks: tuple[Check, ...]) -> None:
    assert detect(files) == checks


def test_declared_keeps_order_and_drops_blanks() -> None:
    assert declared(["make lint", " ", "", " a | b\n"]) == (
        Check(command="make lint", label="make lint"),
        Check(command="a | b", label="a | b"),
    )


def test_deep_documents_do_not_exhaust_the_stack() -> None:
    files = {"pyproject.toml": "dependencies." * 2000 + "a = 'pytest'", "package.json": "[" * 100_000}
    assert detect(files) == (PYTEST,)


PIECES = (
    *("[tool.pytest]", "[tool]", "[mypy]", "[tool:pytest]", "mypy = 1", "dependencies = ", "'pytest'", "files"),
    *('"jest"', '"scripts": ', '"test": ', "[", "]", "{", "}", "=", ",", "a", "\n", "\ufeff", "\x00"),
)
FRAGMENTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["scripts", "test", "jest", "dependencies", "devDependencies"]), inner)
    ),
    max_leaves=8,
).map(json.dumps)


# The first text drawn on a machine builds a table of characters, which takes a second.
SLOW_START = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW_START
@given(st.dictionaries(st.sampled_from(MARKERS), st.text() | FRAGMENTS | JSON))
def test_detect_never_raises(files: dict[str, str]) -> None:
    checks = detect(files)
    assert len({check.command for check in checks}) == len(checks)


MAKE = Check(command="make test", label="make test")


def ended(code: int | None = 0, **facts: object) -> Exit:
    return Exit(**{"code": code, "signal": None, "reason": "exited", "seconds": 1.0, **facts})  # type: ignore[arg-type]


NONE = ("could-not-run", "no tests ran")
PASS = ("pass", "")
GO_NONE = "?   \tx/a\t[no test files]\n?   \tx/b\t[no test files]\n"
CARGO_NONE = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; finished in 0.00s\n"
CARGO_ONE = "\nrunning 1 test\n.\ntest result: ok. 1 passed; 0 failed; 0 ignored; finished in 0.00s\n"


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ("", PASS),
        ("0 errors\n", PASS),
        ("collected 0 items\n", NONE),
        ("\x1b[33mcollected 0 items\x1b[0m\r\n", NONE),
        ("===== no tests ran in 0.01s =====\n", NONE),
        ("no tests ran in 0.01s\n===== 3 passed in 0.1s =====\n", PASS),
        ("collected 3 items / 3 deselected / 0 selected\n\n=== 3 deselected in 0.02s ===\n", NONE),
        ("collected 3 items / 2 deselected / 1 selected\n\n=== 1 passed, 2 deselected in 0.02s ===\n", PASS),
        (CARGO_NONE, NONE),
        (CARGO_NONE + CARGO_NONE, NONE),
        (CARGO_ONE + CARGO_NONE, PASS),
        ("No tests found, exiting with code 0\n", NONE),
        ("\n\x1b[2mNo test files found, exiting with code 0\n\x1b[22m\n", NONE),
        (GO_NONE, NONE),
        (GO_NONE + "ok  \tx/c\t0.003s\n", PASS),
        (GO_NONE + "ok  \tx/c\t(cached)\n", PASS),
        ("ok  \tx/c\t0.003s [no tests to run]\n", NONE),
        ('go: warning: "./..." matched no packages\n', NONE),
        ("Ran 0 tests in 0.000s\n\nOK\n", NONE),
        ("Ran 3 tests in 0.000s\n\nOK\n", PASS),
        ("\n  0 passing (1ms)\n", NONE),
        ("ℹ tests 0\nℹ pass 0\n", NONE),
        ("running 0 tests\nok 1 - the empty suite\n", PASS),
        (
            "./v1.sh: 2: nosuchtool: not found\n",
            ("could-not-run", "command not found: nosuchtool"),
        ),
        ("bash: tsc: command not found\n", ("could-not-run", "command not found: tsc")),
        ("zsh:1: command not found: tsc\n", ("could-not-run", "command not found: tsc")),
        (
            "/usr/bin/python3: No module named mypy\n",
            ("could-not-run", "command not found: mypy (a Python module)"),
        ),
        ("/bin/sh: 1: pkg-config: not found\ngcc -o a a.c\n", PASS),
        ("GET /x: not found\n", PASS),
    ],
)
def test_exit_zero_is_a_pass_unless_nothing_ran(output: str, answer: tuple[str, str]) -> None:
    assert judge(MAKE, ended(), output) == answer


CONFTEST = "ImportError while loading conftest '/w/conftest.py'.\nE   SyntaxError: invalid syntax\n"


@pytest.mark.parametrize(
    ("check", "code", "output", "answer"),
    [
        (MAKE, 1, "0 errors\n", ("fail", "exit 1: 0 errors")),
        (MAKE, 1, "", ("fail", "exit 1")),
        (MAKE, 1, "\x1b]0;title\x07a\tb\x08\u202e \n\n", ("fail", "exit 1: a b")),
        (MAKE, 2, "x" * 400, ("fail", "exit 2: " + "x" * 291 + "…")),
        (MAKE, 129, "usage", ("fail", "exit 129: usage")),
        (MAKE, 137, "", ("fail", "exit 137 (perhaps SIGKILL)")),
        (MAKE, None, "", ("could-not-run", "ended without an exit code")),
        (
            MAKE,
            127,
            "bash: line 1: nosuchtool: command not found\n",
            ("could-not-run", "command not found: nosuchtool"),
        ),
        (MAKE, 126, "", ("could-not-run", "command not executable: make")),
        (
            MAKE,
            2,
            "/bin/sh: 1: pytest: not found\nmake: *** [Makefile:2: test] Error 127\n",
            ("could-not-run", "command not found: pytest"),
        ),
        (MAKE, 5, "no tests ran in 0.01s\n", NONE),
        (MAKE, 5, "oops\n", ("fail", "exit 5: oops")),
        (MAKE, 4, "oops\n", ("fail", "exit 4: oops")),
        (PYTEST, 1, "1 failed in 0.1s\n", ("fail", "exit 1: 1 failed in 0.1s")),
        (PYTEST, 2, "collected 0 items / 1 error\n1 error in 0.8s\n", ("fail", "exit 2: 1 error in 0.8s")),
        (
            PYTEST,
            3,
            "INTERNALERROR> Traceback:\nINTERNALERROR> ValueError: x\n\nno tests ran in 0.01s\n",
            ("could-not-run", "pytest stopped on an error of its own (INTERNALERROR> ValueError: x)"),
        ),
        (
            PYTEST,
            4,
            "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --x\n  rootdir: /w\n",
            ("could-not-run", "pytest was called in a wrong way (pytest: error: unrecognized arguments: --x)"),
        ),
        (PYTEST, 4, CONFTEST, ("fail", "exit 4: E SyntaxError: invalid syntax")),
        (PYTEST, 5, "", NONE),
        (
            PYTEST,
            1,
            "/usr/bin/python3: No module named pytest\n",
            ("could-not-run", "command not found: pytest (a Python module)"),
        ),
        (
            PYTEST,
            1,
            "E   ModuleNotFoundError: No module named 'x'\n",
            ("fail", "exit 1: E ModuleNotFoundError: No module named 'x'"),
        ),
        (
            MYPY,
            1,
            "/bin/python3.11: No module named mypy\n",
            ("could-not-run", "command not found: mypy (a Python module)"),
        ),
        (MYPY, 1, "Found 1 error in 1 file\n", ("fail", "exit 1: Found 1 error in 1 file")),
        (
            MYPY_DOT,
            2,
            "There are no .py[i] files in directory '.'\n",
            ("could-not-run", "There are no .py[i] files in directory '.'"),
        ),
        (JEST, 1, "No tests found, exiting with code 1\nRun with `--passWithNoTests`\n", NONE),
        (VITEST, 1, "\x1b[31mNo test files found, exiting with code 1\n\x1b[39m\n", NONE),
        (VITEST, 1, "Tests  1 failed | 2 passed (3)\n", ("fail", "exit 1: Tests 1 failed | 2 passed (3)")),
        (
            TSC,
            1,
            "error TS5094: Compiler option '--noEmit' may not be used with '--build'.\n",
            ("could-not-run", "error TS5094: Compiler option '--noEmit' may not be used with '--build'."),
        ),
        (TSC, 1, "a.ts(1,7): error TS2322: no\n", ("fail", "exit 1: a.ts(1,7): error TS2322: no")),
        (
            CARGO[1],
            1,
            "error: rustup could not choose a version of cargo to run\n\nStack backtrace:\n   0: anyhow\n",
            ("could-not-run", "command not found: cargo (no toolchain is chosen)"),
        ),
        (CARGO[1], 101, CARGO_NONE + "error: test failed\n", ("fail", "exit 101: error: test failed")),
    ],
)
def test_a_failing_exit_code(check: Check, code: int | None, output: str, answer: tuple[str, str]) -> None:
    assert judge(check, ended(code), output) == answer


@pytest.mark.parametrize(
    ("end", "answer"),
    [
        (ended(None, reason="timeout", seconds=3600.04, signal=9), ("could-not-run", "stopped after 3600 s")),
        (ended(0, reason="timeout", seconds=0.31), ("could-not-run", "stopped after 0.3 s")),
        (ended(None, reason="stopped", signal=15), ("could-not-run", "stopped before its end")),
        (ended(None, reason="stopped", detail="killed"), ("could-not-run", "stopped before its end (killed)")),
        (ended(None, reason="not-started", detail="no"), ("could-not-run", "could not be started (no)")),
        (ended(None, signal=11), ("fail", "killed by SIGSEGV")),
        (ended(None, signal=99), ("fail", "killed by signal 99")),
    ],
)
def test_an_end_without_an_answer(end: Exit, answer: tuple[str, str]) -> None:
    assert judge(PYTEST, end, "3 passed in 0.1s\n") == answer


@SLOW_START
@given(st.integers(0, 255), st.text() | FRAGMENTS, st.sampled_from([MAKE, PYTEST, JEST, TSC]))
def test_only_exit_zero_can_pass(code: int, output: str, check: Check) -> None:
    state, reason = judge(check, ended(code), output)
    assert (state == "pass") <= (code == 0)
    assert (reason == "") == (state == "pass")
    assert reason == "" or reason.isprintable()


@pytest.mark.parametrize("line", ["python", "a: 1: ", "sh: ", "\x1b]", "make: *** ", "ok\t", "/python", "111 "])
@pytest.mark.parametrize("code", [0, 2])
def test_a_hostile_tail_is_judged_at_once(line: str, code: int) -> None:
    assert judge(MAKE, ended(code), line * (65536 // len(line)))[0] == {0: "pass", 2: "fail"}[code]
