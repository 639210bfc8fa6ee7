"""Read plans, ``prun.toml`` and prompt files from disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitprun.model.errors import PlanError
from gitprun.model.plan import Plan, Settings, parse_plan, parse_plan_settings, parse_settings

CONFIG_NAME = "prun.toml"
# A prompt with a whole manual in it is smaller; what is larger is not the file that was meant.
MAX_FILE = 16_000_000
RECODE = "save it as UTF-8 (iconv -f LATIN1 -t UTF-8)"


def read_settings(top: Path | None) -> Settings:
    """Read ``prun.toml`` at the top of the user's checkout; defaults if there is none."""
    # A link that leads nowhere is complained about below, rather than taken for no file.
    if top is None or not os.path.lexists(top / CONFIG_NAME):
        return Settings()
    return parse_settings(_read_toml(top / CONFIG_NAME), CONFIG_NAME)


def read_plan(path: Path, default: Settings) -> Plan:
    """Read a plan file; prompt files in it are relative to its folder."""
    files = [path]

    def read(name: str) -> str:
        files.append(path.parent / name)
        return read_prompt(files[-1], shown=name)

    plan = parse_plan(_read_toml(path), path.name, read, default)
    return replace(plan, files=tuple(map(str, files)))


def read_plan_settings(path: Path, default: Settings) -> Settings:
    """Read what a plan file says beside its units."""
    return parse_plan_settings(_read_toml(path), path.name, default)


def read_prompt(path: Path, shown: str = "") -> str:
    """Read a prompt file as UTF-8, unchanged; raises PlanError that names it."""
    name = shown or str(path)
    raw = _read(path, name, "prompt file")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise PlanError(
            f"prompt file {name} is not UTF-8: byte 0x{raw[problem.start]:02x} at {problem.start}",
            RECODE,
        ) from None
    if "\0" in text:
        raise PlanError(f"prompt file {name} holds a NUL character", "prompts are text")
    # Some editors begin a UTF-8 file with a mark.
    return text.removeprefix("\ufeff")


def read_list(text: str, shown: str) -> list[Any] | None:
    """Read a list as a plan writes it, ``["sh", "-c", "true"]``; None for any other text, raises PlanError."""
    if not (text.startswith("[") and text.endswith("]")) or text[1].isspace():
        # "[ -f a.txt ]" is a command.
        return None
    import tomllib

    try:
        value = tomllib.loads(f"x = {text}")["x"]
    # tomllib goes down into nested values by calling itself.
    except (tomllib.TOMLDecodeError, RecursionError):
        raise PlanError(
            f"{shown}: invalid list {text[:200]}",
            """a shell takes quotes away: write 'command=["sh", "-c", "true"]' in quotes""",
        ) from None
    return list(value)


def _read_toml(path: Path) -> Mapping[str, object]:
    return parse_toml(_read(path, str(path), "plan" if path.name != CONFIG_NAME else "configuration"), path.name)


def parse_toml(raw: bytes, shown: str = CONFIG_NAME) -> Mapping[str, object]:
    """Parse the text of a plan or configuration file; raises PlanError that names it."""
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise PlanError(f"{shown} is not UTF-8: byte 0x{raw[problem.start]:02x} at {problem.start}", RECODE) from None
    except tomllib.TOMLDecodeError as problem:
        raise PlanError(f"{shown} is not TOML: {problem}", "see `git prun run --help` for an example") from None
    except RecursionError:
        raise PlanError(f"{shown} is nested too deeply", "see `git prun run --help` for an example") from None


def _read(path: Path, shown: str, what: str) -> bytes:
    try:
        # To open a named pipe would wait for somebody to write.
        if not path.is_file():
            missing = not os.path.lexists(path)
            raise PlanError(
                f"{what} {shown} {'does not exist' if missing else 'is not a file'}", f"it is looked for at {path}"
            )
        if path.stat().st_size > MAX_FILE:
            raise PlanError(f"{what} {shown} is larger than {MAX_FILE // 1_000_000} MB", "check the path")
        return path.read_bytes()
    except OSError as problem:
        raise PlanError(f"{what} {shown} cannot be read: {problem.strerror}", "check its permissions") from None
