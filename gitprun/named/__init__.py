"""Named workspaces: places of their own, outside of any run, that a person or ``git prun exec`` works in."""
