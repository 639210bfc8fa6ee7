"""How each kind of worker is started: the whole command line, environment and stdin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitprun.executors.base import Launch, WorkerPaths
from gitprun.executors.claude import Claude
from gitprun.executors.codex import Codex
from gitprun.model.names import UnitId
from gitprun.model.units import ExecutorSettings, Mode, Sandbox, Unit

PLACE = WorkerPaths(cwd="/ws/u1", result="/out/u1.md", last_message="/out/u1.last", repository="/home/me/repo")


def unit(
    *,
    model: str | None = None,
    reasoning: str | None = None,
    sandbox: Sandbox = "workspace-write",
    mode: Mode = "write",
) -> Unit:
    return Unit(
        id=UnitId("u1"), prompt="p", executor="any", mode=mode, model=model, reasoning=reasoning, sandbox=sandbox
    )


class TestCodex:
    def test_the_whole_command_line(self) -> None:
        assert Codex().launch(unit(), "do it", PLACE, ExecutorSettings()) == Launch(
            argv=(
                *("codex", "exec", "--json", "-o", "/out/u1.last", "--skip-git-repo-check"),
                *("--ignore-user-config", "-c", "skills.include_instructions=false"),
                *("-s", "workspace-write", "-"),
            ),
            env=(),
            stdin=b"do it",
            program="codex",
        )

    def test_every_setting_has_its_place(self) -> None:
        settings = ExecutorSettings(
            program="/opt/codex", args=("--add-dir", "/cache"), env=(("CODEX_HOME", "/h"),), isolate=False
        )
        whole = unit(model="gpt-5.5", reasoning="xhigh", sandbox="danger-full-access")
        assert Codex().launch(whole, "/review größe\n", PLACE, settings) == Launch(
            argv=(
                *("/opt/codex", "exec", "--json", "-o", "/out/u1.last", "--skip-git-repo-check"),
                *("-s", "danger-full-access", "-m", "gpt-5.5", "-c", 'model_reasoning_effort="xhigh"'),
                *("--add-dir", "/cache", "-"),
            ),
            env=(("CODEX_HOME", "/h"),),
            stdin=b"/review gr\xc3\xb6\xc3\x9fe\n",
            program="/opt/codex",
        )

    def test_a_reading_unit_keeps_the_sandbox_it_was_given(self) -> None:
        sandboxes: tuple[Sandbox, ...] = ("read-only", "workspace-write")
        for sandbox in sandboxes:
            launch = Codex().launch(unit(sandbox=sandbox, mode="read"), "look", PLACE, ExecutorSettings())
            assert launch.argv[9:] == ("-s", sandbox, "-")

    def test_quotes_stay_within_the_setting(self) -> None:
        launch = Codex().launch(unit(reasoning='hi"gh'), "x", PLACE, ExecutorSettings())
        assert launch.argv[-3:] == ("-c", 'model_reasoning_effort="hi\\"gh"', "-")

    def test_no_prompt_can_break_the_encoding(self) -> None:
        assert Codex().launch(unit(), "a\ud800b", PLACE, ExecutorSettings()).stdin == b"a?b"


class TestClaude:
    def test_the_whole_command_line(self) -> None:
        assert Claude().launch(unit(), "do it", PLACE, ExecutorSettings()) == Launch(
            argv=(
                *("claude", "-p", "--model", "sonnet", "--output-format", "stream-json", "--verbose"),
                *("--permission-mode", "acceptEdits"),
                *("--strict-mcp-config", "--setting-sources", "user"),
            ),
            env=(),
            stdin=b"do it",
            program="claude",
        )

    def test_every_setting_has_its_place(self) -> None:
        settings = ExecutorSettings(
            program="/opt/claude", args=("--max-turns", "50"), env=(("IS_SANDBOX", "1"),), isolate=False
        )
        whole = unit(model="opus", reasoning="high", sandbox="danger-full-access")
        assert Claude().launch(whole, "größe", PLACE, settings) == Launch(
            argv=(
                *("/opt/claude", "-p", "--model", "opus", "--output-format", "stream-json", "--verbose"),
                *("--effort", "high", "--permission-mode", "bypassPermissions", "--max-turns", "50"),
            ),
            env=(("IS_SANDBOX", "1"),),
            stdin=b"gr\xc3\xb6\xc3\x9fe",
            program="/opt/claude",
        )

    def test_reading_only_takes_the_writing_tools_away(self) -> None:
        argv = Claude().launch(unit(sandbox="read-only"), "look", PLACE, ExecutorSettings()).argv
        assert argv[7:] == (
            *("--permission-mode", "dontAsk", "--disallowedTools", "Bash,Edit,Write,NotebookEdit"),
            *("--strict-mcp-config", "--setting-sources", "user"),
        )

    def test_a_guard_is_asked_before_each_command(self) -> None:
        guarded = replace(PLACE, guard="sh '/opt/a b/guard'")
        argv = Claude().launch(unit(), "do it", guarded, ExecutorSettings(args=("--max-turns", "5"))).argv
        assert argv[12:] == (
            "--settings",
            '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": '
            '[{"type": "command", "command": "sh \'/opt/a b/guard\'", "timeout": 20}]}]}}',
            *("--max-turns", "5"),
        )

    @pytest.mark.parametrize("given", [("--settings", "%s"), ("--settings=%s",)])
    def test_the_guard_is_joined_with_settings_of_the_user(self, given: tuple[str, ...]) -> None:
        theirs = '{"env": {"A": "b"}, "hooks": {"Stop": [], "PreToolUse": [{"matcher": "Write"}]}}'
        args = ("-x", *(word.replace("%s", theirs) for word in given), "-y")
        argv = Claude().launch(unit(), "do it", replace(PLACE, guard="g"), ExecutorSettings(args=args)).argv
        assert argv[12:] == (
            *("-x", "--settings"),
            '{"env": {"A": "b"}, "hooks": {"Stop": [], "PreToolUse": [{"matcher": "Write"}, {"matcher": "Bash", '
            '"hooks": [{"type": "command", "command": "g", "timeout": 20}]}]}}',
            "-y",
        )

    def test_a_settings_file_of_the_user_stands_alone(self) -> None:
        for args in (("--settings", "/home/me/s.json"), ("--settings=/home/me/s.json",)):
            launch = Claude().launch(unit(), "do it", replace(PLACE, guard="g"), ExecutorSettings(args=args))
            assert launch.argv[12:] == args

    @pytest.mark.parametrize(
        ("prompt", "stdin"),
        [
            ("/init the parser", b"Do what follows.\n\n/init the parser"),
            ("\n  /etc is wrong", b"Do what follows.\n\n\n  /etc is wrong"),
            ("fix a/b", b"fix a/b"),
            ("", b""),
            ("a\ud800b", b"a?b"),
        ],
    )
    def test_no_prompt_is_taken_as_a_command(self, prompt: str, stdin: bytes) -> None:
        assert Claude().launch(unit(), prompt, PLACE, ExecutorSettings()).stdin == stdin
