"""Bringing branches home: chosen, built in memory, checked, moved, taken back."""
