"""Finish what a killed command left of a named workspace half done, before anything else is done with it."""

from __future__ import annotations

from gitprun.git.repo import Repository
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.registry.move import recover_move
from gitprun.registry.reset import recover_reset


def recover_workspace(repository: Repository, ledger: Ledger, unit: UnitState) -> UnitState:
    """Finish a move or a reset that broke off; call it with the workspace for oneself. Gives it as it is now."""
    return recover_reset(repository, ledger, recover_move(repository, ledger, unit))
