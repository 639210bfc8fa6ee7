"""``git prun rescue``: list everything that is pinned, and bring it back."""

from __future__ import annotations

import click

from gitprun.api.keeping import kept_ignored, restore_ignored
from gitprun.api.repo import Repo
from gitprun.api.workspaces import Pinned
from gitprun.cli.console import clock_time, hint, put, put_json, safe, say, size_text, table
from gitprun.cli.options import here, json_option
from gitprun.model.errors import UsageProblem

# Of one workspace so many files make a list that can be read.
MOST_SHOWN = 20
# Nobody looks for these: they pin where work began, or something else than work.
PLUMBING = ("base", "baseline", "other")


@click.command()
@click.argument("names", metavar="[UNIT|REF|all]...", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List what is pinned, and restore nothing.")
@click.option("--to", "branch", metavar="BRANCH", help="The branch to make (default: rescue/<unit>).")
@click.option("--ignored", "ignored", is_flag=True, help="Ignored files kept of removed workspaces, for 30 days.")
@click.option("--into", "folder", metavar="FOLDER", type=click.Path(), help="Write the files into this new folder.")
@json_option
@click.pass_context
def rescue(
    ctx: click.Context,
    /,
    *,
    names: tuple[str, ...],
    listing: bool,
    branch: str | None,
    ignored: bool,
    folder: str | None,
    as_json: bool,
) -> int:
    """List all that is pinned, or bring it back: as branches, which never replace one, or as files.

    UNIT is a unit or a named workspace (all that is kept of it), REF a ref or commit. No ledger is needed: the refs
    tell everything.
    """
    if branch and folder:
        raise UsageProblem("--to and --into cannot be given together", "leave one of them out")
    if branch and ignored:
        raise UsageProblem("ignored files come back as files, not as a branch", "--into FOLDER instead of --to")
    if not names and (branch or folder):
        raise UsageProblem("what is to be brought back is missing", "git prun rescue --list shows what there is")
    repo = here(ctx)
    if ignored:
        return _rescue_ignored(repo, names, None if listing else folder, as_json=as_json)
    if listing or not names:
        found = repo.pinned(names)
        if as_json:
            put_json("pinned", found)
        else:
            _show(found, whole=not names)
        return 0
    done = repo.rescue(names, branch=branch, folder=folder)
    if as_json:
        put_json("restored", done)
        return 0
    for one in done.restored:
        where = f"branch {one.branch}" if one.branch else one.folder
        put(f"{safe(where)}{'' if one.new else ' (there already)'}  {one.commit[:10]}  {safe(one.ref)}")
    if any(one.branch for one in done.restored):
        hint("git switch BRANCH shows it; git diff HEAD...BRANCH what it changes")
    return 0


def _rescue_ignored(repo: Repo, names: tuple[str, ...], folder: str | None, *, as_json: bool) -> int:
    if folder is not None:
        done = restore_ignored(repo.opened, names, folder)
        if as_json:
            put_json("restored-files", done)
        else:
            put("\n".join(map(safe, done.restored)))
        return 0
    found = kept_ignored(repo.opened, names)
    if as_json:
        put_json("ignored", found)
        return 0
    for one in found.ignored:
        put(f"{safe(one.name)}  {one.day}  {size_text(one.size)}  {safe(one.folder)}")
        for path in one.paths[:MOST_SHOWN]:
            put(f"  {safe(path)}")
        if len(one.paths) > MOST_SHOWN:
            put(f"  ... and {len(one.paths) - MOST_SHOWN} more")
    if found.ignored:
        hint(f"git prun rescue --ignored {safe(found.ignored[-1].name)} --into FOLDER copies them into a new folder")
    else:
        say("no ignored files are kept here")
    return 0


def _show(found: Pinned, *, whole: bool) -> None:
    shown = [one for one in found.pinned if one.label.kind not in PLUMBING or not whole]
    if not shown and not found.orphans and not found.rejected and not found.files:
        say("nothing is pinned here")
        return
    if shown:
        rows = [
            [
                one.label.kind,
                safe(one.label.name) or "-",
                clock_time(one.time) if one.whole else "-",
                str(one.files),
                size_text(one.size),
                safe(one.ref.removeprefix("refs/prun/")),
                safe(one.subject),
            ]
            for one in shown
        ]
        put(table(["kind", "of", "date", "files", "size", "ref", "subject"], rows))
    for room in found.rejected:
        where = f"{room.path}: {safe(room.reason)}"
        put(f"rejected  {safe(room.run)}/{safe(room.unit)}  {size_text(room.size)}  {where}")
    for one in found.files:
        put(f"ignored   {safe(one.name)}  {one.day}  {size_text(one.size)}  {safe(one.folder)}")
    for orphan in found.orphans:
        put(f"orphan    {orphan.kind}  {safe(orphan.path)}")
    if shown:
        hint("git prun rescue UNIT makes branches rescue/UNIT; --into FOLDER writes the files")
    if found.files:
        hint("git prun rescue --ignored lists ignored files that are kept; --into FOLDER copies them")
    if found.orphans:
        hint("git prun workspace adopt PATH takes an orphan in")
