"""Cases of a test, and which of them are slow."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest


def slow(*values: Any) -> list[Any]:
    """Give cases of which others among the quick ones are the like."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def crossed(*axes: Sequence[Any]) -> list[Any]:
    """Give every combination as a case: each choice comes up in the quick ones, all the others are slow.

    What is in question is each choice by itself; that two of them get in each other's way is found by CI.
    """
    longest = max(len(axis) for axis in axes)
    quick = {tuple(step % len(axis) for axis in axes) for step in range(longest)}
    return [
        pytest.param(
            *(axis[place] for axis, place in zip(axes, places, strict=True)),
            marks=[] if places in quick else pytest.mark.slow,
        )
        for places in itertools.product(*(range(len(axis)) for axis in axes))
    ]
