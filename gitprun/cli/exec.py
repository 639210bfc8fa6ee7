"""``git prun exec``: one worker in a workspace of your own, in the words of the second seed's ``codex-wrapper``."""

from __future__ import annotations

import os
import re
import sys

import click

from gitprun.api.repo import Repo
from gitprun.api.settings import find_moved
from gitprun.api.stopping import Stop
from gitprun.api.watching import log_root
from gitprun.api.working import NoSuchWorkspace, WorkRequest, read_prompt_file, require_workspace, work_in
from gitprun.cli.console import hint, put, safe, say
from gitprun.cli.options import project
from gitprun.cli.signals import signals_stop
from gitprun.model.errors import PlanError, UsageProblem

# The seed's own code for it.
EXIT_MISSING = 2
# As much as a prompt file may have: more is no prompt but something piped in by mistake.
MOST_PROMPT = 64_000_000
EPILOG = """\b
Environment: COMMIT_LEVEL (3: all, 2: figures, 1: one line), CODEX_MODEL, CODEX_REASONING (high), POST_VERIFY_CMD,
POST_VERIFY_TESTS (shell text), PROJECT_DIR, MONITOR_ROOT (logs/NAME.log lies there).
"""


class PromptLast(click.Command):
    """A command whose last argument is a prompt, which may well begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take an argument of several words for the prompt, whatever it begins with."""
        taking = {name for option in self.params for name in option.opts if not getattr(option, "is_flag", False)}
        for at, word in enumerate(args):
            if word == "--":
                break
            if re.match(r"-\S*\s", word) and "=" not in word.split()[0] and (at == 0 or args[at - 1] not in taking):
                return super().parse_args(ctx, [*args[:at], *args[at + 1 :], "--", word])
        return super().parse_args(ctx, args)


@click.command("exec", cls=PromptLast, epilog=EPILOG)
@click.argument("name")
@click.argument("slug")
@click.argument("prompt", required=False)
@click.option("--prompt-file", type=click.Path(), help="Read the prompt from this file.")
@click.option("--executor", help="Who works: codex, claude or command (codex).")
@click.option("--command", metavar="WORDS", help='The command of executor command, such as "sh worker.sh".')
@click.option("--model", help="The model the worker uses; wins over CODEX_MODEL.")
@click.option("--reasoning", help="How hard codex thinks; wins over CODEX_REASONING.")
@click.option(
    "--sandbox", help="What the worker may do: read-only, workspace-write (the default of codex) or danger-full-access."
)
@click.option("--timeout", help='The time limit, such as "40m" (none).')
@click.option("--stall", help='Quiet for so long counts as stalled, such as "10m" ([run] stall in prun.toml).')
@click.option("--no-retry", is_flag=True, help="Do not try again, whatever the service said.")
@click.option("--no-bypass", is_flag=True, help="Do not begin the prompt with the bypass prefix.")
@click.option("--commit-failed", is_flag=True, help="Commit a failed worker's work too, marked FAILED.")
@click.pass_context
def execute(
    ctx: click.Context,
    /,
    *,
    name: str,
    slug: str,
    prompt: str | None,
    prompt_file: str | None,
    executor: str | None,
    command: str | None,
    model: str | None,
    reasoning: str | None,
    sandbox: str | None,
    timeout: str | None,
    stall: str | None,
    no_retry: bool,
    no_bypass: bool,
    commit_failed: bool,
) -> int:
    """Run a worker with PROMPT (- reads it from stdin) in the workspace NAME, commit its work there and verify it.

    Status lines go to stdout, the worker's output to a log (git prun events reads it). The commit goes onto the
    workspace's branch through your hooks; the work of a worker that failed is pinned beside it.

    A worker its service failed (503, 429, no capacity, no network) is tried again, at most twice.

    Exit codes: the worker's own if it failed, 1 if nothing was committed or it does not verify, 2 if there is no such
    workspace, 128 + signal.
    """
    repo, stop = project(ctx), Stop()
    find_moved(repo.opened)
    named = os.environ.get("MONITOR_ROOT", "")
    try:
        require_workspace(repo.opened, name)
        asked = WorkRequest(
            name=name,
            slug=slug,
            prompt=_read_prompt(repo, prompt, prompt_file),
            executor=executor,
            command=command,
            model=model,
            reasoning=reasoning,
            sandbox=sandbox,
            timeout=timeout,
            stall=stall,
            retry=not no_retry,
            bypass=not no_bypass,
            commit_failed=commit_failed,
            log=log_root(repo.opened.start, repo.opened.repository.state, named) / "logs",
            environment=os.environ,
        )
        with signals_stop(stop) as caught:
            code = work_in(repo.opened, asked, stop, line=lambda text: put(safe(text)))
    except NoSuchWorkspace as problem:
        say(f"[wrapper {safe(slug)}] ERROR: {safe(problem.message)}")
        hint(safe(problem.hint))
        return EXIT_MISSING
    return 128 + caught[0] if caught else code


def _read_prompt(repo: Repo, prompt: str | None, prompt_file: str | None) -> str:
    if (prompt is None) == (prompt_file is None):
        raise UsageProblem(
            "a prompt is missing" if prompt is None else "PROMPT and --prompt-file cannot be given together",
            'git prun exec NAME SLUG "PROMPT", or - for stdin, or --prompt-file FILE',
        )
    if prompt_file is not None:
        return read_prompt_file(repo.opened.start, prompt_file)
    if prompt != "-":
        return prompt or ""
    raw = sys.stdin.buffer.read(MOST_PROMPT)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise PlanError(f"the prompt on stdin is not UTF-8: byte 0x{raw[problem.start]:02x}", "convert it") from None
