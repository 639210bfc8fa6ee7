"""What each policy knows: patterns of paths, and how files of that kind are aligned."""

from __future__ import annotations

from functools import partial
from typing import Final

import gitprun.resolvers.policies.manifests as manifests
from gitprun.model.globs import matches
from gitprun.resolvers.base import FileConflict, Refused
from gitprun.resolvers.policies.aligned import Aligner
from gitprun.resolvers.policies.pins import PinReader, Scheme, align_pins

_PINS: Final[tuple[tuple[tuple[str, ...], Scheme, PinReader], ...]] = (
    (("package.json",), manifests.NPM, manifests.package_pins),
    (("Cargo.toml",), manifests.CARGO, manifests.cargo_pins),
    (("pyproject.toml",), manifests.PYPROJECT, manifests.pyproject_pins),
    (
        ("*requirements*.txt", "*constraints*.txt", "requirements*.in", "constraints*.in", "**/requirements/*"),
        manifests.PIP,
        manifests.requirement_pins,
    ),
    (
        ("**/.github/workflows/*.yml", "**/.github/workflows/*.yaml", "action.yml", "action.yaml"),
        manifests.TAG,
        manifests.action_pins,
    ),
    (
        ("Dockerfile", "Dockerfile.*", "*.dockerfile", "*.Dockerfile", "Containerfile", "Containerfile.*"),
        manifests.TAG,
        manifests.image_pins,
    ),
)


def version_aligner(path: str) -> Aligner | None:
    """Return what brings the versions in a file together; None for a file of another kind."""
    # Blocks and "// indirect" have a meaning there, so it is aligned by its own reader.
    if _is_any(("go.mod",), path):
        return _align_modules
    return next((partial(align_pins, scheme, read) for files, scheme, read in _PINS if _is_any(files, path)), None)


def number_aligner(path: str) -> Aligner | None:
    """Return what takes the numbers in a file apart; None for a file of another kind."""
    if _is_any(("*.proto",), path):
        return _align_fields
    if _is_any(("*.csv", "*.tsv"), path):
        return _align_table
    if _is_any(("*.jsonl", "*.ndjson"), path):
        return _align_records
    # Last, for its patterns are those of languages, whose rows are loaded with it.
    from gitprun.resolvers.policies.enums import ENUM_FILES, align_members

    return align_members if _is_any(ENUM_FILES, path) else None


def _align_modules(conflict: FileConflict) -> FileConflict | Refused:
    from gitprun.resolvers.listed.gomod import align_requirements

    return align_requirements(conflict)


def _align_fields(conflict: FileConflict) -> FileConflict | Refused:
    from gitprun.resolvers.blocks.proto_renumber import align_numbers

    return align_numbers(conflict)


def _align_table(conflict: FileConflict) -> FileConflict | Refused:
    from gitprun.resolvers.policies.ledgers import align_table

    return align_table(conflict)


def _align_records(conflict: FileConflict) -> FileConflict | Refused:
    from gitprun.resolvers.policies.ledgers import align_records

    return align_records(conflict)


def _is_any(patterns: tuple[str, ...], path: str) -> bool:
    """Check whether a pattern names the file itself, not a folder above it."""
    # A plain name as a pattern matches a folder of that name as well, with all that is in it.
    name = path.rpartition("/")[2]
    return any(matches(pattern, path if "/" in pattern else name) for pattern in patterns)
