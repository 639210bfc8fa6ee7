"""Notebooks."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from gitprun.resolvers.blocks.notebooks import KIND
from tests.resolvers.blocks.sides import faults, merged, refusal


def cell(id: str, *source: str, count: int | None = None, outputs: list[Any] | None = None) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": count,
        "id": id,
        "metadata": {},
        "outputs": outputs or [],
        "source": list(source),
    }


def book(*cells: dict[str, Any]) -> str:
    whole = {"cells": cells, "metadata": {"a": 1}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


BASE = book(cell("one", "a = 1\n", "b = 2\n", "c = 3"), cell("two", "z = 'é'"))


def test_cells_are_merged_through_nbdime() -> None:
    pytest.importorskip("nbdime")
    main = book(cell("one", "a = 1\n", "b = 2\n", "c = 4"), cell("two", "z = 'é'"))
    unit = book(cell("one", "a = 1\n", "b = 2\n", "c = 3"), cell("new", "n"), cell("two", "z = 'ö'"))
    assert merged(KIND, BASE, main, unit) == book(
        cell("one", "a = 1\n", "b = 2\n", "c = 4"), cell("new", "n"), cell("two", "z = 'ö'")
    )


def test_conflicts_are_refused_be_it_in_outputs_only() -> None:
    pytest.importorskip("nbdime")
    main, unit = (book(cell("one", "a = 1"), cell("two", f"z = {side}")) for side in "mu")
    assert refusal(KIND, book(cell("one", "a = 1"), cell("two", "z")), main, unit) == (
        "both sides change cells.1, says nbdime"
    )
    outputs = [[{"name": "stdout", "output_type": "stream", "text": [text]}] for text in ("m", "u")]
    base = book(cell("one", "a"))
    main, unit = book(cell("one", "a", outputs=outputs[0])), book(cell("one", "a", outputs=outputs[1]))
    assert refusal(KIND, base, main, unit) == "both sides change cells.0.outputs, says nbdime"
    main, unit = book(cell("one", "a", count=1)), book(cell("one", "a", count=2))
    assert refusal(KIND, base, main, unit) == "both sides change cells.0, says nbdime"


def test_without_nbdime_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    main, unit = BASE.replace("a = 1", "a = 0"), BASE.replace("c = 3", "c = 4")
    assert refusal(KIND, BASE, main, unit) == "install nbdime to merge notebooks"


def test_a_notebook_that_is_written_otherwise_is_refused() -> None:
    main, unit = BASE.replace("a = 1", "a = 0"), BASE.replace("\n ", "\n    ")
    assert refusal(KIND, BASE, main, unit) == "a version is not written as Jupyter writes it"


def test_what_is_wrong_with_a_notebook() -> None:
    assert faults(KIND, BASE) == ()
    assert faults(KIND, "{]") == ("it is no JSON",)
    assert faults(KIND, "{}") == ("it has no cells",)
    assert faults(KIND, book(cell("one", "a"), cell("one", "b"))) == ("two cells have the id one",)
