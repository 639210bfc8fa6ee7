"""What the words behind ``git`` do: read, or write history, refs and settings, or throw work away."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from gitprun.guards.shell import UNKNOWN

COMMITS = "a worker never commits: leave the work in the files, all of it is collected when you end"
PUSHES = "a worker never pushes: what it leaves in the files is collected and landed for it"
REFS = "a worker never makes, moves or deletes branches, tags or other refs"
LOSES = "it throws away work that is in no commit"
SHARED = "it changes what all worktrees of the repository share"
SETTINGS = "a worker never changes git's settings"
STASH = "a stash is a ref, and all worktrees share it: git stash list, show and create are allowed"
LANDS = "landing and cleaning up are not the worker's to do"
UNTOLD = "what it does cannot be told before it runs: write the subcommand out"

_ALWAYS: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("commit", "merge", "rebase", "cherry-pick", "revert", "am", "pull", "commit-tree", "fast-import", "citool"),
        COMMITS,
    ),
    **dict.fromkeys(("push", "send-pack", "http-push", "send-email"), PUSHES),
    **dict.fromkeys(("update-ref", "filter-branch", "filter-repo"), REFS),
    **dict.fromkeys(("gc", "prune", "repack", "pack-refs", "maintenance"), SHARED),
}
_GLOBAL_VALUES = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"}
)
_EVERYTHING = frozenset({".", "./", ":/", ":/*", ":", "*", "..", "/", "./*"})


@dataclass(frozen=True, slots=True)
class JudgedCommand:
    """What is known of a git command: its subcommand, the words after it, and ``why`` it is refused (if it is).

    ``script`` is shell text it would run; ``known`` tells that the subcommand is git's own.
    """

    name: str
    rest: tuple[str, ...] = ()
    why: str = ""
    script: str = ""
    known: bool = False


@dataclass(frozen=True, slots=True)
class GitWords:
    """The words behind a subcommand: options, names before ``--``, paths after it."""

    options: tuple[str, ...]
    names: tuple[str, ...]
    paths: tuple[str, ...]

    def has(self, *wanted: str) -> bool:
        """Check whether an option is there: a long one (also shortened, as git takes it) or a letter in a cluster."""
        for option in self.options:
            name = option.partition("=")[0]
            for want in wanted:
                if want.startswith("--"):
                    if name == want or (len(name) > 3 and want.startswith(name)):
                        return True
                elif re.match(r"-[A-Za-z]", option) and want[1] in option[1:]:
                    return True
        return False


def judge_git(words: Sequence[str]) -> JudgedCommand:
    """Judge the words behind ``git``."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GLOBAL_VALUES else 1
    if at >= len(words):
        return JudgedCommand("", known=True)
    name, rest = words[at], tuple(words[at + 1 :])
    if UNKNOWN in name or "{" in name:
        return JudgedCommand(name.replace(UNKNOWN, "..."), rest, UNTOLD, known=True)
    if rest and rest[0] in ("-h", "--help"):
        return JudgedCommand(name, rest, known=True)
    if name in _ALWAYS:
        return JudgedCommand(name, rest, _ALWAYS[name], known=True)
    if name == "submodule" and "foreach" in rest:
        words_run = [word for word in rest[rest.index("foreach") + 1 :] if word not in ("--recursive", "--quiet")]
        return JudgedCommand(name, rest, script=" ".join(words_run), known=True)
    rule = _RULES.get(name)
    return JudgedCommand(name, rest, rule(_split(rest)) if rule else "", known=rule is not None)


def _split(rest: Sequence[str]) -> GitWords:
    cut = list(rest).index("--") if "--" in rest else len(rest)
    # What follows these is their value, whatever it begins with.
    values = {at + 1 for at, word in enumerate(rest) if word in ("--sort", "--format")}
    before = [word for at, word in enumerate(rest[:cut]) if at not in values]
    options = tuple(word for word in before if word.startswith("-") and len(word) > 1)
    return GitWords(options, tuple(word for word in before if word not in options), tuple(rest[cut + 1 :]))


def _everything(words: GitWords) -> bool:
    return any(path in _EVERYTHING for path in (*words.names, *words.paths))


# With one of these, a name is a pattern or a commit to compare with.
_LISTING = (*("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort", "--format"),)


def _branch(words: GitWords) -> str:
    if words.has("--delete", "--move", "--copy", "--force", "-d", "-D", "-m", "-M", "-c", "-C", "-f"):
        return REFS
    if words.has("--set-upstream-to", "--unset-upstream", "--edit-description", "-u"):
        return SETTINGS
    listing = words.has(*_LISTING, "--show-current", "--all", "--remotes", "-l", "-a", "-r")
    return REFS if words.names and not listing else ""


def _tag(words: GitWords) -> str:
    if words.has("--delete", "--annotate", "--sign", "--force", "--message", "-d", "-a", "-s", "-f", "-m", "-F", "-u"):
        return REFS
    return REFS if words.names and not words.has(*_LISTING, "--verify", "-l", "-n", "-v") else ""


