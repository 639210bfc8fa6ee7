"""A repository prepared for git prun: looked over, its baseline pinned, its prun.toml written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gitprun.api.opened import Opened
from gitprun.api.settings import chosen_root, folder_name, settings_of
from gitprun.api.starter import render
from gitprun.model.errors import OperationRefused
from gitprun.model.names import short
from gitprun.system.sharing import usual_umask

if TYPE_CHECKING:
    from gitprun.model.plan import Settings

# To say its version a program loads itself and no more; one that takes longer hangs on something.
VERSION_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFound:
    """A worker's program: its ``version`` where it says one, else why not.

    ``state`` is works, broken, missing (``configured`` names the one ``prun.toml`` asks for) or unapproved.
    """

    name: str
    state: Literal["works", "broken", "missing", "unapproved"]
    version: str = ""
    configured: str = ""
    path: str = ""
    detail: str = ""
    extra: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRepository:
    """What a repository was found to be, and what was written.

    ``moved``: the baseline was pinned now. ``settings`` says what became of ``prun.toml``; ``found`` are its keys that
    were found out, ``missing`` programs of checks that are not there.
    """

    home: str
    head: str
    git: str
    programs: tuple[ProgramFound, ...]
    root: str
    seen: str
    wandering: tuple[str, ...]
    baseline: str
    moved: bool
    settings: Literal["written", "kept", "none"]
    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def prepare(
    opened: Opened,
    *,
    root: str | None = None,
    baseline: str | None = None,
    logs: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> PreparedRepository:
    """Look a repository over, pin its baseline, write a commented ``prun.toml``; nothing that is there is replaced.

    ``root`` is the folder for workspaces, ``baseline`` a commit to pin anew, ``logs`` another folder for it.
    """
    from gitprun.git.command import require_git
    from gitprun.git.repo import resolve_commit
    from gitprun.ledger.baseline import pin_baseline, write_baseline

    repository = opened.repository
    version = ".".join(map(str, require_git(opened.start)))
    head = resolve_commit(repository.git, "HEAD")
    settings = settings_of(opened)
    wanted = str((opened.start / root).absolute()) if root else folder_name(environment or {}) or None
    chosen = chosen_root(opened, wanted or settings.root)
    _require_same(opened, settings, wanted, chosen)
    programs = tuple(_program(opened, name, settings) for name in ("codex", "claude"))
    seen, wanders = _inside(opened, chosen)
    commit, moved = pin_baseline(repository, baseline)
    for folder in dict.fromkeys((repository.state, logs or repository.state)):
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        moved = write_baseline(folder, commit) or moved
    state, found, missing = _write_settings(opened, wanted, chosen)
    return PreparedRepository(
        home=str(repository.home),
        head=short(head),
        git=version,
        programs=programs,
        root=str(chosen),
        seen=seen,
        wandering=wanders,
        baseline=short(commit),
        moved=moved,
        settings=state,
        found=found,
        missing=missing,
    )


def _require_same(opened: Opened, settings: Settings, wanted: str | None, chosen: Path) -> None:
    """Refuse a root that a ``prun.toml`` which is there already does not name: it is not ours to change."""
    from gitprun.system.config import CONFIG_NAME

    top = opened.repository.top
    if wanted is None or top is None or not os.path.lexists(top / CONFIG_NAME):
        return
    configured = chosen_root(opened, settings.root)
    if configured != chosen:
        raise OperationRefused(
            f"{CONFIG_NAME} is there already, and its workspaces go to {configured}",
            f"let its [workspace] say: root = {_shown_root(opened, chosen)!r}",
        )


def _shown_root(opened: Opened, chosen: Path) -> str:
    """Write a root so that it means the same for everybody: relative to the main checkout, if it is near."""
    relative = os.path.relpath(chosen, opened.repository.home)
    return relative if not relative.startswith("../../") else str(chosen)


def _program(opened: Opened, name: str, settings: Settings) -> ProgramFound:
    """Find out which version of a worker's program is there, and whose it is."""
    from gitprun.executors.lines import one_line
    from gitprun.model.units import ExecutorSettings
    from gitprun.supervisor.process import ProcessLimits, ProcessSpec, run, worker_environment
    from gitprun.supervisor.programs import find_program
    from gitprun.workspaces.trust import untrusted

    if untrusted(opened.repository, (power for power in settings.powers if power.executor == name)):
        # To ask it for its version is to run it.
        return ProgramFound(name=name, state="unapproved")
    configured = settings.executors.get(name, ExecutorSettings())
    env = worker_environment(dict(configured.env))
    program = find_program(name, configured.program, env.get("PATH"))
    if program is None:
        return ProgramFound(name=name, state="missing", configured=configured.program or "")
    with tempfile.TemporaryDirectory(prefix="prun-") as scratch:
        output = Path(scratch) / "version"
        asked = ProcessSpec(argv=[program.path, "--version"], cwd=Path(scratch), env=env, stdout=output)
        ended = run(asked, ProcessLimits(timeout=VERSION_TIMEOUT))
        said = output.read_bytes().decode("utf-8", "replace") if output.exists() else ""
    if ended.code == 0 and said.strip():
        version = one_line(said.strip().splitlines()[-1])
        return ProgramFound(name=name, state="works", version=version, extra=program.source == "extra")
    detail = ended.detail or f"exit code {ended.shell_code}"
    return ProgramFound(name=name, state="broken", path=program.path, detail=detail)


def _inside(opened: Opened, root: Path) -> tuple[str, tuple[str, ...]]:
    """Look what goes wrong when workspaces lie inside the checkout: git and tools that would see them.

    Return the folder that git does not ignore, relative to the checkout (empty: none), and what tools would do.
    """
    from gitprun.git.command import Git
    from gitprun.verify.survey import wandering

    seen, found, repository = "", [], opened.repository
    for top in dict.fromkeys(path.resolve() for path in (repository.home, repository.top) if path):
        if top == repository.common.resolve() or top not in root.parents:
            continue
        folder = root.relative_to(top).parts[0]
        if Git(cwd=top).run("check-ignore", "--quiet", f"{root}/x", ok=(0, 1, 128)).code != 0:
            seen = str(root.relative_to(top))
        found += wandering(top, folder)
    return seen, tuple(found)


def _write_settings(
    opened: Opened, wanted: str | None, chosen: Path
) -> tuple[Literal["written", "kept", "none"], tuple[str, ...], tuple[str, ...]]:
    """Write ``prun.toml``, unless there is one; return what became of it, which keys were found, what is missing."""
    from gitprun.system.config import CONFIG_NAME
    from gitprun.verify.survey import survey

    top = opened.repository.top
    if top is None:
        return "none", (), ()
    if os.path.lexists(top / CONFIG_NAME):
        return "kept", (), ()
    found = survey(opened.repository, top)
    text = render(
        verify=found.verify,
        root=_shown_root(opened, chosen) if wanted else None,
        default=_shown_root(opened, chosen_root(opened, None)),
        copy=found.copy,
        link=found.link,
        setup=found.setup,
        hotspots=found.hotspots,
    )
    with contextlib.suppress(FileExistsError):
        with open(top / CONFIG_NAME, "x", encoding="utf-8") as target:
            target.write(text)
        # A file of the checkout is as the user's own umask says, however the repository is shared.
        os.chmod(top / CONFIG_NAME, 0o666 & ~usual_umask())
        said = tuple(key for key in ("verify", "copy", "link", "setup") if getattr(found, key))
        return "written", said, tuple(found.missing)
    return "kept", (), ()
