"""JSON and its relatives, and tables of records: read without loss, merged by key."""

from __future__ import annotations

from gitprun.model.globs import matches
from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.json import csv, package, records
from gitprun.resolvers.json.faults import json_faults, lenient_faults
from gitprun.resolvers.json.resolve import resolve_json

# Files whose readers allow comments and trailing commas, whatever their names say.
LENIENT = (
    "*.jsonc",
    "tsconfig*.json",
    "jsconfig*.json",
    "**/.vscode/*.json",
    "*.code-workspace",
    "*.code-snippets",
    "devcontainer.json",
    ".devcontainer.json",
    ".eslintrc",
    ".eslintrc.json",
    ".babelrc",
    ".swcrc",
    ".jshintrc",
    "deno.json",
    "turbo.json",
    "biome.json",
    "api-extractor.json",
)
# The readers of these refuse comments, so a merge that brings one in is a fault.
STRICT = ("*.json", ".prettierrc", "*.webmanifest", "*.geojson", ".arcconfig", ".watchmanconfig")


def merge_json(conflict: FileConflict) -> Resolved | Refused:
    """Merge JSON by key at every depth."""
    # "*.json" matches these too. Merged by key alone, a lock would pass that lacks what its manifest asks for.
    if conflict.path.rpartition("/")[2] in (*package.MANIFESTS, *package.LOCKS):
        return Refused("npm's files have a kind of their own")
    return resolve_json(conflict, "json")


def strict_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a JSON file, unless its reader is a lenient one."""
    return lenient_faults(path, text) if _is_lenient(path) else json_faults(path, text)


def _is_lenient(path: str) -> bool:
    return any(matches(pattern, path) for pattern in LENIENT)


# Each resolver below compares what every entry, cell and comment of its merge means with the three versions.
KINDS: tuple[Kind, ...] = (
    # npm's own files come first: the most specific kind decides, and its refusal ends the cascade.
    Kind("package-json", package.MANIFESTS, (package.merge_manifest,), package.manifest_faults, words=False),
    Kind("package-lock", package.LOCKS, (package.merge_lock,), package.lock_faults, words=False),
    Kind("json", (*LENIENT, *STRICT), (merge_json,), strict_faults, words=False),
    Kind(records.NAME, records.FILES, (records.merge_records,), records.record_faults, words=False),
    Kind(csv.NAME, csv.FILES, (csv.merge_table,), csv.table_faults, words=False),
)
