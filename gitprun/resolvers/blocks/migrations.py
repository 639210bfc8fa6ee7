"""Migration folders: two heads, or two migrations of one number, that only a merge brings together; and so of other
folders in which each record has a number."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

Read = Callable[[str], bytes]

# From minutes (202401311259) to milliseconds (20240131125959123); seconds since 1970 in thousandths have 13 digits.
_TIMESTAMP = re.compile(r"\d{12,17}$")
_DJANGO = re.compile(r"\d{4}_\w+\.py")
_RAILS = re.compile(r"(\d{3,17})_\w+\.rb")
_FLYWAY = re.compile(r"V(\d+(?:[._]\d+)*)__.+\.(?:sql|java|kt)")
# "up" and "down" are the two directions of one migration.
_NUMBERED = re.compile(r"(\d{1,17})([-_])(.+?)((?:\.(?:up|down|do|undo))?)\.(sql|js|ts|mjs|cjs|go|py|php|rb|ex|exs)")
_STAMPED = re.compile(r"(\d{12,17})[-_].+")
_FOLDER = re.compile(r"(?:^|/)(?:\w*migrat\w*|migrate|versions|flyway)(?:/|$)", re.IGNORECASE)
_DEPENDENCIES = re.compile(r"\bdependencies\b[^=\n]*=\s*\[(.*?)\]", re.DOTALL)
# What a squashed migration replaces is followed by it, as by a dependency.
_REPLACES = re.compile(r"\breplaces\b[^=\n]*=\s*\[(.*?)\]", re.DOTALL)
_PAIR = re.compile(r"\(\s*[\"'](\w+)[\"']\s*,\s*[\"'](\w+)[\"']\s*,?\s*\)")
_REVISION = re.compile(r"^revision\b[^=\n]*=\s*[\"']([^\"']+)[\"']", re.MULTILINE)
_DOWN = re.compile(r"^down_revision\b[^=\n]*=\s*(\([^)]*\)|\[[^\]]*\]|[^\n]*)", re.MULTILINE)
_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
_COMMENT = re.compile(r"#[^\n]*")
# 0007-use-events.md, ADR-0007-use-events.md, 12_rules.txt: the number first, but for a word.
_RECORD = re.compile(r"(?P<lead>[A-Za-z]+[-_])?(?P<number>\d{2,6})(?:[-_ ].*)?(?P<ending>\.\w+)")
# Fewer show no habit.
_RECORDS = 3


@dataclass(frozen=True, slots=True)
class MigrationFault:
    """Migrations of one folder that cannot stand together: what is wrong, their paths, how to put it right."""

    kind: str
    folder: str
    files: tuple[str, ...]
    fix: str

    @property
    def words(self) -> str:
        """Return the fault and its remedy in one line, the folder left out."""
        *most, last = (path.removeprefix(f"{self.folder}/") for path in self.files)
        return f"{', '.join(most)} and {last} {self.kind}: {self.fix}"

    @property
    def line(self) -> str:
        """Return the fault and its remedy in one line that begins with the folder."""
        return f"{self.folder or '.'}: {self.words}"


def find_clashes(
    main: Collection[str], unit: Collection[str], merged: Collection[str], read: Read
) -> tuple[MigrationFault, ...]:
    """Find migrations that a merge brought together and that cannot stand together.

    ``main`` and ``unit`` are all paths of the sides, or those that each has added; ``merged`` are all paths of the
    merged tree, at least in those folders, and ``read`` gives their texts. A fault that one side has by itself is not
    the merge's: only faults among files that only main has and files that only the unit has are told.
    """
    main_set, unit_set = set(main), set(unit)
    present = set(merged)
    only_main, only_unit = (main_set - unit_set) & present, (unit_set - main_set) & present
    found = find_migration_faults(present, only_main | only_unit, read)
    # A fault among files of one side, or with what both have, was there without the merge.
    return tuple(
        fault
        for fault in found
        if all(any(_within(path, side) for path in fault.files) for side in (only_main, only_unit))
    )


def find_record_clashes(
    base: Collection[str], main: Collection[str], unit: Collection[str]
) -> tuple[MigrationFault, ...]:
    """Find records to which both sides gave the next number of their folder.

    ``base`` are all paths of the base in those folders, ``main`` and ``unit`` what each side has added. A folder is
    numbered if it has three files or more that begin with a number of one width, each of them once.
    """
    known, by_main, by_unit = (_records(paths) for paths in (base, set(main) - set(unit), set(unit) - set(main)))
    faults: list[MigrationFault] = []
    for place in sorted(by_main.keys() & by_unit.keys() & known.keys()):
        taken, *added = (each[place] for each in (known, by_main, by_unit))
        if len(taken) < _RECORDS or any(len(names) > 1 for names in taken.values()):
            continue
        # The next ones only: numbers given elsewhere (of a pull request) are not counted up by whoever writes a file.
        last = max(taken)
        for number in sorted(added[0].keys() & added[1].keys()):
            if all(last < number <= last + len(side) for side in added):
                names = sorted({*added[0][number], *added[1][number]})
                faults.append(_fault("have one number", place[0], names, "give the later one the next number"))
    return tuple(faults)


def _records(paths: Iterable[str]) -> dict[tuple[str, ...], dict[int, list[str]]]:
    """Sort the names of records by folder and kind of name, then by number."""
    found: dict[tuple[str, ...], dict[int, list[str]]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        record = _RECORD.fullmatch(name)
        if record is not None:
            place = (folder, record["lead"] or "", str(len(record["number"])), record["ending"])
            found.setdefault(place, {}).setdefault(int(record["number"]), []).append(name)
    return found


def find_migration_faults(paths: Collection[str], added: Collection[str], read: Read) -> tuple[MigrationFault, ...]:
    """Find migrations that clash with an added one, in every folder of migrations that has added files.

    ``paths`` are all of the merged tree; each fault names at least two files, one of them added.
    """
    folders = _folders(added)
    if not folders:
        return ()
    content: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder in folders:
            content[folder].append(name)
        parent, _, inner = folder.rpartition("/")
        if parent in folders and _STAMPED.fullmatch(inner) and name == "migration.sql":
            content[parent].append(inner)  # a folder for each migration
    faults: list[MigrationFault] = []
    for folder in sorted(folders):
        names = sorted(set(content[folder]))
        fresh = {name for name in names if _within(_join(folder, name), added)}
        if fresh:
            faults += _folder_faults(folder, names, fresh, read)
    return tuple(faults)


def _folders(added: Iterable[str]) -> set[str]:
    folders = set()
    for path in added:
        folder, _, name = path.rpartition("/")
        parent, _, inner = folder.rpartition("/")
        if name == "migration.sql" and _STAMPED.fullmatch(inner):
            folders.add(parent)
        elif _FOLDER.search(folder) or _FLYWAY.fullmatch(name):
            folders.add(folder)
    return folders


def _folder_faults(folder: str, names: Sequence[str], fresh: set[str], read: Read) -> list[MigrationFault]:
    scripts = [name for name in names if name.endswith(".py") and name != "__init__.py"]
    # Texts are read only in folders that got a script: each is a look into the object database.
    if fresh & set(scripts):
        texts = {name: _text(read, _join(folder, name)) for name in scripts}
        alembic = {name: text for name, text in texts.items() if _REVISION.search(text) and _DOWN.search(text)}
        if alembic:
            return _alembic_heads(folder, alembic, fresh)
        django = {name: text for name, text in texts.items() if _DJANGO.fullmatch(name) and "Migration" in text}
        if django:
            return _django_leaves(folder, django, fresh)
    return _number_twins(folder, names, fresh)


def _django_leaves(folder: str, texts: Mapping[str, str], fresh: set[str]) -> list[MigrationFault]:
    """Find migrations that no other one of the app depends on; the app is told from the folder's own names."""
    stems = {name.removesuffix(".py") for name in texts}
    pairs: set[tuple[str, str]] = set()
    for text in texts.values():
        # A commented dependency orders nothing.
        plain = _COMMENT.sub("", text)
        for block in (*_DEPENDENCIES.findall(plain), *_REPLACES.findall(plain)):
            pairs |= {(app, name) for app, name in _PAIR.findall(block) if name in stems}
    # An app's label is the name of its folder unless it says otherwise; then every name that fits is believed.
    owner = folder.rpartition("/")[0].rpartition("/")[2]
    own = {(app, name) for app, name in pairs if app == owner} or pairs
    needed = {name for _, name in own}
    leaves = sorted(name for name in texts if name.removesuffix(".py") not in needed)
    if len(leaves) < 2 or not fresh & set(leaves):
        return []
    return [_fault("are both the last migration", folder, leaves, "python manage.py makemigrations --merge")]


