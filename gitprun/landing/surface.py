"""The trust surface: which changed paths are programs of the user, or say what starts as one; pure.

Two grades. What is live on this machine is *held*: it would run as the user, unasked. What asks by itself before it
runs, runs elsewhere, or is installed by nobody here is *named*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from gitprun.model.globs import matches
from gitprun.model.lists import listed

Grade = Literal["held", "named"]
# Git takes it from the folder of hooks, wherever that is; or hooks call it in whatever folder they run.
HookWay = Literal["", "folder", "called"]
# Links and submodules: what lies behind either is in no tree that could be looked at.
LINK_MODES: Final = ("120000", "160000")
ATTRIBUTES: Final = ".gitattributes"
MODULES: Final = ".gitmodules"
SETTINGS: Final = "prun.toml"
# What runners take from the description of a package, by their names.
PACKAGE: Final = "package.json"
PACKAGE_KEYS: Final = ("husky", "lint-staged", "simple-git-hooks")
# What a name may consist of to be found in a text without being quoted there.
PLAIN_WORD: Final = re.compile(r"[\w./@+-]+")
# Longer hooks and settings are read up to here: nobody hand-writes more.
LARGEST: Final = 1 << 20

# What starts programs wherever it lies: agents ask for it once for a folder, if at all.
HELD: Final = (
    ("**/.claude/settings*.json", "settings of Claude Code, with its hooks"),
    ("**/.mcp.json", "servers that Claude Code starts"),
    ("**/.codex/config.toml", "settings of codex, with its servers"),
    ("**/.codex/hooks.json", "hooks of codex"),
    ("**/.cursor/mcp.json", "servers that Cursor starts"),
    ("**/.cursor/hooks.json", "hooks of Cursor"),
    ("**/.gemini/settings.json", "settings of Gemini, with its servers"),
    ("**/.vscode/mcp.json", "servers that the editor starts"),
    ("**/opencode.json", "settings of opencode, with its servers"),
)
# Programs that hooks call, how such a hook is known, and what says what they run.
RUNNERS: Final = (
    (
        "pre-commit",
        r"pre_commit|pre-commit\.com|\bpre-commit\s+(?:run|hook-impl)|\bprek\b",
        (".pre-commit-config.yaml", "prek.toml"),
    ),
    (
        "lefthook",
        r"lefthook",
        (
            *(
                f"{folder}{dot}lefthook{local}.{ending}"
                for folder, dot in (("/", ""), ("/", "."), ("/.config/", ""))
                for local in ("", "-local")
                for ending in ("yml", "yaml", "json", "jsonc", "toml")
            ),
            "/.lefthook/",
            "/.lefthook-local/",
        ),
    ),
    ("husky", r"husky", ("**/.husky/", ".huskyrc", ".huskyrc.*", "husky.config.js")),
    ("overcommit", r"overcommit", ("/.overcommit.yml", "/.git-hooks/")),
    ("lint-staged", r"lint-staged", (".lintstagedrc", ".lintstagedrc.*", "lint-staged.config.*")),
    ("captainhook", r"captainhook", ("/captainhook.json", "/captainhook.config.json")),
    ("grumphp", r"grumphp", ("/grumphp.yml", "/grumphp.yml.dist", "/grumphp.yaml")),
)
NAMED: Final = (
    (".github/workflows/", "a workflow"),
    (".github/actions/", "an action"),
    (".forgejo/workflows/", "a workflow"),
    (".gitea/workflows/", "a workflow"),
    ("/.gitlab-ci.yml", "a pipeline"),
    ("/.circleci/", "a pipeline"),
    ("/.buildkite/", "a pipeline"),
    ("/azure-pipelines.yml", "a pipeline"),
    ("/bitbucket-pipelines.yml", "a pipeline"),
    ("/Jenkinsfile", "a pipeline"),
    ("/.travis.yml", "a pipeline"),
    ("**/.vscode/tasks.json", "tasks of the editor"),
    ("**/.vscode/launch.json", "programs of the editor"),
    ("**/.devcontainer/", "a development container"),
    ("/.devcontainer.json", "a development container"),
    (".envrc", "direnv, which asks before it runs it"),
    ("mise.toml", "mise, which asks before it runs it"),
    (".mise.toml", "mise, which asks before it runs it"),
    ("**/.config/mise.toml", "mise, which asks before it runs it"),
    ("**/.mise/config.toml", "mise, which asks before it runs it"),
    ("/.githooks/", "hooks that nobody installed here"),
    ("/.hooks/", "hooks that nobody installed here"),
    ("/git-hooks/", "hooks that nobody installed here"),
    ("/.simple-git-hooks.*", "hooks that nobody installed here"),
    ("/simple-git-hooks.*", "hooks that nobody installed here"),
)
_FIRST: Final = {
    pattern.removeprefix("**").removeprefix("/").partition("/")[0].partition("*")[0]
    for pattern in (*(row[0] for row in (*HELD, *NAMED)), *(one for _, _, patterns in RUNNERS for one in patterns))
}
# What every path of the tables has in it; few others do.
_LIKELY: Final = re.compile(rf"(?:^|/)(?:\.|{'|'.join(re.escape(name) for name in sorted(_FIRST) if name[0] != '.')})")
_SCRIPTS: Final = (
    *(".sh", ".bash", ".zsh", ".fish", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1", ".lua"),
    *(".mk", ".cmd", ".bat", ".exe"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What of a tree is live on this machine; paths are told from the root of the tree.

    ``hooks`` are folders git takes hooks from, and files that hooks are links to; ``runners`` are the hook runners
    that installed hooks call; ``called`` and ``started`` are paths that hooks, or settings of git and of agents, start,
    ``mentioned`` those that hooks name at all, each with who does; ``scripts`` and ``values`` are the texts of hooks
    and of settings themselves, for names that are no plain words; ``aliases`` are paths to which a link of the tree
    leads, with the name of the link; ``settings`` are files git reads settings from, ``attributes`` those it reads
    attributes from beside ``.gitattributes``; ``drivers`` are attributes that start a program, such as ``filter=lfs``,
    ``macros`` texts of attributes that hold for the whole tree; ``protected`` are globs of the user's own.
    """

    hooks: frozenset[str] = frozenset()
    runners: frozenset[str] = frozenset()
    called: Mapping[str, str] = field(default_factory=dict)
    mentioned: Mapping[str, str] = field(default_factory=dict)
    started: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    settings: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    drivers: frozenset[str] = frozenset()
    macros: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Altered:
    """One changed path: the modes and git's ids of both versions."""

    path: str
    old_mode: str
    new_mode: str
    old: str
    new: str

    @property
    def leads(self) -> bool:
        """Check whether it is a link or another repository now, and so stands for whatever lies below its name."""
        return self.new_mode in LINK_MODES

    @property
    def executable(self) -> bool:
        """Check whether either version is one that the system executes."""
        return "100755" in (self.old_mode, self.new_mode)

    @property
    def may_run(self) -> bool:
        """Check whether it is something that is started: hooks name lock files, too, to see whether they changed."""
        name = self.path.rpartition("/")[2]
        return self.executable or "." not in name or name.endswith(_SCRIPTS)


