"""Resolvers: one kind of file a module, each a pure function from a conflict to a proved text or a refusal."""
