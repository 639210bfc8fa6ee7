"""One look at the repository and at workspaces, for the monitor, for drift and for capture."""
