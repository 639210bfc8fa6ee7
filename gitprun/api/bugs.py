"""What is kept of an error that is ours: the traceback in a file, and a line that names it."""

from gitprun.system.bugs import write_bug_report

__all__ = ["write_bug_report"]
