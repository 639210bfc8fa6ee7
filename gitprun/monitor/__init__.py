"""Tick after tick: what the units do, with flags for what deserves a look."""
