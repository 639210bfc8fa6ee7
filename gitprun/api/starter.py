"""The ``prun.toml`` that ``git prun init`` writes: what was found is said, all else stands there as a comment."""

from __future__ import annotations

import json
from collections.abc import Sequence

_TEMPLATE = """\
# Settings of git prun for this repository. Every line can go; references/plan-file.md tells all keys.

[run]
# What proves that work is good; shell text, all of it is run. Without it the checks are looked for in each workspace.
{verify}
# jobs = 4                       # how many workers run at once

[workspace]
# Where workspaces go; default: {default}
{root}
# What of your checkout a workspace needs and git does not know; it can never be committed.
{copy}
{link}
# Commands that make a fresh workspace ready. You are asked once before they are run.
{setup}

# [executor.codex]
# program = "codex"
# args = ["-c", "model_reasoning_effort=\\"high\\""]

# Files that many units touch; a union is made only where it can be proved.
{hotspots}
"""


def render(
    *,
    verify: Sequence[str],
    root: str | None,
    default: str,
    copy: Sequence[str],
    link: Sequence[str],
    setup: Sequence[str],
    hotspots: Sequence[str],
) -> str:
    """Write the file; empty lists become examples in comments."""
    rows = [f'# [[hotspot]]\n# path = {_text(path)}\n# policy = "union"' for path in hotspots or ("src/routes.ts",)]
    return _TEMPLATE.format(
        verify=_list("verify", verify, '["pytest -q"]'),
        root=f"root = {_text(root)}" if root else '# root = "../somewhere"',
        default=default,
        copy=_list("copy", copy, '[".env"]'),
        link=_list("link", link, '["node_modules"]'),
        setup=_list("setup", setup, '["npx prisma generate"]'),
        hotspots="\n".join(rows),
    )


def _list(key: str, values: Sequence[str], example: str) -> str:
    if not values:
        return f"# {key} = {example}"
    return f"{key} = [{', '.join(map(_text, values))}]"


def _text(value: str) -> str:
    """Write a TOML text: a JSON text is one, but for DEL and for characters beyond 16 bits as escapes."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
