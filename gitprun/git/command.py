"""The one door to the git program: clean environment, bytes in and out, exit codes told apart."""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from gitprun.git.environment import git_environment
from gitprun.git.limits import GitWait, Heard
from gitprun.model.errors import GitFailed, GitTimeout, PrunError
from gitprun.supervisor import process_tree
from gitprun.system.sharing import usual_umask

# A git that was told to end, or answers from its settings alone, needs no more: it has nothing left to do on disk.
LAST_WORDS = 2.0
# Git and what it started get so long after INT, to take their locks and temporary files away, and again after TERM.
STEP = 1.0
# The first with ``merge-tree --write-tree``.
OLDEST_GIT = (2, 38)

# Each of these keys can name a program. On a folder a worker could write, and wherever the answer is parsed,
# none may be taken from a configuration file.
NEUTRAL = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "gpg.program=false",
    "credential.helper=",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
)
# What code reads has to look the same whatever the user has set.
PARSED = ("core.quotePath=true", "color.ui=false", "core.fsmonitor=false", "advice.detachedHead=false")


# What limits set may be stricter than ours already; then those hold.
_BOUNDED = 'for one in "-c 0" "-d $1" "-S -t $2"; do ulimit $one 2>/dev/null; done; shift 2; exec "$@"'


# For the shared folder of a repository: what is to be set there beside everything else, asked before each start.
_cautions: dict[str, Callable[[], tuple[str, ...]]] = {}
# What answers a caution may start git itself, which must not ask again.
_asking = threading.local()


def set_caution(common: str, caution: Callable[[], tuple[str, ...]]) -> None:
    """Have every git started in the repository of that shared folder set what ``caution`` says, above all else."""
    _cautions[common] = caution


