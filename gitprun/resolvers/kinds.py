"""Every kind of file that has a resolver of its own, the most specific first; loaded when a path asks for it."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Final

from gitprun.model.globs import Patterns, matches
from gitprun.resolvers.base import SIZE_LIMIT, Kind, no_faults
from gitprun.resolvers.index import INDEX

# Families with the table of theirs that counts here.
# The first family that knows a path is the most specific: a package-lock.json is JSON too, and last of all a file
# that is one only by its looks.
FAMILIES: Final[tuple[tuple[str, str], ...]] = (
    ("listed", "KINDS"),
    ("blocks", "KINDS"),
    ("json", "KINDS"),
    ("toml", "KINDS"),
    ("yaml", "KINDS"),
    ("syntax", "KINDS"),
    ("listed", "FALLBACKS"),
)


def load_family(family: str, table: str) -> tuple[Kind, ...]:
    """Import a family; return one of its tables."""
    kinds: tuple[Kind, ...] = getattr(import_module(f"gitprun.resolvers.{family}"), table)
    return kinds


def all_kinds() -> tuple[Kind, ...]:
    """Load every family."""
    return tuple(kind for family, table in FAMILIES for kind in load_family(family, table))


# Grammars are an extra: what there is to type where one is missing.
GRAMMARS_HINT: Final = "pip install 'gitprun[grammars]'"
# Program texts that no kind reads. Of prose and data nobody expects that more than their lines is looked at.
_ENDINGS: Final = (
    ".adb .ads .applescript .asm .astro .awk .bat .clj .cljc .cljs .cls .cmd .coffee .cr .d .elm .erl .f "
    ".for .frag .fs .fsx .gd .glsl .gradle .groovy .hlsl .hrl .hx .jl .jsonnet .libsonnet .lisp .m .metal "
    ".ml .mli .mm .move .nim .pas .pl .pm .pp .ps1 .psm1 .purs .pyx .raku .re .rego .rkt .s .sass .scm "
    ".st .styl .svelte .tcl .vala .vb .vert .vhd .vhdl .vue .wgsl .zig "
)
_UNREAD: Final = frozenset(_ENDINGS.split())

_NEAR: Final = Patterns((pattern, family) for family, patterns in INDEX.items() for pattern in patterns)


# One path is asked about by each strategy, each proof and each audit.
@lru_cache(maxsize=1024)
def kinds_for(path: str) -> tuple[Kind, ...]:
    """Return the kinds a path may be of, in the order in which they are tried."""
    # By the index first: importing every family for a text file would cost more than merging it.
    near = _NEAR.find(path)
    kinds = (kind for family, table in FAMILIES if family in near for kind in load_family(family, table))
    return tuple(kind for kind in kinds if any(matches(pattern, path) for pattern in kind.files))


def find_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a file: left conflict markers, and whatever its kinds know."""
    return tuple(dict.fromkeys(fault for kind in kinds_for(path) for fault in kind.faults(path, text)))


def why_unjudged(path: str, size: int) -> str:
    """Return why faults of a file of ``size`` bytes cannot be found; empty where they can, or where none are known."""
    # The cascade has the same limit: what is not resolved at that size is not looked at either.
    if size > SIZE_LIMIT:
        megabytes = f"{size / 1_000_000:.1f}".removesuffix(".0")
        return f"too large ({megabytes} MB)"
    name = path.rpartition("/")[2]
    ending = name[name.rfind(".") :] if "." in name else name
    judges = [kind for kind in kinds_for(path) if kind.faults is not no_faults]
    # What can be found without a grammar is found all the same; said is that this was not all.
    if not all(kind.is_able() for kind in judges):
        return f"no grammar for {ending} ({GRAMMARS_HINT})"
    return "" if judges or ending.lower() not in _UNREAD else f"nothing is known of {ending} files"
