"""Merge YAML by key: what neither side touched keeps its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from gitprun.resolvers.base import Divided, FileConflict, Refused, Resolved, take_plain
from gitprun.resolvers.tree import (
    Contradiction,
    EntryGroup,
    KeyedEntry,
    RivalEntry,
    TextUnreadable,
    ValueRules,
    merge_trees,
    prove_plain,
    render,
)
from gitprun.resolvers.tree.align import fields_of
from gitprun.resolvers.tree.nodes import render_entry
from gitprun.resolvers.tree.texts import Texts, decode, encode
from gitprun.resolvers.yaml.events import Broken, YamlTooDeep, parse_plain
from gitprun.resolvers.yaml.plain import anchors, is_comment, plain_documents, uses_anchor
from gitprun.resolvers.yaml.reader import read_yaml
from gitprun.resolvers.yaml.rules import yaml_rules

NAME = "yaml"
# Lock files have a kind of their own.
LOCKS = ("pnpm-lock.yaml",)
# A full parser is slow: larger texts are checked by it only where both sides' text was joined, and only so far.
# Four versions of 8,000 characters are 0.2 s of the two seconds a file has.
PARSED_WHOLE = 8_000
# Characters: a parser in Python takes some 6 microseconds for each, 0.15 s in all, and a slow machine three times that.
PARSED_IN_ALL = 24_000


def merge_yaml(conflict: FileConflict) -> Resolved | Refused:
    """Merge maps by key at any depth, lists of maps by what names their rows, lists of scalars as sets.

    In any other list only changes apart from each other are merged; what an anchor names or calls up is left alone.
    """
    texts = decode(conflict)
    if isinstance(texts, Refused):
        return texts
    # Merged by key, a lock would hold a package that neither side resolved.
    if conflict.path.endswith(LOCKS):
        return Refused("a lock file is merged by package only")
    plain = take_plain(conflict, texts.triple, NAME)
    if plain is not None:
        return plain
    merged = merge_texts(texts, yaml_rules())
    return merged if isinstance(merged, Refused) else encode(texts, merged, NAME)


def merge_texts(texts: Texts, rules: ValueRules, shallow: tuple[str, ...] = ()) -> str | Refused:
    """Merge three YAML texts and prove the result; ``shallow`` as ``read_yaml`` has it."""
    trees = []
    for where, text in (("in the common version", texts.base), ("on main", texts.main), ("in the unit", texts.unit)):
        try:
            trees.append(read_yaml(text, shallow))
        except TextUnreadable as error:
            return Refused(f"the file is no plain YAML {where}: {error}")
    # An anchor is read elsewhere: what is changed under one name changes places the other side may have edited.
    fault = _touched_anchor(texts)
    if fault:
        return Refused(fault)
    try:
        base, main, unit = _name_documents(rules, trees)
        merged = merge_trees(rules, base, main, unit)
        # Read again, for the proof is of the text.
        result = read_yaml(merged, shallow)
        values = [plain_documents(tree) for tree in (*trees, result)]
    except RivalEntry as error:
        return Divided(str(error))
    except (Contradiction, TextUnreadable) as error:
        return Refused(str(error))
    fault = (
        # The cheap proof first; the full parser is asked about what it lets through.
        _prove_documents(values)
        or _moved_anchor(texts, merged)
        or _second_opinion(texts, merged)
        or _check_joined(texts, result)
    )
    return Refused(fault) if fault else merged


def _name_documents(rules: ValueRules, trees: Sequence[EntryGroup]) -> list[EntryGroup]:
    """Name the documents of three versions: by what a cluster knows them by, else by their place."""
    names = [[_document_name(rules, entry) for entry in tree.entries] for tree in trees]
    counts = {len(each) for each in names if each}
    known = all(name is not None and count == 1 for each in names for name, count in Counter(each).items())
    # Documents by place are the same ones only while their number is.
    if max(counts, default=0) > 1 and not known and len(counts) > 1:
        raise Contradiction("documents are added or removed, and nothing names them")
    by_name = known and max(counts, default=0) > 1
    return [
        replace(
            tree,
            kind="map",
            entries=tuple(
                replace(entry, key=("d", name if by_name else at))
                for at, (entry, name) in enumerate(zip(tree.entries, each, strict=True))
            ),
        )
        for tree, each in zip(trees, names, strict=True)
    ]


def _document_name(rules: ValueRules, document: KeyedEntry) -> Hashable:
    fields = fields_of(rules, document.value)
    if not isinstance(document.value, EntryGroup) or not {"apiVersion", "kind", "metadata"} <= fields.keys():
        return None
    found = next(entry.value for entry in document.value.entries if entry.name == ("metadata",))
    metadata = fields_of(rules, found)
    if "name" not in metadata:
        return None
    # What Kubernetes itself tells objects apart by.
    return (fields["apiVersion"], fields["kind"], metadata.get("namespace", ""), metadata["name"])


def _prove_documents(values: Sequence[Sequence[object]]) -> str | None:
    """Prove the values of all documents, each as base, main, the unit and the merge have it."""
    named = [{_known_as(value) or str(at): value for at, value in enumerate(each)} for each in values]
    # The same number everywhere: place is enough, and holds where a document was renamed.
    if len({len(each) for each in values}) == 1 or any(len(n) < len(v) for n, v in zip(named, values, strict=True)):
        named = [{str(at): value for at, value in enumerate(each)} for each in values]
    if all(len(each) == 1 for each in values):
        return prove_plain(values[0][0], values[1][0], values[2][0], values[3][0])
    return prove_plain(named[0], named[1], named[2], named[3])


def _known_as(value: object) -> str | None:
    """Name a document by the very fields by which ``_document_name`` does."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(metadata, dict):
        return None
    return repr((value.get("apiVersion"), value.get("kind"), metadata.get("namespace"), metadata.get("name")))