class GitMissing(PrunError):
    """There is no usable git program."""


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """What git said: exit code, stdout as bytes, stderr as text."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Return stdout as text without the last line end; bytes that are no UTF-8 survive as surrogates."""
        return self.out.decode("utf-8", "surrogateescape").rstrip("\n")

    @property
    def fields(self) -> list[bytes]:
        """Split ``-z`` output into its fields."""
        return self.out.split(b"\0")[:-1] if self.out else []


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a git program may use: ``memory`` of its own in bytes, ``processor`` time in seconds."""

    memory: int
    processor: int

    def wrap(self, argv: list[str | bytes]) -> list[str | bytes]:
        """Return the words that start a program within these bounds."""
        # ulimit counts memory in kilobytes.
        return ["/bin/sh", "-c", _BOUNDED, "sh", str(self.memory >> 10), str(self.processor), *argv]


@dataclass(frozen=True, slots=True)
class Running:
    """A git program at work since ``began`` (seconds since 1970); ``mark`` is given to everything it starts.

    ``heard`` is what had been heard of a stop when it started.
    """

    shown: tuple[str, ...]
    process: subprocess.Popen[bytes]
    git: Git
    mark: str
    began: float
    heard: Heard

    def wait(self, stdin: bytes = b"", *, ok: tuple[int, ...] = (0,), timeout: float | None = None) -> GitAnswer:
        """Pass it its input and wait for its end; raises as ``Git.run`` does."""
        patience, given = GitWait(self.shown, timeout, self.heard), stdin or None
        try:
            while True:
                try:
                    out, err = self.process.communicate(given, timeout=patience.slice)
                    break
                except subprocess.TimeoutExpired:
                    # Python takes the input once; called again it goes on with the rest by itself.
                    given = None
                    patience.require_time()
        except GitTimeout as problem:
            raise self.told(problem, self.give_up(harsh=patience.urgent)) from None
        # Ctrl-C as well: no git may go on unseen.
        except BaseException:
            self.give_up()
            raise
        answer = GitAnswer(self.process.returncode, out, err.decode("utf-8", "replace"))
        if answer.code not in ok:
            raise GitFailed(self.shown, answer.code, answer.err)
        return answer

    def await_end(self, patience: GitWait) -> int:
        """Wait for its end without touching its pipes, and give its exit code; raises GitTimeout."""
        while True:
            try:
                return self.process.wait(patience.slice)
            except subprocess.TimeoutExpired:
                patience.require_time()

    def end(self) -> None:
        """End it at once, if it still runs."""
        if self.process.returncode is None:
            _signal_group(self.process, signal.SIGKILL)
            _drop_pipes(self.process)

    def give_up(self, *, harsh: bool = False) -> tuple[str, ...]:
        """End it with everything it started, by INT, TERM and KILL (``harsh``: KILL); returns the words of the latter.

        On INT and TERM git takes its locks and temporary files away; its drivers and filters may have left its group.
        """
        from gitprun.git.hung import drop_merge_files, look_below

        # Before anything ends: what git started has another parent afterwards.
        below = look_below(self.process.pid, self.mark)
        self._end_tree(below.tree, harsh=harsh)
        _drop_pipes(self.process)
        if self.shown[:1] == ("merge-tree",):
            drop_merge_files(self.git.cwd, self.began)
        return below.words

    def told(self, problem: GitTimeout, words: tuple[str, ...]) -> GitTimeout:
        """Add to a problem what this program waited for; ``words`` are of the programs it had started."""
        from gitprun.git.hung import explain_hung

        # What explains it is read by ``git config``, which would hang for the same reason.
        if self.shown[:1] == ("config",):
            return problem
        where = self.git.cwd, self.git.env.get("GIT_DIR")
        waited, hint = explain_hung(self.shown[0], words, *where, self.git.read_programs)
        return type(problem)(problem.argv, problem.seconds, waited, hint)

    def _end_tree(self, tree: process_tree.Kin, *, harsh: bool) -> None:
        from gitprun.supervisor.orphans import processes_of

        if not harsh:
            _signal_group(self.process, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STEP)

        def living(_everywhere: bool) -> process_tree.Kin | None:
            known = {pid: start for pid, start in tree.items() if process_tree.started_at(pid) == start}
            return (processes_of(self.mark) | known) or None

        def rest(most: float) -> None:
            # It is our child: reaped, it is gone for ``living`` too.
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(min(most, STEP / 10))
            if self.process.returncode is not None:
                time.sleep(min(most, process_tree.SHORT))

        process_tree.end_all(living, rest, 0.0 if harsh else STEP, None)
        if self.process.returncode is None:
            # Where processes cannot be listed the group is all there is to hold on to.
            _signal_group(self.process, signal.SIGKILL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """How to call git for one folder.

    ``cwd`` is where it runs; ``env`` adds variables such as GIT_DIR or GIT_INDEX_FILE; ``neutral`` takes every key
    that can name a program out of play (the user's own global configuration still says who the user is); ``bounds``
    keep a program that reads what a worker wrote from using up the machine.
    """

    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    config: tuple[str, ...] = ()
    neutral: bool = False
    bounds: Bounds | None = None
    _ahead: dict[tuple[str | bytes, ...], Running] = field(default_factory=dict, compare=False, repr=False)

    def ask_ahead(self, *args: str | bytes) -> None:
        """Start ``git ARGS`` now, for the ``run`` that will ask just that; ``forget`` ends what nobody asked for."""
        self._ahead[args] = self.start(*args)

    def forget(self) -> None:
        """Forget what was asked ahead."""
        while self._ahead:
            self._ahead.popitem()[1].end()

    def run(
        self, *args: str | bytes, stdin: bytes = b"", ok: tuple[int, ...] = (0,), timeout: float | None = None
    ) -> GitAnswer:
        """Run ``git ARGS``; raises GitFailed when the exit code is not among ``ok``, GitTimeout when it hangs.

        Without a ``timeout`` in seconds it has what ``limits`` says; a stop ends it with GitStopped.
        """
        running = self._ahead.pop(args, None) or self.start(*args)
        return running.wait(stdin, ok=ok, timeout=timeout)

    def start(self, *args: str | bytes, source: IO[bytes] | None = None) -> Running:
        """Start ``git ARGS`` and give it back while it runs; whoever starts it waits for it, or ends it.

        It reads from ``source``, or from a pipe of its own.
        """
        settings = (*PARSED, *(NEUTRAL if self.neutral else ()), *self.config, *self._cautious())
        if ".git" in self.cwd.parts:
            # safe.bareRepository=explicit is about repositories that were smuggled in, and this one is the user's.
            settings += ("safe.bareRepository=all",)
        options = [part for setting in settings for part in ("-c", setting)]
        mark, began, heard = os.urandom(12).hex(), time.time(), Heard.now()
        process = self._start(["git", *options, *args], source, mark)
        return Running(tuple(os.fsdecode(arg) for arg in args), process, self, mark, began, heard)

    def read_programs(self) -> dict[str, str]:
        """Read which merge drivers and filters are configured, by key; empty where that cannot be read."""
        words = ("config", "-z", "--get-regexp", r"^(merge|filter)\..*\.(driver|clean|smudge|process)$")
        try:
            rows = replace(self, _ahead={}).run(*words, ok=(0, 1), timeout=LAST_WORDS).fields
        except PrunError:
            return {}
        return {key: value for key, _, value in (os.fsdecode(row).partition("\n") for row in rows)}

    def _cautious(self) -> tuple[str, ...]:
        """Ask what is to be set above all else; a repository of our own is nobody's to change."""
        if not _cautions or getattr(_asking, "now", False):
            return ()
        own = self.env.get("GIT_DIR")
        asked = [
            caution
            for common, caution in _cautions.items()
            if own is None or own == common or own.startswith(f"{common}/worktrees/")
        ]
        _asking.now = True
        try:
            return tuple(setting for caution in asked for setting in caution())
        finally:
            _asking.now = False

    def _start(self, argv: list[str | bytes], source: IO[bytes] | None, mark: str) -> subprocess.Popen[bytes]:
        env = git_environment(os.environ, self.env)
        try:
            return subprocess.Popen(
                self.bounds.wrap(argv) if self.bounds else argv,
                cwd=self.cwd,
                env={**env, process_tree.MARK: ":".join(filter(None, (env.get(process_tree.MARK), mark)))},
                stdin=source or subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Filters, signers and hooks git starts end with it, and Ctrl-C is ours to deal with.
                process_group=0,
                # It honours core.sharedRepository by itself, and what it writes elsewhere is the user's own.
                umask=usual_umask(),
            )
        except FileNotFoundError as problem:
            # Popen says the same of a missing program and of a missing folder.
            if not os.path.isdir(self.cwd):
                raise PrunError(f"{self.cwd}: no such folder") from problem
            raise GitMissing("git is not on PATH", "install git 2.38 or newer") from problem
        except NotADirectoryError as problem:
            raise PrunError(f"{self.cwd}: not a folder") from problem


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        process.send_signal(number)


def _drop_pipes(process: subprocess.Popen[bytes]) -> None:
    """Wait for git's end; one that left its group may hold our pipes open, and is not waited for."""
    try:
        process.communicate(timeout=LAST_WORDS)
    except (subprocess.TimeoutExpired, ValueError, OSError):
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                _close(pipe)
        process.wait()


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:
        return


def parse_version(text: str) -> tuple[int, ...]:
    """Read ``git version 2.39.5 (...)``; empty if it does not look like that."""
    found = re.search(r"git version (\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


@functools.cache
def require_git(cwd: Path) -> tuple[int, ...]:
    """Probe git's version once; raises GitMissing when it is older than we can use."""
    version = parse_version(Git(cwd=cwd).run("version").text)
    if version < OLDEST_GIT:
        shown = ".".join(map(str, version)) or "unknown"
        raise GitMissing(f"git {shown} is too old", "git prun needs git 2.38 or newer (merge-tree --write-tree)")
    return version
