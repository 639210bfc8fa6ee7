"""The whole prompt of a unit: the bypass prefix, what was asked, what done means, and how to finish."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.model.contract import contract_for
from gitprun.model.units import ExecutorSettings, Unit

# Skills that a user installed make codex plan and ask instead of doing what it was told.
BYPASS = (
    "YOU ARE A CODING AGENT. SKIP ALL META-SKILLS. DO NOT READ SKILL FILES. DO NOT WRITE PLANNING DOCS. "
    "DO NOT ASK QUESTIONS. BEGIN EDITING IMMEDIATELY. THE TASK:"
)
BYPASSED_EXECUTORS = frozenset({"codex"})

# Also as people type it themselves: broken into lines, with words of their own in between.
_TYPED = re.compile(r"\s*YOU ARE A CODING AGENT\b.{0,1000}?\bTHE TASK:[ \t]*\n*", re.DOTALL | re.IGNORECASE)


_HEADING = re.compile(r"^\s*(?:#+(?:\s+|$))+|\s+#+\s*$")
# A path as people write it has a slash or a dot. Runs are found first: a long one must cost no more than its length.
_RUN = re.compile(r"[\w.@+/-]+")
# PATH_MAX of Linux: what goes on for longer is no path.
LONGEST_PATH = 4096


def named_paths(prompt: str) -> frozenset[str]:
    """Find what looks like a path of the repository in a prompt."""
    runs = (word for word in _RUN.findall(prompt) if len(word) <= LONGEST_PATH)
    words = {word.removeprefix("./").rstrip("./") for word in runs}
    return frozenset(word for word in words if ("/" in word or "." in word) and not word.startswith(("/", "../")))


def bypass_wanted(unit: Unit, settings: ExecutorSettings) -> bool:
    """Check whether a prompt begins with the prefix: the unit says, or its executor's settings, or the default.

    By default codex gets it where it is to edit; a reading unit must not be told to begin editing.
    """
    for said in (unit.bypass, settings.bypass):
        if said is not None:
            return said
    return unit.executor in BYPASSED_EXECUTORS and unit.mode == "write"


def without_bypass(prompt: str) -> str:
    """Take the prefix off a prompt that its author began with it."""
    return prompt[found.end() :] if (found := _TYPED.match(prompt)) else prompt


def subject_of(prompt: str) -> str:
    """Return the first line of a prompt that says what is to be done."""
    # A heading has a blank after its marks; ``#42`` is a number people write.
    lines = (_HEADING.sub("", line).strip() for line in without_bypass(prompt).splitlines())
    return next(filter(None, lines), "work")


def definition_of_done(unit: Unit, verify: Sequence[str]) -> str:
    """Return what done means, from the declared checks and the fence; empty where neither says anything."""
    if unit.mode == "read":
        return ""
    rows = []
    if verify:
        what = "this command passes" if len(verify) == 1 else "these commands pass"
        rows += [f"Done means: {what}, run in this folder:", *(f"- {_one(command)}" for command in verify)]
    if unit.paths:
        rows += ["Change only paths that match:", *(f"- {glob}" for glob in unit.paths)]
    return "\n".join(rows)


def _one(command: str) -> str:
    """Write a command of several lines so that its lines stay together."""
    return command.strip().replace("\n", "\n  ")


def continue_prompt(unit_id: str, *, outbox: str | None) -> str:
    """Return what a worker is told whose service cut it off: the thread knows the rest.

    Without ``outbox`` it was asked for no result file.
    """
    said = (
        "The service cut you off in the middle of your work. Your changes so far are still there. Go on where you were "
        "and finish what you were asked to do."
    )
    if outbox is None:
        return f"{said}\n"
    return (
        f"{said} At the end write the result file {outbox}/result.md, whose first line is '# {unit_id} result', "
        "as you were told.\n"
    )


def assemble_prompt(unit: Unit, settings: ExecutorSettings, *, verify: Sequence[str], outbox: str) -> str:
    """Write the prompt a worker gets; what the unit's author wrote stands in it unchanged."""
    prefix = ""
    if bypass_wanted(unit, settings) and without_bypass(unit.prompt) == unit.prompt:
        prefix = f"{BYPASS}\n\n"
    done = definition_of_done(unit, verify)
    parts = [prefix + unit.prompt.rstrip("\n") + "\n", f"{done}\n" if done else ""]
    return "\n".join(filter(None, parts)) + contract_for(unit.id, writes=unit.mode == "write", outbox=outbox)
