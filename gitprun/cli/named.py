"""How named workspaces are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitprun.cli.console import age, coloured, safe, table
from gitprun.ledger.events import UnitState


def render_named(units: Sequence[UnitState], now: float) -> str:
    """Lay out named workspaces as a table under a title."""
    rows = []
    for unit in units:
        files = unit.facts.get("files")
        rows.append(
            [
                unit.id,
                coloured(unit.state),
                age(now - unit.since),
                "-" if files is None else str(files),
                unit.verdict or "-",
                safe(str(unit.facts.get("branch", "-"))),
                safe(_note(unit)),
            ]
        )
    head = ["workspace", "state", "age", "files", "verdict", "branch", "note"]
    return f"named workspaces:\n{table(head, rows)}"


def _note(unit: UnitState) -> str:
    """Say in one line what about a workspace deserves a look, else where it is."""
    said = [str(unit.facts["reason"])] if unit.facts.get("reason") else []
    if unit.facts.get("setup") in ("not run", "failed"):
        said.append(f"setup {unit.facts['setup']}")
    if unit.facts.get("left_out"):
        said.append(f"{len(unit.facts['left_out'])} left out (such as {unit.facts['left_out'][0]['path']})")
    if unit.state == "lost":
        said.append("nobody works on it any more")
    return "; ".join(said) or str(unit.facts.get("path", ""))


def named_rows(units: Sequence[UnitState], now: float) -> list[dict[str, Any]]:
    """Give named workspaces as plain values."""
    keys = ("path", "branch", "workspace", "base", "setup", "commit", "ref", "files", "outcome", "log")
    return [
        {
            "name": unit.id,
            "state": unit.state,
            "reason": unit.facts.get("reason", ""),
            "age": round(now - unit.since, 3),
            "verdict": unit.verdict,
            **{key: unit.facts.get(key) for key in keys},
        }
        for unit in units
    ]
