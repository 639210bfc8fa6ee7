"""What a ref pins, told from its name alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.model.names import RunId, UnitId, kept_ref, trash_ref, unit_ref
from gitprun.recovery.catalog import Label, branch_for, days_in_trash, read_label

OID = "a" * 40


@pytest.mark.parametrize(
    ("ref", "label"),
    [
        ("refs/prun/r1/u", Label(kind="captured", run="r1", unit="u")),
        ("refs/prun/kept/r1/u/head", Label(kind="kept", run="r1", unit="u", channel="head")),
        ("refs/prun/kept/r1/u/branch/a/b", Label(kind="kept", run="r1", unit="u", channel="branch/a/b")),
        ("refs/prun/kept/r1/u/attempt-2", Label(kind="attempt", run="r1", unit="u", channel="attempt-2")),
        ("refs/prun/kept/r1/u/base-2", Label(kind="base", run="r1", unit="u", channel="base-2")),
        ("refs/prun/kept/named/w/x/lost/abc", Label(kind="kept", run="named", unit="w/x", channel="lost/abc")),
        ("refs/prun/kept/named/w/attempt-1", Label(kind="attempt", run="named", unit="w", channel="attempt-1")),
        ("refs/prun/kept/named/head/head", Label(kind="kept", run="named", unit="head", channel="head")),
        ("refs/prun/base/r1", Label(kind="base", run="r1")),
        ("refs/prun/base/named/w/x", Label(kind="base", run="named", unit="w/x")),
        ("refs/prun/base-tips/r1", Label(kind="base", run="r1", channel="tips")),
        ("refs/prun/base-tips/named/w/x", Label(kind="base", run="named", unit="w/x", channel="tips")),
        ("refs/prun/undone/abc", Label(kind="undone", channel="abc")),
        ("refs/prun/baseline", Label(kind="baseline")),
        ("refs/prun/strange/thing", Label(kind="other", channel="strange/thing")),
        (
            f"refs/prun/trash/2026-01-05/heads/prun/r1/u/{OID[:12]}",
            Label(
                kind="trash", run="r1", unit="u", channel="refs/heads/prun/r1/u",
                source="refs/heads/prun/r1/u", day="2026-01-05",
            ),
        ),
        (
            f"refs/prun/trash/2026-01-05/prun/kept/r1/u/head/{OID[:12]}",
            Label(
                kind="trash", run="r1", unit="u", channel="refs/prun/kept/r1/u/head",
                source="refs/prun/kept/r1/u/head", day="2026-01-05",
            ),
        ),
    ],
)  # fmt: skip
def test_labels(ref: str, label: Label) -> None:
    assert read_label(ref) == label


@pytest.mark.parametrize(
    ("ref", "branch"),
    [
        ("refs/prun/r1/u", "rescue/r1/u"),
        ("refs/prun/kept/r1/u/branch/a b/c", "rescue/r1/u-branch-a-b-c"),
        ("refs/prun/kept/named/w/x/head", "rescue/w/x-head"),
        ("refs/prun/base/r1", "rescue/r1-base"),
        ("refs/prun/undone/abc", "rescue/undone-abc"),
        (f"refs/prun/trash/2026-01-05/heads/feat/x/{OID[:12]}", "rescue/trash/feat-x-aaaaaaa"),
    ],
)
def test_branches(ref: str, branch: str) -> None:
    assert branch_for(read_label(ref), OID) == branch


@pytest.mark.parametrize(
    ("day", "days"), [("2026-01-05", 0), ("2026-01-04", 1), ("2025-12-05", 31), ("2026-01-06", -1), ("x", None)]
)
def test_days(day: str, days: int | None) -> None:
    assert days_in_trash(day, 1767607200.0) == days


@given(st.text(alphabet="ab0-_/.", max_size=30))
def test_any_name_has_a_label(rest: str) -> None:
    label = read_label(f"refs/prun/{rest}")
    assert label.kind in ("captured", "kept", "attempt", "base", "trash", "undone", "resolve", "baseline", "other")
    assert not branch_for(label, OID).endswith("/")


@given(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.sampled_from(["", "head", "stash", "lost/abc", "attempt-3"]))
def test_the_trash_remembers_where_from(unit: str, channel: str) -> None:
    run, own = RunId("r1"), UnitId(unit)
    ref = kept_ref(run, own, channel) if channel else unit_ref(run, own)
    label = read_label(trash_ref("2026-01-05", ref, OID))
    assert (label.source, label.run, label.unit) == (ref, "r1", unit)
