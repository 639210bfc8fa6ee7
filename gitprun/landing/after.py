"""What has to be made anew once branches are together: commands of hotspots, and all that they leave."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitprun.git.trees import show_path
from gitprun.judging.hotspots import Hotspot
from gitprun.landing.commit import NewCommit, write_new_commit
from gitprun.landing.context import LandingContext
from gitprun.landing.hooks import UnfitContent, copy_staged
from gitprun.model.globs import matches
from gitprun.model.lists import listed
from gitprun.model.names import Oid
from gitprun.model.plan import DEFAULT_MAX_FILE
from gitprun.model.units import CheckResult
from gitprun.supervisor.process import Stop
from gitprun.verify.check import run_shell
from gitprun.verify.pristine import PristinePlace

# Generators write tens of files, some a few hundred; thousands are a folder that somebody forgot to ignore.
MOST_MADE = 5000


@dataclass(frozen=True, slots=True)
class AfterCommands:
    """The tree once the commands have run, what they were, and the paths they changed."""

    tree: Oid
    commands: tuple[str, ...]
    paths: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """Write the message of the commit that takes it in."""
        return f"merge: after {', '.join(self.commands)}\n"


def run_after(
    place: PristinePlace, rows: Sequence[Hotspot], *, log: Path, timeout: float, stop: Stop | None
) -> CheckResult | None:
    """Run the commands of hotspots in a pristine place, each once; return the first that failed."""
    # The sandbox cannot be had: a command that should be confined must not run unconfined instead.
    if place.around.obstacle:
        return CheckResult(
            command="after", state="could-not-run", code=None, seconds=0.0, log="", reason=place.around.obstacle
        )
    log.parent.mkdir(parents=True, exist_ok=True)
    # One log for all commands, begun anew: what an earlier try of the landing wrote is not this one's.
    log.write_bytes(b"")
    for command in commands_of(rows):
        with open(log, "ab") as output:
            output.write(f"$ {command}\n".encode("utf-8", "replace"))
        ended = run_shell(command, place.path, place.around, log=log, timeout=timeout, stop=stop)
        # A generator that failed leaves half of its files: none of them may land.
        if ended.reason != "exited" or ended.code != 0:
            why = f"exit {ended.shell_code}" if ended.reason == "exited" else ended.reason
            # Killed or out of time says nothing about the tree; only an exit code does.
            state: Literal["could-not-run", "fail"] = "fail" if ended.reason == "exited" else "could-not-run"
            return CheckResult(
                command=f"after: {command}",
                state=state,
                code=ended.code,
                seconds=ended.seconds,
                log=str(log),
                reason=why,
            )
    return None


def commands_of(rows: Sequence[Hotspot]) -> tuple[str, ...]:
    """List the commands of hotspots, each once, in their order."""
    return tuple(dict.fromkeys(command for row in rows for command in row.after))


def take_in(
    site: LandingContext, place: PristinePlace, tree: Oid, rows: Sequence[Hotspot], ignored: frozenset[bytes]
) -> AfterCommands:
    """Take all that the commands left in a place of ``tree`` into the repository.

    Tracked files, new ones, and ignored ones that ``produces`` names; ``ignored`` is what git ignored there before.
    Raises UnfitContent where something cannot be taken: the checks would be asked about another tree than the one
    that lands.
    """
    git = place.git
    changed, new = place.look()
    patterns = [pattern for row in rows for pattern in row.produces]
    # Without --exclude-standard, so that ignored files are among them; a listing that can be long.
    every = git.run("ls-files", "-z", "--others").fields if patterns else ()
    named = (name for name in every if any(matches(pattern, os.fsdecode(name)) for pattern in patterns))
    made = tuple(dict.fromkeys((*new, *named)))
    _require_fit(place, made)
    listing = b"".join(sorted(name + b"\0" for name in {*changed, *made}))
    if listing:
        # --replace: a generator may put a file where a folder was. By stdin: thousands of names fit no command line.
        git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=listing)
    after, changes = copy_staged(git, site.trees, tree)
    # Said, for whoever forgot ``produces`` sees a green check here and a missing file elsewhere.
    left = [show_path(name) for name in list_ignored(place) if name not in ignored and name not in made]
    if left:
        site.note(f"after {', '.join(commands_of(rows))}: made {listed(left, 1)}, which git ignores: it does not land")
    return AfterCommands(after, commands_of(rows), tuple(show_path(change.path) for change in changes))


def _require_fit(place: PristinePlace, made: Sequence[bytes]) -> None:
    """Raise UnfitContent for new paths that no commit should hold, or can."""
    for name in made:
        # git lists a folder with a .git of its own by its name alone, with a slash.
        if name.endswith(b"/"):
            raise UnfitContent(f"they make a repository in {show_path(name)}, which no commit can hold")
        # The limit that captures have: what is too large from a worker is too large from a generator.
        if os.lstat(place.path / os.fsdecode(name)).st_size > DEFAULT_MAX_FILE:
            raise UnfitContent(f"they make {show_path(name)}, which is too large to land unless .gitignore names it")
    if len(made) > MOST_MADE:
        raise UnfitContent(
            f"they make {len(made)} new files ({show_path(made[0])} ...): name what is not to land in .gitignore"
        )


def list_ignored(place: PristinePlace) -> frozenset[bytes]:
    """List what git ignores in a place; of a folder that is ignored as a whole only its name."""
    # --directory: node_modules is one row instead of a hundred thousand.
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return frozenset(place.git.run(*words).fields)


def write_after(site: LandingContext, commit: Oid, made: AfterCommands) -> Oid:
    """Write the commit that lands on top of a merge with what the commands made; the same one each time."""
    # A signed commit holds its time: written twice, it would be another one than the one checked.
    key, known = (commit, made.tree), site.memory.after
    if key not in known:
        new = NewCommit(tree=made.tree, parents=(commit,), message=made.message, who=site.who)
        known[key] = write_new_commit(site.git, site.repo, site.settings, new)
    return known[key]
