"""Git programs connected by pipes of the system's: what they pass on never lies in our memory."""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Callable

from gitprun.git.command import Git, Running
from gitprun.git.limits import DEFAULT_TIMEOUT, GitWait
from gitprun.model.errors import GitFailed, GitTimeout

# What a pipe of Linux holds.
_CHUNK = 1 << 16
# So much of what a program complains about is kept; a hostile object can make it complain without end.
MOST_SAID = 1 << 15

Stage = tuple[Git, tuple[str | bytes, ...]]


def pipe(
    *stages: Stage,
    stdin: bytes = b"",
    sink: Callable[[bytes], None] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> None:
    """Run git programs, each reading what the one before writes; ``sink`` is given what the last one writes.

    Raises GitFailed for the one that broke the pipe, GitTimeout after ``timeout`` seconds, and whatever ``sink``
    raises; none of them runs on then.
    """
    patience = GitWait(tuple(os.fsdecode(word) for word in stages[-1][1]), timeout)
    running: list[Running] = []
    try:
        for git, args in stages:
            source = running[-1].process.stdout if running else None
            running.append(git.start(*args, source=source))
            if source is not None:
                # Or the first one would never hear that the second one ended.
                source.close()
        said = _pump(running, stdin, sink, patience)
        codes = [one.await_end(patience) for one in running]
    except GitTimeout as problem:
        words = [word for one in running for word in one.give_up(harsh=patience.urgent)]
        raise running[-1].told(problem, tuple(words)) from None
    finally:
        for one in running:
            one.end()
            for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
                if stream is not None:
                    _close(stream.close)
    broken = [n for n, code in enumerate(codes) if code != 0]
    # Who is ended by a broken pipe is not who broke it.
    guilty = [n for n in broken if codes[n] not in (-signal.SIGPIPE, 128 + signal.SIGPIPE)] or broken
    if guilty:
        raise GitFailed(running[guilty[0]].shown, codes[guilty[0]], said[guilty[0]].decode("utf-8", "replace"))


def _pump(
    running: list[Running], stdin: bytes, sink: Callable[[bytes], None] | None, patience: GitWait
) -> list[bytearray]:
    """Feed the first, hear the last, and keep the beginning of what each of them complains about."""
    said = [bytearray() for _ in running]
    first, last = running[0].process.stdin, running[-1].process.stdout
    assert first is not None
    assert last is not None
    left = memoryview(stdin)
    with selectors.DefaultSelector() as waiting:
        if left:
            # A blocking write would wait for a reader that may itself wait for us to read.
            os.set_blocking(first.fileno(), False)
            waiting.register(first, selectors.EVENT_WRITE)
        else:
            _close(first.close)
        waiting.register(last, selectors.EVENT_READ)
        for one, words in zip(running, said, strict=True):
            if one.process.stderr is not None:
                waiting.register(one.process.stderr, selectors.EVENT_READ, words)
        while waiting.get_map():
            ready = waiting.select(patience.slice)
            patience.require_time()
            for key, _ in ready:
                if key.fileobj is first:
                    left = left[_write(first.fileno(), left) :]
                    if not left:
                        waiting.unregister(first)
                        _close(first.close)
                    continue
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    waiting.unregister(key.fileobj)
                elif key.fileobj is last:
                    if sink is not None:
                        sink(chunk)
                else:
                    key.data.extend(chunk[: MOST_SAID - len(key.data)])
    return said


def _write(descriptor: int, content: memoryview) -> int:
    """Write what fits; who does not listen any more is given the rest all the same."""
    try:
        return os.write(descriptor, content[:_CHUNK])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(content)


def _close(close: Callable[[], None]) -> None:
    try:
        close()
    # To close flushes, and nobody may be there any more to read that.
    except OSError:
        return
