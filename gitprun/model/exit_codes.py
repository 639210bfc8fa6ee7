"""The exit codes of ``git prun``, in one place: git's own where git has one."""

from __future__ import annotations

from typing import Final

# The answer is no: the question was understood, and the operation not done.
EXIT_NO: Final = 1
# Not yet: whoever asks in a loop goes on asking.
EXIT_NOT_YET: Final = 2
# What is asked about is not there, or the words make no sense: the seeds' scripts end like this, and callers test it.
EXIT_SEED: Final = 2
# A bug of ours, as sysexits.h numbers it: no code of git's or of a check means that.
EXIT_BUG: Final = 70
# Git's die(): it cannot be done.
EXIT_CANNOT: Final = 128
# Git's usage(): the words make no sense.
EXIT_USAGE: Final = 129
