"""What installed hooks start: a worker's commit, push or change of refs is judged, and a merge made with git itself."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gitprun.model.escapes import safe

# More than any command line or list of refs has; what is longer is no call of a tool.
MOST_INPUT = 64_000_000
GATES = ("pre-merge-commit", "commit-msg")
# Git gives them nothing to read.
SILENT = ("pre-commit", *GATES)
REFUSED = 1
CLAUDE_REFUSED = 2


def run_hook(arguments: Sequence[str]) -> int:
    """Be the hook NAME: ``claude-guard``, or ``NAME BEFORE ARGS...`` for one of git's (BEFORE: a hook to call next).

    ``git PROGRAM WORDS...`` judges a command of git that has not started yet.
    """
    shared, _, name = arguments[0].rpartition(":")
    before, args = (*arguments[1:], "")[0], list(arguments[2:])
    if name == "claude-guard":
        return _guard_claude()
    if name == "git":
        return _guard_stash(args)
    given = sys.stdin.buffer.read() if name not in SILENT else b""
    try:
        gate = name in GATES
        rows = given.decode("utf-8", "surrogateescape")
        # Without hooks that the user installed, a worker may commit to its own branch.
        branch = os.environ.get("PRUN_BRANCH", "") if shared else ""
        reason = _refuse_merge(name, args) if gate else _refuse(name, args, rows, branch)
    except Exception as problem:
        # Whatever keeps us from telling, a worker is not let through.
        reason = f"git prun cannot tell whether this is allowed: {problem}"
    if reason:
        _note(f"refused: {reason}")
        return REFUSED
    return _call_next(before, args, given)


def _refuse(name: str, args: Sequence[str], given: str, branch: str) -> str:
    """Return in words why a worker must not do this; empty for everybody else, and for what is allowed."""
    from gitprun.git.repo import find_repository
    from gitprun.guards.gitwords import COMMITS, PUSHES
    from gitprun.ledger.ledger import Ledger
    from gitprun.registry.whose import find_worker

    git_dir = Path(os.environ.get("GIT_DIR") or ".git").absolute()
    repository = find_repository(git_dir if git_dir.is_dir() else Path.cwd())
    worker = find_worker(os.environ, repository, Ledger(repository.state).read().history)
    if worker is None:
        return ""
    if name == "pre-push":
        return f"unit {worker.name} must not push: {PUSHES}"
    if name == "pre-commit":
        return f"unit {worker.name} must not commit: {COMMITS}"
    if name != "reference-transaction" or args[:1] != ["prepared"]:
        return ""
    return _refuse_refs(worker.name, worker.own, git_dir, given, branch)


def _refuse_merge(name: str, args: Sequence[str]) -> str:
    """Return in words why a merge that somebody makes with git itself must not be committed."""
    from gitprun.git.repo import find_repository
    from gitprun.landing.gate import clean_message, merged_heads, refuse_merge, refuse_message
    from gitprun.ledger.ledger import Ledger

    repository = find_repository(Path.cwd())
    if name == "pre-merge-commit":
        history = Ledger(repository.state).read().history
        reason = refuse_merge(repository, history, merged_heads(os.environ), _note)
        return reason and f"{reason} (git merge --no-verify commits it all the same)"
    message, heads = Path(args[0]), (repository.git_dir / "MERGE_HEAD").read_text().split()
    if os.environ.get("GIT_EDITOR") == ":":
        clean_message(message)
    reason = refuse_message(repository.git, message.read_bytes().decode("utf-8", "surrogateescape"), heads)
    return reason and f"{reason} (git commit --no-verify takes it all the same)"


def _note(line: str) -> None:
    print(f"git prun: {safe(line)}", file=sys.stderr)


def _refuse_refs(worker: str, own: bool, git_dir: Path, given: str, branch: str) -> str:
    from gitprun.git.command import Git
    from gitprun.guards.refs import parse_updates, refuse_update
    from gitprun.model.names import ZERO

    git = Git(cwd=git_dir)

    def current(ref: str) -> str:
        return git.run("rev-parse", "--verify", "--quiet", ref, ok=(0, 1, 128)).text or ZERO

    def is_new(commit: str) -> bool:
        answer = git.run("rev-list", "--max-count=1", commit, "--not", "--all", ok=(0, 1, 128))
        return answer.code != 0 or bool(answer.out)

    refused = refuse_update(parse_updates(given), own=own, current=current, is_new=is_new, branch=branch)
    return f"unit {worker} must not change {refused[0]}: {refused[1]}" if refused else ""


def _call_next(before: str, args: Sequence[str], given: bytes) -> int:
    """Become the user's own hook, with the same arguments and the same input; 0 where there is none."""
    if not before or not os.access(before, os.X_OK):
        return 0
    with tempfile.TemporaryFile() as again:
        again.write(given)
        again.seek(0)
        os.dup2(again.fileno(), 0)
    try:
        os.execv(before, [before, *args])
    except OSError:
        # Without a first line that names its interpreter, it is for the shell: git takes it so too.
        os.execv("/bin/sh", ["sh", before, *args])


def _guard_stash(words: Sequence[str]) -> int:
    """Refuse a worker in a linked worktree what changes the stash; about all else git asks its hooks."""
    import shlex

    from gitprun.guards.commands import find_refused
    from gitprun.model.errors import PrunError

    place = Path.cwd()
    refused = find_refused(shlex.join(["git", *words]), lambda name: _alias(place, name))
    if refused is None or refused.what != "git stash":
        return 0
    try:
        worker = _worker_in(place, words)
    except PrunError:
        # In no repository git has nothing to change.
        return 0
    if worker is None:
        return 0
    print(f"git prun: refused: unit {worker} must not change refs/stash: {refused.why}", file=sys.stderr)
    return REFUSED


def _worker_in(place: Path, words: Sequence[str]) -> str | None:
    """Name the unit whose worker starts git with these words in a worktree of the user's repository."""
    from gitprun.git.command import Git
    from gitprun.git.repo import find_repository
    from gitprun.guards.gitwords import judge_git
    from gitprun.ledger.ledger import Ledger
    from gitprun.registry.whose import find_worker

    options = words[: len(words) - len(judge_git(words).rest) - 1]
    own = {"GIT_DIR": os.environ["GIT_DIR"]} if os.environ.get("GIT_DIR") else {}
    git_dir = Git(cwd=place, env=own).run(*options, "rev-parse", "--absolute-git-dir").out[:-1]
    repository = find_repository(Path(os.fsdecode(git_dir)))
    worker = find_worker(os.environ, repository, Ledger(repository.state).read().history)
    return worker.name if worker is not None else None


def _guard_claude() -> int:
    """Read what Claude Code is about to do; refuse a command no worker may run."""
    from gitprun.guards.commands import find_refused

    try:
        call = json.loads(sys.stdin.buffer.read(MOST_INPUT))
        command = call["tool_input"]["command"] if call.get("tool_name") == "Bash" else ""
        place = Path(str(call.get("cwd") or "."))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return 0
    if not os.environ.get("PRUN_UNIT") or not isinstance(command, str):
        return 0
    refused = find_refused(command, lambda name: _alias(place, name))
    if refused is None:
        return 0
    _note(f"refused: {refused.what}: {refused.why}")
    return CLAUDE_REFUSED


def _alias(place: Path, name: str) -> str | None:
    if not re.fullmatch(r"[A-Za-z0-9-]+", name):
        return None
    from gitprun.git.command import Git
    from gitprun.model.errors import PrunError

    try:
        return Git(cwd=place).run("config", "--get", f"alias.{name}", ok=(0, 1, 128)).text or None
    except PrunError:
        return None
