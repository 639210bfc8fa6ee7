"""What the user's own git configuration says about merge commits, read once a landing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import read_config

_SWITCHES = r"^(commit\.gpgsign|merge\.verifysignatures|core\.ignorecase)$"
_UTF8 = ("", "utf-8", "utf8")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSettings:
    """How git would make a merge commit here.

    ``encoding`` is empty for UTF-8, ``shortlog`` tells that messages get a log, ``filters`` names the filters that
    have a program, ``hooks`` is core.hooksPath with ``~`` expanded (empty: the repository's own folder).
    """

    sign: bool = False
    verify_signatures: bool = False
    ignore_case: bool = False
    encoding: str = ""
    cleanup: str = ""
    shortlog: bool = False
    hooks: str = ""
    filters: frozenset[str] = frozenset()


def read_merge_settings(git: Git) -> MergeSettings:
    """Read the settings of the checkout git runs in."""
    known = read_config(git)
    rows = git.run("config", "-z", "--type=bool", "--get-regexp", _SWITCHES, ok=(0, 1)).fields
    switches = {key: value == b"true" for key, _, value in (row.partition(b"\n") for row in rows)}
    hooks = git.run("config", "-z", "--type=path", "--get", "core.hooksPath", ok=(0, 1)).fields
    encoding = known.get("i18n.commitencoding", "")
    programs = [key for key in known if key.startswith("filter.") and key.endswith((".smudge", ".process"))]
    return MergeSettings(
        sign=switches.get(b"commit.gpgsign", False),
        verify_signatures=switches.get(b"merge.verifysignatures", False),
        ignore_case=switches.get(b"core.ignorecase", False),
        encoding="" if encoding.lower() in _UTF8 else encoding,
        cleanup=known.get("commit.cleanup", ""),
        shortlog=known.get("merge.log", "false").lower() not in ("false", "no", "off", "0"),
        hooks=os.fsdecode(hooks[-1]) if hooks else "",
        filters=frozenset(key.removeprefix("filter.").rpartition(".")[0] for key in programs),
    )


def hooks_folder(settings: MergeSettings, common: Path, top: Path) -> Path:
    """Name the folder git looks for hooks in; a relative core.hooksPath counts from the checkout."""
    return top / settings.hooks if settings.hooks else common / "hooks"
