"""What of a tree is live on this machine: hooks that git runs from it, settings it reads, programs these name."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.git.trees import REGULAR, read_blob
from gitprun.git.walk import Trees
from gitprun.landing.called import configured_drivers, names_in_text, names_run, names_started
from gitprun.landing.settings import MergeSettings, hooks_folder
from gitprun.landing.surface import (
    ATTRIBUTES,
    HELD,
    LARGEST,
    LINK_MODES,
    RUNNERS,
    SETTINGS,
    Live,
    runners_in,
)
from gitprun.model.names import Oid
from gitprun.system.files import read_plain

# So many files of a folder of hooks are looked at; nobody has more.
MOST_HOOKS = 200
# Git's own samples, and what lies beside hooks to be read.
_NO_SCRIPTS = (".sample", ".md", ".txt", ".rst", ".json", ".lock")
# Settings that name files of a tree which no program is started from.
_HARMLESS = (
    *("core.excludesfile", "core.hookspath", "core.attributesfile", "core.worktree", "commit.template"),
    *("blame.ignorerevsfile", "mailmap.file", "branch.", "submodule.", "url.", "safe.", "http.", "extensions."),
    *("user.", "color.", "advice.", "include.", "includeif."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkouts:
    """Where git looks for what is live: the shared git folder, the folders of checkouts, the folder of hooks."""

    common: Path
    tops: tuple[Path, ...]
    hooks: Path


def places_of(common: Path, settings: MergeSettings, here: Path, tops: Iterable[Path | None]) -> Checkouts:
    """Return where git looks when it runs in the folder ``here``."""
    known = tuple(dict.fromkeys(top for top in tops if top is not None))
    return Checkouts(common=common, tops=known, hooks=hooks_folder(settings, common, here))


def read_live(
    trees: Trees, tree: Oid, places: Checkouts, settings: MergeSettings, protected: Sequence[str] = ()
) -> Live:
    """Read what of the ``tree`` that is checked out is live here: hooks, settings and attributes, as they are now."""
    inside = _Inside(places)
    folders = set(inside.find(places.hooks))
    if settings.hooks and not os.path.isabs(settings.hooks):
        # Git takes it from the top of whatever checkout it runs in.
        folders.add(_normal(settings.hooks))
    texts: dict[str, str] = {}
    for path, text in _read_hooks(places.hooks):
        texts[f"the hook {path.name}"] = text
        folders.update(inside.find(path, link=True))
    runners = set(runners_in(texts.values()))
    # husky 9 points git at .husky/_, whose scripts call those one folder above.
    if any(".husky" in folder.split("/") for folder in folders):
        runners.add("husky")
        texts |= {
            f"the hook .husky/{path.name}": text for top in places.tops for path, text in _read_hooks(top / ".husky")
        }
    # Asked once more: husky's own scripts may call lint-staged and the like.
    runners |= runners_in(texts.values())
    called = {name: who for who, text in texts.items() for name in names_run(text)}
    for name, _, patterns in RUNNERS:
        if name in runners:
            # What a runner is told counts only where a hook calls the runner.
            for told, text in _texts_of(trees, tree, patterns):
                called |= dict.fromkeys(names_started(text), told)
    # Keys git gives in small letters, so the list above has them so.
    values = {f"your setting {key}": value for key, value in settings.rows if not key.startswith(_HARMLESS)}
    started = {name: who for who, value in values.items() for name in names_run(value)}
    for told, text in _texts_of(trees, tree, [pattern for pattern, _ in HELD]):
        started |= dict.fromkeys(names_started(text), told)
    known = dict(settings.rows)
    attributes = known.get("core.attributesfile", "")
    macros = (places.common / "info" / "attributes", *([Path(attributes).expanduser()] if attributes else []))
    shared = [text for _, text in _texts_of(trees, tree, (ATTRIBUTES,))]
    live = Live(
        hooks=frozenset("" if folder == "." else folder for folder in folders),
        runners=frozenset(runners),
        called=called,
        mentioned={name: who for who, text in texts.items() for name in names_in_text(text)},
        started=started,
        scripts=texts,
        values=values,
        aliases=_aliases(trees, tree),
        settings=frozenset(_included(settings.rows, inside, places.common)),
        attributes=frozenset(inside.find(Path(attributes))) if attributes else frozenset(),
        drivers=configured_drivers(known),
        macros=(*(_text(read_plain(path, LARGEST) or b"") for path in macros), *shared),
        protected=tuple(protected),
        ignore_case=settings.ignore_case,
    )
    return fold_case(live) if settings.ignore_case else live


def fold_case(live: Live) -> Live:
    """Return it with all names in small letters, for a file system that takes them for the same."""

    def fold(names: Mapping[str, str]) -> dict[str, str]:
        return {name.casefold(): who for name, who in names.items()}

    return replace(
        live,
        hooks=frozenset(map(str.casefold, live.hooks)),
        settings=frozenset(map(str.casefold, live.settings)),
        attributes=frozenset(map(str.casefold, live.attributes)),
        called=fold(live.called),
        mentioned=fold(live.mentioned),
        started=fold(live.started),
        scripts={who: text.casefold() for who, text in live.scripts.items()},
        values={who: text.casefold() for who, text in live.values.items()},
        aliases=fold(live.aliases),
        protected=tuple(map(str.casefold, live.protected)),
    )


class _Inside:
    """Tells which paths of a tree a place on disk stands for."""

    def __init__(self, places: Checkouts) -> None:
        self._tops = [(os.path.abspath(top), os.path.realpath(top)) for top in places.tops]
        self._common = os.path.realpath(places.common)

    def find(self, place: Path, *, link: bool = False) -> Iterator[str]:
        """Yield where a place lies in a checkout, as it is written and where links lead; with ``link`` only that."""
        for plain, real in self._tops:
            written, led = os.path.abspath(os.path.join(plain, place)), os.path.realpath(os.path.join(plain, place))
            # Below .git is nothing that a tree could hold.
            if not link and _is_below(written, plain) and not _is_below(written, os.path.join(plain, ".git")):
                yield _relative(written, plain)
            if _is_below(led, real) and not _is_below(led, self._common) and not (link and led == written):
                yield _relative(led, real)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(path, folder)


def _normal(path: str) -> str:
    return posixpath.normpath(path)


def _read_hooks(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the hooks of a folder, and what lies beside them to be called, with their texts; links to nothing, too."""
    try:
        names = sorted(os.listdir(folder))[:MOST_HOOKS]
    except OSError:
        return
    for name in names:
        path = folder / name
        # A link to nothing counts: the landing may bring what it points to.
        if name.endswith(_NO_SCRIPTS) or not (path.is_file() or path.is_symlink()):
            continue
        yield path, _text(read_plain(Path(os.path.realpath(path)), LARGEST) or b"")


