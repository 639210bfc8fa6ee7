"""The published schemas: written anew, and held against what commands print, with no key that they do not name."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from gitprun.api.schema import DOCUMENTS, Json, json_schema
from tests.support.cli import ROOT

FOLDER = ROOT / "references" / "schemas"
# The facts of an event stand beside its own keys: their names depend on its kind.
OPEN = ("unit-event",)


def write_schemas(folder: Path = FOLDER) -> None:
    """Write every schema, one a file."""
    folder.mkdir(exist_ok=True)
    for name in DOCUMENTS:
        (folder / f"{name}.json").write_text(json.dumps(json_schema(name), indent=2) + "\n")


def strict(schema: Mapping[str, Json]) -> dict[str, Any]:
    """Return a schema that lets no key pass which it does not name, however deep."""
    said: dict[str, Any] = copy.deepcopy(dict(schema))
    for row in (said, *said.get("$defs", {}).values()):
        row["additionalProperties"] = False
    return said


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((FOLDER / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema if name in OPEN else strict(schema))


def check(row: Mapping[str, Json]) -> None:
    """Raise ValidationError unless a document is what the schema that it names says."""
    _validator(str(row["schema"]).removeprefix("gitprun.").partition("/")[0]).validate(row)


if __name__ == "__main__":
    write_schemas(*map(Path, sys.argv[1:]))
