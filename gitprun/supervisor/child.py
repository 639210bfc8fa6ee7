"""Ask a stand-alone module of ours one question in a child that can be killed: bounded in time, memory and answer."""

from __future__ import annotations

import marshal
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitprun.model.errors import PrunError

# The child bounds itself before it imports anything of ours: nothing has to run between fork and exec for that.
BOUNDED = """
import sys
try:
    import resource as r
    data, cpu = int(sys.argv[3]), int(sys.argv[4])
    for what, most in ((r.RLIMIT_DATA, data), (r.RLIMIT_CPU, cpu), (r.RLIMIT_CORE, 0)):
        hard = r.getrlimit(what)[1]
        r.setrlimit(what, (most if hard == r.RLIM_INFINITY else min(most, hard), hard))
    hard = r.getrlimit(r.RLIMIT_NOFILE)[1]
    r.setrlimit(r.RLIMIT_NOFILE, (4096 if hard == r.RLIM_INFINITY else min(4096, hard), hard))
except (ImportError, ValueError, OSError):
    pass
sys.path.insert(0, sys.argv[1])
module = __import__(sys.argv[2])
import marshal
answer = marshal.dumps(module.answer(marshal.loads(sys.stdin.buffer.read())))
sys.stdout.buffer.write(answer)
"""
# Python and a list of 50,000 paths take a fifth of it; a folder made to fill memory reaches it.
MEMORY = 256 << 20
# An answer, which is held in our memory: 50,000 paths of the longest kind are not to be told one by one.
MOST = 64 << 20
# What a pipe of Linux holds.
_CHUNK = 1 << 16
# The end of a traceback, which says what was wrong.
_SAID = 4000


class ChildFailed(PrunError):
    """A child did not answer: it took too long, too much memory, or broke."""


def ask(
    module: Path, question: Mapping[str, Any], *, timeout: float, memory: int = MEMORY, most: int = MOST
) -> Mapping[str, Any]:
    """Return ``answer(question)`` of a module that imports nothing of ours, both as plain values.

    The child has ``timeout`` seconds (of processor time too), ``memory`` bytes, and ``most`` bytes for its answer;
    raises ChildFailed when that is not enough, and never leaves it running.
    """
    words = (str(module.parent), module.stem, str(memory), str(int(timeout) + 1))
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", BOUNDED, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        process_group=0,
    ) as child:
        try:
            raw, said = _talk(child, marshal.dumps(dict(question)), time.monotonic() + timeout, most)
        except BaseException:
            child.kill()
            raise
        code = child.wait()
    if code != 0:
        last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
        slow = code == -signal.SIGXCPU
        raise ChildFailed("it took too long" if slow else last or f"it ended with code {code}")
    try:
        return dict(marshal.loads(raw))
    except (EOFError, ValueError, TypeError):
        raise ChildFailed("its answer cannot be read") from None


def _talk(child: subprocess.Popen[bytes], question: bytes, until: float, most: int) -> tuple[bytes, bytes]:
    """Write the question, read both pipes to their ends; raises ChildFailed when time or room is over."""
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        child.stdin.write(question)
        child.stdin.close()
    except BrokenPipeError:
        # Why it ended is what it says.
        pass
    answer, said = bytearray(), bytearray()
    pipes = {child.stdout.fileno(): answer, child.stderr.fileno(): said}
    while pipes:
        ready, _, _ = select.select(list(pipes), [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise ChildFailed("it took too long")
        for pipe in ready:
            chunk = os.read(pipe, _CHUNK)
            if not chunk:
                del pipes[pipe]
            pile = pipes.get(pipe)
            if pile is None:
                continue
            pile += chunk
            if pile is said:
                del said[:-_SAID]
        if len(answer) > most:
            raise ChildFailed("it found more than can be listed")
    return bytes(answer), bytes(said)