@dataclass(frozen=True, slots=True)
class Touch:
    """One path of the trust surface that a branch changes; ``what`` says why it is one, ``hook`` how hooks run it."""

    path: str
    what: str
    grade: Grade
    hook: HookWay = ""

    @property
    def words(self) -> str:
        """Return path and reason."""
        return f"{self.path} ({self.what})"

    def as_json(self) -> dict[str, str]:
        """Return it as plain values."""
        return {"path": self.path, "what": self.what, "grade": self.grade}


def grade(change: Altered, live: Live) -> Touch | None:
    """Return what one changed path is by its name alone; None where it is no part of the surface."""
    path = change.path.casefold() if live.ignore_case else change.path
    hook = _hook(path, live, change)
    # Hooks first: whether one is touched decides which hooks run after the move.
    if hook is not None:
        return Touch(change.path, hook[1], "held", hook[0])
    what = _held(path, live, change)
    if what:
        return Touch(change.path, what, "held")
    # One search instead of some eighty patterns, for every path of every branch.
    if not _LIKELY.search(path):
        return None
    for name, _, patterns in RUNNERS:
        if any(_falls(pattern, path, leads=change.leads) for pattern in patterns):
            return Touch(change.path, f"{name}, which no hook here calls", "named")
    told = next((what for pattern, what in NAMED if matches(pattern, path)), "")
    return Touch(change.path, told, "named") if told else None


