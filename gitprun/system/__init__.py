"""The machine's files and time."""
