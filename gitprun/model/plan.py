"""The plan of a run: TOML tables in, frozen values out; strict, and every complaint names its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from gitprun.model.errors import PlanError
from gitprun.model.names import nearest, parse_unit_id
from gitprun.model.powers import Power, read_powers
from gitprun.model.tables import Table
from gitprun.model.units import DEFAULT_TIMEOUT, ExecutorSettings, Mode, Sandbox, Unit, VerifySandbox, WorkspaceKind

EXECUTOR_NAMES = ("codex", "claude", "command")
# Test suites that agents are to keep green take minutes; one that hangs must not hold a landing for hours.
DEFAULT_VERIFY_TIMEOUT = 1800.0
# What hosts warn of, and no source is: a dump or a build, captured by accident.
DEFAULT_MAX_FILE = 50_000_000
# A whole unit: a dataset or a virtual environment has more, the work of an agent far less.
DEFAULT_MAX_TOTAL = 1_000_000_000
# As many as all of a large project has; an unpacked node_modules has more.
DEFAULT_MAX_FILES = 50_000
# No output and no changed file for so many seconds: the unit is said to be stalled.
DEFAULT_STALL = 600.0

StallAction = Literal["report", "end"]
# worker: as the unit's own worker was confined.
# workspace: where its worker was; pristine: in a place made of the captured commit alone.
VerifyIn = Literal["workspace", "pristine"]
# checkout: the path of the user's checkout shows the place that is checked.
VerifyView = Literal["checkout", "none"]
# A branch that deletes more of the target's files than this share, and more than a few, is held.
MAX_DELETED = 0.2
# What tools rewrite when they merely look: a check that does so is still a check.
MAY_CHANGE = (
    "**/*.lock",
    "**/*.lockb",
    "**/*-lock.json",
    "**/*-lock.yaml",
    "**/*.lock.json",
    "**/npm-shrinkwrap.json",
    "**/go.sum",
    "**/Package.resolved",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What ``prun.toml`` and the plan say beside the units; None means: not said.

    ``grace`` is the time in seconds between the steps of the ladder that ends a worker, ``stall`` and ``output_max``
    the seconds and bytes of DEFAULT_STALL and DEFAULT_OUTPUT_MAX; ``max_total`` (bytes) and ``max_files`` bound the
    new files of one capture; ``filters`` are the user's content filters for a worker's files (None: those the base
    names). ``verify_may_change`` are globs of what checks may rewrite and still pass (None: MAY_CHANGE),
    ``verify_difference`` whether compilers are asked what they say of a merge alone; ``reuse_green`` is for how many
    seconds a green tree counts as green in later commands (None: not at all), ``confirm_red`` whether what is red is
    checked once more, ``mend`` ("checked") whether suspects may land mended, ``max_deleted`` the share of the target's
    files that one branch may delete (1.0: any); ``protected`` are globs of paths no branch changes unless accepted,
    ``regenerable`` those of ignored files that a tool makes again. ``powers`` are keys of ``prun.toml`` in force here
    that count only once the user let them; a plan is named on the command line and needs no such.
    """

    base: str | None = None
    jobs: int | None = None
    verify: tuple[str, ...] | None = None
    verify_timeout: float | None = None
    verify_sandbox: VerifySandbox | None = None
    verify_in: VerifyIn | None = None
    verify_view: VerifyView | None = None
    verify_may_change: tuple[str, ...] | None = None
    verify_difference: bool | None = None
    grace: float | None = None
    stall: float | None = None
    stall_action: StallAction | None = None
    output_max: int | None = None
    root: str | None = None
    workspace: WorkspaceKind | None = None
    copy: tuple[str, ...] | None = None
    link: tuple[str, ...] | None = None
    setup: tuple[str, ...] | None = None
    regenerable: tuple[str, ...] | None = None
    max_file: int | None = None
    max_total: int | None = None
    max_files: int | None = None
    filters: tuple[str, ...] | None = None
    secrets: bool | None = None
    require_results: bool | None = None
    retries: int | None = None
    retry_wait: float | None = None
    retry_wait_max: float | None = None
    executors: Mapping[str, ExecutorSettings] = field(default_factory=dict)
    merge_message: str | None = None
    reuse_green: float | None = None
    confirm_red: bool | None = None
    mend: str | None = None
    max_deleted: float | None = None
    protected: tuple[str, ...] | None = None
    hotspots: tuple[object, ...] = ()
    hotspot_source: str = ""
    powers: tuple[Power, ...] = ()

    def over(self, other: Settings) -> Settings:
        """Return ``other`` with everything said here on top."""
        return Settings(
            base=self.base or other.base,
            jobs=self.jobs or other.jobs,
            verify=other.verify if self.verify is None else self.verify,
            verify_timeout=self.verify_timeout or other.verify_timeout,
            verify_sandbox=self.verify_sandbox or other.verify_sandbox,
            verify_in=self.verify_in or other.verify_in,
            verify_view=self.verify_view or other.verify_view,
            verify_may_change=other.verify_may_change if self.verify_may_change is None else self.verify_may_change,
            verify_difference=other.verify_difference if self.verify_difference is None else self.verify_difference,
            grace=self.grace or other.grace,
            stall=self.stall or other.stall,
            stall_action=self.stall_action or other.stall_action,
            output_max=self.output_max or other.output_max,
            root=self.root or other.root,
            workspace=self.workspace or other.workspace,
            copy=other.copy if self.copy is None else self.copy,
            link=other.link if self.link is None else self.link,
            setup=other.setup if self.setup is None else self.setup,
            regenerable=other.regenerable if self.regenerable is None else self.regenerable,
            max_file=self.max_file or other.max_file,
            max_total=self.max_total or other.max_total,
            max_files=self.max_files or other.max_files,
            filters=other.filters if self.filters is None else self.filters,
            secrets=other.secrets if self.secrets is None else self.secrets,
            require_results=other.require_results if self.require_results is None else self.require_results,
            retries=other.retries if self.retries is None else self.retries,
            retry_wait=self.retry_wait or other.retry_wait,
            retry_wait_max=self.retry_wait_max or other.retry_wait_max,
            executors={**other.executors, **self.executors},
            merge_message=self.merge_message or other.merge_message,
            reuse_green=self.reuse_green or other.reuse_green,
            confirm_red=other.confirm_red if self.confirm_red is None else self.confirm_red,
            mend=self.mend or other.mend,
            max_deleted=other.max_deleted if self.max_deleted is None else self.max_deleted,
            protected=other.protected if self.protected is None else self.protected,
            hotspots=other.hotspots + self.hotspots,
            hotspot_source=self.hotspot_source or other.hotspot_source,
            powers=(*self.powers, *(power for power in other.powers if not self._replaces(power))),
        )

    def _replaces(self, power: Power) -> bool:
        """Check whether what a key says is said here, so that the other one does not count; hotspots are added up."""
        if power.executor:
            return power.executor in self.executors
        return power.name != "after" and getattr(self, power.name) is not None


