"""A shell script in the place of codex that says one thing the first time it is asked, another the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gitprun.model.names import UnitId
from gitprun.model.units import ExecutorSettings, Unit

STARTED = """printf '%s\\n' '{"type":"thread.started","thread_id":"0199a213-81c0-7800"}' '{"type":"turn.started"}'"""


def events(*rows: dict[str, Any]) -> str:
    """Print events of codex."""
    return "\n".join([STARTED, *(f"cat <<'EOF'\n{json.dumps(row)}\nEOF" for row in rows)])


def failed(message: str) -> str:
    """Fail the turn, as codex does."""
    return events({"type": "turn.failed", "error": {"message": message}}) + "\nexit 1"


def completed(text: str = "") -> str:
    """Complete the turn, with a last message if there is one."""
    said = [{"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": text}}] if text else []
    return events(*said, {"type": "turn.completed", "usage": {}})


def scripted(tmp_path: Path, *steps: str, name: str = "codex", **rest: Any) -> dict[str, ExecutorSettings]:
    """Make the program: its n-th start for a unit takes the n-th step, later ones the last.

    Each start leaves its arguments and its prompt as ``<unit>.<n>.args`` and ``<unit>.<n>.stdin`` in ``tmp_path``.
    """
    cases = "\n".join(f"{n})\n{step}\n;;" for n, step in enumerate(steps, 1))
    program = tmp_path / name
    program.write_text(
        f"""#!/bin/sh
set -eu
n=1
while ! mkdir {tmp_path}/$PRUN_UNIT.$n 2>/dev/null; do n=$((n+1)); done
printf '%s\\n' "$@" >{tmp_path}/$PRUN_UNIT.$n.args
cat >{tmp_path}/$PRUN_UNIT.$n.stdin
[ $n -le {len(steps)} ] || n={len(steps)}
case $n in
{cases}
esac
"""
    )
    program.chmod(0o755)
    return {name: ExecutorSettings(program=str(program), **rest)}


def codex(unit_id: str, **rest: Any) -> Unit:
    """Make a unit for codex."""
    return Unit(id=UnitId(unit_id), prompt="Do it.\n", executor="codex", timeout=60.0, **rest)


def starts(tmp_path: Path, unit: str) -> int:
    """Count how often the program was started for a unit."""
    return len(list(tmp_path.glob(f"{unit}.*.args")))
