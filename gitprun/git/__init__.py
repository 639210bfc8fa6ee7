"""The one door to the repository."""
