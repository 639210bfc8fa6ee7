"""How published values become JSON, and the JSON Schemas that say what a program may rely on."""

from __future__ import annotations

import dataclasses
import importlib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from pathlib import Path

# What JSON can say. A mapping or sequence of it stays readable only: nobody changes what was published.
Json = None | bool | int | float | str | Mapping[str, "Json"] | Sequence["Json"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# A later number means that a key went or means something else; keys that are only added keep the number.
FORMAT = 1

# Every document that is printed, by the name in its envelope. Classes are named, not imported: to print one document
# must not cost the import of all of them.
DOCUMENTS: Mapping[str, str] = {
    "error": "gitprun.api.refusals:Failure",
    "status": "gitprun.api.values:Status",
    "unit": "gitprun.api.details:UnitDetails",
    "event": "gitprun.api.events:LedgerEvent",
    "unit-event": "gitprun.api.events:UnitEvent",
    "reconcile": "gitprun.api.outcomes:Reconciled",
    "stop": "gitprun.api.outcomes:Stopped",
    "verify": "gitprun.api.outcomes:RunChecked",
    "verify-commit": "gitprun.api.outcomes:CommitChecked",
    "verify-difference": "gitprun.api.outcomes:DifferenceChecked",
    "collect": "gitprun.api.outcomes:Collected",
    "merge": "gitprun.api.landings:Landing",
    "forecast": "gitprun.api.forecasts:LandingForecast",
    "undo": "gitprun.api.undone:Undone",
    "landings": "gitprun.api.undone:LandingHistory",
    "undo-drift": "gitprun.api.undone:DriftUndone",
    "resolutions": "gitprun.api.undone:OpenResolutions",
    "resolution": "gitprun.api.undone:ResolutionReport",
    "tick": "gitprun.api.ticks:MonitorTick",
    "new": "gitprun.api.workspaces:NewWorkspace",
    "workspaces": "gitprun.api.workspaces:Workspaces",
    "adopt": "gitprun.api.workspaces:AdoptedWorkspace",
    "adopt-moved": "gitprun.api.workspaces:MovedWorkspace",
    "reset": "gitprun.api.workspaces:ResetWorkspace",
    "remove": "gitprun.api.workspaces:RemovedWorkspaces",
    "gc": "gitprun.api.workspaces:GarbageCollected",
    "pinned": "gitprun.api.workspaces:Pinned",
    "ignored": "gitprun.api.workspaces:KeptIgnored",
    "restored": "gitprun.api.workspaces:RestoredWork",
    "restored-files": "gitprun.api.workspaces:RestoredFiles",
    "ledger": "gitprun.api.workspaces:LedgerChecked",
    "gather-start": "gitprun.api.ticks:GatherStart",
    "gather-done": "gitprun.api.ticks:GatherDone",
    "gather-timeout": "gitprun.api.ticks:GatherTimeout",
}


def schema_id(name: str) -> str:
    """Return what the key ``schema`` of a document says."""
    return f"gitprun.{name}/{FORMAT}"


def envelope(name: str, value: object) -> dict[str, Json]:
    """Return a document as plain values, beginning with the key ``schema``; raises KeyError for an unknown name."""
    if name not in DOCUMENTS:
        raise KeyError(name)
    said = to_json(value)
    if not isinstance(said, Mapping):
        raise TypeError(f"{name} is no object")
    return {"schema": schema_id(name), **said}


def to_json(value: object) -> Json:
    """Return a published value as plain values; raises TypeError for what is none."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        # A subclass (a note that is good news) is a text like any other to programs.
        return str(value)
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        rows = ((_key(field), getattr(value, field.name), field) for field in fields(value))
        return {key: to_json(item) for key, item, field in rows if _is_said(field, item)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    raise TypeError(f"{type(value).__name__} is no published value")


def plain(facts: Mapping[str, object]) -> dict[str, Json]:
    """Return facts as plain values; raises TypeError for what is none."""
    return {key: to_json(value) for key, value in facts.items()}


def _key(field: Field[typing.Any]) -> str:
    key = field.metadata.get("key", field.name)
    assert isinstance(key, str)
    return key


def _is_said(field: Field[typing.Any], value: object) -> bool:
    if field.metadata.get("private"):
        return False
    return not field.metadata.get("optional") or value not in (None, "", (), {}, False)


# Keys that were left out where there was nothing to say before there were schemas stay left out: scripts test for them.
OPTIONAL: Mapping[str, object] = {"optional": True}
# What only the front end needs, such as whether a note is good news; no key of the document.
PRIVATE: Mapping[str, object] = {"private": True}


def document_class(name: str) -> type:
    """Import the class of a document."""
    module, _, attribute = DOCUMENTS[name].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    assert isinstance(found, type)
    return found


def json_schema(name: str) -> dict[str, Json]:
    """Return the JSON Schema of one document, with the dataclasses it is made of under ``$defs``."""
    defs: dict[str, Json] = {}
    cls = document_class(name)
    body = _object(cls, defs)
    properties = body["properties"]
    required = body["required"]
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    return {
        "$schema": DIALECT,
        "$id": schema_id(name),
        "title": cls.__name__,
        **body,
        "properties": {"schema": {"const": schema_id(name)}, **properties},
        "required": ["schema", *required],
        **({"$defs": dict(sorted(defs.items()))} if defs else {}),
    }


def _object(cls: type, defs: dict[str, Json]) -> dict[str, Json]:
    """Describe a dataclass; keys that may come later are no error, so nothing is said about others."""
    hints = typing.get_type_hints(cls, _namespace())
    # No cast says that a class is one of dataclasses; the assertion does.
    assert dataclasses.is_dataclass(cls)
    shown = [field for field in fields(cls) if not field.metadata.get("private")]
    about = " ".join((cls.__doc__ or "").split())
    return {
        "description": about,
        "type": "object",
        "properties": {_key(field): _describe(hints[field.name], defs) for field in shown},
        "required": [_key(field) for field in shown if not field.metadata.get("optional")],
    }


def _namespace() -> dict[str, object]:
    """Return all names of the modules of values: they import each other for types only, to cost a command nothing."""
    modules = {place.partition(":")[0] for place in DOCUMENTS.values()} | {"gitprun.api.rows", "gitprun.model.findings"}
    return {key: value for name in sorted(modules) for key, value in vars(importlib.import_module(name)).items()}


_PLAIN: Mapping[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    Path: "string",
    types.NoneType: "null",
}


def _describe(hint: typing.Any, defs: dict[str, Json]) -> dict[str, Json]:
    """Describe one type of a field."""
    if isinstance(hint, typing.NewType):
        hint = hint.__supertype__
    if hint in (Json, object) or isinstance(hint, typing.ForwardRef):
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and is_dataclass(hint):
        if hint.__name__ not in defs:
            # Noted before it is described: a value may hold others of its own kind.
            defs[hint.__name__] = {}
            defs[hint.__name__] = _object(hint, defs)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return _compound(hint, typing.get_origin(hint), typing.get_args(hint), defs)


def _compound(hint: object, origin: object, args: tuple[typing.Any, ...], defs: dict[str, Json]) -> dict[str, Json]:
    """Describe a type that is made of others."""
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin in (types.UnionType, typing.Union):
        # Only Json holds sequences, which may be anything inside: that is what an empty schema says.
        if any(typing.get_origin(arg) is Sequence for arg in args):
            return {}
        return _one_of([_describe(arg, defs) for arg in args])
    if origin is tuple and len(args) == 2 and args[1] is ...:
        return {"type": "array", "items": _describe(args[0], defs)}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_describe(arg, defs) for arg in args], "items": False}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        inner = _describe(args[1], defs)
        return {"type": "object", **({"additionalProperties": inner} if inner else {})}
    raise TypeError(f"{hint} has no place in a published value")


def _one_of(described: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """Join alternatives: several plain types as a list of types, as people write it."""
    if all(list(one) == ["type"] for one in described):
        return {"type": [one["type"] for one in described]}
    return {"anyOf": list(described)}
