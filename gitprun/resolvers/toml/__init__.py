"""TOML files, merged by key; lock files in TOML, merged by package."""

from __future__ import annotations

from gitprun.resolvers.base import Kind
from gitprun.resolvers.toml.check import find_toml_faults
from gitprun.resolvers.toml.locks import COMMANDS, find_lock_faults, merge_lock
from gitprun.resolvers.toml.resolve import merge_toml

# Locks first: a lock's refusal names the command that makes it anew, and ends the cascade before "toml" guesses.
KINDS: tuple[Kind, ...] = (
    Kind(
        "lock",
        files=tuple(COMMANDS),
        resolvers=(merge_lock,),
        faults=find_lock_faults,
    ),
    Kind(
        "toml",
        files=("*.toml", "Pipfile"),
        resolvers=(merge_toml,),
        faults=find_toml_faults,
    ),
)
