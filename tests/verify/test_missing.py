"""A program that is not there, named in the words of the shells and tools that looked for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.model.units import Exit
from gitprun.verify.judge import judge
from gitprun.verify.recipes import Check

MAKE = Check(command="CI=1 make test", label="make test")


def ended(code: int) -> Exit:
    return Exit(code=code, signal=None, reason="exited", seconds=1.0)


NPM_ENDS = "npm error Lifecycle script `test` failed with error:\nnpm error code 127\nnpm error path /w\n"


@pytest.mark.parametrize(
    ("code", "output", "name"),
    [
        (127, "bash: line 1: nosuchtool: command not found\n", "nosuchtool"),
        (127, "bash: line 1: nosuchtool: command not found\n\nreal\t0m0.000s\nuser\t0m0.000s\n", "nosuchtool"),
        (127, "bash: line 1: ./nosuch.sh: No such file or directory\n", "./nosuch.sh"),
        (127, "bash: line 1: ./bad.sh: cannot execute: required file not found\n", "./bad.sh"),
        (
            127,
            "bash: line 1: ./bad.sh: /no/such/interp: bad interpreter: No such file or directory\n",
            "/no/such/interp",
        ),
        (127, "dash: 1: nosuchtool: not found\n", "nosuchtool"),
        (127, "dash: 1: ./nosuch.sh: not found\n", "./nosuch.sh"),
        (127, "sh: nosuchtool: not found\n", "nosuchtool"),
        (127, "/bin/sh: nosuchtool: command not found\n", "nosuchtool"),
        (127, "zsh:1: command not found: nosuchtool\n", "nosuchtool"),
        (127, "zsh:1: no such file or directory: ./nosuch.sh\n", "./nosuch.sh"),
        (127, "zsh:1: ./bad.sh: bad interpreter: /no/such/interp: no such file or directory\n", "/no/such/interp"),
        (127, "fish: Unknown command: nosuchtool\nnosuchtool --x\n^~~~~~~~~^\n", "nosuchtool"),
        (
            127,
            "exec: Failed to execute process './bad.sh': The file specified the interpreter '/no/such/interp', "
            "which is not an executable command.\n",
            "/no/such/interp",
        ),
        (127, "env: ‘nosuchtool’: No such file or directory\n", "nosuchtool"),
        (127, "/usr/bin/env: ‘nosuchinterp’: No such file or directory\n", "nosuchinterp"),
        (127, "/usr/bin/env: 'node': No such file or directory\n", "node"),
        (127, "env: node: No such file or directory\n", "node"),
        (127, "xargs: nosuchtool: No such file or directory\n", "nosuchtool"),
        (127, "nice: ‘nosuchtool’: No such file or directory\n", "nosuchtool"),
        (127, "timeout: failed to run command ‘nosuchtool’: No such file or directory\n", "nosuchtool"),
        (127, "nohup: failed to run command 'nosuchtool': No such file or directory\n", "nosuchtool"),
        (1, "sudo: nosuchtool: command not found\n", "nosuchtool"),
        (2, "nosuchtool\nmake: nosuchtool: No such file or directory\nmake: *** [mk:2: all] Error 127\n", "nosuchtool"),
        (2, "/bin/sh: 1: nosuchtool: not found\nmake: *** [mk:2: all] Error 127\n", "nosuchtool"),
        (2, "make[1]: x: Command not found\nmake[1]: *** [all] Error 127\nmake: *** [sub] Error 2\n", "x"),
        (127, "\n> test\n> nosuchtool --x\n\nsh: 1: nosuchtool: not found\n", "nosuchtool"),
        (1, f"\n> test\n> nosuchtool --x\n\nsh: 1: nosuchtool: not found\n{NPM_ENDS}npm notice\n", "nosuchtool"),
        (1, 'npm error npx canceled due to missing packages and no YES option: ["jest@29.7.0"]\n', "jest"),
        (
            127,
            "yarn run v1.22.22\n$ nosuchtool\n/bin/sh: 1: nosuchtool: not found\nerror Command failed\n",
            "nosuchtool",
        ),
        (1, 'yarn run v1.22.22\nerror Command "nosuchtool" not found.\ninfo Visit https://yarnpkg.com\n', "nosuchtool"),
        (1, "command not found: nosuchtool\n", "nosuchtool"),
        (1, ' ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command "nosuchtool" not found\n', "nosuchtool"),
        (1, "/usr/bin/python3: No module named pytest\n", "pytest (a Python module)"),
        (1, "/w/.venv/bin/python3.12: No module named 'mypy'\n", "mypy (a Python module)"),
        (1, "python: No module named build.__main__; 'build' is a package\n", "build.__main__ (a Python module)"),
        (101, "error: no such command: `nextest`\n\nhelp: view all installed commands\n", "cargo nextest"),
        (
            1,
            "error: 'cargo-clippy' is not installed for the toolchain 'stable-x86_64-unknown-linux-gnu'.\n",
            "cargo-clippy",
        ),
        (2, 'go: no such tool "nosuch"\n', "go tool nosuch"),
        (2, "go nosuch: unknown command\nRun 'go help' for usage.\n", "go nosuch"),
        (1, '# runtime/cgo\ncgo: C compiler "gcc" not found: exec: "gcc": executable file not found in $PATH\n', "gcc"),
        (1, "git: 'nosuch' is not a git command. See 'git --help'.\n", "git nosuch"),
        (127, "bundler: command not found: rspec\nInstall missing gem executables with `bundle install`\n", "rspec"),
        (7, "Could not find rspec-core-3.12.0 in locally installed gems\n", "rspec-core (a gem)"),
        (1, "Command not found: pytest\n", "pytest"),
        (2, "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory (os error 2)\n", "pytest"),
        (1, "Error: the command nosuch could not be found within PATH or Pipfile's [scripts].\n", "nosuch"),
        (1, "Error: spawn nosuchtool ENOENT\n    at ChildProcess._handle.onexit\n", "nosuchtool"),
        (1, 'Cannot run program "node" (in directory "/w"): error=2, No such file or directory\n', "node"),
        (127, "", "make"),
    ],
)
def test_a_missing_program_is_named(code: int, output: str, name: str) -> None:
    assert judge(MAKE, ended(code), output) == ("could-not-run", f"command not found: {name}")


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("bash: line 1: ./noexec.sh: Permission denied\n", "./noexec.sh"),
        ("dash: 1: ./noexec.sh: Permission denied\n", "./noexec.sh"),
        ("zsh:1: permission denied: ./noexec.sh\n", "./noexec.sh"),
        ("bash: line 1: ./a.out: cannot execute binary file: Exec format error\n", "./a.out"),
        ("", "make"),
    ],
)
def test_what_cannot_be_executed_is_named(output: str, name: str) -> None:
    assert judge(MAKE, ended(126), output) == ("could-not-run", f"command not executable: {name}")


@pytest.mark.parametrize(
    ("code", "output", "reason"),
    [
        # A script got over it, and failed for another reason.
        (1, "/bin/sh: 1: pkg-config: not found\na.c:1:1: error: unknown type\n", "a.c:1:1: error: unknown type"),
        # The program under test looked for something.
        (1, "E   FileNotFoundError: tool: not found\n1 failed in 0.1s\n", "E FileNotFoundError: tool: not found"),
        (1, "sh: 1: tool: not found\n1 passed, 1 failed in 0.1s\n", "1 passed, 1 failed in 0.1s"),
        (1, "/users/7: not found\n", "/users/7: not found"),
        (1, "ModuleNotFoundError: No module named 'x'\n", "ModuleNotFoundError: No module named 'x'"),
        (1, "bash: line 3: data.txt: No such file or directory\n", "bash: line 3: data.txt: No such file or directory"),
    ],
)
def test_a_failure_that_only_speaks_of_it_is_a_failure(code: int, output: str, reason: str) -> None:
    assert judge(MAKE, ended(code), output) == ("fail", f"exit {code}: {reason}")


@given(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=30), st.sampled_from([1, 2, 126, 127]))
def test_a_name_is_one_line(name: str, code: int) -> None:
    state, reason = judge(MAKE, ended(code), f"bash: line 1: {name}: command not found\n")
    assert reason.isprintable()
    assert state in ("could-not-run", "fail")