def _alembic_heads(folder: str, texts: Mapping[str, str], fresh: set[str]) -> list[MigrationFault]:
    revisions: dict[str, list[str]] = defaultdict(list)
    below: set[str] = set()
    for name, text in sorted(texts.items()):
        revision, down = _REVISION.search(text), _DOWN.search(text)
        if revision and down:
            revisions[revision.group(1)].append(name)
            below |= set(_QUOTED.findall(_COMMENT.sub("", down.group(1))))
    faults = [
        _fault("have one revision", folder, names, "give one of them a new revision id")
        for names in revisions.values()
        if len(names) > 1 and fresh & set(names)
    ]
    # Files of one revision are one head; that they share it is told above.
    heads = [name for revision, names in revisions.items() if revision not in below for name in names[:1]]
    if len(heads) > 1 and fresh & set(heads):
        faults.append(_fault("are both heads", folder, sorted(heads), "alembic merge heads"))
    return faults


def _number_twins(folder: str, names: Sequence[str], fresh: set[str]) -> list[MigrationFault]:
    """Find files of one number or timestamp, in a folder where each of the others has its own."""
    groups: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for name in names:
        found = _number(name)
        if found:
            kind, number, title = found
            # Both directions of one migration have one title, and count once.
            groups[kind, number].setdefault(title, name)
    faults = []
    for (kind, number), titled in sorted(groups.items()):
        files = sorted(titled.values())
        if len(files) < 2 or not fresh & set(files):
            continue
        settled = [other for key, other in groups.items() if key[0] == kind and not fresh & set(other.values())]
        if any(len(other) > 1 for other in settled):
            continue  # here numbers are shared by custom
        word = "timestamp" if _TIMESTAMP.match(number) else "number"
        faults.append(_fault(f"have one {word}", folder, files, f"give the later one a new {word}"))
    return faults


