"""The public Python interface: ``Repo`` and ``merge_text``; see references/api.md.

Names are imported when they are first used: to import this package costs next to nothing, and to use one part of it
only that part.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitprun.api.checking import CheckRequest, NothingToCheck
    from gitprun.api.details import UnitDetails
    from gitprun.api.events import LedgerEvent
    from gitprun.api.forecasts import LandingForecast
    from gitprun.api.landings import LandedBranch, Landing
    from gitprun.api.opened import Notice
    from gitprun.api.outcomes import (
        Collected,
        CommitChecked,
        DifferenceChecked,
        Reconciled,
        RunChecked,
        Stopped,
        UnitChecked,
    )
    from gitprun.api.places import WorkspaceRequest
    from gitprun.api.plans import RunOptions
    from gitprun.api.repo import Repo
    from gitprun.api.resolving import Finished, ResolveRequest
    from gitprun.api.rows import HeldStatus
    from gitprun.api.running import BackgroundRun
    from gitprun.api.schema import Json, envelope, json_schema, to_json
    from gitprun.api.settings import MergeRequest
    from gitprun.api.stopping import Stop
    from gitprun.api.text import Merged, Refused, merge_text
    from gitprun.api.undone import DriftUndone, LandingHistory, OpenedBranch, Undone
    from gitprun.api.values import RunStatus, Status, UnitStatus
    from gitprun.api.workspaces import GarbageCollected, LedgerChecked, Pinned, Workspaces, WorkspaceStatus
    from gitprun.model.errors import OperationRefused, PlanError, PrunError, UsageProblem
    from gitprun.model.names import UnitId
    from gitprun.model.plan import Plan, Settings
    from gitprun.model.units import Unit

_HOMES = {
    "checking": ("CheckRequest", "NothingToCheck"),
    "forecasts": ("LandingForecast",),
    "landings": ("LandedBranch", "Landing"),
    "opened": ("Notice",),
    "outcomes": (
        "Collected",
        "CommitChecked",
        "DifferenceChecked",
        "Reconciled",
        "RunChecked",
        "Stopped",
        "UnitChecked",
    ),
    "places": ("WorkspaceRequest",),
    "plans": ("RunOptions",),
    "repo": ("Repo",),
    "resolving": ("Finished", "ResolveRequest"),
    "running": ("BackgroundRun",),
    "schema": ("Json", "envelope", "json_schema", "to_json"),
    "settings": ("MergeRequest",),
    "stopping": ("Stop",),
    "text": ("Merged", "Refused", "merge_text"),
    "undone": ("DriftUndone", "LandingHistory", "OpenedBranch", "Undone"),
    "details": ("UnitDetails",),
    "events": ("LedgerEvent",),
    "rows": ("HeldStatus",),
    "values": ("RunStatus", "Status", "UnitStatus"),
    "workspaces": ("GarbageCollected", "LedgerChecked", "Pinned", "Workspaces", "WorkspaceStatus"),
}
_MODEL = {
    "errors": ("OperationRefused", "PlanError", "PrunError", "UsageProblem"),
    "names": ("UnitId",),
    "plan": ("Plan", "Settings"),
    "units": ("Unit",),
}
_WHERE = {name: f"gitprun.api.{module}" for module, names in _HOMES.items() for name in names} | {
    name: f"gitprun.model.{module}" for module, names in _MODEL.items() for name in names
}

__all__ = [
    "BackgroundRun",
    "CheckRequest",
    "Collected",
    "CommitChecked",
    "DifferenceChecked",
    "DriftUndone",
    "Finished",
    "GarbageCollected",
    "HeldStatus",
    "Json",
    "LandedBranch",
    "Landing",
    "LandingForecast",
    "LandingHistory",
    "LedgerChecked",
    "LedgerEvent",
    "MergeRequest",
    "Merged",
    "NothingToCheck",
    "Notice",
    "OpenedBranch",
    "OperationRefused",
    "Pinned",
    "Plan",
    "PlanError",
    "PrunError",
    "Reconciled",
    "Refused",
    "Repo",
    "ResolveRequest",
    "RunChecked",
    "RunOptions",
    "RunStatus",
    "Settings",
    "Status",
    "Stop",
    "Stopped",
    "Undone",
    "Unit",
    "UnitChecked",
    "UnitDetails",
    "UnitId",
    "UnitStatus",
    "UsageProblem",
    "WorkspaceRequest",
    "WorkspaceStatus",
    "Workspaces",
    "envelope",
    "json_schema",
    "merge_text",
    "to_json",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the public names, whether they were used or not."""
    return sorted(__all__)
