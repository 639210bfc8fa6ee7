"""Run independent pieces of work in parallel, each in a workspace of its own, and land the results."""

__version__ = "0.2.0"
