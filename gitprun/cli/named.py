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
        files = unit.files
        rows.append(
            [
                unit.id,
                coloured(unit.state),
                age(now - unit.since),
                "-" if files is None else str(files),
                unit.verdict or "-",
                safe(unit.branch or "-"),
                safe(_note(unit)),
            ]
        )
    head = ["workspace", "state", "age", "files", "verdict", "branch", "note"]
    return f"named workspaces:\n{table(head, rows)}"


def _note(unit: UnitState) -> str:
    """Say in one line what about a workspace deserves a look, else where it is."""
    said = [unit.reason] if unit.reason else []
    if unit.setup in ("not run", "failed"):
        said.append(f"setup {unit.setup}")
    if unit.left_out:
        said.append(f"{len(unit.left_out)} left out (such as {unit.left_out[0].path})")
    if unit.state == "lost":
        said.append("nobody works on it any more")
    return "; ".join(said) or unit.path


def named_rows(units: Sequence[UnitState], now: float) -> list[dict[str, Any]]:
    """Give named workspaces as plain values."""
    return [
        {
            "name": unit.id,
            "state": unit.state,
            "reason": unit.reason,
            "age": round(now - unit.since, 3),
            "verdict": unit.verdict,
            "path": unit.path,
            "branch": unit.branch,
            "workspace": unit.workspace,
            "base": unit.base,
            "setup": unit.setup or None,
            "commit": unit.commit,
            "ref": unit.ref,
            "files": unit.files,
            "outcome": unit.committed or None,
            "log": unit.log or None,
        }
        for unit in units
    ]