def _included(rows: Iterable[tuple[str, str]], inside: _Inside, common: Path) -> Iterator[str]:
    """Yield the files of a checkout that settings include: told from the file that does, or from the user's home."""
    # A relative include is told from the file it stands in.
    above = [common, Path.home(), Path.home() / ".config" / "git"]
    for key, value in rows:
        if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
            for folder in tuple(above):
                place = folder / os.path.expanduser(value)
                found = tuple(inside.find(place))
                yield from found
                if found:
                    # What it includes in its turn is told from where it lies.
                    above.append(place.parent)


def _aliases(trees: Trees, tree: Oid) -> dict[str, str]:
    """Return to which paths of a tree those links lead that stand where settings are looked for."""
    wanted = {pattern.removeprefix("**/") for pattern, _ in HELD} | {SETTINGS, ".husky"}
    wanted |= {".claude/settings.json", ".claude/settings.local.json"}
    wanted |= {name.partition("/")[0] for name in wanted}
    found: dict[str, str] = {}
    for name in sorted(wanted):
        entry = trees.find(tree, name.encode())
        if entry is not None and entry[0] == LINK_MODES[0]:
            led = posixpath.normpath(posixpath.join(posixpath.dirname(name), _text(read_blob(trees.repo, entry[1]))))
            # What leads out of the tree is not the tree's to change.
            if not led.startswith(("..", "/")):
                found[led] = name
    return found


def _texts_of(trees: Trees, tree: Oid, patterns: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield those files of a tree that patterns name at its top, with their texts."""
    names = {pattern.removeprefix("**/").removeprefix("/").replace("*", "") for pattern in patterns}
    for name in sorted(name for name in names if not name.endswith("/")):
        entry = trees.find(tree, name.encode())
        if entry is not None and entry[0] in REGULAR:
            yield name, _text(read_blob(trees.repo, entry[1])[:LARGEST])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
