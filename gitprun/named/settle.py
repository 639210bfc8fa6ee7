"""Finish what a killed command left of a named workspace half done, before anything else is done with it."""

from __future__ import annotations

from gitprun.git.repo import Repository
from gitprun.keep.move import settle_move
from gitprun.named.reset import settle_reset
from gitprun.runs.events import UnitState
from gitprun.runs.ledger import Ledger


def settle_named(repository: Repository, ledger: Ledger, unit: UnitState) -> UnitState:
    """Finish a move or a reset that broke off; call it with the workspace for oneself. Gives it as it is now."""
    return settle_reset(repository, ledger, settle_move(repository, ledger, unit))
