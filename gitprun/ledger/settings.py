"""What a run was asked for, kept so that another process can go on with it; no value of an environment is kept.

``<state>/runs/<run>/settings.json`` holds the settings and the units, ``task.md`` in each unit's folder its prompt.
Environments and arguments of executors may hold credentials, so they are read again from where the user keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from gitprun.ledger.events import RunState
from gitprun.model.errors import OperationRefused
from gitprun.model.names import UnitId
from gitprun.model.plan import Plan, Settings
from gitprun.model.units import ExecutorSettings, Unit
from gitprun.system.config import read_plan_settings, read_settings
from gitprun.system.files import read_plain, write_whole

FILE = "settings.json"
# Raised where an older version would misread the file; it then refuses to resume instead.
FORMAT = 1
# A unit takes about a kilobyte without its prompt: what is larger is damaged, and not read into memory.
MAX_FILE = 16_000_000
# Whole files may be pasted into a prompt; no model reads as much as this.
MAX_PROMPT = 64_000_000
# Hotspots are read where they are used; executors see above. What the file named then was let then.
_APART = ("executors", "hotspots", "hotspot_source", "powers")
KEPT = tuple(field.name for field in fields(Settings) if field.name not in _APART)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What is known of a run's plan: ``revision`` what its later attempts start from, ``plan_file`` where it lay.

    ``executors`` tells for each what was set, by the names of its variables and the number of its arguments.
    """

    revision: str
    settings: Settings
    units: tuple[Unit, ...]
    plan_file: str | None
    executors: Mapping[str, Mapping[str, Any]]


def remember(folder: Path, plan: Plan, revision: str) -> None:
    """Write down what a run was asked for; its units' prompts are written apart."""
    settings = {name: getattr(plan.settings, name) for name in KEPT}
    executors = {
        name: {"program": row.program is not None, "args": len(row.args), "env": sorted(key for key, _ in row.env)}
        for name, row in plan.settings.executors.items()
    }
    record = {
        "v": FORMAT,
        "revision": revision,
        # Absolute, since the command that resumes may be called in another folder.
        "plan_file": str(Path(plan.files[0]).resolve()) if plan.files else None,
        "settings": settings,
        "executors": executors,
        # The prompt lies beside it as its worker got it, and would be in two places.
        "units": [{key: value for key, value in asdict(unit).items() if key != "prompt"} for unit in plan.units],
    }
    write_whole(folder / FILE, json.dumps(record, indent=1).encode() + b"\n")


def recall(state: Path, run: RunState) -> Remembered:
    """Read what a run was asked for; raises Refused where it cannot be told."""
    folder = state / "runs" / run.id
    try:
        record = json.loads(read_plain(folder / FILE, MAX_FILE) or b"{}")
        if record.get("v") != FORMAT:
            raise ValueError(f"format {record.get('v')}")
        return Remembered(
            revision=str(record["revision"]),
            settings=Settings(**{name: _tuple(record["settings"].get(name)) for name in KEPT}),
            units=tuple(_unit(folder, spec) for spec in record["units"]),
            plan_file=record["plan_file"],
            executors=record["executors"],
        )
    # JSON nested too deeply ends in a RecursionError, and no ValueError.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise OperationRefused(
            f"what run {run.id} was asked for cannot be read from {folder / FILE}",
            "start its units anew with git prun run PLAN; git prun show UNIT shows what is kept of them",
        ) from None


def _unit(folder: Path, spec: Mapping[str, Any]) -> Unit:
    name = UnitId(str(spec["id"]))
    prompt = read_plain(folder / name / "task.md", MAX_PROMPT)
    if prompt is None:
        raise KeyError(name)
    # A later version may have written fields of units that this one has none for.
    known = {field.name for field in fields(Unit)}
    rest = {key: _tuple(value) for key, value in spec.items() if key in known}
    # A prompt that is no UTF-8 comes back byte for byte.
    return Unit(**{**rest, "prompt": prompt.decode("utf-8", "surrogateescape")})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def reread_executors(kept: Remembered, top: Path | None) -> tuple[Settings, tuple[str, ...]]:
    """Read the executors' settings again; returns the whole settings, and the files they come from.

    Raises OperationRefused where the plan file is gone and something it set for an executor of this run with it.
    """
    default, files = read_settings(top), []
    settings = default
    if kept.plan_file is not None and Path(kept.plan_file).is_file():
        settings = read_plan_settings(Path(kept.plan_file), default)
        files.append(kept.plan_file)
    elif kept.plan_file is not None:
        _require_same(kept, default)
    executors = {unit.executor: settings.executors.get(unit.executor) for unit in kept.units}
    if default.executors and any(executors.values()):
        files.append("prun.toml")
    powers = tuple(power for power in settings.powers if power.executor)
    again = replace(kept.settings, executors=settings.executors, powers=powers)
    return again, tuple(files) if any(executors.values()) else ()


def _require_same(kept: Remembered, settings: Settings) -> None:
    for name in sorted({unit.executor for unit in kept.units}):
        then, now = kept.executors.get(name, {}), settings.executors.get(name, ExecutorSettings())
        gone = sorted(set(then.get("env", ())) - {key for key, _ in now.env})
        # Fewer arguments or variables than then: the rest was set by the file that is gone.
        if gone or then.get("args", 0) > len(now.args) or (then.get("program") and now.program is None):
            what = f" ({', '.join(gone)})" if gone else ""
            raise OperationRefused(
                f"the settings of {name}{what} were in {kept.plan_file}, which is not there any more",
                "put the file back: prun keeps no copy of arguments and environments, they may hold credentials",
            )
