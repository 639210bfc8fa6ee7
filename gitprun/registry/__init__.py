"""Which workspaces there are, for runs and for people: made, taken in, moved, reset, removed."""
