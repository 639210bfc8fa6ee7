"""What a landing changed in ``prun.toml``: accepted by name it is approved with it, else it is asked before its use."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from gitprun.git.repo import Repository
from gitprun.git.trees import REGULAR, read_blob, tree_of
from gitprun.landing.context import LandingContext
from gitprun.landing.own_check import covers
from gitprun.model.errors import PlanError, PrunError
from gitprun.model.names import Oid
from gitprun.model.powers import changed_powers
from gitprun.system.config import CONFIG_NAME, parse_toml
from gitprun.workspaces.trust import record_trust, untrusted


def approve(repository: Repository, site: LandingContext, new: Oid) -> None:
    """Remember that the user accepted what ``new`` says in prun.toml; name what it says that nobody approved."""
    old, now = (read_document(site, tree) for tree in (site.old_tree, tree_of(site.repo, new)))
    powers = [power for power in changed_powers(old, now) if power.asked and power.value]
    if powers and covers(site.options.accept, CONFIG_NAME):
        # It has landed already; what cannot be written down is asked for later.
        with contextlib.suppress(PrunError, OSError):
            record_trust(repository, powers)
    left = untrusted(repository, powers)
    if left:
        keys = ", ".join(power.key for power in left)
        site.note(f"{CONFIG_NAME} names programs or walls that you have not approved yet ({keys}): git prun trust")


def read_document(site: LandingContext, tree: Oid) -> Mapping[str, Any]:
    """Return what the prun.toml of a tree says; nothing where there is none, or none that can be read."""
    found = site.trees.find(tree, CONFIG_NAME.encode())
    if found is None or found[0] not in REGULAR:
        return {}
    try:
        return parse_toml(read_blob(site.repo, found[1]))
    except PlanError:
        return {}
