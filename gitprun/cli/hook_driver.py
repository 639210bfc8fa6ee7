"""The merge driver on the command line: shown before it is written, shown in the status, taken out again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gitprun.cli.console import put, safe, say, warn
from gitprun.model.errors import OperationRefused

if TYPE_CHECKING:
    from gitprun.git.repo import Repository

SHOWN = {"installed": "installed", "edited": "edited, or of another version", "other": "not ours"}
WHAT = "git's own merges settle what git prun merge-file can prove"


def install_asked(repository: Repository, *, yes: bool, force: bool) -> None:
    """Show what the driver is and write it once that is let; raises Refused when it is not."""
    from gitprun.guards.driver import install_driver, read_driver

    driver = read_driver(repository)
    if driver.state == "installed":
        put("driver: already installed")
        return
    say(f"Into {safe(str(repository.common / 'config'))}:")
    for key, value in driver.settings:
        say(f"  {key} = {safe(value)}")
    lines = driver.block.decode("utf-8", "surrogateescape").splitlines()
    say(f"Into {safe(str(driver.attributes))}, above what is there:")
    for line in [f"{len(lines)} lines such as: {lines[1]}"] if yes else lines:
        say(f"  {safe(line)}")
    for path in driver.uncarried:
        warn(f"lines about merging in {safe(path)} are not carried over, and do not count where ours do")
    if not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise OperationRefused(
                "nothing was installed: the driver changes every merge git makes here", "--yes lets it"
            )
        if not click.confirm("Install?", default=True, err=True):
            raise OperationRefused("nothing was installed")
    install_driver(repository, driver, force=force)
    put("driver: installed")


def uninstall_told(repository: Repository) -> bool:
    """Take the driver out; tells whether there was one."""
    from gitprun.guards.driver import probe_driver, read_driver, uninstall_driver

    found = probe_driver(repository) and uninstall_driver(repository, read_driver(repository))
    if found:
        put("driver: removed")
    return found


def driver_rows(repository: Repository) -> list[tuple[str, str, str]]:
    """Give the driver's row of the status; none where it is not installed."""
    from gitprun.guards.driver import probe_driver, read_driver

    return [("driver", SHOWN[read_driver(repository).state], WHAT)] if probe_driver(repository) else []
