"""Units at work."""
