"""The reason of a red check: the first real error of its output, recorded from the real tools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.model.units import Exit
from gitprun.verify.judge import judge
from gitprun.verify.output import first_complaint, plain_lines
from gitprun.verify.recipes import Check

PYTEST = """F                                                                        [100%]
=================================== FAILURES ===================================
____________________________________ test_a ____________________________________

    def test_a():
>       assert 1 == 2
E       assert 1 == 2

test_a.py:2: AssertionError
=========================== short test summary info ============================
FAILED test_a.py::test_a - assert 1 == 2
1 failed in 0.01s
"""
UNITTEST = """F
======================================================================
FAIL: test_a (test_a.T.test_a)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/w/test_a.py", line 4, in test_a
    self.assertEqual(1, 2)
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 1 test in 0.000s

FAILED (failures=1)
"""
JEST = """FAIL ./a.test.js
  sums
    ✕ adds (2 ms)

  ● sums › adds

    expect(received).toBe(expected) // Object.is equality

    Expected: 2
    Received: 1

Test Suites: 1 failed, 1 total
Tests:       1 failed, 1 total
Snapshots:   0 total
Time:        0.27 s
Ran all test suites.
npm notice
npm notice New major version of npm available! 10.8.2 -> 11.0.0
npm notice
"""
VITEST = """\x1b[31m⎯⎯⎯⎯⎯⎯⎯\x1b[39m\x1b[1m\x1b[41m Failed Tests 1 \x1b[49m\x1b[22m\x1b[31m⎯⎯⎯⎯⎯⎯⎯\x1b[39m

\x1b[41m\x1b[1m FAIL \x1b[22m\x1b[49m a.test.mjs\x1b[2m > \x1b[22mx
\x1b[31m\x1b[1mAssertionError\x1b[22m: expected 1 to be 2 // Object.is equality\x1b[39m

      Tests  1 failed (1)
   Duration  183ms
"""
MOCHA = """

  1) x

  0 passing (3ms)
  1 failing

  1) x:

      AssertionError [ERR_ASSERTION]: 1 == 2
      + expected - actual

      at Context.<anonymous> (test/a.js:1:31)


"""
JASMINE = """Failures:
1) x
  Message:
    Expected 1 to be 2.
  Stack:
        at <Jasmine>

1 spec, 1 failure
Finished in 0.004 seconds
Randomized with seed 49151 (jasmine --random=true --seed=49151)
"""
DENO = """x ... \x1b[31mFAILED\x1b[0m (676µs)

x => ./a_test.ts:1:6
\x1b[31merror\x1b[0m: Error: bad thing
    at file:///w/a_test.ts:1:26

FAILED | 0 passed | 1 failed (6ms)

error: Test failed
"""
CARGO = """
running 1 test
F
failures:

---- a stdout ----

thread 'a' (4711) panicked at src/lib.rs:2:8:
assertion `left == right` failed
  left: 1
 right: 2

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s

error: test failed, to rerun pass `--lib`
"""
RUSTC = """error: this file contains an unclosed delimiter
 --> src/lib.rs:1:10

error: could not compile `x` (lib) due to 1 previous error
"""
GO = """?   \tx/a\t[no test files]
--- FAIL: TestX (0.00s)
    b_test.go:3: bad 1
FAIL
FAIL\tx/b\t0.002s
FAIL
"""
GO_BUILD = "# x/b [x/b.test]\nb/b_test.go:3:26: undefined: x\nFAIL\tx/b [build failed]\nFAIL\n"
RSPEC = """F

Failures:

  1) a b
     Failure/Error: expect(1).to eq 2

       expected: 2
            got: 1

1 example, 1 failure

rspec ./spec/a_spec.rb:1 # a b
"""
BATS = '1..1\nnot ok 1 x\n# (in test file a.bats, line 1)\n#   `@test "x" { false; }\' failed\n'
PROVE = "\n#   Failed test 'x'\n#   at t/a.t line 1.\nt/a.t .. \nDubious, test returned 1\nResult: FAIL\n"
NPM = """
> test
> node check.js

the total is wrong
npm error Lifecycle script `test` failed with error:
npm error code 1
npm error path /w
npm error command failed
npm error A complete log of this run can be found in: /root/.npm/_logs/2026-01-01T00_00_00_000Z-debug-0.log
npm notice
"""
MAKE = "gcc -c a.c\na.c:3:5: error: expected ';' before '}' token\nmake: *** [Makefile:2: all] Error 1\n"
GCC = "a.c:1:1: warning: unused\na.c:9:2: note: here\nb.c:4:1: fatal error: x.h: No such file or directory\n"
TSC = "src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n"
ESLINT = "\n/w/a.js\n  1:1  warning  Unexpected console\n  1:7  error  'x' is assigned a value but never used\n\n✖ 2 problems\n"
CTEST = "Unable to find executable: /nosuch\n1/1 Test #1: a ....***Not Run   0.00 sec\nErrors while running CTest\n"
JAVA = "[INFO] Running x.YTest\n[ERROR] x.YTest.z:12 expected: <1> but was: <2>\n[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0\n"
TRACE = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'x'\n"
PLAYWRIGHT = (
    "  1) tests/a.spec.js:1:49 › x ──────\n\n    Error: expect(received).toBe(expected) // Object.is equality\n"
)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (PYTEST, "E assert 1 == 2"),
        (UNITTEST, "FAIL: test_a (test_a.T.test_a): AssertionError: 1 != 2"),
        (JEST, "sums › adds: expect(received).toBe(expected) // Object.is equality"),
        (VITEST, "FAIL a.test.mjs > x: AssertionError: expected 1 to be 2 // Object.is equality"),
        (MOCHA, "1) x: AssertionError [ERR_ASSERTION]: 1 == 2"),
        (JASMINE, "1) x: Expected 1 to be 2."),
        (DENO, "error: Error: bad thing"),
        (CARGO, "a: thread 'a' (4711) panicked at src/lib.rs:2:8: assertion `left == right` failed"),
        (RUSTC, "error: this file contains an unclosed delimiter"),
        (GO, "FAIL: TestX (0.00s): b_test.go:3: bad 1"),
        (GO_BUILD, "b/b_test.go:3:26: undefined: x"),
        (RSPEC, "1) a b: Failure/Error: expect(1).to eq 2"),
        (BATS, "not ok 1 x: # (in test file a.bats, line 1)"),
        (PROVE, "# Failed test 'x'"),
        (NPM, "the total is wrong"),
        (MAKE, "a.c:3:5: error: expected ';' before '}' token"),
        (GCC, "b.c:4:1: fatal error: x.h: No such file or directory"),
        (TSC, "src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'."),
        (ESLINT, "1:7 error 'x' is assigned a value but never used"),
        (CTEST, "Unable to find executable: /nosuch"),
        (JAVA, "x.YTest.z:12 expected: <1> but was: <2>"),
        (TRACE, "KeyError: 'x'"),
        (
            PLAYWRIGHT,
            "1) tests/a.spec.js:1:49 › x ──────: Error: expect(received).toBe(expected) // Object.is equality",
        ),
        (
            'npm error Missing script: "test"\nnpm error\nnpm error A complete log of this run\n',
            'npm error Missing script: "test"',
        ),
        ("make: *** [Makefile:2: all] Error 1\n", "make: *** [Makefile:2: all] Error 1"),
        ("0 errors\nthe gate is shut\nDone in 0.31s.\n\n", "the gate is shut"),
        (
            "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
            "a.py:1:8: F401 [*] `os` imported but unused",
        ),
        ("would reformat a.py\n\n1 file would be reformatted.\n", "would reformat a.py"),
        ("fatal: not a git repository\n", "fatal: not a git repository"),
        (
            'E     File "/w/test_d.py", line 1\nE       def test_a(:\nE                  ^\nE   SyntaxError: invalid syntax\n',
            "E SyntaxError: invalid syntax",
        ),
        (
            "FAILED test_a.py::test_a - AssertionError: the sum\n!!!!!!! stopping after 1 failures !!!!!!!\n1 failed in 0.1s\n",
            "FAILED test_a.py::test_a - AssertionError: the sum",
        ),
        (
            "Check a.ts\nTS2322 [ERROR]: Type 'string' is not assignable to type 'number'.\n\nerror: Type checking failed.\n",
            "TS2322 [ERROR]: Type 'string' is not assignable to type 'number'.",
        ),
        ("F401 [*] `os` imported but unused\n --> a.py:1:8\n\nFound 1 error.\n", "F401 [*] `os` imported but unused"),
        (
            "make[1]: *** [Makefile:4: deep] Error 3\nmake: *** [Makefile:2: all] Error 2\n",
            "make[1]: *** [Makefile:4: deep] Error 3",
        ),
        ("", ""),
        ("npm notice\nnpm notice New version\n", ""),
    ],
)
def test_the_first_real_error_is_the_reason(output: str, reason: str) -> None:
    assert first_complaint(plain_lines(output)) == reason


PIECES = (
    "E   assert 1\n",
    "error: x\n",
    "● a › b\n",
    "1) x:\n",
    "npm notice\n",
    "\x1b[31m",
    "\x07",
    "\u202e",
    "\r",
    "x" * 500,
)
CHECK = Check(command="make test", label="make test")


@given(
    st.text() | st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=20).map("".join), st.integers(1, 255)
)
def test_a_reason_is_one_short_line_without_controls(output: str, code: int) -> None:
    ended = Exit(code=code, signal=None, reason="exited", seconds=1.0)
    reason = judge(CHECK, ended, output)[1]
    assert reason.isprintable()
    assert 0 < len(reason) <= 300
