"""Putting things back, bringing them back, and pruning what is no longer needed."""
