"""Is it green: which checks a workspace has, and what they said."""
