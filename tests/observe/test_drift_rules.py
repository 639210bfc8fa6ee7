"""Drift as values: what is written comes back the same, reflogs become one, whatever text there is is read."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitprun.ledger.drift_findings import Change, DriftFinding, describe
from gitprun.ledger.drift_record import Drift, drift_found, read_drifts
from gitprun.ledger.events import Event, decode, encode
from gitprun.observe.changes import compare, redact
from gitprun.observe.own_changes import OwnChanges, find_drift
from gitprun.observe.reflogs import join_logs, last_entry, lost_lines, read_entry
from gitprun.observe.snapshot import CheckoutStatus, PathStatus, RepositorySnapshot, dump, read_snapshot, write_snapshot
from gitprun.observe.snapshotter import clean_ref, parse_packed
from tests.support.rows import event_of

# Names may hold bytes that are no UTF-8, as Python shows them; two of them never make a character.
TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("\udc80\udcff"), max_size=8)
WORDS = st.dictionaries(TEXT, TEXT, max_size=4)
STATUSES = st.builds(
    PathStatus, st.text("MAD? ", min_size=2, max_size=2), st.integers(-1, 99), st.integers(0, 99), st.booleans()
)
CHECKOUTS = st.builds(
    CheckoutStatus,
    path=TEXT,
    dirty=st.none() | st.dictionaries(TEXT, STATUSES, max_size=3),
    files=st.none() | st.integers(0),
)
LOOKS = st.builds(
    RepositorySnapshot,
    time=st.floats(0, 1e10),
    refs=WORDS,
    heads=WORDS,
    settings=st.dictionaries(TEXT, WORDS, max_size=2),
    files=WORDS,
    logs=st.none() | WORDS,
    places=WORDS,
    hooks=TEXT,
    checkout=st.none() | CHECKOUTS,
    here=TEXT,
    narrow=st.booleans(),
)
LINES = st.lists(
    st.binary(max_size=12).filter(lambda line: b"\n" not in line and line.strip(b"\t ") != b""),
    unique_by=lambda line: line.rstrip(b"\t "),
    max_size=6,
)
KINDS = st.sampled_from(["ref", "head", "config", "hook", "info", "worktree", "reflog", "checkout"])
THINGS = st.builds(Change, KINDS, TEXT, TEXT, TEXT, TEXT)
FINDINGS = st.builds(DriftFinding, thing=THINGS, gate=st.booleans(), why=TEXT, by=st.lists(TEXT, max_size=2).map(tuple))


@given(LOOKS)
def test_a_look_comes_back_the_same(look: RepositorySnapshot) -> None:
    assert read_snapshot(json.loads(dump(write_snapshot(look)))) == look


@given(
    st.none()
    | st.integers()
    | st.dictionaries(TEXT, st.integers() | st.none())
    | st.fixed_dictionaries({"v": st.just(1), "refs": st.integers()})
)
def test_what_is_no_look_is_none(record: object) -> None:
    assert read_snapshot(record) is None


@given(LOOKS, LOOKS)
def test_two_looks_differ_in_what_was_named(before: RepositorySnapshot, after: RepositorySnapshot) -> None:
    assert compare(before, before) == ()
    for thing in compare(before, after):
        assert thing.old != thing.new
        assert describe(thing)
    assert set(find_drift(before, after, OwnChanges())) <= set(compare(before, after))


@given(st.lists(FINDINGS, max_size=5).map(tuple))
def test_a_drift_is_told_by_the_ledger_as_it_was_found(findings: tuple[DriftFinding, ...]) -> None:
    drift = Drift(run="r1", id="d1", units=("r1/u",), time=1.0, findings=findings)
    event = decode(encode(Event(drift_found(drift), 1.0, "r1", "u")))
    assert event is not None
    (found,) = read_drifts([event])
    assert sorted(found.findings, key=repr) == sorted(findings, key=repr)
    settled = [event_of("drift.settled", 2.0, "r1", "", {"id": "d1", "key": one.thing.key}) for one in findings]
    assert not any(one.is_open for one in read_drifts([event, *settled]))
    accepted = event_of("drift.settled", 2.0, "r1", "", {"id": "d1", "how": "accepted"})
    assert not any(one.is_open for one in read_drifts([event, accepted]))


@given(LINES, LINES)
def test_reflogs_become_one_in_which_nothing_is_lost(before: list[bytes], now: list[bytes]) -> None:
    old, new = (b"".join(line + b"\n" for line in lines) for lines in (before, now))
    joined = join_logs(old, new)
    assert joined.startswith(old)
    assert (lost_lines(old, joined), lost_lines(new, joined)) == ([], [])
    assert join_logs(old, joined) == joined


@given(st.binary())
def test_any_reflog_and_any_packed_refs_are_read(text: bytes) -> None:
    last_entry(text)
    read_entry(text)
    parse_packed(text)
    clean_ref(text.decode("utf-8", "surrogateescape"))


def test_an_entry_of_a_reflog() -> None:
    entry = read_entry(b"a" * 40 + b" " + b"b" * 40 + b" A <a@b> > x <y> 1767607200 +0100\tcommit: x\ty")
    assert entry is not None
    assert (entry.new, entry.time, entry.said) == ("b" * 40, 1767607200, "commit: x\ty")


def test_addresses_lose_who_and_what() -> None:
    assert redact("url.https://me:word@h.test/x.insteadof") == "url.https://***@h.test/x.insteadof"
    assert redact("branch.a@b.remote") == "branch.a@b.remote"


EMPTY: dict[str, Any] = {
    "time": 1.0,
    "refs": {},
    "settings": {},
    "files": {},
    "logs": {},
    "hooks": "hooks",
}


def test_a_worktree_of_ours_that_was_looked_at_while_it_was_registered_is_no_drift() -> None:
    """Its registration said nothing yet: that is a look that failed, and not what was there before."""
    half = RepositorySnapshot(**EMPTY, places={"b": "?"}, heads={})
    whole = RepositorySnapshot(
        **EMPTY, places={"b": "/p/r1/b"}, heads={"worktrees/b/HEAD": "ref: refs/heads/prun/r1/b"}
    )
    ours = OwnChanges(refs=frozenset(), moves=frozenset(), places=frozenset({"/p/r1/b"}), removed=frozenset())
    assert find_drift(half, whole, ours) == ()
    nobodys = OwnChanges(refs=frozenset(), moves=frozenset(), places=frozenset(), removed=frozenset())
    assert [thing.name for thing in find_drift(half, whole, nobodys)] == ["worktrees/b/HEAD", "b"]