def _number(name: str) -> tuple[str, str, str] | None:
    """Return kind, number and title of a numbered migration; both directions of one have the same title."""
    flyway = _FLYWAY.fullmatch(name)
    if flyway:
        # Flyway compares parts as numbers: V3, V3_0 and V03 are one version.
        number = re.sub(r"(?:\.0)+$", "", flyway.group(1).replace("_", "."))
        return "flyway", ".".join(part.lstrip("0") or "0" for part in number.split(".")), name
    rails = _RAILS.fullmatch(name)
    if rails:
        return "rails", rails.group(1), name
    numbered = _NUMBERED.fullmatch(name)
    if numbered:
        # Most tools compare numbers, so 0003 and 3 are one.
        title = f"{numbered.group(3)}.{numbered.group(5)}" if numbered.group(4) else name
        return "numbered", numbered.group(1).lstrip("0") or "0", title
    stamped = _STAMPED.fullmatch(name)
    return ("stamped", stamped.group(1), name) if stamped else None


def _fault(kind: str, folder: str, names: Sequence[str], fix: str) -> MigrationFault:
    return MigrationFault(kind, folder, tuple(_join(folder, name) for name in names), fix)


def _within(path: str, added: Collection[str]) -> bool:
    # Of a folder for each migration the path of its script is what was added.
    return path in added or f"{path}/migration.sql" in added


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _text(read: Read, path: str) -> str:
    return read(path).decode("utf-8", "replace")
