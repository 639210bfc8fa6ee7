"""One program and everything it started: its supervisor, its process tree, its output limit, its sandbox."""