def _hook(path: str, live: Live, change: Altered) -> tuple[HookWay, str] | None:
    """Return how git's hooks come to run a path; None if they do not."""
    leads = change.leads
    for folder in live.hooks:
        if (not folder and "/" not in path) or _reaches(folder, path, leads=leads):
            return "folder", f"git runs hooks from {folder or 'the top'} here"
    for name, _, patterns in RUNNERS:
        if name in live.runners and any(_falls(pattern, path, leads=leads) for pattern in patterns):
            # Husky's hooks call what lies beside them.
            return "folder" if name == "husky" else "called", f"{name}, which a hook here calls"
    # What can be executed is there to be; of other files a hook may only look at the text.
    by = _named(live.called, path, change) or (_named(live.mentioned, path, change) if change.executable else "")
    by = by or _quoted(live.scripts, path, change)
    return ("called", f"{by} runs it") if by else None


def _held(path: str, live: Live, change: Altered) -> str:
    """Return what else makes a path live, or protected; empty if nothing does."""
    leads = change.leads
    if any(_reaches(name, path, leads=leads) for name in live.settings):
        return "git reads its settings from it here"
    for name, link in live.aliases.items():
        if _reaches(name, path, leads=leads):
            return f"{link} is a link to it"
    by = _named(live.started, path, change) or _quoted(live.values, path, change)
    if by:
        return f"{by} starts it"
    what = _LIKELY.search(path) and next((what for pattern, what in HELD if _falls(pattern, path, leads=leads)), "")
    if what:
        return what
    return "[merge] protected" if any(matches(pattern, path) for pattern in live.protected) else ""


def _named(names: Mapping[str, str], path: str, change: Altered) -> str:
    """Return who names a path as something that is started; a link above such a path stands for it."""
    if change.leads:
        return next((who for name, who in names.items() if _reaches(name, path, leads=True)), "")
    return names.get(path, "") if change.may_run else ""


def _quoted(texts: Mapping[str, str], path: str, change: Altered) -> str:
    """Return whose text names a path that is no plain word, such as one with blanks."""
    # Plain words were looked up above; only odd names are worth a search through whole texts.
    if PLAIN_WORD.fullmatch(path) or not change.may_run:
        return ""
    return next((who for who, text in texts.items() if path in text), "")


def _reaches(name: str, path: str, *, leads: bool) -> bool:
    """Check whether a path is a thing or lies below it; or, being a link or another repository, stands above it."""
    return path == name or path.startswith(f"{name}/") or (leads and name.startswith(f"{path}/"))


def _falls(pattern: str, path: str, *, leads: bool) -> bool:
    """Check whether a path falls under a pattern; a link that takes the place of one of its folders does, too."""
    if matches(pattern, path):
        return True
    # A link called .claude stands for .claude/settings.json: git shows only the link.
    folders = pattern.removeprefix("**/").removeprefix("/").split("/")[:-1]
    return leads and any(
        path == "/".join(folders[:many]) or (pattern[:3] == "**/" and path.endswith("/" + "/".join(folders[:many])))
        for many in range(1, len(folders) + 1)
    )


def runners_in(texts: Iterable[str]) -> frozenset[str]:
    """Return which hook runners the texts of hooks call."""
    whole = "\n".join(texts)
    return frozenset(name for name, sign, _ in RUNNERS if re.search(sign, whole))


# What each grade comes to, in the words of a title.
TITLES: Final[Mapping[Grade, str]] = {
    "held": "changes what is run here",
    "named": "changes what starts programs elsewhere",
}


def describe(touches: Sequence[Touch]) -> str:
    """Return in one line what is touched; empty where nothing is."""
    # --accept is told all of them.
    return listed(touches, show=lambda touch: touch.words)