def together(runs: Sequence[Settings]) -> Settings:
    """Return what several runs say together about checking what they made, for a landing of all of them.

    Nothing that one of them needs is missing and no check of one is left out; of walls the strictest hold.
    """

    def every(name: str) -> tuple[str, ...] | None:
        said = [getattr(run, name) for run in runs if getattr(run, name) is not None]
        return tuple(dict.fromkeys(one for row in said for one in row)) if said else None

    walls = {run.verify_sandbox for run in runs}
    # From the strictest on; where nothing is said (None) the worker's own walls hold.
    strictest = next((one for one in ("workspace-write", "worker", None, "none") if one in walls), None)
    return Settings(
        verify=every("verify") or None,
        verify_timeout=max((run.verify_timeout for run in runs if run.verify_timeout), default=None),
        verify_sandbox=strictest,
        # Only where all do without: the checks of one that needs a view would prove nothing.
        verify_view="none" if runs and all(run.verify_view == "none" for run in runs) else None,
        verify_may_change=every("verify_may_change"),
        verify_difference=any(run.verify_difference for run in runs) or None,
        copy=every("copy"),
        link=every("link"),
        setup=every("setup"),
        protected=every("protected"),
        merge_message=next((run.merge_message for run in runs if run.merge_message), None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Units to run, the settings that hold for them, and the files both were read from."""

    units: tuple[Unit, ...]
    settings: Settings = field(default_factory=Settings)
    files: tuple[str, ...] = ()


# Reads a prompt file named in a plan; raises PlanError when it cannot be read.
PromptReader = Callable[[str], str]


def parse_settings(document: Mapping[str, object], source: str) -> Settings:
    """Read ``prun.toml``: everything a plan may say except its units and its base."""
    table = Table(document, source)
    settings = _settings(table, source, in_plan=False)
    table.close()
    return replace(settings, powers=tuple(power for power in read_powers(document) if power.asked))


def parse_plan(document: Mapping[str, object], source: str, read_prompt: PromptReader, default: Settings) -> Plan:
    """Read a plan file; ``default`` is what ``prun.toml`` says. Raises PlanError with the place of the fault."""
    table = Table(document, source)
    settings = _settings(table, source, in_plan=True).over(default)
    rows = table.tables("unit")
    table.close()
    if not rows:
        raise PlanError(f"{source}: the plan has no units", 'add at least one [[unit]] with id = "..." and a prompt')
    units = tuple(parse_unit(row, read_prompt, settings) for row in rows)
    require_distinct(units, source)
    return Plan(units=units, settings=settings)


def parse_plan_settings(document: Mapping[str, object], source: str, default: Settings) -> Settings:
    """Read a plan file for what it says beside its units, which are not looked at."""
    table = Table({key: value for key, value in document.items() if key != "unit"}, source)
    settings = _settings(table, source, in_plan=True).over(default)
    table.close()
    return settings


def _settings(table: Table, source: str, *, in_plan: bool) -> Settings:
    run, space, collect = table.table("run"), table.table("workspace"), table.table("collect")
    executors, landing = table.table("executor"), table.table("merge")
    hotspots = table.take("hotspot")
    found: dict[str, Any] = {}
    if hotspots is not None:
        # They are judged where they are used; what is no list is passed on for that.
        found["hotspots"] = tuple(hotspots) if isinstance(hotspots, list) else (hotspots,)
        found["hotspot_source"] = source
    if run:
        if in_plan:
            found["base"] = run.text("base")
        else:
            found["require_results"] = run.flag("require_results")
        found.update(jobs=run.count("jobs"), verify=run.texts("verify"), verify_timeout=run.duration("verify_timeout"))
        found.update({name: run.duration(name) for name in ("grace", "stall", "retry_wait", "retry_wait_max")})
        found.update(verify_sandbox=run.choice("verify_sandbox", get_args(VerifySandbox)))
        found.update(verify_in=run.choice("verify_in", get_args(VerifyIn)), retries=run.count("retries", least=0))
        found.update(verify_view=run.choice("verify_view", get_args(VerifyView)))
        found.update(verify_may_change=run.texts("verify_may_change"), verify_difference=run.flag("verify_difference"))
        found.update(stall_action=run.choice("stall_action", get_args(StallAction)), output_max=run.size("output_max"))
        run.close()
    if space:
        found.update(root=space.text("root"), copy=_inside(space, "copy"), link=_inside(space, "link"))
        both = sorted({*(found["copy"] or ())} & {*(found["link"] or ())})
        if both:
            raise space.problem("link", f"names {both[0]!r}, which is in copy too", "copy it or link it, not both")
        found.update(workspace=space.choice("kind", get_args(WorkspaceKind)), setup=space.texts("setup"))
        found["regenerable"] = space.texts("regenerable")
        space.close()
    if collect:
        found.update({name: collect.size(name) for name in ("max_file", "max_total")}, secrets=collect.flag("secrets"))
        found.update(max_files=collect.count("max_files"), filters=collect.texts("filters"))
        collect.close()
    if landing:
        found.update(merge_message=landing.text("message"), reuse_green=landing.duration("reuse_green"))
        found.update(confirm_red=landing.flag("confirm_red"), max_deleted=_share(landing, "max_deleted"))
        found.update(protected=landing.texts("protected"), mend=landing.choice("mend", ("never", "checked")))
        landing.close()
    if executors:
        found["executors"] = _executors(executors)
    return Settings(**found)


def _share(table: Table, key: str) -> float | None:
    """Take a share such as "20%"; "none" sets no limit."""
    text = table.text(key)
    if text is None or text == "none":
        return None if text is None else 1.0
    number = text.removesuffix("%")
    if number == text or not number.isascii() or not number.isdigit() or int(number) > 100:
        raise table.problem(key, f"must be a share, not {text!r}", 'such as "20%", or "none"')
    return int(number) / 100


def _inside(table: Table, key: str) -> tuple[str, ...] | None:
    """Take paths that stay inside the checkout."""
    paths = table.texts(key)
    found: list[str] = []
    for path in paths or ():
        parts = [part for part in path.split("/") if part not in ("", ".")]
        # In any case of letters, for some file systems take .GIT for .git.
        if path.startswith(("/", "~")) or not parts or {"..", ".git", ".prun"} & {part.lower() for part in parts}:
            raise table.problem(key, f"must name paths inside the checkout, not {path!r}")
        found.append("/".join(parts))
    return None if paths is None else tuple(dict.fromkeys(found))


def _fence(row: Table) -> tuple[str, ...]:
    """Take the globs of a fence; one that can match nothing would flag everything."""
    paths = row.texts("paths") or ()
    for path in paths:
        if path.startswith(("~", "!")) or ".." in path.split("/"):
            raise row.problem("paths", f"must be globs inside the repository, not {path!r}", 'such as "src/reports/**"')
    return paths


def _executors(table: Table) -> dict[str, ExecutorSettings]:
    found = {}
    for name in EXECUTOR_NAMES:
        row = table.table(name)
        if row is None:
            continue
        env = row.take("env")
        env = {} if env is None else env
        if not isinstance(env, Mapping) or not all(isinstance(v, str) for v in env.values()):
            raise row.problem("env", 'must be a table of texts, such as { NAME = "value" }')
        for key in env:
            if not key or "=" in key or "\0" in key + env[key] or key.startswith(("GIT_", "PRUN_")):
                raise row.problem("env", f"cannot set {key!r}", "GIT_* and PRUN_* belong to git and prun")
        isolate = row.flag("isolate")
        found[name] = ExecutorSettings(
            program=row.text("program"),
            args=row.texts("args", blank=True) or (),
            env=tuple(env.items()),
            isolate=True if isolate is None else isolate,
            bypass=row.flag("bypass"),
            jobs=row.count("jobs"),
        )
        row.close()
    table.close()
    return found


def parse_unit(row: Table, read_prompt: PromptReader, settings: Settings) -> Unit:
    """Read one ``[[unit]]``."""
    name = row.text("id")
    if name is not None:
        row.where = f"unit {name[:100]!r}:"
    prompt, prompt_file = row.text("prompt"), row.text("prompt_file")
    executor = row.text("executor")
    command = row.texts("command", blank=True) or ()
    mode = cast(Mode, row.choice("mode", get_args(Mode)) or "write")
    workspace = row.choice("workspace", get_args(WorkspaceKind)) or settings.workspace or "clone"
    paths, timeout = _fence(row), row.duration("timeout")
    model, reasoning, sandbox = row.text("model"), row.text("reasoning"), row.choice("sandbox", get_args(Sandbox))
    bypass = row.flag("bypass")
    executor = executor or ("command" if command else "codex")
    row.close()
    if name is None:
        raise row.problem("id", "is missing", 'every unit needs an id, such as id = "reports"')
    unit_id = parse_unit_id(name, row.source)
    if (prompt is None) == (prompt_file is None):
        raise row.problem(
            "prompt", "or prompt_file must be given, and not both", 'prompt = "...", or prompt_file = "prompts/NAME.md"'
        )
    unit = Unit(
        id=unit_id,
        prompt=prompt if prompt is not None else read_prompt(prompt_file or ""),
        executor=executor,
        command=command,
        mode=mode,
        workspace=cast(WorkspaceKind, workspace),
        paths=paths,
        timeout=timeout or DEFAULT_TIMEOUT,
        model=model,
        reasoning=reasoning,
        sandbox=cast(Sandbox, sandbox or "workspace-write"),
        bypass=bypass,
        # Codex has a sandbox of its own. Where nothing is said the others run as they always did.
        walled=executor != "codex" and sandbox in ("read-only", "workspace-write"),
    )
    require_whole(unit, row.source)
    return unit


def require_whole(unit: Unit, source: str) -> None:
    """Raise PlanError where the parts of a unit contradict each other; ``source`` names where it stands."""
    where, executor, command = f"{source}: unit {unit.id!r}", unit.executor, unit.command
    if executor not in EXECUTOR_NAMES:
        meant = nearest(executor, EXECUTOR_NAMES)
        raise PlanError(
            f"{where}: unknown executor {executor!r}",
            f"one of: {', '.join(EXECUTOR_NAMES)}" + (f" (meant {meant}?)" if meant else ""),
        )
    if executor == "command" and not (command and command[0].strip()):
        raise PlanError(f"{where}: executor command needs a command", 'command = ["sh", "worker.sh"]')
    if executor != "command" and command:
        raise PlanError(
            f'{where}: command is only for executor = "command"',
            f"set the program in [executor.{executor}] of prun.toml",
        )
    if not unit.prompt.strip():
        raise PlanError(f"{where}: the prompt is empty", "say what the worker has to do")


def require_distinct(units: Sequence[Unit], source: str) -> None:
    """Refuse two units of one id, or of ids that differ in case only (one folder on some file systems)."""
    seen: dict[str, str] = {}
    for unit in units:
        before = seen.get(unit.id.lower())
        if before is not None:
            what = (
                f"two of {unit.id!r}" if before == unit.id else f"{before!r} and {unit.id!r}, one folder on some disks"
            )
            raise PlanError(f"{source}: unit ids must be distinct: {what}", "rename one of them")
        seen[unit.id.lower()] = unit.id
