"""What a worker prints as JSON, made into compact lines: the levels, the limits and the compactor."""

from gitprun.executors.compact import DEFAULT_LENGTH, LEVELS, LONGEST_LINE, Compactor

__all__ = ["DEFAULT_LENGTH", "LEVELS", "LONGEST_LINE", "Compactor"]
