"""Notebooks: cell by cell through nbdime, when it is installed."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Mapping
from typing import Any

from gitprun.resolvers.base import (
    FileConflict,
    Kind,
    Refused,
    Resolved,
    brought_lines,
    open_lines,
)
from gitprun.resolvers.blocks.resolve import fault_finder, plain_text
from gitprun.resolvers.entries import prove_entries
from gitprun.resolvers.text import Triple

# A notebook as its JSON has it; what its keys hold is the business of nbformat.
Book = dict[str, Any]

NAME = "notebook"

# What nbdime decides without guessing; "clear" and "custom" throw something away or write markers.
_PLAIN = frozenset({"base", "local", "remote", "either", "local_then_remote", "remote_then_local"})


def resolve_notebook(conflict: FileConflict) -> Resolved | Refused:
    """Merge a notebook through nbdime: refused on any conflict, be it in outputs only, and without nbdime.

    The text is written as Jupyter writes it, so each version must be written so.
    """
    triple = open_lines(conflict, NAME)
    if not isinstance(triple, Triple):
        return triple
    if conflict.base is None:
        return Refused("both sides added the notebook")
    texts = [plain_text(text) for text in (conflict.base, conflict.main, conflict.unit)]
    versions = [_load(text) for text in texts]
    books = [version for version in versions if version is not None]
    if len(books) < len(versions):
        return Refused("a version is no notebook")
    # The proof goes by ids. Before format 4.5 there are none, and likeness would be a guess.
    if not all(isinstance(cell.get("id"), str) for book in books for cell in book["cells"]):
        return Refused("cells without ids cannot be told apart")
    # Written again as Jupyter does, all of any other form would be changed lines.
    for text, book in zip(texts, books, strict=True):
        if _write(book) != text:
            return Refused("a version is not written as Jupyter writes it")
    if importlib.util.find_spec("nbdime") is None:
        return Refused("install nbdime to merge notebooks")
    merged = _merge_through_nbdime(books)
    if isinstance(merged, Refused):
        return merged
    fault = _prove(books, merged)
    if fault:
        return Refused(fault)
    lines = tuple(_write(merged).encode("utf-8", "surrogateescape").split(b"\n")[:-1])
    return Resolved(triple.render(lines), NAME, brought_lines(triple, lines))


def find_notebook_faults(text: str) -> tuple[str, ...]:
    """Name what makes a text no notebook, and cells of one id."""
    try:
        book = json.loads(text)
    # A text of nothing but brackets runs into Python's limit on frames.
    except (ValueError, RecursionError):
        return ("it is no JSON",)
    # Notebooks of format 3 have worksheets, which have the cells.
    if not isinstance(book, dict) or not isinstance(book.get("cells", book.get("worksheets")), list):
        return ("it has no cells",)
    ids = [cell["id"] for cell in book.get("cells", ()) if isinstance(cell, dict) and isinstance(cell.get("id"), str)]
    return tuple(f"two cells have the id {each}" for each in dict.fromkeys(ids) if ids.count(each) > 1)


def _load(text: str) -> Book | None:
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        return None
    # Before format 4 cells stand elsewhere in the file.
    if not isinstance(book, dict) or not isinstance(book.get("cells"), list) or book.get("nbformat") != 4:
        return None
    return book if all(_is_cell(cell) for cell in book["cells"]) else None


def _is_cell(cell: object) -> bool:
    return isinstance(cell, dict) and isinstance(cell.get("source"), list) and isinstance(cell.get("cell_type"), str)


def _write(book: Mapping[str, object]) -> str:
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def _merge_through_nbdime(books: list[Book]) -> Book | Refused:
    # Found by name when it is needed: nbdime is an extra that few install.
    merge = importlib.import_module("nbdime.merging.notebooks").merge_notebooks
    make = importlib.import_module("nbformat.notebooknode").from_dict
    form = importlib.import_module("nbformat.v4.rwbase")
    # nbdime works on sources as whole texts; on disk they are lists of lines.
    merged, decisions = merge(*(form.rejoin_lines(make(book)) for book in books))
    for decision in decisions:
        if decision.conflict or decision.action not in _PLAIN:
            where = ".".join(str(part) for part in decision.common_path)
            return Refused(f"both sides change {where or 'the notebook'}, says nbdime")
    plain: Book = json.loads(json.dumps(form.split_lines(merged)))
    return _ordered_like(plain, books)


def _ordered_like(merged: Book, books: list[Book]) -> Book:
    """Put keys in the order in which the versions have them."""
    # A key at another place would be a changed line to git. A stack, not recursion: outputs may be nested at will.
    waiting = [(merged, books)]
    while waiting:
        node, models = waiting.pop()
        known = [key for model in models[::-1] for key in model]
        order = {key: at for at, key in enumerate(dict.fromkeys(known))}
        for key in sorted(node, key=lambda key: order.get(key, len(order))):
            node[key] = node.pop(key)
        for key, value in node.items():
            if isinstance(value, dict):
                waiting.append((value, [m[key] for m in models if isinstance(m.get(key), dict)]))
            elif key == "cells":
                waiting += [(cell, [c for m in models for c in m["cells"]]) for cell in value]
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                listed = [each for m in models for each in m.get(key) or () if isinstance(each, dict)]
                waiting += [(each, listed) for each in value if isinstance(each, dict)]
    return merged


def _prove(books: list[Book], merged: Book) -> str | None:
    """Check cells by id: each that a side added is there, each removed gone, each part settled three ways.

    A source that both sides changed is nbdime's merge of lines; the words of it are counted by the shared proof.
    """
    base, main, unit, have = (_parts(book) for book in (*books, merged))
    for key in base.keys() & main.keys() & unit.keys():
        if key[1] == "source" and base[key] not in (main[key], unit[key]):
            for part in (base, main, unit, have):
                part.pop(key, None)
    return prove_entries(dict(base), dict(main), dict(unit), dict(have))


def _parts(book: Book) -> dict[tuple[str, str], str]:
    parts: dict[tuple[str, str], str] = {}
    for cell in book["cells"]:
        for name, value in cell.items():
            # The order of keys means nothing in JSON.
            parts[cell["id"], name] = json.dumps(value, sort_keys=True)
    for name, value in book.items():
        if name != "cells":
            parts["notebook", name] = json.dumps(value, sort_keys=True)
    return parts


def load_nbdime() -> None:
    """Import nbdime where it is installed, which takes seconds the first time."""
    if importlib.util.find_spec("nbdime") is not None:
        importlib.import_module("nbdime.merging.notebooks")


KIND = Kind(NAME, ("*.ipynb",), (resolve_notebook,), fault_finder(find_notebook_faults), prepare=load_nbdime)
