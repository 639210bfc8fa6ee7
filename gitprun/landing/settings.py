"""What the user's own git configuration says about merge commits, read once a landing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import list_config

_UTF8 = ("", "utf-8", "utf8")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSettings:
    """How git would make a merge commit here.

    ``encoding`` is empty for UTF-8, ``shortlog`` tells that messages get a log, ``filters`` names the filters that
    have a program, ``hooks`` is core.hooksPath with ``~`` expanded (empty: the repository's own folder). ``drivers``
    are the programs of merge drivers by name, ``driver`` is that of paths nobody speaks of, ``attributes`` the file of
    attributes for all repositories. ``rows`` are all settings there are, for those who look for programs in them.
    """

    sign: bool = False
    verify_signatures: bool = False
    ignore_case: bool = False
    encoding: str = ""
    cleanup: str = ""
    shortlog: bool = False
    hooks: str = ""
    filters: frozenset[str] = frozenset()
    rows: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    drivers: Mapping[str, str] = field(default_factory=dict)
    driver: str = ""
    attributes: str = ""


def read_merge_settings(git: Git) -> MergeSettings:
    """Read the settings of the checkout git runs in."""
    rows = list_config(git)
    known = dict(rows)
    hooks = known.get("core.hookspath", "")
    encoding = known.get("i18n.commitencoding", "")
    # smudge and process write files; a filter that only cleans has no part in a checkout.
    programs = [key for key in known if key.startswith("filter.") and key.endswith((".smudge", ".process"))]
    return MergeSettings(
        sign=_is_on(known.get("commit.gpgsign")),
        verify_signatures=_is_on(known.get("merge.verifysignatures")),
        ignore_case=_is_on(known.get("core.ignorecase")),
        encoding="" if encoding.lower() in _UTF8 else encoding,
        cleanup=known.get("commit.cleanup", ""),
        # It may be a number of subjects as well, so only what says no is off.
        shortlog=known.get("merge.log", "false").lower() not in ("false", "no", "off", "0"),
        hooks=os.path.expanduser(hooks),
        drivers={
            key.removeprefix("merge.").removesuffix(".driver"): value
            for key, value in known.items()
            if key.startswith("merge.") and key.endswith(".driver")
        },
        driver=known.get("merge.default", ""),
        attributes=known.get("core.attributesfile", ""),
        filters=frozenset(key.removeprefix("filter.").rpartition(".")[0] for key in programs),
        rows=rows,
    )


def _is_on(value: str | None) -> bool:
    """Read a switch as git does."""
    if value is None:
        return False
    # Git takes any number but 0 for on, with a sign or without.
    text = value.lower()
    return text in ("true", "yes", "on") or (text.lstrip("+-").isdigit() and int(text) != 0)


def hooks_folder(settings: MergeSettings, common: Path, top: Path) -> Path:
    """Name the folder git looks for hooks in; a relative core.hooksPath counts from the checkout."""
    return top / settings.hooks if settings.hooks else common / "hooks"
