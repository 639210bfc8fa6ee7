"""The merge driver on the command line: shown before it is written, shown in the status, taken out again."""

from __future__ import annotations

import click

from gitprun.api.guarding import has_driver, install_driver, read_driver, uninstall_driver
from gitprun.api.opened import Opened
from gitprun.cli.console import put, safe, say, warn
from gitprun.cli.options import is_terminal
from gitprun.model.errors import OperationRefused

SHOWN = {"installed": "installed", "edited": "edited, or of another version", "other": "not ours"}
WHAT = "git's own merges settle what git prun merge-file can prove"


def install_asked(opened: Opened, *, yes: bool, force: bool) -> None:
    """Show what the driver is and write it once that is agreed to; raises OperationRefused when it is not."""
    driver = read_driver(opened)
    if driver.state == "installed":
        put("driver: already installed")
        return
    say(f"Into {safe(str(driver.config))}:")
    for key, value in driver.settings:
        say(f"  {key} = {safe(value)}")
    say(f"Into {safe(str(driver.attributes))}, above what is there:")
    lines = driver.lines
    for line in [f"{len(lines)} lines such as: {lines[1]}"] if yes else lines:
        say(f"  {safe(line)}")
    for path in driver.uncarried:
        warn(f"lines about merging in {safe(path)} are not carried over, and do not count where ours do")
    if not yes:
        if not is_terminal():
            raise OperationRefused(
                "nothing was installed: the driver changes every merge git makes here", "--yes lets it"
            )
        if not click.confirm("Install?", default=True, err=True):
            raise OperationRefused("nothing was installed")
    install_driver(opened, force=force)
    put("driver: installed")


def uninstall_told(opened: Opened) -> bool:
    """Take the driver out and say so; return whether there was one."""
    found = uninstall_driver(opened)
    if found:
        put("driver: removed")
    return found


def driver_rows(opened: Opened) -> list[tuple[str, str, str]]:
    """Return the driver's row of the status; none where it is not installed."""
    return [("driver", SHOWN[read_driver(opened).state], WHAT)] if has_driver(opened) else []