def _touched_anchor(texts: Texts) -> str | None:
    names = {name for text in (texts.base, texts.main, texts.unit) for name in anchors(text)}
    if not names:
        return None
    old = Counter(texts.base.split("\n"))
    for side in (texts.main, texts.unit):
        new = Counter(side.split("\n"))
        # By line: an edit of the block below an anchor is seen by its proof, a changed name or call only here.
        for line in (*(new - old), *(old - new)):
            if uses_anchor(line, names):
                return "what an anchor names or calls up is changed"
    return None


def _moved_anchor(texts: Texts, merged: str) -> str | None:
    # A call refers to the last anchor of its name above it, so their order has a meaning.
    if anchors(merged) != anchors(texts.main):
        return "anchors would stand in another order"
    return None


def _second_opinion(texts: Texts, merged: str) -> str | None:
    """Prove a small merge by a full parser too."""
    if len(merged) > PARSED_WHOLE:
        return None
    try:
        values = [parse_plain(text) for text in (texts.base, texts.main, texts.unit, merged)]
    except Broken:
        return "the merged text would be no YAML, or a version is none"
    except YamlTooDeep:
        return "the file is nested too deep"
    return _prove_documents(values)


def _check_joined(texts: Texts, result: EntryGroup) -> str | None:
    """Parse the parts of a large merge that neither side has as they are."""
    if len(render(result)) <= PARSED_WHOLE:
        return None
    left = PARSED_IN_ALL
    waiting = [(entry, result.col) for entry in result.entries]
    while waiting:
        entry, col = waiting.pop()
        text = " " * col + render_entry(entry)
        if is_comment(entry) or text in texts.main or text in texts.unit:
            continue
        # Too long to be parsed at once: what is below is looked at instead.
        if len(text) > PARSED_WHOLE:
            if isinstance(entry.value, EntryGroup) and not entry.value.inline:
                waiting += ((below, entry.value.col) for below in entry.value.entries)
            continue
        left -= len(text)
        # The proof by values has passed; this only looks for text that a parser rejects, as far as time goes.
        if left < 0:
            return None
        try:
            parse_plain(text)
        except Broken:
            return "the merged text would be no YAML"
        except YamlTooDeep:
            return "the file is nested too deep"
    return None