def _reset(words: GitWords) -> str:
    if words.has("--hard", "--merge", "--keep"):
        return LOSES
    first = words.names[0] if words.names else "HEAD"
    # Without "--" git itself guesses whether a word is a commit or a path.
    is_path = bool(words.names[1:]) or first.endswith("/") or bool(re.fullmatch(r"[^~^@:]*\.[A-Za-z]\w*|\.", first))
    moves = first not in ("HEAD", "@") and not words.paths and not is_path
    return REFS if words.has("--soft") or moves else ""


def _checkout(words: GitWords) -> str:
    if words.has("--force", "-f") or _everything(words):
        return LOSES
    return REFS if words.has("--orphan", "--track", "-b", "-B", "-t") else ""


def _switch(words: GitWords) -> str:
    if words.has("--force", "--discard-changes", "-f"):
        return LOSES
    return REFS if words.has("--create", "--force-create", "--orphan", "--track", "-c", "-C", "-t") else ""


def _restore(words: GitWords) -> str:
    index_only = words.has("--staged", "-S") and not words.has("--worktree", "-W")
    return LOSES if _everything(words) and not index_only else ""


def _clean(words: GitWords) -> str:
    return "" if words.has("--dry-run", "-n") else LOSES


def _stash(words: GitWords) -> str:
    return "" if words.names[:1] in (("list",), ("show",), ("create",)) else STASH


def _worktree(words: GitWords) -> str:
    return "" if words.names[:1] == ("list",) else SHARED


def _config(words: GitWords) -> str:
    action = words.names[0] if words.names else ""
    if words.has("--unset", "--unset-all", "--add", "--replace-all", "--edit", "--rename-section", "--remove-section"):
        return SETTINGS
    if action in ("set", "unset", "edit", "rename-section", "remove-section"):
        return SETTINGS
    reading = words.has("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--list", "-l")
    if words.has("-e") and not reading:
        return SETTINGS
    # A second word is the value to be written; -f, --type and --default take a word of their own.
    values = sum(option in ("-f", "--file", "--blob", "--type", "-t", "--default") for option in words.options)
    return SETTINGS if len(words.names) > 1 + values and not reading and action not in ("get", "list") else ""


def _remote(words: GitWords) -> str:
    return "" if words.names[:1] in ((), ("show",), ("get-url",)) else SETTINGS


def _fetch(words: GitWords) -> str:
    return REFS if any(":" in name and "://" not in name for name in words.names[1:]) else ""


def _symbolic_ref(words: GitWords) -> str:
    return REFS if len(words.names) > 1 or words.has("--delete", "-d") else ""


def _first_word(changing: tuple[str, ...], why: str) -> Callable[[GitWords], str]:
    return lambda words: why if words.names[:1] and words.names[0] in changing else ""


def _unless(reading: tuple[str, ...], why: str) -> Callable[[GitWords], str]:
    return lambda words: "" if not words.names or words.names[0] in reading else why


_RULES: Final[dict[str, Callable[[GitWords], str]]] = {
    "branch": _branch,
    "tag": _tag,
    "reset": _reset,
    "checkout": _checkout,
    "switch": _switch,
    "restore": _restore,
    "clean": _clean,
    "stash": _stash,
    "worktree": _worktree,
    "config": _config,
    "remote": _remote,
    "fetch": _fetch,
    "symbolic-ref": _symbolic_ref,
    "checkout-index": lambda words: LOSES if words.has("--all", "--force", "-a", "-f") else "",
    "read-tree": lambda words: LOSES if words.has("--reset", "-u") else "",
    "replace": lambda words: "" if words.has("--list", "-l") or not (words.names or words.options) else REFS,
    "notes": _unless(("list", "show", "get-ref"), REFS),
    "reflog": _first_word(("expire", "delete", "drop"), SHARED),
    "submodule": _first_word(("deinit",), LOSES),
    "subtree": _first_word(("add", "merge", "pull", "push"), COMMITS),
    "svn": _first_word(("dcommit", "branch", "tag", "set-tree"), PUSHES),
    "p4": _first_word(("submit",), PUSHES),
    "lfs": _first_word(("push", "migrate", "prune"), PUSHES),
    "flow": lambda _words: REFS,
    "prun": _first_word(("merge", "remove", "clean", "stop"), LANDS),
    **dict.fromkeys(
        (
            *("add", "annotate", "apply", "archive", "bisect", "blame", "bundle", "cat-file", "check-attr"),
            *("check-ignore", "clone", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree"),
            *("difftool", "for-each-ref", "format-patch", "fsck", "grep", "hash-object", "help", "init", "log"),
            *("ls-files", "ls-remote", "ls-tree", "merge-base", "merge-file", "merge-tree", "mv", "name-rev"),
            *("range-diff", "rev-list", "rev-parse", "rm", "shortlog", "show", "show-branch", "show-ref", "status"),
            *("sparse-checkout", "update-index", "var", "verify-commit", "verify-tag", "version", "whatchanged"),
            "write-tree",
        ),
        lambda _words: "",
    ),
}
