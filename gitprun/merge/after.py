"""What has to be made anew once branches are together: commands of hotspots, and what they leave in tracked files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitprun.errors import PrunError
from gitprun.git.command import Git
from gitprun.git.refs import write_object
from gitprun.git.trees import GITLINK, parse_change, show_path
from gitprun.git.walk import Trees
from gitprun.globs import matches
from gitprun.merge.hotspots import Hotspot
from gitprun.names import Oid
from gitprun.system.process import Stop
from gitprun.units import CheckResult
from gitprun.verify.check import run_shell
from gitprun.verify.surroundings import Surroundings
from gitprun.workspaces.base import QUIET


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The tree once the commands have run, what they were, and the paths they changed."""

    tree: Oid
    commands: tuple[str, ...]
    paths: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """Write the message of the commit that takes it in."""
        return f"merge: after {', '.join(self.commands)}\n"


def run_after(
    path: Path, rows: Sequence[Hotspot], *, log: Path, timeout: float, stop: Stop | None, around: Surroundings
) -> CheckResult | None:
    """Run the commands of hotspots in a workspace, each once; gives the first that failed."""
    if around.obstacle:
        return CheckResult(
            command="after", state="could-not-run", code=None, seconds=0.0, log="", reason=around.obstacle
        )
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    for command in commands_of(rows):
        with open(log, "ab") as output:
            output.write(f"$ {command}\n".encode("utf-8", "replace"))
        ended = run_shell(command, path, around, log=log, timeout=timeout, stop=stop)
        if ended.reason != "exited" or ended.code != 0:
            why = f"exit {ended.shell_code}" if ended.reason == "exited" else ended.reason
            state: Literal["could-not-run", "fail"] = "could-not-run" if ended.reason == "stopped" else "fail"
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


def take_in(trees: Trees, path: Path, git_dir: Path, tree: Oid, rows: Sequence[Hotspot]) -> Aftermath:
    """Take what the commands changed in a workspace of ``tree`` into the repository: tracked files, and those named.

    ``git_dir`` is the workspace's git folder as it was before they ran: what they started may have written into it.
    """
    git = Git(cwd=path, env={"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(path)}, config=QUIET, neutral=True)
    # Not `git add -u`: it asks repositories that lie in a submodule's place, by their own settings.
    modules = {row.partition(b"\t")[2] for row in git.run("ls-files", "-z", "--stage").fields if row[:6] == b"160000"}
    touched = set(git.run("ls-files", "-z", "--modified", "--deleted").fields) - modules
    if touched:
        git.run(
            "update-index", "--add", "--remove", "-z", "--stdin", stdin=b"".join(sorted(n + b"\0" for n in touched))
        )
    patterns = [pattern for row in rows for pattern in row.produces]
    made = [
        name
        for name in git.run("ls-files", "-z", "--others").fields
        if any(matches(pattern, os.fsdecode(name)) for pattern in patterns)
    ]
    if made:
        git.run("update-index", "--add", "-z", "--stdin", stdin=b"".join(name + b"\0" for name in made))
    options = ("--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
    fields = git.run("diff-index", *options, tree).fields
    changes = [parse_change(about, name) for about, name in zip(fields[::2], fields[1::2], strict=True)]
    changes = [change for change in changes if GITLINK not in (change.old_mode, change.new_mode)]
    for change in changes:
        if not change.removed:
            content = git.run("cat-file", "blob", change.new).out
            if write_object(trees.repo, "blob", content) != change.new:
                raise PrunError(f"{show_path(change.path)} changed while it was read")
    after = trees.apply(tree, changes)
    if after is None:
        raise PrunError("what the after commands made cannot be put into the merged tree")
    return Aftermath(after, commands_of(rows), tuple(show_path(change.path) for change in changes))
