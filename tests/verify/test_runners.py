"""Whether anything was tested, in the words of every runner: recorded from the real ones where they could be had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.model.units import Exit
from gitprun.verify.judge import judge
from gitprun.verify.output import plain_lines
from gitprun.verify.recipes import Check
from gitprun.verify.runners import was_tested

MAKE = Check(command="make test", label="make test")
NONE = ("could-not-run", "no tests ran")


def ended(code: int) -> Exit:
    return Exit(code=code, signal=None, reason="exited", seconds=1.0)


# Each ends with exit code 0, and has tested nothing.
NOTHING = {
    "pytest, all skipped": "s                                       [100%]\n1 skipped in 0.01s\n",
    "pytest -v, all skipped": "collected 1 item\n\ntest_a.py s              [100%]\n\n===== 1 skipped in 0.01s =====\n",
    "pytest -qq, all skipped": "ss                                      [100%]\n",
    "pytest, all deselected": "\n1 deselected in 0.00s\n",
    "pytest --co": "test_a.py::test_a\n\n1 test collected in 0.00s\n",
    "pytest, two packages": "no tests ran in 0.00s\n2 skipped, 1 warning in 0.10s\n",
    "unittest": "\n-----------------\nRan 0 tests in 0.000s\n\nOK\n",
    "unittest, all skipped": "s\n----------------\nRan 1 test in 0.000s\n\nOK (skipped=1)\n",
    "unittest 3.12": "Ran 1 test in 0.000s\n\nNO TESTS RAN (skipped=1)\n",
    "django": "Found 0 test(s).\nSystem check identified no issues (0 silenced).\n\nRan 0 tests in 0.000s\n\nOK\n",
    "jest --passWithNoTests": "No tests found, exiting with code 0\n",
    "jest, all skipped": (
        "Test Suites: 1 skipped, 0 of 1 total\nTests:       1 skipped, 1 total\nSnapshots:   0 total\n"
        "Time:        0.267 s\nRan all test suites.\n"
    ),
    "jest, only todo": "Test Suites: 1 passed, 1 total\nTests:       1 todo, 1 total\nSnapshots:   0 total\n",
    "vitest": "\n\x1b[1m\x1b[46m RUN \x1b[49m v4.1.12 /w\n\nNo test files found, exiting with code 0\n",
    "vitest, all skipped": (
        " \x1b[2m\x1b[90m↓\x1b[39m\x1b[22m a.test.mjs (1 test | 1 skipped)\n\n"
        "\x1b[2m Test Files \x1b[22m \x1b[33m1 skipped\x1b[39m\x1b[90m (1)\x1b[39m\n"
        "\x1b[2m      Tests \x1b[22m \x1b[33m1 skipped\x1b[39m\x1b[90m (1)\x1b[39m\n   Start at  18:33:27\n"
    ),
    "mocha, all pending": "\n\n  - y\n  - x\n\n  0 passing (2ms)\n  2 pending\n\n",
    "mocha -g": "\n\n  0 passing (1ms)\n\n",
    "ava, all skipped": "\n  - [skip] x\n  ─\n\n  1 test skipped\n",
    "tap, all skipped": (
        "TAP version 14\n1..1\n# Subtest: test/a.js\n    ok 1 - x # SKIP\n    1..1\n    # time=5.291ms\n"
        "ok 1 - test/a.js # time=5.291ms\n\n# { total: 1, pass: 0, skip: 1 }\n"
    ),
    "jasmine, all pending": "Started\n*\n\nPending:\n\n1) x\n  Temporarily disabled\n\n1 spec, 0 failures, 1 pending spec\n",
    "playwright, all skipped": "\nRunning 1 test using 1 worker\n°\n  1 skipped\n",
    "karma": "Chrome Headless 120 (Linux): Executed 0 of 0 SUCCESS (0.001 secs / 0 secs)\n",
    "karma, all skipped": "Chrome Headless 120 (Linux): Executed 0 of 1 (skipped 1) SUCCESS (0 secs / 0 secs)\n",
    "node --test": "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# skipped 0\n",
    "node --test, spec": "ℹ tests 0\nℹ suites 0\nℹ pass 0\nℹ fail 0\n",
    "node --test, all skipped": "﹣ x (1.04016ms) # SKIP\nℹ tests 1\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ skipped 1\n",
    "node --test, tap, all skipped": "TAP version 13\n# Subtest: x\nok 1 - x # SKIP\n1..1\n# tests 1\n# pass 0\n# fail 0\n",
    "deno": "\x1b[32mCheck\x1b[0m a_test.ts\nrunning 0 tests from ./a_test.ts\n\n\x1b[32mok\x1b[0m | 0 passed | 0 failed (6ms)\n",
    "deno, all ignored": "running 1 test from ./a_test.ts\nx ... ignored (0ms)\n\nok | 0 passed | 0 failed | 1 ignored (7ms)\n",
    "deno --filter": "Check a_test.ts\n\nok | 0 passed | 0 failed | 1 filtered out (5ms)\n",
    "bun, all skipped": "a.test.ts:\n(skip) x\n\n 0 pass\n 1 skip\n 0 fail\nRan 1 test across 1 file. [2.00ms]\n",
    "cargo": "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out\n",
    "cargo, all ignored": (
        "running 1 test\ntest a ... ignored\n\ntest result: ok. 0 passed; 0 failed; 1 ignored; 0 measured\n\n"
        "   Doc-tests x\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n"
    ),
    "nextest": "    Starting 0 tests across 1 binary\n     Summary [   0.000s] 0 tests run: 0 passed, 0 skipped\n",
    "go": "?   \tx/a\t[no test files]\n",
    "go -run": "ok  \tx/b\t0.002s [no tests to run]\n",
    "go -v, all skipped": "=== RUN   TestX\n    b_test.go:3: no\n--- SKIP: TestX (0.00s)\nPASS\nok  \tx/b\t0.002s\n",
    "gotestsum": "∅  x/a\n\nDONE 0 tests in 0.521s\n",
    "gotestsum, all skipped": "✓  x/b (2ms)\n\nDONE 1 tests, 1 skipped in 0.302s\n",
    "ctest": "Test project /w/b\nNo tests were found!!!\n",
    "ctest, disabled": "    Start 1: a\n1/1 Test #1: a ......***Not Run (Disabled)   0.00 sec\nNo tests were found!!!\n",
    "ctest, all skipped": (
        "1/1 Test #1: a ................***Skipped   0.00 sec\n\n100% tests passed, 0 tests failed out of 1\n\n"
        "The following tests did not run:\n\t  1 - a (Skipped)\n"
    ),
    "rspec": "No examples found.\n\n\nFinished in 0.00024 seconds\n0 examples, 0 failures\n\n",
    "rspec, all pending": "Pending:\n\n  1) a b\n     # Temporarily skipped with xit\n\n1 example, 0 failures, 1 pending\n",
    "minitest": "Finished in 0.000s, 0.0 runs/s.\n\n0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n",
    "minitest, all skipped": "1 runs, 0 assertions, 0 failures, 0 errors, 1 skips\n",
    "test-unit": "0 tests, 0 assertions, 0 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications\n",
    "phpunit": "PHPUnit 10.5.0 by Sebastian Bergmann and contributors.\n\nNo tests executed!\n",
    "phpunit, all skipped": "OK, but some tests were skipped!\nTests: 1, Assertions: 0, Skipped: 1.\n",
    "pest": "\n   INFO  No tests found.\n\n",
    "pest, all skipped": "  Tests:    1 skipped (0 assertions)\n  Duration: 0.05s\n",
    "dotnet": "No test is available in /w/bin/T.dll. Make sure that test discoverer & executors are registered.\n",
    "dotnet --filter": "No test matches the given testcase filter `FullyQualifiedName~X` in /w/bin/T.dll\n",
    "dotnet, all skipped": "Skipped! - Failed:     0, Passed:     0, Skipped:     1, Total:     1, Duration: 8 ms\n",
    "dotnet, testing platform": "Test run summary: Zero tests ran\n  total: 0\n  failed: 0\n  succeeded: 0\n",
    "maven": "[INFO] --- surefire:3.2.5:test (default-test) @ x ---\n[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n",
    "maven, empty classes": "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
    "maven, all skipped": "[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 3\n[INFO] BUILD SUCCESS\n",
    "maven -DskipTests": "[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS\n",
    "gradle": "> Task :compileTestJava NO-SOURCE\n> Task :testClasses UP-TO-DATE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n",
    "gradle, android": "> Task :app:testDebugUnitTest NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n",
    "swift, xctest": "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\n",
    "swift testing": "✔ Test run with 0 tests passed after 0.001 seconds.\n",
    "swift, both": (
        "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\n"
        "✔ Test run with 0 tests in 0 suites passed after 0.001 seconds.\n"
    ),
    "swift, all skipped": "Executed 2 tests, with 2 tests skipped and 0 failures (0 unexpected) in 0.1 (0.1) seconds\n",
    "swift --filter": "warning: No matching test cases were run\n",
    "bats": "1..0\n",
    "bats, all skipped": "1..1\nok 1 x # skip\n",
    "bats -p, all skipped": "\x1b[34;1ma.bats\n\x1b[0m\x1b[1G   x\x1b[K\x1b[77G1/1\x1b[2G - x (skipped)\x1b[K\n\n1 test, 0 failures, 1 skipped\n",
    "prove": "Files=0, Tests=0,  0 wallclock secs ( 0.00 usr +  0.00 sys =  0.00 CPU)\nResult: NOTESTS\n",
    "prove, all skipped": "t/a.t .. skipped: no\nFiles=1, Tests=0,  0 wallclock secs\nResult: NOTESTS\n",
    "flutter": "00:00 +0: No tests ran.\n",
    "flutter, older": "No tests were found.\n",
    "flutter, all skipped": "00:01 +0 ~2: All tests skipped.\n",
    "ExUnit": "Finished in 0.01 seconds\nThere are no tests to run\n",
    "ExUnit, excluded": "All tests have been excluded.\n\nFinished in 0.02 seconds\n2 tests, 0 failures, 2 excluded\n",
    "scalatest": "[info] Tests: succeeded 0, failed 0, canceled 0, ignored 0, pending 0\n[info] No tests were executed.\n",
    "zig": "All 0 tests passed.\n",
    "gtest": "[==========] Running 0 tests from 0 test suites.\n[==========] 0 tests ran.\n[  PASSED  ] 0 tests.\n",
    "catch2": "No tests ran\n",
    "ginkgo": "Ran 0 of 3 Specs in 0.001 seconds\nSUCCESS!\n",
    "cucumber": "0 scenarios\n0 steps\n0m00.000s\n",
    "behave": "0 features passed, 0 failed, 0 skipped\n0 scenarios passed, 0 failed, 0 skipped\n",
    "nox": "nox > Session tests-3.9 skipped: Python interpreter 3.9 not found.\n",
    "turbo": "web:test: No tests found, exiting with code 0\n",
    "pnpm -r": "packages/a test: No test files found, exiting with code 0\n",
    "docker compose": "api-1  | collected 0 items\napi-1  | ===== no tests ran in 0.01s =====\n",
}
# Each ends with exit code 0, and has tested something.
SOMETHING = {
    "pytest": ".s                                       [100%]\n1 passed, 1 skipped in 0.01s\n",
    "pytest, expected to fail": "x                             [100%]\n1 xfailed in 0.01s\n",
    "pytest -qq": "..s                                      [100%]\n",
    "unittest": "Ran 2 tests in 0.000s\n\nOK (skipped=1)\n",
    "jest": "Test Suites: 1 passed, 1 total\nTests:       1 skipped, 2 passed, 3 total\n",
    "vitest": " Test Files  1 passed (1)\n      Tests  2 passed | 1 skipped (3)\n",
    "mocha": "\n  2 passing (5ms)\n  1 pending\n",
    "node --test": "ℹ tests 2\nℹ pass 1\nℹ fail 0\nℹ skipped 1\n",
    "tap": "    ok 1 - x # SKIP\n    ok 2 - y\n    1..2\nok 1 - test/a.js\n",
    "deno": "ok | 1 passed (2 steps) | 0 failed | 1 ignored (7ms)\n",
    "bun": " 1 pass\n 1 skip\n 0 fail\nRan 2 tests across 1 file. [2.00ms]\n",
    "playwright": "Running 2 tests using 1 worker\n  1 skipped\n  1 passed (1.2s)\n",
    "karma": "Executed 0 of 3 SUCCESS (0 secs / 0 secs)\rExecuted 3 of 3 SUCCESS (0.01 secs / 0 secs)\n",
    "cargo, one crate without": (
        "running 1 test\ntest result: ok. 1 passed; 0 failed\n\nrunning 0 tests\ntest result: ok. 0 passed; 0 failed\n"
    ),
    "nextest": "     Summary [   0.010s] 3 tests run: 3 passed, 0 skipped\n",
    "go, one package without": "?   \tx/a\t[no test files]\nok  \tx/b\t0.002s\n",
    "go -v": "--- SKIP: TestX (0.00s)\n--- PASS: TestY (0.00s)\nPASS\nok  \tx/b\t0.002s\n",
    "ctest": "100% tests passed, 0 tests failed out of 3\n\nTotal Test time (real) =   0.00 sec\n",
    "ctest, one skipped": (
        "1/2 Test #1: a ....***Skipped   0.00 sec\n2/2 Test #2: b ....   Passed    0.00 sec\n\n"
        "100% tests passed, 0 tests failed out of 2\n"
    ),
    "rspec": "3 examples, 0 failures, 1 pending\n",
    "rspec, one project without": "0 examples, 0 failures\n3 examples, 0 failures\n",
    "minitest": "2 runs, 3 assertions, 0 failures, 0 errors, 1 skips\n",
    "phpunit": "OK (3 tests, 5 assertions)\n",
    "phpunit, one skipped": "Tests: 3, Assertions: 2, Skipped: 1.\n",
    "pest": "  Tests:    2 passed (4 assertions)\n",
    "dotnet": "No test is available in /w/A.dll.\nPassed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3\n",
    "dotnet, verbose": "Total tests: 2\n     Passed: 1\n    Skipped: 1\n",
    "maven": "[INFO] No tests to run.\n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n",
    "gradle": "> Task :a:test NO-SOURCE\n> Task :b:test\n\nBUILD SUCCESSFUL in 1s\n",
    "swift, xctest only": (
        "\t Executed 39 tests, with 0 failures (0 unexpected) in 0.005 (0.007) seconds\n"
        "✔ Test run with 0 tests in 0 suites passed after 0.001 seconds.\n"
    ),
    "swift testing only": (
        "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\n"
        "✔ Test run with 269 tests in 41 suites passed after 0.305 seconds.\n"
    ),
    "bats": "1..2\nok 1 x # skip\nok 2 y\n",
    "prove": "t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=1,  0 wallclock secs\nResult: PASS\n",
    "flutter": "00:01 +3 ~1: All tests passed!\n",
    "ExUnit": "1 doctest, 2 tests, 0 failures, 1 excluded\n",
    "gtest": "[==========] Running 3 tests from 1 test suite.\n[  PASSED  ] 3 tests.\n",
    "zig": "All 3 tests passed.\n",
    "ginkgo": "Ran 3 of 3 Specs in 0.001 seconds\n",
    "a workspace of three": "No tests found, exiting with code 0\n1..0\n\n  4 passing (3ms)\n",
    "a test of a runner": "No tests found\nRan 0 tests in 0.000s\n===== 3 passed in 0.10s =====\n",
    "a script of one's own": "No tests found in legacy/, skipped\n12 checks passed\n",
}
# None of these speaks of tests at all.
SILENT = {
    "nothing": "",
    "a linter": "0 errors, 0 warnings\nSuccess: no issues found in 3 source files\n",
    "no failures": "Deployment: 0 failed\n0 failures\n",
    "a migration": "applied 3, 2 skipped\n",
    "a build": "> Task :compileTestJava NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n",
    "prose": "the server had 0 tests of its health\nno tests for the wicked\n",
    "rubocop": "3 files inspected, no offenses detected\n",
}


@pytest.mark.parametrize("runner", NOTHING)
def test_a_runner_that_tested_nothing_could_not_run(runner: str) -> None:
    assert judge(MAKE, ended(0), NOTHING[runner]) == NONE


@pytest.mark.parametrize("runner", SOMETHING)
def test_a_runner_that_tested_something_passes(runner: str) -> None:
    assert judge(MAKE, ended(0), SOMETHING[runner]) == ("pass", "")
    assert was_tested(plain_lines(SOMETHING[runner])) is True


@pytest.mark.parametrize("output", SILENT)
def test_what_is_no_runner_passes(output: str) -> None:
    assert judge(MAKE, ended(0), SILENT[output]) == ("pass", "")
    assert was_tested(plain_lines(SILENT[output])) is None


@given(
    st.lists(st.sampled_from(list(NOTHING.values())), max_size=4),
    st.sampled_from([name for name in SOMETHING if name not in ("go -v", "unittest", "ctest, one skipped")]),
    st.lists(st.sampled_from(list(SILENT.values())), max_size=4),
)
def test_one_that_tested_something_outweighs_all_others(nothing: list[str], one: str, silent: list[str]) -> None:
    assert judge(MAKE, ended(0), "".join([*nothing, SOMETHING[one], *silent])) == ("pass", "")
    assert judge(MAKE, ended(0), "".join([*silent, SOMETHING[one], *nothing]))[1] != NONE[1]


# What they say where they fail for it.
REFUSED = [
    (1, "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0\n"),
    (1, "\x1b[31mNo test files found, exiting with code 1\n\x1b[39m\n"),
    (1, 'Error: No test files found: "test"\n'),
    (1, "\n  ✖ Couldn’t find any files to test\n\n"),
    (1, "No test files found\n"),
    (2, "Started\n\n\nNo specs found\nFinished in 0.001 seconds\nIncomplete: No specs found\n"),
    (1, "\nError: No tests found\n\n"),
    (1, "error: No test modules found\n\nStack backtrace:\n   0: <unknown>\n"),
    (1, 'bun test v1.4.5\nNo tests found!\n\nTests need ".test" in the filename\n'),
    (4, "error: no tests to run\n(hint: use `--no-tests` to customize)\n"),
    (5, "\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n"),
    (1, "[ERROR] Failed to execute goal surefire: No tests were executed!  (Set -DfailIfNoTests=false) -> [Help 1]\n"),
    (1, "> No tests found for given includes: [x.Y](filter.includeTestsMatching)\n"),
    (1, "Chrome 120 (Linux): Executed 0 of 0 ERROR (0.002 secs / 0 secs)\n"),
    (252, "[ ERROR ] Suite 'Rb' contains no tests or tasks.\n\nTry --help for usage information.\n"),
    (8, "Test run summary: Zero tests ran\n"),
    (1, 'Test directory "test" not found.\n'),
]


@pytest.mark.parametrize(("code", "output"), REFUSED)
def test_a_runner_that_fails_for_want_of_tests_could_not_run(code: int, output: str) -> None:
    assert judge(MAKE, ended(code), output) == NONE


@pytest.mark.parametrize(
    ("code", "output", "reason"),
    [
        (
            1,
            "?   \tx/a\t[no test files]\nb/b.go:3:26: undefined: x\nFAIL\tx/b [build failed]\n",
            "b/b.go:3:26: undefined: x",
        ),
        (1, "No tests found, exiting with code 0\nTests:       1 failed, 1 total\n", "Tests: 1 failed, 1 total"),
        (101, "running 0 tests\n\nerror[E0425]: cannot find value `x`\n", "error[E0425]: cannot find value `x`"),
    ],
)
def test_a_failure_beside_a_runner_without_tests_is_a_failure(code: int, output: str, reason: str) -> None:
    assert judge(MAKE, ended(code), output) == ("fail", f"exit {code}: {reason}")
