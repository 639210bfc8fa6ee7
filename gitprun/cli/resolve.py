"""``git prun resolve``: a branch that does not land is opened, worked on, checked and landed."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gitprun.api import resolving
from gitprun.api.opening import report_json, report_text
from gitprun.api.repo import Repo
from gitprun.api.settings import MergeRequest, require_findings
from gitprun.api.stopping import Stop
from gitprun.api.undone import OpenedBranch, OpenResolution
from gitprun.cli.console import hint, put, put_json, safe, say, table
from gitprun.cli.landing_output import render_landing, suspect_option
from gitprun.cli.options import here, json_option
from gitprun.cli.signals import signals_stop
from gitprun.model.errors import Interrupted, UsageProblem
from gitprun.model.escapes import safe_text, shell_word


@click.command()
@click.argument("name", metavar="[BRANCH|UNIT]", required=False)
@click.option("--into", metavar="BRANCH", help="The branch it is to land on (default: the one checked out).")
@click.option("--markdown", is_flag=True, help="Print the whole report.")
@json_option
@click.option("--continue", "proceed", is_flag=True, help="Take the finished files back, check them, land them.")
@click.option("--abort", is_flag=True, help="Throw the resolution away.")
@click.option("--forget", multiple=True, metavar="PATH|BRANCH", help="Take recorded resolutions back (repeatable).")
@click.option("--with", "worker", metavar="WORKER", help="Let codex, claude or a shell command do it, then go on.")
@click.option("--take", multiple=True, metavar="PATH=SIDE", help="Decide for main, unit or delete (repeatable).")
@click.option("--allow-other-paths", is_flag=True, help="Take along changes of files that are not in question.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check the merged tree must pass (repeatable).")
@click.option("--no-verify", is_flag=True, help="Do not check the merged tree.")
@click.option("--allow-unverified", is_flag=True, help="Also a unit that no check has proved.")
@suspect_option
@click.option("-m", "--message", help="The merge message (default: it names what was resolved).")
@click.pass_context
def resolve(
    ctx: click.Context,
    /,
    *,
    name: str | None,
    into: str | None,
    markdown: bool,
    as_json: bool,
    proceed: bool,
    abort: bool,
    forget: tuple[str, ...],
    worker: str | None,
    take: tuple[str, ...],
    allow_other_paths: bool,
    verify: tuple[str, ...],
    no_verify: bool,
    allow_unverified: bool,
    allow_suspect: tuple[str, ...],
    message: str | None,
) -> int:
    """Open BRANCH, which does not land, in a workspace with a report; without it list what is open.

    That is a conflict, a merge that looks wrong (suspect), or what the last landing found red. Edit the files there,
    then --continue: what you made is read (its git is not used), checked for markers and for faults that neither side
    has, and landed as git prun merge lands: verified, by hooks and compare-and-swap. Conflicts that are not about
    content need --take. What you resolved is recorded for these very versions; --forget takes that back.
    """
    if proceed + abort + bool(forget) > 1:
        raise UsageProblem("--continue, --abort and --forget exclude each other")
    repo = here(ctx, quiet=as_json)
    if forget:
        return _forget(repo, (*forget, *([name] if name else ())), into)
    if abort:
        branch, landed = resolving.abort(repo.opened, name)
        put(f"{safe(branch)}: {'has landed' if landed else 'aborted'}, its workspace is removed")
        return 0
    landing = MergeRequest(
        message=message,
        verify=verify,
        no_verify=no_verify,
        allow_unverified=allow_unverified,
        allow_suspect=allow_suspect,
    )
    asked = resolving.ResolveRequest(take=take, allow_other_paths=allow_other_paths, landing=landing)
    if proceed:
        return _finish(repo, name, asked, as_json=as_json)
    require_findings(repo.opened, allow_suspect)
    if name is None:
        return _list(repo, as_json=as_json)
    if worker:
        # Before anything is opened for it.
        resolving.require_worker(repo.opened, worker)
    opened = repo.resolve(name, into=into)
    _show_opened(opened, as_json=as_json, markdown=markdown)
    if not worker:
        hint(f"edit the files there, then: git prun resolve {shell_word(opened.label)} --continue")
        return 0
    return _finish(repo, opened.label, asked, as_json=as_json) if _work(repo, opened, worker) else 1


def _list(repo: Repo, *, as_json: bool) -> int:
    found = repo.resolutions()
    if as_json:
        put_json("resolutions", found)
    elif found.resolutions:
        put(table(("branch", "into", "state", "files", "workspace"), map(_row, found.resolutions)))
    else:
        say("no resolution is open here")
    return 0


def _row(one: OpenResolution) -> Sequence[str]:
    into = one.target.removeprefix("refs/heads/")
    return safe(one.branch), into, one.why, str(len(one.paths)), safe(one.workspace)


def _show_opened(opened: OpenedBranch, *, as_json: bool, markdown: bool) -> None:
    """Print the report that was asked for, or where it is and what it is about."""
    if as_json:
        put_json("resolution", report_json(opened))
        return
    if markdown:
        # It quotes files and results of workers.
        put(safe_text(report_text(opened)).rstrip("\n"))
        return
    count, where = len(opened.paths), safe(opened.workspace)
    if opened.conflict:
        put(f"{safe(opened.branch)}: {count} file{'' if count == 1 else 's'} in conflict, in {where}")
    else:
        put(f"{safe(opened.branch)}: {opened.why}; its merged files are in {where}")
    for row in opened.paths:
        said = row.detail or row.kind
        named = f"{row.path}: {said}" if row.path else said
        put(f"  {safe(named)}" + ("" if row.textual or not opened.conflict else " (needs --take)"))
    if not opened.paths:
        put(f"  {safe(opened.reason)}")
    put(f"brief: {safe(opened.report)}")


def _work(repo: Repo, opened: OpenedBranch, worker: str) -> bool:
    """Have a worker resolve it; return whether it ended well."""
    stop = Stop()
    with signals_stop(stop) as caught:
        good = resolving.let_work(repo.opened, opened.label, worker, stop)
    if caught:
        raise Interrupted(caught[0])
    if not good:
        hint(
            f"go on yourself in {shell_word(opened.workspace)}, or git prun resolve {shell_word(opened.label)} --abort"
        )
    return good


def _finish(repo: Repo, name: str | None, asked: resolving.ResolveRequest, *, as_json: bool) -> int:
    """Take a resolution back, record it, and land the branch."""
    stop = Stop()
    with signals_stop(stop) as caught:
        done = resolving.land_resolution(repo.opened, name, asked, stop)
    if as_json:
        put_json("merge", done.landing)
    else:
        render_landing(done.landing, advise=False)
    if caught:
        raise Interrupted(caught[0])
    if not done.done:
        hint(f"the workspace is kept: {shell_word(done.workspace)}")
        return 1
    if done.landing.items[0].state != "landed":
        say(f"nothing of {safe(done.branch)} had to be brought in")
    resolving.close(repo.opened, done)
    return 0


def _forget(repo: Repo, words: Sequence[str], into: str | None) -> int:
    """Forget what is recorded for paths, folders, branches and units, and say what."""
    for path in resolving.forget(repo.opened, words, into):
        put(f"{safe(path)}: forgotten; the next merge asks anew")
    hint(f"the texts are kept in {safe(str(resolving.forgotten_folder(repo.opened)))}")
    return 0
