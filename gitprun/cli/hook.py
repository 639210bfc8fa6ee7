"""``python -m gitprun.cli.hook``: what installed hooks start, without the start of the whole command line."""

from __future__ import annotations

import sys

from gitprun.api.worker_hooks import run_hook

__all__ = ["run_hook"]

if __name__ == "__main__":
    sys.exit(run_hook(sys.argv[1:]))
