"""What a worker says it did, against what was found: its Files and Verification, the capture, prun's own checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gitprun.executors.lines import one_line
from gitprun.model.contract import Result
from gitprun.model.globs import matches
from gitprun.model.lists import listed

# A field is one line people read; whatever is longer is no list of files.
MAX_FIELD = 20_000
# Every name is compared with every changed path, and both may be many.
MAX_NAMES = 500

# What may stand before the word: a bullet, a bracket, stars.
_NOTHING = re.compile(r"\W*(?:none|nothing|no (?:files?|changes?|tests?|checks?)|n/?a)\b", re.IGNORECASE)
# Bounded, and tried at the start of a word only: a field of thousands of brackets must not take minutes.
_BRACES = re.compile(r"(?<![^\s,;`{}])([^\s,;`{}]*)\{([^{}]{0,300},[^{}]{0,300})\}([^\s,;`{}]*)")
_LINK = re.compile(r"\[([^\]]{0,300})\]\([^)]{0,300}\)")
_ASIDE = re.compile(r"(?:^|(?<=[\s,;`]))\([^)]{0,300}\)")
# A dash or an arrow separates only between blanks, for paths have dashes in them.
_SPLIT = re.compile(r"[,;\n\t]|\s+(?:and|&|->|=>|\u2192|[-\u2013\u2014])\s+")
# ``a.py:12-20:3`` and ``a.py#L12-L20``, as editors and hosts write a place in a file.
_PLACE = re.compile(r"(?::\d+(?:-\d+)?(?::\d+)?|#L\d+(?:-L?\d+)?)$")
# With a slash, or a dot before a letter: ``3.11`` is a version and no file.
_PATH = re.compile(r"\.?[^\s:]*(?:/[^\s]*|\.[A-Za-z][\w-]*)")
_PROSE = frozenset({"e.g", "i.e", "etc", "and/or", "added/modified", "created/modified", "new/modified", "read/write"})
# Files that have neither a slash nor an extension; any other lone word is prose unless it stands in backticks.
_BARE_NAMES = frozenset(
    {"makefile", "dockerfile", "license", "readme", "changelog", "copying", "notice", "version", "codeowners"}
    | {"gemfile", "rakefile", "procfile", "vagrantfile", "jenkinsfile", "justfile", "brewfile", "podfile"}
)

# ``0 failed`` and ``no errors`` hold the words of bad news, so they are taken out before those are looked for.
_GOOD_NEWS = re.compile(r"\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+)?(?:fail\w*|errors?)\b", re.IGNORECASE)
_BAD_NEWS = re.compile(r"\b(?:fail\w*|broken|red|errors?)\b", re.IGNORECASE)
_NOT_RUN = re.compile(r"\b(?:not|unable|skipp?ed|cannot|couldn't|can't|untested|unverified)\b", re.IGNORECASE)


def check_claims(
    result: Result,
    *,
    changed: Sequence[str] | None,
    left_out: Mapping[str, str] | None = None,
    verdict: str = "absent",
    checks: Iterable[tuple[str, str]] = (),
) -> tuple[str, ...]:
    """List where a result disagrees with what was found; empty where nothing speaks against it.

    ``changed`` are the paths of the capture (None: nothing was captured, as for a read unit), ``left_out`` paths
    that stayed behind with the reason, ``checks`` the commands prun ran with their states. A salvaged result claims
    nothing.
    """
    if result.fallback:
        return ()
    said = [check_files(result.fields.get("Files", ""), changed, left_out or {})]
    said.append(check_verification(result.fields.get("Verification", ""), verdict, tuple(checks)))
    return tuple(line for lines in said for line in lines)


def check_files(value: str, changed: Sequence[str] | None, left_out: Mapping[str, str]) -> list[str]:
    """Compare the Files field with what the capture holds."""
    value = value[:MAX_FIELD]
    if not value.strip():
        return []
    named, rest = _take_known(value, changed or ())
    words = claimed_paths(rest)
    # Only where no path is named: ``none of the tests, a.py`` names one.
    if not named and not words and _NOTHING.match(value):
        return [f"Files: says none, but {_listed(changed)} changed"] if changed else []
    if changed is None:
        return [f"Files: names {_listed(words)}, but a unit that only reads changes nothing"] if words else []
    said, unknown = [], []
    for word in words:
        meant = {path for path in changed if covers(word, path)}
        named |= meant
        behind = next((f"{path} ({why})" for path, why in left_out.items() if covers(word, path.rstrip("/"))), "")
        if not meant and behind:
            said.append(f"Files: names {behind}, which was left out")
        elif not meant:
            unknown.append(word)
    if unknown:
        said.append(f"Files: names {_listed(unknown)}, but no such change was found")
    if silent := [path for path in changed if path not in named]:
        said.append(f"Files: does not name {_listed(silent)}, which changed")
    return said


def _take_known(value: str, changed: Sequence[str]) -> tuple[set[str], str]:
    """Find the changed paths that stand in a field word for word, and give the field without them.

    These first, since a path may hold blanks, commas and whatever else would separate names.
    """
    found = set()
    # The longest first: ``b.py`` would else be taken out of the middle of ``a b.py``.
    for path in sorted(changed, key=len, reverse=True):
        if path not in value:
            continue
        # Not as a part of a longer name: no name may go on before it, nor an ending behind it; a full stop may.
        exact = re.compile(rf"(?<![\w./-])(?:\./)?{re.escape(path)}(?![\w/-]|\.\w)")
        value, times = exact.subn(" , ", value)
        if times:
            found.add(path)
    return found, value


def claimed_paths(value: str) -> tuple[str, ...]:
    """Read the paths that a Files field names, whatever surrounds them; prose names none."""
    text = _ASIDE.sub(" ", _LINK.sub(r"\1", _BRACES.sub(_spread, value)))
    found: list[str] = []
    for at, quoted in enumerate(text.split("`")):
        # Between backticks a name may hold blanks.
        pieces = [quoted] if at % 2 else _SPLIT.split(quoted)
        for piece in pieces:
            quotes = at % 2 == 1
            names = [_bare(word) for word in ([piece] if quotes else piece.split())]
            found += [name for name in names if _is_path(name, quotes)]
    # The result file itself, and what prun keeps beside it, are no changes of the worker's.
    own = [name for name in dict.fromkeys(found) if ".prun/" not in f"{name}/" and name != "result.md"]
    return tuple(own[:MAX_NAMES])


def _spread(found: re.Match[str]) -> str:
    """Write ``src/{a,b}.py`` out."""
    return ", ".join(f"{found[1]}{inner.strip()}{found[3]}" for inner in found[2].split(","))


def _bare(word: str) -> str:
    """Take off what surrounds a name in prose: quotes, bullets, a full stop, a line number, a leading ``./``."""
    name = word.strip().strip("\"'*_<>[]!?|").lstrip("+-").rstrip(".,:;")
    name = _PLACE.sub("", name).strip("\"'")
    for start in ("./", ".../", "\u2026/"):
        name = name.removeprefix(start)
    return name


def _is_path(name: str, quoted: bool) -> bool:
    if not name.strip("./") or name.lower() in _PROSE or "://" in name or _NOTHING.fullmatch(name):
        return False
    if quoted:
        return " " not in name or bool(_PATH.fullmatch(name.replace(" ", "_")))
    return bool(_PATH.fullmatch(name)) or name.lower() in _BARE_NAMES


def covers(word: str, path: str) -> bool:
    """Check whether a name in a result means a path: itself, its last parts, a folder above it, or a pattern."""
    if word == path or path.endswith(f"/{word}") or word.endswith(f"/{path}"):
        return True
    return path.startswith(word.rstrip("/") + "/") or (any(mark in word for mark in "*?") and matches(word, path))


def check_verification(value: str, verdict: str, checks: Sequence[tuple[str, str]]) -> list[str]:
    """Compare the Verification field with what prun's own checks said."""
    value = value[:MAX_FIELD].strip()
    if not value or not checks:
        return []
    plain = _GOOD_NEWS.sub(" ", value)
    bad, silent = bool(_BAD_NEWS.search(plain)), bool(_NOTHING.match(value) or _NOT_RUN.search(value))
    shown = one_line(value)
    shown = shown if len(shown) <= 80 else shown[:77].rstrip() + "..."
    # A worker that says it could not run the checks has claimed nothing.
    if verdict == "fail" and not bad and not silent:
        failed = next((command for command, state in checks if state == "fail"), "a check")
        return [f"Verification: says {shown!r}, but prun's own check fails: {failed}"]
    if verdict == "pass" and bad and not silent:
        return [f"Verification: says {shown!r}, but prun's own checks pass: {'; '.join(c for c, _ in checks)}"]
    if verdict == "could-not-run":
        named = [command for command, state in checks if state == "could-not-run" and command in value]
        return [f"Verification: names {named[0]!r}, which prun could not run"] if named and not silent else []
    return []


def _listed(names: Sequence[str] | None) -> str:
    """Name the first few of some paths."""
    return listed(names or (), show=repr)
