"""Plans of units whose workers are shell scripts."""

from __future__ import annotations

from pathlib import Path


def write_plan(folder: Path, units: dict[str, str], settings: str = "") -> Path:
    """Write a plan; each unit's value is the rest of its table."""
    rows = [f'run.verify = ["true"]\nrun.retries = 0\n{settings}\n']
    rows += [f'[[unit]]\nid = "{name}"\nprompt = "do it"\n{rest}\n' for name, rest in units.items()]
    path = folder / "plan.toml"
    path.write_text("\n".join(rows))
    return path


def sh(script: str, more: str = "") -> str:
    """Write the rest of a unit's table: its worker is a shell script."""
    return f"command = [\"sh\", \"-uc\", '''{script}''']\n{more}"
